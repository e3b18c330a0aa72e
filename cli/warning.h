#pragma once

#include <string>
#include <string_view>

namespace rlctl::cli {

/// A warning on stderr, or what is to be known before something is done; escaped.
void warn(const std::string& message, std::string_view command);

}  // namespace rlctl::cli
