#include "lua/sandbox.h"

#include <fmt/format.h>

#include <lua5.1/lua.hpp>

extern "C" {
#include <lua5.1/lua-bitop.h>
#include <lua5.1/lua-cjson.h>
}

#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "base/number.h"
#include "base/text.h"
#include "base/worker.h"
#include "lua/struct_library.h"

namespace rlctl::lua {
// What the allocator, the hook and the guards of one Lua state share.
struct Sandbox::Box {
  Bounds bounds;
  Hook hook = {};
  std::size_t used = 0;             ///< bytes
  std::int64_t left = 0;            ///< instructions of this run
  std::exception_ptr stopped = {};  ///< why the run ends; no source may catch that
  int stopped_line = 0;             ///< where it was then; 0: not known
  /// Of math.random(): at first, that of a server that has just started.
  std::array<unsigned short, 3> random_state{0x330E, 0xABCD, 0x1234};
  int globals = LUA_NOREF;  ///< the real table, in the registry
  int caller = LUA_NOREF;   ///< Guards::call_body(), in the registry

  static Box& of(lua_State* state) {
    void* box = nullptr;
    lua_getallocf(state, &box);
    return *static_cast<Box*>(box);
  }
};

namespace {

constexpr int kInstructionsBetweenHooks = 10'000;
/// So few that a run which calls slow functions in a loop stops when it is asked to.
constexpr int kInstructionsBetweenStops = 10;
constexpr const char* kReadOnly = "Attempt to modify a readonly table";

/// What a sandbox has of each library. An array of constants: nothing is done for it at the start
/// of the process.
struct Library {
  const char* name;
  lua_CFunction open;
  std::string_view only = {};  ///< names with a blank around each; empty: all
};

constexpr Library kLibraries[] = {
    {"", luaopen_base,
     " assert collectgarbage coroutine error gcinfo getmetatable ipairs next pairs rawequal rawget "
     "rawset select setmetatable tonumber tostring type unpack xpcall _VERSION "},
    {"string", luaopen_string},
    {"table", luaopen_table},
    {"math", luaopen_math},
    {"os", luaopen_os, " clock "},
    {"bit", luaopen_bit},
    {"cjson", luaopen_cjson},
    {"struct", open_struct_library}};

// ---- Tables that cannot be changed ----

/// In the metatable of a protected table, the key of the real one: its address.
const char kRealTable = 0;

int refuse_change(lua_State* state) {
  return luaL_error(state, kReadOnly);
}

/// Replaces the table on the top of the stack by a protected one.
void protect(lua_State* state) {
  lua_newtable(state);
  lua_newtable(state);
  lua_pushvalue(state, -3);
  lua_setfield(state, -2, "__index");
  lua_pushcfunction(state, refuse_change);
  lua_setfield(state, -2, "__newindex");
  lua_pushboolean(state, 0);
  lua_setfield(state, -2, "__metatable");
  lua_pushlightuserdata(state, const_cast<char*>(&kRealTable));
  lua_pushvalue(state, -4);
  lua_rawset(state, -3);
  lua_setmetatable(state, -2);
  lua_remove(state, -2);
}

int refuse_missing_global(lua_State* state) {
  const char* name = lua_tostring(state, 2);
  if (name == nullptr) {
    return luaL_error(state,
                      "Second argument to luaProtectedTableError must be a string or number");
  }
  return luaL_error(state, "Script attempted to access nonexistent global variable '%s'", name);
}

// ---- Guards ----
//
// Each stands in place of a function of a library, which is its second upvalue; the first is that
// of this function, or nil.

int original(lua_State* state) {
  return lua_tocfunction(state, lua_upvalueindex(2))(state);
}

/// For functions that change a table without asking its metatable. The error has no place in front,
/// as in Redis.
int guard_change(lua_State* state) {
  if (!Sandbox::push_real_table(state, 1)) return original(state);
  lua_pushstring(state, kReadOnly);
  return lua_error(state);
}

/// For functions that read a table without asking its metatable.
int guard_read(lua_State* state) {
  if (Sandbox::push_real_table(state, 1)) lua_replace(state, 1);
  return original(state);
}

/// pairs(), whose own next() would not know a protected table.
int pairs_of_any(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  lua_getglobal(state, "next");
  lua_pushvalue(state, 1);
  lua_pushnil(state);
  return 3;
}

int guard_unpack(lua_State* state) {
  luaL_checktype(state, 1, LUA_TTABLE);
  const std::int64_t first = luaL_optint(state, 2, 1);
  const std::int64_t last =
      lua_isnoneornil(state, 3) ? static_cast<int>(lua_objlen(state, 1)) : luaL_checkint(state, 3);
  if (last - first >= std::numeric_limits<int>::max()) {
    return luaL_error(state, "too many results to unpack");
  }
  return original(state);
}

/// tohex() writes beyond its memory for -2^31 digits, or what bit takes for that number: it adds
/// 2^52 + 2^51, and reads the low half (CVE-2024-31449).
int guard_tohex(lua_State* state) {
  if (lua_isnumber(state, 2) != 0) {
    const auto bits = std::bit_cast<std::uint64_t>(lua_tonumber(state, 2) + 6755399441055744.0);
    if (static_cast<std::uint32_t>(bits) == 0x80000000U) {
      lua_pushinteger(state, -8);
      lua_replace(state, 2);
    }
  }
  return original(state);
}

}  // namespace

// The guards that need the box.
struct Guards {
  /// For functions that match the pattern at the index 2, by calling themselves for its items.
  static int match(lua_State* state) {
    constexpr std::size_t kLongest = 10'000;  // bytes
    const bool is_plain = lua_toboolean(state, 4) != 0;
    if (!is_plain && lua_isstring(state, 2) != 0 && lua_objlen(state, 2) > kLongest) {
      return luaL_error(state, "pattern has more than %d bytes", static_cast<int>(kLongest));
    }
    return original(state);
  }

