#include "lua/frames.h"

#include <fmt/format.h>

#include <lua5.1/lua.hpp>

#include <algorithm>
#include <exception>
#include <new>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"
#include "lua/lexer.h"
#include "lua/sandbox.h"
#include "lua/substitute.h"

namespace rlctl::lua {

// A thread of Lua, and the numbers of the calls on its stack, by Lua's index of an active function.
struct Stack::Thread {
  struct Call {
    std::int64_t number = 0;
    const void* function = nullptr;
  };
  lua_State* state = nullptr;
  std::vector<Call> calls = {};
};

// An active function.
struct Stack::Found {
  lua_State* state = nullptr;
  lua_Debug record = {};
};

namespace {

// ---- Values ----

constexpr int kDeepestTable = 100;
constexpr double kMostFields = 1000, kBytesOfField = 1024;

struct TableReading {
  double left = kMostFields;
  std::vector<const void*> around = {};  ///< the tables that contain this value
};

Value take_part(lua_State* state, TableReading& reading);

Value take_table(lua_State* state, TableReading& reading) {
  if (Sandbox::push_real_table(state, -1)) lua_remove(state, -2);
  Value table{.kind = Value::Kind::kTable};
  const auto* const address = lua_topointer(state, -1);
  const bool is_around = std::ranges::find(reading.around, address) != reading.around.end();
  if (is_around || reading.around.size() == kDeepestTable) {
    lua_pop(state, 1);
    return {.kind = Value::Kind::kCycle};
  }
  reading.around.push_back(address);
  luaL_checkstack(state, 4, "nested too deeply");
  lua_pushnil(state);
  while (lua_next(state, -2) != 0) {
    if (reading.left < 1) {
      table.is_cut = true;
      lua_pop(state, 2);
      break;
    }
    --reading.left;
    auto field = take_part(state, reading);
    lua_pushvalue(state, -1);
    auto key = take_part(state, reading);
    table.fields.emplace_back(std::move(key), std::move(field));
  }
  lua_pop(state, 1);
  reading.around.pop_back();
  sort_fields(table);
  return table;
}

Value take_part(lua_State* state, TableReading& reading) {
  Value value;
  switch (lua_type(state, -1)) {
    case LUA_TTABLE:
      return take_table(state, reading);
    case LUA_TNIL:
      break;
    case LUA_TBOOLEAN:
      value = {.kind = Value::Kind::kBoolean, .boolean = lua_toboolean(state, -1) != 0};
      break;
    case LUA_TNUMBER:
      value = {.kind = Value::Kind::kNumber, .number = lua_tonumber(state, -1)};
      break;
    case LUA_TSTRING: {
      std::size_t size = 0;
      const char* const text = lua_tolstring(state, -1, &size);
      value = {.kind = Value::Kind::kString, .text = {text, size}};
      reading.left -= static_cast<double>(size) / kBytesOfField;
      break;
    }
    default:
      value = {.kind = Value::Kind::kOpaque,
               .text = luaL_typename(state, -1),
               .identity = reinterpret_cast<std::uintptr_t>(lua_topointer(state, -1))};
  }
  lua_pop(state, 1);
  return value;
}

// ---- Variables ----

/// Whether a variable is not the script's: "(for index)" and the like are Lua's own.
bool is_added(std::string_view name) {
  return name.starts_with('(') || name == kLibraryLocal;
}

/// Where a variable of an active function is; `index` is 0 if there is none.
struct VariablePlace {
  int index = 0;
  bool is_upvalue = false;
};

VariablePlace find_variable(lua_State* state, lua_Debug& record, std::string_view name) {
  VariablePlace place;
  for (int i = 1; const char* const local = lua_getlocal(state, &record, i); ++i) {
    lua_pop(state, 1);
    if (name == local) place.index = i;
  }
  if (place.index != 0) return place;
  lua_getinfo(state, "f", &record);
  for (int i = 1; const char* const upvalue = lua_getupvalue(state, -1, i); ++i) {
    lua_pop(state, 1);
    if (name == upvalue) place = {i, true};
  }
  lua_pop(state, 1);
  return place;
}

/// The variables that code sees, while it runs.
struct Scope {
  lua_State* state;
  lua_Debug record;
  bool is_open;  ///< a function that the code has left behind may be called later

