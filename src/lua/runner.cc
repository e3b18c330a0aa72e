#include "lua/runner.h"

#include <fmt/format.h>

#include <lua5.1/lua.hpp>

#include <algorithm>
#include <exception>
#include <optional>

#include "base/number.h"
#include "base/sha1.h"
#include "lua/lexer.h"
#include "lua/reply_values.h"
#include "lua/substitute.h"

namespace rlctl::lua {

constexpr const char* kChunk = "@user_script";

// The functions of `redis` get it as their first upvalue.
struct Runner::State {
  struct Function {
    std::string name = {};  ///< empty: the script itself
    int reference = LUA_NOREF;
    bool read_only = false;
  };

  Sandbox sandbox;
  std::string error_name = {};  ///< what errors of a script call it
  bool is_library = false;
  std::vector<Function> functions = {};
  // Of the call that runs:
  bool is_loading = false;
  bool read_only = false;
  Commands* commands = nullptr;
  std::string reply = {};
  std::vector<std::string_view> words = {};
  std::string digits = {};      ///< of a number among the words
  lua_State* caller = nullptr;  ///< the thread that calls a command
  std::optional<double> returned_number = {};
  Observer* observer = nullptr;
  Stack stack{kChunk};

  explicit State(const Bounds& bounds) : sandbox(bounds) {}

  static State& of(lua_State* state) {
    return *static_cast<State*>(lua_touserdata(state, lua_upvalueindex(1)));
  }
};

namespace {

// ---- The table `redis` ----

int raise(lua_State* state, std::string_view text) {
  push_error(state, text);
  return lua_error(state);
}

/// The constants, with the version whose rules these are.
constexpr std::pair<const char*, int> kNumbers[] = {
    {"LOG_DEBUG", 0},    {"LOG_VERBOSE", 1},
    {"LOG_NOTICE", 2},   {"LOG_WARNING", 3},
    {"REPL_NONE", 0},    {"REPL_AOF", 1},
    {"REPL_REPLICA", 2}, {"REPL_SLAVE", 2},
    {"REPL_ALL", 3},     {"REDIS_VERSION_NUM", 0x0007000f}};
constexpr const char* kVersion = "7.0.15";

int sha1hex(lua_State* state) {
  if (lua_gettop(state) != 1) return raise(state, "wrong number of arguments");
  std::size_t size = 0;
  const char* text = lua_tolstring(state, 1, &size);
  const auto hex = sha1_hex(text != nullptr ? std::string_view(text, size) : std::string_view());
  lua_pushlstring(state, hex.data(), hex.size());
  return 1;
}

bool has_one_text(lua_State* state) {
  return lua_gettop(state) == 1 && lua_type(state, 1) == LUA_TSTRING;
}

int error_reply(lua_State* state) {
  if (has_one_text(state)) {
    const std::string_view text = lua_tostring(state, 1);
    push_error(state, text.starts_with('-') ? std::string(text) : "-" + std::string(text));
  } else {
    push_error(state, "wrong number or type of arguments");
  }
  return 1;
}

int status_reply(lua_State* state) {
  if (has_one_text(state)) {
    lua_createtable(state, 0, 1);
    lua_pushvalue(state, 1);
    lua_setfield(state, -2, "ok");
  } else {
    push_error(state, "wrong number or type of arguments");
  }
  return 1;
}

/// redis.log(), which checks its arguments. Only an observer gets the message.
int log(lua_State* state, Observer* observer) {
  if (lua_gettop(state) < 2) return raise(state, "redis.log() requires two arguments or more.");
  if (lua_isnumber(state, 1) == 0) {
    return raise(state, "First argument must be a number (log level).");
  }
  const double level = lua_tonumber(state, 1);
  if (!(level > -1 && level < 4)) return raise(state, "Invalid debug level.");
  if (observer == nullptr) return 0;
  static constexpr std::string_view kLevels[] = {"debug", "verbose", "notice", "warning"};
  std::string message;
  for (int i = 2; i <= lua_gettop(state); ++i) {
    std::size_t size = 0;
    const char* const text = lua_tolstring(state, i, &size);
    if (i > 2) message += ' ';
    if (text != nullptr) message.append(text, size);
  }
  observer->on_log(kLevels[static_cast<int>(level)], std::move(message));
  return 0;
}

int setresp(lua_State* state) {
  if (lua_gettop(state) != 1) return raise(state, "redis.setresp() requires one argument.");
  const auto version = static_cast<int>(lua_tointeger(state, 1));
  if (version == 3) {
    Sandbox::stop(state, std::make_exception_ptr(
                             NotImplementedHere("redis.setresp(3) is not implemented here")));
  }
  if (version != 2) return raise(state, "RESP version must be 2 or 3.");
  return 0;
}

/// There is no replica.
int set_repl(lua_State* state) {
  if (lua_gettop(state) != 1) return raise(state, "redis.set_repl() requires two arguments.");
  const auto flags = lua_tointeger(state, 1);
  if (flags >= 0 && flags < 4) return 0;
  return raise(state,
               "Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.");
}

int return_true(lua_State* state) {
  lua_pushboolean(state, 1);
  return 1;
}

}  // namespace

// The functions of `redis` that need the State, and what surrounds a call.
struct RunnerFunctions {
  using State = Runner::State;

