#include "cli/script_file.h"

#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace rlctl::cli {

std::string read_script_file(std::string_view option, const std::string& path) {
  try {
    return read_all(open_file(path));
  } catch (const std::system_error& error) {
    const auto message = "cannot read " + in_quotes(path) + ": " + errno_text(error.code().value());
    throw UsageError(option.empty() ? message : std::string(option) + ": " + message);
  }
}

std::string script_name(const std::string& path) {
  const auto name = std::filesystem::path(path).filename().string();
  return name.empty() ? path : name;
}

}  // namespace rlctl::cli
