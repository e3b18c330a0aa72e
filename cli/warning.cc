#include "cli/warning.h"

#include "cli/output.h"
#include "cli/problem.h"

namespace rlctl::cli {

void warn(const std::string& message, std::string_view command) {
  write_stderr(render({.message = message}, command, false));
}

}  // namespace rlctl::cli