  static int log(lua_State* state) { return lua::log(state, State::of(state).observer); }
  static int breakpoint(lua_State* state) {
    auto* const observer = State::of(state).observer;
    lua_pushboolean(state, observer != nullptr && observer->on_breakpoint() ? 1 : 0);
    return 1;
  }
  static int debug(lua_State* state) {
    auto* const observer = State::of(state).observer;
    if (observer == nullptr) return 0;
    std::vector<Value> values;
    for (int i = 1; i <= lua_gettop(state); ++i) {
      lua_pushvalue(state, i);
      values.push_back(take_value(state));
    }
    observer->on_debug(values);
    return 0;
  }

  static int call(lua_State* state) { return call_command(state, true); }
  static int pcall(lua_State* state) { return call_command(state, false); }

  static int call_command(lua_State* state, bool raises) {
    auto& its = State::of(state);
    if (its.is_loading) {
      return raise(state, "redis.call/pcall can only be called inside a script invocation");
    }
    if (const char* problem = read_words(state, its)) {
      push_error(state, problem);
      return raises ? lua_error(state) : 1;
    }
    its.caller = state;
    std::exception_ptr failure;
    try {
      its.reply.clear();
      its.commands->call(its.words, its.read_only, its.reply);
      if (its.observer != nullptr) {
        its.observer->after_call({its.words.begin(), its.words.end()}, its.reply);
      }
    } catch (const std::exception&) {  // Lua's own exceptions are pointers
      failure = std::current_exception();
    }
    if (failure) Sandbox::stop(state, std::move(failure));
    lua_settop(state, 0);
    push_reply(state, its.reply);
    return raises && its.reply.starts_with('-') ? lua_error(state) : 1;
  }

  /// There are no users: any command is allowed.
  static int acl_check_cmd(lua_State* state) {
    if (const char* problem = read_words(state, State::of(state))) return raise(state, problem);
    return return_true(state);
  }

  /// Sets the words of a command to the arguments of the running function; they are valid while
  /// these are on the stack. Returns what is wrong with them, or null.
  static const char* read_words(lua_State* state, State& its) {
    const int count = lua_gettop(state);
    if (count == 0) return "Please specify at least one argument for this redis lib call";
    its.words.clear();
    for (int i = 1; i <= count; ++i) {
      if (lua_type(state, i) == LUA_TNUMBER) {
        // Lua itself writes only 14 digits.
        its.digits.clear();
        append_double(its.digits, lua_tonumber(state, i));
        lua_pushlstring(state, its.digits.data(), its.digits.size());
        lua_replace(state, i);
      }
      std::size_t size = 0;
      const char* text = lua_tolstring(state, i, &size);
      if (text == nullptr) return "Lua redis lib command arguments must be strings or integers";
      its.words.emplace_back(text, size);
    }
    return nullptr;
  }

