#pragma once

#include <string>
#include <string_view>

namespace rlctl {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Text of JSON that is to be UTF-8: bytes that are not become \\xNN, which in a string is read as
/// \xNN.
void append_json_utf8(std::string& out, std::string_view text);

}  // namespace rlctl