  /// Raises the error that ends a run again, after a function that has caught it.
  static void require_not_stopped(lua_State* state) {
    if (Sandbox::Box::of(state).stopped) luaL_error(state, "stopped");
  }

  static int catcher(lua_State* state) {
    const int results = original(state);
    require_not_stopped(state);
    return results;
  }

  /// pcall() of Redis 7: a caught error that is a table with a text `err` becomes that text; if
  /// `err` is something else, it follows the table.
  static int pcall(lua_State* state) {
    if (lua_gettop(state) == 0) {
      lua_pushboolean(state, 0);
      lua_pushliteral(state,
                      "attempt to call a boolean value");  // Redis calls its own place holder
      return 2;
    }
    const int status = lua_pcall(state, lua_gettop(state) - 1, LUA_MULTRET, 0);
    require_not_stopped(state);
    if (status != 0 && lua_istable(state, -1)) {
      lua_getfield(state, -1, "err");
      if (lua_isstring(state, -1) != 0) lua_remove(state, -2);
    }
    lua_pushboolean(state, status == 0 ? 1 : 0);
    lua_insert(state, 1);
    return lua_gettop(state);
  }

  static int loadstring(lua_State* state) {
    std::size_t size = 0;
    const char* source = luaL_checklstring(state, 1, &size);
    const bool is_function =
        Sandbox::compile(state, {source, size}, luaL_optstring(state, 2, source));
    return loaded(state, is_function);
  }
  static int loaded(lua_State* state, bool is_function) {
    if (is_function) return 1;
    lua_pushnil(state);
    lua_insert(state, -2);
    return 2;
  }

