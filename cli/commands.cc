#include "cli/command.h"

namespace rlctl::cli {

std::span<const Command* const> commands() {
  static constexpr const Command* kCommands[] = {
#define RLCTL_LIST_COMMAND(name) &name##_command,
      RLCTL_COMMANDS(RLCTL_LIST_COMMAND)
#undef RLCTL_LIST_COMMAND
  };
  return kCommands;
}

}  // namespace rlctl::cli
