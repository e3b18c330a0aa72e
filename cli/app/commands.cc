#include "cli/app/command.h"

namespace rlctl::cli {

std::span<const Command* const> commands() {
  static constexpr const Command* kCommands[] = {
#define RLCTL_LIST_COMMAND(name) &name##_command,
      RLCTL_COMMANDS(RLCTL_LIST_COMMAND)
#undef RLCTL_LIST_COMMAND
  };
  return kCommands;
}

const Command* find_command(std::string_view name) noexcept {
  for (const auto* command : commands()) {
    if (command->text.name == name) return command;
  }
  return nullptr;
}

}  // namespace rlctl::cli