  /// register_function(name, callback), or register_function{function_name =, callback =,
  /// description =, flags =}.
  static int register_function(lua_State* state) {
    auto& its = State::of(state);
    if (!its.is_loading) {
      return raise(state, "redis.register_function can only be called on FUNCTION LOAD command");
    }
    State::Function function;
    const int count = lua_gettop(state);
    if (count < 1 || count > 2) {
      return raise(state, "wrong number of arguments to redis.register_function");
    }
    if (count == 2) {
      lua_createtable(state, 0, 2);
      lua_insert(state, 1);
      lua_setfield(state, 1, "callback");
      lua_setfield(state, 1, "function_name");
    } else if (!lua_istable(state, 1)) {
      return raise(state,
                   "calling redis.register_function with a single argument is only applicable to "
                   "Lua table (representing named arguments).");
    }
    lua_pushnil(state);
    while (lua_next(state, 1) != 0) {
      const std::string_view name =
          lua_type(state, -2) == LUA_TSTRING ? lua_tostring(state, -2) : "";
      if (name == "function_name") {
        if (lua_type(state, -1) != LUA_TSTRING) {
          return raise(state,
                       "function_name argument given to redis.register_function must be a string");
        }
        function.name = lua_tostring(state, -1);
      } else if (name == "callback") {
        if (!lua_isfunction(state, -1)) {
          return raise(state,
                       "callback argument given to redis.register_function must be a function");
        }
        lua_pushvalue(state, -1);
        function.reference = luaL_ref(state, LUA_REGISTRYINDEX);
      } else if (name == "flags") {
        if (!lua_istable(state, -1)) {
          return raise(state,
                       "flags argument to redis.register_function must be a table representing "
                       "function flags");
        }
        read_flags(state, function);
      } else if (name != "description") {
        return raise(state, name.empty()
                                ? "named argument key given to redis.register_function is not a "
                                  "string"
                                : "unknown argument given to redis.register_function");
      }
      lua_pop(state, 1);
    }
    if (function.name.empty()) {
      return raise(state, "redis.register_function must get a function name argument");
    }
    if (!is_name(function.name)) return raise(state, kNotAName);
    if (function.reference == LUA_NOREF) {
      return raise(state, "redis.register_function must get a callback argument");
    }
    if (find(its, function.name) != nullptr) {
      return raise(state, "Function already exists in the library");
    }
    its.functions.push_back(std::move(function));
    return 0;
  }

  /// Of the table on the top of the stack.
  static void read_flags(lua_State* state, State::Function& function) {
    for (int i = 1;; ++i) {
      lua_rawgeti(state, -1, i);
      const bool is_text = lua_type(state, -1) == LUA_TSTRING;
      const std::string_view flag = is_text ? lua_tostring(state, -1) : "";
      const bool is_end = lua_isnil(state, -1);
      if (flag == "no-writes") function.read_only = true;
      lua_pop(state, 1);
      if (is_end) return;
      if (!is_known_flag(flag)) raise(state, "unknown flag given");
    }
  }

  static const State::Function* find(const State& its, std::string_view name) {
    const auto found = std::ranges::find(its.functions, name, &State::Function::name);
    return found != its.functions.end() ? &*found : nullptr;
  }

  /// Tells the observer the error on the top of the stack.
  static void tell_error(lua_State* state, State& its) {
    if (its.observer == nullptr || its.is_loading || Sandbox::is_stopping(state)) return;
    std::exception_ptr failure;
    try {
      its.stack.enter(state);
      lua_pushvalue(state, 1);
      its.observer->at_error(its.stack, take_value(state));
    } catch (const std::exception&) {  // Lua's own exceptions are pointers
      failure = std::current_exception();
    }
    if (failure) Sandbox::stop(state, std::move(failure));
  }

