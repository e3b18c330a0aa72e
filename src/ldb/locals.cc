#include "ldb/locals.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include "ldb/session.h"

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

std::vector<LocalChange> LocalWatch::changes(const ProbeReading& reading) {
  forget_gone(reading);
  std::vector<LocalChange> result;
  for (const auto& variable : reading.variables) {
    auto& frame = frames_[owner_of(variable)];
    const auto [known, is_new] = frame.try_emplace(variable.local, variable.value);
    if (!is_new && known->second == variable.value) continue;
    known->second = variable.value;
    result.push_back({script_->locals[variable.local], variable.value});
  }
  return result;
}

namespace {

/// "<value> NAME = VALUE"; none for Lua's own variables: "(for index)", `arg`.
std::optional<LocalChange> parse_local(std::string_view item, int line) {
  constexpr std::string_view kValue = "<value> ", kEquals = " = ";
  if (!item.starts_with(kValue)) return std::nullopt;
  item.remove_prefix(kValue.size());
  const auto equals = item.find(kEquals);
  if (equals == item.npos) return std::nullopt;
  const auto name = item.substr(0, equals), value = item.substr(equals + kEquals.size());
  if (name.starts_with('(') || (name == "arg" && value == "nil")) return std::nullopt;
  return LocalChange{.local = {.name = std::string(name), .declared_at = line},
                     .value = parse_printed(value)};
}

}  // namespace

std::vector<LocalChange> PrintedLocals::changes(const std::vector<std::string>& items,
                                                std::size_t depth, int line) {
  frames_.resize(std::max(depth, std::size_t{1}));
  auto& known = frames_.back();
  Frame now;
  for (const auto& item : items) {
    if (auto local = parse_local(item, line)) now.push_back(*std::move(local));
  }
  std::vector<LocalChange> result;
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool is_known = i < known.size() && known[i].local.name == now[i].local.name;
    if (is_known) now[i].local = known[i].local;
    if (!is_known || !(known[i].value == now[i].value)) result.push_back(now[i]);
  }
  known = std::move(now);
  return result;
}

namespace {

/// Whether the server's debugger can have printed `value` as `printed`.
bool may_print_as(const Value& value, const Value& printed) {
  switch (value.kind) {
    case Value::Kind::kNil:
    case Value::Kind::kBoolean:
    case Value::Kind::kString:
      return value == printed;
    case Value::Kind::kNumber:
      return printed.kind == Value::Kind::kNumber &&
             fmt::format("{:g}", value.number) == fmt::format("{:g}", printed.number);
    default:
      return printed.kind != Value::Kind::kNil && printed.kind != Value::Kind::kBoolean &&
             printed.kind != Value::Kind::kNumber && printed.kind != Value::Kind::kString;
  }
}

}  // namespace

void VisibleLocals::hear(const ProbedScript& script, const ProbeReading& reading) {
  if (!watch_) watch_.emplace(script);
  readings_[script.probes[reading.probe].function] = reading;
  last_reading_ = reading;
  heard_ = true;
  told_.insert(script.probes[reading.probe].function);
}

std::size_t VisibleLocals::function_at(const ProbedScript& script, int line) const {
  const auto around = script.function_around(line);
  if (!last_reading_) return around;
  const auto& probe = script.probes[last_reading_->probe];
  if (probe.line == line) return probe.function;
  // At an `end`, either this function returns or the enclosing one has just created it; the latter
  // reported nothing.
  const auto& lines = script.functions[probe.function];
  return lines.first == line || lines.last == line ? probe.function : around;
}

const ProbeReading* VisibleLocals::reading_here() const {
  const auto found = readings_.find(function_);
  return found == readings_.end() ? nullptr : &found->second;
}

void VisibleLocals::take_printed(const std::vector<std::string>& items) {
  for (const auto& printed : PrintedLocals().changes(items, 1, 0)) {
    for (auto it = locals_.rbegin(); it != locals_.rend(); ++it) {
      if (it->local.name != printed.local.name) continue;
      const bool is_own = it->local.function == function_;
      if (is_own && !may_print_as(it->value, printed.value)) it->value = printed.value;
      break;
    }
  }
}

/// Variables may have come, gone and changed since the reading: the server knows the function's
/// own.
void VisibleLocals::replace_outdated(Walk& walk) {
  const auto& declared = walk.script().locals;
  const auto known = std::exchange(locals_, {});
  std::copy_if(known.begin(), known.end(), std::back_inserter(locals_),
               [this](const auto& one) { return one.local.function != function_; });
  const auto items = walk.session().ask({"print"}).items;
  for (const auto& printed : PrintedLocals().changes(items, 1, 0)) {
    const auto& name = printed.local.name;
    // The text that runs has variables of ours, too.
    const auto local = std::find_if(declared.begin(), declared.end(), [&](const Local& one) {
      return one.name == name && one.function == function_;
    });
    if (local == declared.end()) continue;
    const auto exact = std::find_if(known.begin(), known.end(), [&](const auto& one) {
      return one.local.name == name && may_print_as(one.value, printed.value);
    });
    locals_.push_back({*local, exact == known.end() ? printed.value : exact->value});
  }
}

void VisibleLocals::look(Walk& walk, bool in_midst) {
  locals_.clear();
  function_ = function_at(walk.script(), walk.line());
  const bool was_here = std::exchange(line_, walk.line()) == walk.line();
  const bool is_told = std::exchange(heard_, false) || !was_here;
  if (!walk.has_probes()) {
    printed_items_ = walk.session().ask({"print"}).items;
    locals_ = PrintedLocals().changes(printed_items_, 1, walk.line());
    return;
  }
  const auto* reading = reading_here();
  const bool is_outdated = was_muted_ && !told_.contains(function_);
  if (reading == nullptr && !is_outdated) return;
  if (reading != nullptr) {
    for (const auto& variable : reading->variables) {
      locals_.push_back({walk.script().locals[variable.local], variable.value});
    }
  }
  if (is_outdated) {
    replace_outdated(walk);
  } else if (in_midst || !is_told) {
    take_printed(walk.session().ask({"print"}).items);
  }
}

std::vector<LocalChange> VisibleLocals::changes(Walk& walk) {
  if (!walk.has_probes()) {
    constexpr std::size_t kDeepest = 1000;
    const auto depth = walk.script().may_have_functions() ? std::min(walk.frames().size(), kDeepest)
                                                          : std::size_t{1};
    return walk.ended() ? std::vector<LocalChange>()
                        : printed_.changes(printed_items_, depth, walk.line());
  }
  const auto* reading = reading_here();
  return reading == nullptr || !watch_ ? std::vector<LocalChange>() : watch_->changes(*reading);
}

const VisibleLocal* VisibleLocals::find(std::string_view name) const noexcept {
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
    std::string literal;
    const auto* local = find(name);
    if (local != nullptr && append_literal(literal, local->value)) {
      add(name, literal);
    } else if (local == nullptr && absent(name)) {
      add(name, "rawget(_G,'" + name + "')");
    }
  }
  return names.empty() ? "" : "local " + names + "=" + values + " ";
}

std::string VisibleLocals::why_not_copied(std::string_view code) const {
  for (const auto& name : names_in(code)) {
    std::string literal;
    const auto* local = find(name);
    if (local == nullptr || append_literal(literal, local->value)) continue;
    const bool is_table =
        local->value.kind == Value::Kind::kTable || local->value.kind == Value::Kind::kCycle;
    return fmt::format("'{}' is {} that cannot be copied here", name,
                       is_table ? "a table" : "a " + text_of(local->value));
  }
  return {};
}

}  // namespace rlctl::ldb
