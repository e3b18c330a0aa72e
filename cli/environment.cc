#include "cli/environment.h"

#include <cstdlib>

namespace rlctl::cli {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

}  // namespace rlctl::cli
