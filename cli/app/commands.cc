#include "cli/app/command.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/completions.h"

namespace rlctl::cli {
namespace {

constexpr std::array<std::string_view, 3> kColours{"auto", "always", "never"};

Colour parse_colour(const std::string& text) {
  const auto found = std::ranges::find(kColours, text);
  if (found == kColours.end()) {
    throw UsageError("--color must be auto, always or never, not " + quoted_and_masked(text));
  }
  return static_cast<Colour>(found - kColours.begin());
}

void add_general_options(Options& options, GeneralOptions& target) {
  add_connection_options(options, target.connection);
  options.group("General");
  options.value("--config", "FILE", target.config,
                "configuration file (default: $RLCTL_CONFIG, else ~/.config/rlctl/config.toml, "
                "else /etc/rlctl/config.toml)");
  options.group("General", Repeats::kNo);
  options.flag("--json", target.json, "print results and errors as JSON");
  options
      .value("--color", "WHEN", into(target.colour, parse_colour),
             "colours: auto, always or never (default: auto; see ENVIRONMENT in rlctl(1))")
      .completes([](const CompletionContext&) { return to_completions(kColours); });
  options.flag("-h", target.short_help, "show the usage, the options that matter and two examples");
  options.flag("--help", target.help, "show all help");
  options.flag("-V,--version", target.version, "show the version");
}

}  // namespace

std::span<const Command* const> commands() {
  static constexpr const Command* kCommands[] = {
#define RLCTL_LIST_COMMAND(name) &name::kCommand,
      RLCTL_COMMANDS(RLCTL_LIST_COMMAND)
#undef RLCTL_LIST_COMMAND
  };
  return kCommands;
}

RlctlLine::RlctlLine() {
  set_general([this](Options& options) { add_general_options(options, general); });
  for (const auto* command : rlctl::cli::commands()) {
    add_command(command->text,
                [this, command](Options& options) { actions[command] = command->add(options); });
  }
  for (const auto* own : {&kHelpCommand, &kVersionCommand}) add_command(*own, [](Options&) {});
}

const Command* chosen_command(const CommandLine& line) {
  for (const auto* command : commands()) {
    if (&command->text == line.command()) return command;
  }
  return nullptr;
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
