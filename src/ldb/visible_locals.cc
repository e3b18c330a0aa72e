#include "ldb/visible_locals.h"

#include <fmt/format.h>

#include <utility>

#include "ldb/evaluation.h"
#include "ldb/session.h"

namespace rlctl::ldb {
namespace {

using ValueKind = Value::Kind;

/// Whether a value can be what the server's debugger printed so.
bool may_print_as(const Value& value, const Value& printed) {
  switch (value.kind) {
    case ValueKind::kNil:
    case ValueKind::kBoolean:
    case ValueKind::kString:
      return value == printed;
    case ValueKind::kNumber:
      return printed.kind == ValueKind::kNumber &&
             fmt::format("{:g}", value.number) == fmt::format("{:g}", printed.number);
    default:
      return printed.kind != ValueKind::kNil && printed.kind != ValueKind::kBoolean &&
             printed.kind != ValueKind::kNumber && printed.kind != ValueKind::kString;
  }
}

}  // namespace

void VisibleLocals::hear(const ProbedScript& script, const ProbeReading& reading) {
  if (!watch_) watch_.emplace(script);
  readings_[script.probes[reading.probe].function] = reading;
  last_reading_ = reading;
  heard_ = true;
}

std::size_t VisibleLocals::function_at(const ProbedScript& script, int line) const {
  const auto around = script.function_around(line);
  if (!last_reading_) return around;
  const auto& probe = script.probes[last_reading_->probe];
  if (probe.line == line) return probe.function;
  // At an `end` a function ends, or the one around it has made it: that one told nothing of it.
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
  if (reading == nullptr) return;
  for (const auto& variable : reading->variables) {
    locals_.push_back({walk.script().locals[variable.local], variable.value});
  }
  if (in_midst || !is_told) take_printed(walk.session().ask({"print"}).items);
}

std::vector<LocalChange> VisibleLocals::changes(Walk& walk) {
  if (!walk.has_probes()) {
    constexpr std::size_t kDeepest = 1000;
    const auto depth = walk.script().may_have_functions() ? walk.depth(kDeepest) : 1;
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
    if (value.kind == ValueKind::kCycle)
      return {.why_not = so_far + " is a table that holds itself"};
    if (!field && value.kind == ValueKind::kTable) {
      return {.why_not = so_far + " is too large to be told as a whole"};
    }
    if (!field) return {};
    so_far += step.key.kind == ValueKind::kString ? "." + step.key.text : "[...]";
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
        local->value.kind == ValueKind::kTable || local->value.kind == ValueKind::kCycle;
    return fmt::format("'{}' is {} that cannot be copied here", name,
                       is_table ? "a table" : "a " + text_of(local->value));
  }
  return {};
}

}  // namespace rlctl::ldb