  /// load(function, name) reads pieces of a source until it is complete, or wrong.
  static int load(lua_State* state) {
    luaL_checktype(state, 1, LUA_TFUNCTION);
    lua_settop(state, 2);
    if (lua_isnil(state, 2)) {
      lua_pushliteral(state, "=(load)");
      lua_replace(state, 2);
    }
    const char* const name = luaL_checkstring(state, 2);
    lua_pushnil(state);  // the place of the piece that Lua reads
    auto start = Start::kUnread;
    const int status = lua_load(state, next_piece, &start, name);
    require_not_stopped(state);
    if (start == Start::kBytecode) name_first_byte(state);
    return loaded(state, status == 0);
  }
  enum class Start { kUnread, kLua, kBytecode };
  static const char* next_piece(lua_State* state, void* its_start, std::size_t* size) {
    luaL_checkstack(state, 2, "too many nested functions");
    auto& start = *static_cast<Start*>(its_start);
    *size = 0;
    if (start == Start::kBytecode) return nullptr;
    lua_pushvalue(state, 1);
    lua_call(state, 0, 1);
    if (lua_isnil(state, -1)) {
      lua_pop(state, 1);
      return nullptr;
    }
    if (lua_isstring(state, -1) == 0) luaL_error(state, "reader function must return a string");
    lua_replace(state, 3);
    const char* const piece = lua_tolstring(state, 3, size);
    if (start == Start::kUnread && *size > 0) {
      start = is_bytecode({piece, *size}) ? Start::kBytecode : Start::kLua;
    }
    return start == Start::kBytecode ? (*size = 1, kNotLua) : piece;
  }

  /// A source in place of bytecode, which Redis's Lua does not know, and refuses with the number of
  /// its first byte.
  static constexpr const char* kNotLua = "\1";
  static bool is_bytecode(std::string_view source) { return source.starts_with(LUA_SIGNATURE[0]); }
  static void name_first_byte(lua_State* state) {
    luaL_gsub(state, lua_tostring(state, -1), "char(1)", "char(27)");
    lua_remove(state, -2);
  }

  /// The sequence of Redis, which is that of lrand48(), and goes on from run to run.
  static int random(lua_State* state) {
    constexpr auto kMax = static_cast<double>(std::numeric_limits<std::int32_t>::max());
    auto& random_state = Sandbox::Box::of(state).random_state;
    const auto number = static_cast<double>(nrand48(random_state.data()));
    const double part = number == kMax ? 0 : number / kMax;
    const int bounds = lua_gettop(state);
    if (bounds > 2) return luaL_error(state, "wrong number of arguments");
    if (bounds == 0) {
      lua_pushnumber(state, part);
      return 1;
    }
    const int low = bounds == 2 ? luaL_checkint(state, 1) : 1;
    const int high = luaL_checkint(state, bounds);
    luaL_argcheck(state, low <= high, bounds, "interval is empty");
    // The width overflows as in C.
    const auto width = static_cast<std::int32_t>(static_cast<std::uint32_t>(high) -
                                                 static_cast<std::uint32_t>(low) + 1U);
    lua_pushnumber(state, std::floor(part * width) + low);
    return 1;
  }
  static int seed_random(lua_State* state) {
    const auto seed = static_cast<std::uint32_t>(luaL_checkint(state, 1));
    Sandbox::Box::of(state).random_state = {0x330E, static_cast<unsigned short>(seed & 0xffffU),
                                            static_cast<unsigned short>(seed >> 16U)};
    return 0;
  }

  static void hook(lua_State* state, lua_Debug* event) {
    if (event->event == LUA_HOOKCOUNT) charge(state, lua_gethookcount(state));
    const auto& hook = Sandbox::Box::of(state).hook;
    if (!hook) return;
    std::exception_ptr failure;
    bool is_too_deep = false;
    try {
      hook(state, event);
    } catch (const TooDeep&) {
      is_too_deep = true;
    } catch (const std::exception&) {  // Lua's own exceptions are pointers
      failure = std::current_exception();
    }
    if (is_too_deep) luaL_error(state, "stack overflow");
    if (failure) Sandbox::stop(state, std::move(failure));
  }

