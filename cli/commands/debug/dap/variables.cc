#include "cli/commands/debug/dap/variables.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/commands/debug/keys.h"
#include "debugger/engine_debugger.h"
#include "lua/frames.h"
#include "lua/value.h"

namespace rlctl::cli::debug::dap {
namespace {

/// A variable of one line that holds no others.
Json plain_variable(const std::string& name, const std::string& value) {
  return {{"name", name}, {"value", value}, {"variablesReference", 0}};
}

/// A value as an editor shows it. It has no control characters.
std::string shown_text(const lua::Value& value) {
  return lua::text_of(value, lua::Characters::kUtf8);
}

/// The frame of a request, from the innermost. Script's stack_trace() gives their numbers.
std::size_t frame_of(const Json& arguments) {
  const auto frame = integer_member(arguments, "frameId", 1);
  if (frame < 1) throw UsageError("there is no such frame");
  return static_cast<std::size_t>(frame) - 1;
}

/// "t.a" or "t[1]".
std::string field_path(const std::string& table, const std::string& field) {
  return table + (field.starts_with('[') ? "" : ".") + field;
}

}  // namespace

/// Lets the debugger look at a frame.
void Variables::select_frame(std::size_t frame) {
  frame_ = frame;
  script_.debugger().select_frame(frame);
}

const Variables::Node& Variables::node_of(const Json& arguments) const {
  const auto reference = integer_member(arguments, "variablesReference", 0);
  if (reference < 1 || reference > static_cast<std::int64_t>(nodes_.size())) {
    throw UsageError("there are no such variables at this stop");
  }
  return nodes_[static_cast<std::size_t>(reference) - 1];
}

std::int64_t Variables::reference_to(Node node) {
  nodes_.push_back(std::move(node));
  return static_cast<std::int64_t>(nodes_.size());
}

Json Variables::scopes(const Json& arguments) {
  using Kind = Node::Kind;
  const auto frame = frame_of(arguments);
  auto scopes = Json::array();
  const auto add = [&](const char* name, Kind kind) {
    scopes.push_back({{"name", name},
                      {"variablesReference", reference_to({.kind = kind, .frame = frame})},
                      {"expensive", kind == Kind::kRedis}});
    if (kind == Kind::kLocals) scopes.back()["presentationHint"] = "locals";
  };
  add("Locals", Kind::kLocals);
  add("Upvalues", Kind::kUpvalues);
  add("KEYS", Kind::kKeys);
  add("ARGV", Kind::kArgv);
  add("Keys in Redis", Kind::kRedis);
  return {{"scopes", scopes}};
}

/// "value", "type" and "variablesReference" of a value, for its variable or its evaluation.
Json Variables::value_fields(const char* name, const lua::Value& value, const std::string& path) {
  using Kind = lua::Value::Kind;
  // In the order of lua::Value::Kind.
  static constexpr std::array kTypes{"nil", "boolean", "number", "string", "table", "table"};
  const bool is_table = value.kind == Kind::kTable && (!value.fields.empty() || value.is_cut);
  auto text = shown_text(value);
  if (is_table) text = script_.shortened(std::move(text));
  return {
      {name, text},
      {"type",
       value.kind == Kind::kOpaque ? value.text : kTypes.at(static_cast<std::size_t>(value.kind))},
      {"variablesReference",
       is_table ? reference_to(
                      {.kind = Node::Kind::kValue, .frame = frame_, .value = value, .path = path})
                : 0}};
}

Json Variables::variable(const std::string& name, const lua::Value& value,
                         const std::string& path) {
  auto fields = value_fields("value", value, path);
  fields["name"] = name;
  if (!path.empty()) fields["evaluateName"] = path;
  return fields;
}

Json Variables::fields_of(const lua::Value& table, const std::string& path) {
  auto fields = Json::array();
  for (const auto& [key, value] : table.fields) {
    const bool is_name = key.kind == lua::Value::Kind::kString && lua::is_name(key.text);
    const auto text = is_name ? key.text : "[" + shown_text(key) + "]";
    fields.push_back(variable(text, value, path.empty() ? path : field_path(path, text)));
  }
  if (table.is_cut) fields.push_back(plain_variable("...", "more fields are not shown"));
  return fields;
}

Json Variables::locals(bool are_upvalues) {
  auto shown = Json::array();
  for (const auto& one : script_.debugger().variables()) {
    if (one.is_upvalue() == are_upvalues) shown.push_back(variable(one.name, one.value, one.name));
  }
  return shown;
}

Json Variables::global(const char* name) {
  const auto found = script_.debugger().evaluate(name);
  if (found.outcome != lua::Evaluation::Outcome::kValues || found.values.empty()) {
    throw UsageError(std::string(name) + ": " + found.message);
  }
  return fields_of(found.values.front(), name);
}

Json Variables::keys_in_redis() {
  auto shown = Json::array();
  const auto call = [&](const auto& words) { return script_.debugger().call(words); };
  for (const auto& key : script_.debuggee().keys) {
    const auto text = read_key(call, key);
    shown.push_back(plain_variable(escaped_message(key), text.type == "none"
                                                             ? "no such key"
                                                             : escaped_message(text_of(text))));
  }
  return shown;
}

Json Variables::variables(const Json& arguments) {
  using Kind = Node::Kind;
  const auto node = node_of(arguments);
  select_frame(node.frame);
  switch (node.kind) {
    case Kind::kLocals:
    case Kind::kUpvalues:
      return {{"variables", locals(node.kind == Kind::kUpvalues)}};
    case Kind::kKeys:
      return {{"variables", global("KEYS")}};
    case Kind::kArgv:
      return {{"variables", global("ARGV")}};
    case Kind::kRedis:
      return {{"variables", keys_in_redis()}};
    case Kind::kValue:
      break;
  }
  return {{"variables", fields_of(node.value, node.path)}};
}

Json Variables::evaluate(const Json& arguments) {
  auto& debugger = script_.debugger();
  const auto code = text_member(arguments, "expression");
  const auto context = text_member(arguments, "context");
  const bool is_path = debugger::is_path(code);
  const bool calls = context == "repl" || context == "watch";
  if (code.empty()) throw UsageError("\"expression\" is missing");
  if (!calls && !is_path) {
    throw UsageError("only variables and their fields are evaluated here");
  }
  const auto why_not = context == "watch" ? lua::why_not_expression(code) : "";
  if (!why_not.empty()) {
    throw UsageError(fmt::format("'{}' is not an expression: {}", code, why_not));
  }
  const auto frame = frame_of(arguments);
  const auto assignment = debugger::parse_assignment(code);
  const bool is_assignment = context == "repl" && assignment && assignment->has_sign &&
                             lua::why_not_expression(assignment->expression).empty();
  if (is_assignment) {
    return set(frame, assignment->variable, assignment->expression, "result");
  }
  select_frame(frame);
  const auto found = calls ? debugger.evaluate(code) : debugger.raw_value_of(code);
  if (found.outcome != lua::Evaluation::Outcome::kValues) throw UsageError(found.message);
  if (found.values.size() == 1) {
    return value_fields("result", found.values.front(), is_path ? code : "");
  }
  std::string text;
  for (const auto& value : found.values) {
    text += (text.empty() ? "" : ", ") + shown_text(value);
  }
  return {{"result", text.empty() ? "(no value)" : text}, {"variablesReference", 0}};
}

/// Sets a variable or a field; returns its value, under `name`.
Json Variables::set(std::size_t frame, const std::string& path, const std::string& expression,
                    const char* name) {
  auto& debugger = script_.debugger();
  select_frame(frame);
  const auto found = debugger.set(path, expression);
  if (found.outcome != lua::Evaluation::Outcome::kValues) throw UsageError(found.message);
  // The client may ask again for what it has shown.
  for (auto& node : nodes_) {
    if (node.frame != frame || node.path.empty()) continue;
    const auto now = debugger.evaluate(node.path);
    if (now.values.size() == 1) node.value = now.values.front();
  }
  return value_fields(name, found.values.empty() ? lua::Value{} : found.values.front(), path);
}

Json Variables::set_variable(const Json& arguments) {
  using Kind = Node::Kind;
  const auto node = node_of(arguments);
  const auto name = text_member(arguments, "name"), value = text_member(arguments, "value");
  if (name.empty() || value.empty()) throw UsageError("\"name\" or \"value\" is missing");
  switch (node.kind) {
    case Kind::kLocals:
    case Kind::kUpvalues:
      return set(node.frame, name, value, "value");
    case Kind::kKeys:
      return set(0, "KEYS" + name, value, "value");
    case Kind::kArgv:
      return set(0, "ARGV" + name, value, "value");
    case Kind::kRedis:
      throw UsageError("change a key in the console: redis.call('SET', KEYS[1], 'value')");
    case Kind::kValue:
      break;
  }
  if (node.path.empty()) throw UsageError("this table is the value of an expression, a copy");
  return set(node.frame, field_path(node.path, name), value, "value");
}

}  // namespace rlctl::cli::debug::dap
