#pragma once

#include <string>
#include <string_view>

namespace rlctl {

/// The SHA-1 of a text in lower-case hex: the name by which a server knows a script, not a
/// protection against anybody. FIPS 180-4, section 6.1.
std::string sha1_hex(std::string_view text);

}  // namespace rlctl
