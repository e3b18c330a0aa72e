#include "cli/warning.h"

#include "cli/failure.h"
#include "cli/term/output.h"

namespace rlctl::cli {

void warn(const std::string& message, std::string_view command) {
  write_stderr(render({.message = message}, command, false));
}

}  // namespace rlctl::cli