  /// Takes instructions from what is left of the run, and ends it if there are none, or at Ctrl-C.
  static void charge(lua_State* state, std::int64_t instructions) {
    auto& box = Sandbox::Box::of(state);
    box.left -= instructions;
    if (auto reason = reason_to_stop(box)) Sandbox::stop(state, std::move(reason));
  }
  static std::exception_ptr reason_to_stop(const Sandbox::Box& box) {
    if (box.stopped) return box.stopped;
    if (box.bounds.interrupt != nullptr && box.bounds.interrupt->signal() != 0) {
      return std::make_exception_ptr(Interrupted());
    }
    if (worker::must_stop()) {
      return std::make_exception_ptr(RanTooLong(
          fmt::format("ran for more than {} s of processor time", worker::kMostTime.count())));
    }
    if (box.left > 0) return nullptr;
    return std::make_exception_ptr(
        RanTooLong(fmt::format("ran for more than {} instructions", box.bounds.instructions)));
  }

  static void* allocate(void* box_of_state, void* block, std::size_t old_size, std::size_t size) {
    auto& box = *static_cast<Sandbox::Box*>(box_of_state);
    if (size == 0) {
      std::free(block);
      box.used -= old_size;
      return nullptr;
    }
    if (size > old_size && size - old_size > box.bounds.memory - box.used) {
      const auto why = fmt::format("it needs more than the {} MiB of memory that rlctl gives it",
                                   box.bounds.memory >> 20U);
      if (!box.stopped) box.stopped = std::make_exception_ptr(NotImplementedHere(why));
      return nullptr;
    }
    void* const moved = std::realloc(block, size);
    if (moved != nullptr) box.used += size - old_size;
    return moved;
  }

  struct Call {
    void (*body)(lua_State*, void*);
    void* context;
  };
  static int call_body(lua_State* state) {
    const auto& its = *static_cast<const Call*>(lua_touserdata(state, 1));
    lua_settop(state, 0);
    try {
      its.body(state, its.context);
    } catch (const std::exception&) {  // Lua's own exceptions are pointers
      Sandbox::stop(state, std::current_exception());
    }
    return 0;
  }

