#include "ldb/locals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "ldb/session.h"
#include "lua/lexer.h"

namespace rlctl::ldb {

LocalWatch::Activation LocalWatch::owner_of(const ProbeReading::Variable& variable) const {
  return {script_->locals[variable.local].function, variable.activation};
}

/// Forgets variables that a probe of their function does not report: they have gone or are hidden
/// by another of the same name; each iteration of a loop has new ones.
void LocalWatch::forget_gone(const ProbeReading& reading) {
  const auto function = script_->probes[reading.probe].function;
  std::int64_t activation = 0;
  for (const auto& variable : reading.variables) {
    if (owner_of(variable).first == function) activation = variable.activation;
  }
  const auto frame = frames_.find({function, activation});
  if (frame == frames_.end()) return;
  std::erase_if(frame->second, [&](const auto& known) {
    const auto& name = script_->locals[known.first].name;
    return std::none_of(reading.variables.begin(), reading.variables.end(), [&](const auto& told) {
      return told.local == known.first || script_->locals[told.local].name == name;
    });
  });
}

std::vector<LocalValue> LocalWatch::changes(const ProbeReading& reading) {
  forget_gone(reading);
  std::vector<LocalValue> result;
  for (const auto& variable : reading.variables) {
    auto& frame = frames_[owner_of(variable)];
    const auto [known, is_new] = frame.try_emplace(variable.local, variable.value);
    if (!is_new && known->second == variable.value) continue;
    known->second = variable.value;
    result.push_back({script_->locals[variable.local], variable.value});
  }
  return result;
}

void VisibleLocals::on_reading(const ProbedScript& script, const ProbeReading& reading) {
  if (!watch_) watch_.emplace(script);
  const auto function = script.probes[reading.probe].function;
  readings_[function] = reading;
  read_.insert(function);
  last_probe_ = reading.probe;
  enter(function, reading.activation);
}

void VisibleLocals::on_same_reading(const ProbedScript& script, const ProbeReading& reading) {
  readings_[script.probes[reading.probe].function] = reading;
}

void VisibleLocals::enter(std::size_t function, std::int64_t activation) {
  constexpr std::size_t kDeepest = 1000;
  const Activation now{function, activation};
  if (function == 0) {
    active_.clear();
    is_active_known_ = true;
  } else if (active_.size() >= kDeepest) {
    forget_active();
  }
  // Without a number, it may be another call.
  const auto found =
      activation == 0 ? active_.end() : std::find(active_.begin(), active_.end(), now);
  if (found != active_.end()) {
    active_.erase(found + 1, active_.end());
  } else if (active_.empty() || active_.back() != now) {
    active_.push_back(now);
  }
}

/// Enters the activation of a function's latest reading.
void VisibleLocals::enter_again(std::size_t function) {
  const auto found = readings_.find(function);
  enter(function, found == readings_.end() ? 0 : found->second.activation);
}

std::size_t VisibleLocals::function_at(const ProbedScript& script, int line) const {
  const auto around = script.function_around(line);
  if (!last_probe_) return around;
  const auto& probe = script.probes[*last_probe_];
  if (probe.line == line) return probe.function;
  // At an `end`, either this function returns or the enclosing one has just created it; the latter
  // reported nothing.
  const auto& lines = script.functions[probe.function];
  return lines.first == line || lines.last == line ? probe.function : around;
}

/// The reading that holds at the current stop; null if there is none.
const ProbeReading* VisibleLocals::current_reading() const {
  const auto found = readings_.find(function_);
  return found == readings_.end() || is_outdated_ ? nullptr : &found->second;
}

namespace {

bool holds_function(const Value& value) {
  return value.kind == Value::Kind::kOpaque || value.is_cut ||
         std::any_of(value.fields.begin(), value.fields.end(),
                     [](const auto& field) { return holds_function(field.second); });
}

}  // namespace

/// Whether code may end its function after calling another of the script's functions, whose
/// variables are these.
bool VisibleLocals::may_return_a_call(const Walk& walk, const ProbeReading& reading,
                                      std::string_view code) {
  const auto source = lua::lex(code);
  if (!source) return true;
  const bool may_return = std::any_of(source->tokens.begin(), source->tokens.end(),
                                      [](const auto& t) { return t.is("return") || t.is("end"); });
  if (!may_return) return false;
  const auto names = names_in(code);
  return std::any_of(reading.variables.begin(), reading.variables.end(), [&](const auto& one) {
    return names.contains(walk.script().locals[one.local].name) && holds_function(one.value);
  });
}

/// Whether the latest reading is one before the statement at which the script halts, and not of a
/// call within it. A function that has returned reported last before its `return` or `end`.
bool VisibleLocals::is_of_this_call(const Walk& walk) const {
  const auto found = readings_.find(function_);
  if (found == readings_.end()) return false;
  const auto& probes = walk.script().probes;
  const int line = probes[found->second.probe].line;
  const bool is_between = std::any_of(probes.begin(), probes.end(), [&](const auto& probe) {
    return probe.function == function_ && line < probe.line && probe.line <= walk.line();
  });
  if (line > walk.line() || is_between) return false;
  return function_ == 0 ||
         !may_return_a_call(walk, found->second, walk.source_lines(line, walk.line()));
}

/// Whether the latest reading may be of another call of the function, which the current statement
/// has made. A loop returns to its line without a probe, too, but its `end` has one.
bool VisibleLocals::may_be_of_inner_call(const Walk& walk) const {
  const auto calls = std::count_if(active_.begin(), active_.end(),
                                   [&](const auto& each) { return each.first == function_; });
  if (calls < 2 || is_of_this_call(walk)) return false;
  const auto line = lua::lex(walk.source_lines(walk.line(), walk.line()));
  return !line || !(line->tokens.front().is("for") || line->tokens.front().is("while"));
}

void VisibleLocals::refresh(const Walk& walk, bool is_within_line) {
  if (walk.line_halt()) readings_.merge(stale_);
  stale_.clear();
  const auto& script = walk.script();
  // After a free run, a probe has told no more than its function's latest values.
  if (std::exchange(is_active_stale_, false)) {
    forget_active();
    if (last_probe_) enter_again(script.probes[*last_probe_].function);
  }
  function_ = function_at(script, walk.line());
  const bool was_here = std::exchange(line_, walk.line()) == walk.line();
  const auto read = std::exchange(read_, {});
  is_at_probe_ =
      !walk.line_halt() && !read.empty() && script.probes[*last_probe_].line == walk.line();
  is_outdated_ = walk.line_halt() ? !is_of_this_call(walk)
                                  : (was_here || is_within_line) && !read.contains(function_);
  if (!walk.line_halt() && !is_at_probe_) is_outdated_ |= may_be_of_inner_call(walk);
  show_innermost(script);
}

void VisibleLocals::show_innermost(const ProbedScript& script) {
  locals_.clear();
  shown_function_ = function_;
  if (const auto* reading = current_reading()) show(script, *reading);
}

void VisibleLocals::show(const ProbedScript& script, const ProbeReading& reading) {
  for (const auto& variable : reading.variables) {
    locals_.push_back({script.locals[variable.local], variable.value});
  }
}

std::string VisibleLocals::why_not_known(const ProbedScript& script,
                                         const std::vector<ActiveFunction>& frames,
                                         const ActiveFunction& frame) const {
  // The main function has one call only, of which the latest reading is.
  const auto found = readings_.find(frame.function);
  const bool is_known = found != readings_.end() && (is_active_known_ || frame.function == 0);
  if (!is_known || frames.back().function != 0) {
    return "no values were reported: the script ran freely when it was called, or in a coroutine";
  }
  const auto times = std::count_if(frames.begin(), frames.end(), [&](const auto& each) {
    return each.function == frame.function;
  });
  const auto times_read = std::count_if(active_.begin(), active_.end(), [&](const auto& each) {
    return each.first == frame.function;
  });
  if (times != 1 || (times_read != 1 && frame.function != 0)) {
    return "the last values are of another call of this function";
  }
  const auto& probe = script.probes[found->second.probe];
  if (probe.line == frame.line && probe.is_alone) return {};
  return fmt::format("the last values are not of the beginning of line {}", frame.line);
}

std::string VisibleLocals::show_frame(const ProbedScript& script,
                                      const std::vector<ActiveFunction>& frames,
                                      std::size_t index) {
  locals_.clear();
  shown_function_ = frames[index].function;
  if (auto why = why_not_known(script, frames, frames[index]); !why.empty()) return why;
  const auto* innermost = current_reading();
  for (const auto& variable : readings_.at(shown_function_).variables) {
    const auto& local = script.locals[variable.local];
    if (!local.is_set_within) {
      locals_.push_back({local, variable.value});
      continue;
    }
    if (innermost == nullptr) continue;
    for (const auto& newer : innermost->variables) {
      if (newer.local != variable.local || newer.activation != variable.activation) continue;
      locals_.push_back({local, newer.value});
    }
  }
  return {};
}

const Probe* VisibleLocals::probe(const ProbedScript& script) const {
  const auto found = readings_.find(shown_function_);
  return found == readings_.end() ? nullptr : &script.probes[found->second.probe];
}

std::optional<VisibleLocals::Slot> VisibleLocals::slot_of(const ProbedScript& script,
                                                          std::string_view name) const {
  const auto* reading = current_reading();
  if (reading == nullptr) return std::nullopt;
  const auto& probe = script.probes[reading->probe];
  for (std::size_t i = 0; i < probe.locals.size(); ++i) {
    if (script.locals[probe.locals[i]].name != name) continue;
    const auto at = probe.functions.size() + i;
    return Slot{probe.function, at, at % ProbePart::kMaxValues + 1};
  }
  return std::nullopt;
}

std::vector<LocalValue> VisibleLocals::changes() {
  const auto* reading = current_reading();
  return reading == nullptr ? std::vector<LocalValue>() : watch_->changes(*reading);
}

const LocalValue* VisibleLocals::find(std::string_view name) const noexcept {
  for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
    if (it->local.name == name) return &*it;
  }
  return nullptr;
}

