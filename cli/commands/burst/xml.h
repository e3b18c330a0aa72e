#pragma once

#include <string>
#include <string_view>

namespace rlctl::cli {

/// Text for XML, also within an attribute. Characters that XML does not allow are escaped as in a
/// message.
[[nodiscard]] std::string xml(std::string_view text);

}  // namespace rlctl::cli