  /// Pushes the handler of errors. A library has no `tostring`, so the handler keeps it.
  static void push_handler(lua_State* state, State& its) {
    lua_pushlightuserdata(state, &its);
    lua_getglobal(state, "tostring");
    lua_pushcclosure(state, add_place, 2);
  }

  /// Makes a table of an error, with the place where it was raised: the handler of Redis 7.
  static int add_place(lua_State* state) {
    tell_error(state, State::of(state));
    lua_Debug place{};
    bool has_place = lua_getstack(state, 1, &place) != 0 && lua_getinfo(state, "Sl", &place) != 0;
    if (has_place && std::string_view(place.what) == "C") {
      has_place = lua_getstack(state, 2, &place) != 0 && lua_getinfo(state, "Sl", &place) != 0;
    }
    if (!lua_istable(state, 1)) {
      lua_createtable(state, 0, 3);
      lua_pushliteral(state, "ERR ");
      lua_pushvalue(state, lua_upvalueindex(2));
      lua_pushvalue(state, 1);
      lua_call(state, 1, 1);
      lua_concat(state, 2);
      lua_setfield(state, -2, "err");
    }
    if (has_place) {
      lua_pushstring(state, place.source);
      lua_setfield(state, -2, "source");
      lua_pushinteger(state, place.currentline);
      lua_setfield(state, -2, "line");
    }
    return 1;
  }

  /// The text of a field of the error on the top of the stack; none if it has no such text.
  static std::optional<std::string> field(lua_State* state, const char* name) {
    lua_getfield(state, -1, name);
    std::optional<std::string> text;
    if (lua_isstring(state, -1) != 0) text = lua_tostring(state, -1);
    lua_pop(state, 1);
    return text;
  }

  /// The error on the top of the stack, in the words of the server.
  static std::string error_text(lua_State* state, std::string_view name) {
    if (!lua_istable(state, -1)) {
      const char* text = lua_isstring(state, -1) != 0 ? lua_tostring(state, -1) : nullptr;
      return fmt::format("ERR Error running script {}, {}", name,
                         text != nullptr ? text : "execution failure");
    }
    // Redis 7.0 ends with such an error.
    auto text = field(state, "err").value_or("ERR the script raised a table without a field 'err'");
    const auto source = field(state, "source");
    const auto line = field(state, "line");
    if (source && line) text += fmt::format(" script: {}, on {}:{}.", name, *source, *line);
    return text;
  }

  static void push_words(lua_State* state, std::span<const std::string_view> words) {
    lua_createtable(state, static_cast<int>(words.size()), 0);
    int i = 0;
    for (const auto word : words) {
      lua_pushlstring(state, word.data(), word.size());
      lua_rawseti(state, -2, ++i);
    }
  }

  /// Where a function of `redis` is found.
  enum class Where { kLoading, kScript, kAnywhere, kRunning };

  /// Pushes `redis`, as a library sees it while it is loaded, or a script or function.
  static void push_redis(lua_State* state, State& its, bool is_loading) {
    lua_newtable(state);
    for (const auto& [name, number] : kNumbers) {
      if (is_loading && std::string_view(name).starts_with("REPL_")) continue;
      lua_pushinteger(state, number);
      lua_setfield(state, -2, name);
    }
    lua_pushstring(state, kVersion);
    lua_setfield(state, -2, "REDIS_VERSION");
    struct Row {
      const char* name;
      lua_CFunction function;
      Where where = Where::kRunning;
    };
    const Row rows[] = {{"register_function", register_function, Where::kLoading},
                        {"log", log, Where::kAnywhere},
                        {"breakpoint", breakpoint, Where::kScript},
                        {"debug", debug, Where::kScript},
                        {"replicate_commands", return_true, Where::kScript},
                        {"sha1hex", sha1hex},
                        {"error_reply", error_reply},
                        {"status_reply", status_reply},
                        {"setresp", setresp},
                        {"set_repl", set_repl},
                        {"acl_check_cmd", acl_check_cmd},
                        {"call", call},
                        {"pcall", pcall}};
    for (const auto& [name, function, where] : rows) {
      const bool is_there =
          where == Where::kAnywhere || (where == Where::kLoading  ? is_loading
                                        : where == Where::kScript ? !is_loading && !its.is_library
                                                                  : !is_loading);
      if (!is_there) continue;
      lua_pushlightuserdata(state, &its);
      lua_pushcclosure(state, function, 1);
      lua_setfield(state, -2, name);
    }
  }

