#include "cli/app/command.h"

#include <algorithm>

namespace rlctl::cli {

std::span<const Command* const> commands() {
  static constexpr const Command* kCommands[] = {
#define RLCTL_LIST_COMMAND(name) &name##_command,
      RLCTL_COMMANDS(RLCTL_LIST_COMMAND)
#undef RLCTL_LIST_COMMAND
  };
  return kCommands;
}

void add_commands(CommandLine& line, Actions& actions) {
  for (const auto* command : commands()) {
    line.add_command(command->text, [&actions, command](Options& options) {
      actions[command] = command->add(options);
    });
  }
  for (const auto* own : {&kHelpCommand, &kVersionCommand}) line.add_command(*own, [](Options&) {});
}

const Command* chosen_command(const CommandLine& line) {
  const auto all = commands();
  const auto found =
      std::ranges::find(all, line.command(), [](const Command* command) { return &command->text; });
  return found == all.end() ? nullptr : *found;
}

Action add_subcommands(Options& options, std::span<const Subcommand> rows,
                       std::string_view example) {
  const auto chosen = std::make_shared<Action>();
  options.require_subcommand(example);
  for (const auto& row : rows) {
    options.subcommand(row.text,
                       [chosen, &row](Options& declared) { *chosen = row.add(declared); });
  }
  return [chosen](Invocation& invocation) { return (*chosen)(invocation); };
}

}  // namespace rlctl::cli
