#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// Changes of a script's text before it is sent to a server: flags and a first line that the server
// does not know (script::load_accepted()), a clock that rlctl sets (script/script.cc),
// and a library of functions as a script, for debuggers. Lines keep their numbers through all of
// them.

namespace rlctl::lua {

// ---- The first line ----

/// The first line of a script: "#!lua flags=no-writes,allow-oom", or of a library of Redis
/// functions: "#!lua name=mylib".
struct Shebang {
  std::string_view library = {};             ///< the name of a library; empty for a script
  std::vector<std::string_view> flags = {};  ///< the flags of a script
};

/// Returns std::nullopt if the source does not begin with "#!".
std::optional<Shebang> read_shebang(std::string_view source);

/// Whether Redis or Valkey know this flag of a script or function.
bool is_known_flag(std::string_view flag);
/// The flags in the first line that neither Redis nor Valkey knows: they refuse such a script.
std::vector<std::string_view> unknown_flags(std::string_view source);
/// The source without the flags that unknown_flags() returns.
std::string without_unknown_flags(std::string_view source);
/// The source with its "#!" line turned into a comment, for a server before Redis 7.
std::string without_shebang(std::string_view source);

// ---- Substitutes ----

/// What a script gets in place of `redis`, and of Valkey's `server`: a table whose call() and
/// pcall() do more than the server's. Whatever the script does with it (an alias, a field, a
/// coroutine) keeps the effect; only `_G.redis` and code from loadstring() still find the server's.
struct Substitutes {
  /// TIME replies the time of the call, in µs since 1970.
  bool time = false;
  /// EXPIREAT, PEXPIREAT, EXAT and PXAT count from that time, as EXPIRETIME and PEXPIRETIME do.
  bool expiry = false;
  /// Keys that are not among its KEYS are refused, or virtual time passes for their TTLs: see
  /// other_keys.lua.
  bool other_keys = false;

  bool any() const noexcept { return time || expiry || other_keys; }
};

/// The substitutes that a script needs for a virtual clock. `words`: further text that the script
/// may use, such as its arguments. If in doubt, a substitute is included.
Substitutes needed_substitutes(std::string_view source, std::span<const std::string_view> words);

/// The longest source that gets substitutes, which is compiled to see whether it may.
constexpr std::size_t kLongestSubstituted = 64 << 10;

/// The source with substitutes in front, on its first line (with "#!...", its second), so that
/// lines keep their numbers. Each call must append to its ARGV, where the script does not see it:
/// with other_keys the hash of the TTLs, or an empty word to refuse other keys; then the seconds
/// and the microseconds.
///
/// Returns std::nullopt if the source does not compile, or would not with them: a function has no
/// room for another local or upvalue, or the source declares `server`, and uses Valkey's, too.
std::optional<std::string> with_substitutes(std::string_view source,
                                            const Substitutes& substitutes);

/// A library of Redis functions with substitutes: each call must append the same to the arguments
/// of its function.
std::optional<std::string> library_with_substitutes(std::string_view source,
                                                    const Substitutes& substitutes);

// ---- Libraries ----

/// The names of the functions that a library registers under a literal name, in order.
std::vector<std::string_view> registered_functions(std::string_view source);

/// The local variable that library_as_script() adds.
inline constexpr std::string_view kLibraryLocal = "__rl_library";
/// A library of Redis functions as a script that calls one of them with its KEYS and ARGV, on a
/// line after the last; the lines of the library keep their numbers. An unknown name is an error
/// when the script runs.
std::string library_as_script(std::string_view source, std::string_view function);

/// A Lua text as one line, without its comments and indentation. No string in it may contain "--".
std::string one_line(std::string_view text);

}  // namespace rlctl::lua
