#pragma once

#include <string_view>
#include <vector>

namespace rlctl::ldb {

/// The lines of a Lua source without their ends, [0] the first, as Lua counts them: "\n", "\r",
/// "\r\n" and "\n\r" each end one. Views of `source`. Nothing follows the last line end.
[[nodiscard]] std::vector<std::string_view> source_lines(std::string_view source);

}  // namespace rlctl::ldb