  static Scope& of(lua_State* state) {
    return *static_cast<Scope*>(lua_touserdata(state, lua_upvalueindex(1)));
  }
};

VariablePlace variable_in_scope(lua_State* state, Scope& scope) {
  if (!scope.is_open || lua_type(state, 2) != LUA_TSTRING) return {};
  return find_variable(scope.state, scope.record, lua_tostring(state, 2));
}

/// __index of the environment of code: its table, and a name.
int read_variable(lua_State* state) {
  auto& scope = Scope::of(state);
  const auto place = variable_in_scope(state, scope);
  if (place.index == 0) {
    lua_gettable(state, LUA_GLOBALSINDEX);
    return 1;
  }
  if (place.is_upvalue) {
    lua_getinfo(scope.state, "f", &scope.record);
    lua_getupvalue(scope.state, -1, place.index);
    lua_remove(scope.state, -2);
  } else {
    lua_getlocal(scope.state, &scope.record, place.index);
  }
  lua_xmove(scope.state, state, 1);
  return 1;
}

/// __newindex: the table, a name, and a value.
int write_variable(lua_State* state) {
  auto& scope = Scope::of(state);
  const auto place = variable_in_scope(state, scope);
  if (place.index == 0) {
    lua_settable(state, LUA_GLOBALSINDEX);
  } else if (place.is_upvalue) {
    lua_getinfo(scope.state, "f", &scope.record);
    lua_xmove(state, scope.state, 1);
    lua_setupvalue(scope.state, -2, place.index);
    lua_pop(scope.state, 1);
  } else {
    lua_xmove(state, scope.state, 1);
    lua_setlocal(scope.state, &scope.record, place.index);
  }
  return 0;
}

/// Gives the function on the top of the stack an environment with the variables of an active one.
Scope& set_environment(lua_State* state, lua_State* of_function, const lua_Debug& record) {
  lua_newtable(state);
  lua_newtable(state);
  auto* const scope = new (lua_newuserdata(state, sizeof(Scope))) Scope{of_function, record, true};
  lua_pushvalue(state, -1);
  lua_pushcclosure(state, read_variable, 1);
  lua_setfield(state, -3, "__index");
  lua_pushcclosure(state, write_variable, 1);
  lua_setfield(state, -2, "__newindex");
  lua_setmetatable(state, -2);
  lua_setfenv(state, -2);
  return *scope;
}

// ---- Code ----

constexpr const char* kChunkOfCode = "=code";
constexpr std::int64_t kMostInstructionsOfCode = 100'000'000;  // about a second

bool begins_statement(std::string_view code) {
  static constexpr std::string_view kWords[] = {"return", "local", "if",    "for",     "while",
                                                "repeat", "do",    "break", "function"};
  const auto tokens = lex(code);
  if (!tokens) return false;
  const auto& first = tokens->tokens.front();
  const auto& second = tokens->tokens[std::min(std::size_t{1}, tokens->tokens.size() - 1)];
  // An expression may begin with a function that has no name.
  if (first.is("function") && second.is("(")) return false;
  return std::ranges::find(kWords, first.text) != std::end(kWords);
}

/// Pushes a function, or a message. A chunk has arguments of its own, which are none of those of
/// the function in which it runs: Lua does not tell those, so "..." is refused.
bool compile_chunk(lua_State* state, std::string_view code) {
  if (!Sandbox::compile(state, code, kChunkOfCode)) return false;
  if (code.find("...") == code.npos) return true;
  const auto within = fmt::format("return function() {}\nend", code);
  const bool compiles = Sandbox::compile(state, within, kChunkOfCode);
  const auto* const message = compiles ? "" : lua_tostring(state, -1);
  const bool lacks = std::string_view(message).find("cannot use '...'") != std::string_view::npos;
  lua_pop(state, 1);
  if (!lacks) return true;
  lua_pop(state, 1);
  lua_pushliteral(state, "'...' is not known here: Lua does not tell the arguments of a function");
  return false;
}

/// Pushes a function, or a message.
bool compile_code(lua_State* state, std::string_view code) {
  const auto expression = fmt::format("return {}\n", code);
  if (begins_statement(code)) return compile_chunk(state, code);
  if (compile_chunk(state, expression)) return true;
  if (compile_chunk(state, code)) {
    lua_remove(state, -2);
    return true;
  }
  lua_pop(state, 1);
  return false;
}

/// "code:1: unexpected symbol" without its place.
std::string without_place_in_code(std::string_view message) {
  constexpr std::string_view kPlace = "code:";
  if (!message.starts_with(kPlace)) return std::string(message);
  auto rest = message.substr(kPlace.size());
  take_digits(rest);
  return std::string(rest.starts_with(": ") ? rest.substr(2) : message);
}

/// The message of the error on the top of the stack, which is popped.
std::string take_message(lua_State* state) {
  if (lua_istable(state, -1)) {
    lua_getfield(state, -1, "err");
    lua_remove(state, -2);
  }
  const auto error = take_value(state);
  std::string_view text = error.text;
  if (error.kind != Value::Kind::kString) return text_of(error);
  if (text.starts_with("ERR ")) text.remove_prefix(4);
  return without_place_in_code(text);
}

std::string why_ended(const std::exception_ptr& ended) {
  try {
    std::rethrow_exception(ended);
  } catch (const Interrupted&) {
    throw;
  } catch (const RanTooLong& error) {
    return fmt::format("it {}", error.what());
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

Value take_value(lua_State* state) {
  TableReading reading;
  return take_part(state, reading);
}

std::string why_not_expression(std::string_view code) {
  Sandbox sandbox;
  std::string message, error;
  const bool ran = sandbox.run(
      [&](lua_State* state) {
        if (!compile_chunk(state, fmt::format("return {}\n", code))) {
          message = take_message(state);
        } else if (!Sandbox::compile(state, fmt::format("return ({}\n)", code), kChunkOfCode)) {
          message = "it is empty, or a list";
        }
      },
      error);
  return ran ? message : error;
}

// ---- Which functions are active ----

Stack::Stack(std::string chunk) : chunk_(std::move(chunk)) {}
Stack::~Stack() = default;
Stack::Stack(Stack&&) noexcept = default;
Stack& Stack::operator=(Stack&&) noexcept = default;

void Stack::clear() {
  threads_.clear();
  called_ = nullptr;
  line_ = 0;
}

void Stack::enter(lua_State* state) {
  const auto found = std::ranges::find(threads_, state, &Thread::state);
  if (found == threads_.end()) {
    threads_.push_back({.state = state});
  } else {
    threads_.erase(found + 1, threads_.end());
  }
}

bool Stack::arrive(lua_State* state, lua_Debug* event) {
  if (is_evaluating_) return false;
  enter(state);
  auto& calls = threads_.back().calls;
  const auto index = static_cast<std::size_t>(event->i_ci);
  if (event->event != LUA_HOOKLINE) {
    lua_getinfo(state, "S", event);
    const bool is_lua = std::string_view(event->what) != "C";
    called_ = is_lua ? state : nullptr;
    if (is_lua) {
      calls.resize(index + 1);
      calls[index] = {.number = ++call_count_};
    }
    return false;
  }
  // A function that is called instead of returning takes its caller's place after the event.
  if (called_ == state && calls.size() == index + 2) calls[index] = calls[index + 1];
  called_ = nullptr;
  calls.resize(index + 1);
  lua_getinfo(state, "S", event);
  if (event->source != chunk_) return false;
  line_ = event->currentline;
  return true;
}

std::int64_t Stack::call() const noexcept {
  return threads_.empty() || threads_.back().calls.empty() ? 0
                                                           : threads_.back().calls.back().number;
}

std::vector<Frame> Stack::frames() const {
  std::vector<Frame> frames;
  for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread) {
    lua_Debug record{};
    for (int level = 0; lua_getstack(thread->state, level, &record) != 0; ++level) {
      lua_getinfo(thread->state, "nSl", &record);
      if (record.source != chunk_) continue;
      const auto index = static_cast<std::size_t>(record.i_ci);
      const auto call = index < thread->calls.size() ? thread->calls[index].number : 0;
      auto name = record.name != nullptr ? std::string(record.name)
                  : std::string_view(record.what) == "main"
                      ? "top level"
                      : fmt::format("function of line {}", record.linedefined);
      frames.push_back({.name = std::move(name), .line = record.currentline, .call = call});
    }
  }
  return frames;
}

Stack::Found Stack::find(std::size_t frame) const {
  for (auto thread = threads_.rbegin(); thread != threads_.rend(); ++thread) {
    Found found{.state = thread->state};
    for (int level = 0; lua_getstack(found.state, level, &found.record) != 0; ++level) {
      lua_getinfo(found.state, "S", &found.record);
      if (found.record.source == chunk_ && frame-- == 0) return found;
    }
  }
  throw UsageError("there is no such frame");
}

/// Calls the body, which raises errors of Lua only for lack of memory or of stack, on the innermost
/// thread.
template <typename Body>
void Stack::call_body(Body body) const {
  const auto call = [](lua_State* state) {
    auto& its = *static_cast<Body*>(lua_touserdata(state, 1));
    its(state);
    return 0;
  };
  lua_State* const state = threads_.back().state;
  const int status = lua_cpcall(state, call, &body);
  if (status == 0) return;
  lua_pop(state, 1);
  if (status == LUA_ERRRUN) throw TooDeep();
  throw std::bad_alloc();
}

std::vector<Variable> Stack::variables(std::size_t frame) const {
  auto found = find(frame);
  std::vector<Variable> variables;
  const auto add = [&](const char* name, int place) {
    auto value = take_value(found.state);
    if (is_added(name)) return;
    const auto same = std::ranges::find(variables, name, &Variable::name);
    if (same != variables.end() && place == 0) return;
    if (same != variables.end()) variables.erase(same);
    variables.push_back({.name = name, .value = std::move(value), .place = place});
  };
  call_body([&](lua_State*) {
    luaL_checkstack(found.state, 4, "too many variables");
    for (int i = 1; const char* const name = lua_getlocal(found.state, &found.record, i); ++i) {
      add(name, i);
    }
    lua_getinfo(found.state, "f", &found.record);
    for (int i = 1; const char* const name = lua_getupvalue(found.state, -1, i); ++i) {
      add(name, 0);
    }
    lua_pop(found.state, 1);
  });
  return variables;
}

Evaluation Stack::evaluate(std::size_t frame, std::string_view code) {
  const auto found = find(frame);
  Evaluation result;
  std::exception_ptr ended;
  is_evaluating_ = true;
  const std::unique_ptr<bool, void (*)(bool*)> at_end(&is_evaluating_,
                                                      [](bool* is) { *is = false; });
  call_body([&](lua_State* state) {
    luaL_checkstack(found.state, 4, "too many variables");
    lua_State* const thread = lua_newthread(state);
    if (!compile_code(thread, code)) {
      result.outcome = Evaluation::Outcome::kCompileError;
      result.message = take_message(thread);
      return;
    }
    auto& scope = set_environment(thread, found.state, found.record);
    // The environment may be garbage once the code has run.
    lua_getfenv(thread, -1);
    lua_xmove(thread, state, 1);
    int status = 0;
    ended = Sandbox::call_aside(thread, kMostInstructionsOfCode, status);
    scope.is_open = false;
    if (ended) return;
    if (status != 0) {
      result.outcome = Evaluation::Outcome::kError;
      result.message = take_message(thread);
      return;
    }
    for (int i = 1; i <= lua_gettop(thread); ++i) {
      luaL_checkstack(thread, 1, "too many values");
      lua_pushvalue(thread, i);
      result.values.push_back(take_value(thread));
    }
  });
  if (ended) return {.outcome = Evaluation::Outcome::kError, .message = why_ended(ended)};
  return result;
}

}  // namespace rlctl::lua
