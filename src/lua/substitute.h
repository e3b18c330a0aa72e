#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rlctl::lua {

/// What a script gets in place of `redis`, and of Valkey's `server`: a table whose call() and
/// pcall() do more than the server's. Whatever the script does with it (an alias, a field, a
/// coroutine) keeps the effect; only `_G.redis` and code from loadstring() still find the server's.
struct Substitutes {
  /// TIME replies the time of the call, in µs since 1970.
  bool time = false;
  /// EXPIREAT, PEXPIREAT, EXAT and PXAT count from that time, as EXPIRETIME and PEXPIRETIME do.
  bool expiry = false;
  /// The names of the keys that the script makes beside its KEYS are added to a set, and virtual
  /// time passes for their TTLs.
  bool made_keys = false;

  [[nodiscard]] bool any() const noexcept { return time || expiry || made_keys; }
};

/// The substitutes that a script needs, with a virtual clock and with a set for the keys that it
/// makes. `words`: further text that the script may use, such as its arguments. If in doubt, a
/// substitute is included.
[[nodiscard]] Substitutes needed_substitutes(std::string_view source,
                                             std::span<const std::string_view> words);

/// The source with substitutes in front, on its first line (with "#!...", its second), so that
/// lines keep their numbers. Each call must append to its ARGV, where the script does not see it:
/// with made_keys the set, and the hash of TTLs that are aged (see made_keys.lua) or nothing; then
/// the seconds and the microseconds.
///
/// Returns none if the source is not valid Lua, or if a function has too many upvalues for it.
[[nodiscard]] std::optional<std::string> with_substitutes(std::string_view source,
                                                          const Substitutes& substitutes);

/// The same for a library of Redis functions: each function's last arguments are those.
[[nodiscard]] std::optional<std::string> library_with_substitutes(std::string_view source,
                                                                  const Substitutes& substitutes);

/// The local variable that library_as_script() adds.
inline constexpr std::string_view kLibraryLocal = "__rl_library";
/// A library of Redis functions as a script that calls one of them with its KEYS and ARGV, on a
/// line after the last; the others keep their numbers. An unknown name is an error when the script
/// runs.
[[nodiscard]] std::string library_as_script(std::string_view source, std::string_view function);

/// The chunks for TIME and for absolute expiry, each on one line: called with `redis`, the seconds
/// and the microseconds, they return what takes the place of `redis`.
[[nodiscard]] std::span<const std::string> virtual_clock_chunks();

/// A Lua text as one line, without its comments and indentation. No string in it may contain "--".
[[nodiscard]] std::string one_line(std::string_view text);

}  // namespace rlctl::lua
