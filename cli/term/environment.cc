#include "cli/term/environment.h"

#include <cstdlib>

namespace rlctl::cli {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string state_file(const std::string& name) {
  auto folder = environment("XDG_STATE_HOME");
  if (!folder || !folder->starts_with('/')) {
    folder = environment("HOME");
    if (!folder || !folder->starts_with('/')) return {};
    folder->append("/.local/state");
  }
  return *folder + "/rlctl/" + name;
}

}  // namespace rlctl::cli