  /// Adds `redis`, which Valkey also calls `server`.
  static void add_redis(lua_State* state, State& its) {
    push_redis(state, its, false);
    lua_pushvalue(state, -1);
    Sandbox::add_global(state, "redis");
    Sandbox::add_global(state, "server");
  }

  /// Runs a library, the function on the top of the stack, which sees no other global than a
  /// `redis` with register_function(). Returns its error; empty if there is none.
  static std::string load_library(lua_State* state, State& its) {
    push_handler(state, its);
    lua_insert(state, -2);
    lua_newtable(state);
    push_redis(state, its, true);
    lua_setfield(state, -2, "redis");
    Sandbox::show_globals(state);
    its.is_loading = true;
    const int status = lua_pcall(state, 0, 0, -2);
    its.is_loading = false;
    const auto error = status == 0              ? std::nullopt
                       : lua_istable(state, -1) ? field(state, "err")
                       : lua_isstring(state, -1) != 0
                           ? std::string("ERR ") + lua_tostring(state, -1)
                           : "ERR failure";
    lua_pushnil(state);
    Sandbox::show_globals(state);
    return status == 0 ? "" : "ERR Error registering functions: " + error.value_or("ERR failure");
  }

  static bool is_name(std::string_view name) {
    return !name.empty() &&
           std::ranges::all_of(name, [](char c) { return is_name_letter(c) || is_digit(c); });
  }
  static constexpr const char* kNotAName =
      "Library names can only contain letters, numbers, or underscores(_) and must be at least one "
      "character long";