VisibleLocals::Found VisibleLocals::find(const VariablePath& path) const {
  const auto* root = find(path.root);
  if (root == nullptr) return {};
  auto value = root->value;
  std::string so_far = path.root;
  for (const auto& step : path.steps) {
    const auto* variable = step.variable.empty() ? nullptr : find(step.variable);
    if (!step.variable.empty() && variable == nullptr) return {};
    auto field = field_of(value, variable == nullptr ? step.key : variable->value);
    if (value.kind == Value::Kind::kCycle)
      return {.why_not = so_far + " is a table that holds itself"};
    if (!field && value.kind == Value::Kind::kTable) {
      return {.why_not = so_far + " is too large to be shown completely"};
    }
    if (!field) return {};
    so_far += step.key.kind == Value::Kind::kString ? "." + step.key.text : "[...]";
    value = *std::move(field);
  }
  return {.value = std::move(value)};
}

std::string VisibleLocals::copies_for(std::string_view code,
                                      const std::function<bool(std::string_view)>& absent) const {
  std::string names, values;
  const auto add = [&](std::string_view name, std::string_view value) {
    names.append(names.empty() ? "" : ",").append(name);
    values.append(values.empty() ? "" : ",").append(value);
  };
  for (const auto& name : names_in(code)) {
    const auto* local = find(name);
    if (local == nullptr) {
      if (absent(name)) add(name, "rawget(_G,'" + name + "')");
    } else if (const auto literal = literal_of(local->value)) {
      add(name, *literal);
    }
  }
  return names.empty() ? "" : "local " + names + "=" + values + " ";
}

std::string VisibleLocals::why_not_copied(std::string_view code) const {
  for (const auto& name : names_in(code)) {
    const auto* local = find(name);
    if (local == nullptr || literal_of(local->value)) continue;
    const bool is_table =
        local->value.kind == Value::Kind::kTable || local->value.kind == Value::Kind::kCycle;
    return fmt::format("'{}' is {} that cannot be copied here", name,
                       is_table ? "a table" : "a " + text_of(local->value));
  }
  return {};
}

}  // namespace rlctl::ldb