  static void open(lua_State* state);
};

namespace {

struct Guarded {
  const char* library;  ///< empty: the globals
  const char* name;
  lua_CFunction guard;
};

constexpr Guarded kGuarded[] = {{"", "rawset", guard_change},
                                {"", "setmetatable", guard_change},
                                {"table", "insert", guard_change},
                                {"table", "remove", guard_change},
                                {"table", "sort", guard_change},
                                {"table", "foreach", guard_read},
                                {"", "rawget", guard_read},
                                {"", "next", guard_read},
                                {"", "pairs", pairs_of_any},
                                {"", "unpack", guard_unpack},
                                {"", "xpcall", Guards::catcher},
                                {"coroutine", "resume", Guards::catcher},
                                {"cjson", "encode", guard_read},
                                {"", "pcall", Guards::pcall},
                                {"", "load", Guards::load},
                                {"", "loadstring", Guards::loadstring},
                                {"bit", "tohex", guard_tohex},
                                {"math", "random", Guards::random},
                                {"math", "randomseed", Guards::seed_random},
                                {"string", "find", Guards::match},
                                {"string", "match", Guards::match},
                                {"string", "gmatch", Guards::match},
                                {"string", "gfind", Guards::match},
                                {"string", "gsub", Guards::match}};

int refuse_cmsgpack(lua_State* state) {
  Sandbox::stop(state,
                std::make_exception_ptr(NotImplementedHere("cmsgpack is not implemented here")));
}

/// Removes what `only` does not name from the table on the top of the stack.
void keep(lua_State* state, std::string_view only) {
  lua_pushnil(state);
  while (lua_next(state, -2) != 0) {
    lua_pop(state, 1);
    if (only.find(fmt::format(" {} ", lua_tostring(state, -1))) != only.npos) continue;
    lua_pushvalue(state, -1);
    lua_pushnil(state);
    lua_rawset(state, -4);
  }
}

}  // namespace

void Guards::open(lua_State* state) {
  lua_pushvalue(state, LUA_GLOBALSINDEX);
  const int globals = lua_gettop(state);
  for (const auto& [name, open, only] : kLibraries) {
    lua_pushcfunction(state, open);
    lua_pushstring(state, name);
    lua_call(state, 1, 1);
    if (!only.empty()) keep(state, only);
    if (*name == '\0') {
      lua_pop(state, 1);
    } else {
      lua_setfield(state, globals, name);
    }
  }
  for (const auto& [library, name, guard] : kGuarded) {
    if (*library == '\0') {
      lua_pushvalue(state, globals);
    } else {
      lua_getfield(state, globals, library);
    }
    lua_getfield(state, -1, name);
    if (lua_getupvalue(state, -1, 1) == nullptr) lua_pushnil(state);
    lua_insert(state, -2);
    lua_pushcclosure(state, guard, 2);
    lua_setfield(state, -2, name);
    lua_pop(state, 1);
  }

  lua_newtable(state);
  lua_pushcfunction(state, refuse_cmsgpack);
  lua_setfield(state, -2, "pack");
  lua_pushcfunction(state, refuse_cmsgpack);
  lua_setfield(state, -2, "unpack");
  lua_setfield(state, globals, "cmsgpack");
  for (const char* name :
       {"string", "table", "math", "os", "bit", "cjson", "struct", "cmsgpack", "coroutine"}) {
    lua_getfield(state, globals, name);
    protect(state);
    lua_setfield(state, globals, name);
  }

  // What getmetatable('') shows leads to the protected table of strings, too.
  lua_pushliteral(state, "");
  lua_getmetatable(state, -1);
  lua_newtable(state);
  lua_getfield(state, globals, "string");
  lua_setfield(state, -2, "__index");
  protect(state);
  lua_setfield(state, -2, "__metatable");
  lua_pop(state, 2);

  lua_newtable(state);
  lua_pushcfunction(state, refuse_missing_global);
  lua_setfield(state, -2, "__index");
  lua_setmetatable(state, globals);
  lua_pushvalue(state, globals);
  protect(state);
  lua_pushvalue(state, -1);
  lua_setfield(state, globals, "_G");
  lua_replace(state, LUA_GLOBALSINDEX);
  lua_pushvalue(state, globals);
  Sandbox::Box::of(state).globals = luaL_ref(state, LUA_REGISTRYINDEX);
  lua_pushcfunction(state, call_body);
  Sandbox::Box::of(state).caller = luaL_ref(state, LUA_REGISTRYINDEX);
}

// ---- The sandbox ----

Sandbox::Sandbox(const Bounds& bounds)
    : box_(std::make_unique<Box>(Box{.bounds = bounds})),
      state_(lua_newstate(Guards::allocate, box_.get())) {
  std::string error;
  if (!state_ || !run(Guards::open, error)) throw std::bad_alloc();
}

Sandbox::~Sandbox() = default;

void Sandbox::Close::operator()(lua_State* state) const noexcept {
  lua_close(state);
}

bool Sandbox::run_body(void (*body)(lua_State*, void*), void* context, std::string& error) {
  Guards::Call call{body, context};
  lua_State* const state = state_.get();
  const worker::Run run(state);
  box_->left = box_->bounds.instructions;
  box_->stopped = nullptr;
  box_->stopped_line = 0;
  if (box_->used > box_->bounds.memory / 2) lua_gc(state, LUA_GCCOLLECT, 0);
  const int observed = box_->hook ? LUA_MASKCALL | LUA_MASKLINE : 0;
  lua_sethook(state, Guards::hook, LUA_MASKCOUNT | observed, kInstructionsBetweenHooks);
  // The first run opens the sandbox, with a function that the others have in the registry.
  int status = 0;
  if (box_->caller == LUA_NOREF) {
    status = lua_cpcall(state, Guards::call_body, &call);
  } else {
    lua_rawgeti(state, LUA_REGISTRYINDEX, box_->caller);
    lua_pushlightuserdata(state, &call);
    status = lua_pcall(state, 1, 0, 0);
  }
  if (status != 0 && !box_->stopped) {
    const char* text = lua_tostring(state, -1);
    error = text != nullptr ? text : "(no text)";
  }
  lua_settop(state, 0);
  if (box_->stopped) std::rethrow_exception(box_->stopped);
  return status == 0;
}

void Sandbox::add_global(lua_State* state, const char* name) {
  if (lua_istable(state, -1)) protect(state);
  set_global(state, name);
}

void Sandbox::show_globals(lua_State* state) {
  if (lua_isnil(state, -1)) {
    lua_pop(state, 1);
    lua_rawgeti(state, LUA_REGISTRYINDEX, Box::of(state).globals);
  } else {
    lua_rawgeti(state, LUA_REGISTRYINDEX, Box::of(state).globals);
    lua_getmetatable(state, -1);
    lua_setmetatable(state, -3);
    lua_pop(state, 1);
  }
  lua_getmetatable(state, LUA_GLOBALSINDEX);
  lua_insert(state, -2);
  lua_setfield(state, -2, "__index");
  lua_pop(state, 1);
}

void Sandbox::set_global(lua_State* state, const char* name) {
  lua_rawgeti(state, LUA_REGISTRYINDEX, Box::of(state).globals);
  lua_insert(state, -2);
  lua_setfield(state, -2, name);
  lua_pop(state, 1);
}

bool Sandbox::compile(lua_State* state, std::string_view source, const char* name) {
  // Lua's parser does not keep the name from the garbage collector (CVE-2025-49844); the stack
  // does.
  lua_pushstring(state, name);
  const bool is_bytecode = Guards::is_bytecode(source);
  if (is_bytecode) source = Guards::kNotLua;
  const int status = luaL_loadbuffer(state, source.data(), source.size(), name);
  if (is_bytecode) Guards::name_first_byte(state);
  lua_remove(state, -2);
  return status == 0;
}

void Sandbox::stop(lua_State* state, std::exception_ptr exception) {
  auto& box = Box::of(state);
  if (!box.stopped) box.stopped = std::move(exception);
  if (box.stopped_line == 0) box.stopped_line = line(state);
  luaL_error(state, "stopped");
  __builtin_unreachable();  // luaL_error() does not return
}

void Sandbox::set_hook(Hook hook) {
  box_->hook = std::move(hook);
}

bool Sandbox::is_stopping(lua_State* state) {
  return Box::of(state).stopped != nullptr;
}

std::exception_ptr Sandbox::call_aside(lua_State* thread, std::int64_t instructions, int& status) {
  auto& box = Box::of(thread);
  const auto left = std::exchange(box.left, instructions);
  const auto most = std::exchange(box.bounds.instructions, instructions);
  const auto line_before = box.stopped_line;
  auto stopped_before = std::exchange(box.stopped, nullptr);
  const worker::Run run(thread, true);
  lua_sethook(thread, Guards::hook, LUA_MASKCOUNT, kInstructionsBetweenStops);
  status = lua_pcall(thread, 0, LUA_MULTRET, 0);
  box.left = left;
  box.bounds.instructions = most;
  box.stopped_line = line_before;
  return std::exchange(box.stopped, std::move(stopped_before));
}

bool Sandbox::push_real_table(lua_State* state, int index) {
  if (!lua_istable(state, index) || lua_getmetatable(state, index) == 0) return false;
  lua_pushlightuserdata(state, const_cast<char*>(&kRealTable));
  lua_rawget(state, -2);
  lua_remove(state, -2);
  if (lua_istable(state, -1)) return true;
  lua_pop(state, 1);
  return false;
}

void Sandbox::note_line() noexcept {
  auto* const state = static_cast<lua_State*>(worker::running());
  if (state != nullptr) worker::page().line = line(state);
}

int Sandbox::line(lua_State* state) {
  lua_Debug place{};
  for (int level = 0; lua_getstack(state, level, &place) != 0; ++level) {
    // Functions in C have no lines.
    if (lua_getinfo(state, "l", &place) != 0 && place.currentline > 0) return place.currentline;
  }
  return 0;
}

int Sandbox::stopped_line() const {
  return box_->stopped_line;
}

}  // namespace rlctl::lua
