#pragma once

#include <string>
#include <string_view>

namespace rlctl::cli {

/// The whole of a script's file. Throws UsageError where it cannot be read; `option` is what named
/// it, or empty.
[[nodiscard]] std::string read_script_file(std::string_view option, const std::string& path);

/// The file's name without its folders: what fits a table.
[[nodiscard]] std::string script_name(const std::string& path);

}  // namespace rlctl::cli