  /// Reads the first line, "#!lua …". Throws InvalidScript.
  static void read_first_line(State& its, std::string_view source, State::Function& script) {
    auto line = shebang_line(source);
    if (line.empty()) return;
    if (line.size() == source.size()) throw InvalidScript("ERR Invalid script shebang");
    const auto next_word = [&line] {
      constexpr std::string_view kBetweenWords = " \t\r";
      line.remove_prefix(std::min(line.find_first_not_of(kBetweenWords), line.size()));
      const auto word = line.substr(0, line.find_first_of(kBetweenWords));
      line.remove_prefix(word.size());
      return word;
    };
    const auto engine = next_word();
    if (engine != "#!lua") {
      throw InvalidScript(fmt::format("ERR Unexpected engine in script shebang: {}", engine));
    }
    constexpr std::string_view kLibraryName = "name=", kScriptFlags = "flags=";
    for (auto word = next_word(); !word.empty(); word = next_word()) {
      if (word.starts_with(kLibraryName)) {
        its.is_library = true;
        if (!is_name(word.substr(kLibraryName.size())))
          throw InvalidScript(fmt::format("ERR {}", kNotAName));
      } else if (word.starts_with(kScriptFlags)) {
        read_flags(word.substr(kScriptFlags.size()), script);
      } else {
        throw InvalidScript(fmt::format("ERR Unknown lua shebang option: {}", word));
      }
    }
  }
  static void read_flags(std::string_view flags, State::Function& script) {
    for (std::size_t begin = 0; begin <= flags.size();) {
      const auto flag = flags.substr(begin, flags.find(',', begin) - begin);
      if (!is_known_flag(flag)) {
        throw InvalidScript(fmt::format("ERR Unexpected flag in script shebang: {}", flag));
      }
      if (flag == "no-writes") script.read_only = true;
      begin += flag.size() + 1;
    }
  }
};

Runner::Runner(std::string_view source, const Bounds& bounds)
    : state_(std::make_unique<State>(bounds)) {
  auto& its = *state_;
  State::Function script;
  RunnerFunctions::read_first_line(its, source, script);
  its.error_name = sha1_hex(source);
  // What follows the first line keeps its number.
  source.remove_prefix(shebang_line(source).size());
  std::string invalid;
  std::string error;
  const bool ran = its.sandbox.run(
      [&](lua_State* state) {
        RunnerFunctions::add_redis(state, its);
        const char* const name = its.is_library ? "@user_function" : kChunk;
        if (!Sandbox::compile(state, source, name)) {
          invalid = fmt::format("ERR Error compiling {}: {}",
                                its.is_library ? "function" : "script (new function)",
                                lua_tostring(state, -1));
        } else if (its.is_library) {
          invalid = RunnerFunctions::load_library(state, its);
        } else {
          script.reference = luaL_ref(state, LUA_REGISTRYINDEX);
          its.functions.push_back(std::move(script));
        }
      },
      error);
  if (!ran) invalid = "ERR " + error;
  if (invalid.empty() && its.functions.empty()) invalid = "ERR No functions registered";
  if (!invalid.empty()) throw InvalidScript(on_one_line(invalid));
}

Runner::~Runner() = default;
Runner::Runner(Runner&&) noexcept = default;
Runner& Runner::operator=(Runner&&) noexcept = default;

std::vector<std::string> Runner::functions() const {
  std::vector<std::string> names;
  for (const auto& function : state_->functions) {
    if (state_->is_library) names.push_back(function.name);
  }
  return names;
}

void Runner::run(std::string_view function, std::span<const std::string_view> keys,
                 std::span<const std::string_view> arguments, Commands& commands,
                 std::string& reply) {
  auto& its = *state_;
  const auto* const found = RunnerFunctions::find(its, function);
  if (found == nullptr) return append_error(reply, "ERR Function not found");
  its.read_only = found->read_only;
  its.commands = &commands;
  its.returned_number.reset();
  its.stack.clear();
  std::string answer;
  std::string error;
  const bool ran = its.sandbox.run(
      [&](lua_State* state) {
        RunnerFunctions::push_handler(state, its);
        lua_rawgeti(state, LUA_REGISTRYINDEX, found->reference);
        RunnerFunctions::push_words(state, keys);
        if (!its.is_library) Sandbox::set_global(state, "KEYS");
        RunnerFunctions::push_words(state, arguments);
        if (!its.is_library) Sandbox::set_global(state, "ARGV");
        const int status = lua_pcall(state, its.is_library ? 2 : 0, 1, 1);
        if (status == 0) {
          if (lua_type(state, -1) == LUA_TNUMBER) its.returned_number = lua_tonumber(state, -1);
          if (its.observer != nullptr) {
            lua_pushvalue(state, -1);
            its.observer->on_return(take_value(state));
          }
          append_value(state, answer);
        } else {
          append_error(answer, RunnerFunctions::error_text(
                                   state, its.is_library ? function : its.error_name));
        }
      },
      error);
  if (!ran)
    append_error(answer = {},
                 fmt::format("ERR Error running script {}, {}", its.error_name, error));
  reply += answer;
}

void Runner::observe(Observer& observer) {
  auto& its = *state_;
  its.observer = &observer;
  its.sandbox.set_hook([&its](lua_State* state, lua_Debug* event) {
    if (event->event == LUA_HOOKCOUNT) {
      its.observer->at_work();
    } else if (its.stack.arrive(state, event)) {
      its.observer->at_line(its.stack);
    }
  });
}

int Runner::line() const {
  return Sandbox::line(state_->caller);
}

int Runner::stopped_line() const {
  return state_->sandbox.stopped_line();
}

std::optional<double> Runner::returned_number() const {
  return state_->returned_number;
}

}  // namespace rlctl::lua
