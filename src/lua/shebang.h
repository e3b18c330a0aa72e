#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::lua {

/// The first line of a script: "#!lua flags=no-writes,allow-oom", or of a library of Redis
/// functions: "#!lua name=mylib".
struct Shebang {
  std::string_view library = {};             ///< empty for a script
  std::vector<std::string_view> flags = {};  ///< of a script
};

/// That line, up to the first "\n": as in the server, a "\r" does not end it. Empty if the source
/// does not begin with "#!".
[[nodiscard]] std::string_view shebang_line(std::string_view source);

/// Returns none if the source does not begin with "#!".
[[nodiscard]] std::optional<Shebang> read_shebang(std::string_view source);

/// The flags that neither Redis nor Valkey knows. They refuse a script that has one.
[[nodiscard]] std::vector<std::string_view> unknown_flags(std::string_view source);
/// The source without those flags.
[[nodiscard]] std::string without_unknown_flags(std::string_view source);
/// The source with that line turned into a comment, for a server before Redis 7.
[[nodiscard]] std::string without_shebang(std::string_view source);

/// The names of the functions that a library registers under a literal name, in order.
[[nodiscard]] std::vector<std::string_view> registered_functions(std::string_view source);

}  // namespace rlctl::lua
