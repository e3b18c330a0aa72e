#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_object.h"
#include "base/wait.h"
#include "cli/errors/failure.h"
#include "cli/options/command_line.h"
#include "cli/options/completions.h"
#include "cli/options/configuration.h"
#include "cli/options/options.h"
#include "cli/server/connection.h"
#include "cli/terminal/output.h"

namespace rlctl::cli {

/// The arguments and environment of a command; its options are in its own struct.
struct Invocation {
  std::string_view command;
  std::vector<std::string> operands;
  std::size_t typed = 0;             ///< how many operands stand before --
  std::vector<std::string> program;  ///< see Command::takes_program
  Options options;                   ///< as given on the command line
  const ConnectionOptions& connection;
  ConfigurationSource& configuration;
  bool json = false;
  const Interrupt& interrupt;
  Output& out;
};

using Action = std::function<ExitStatus(Invocation&)>;

// Texts for Command::statuses that hold for more than one command.
inline constexpr std::string_view kStatusOfUsage =
    "wrong usage or input, or output that cannot be written";
inline constexpr std::string_view kStatusUnreachable =
    "no server, no answer in time, or the server is not ready (LOADING, BUSY)";
inline constexpr std::string_view kStatusRefused = "the server refuses this user (NOAUTH, NOPERM)";
inline constexpr std::string_view kStatusRejected =
    "the server or the script failed (WRONGTYPE, READONLY, OOM)";

/// A command of rlctl, defined in its own file.
struct Command {
  CommandText text;
  /// Declares the options and returns the function to run once they are set. Called for the chosen
  /// command and for its help, so it must have no other effects.
  Action (*add)(Options& options) = nullptr;
  /// Reports a failure and returns the exit status, for a command that has statuses or messages of
  /// its own; also called for wrong usage, before the action. Null: the message goes to stderr, and
  /// the status is the problem's. Signals and a closed standard output end the process without it.
  ExitStatus (*report)(const Problem& problem, bool json) = nullptr;
  /// Exits with the states of monitoring plugins: any failure is UNKNOWN.
  bool judges = false;
  /// Changes nothing, so that no error leaves in doubt whether anything was changed.
  bool only_looks = false;
  /// The objects of --json, besides errors: their schema. Not null.
  const JsonOutput* json = nullptr;
  /// For a command that scripts call all the time, and that repeats no command line.
  CommandLine::Declares declares = CommandLine::Declares::kAll;
  /// The command line ends in "-- COMMAND [ARGUMENT...]". What follows the first -- is neither
  /// parsed nor changed, and is never empty when the action runs.
  bool takes_program = false;
  /// Whether the command itself decides about an operand - before --. Otherwise it is refused.
  bool decides_dash = false;
};

/// An `add` function for Command: creates a Target, declares its options, and runs with it.
template <typename Target, void (*declare)(Options&, Target&), auto run>
Action add_command(Options& options) {
  auto target = std::make_shared<Target>();
  declare(options, *target);
  return [target](Invocation& invocation) { return run(*target, invocation); };
}

/// A command of a command, such as `config check`.
struct Subcommand {
  CommandText text;
  Action (*add)(Options& options) = nullptr;  ///< as Command::add
};
/// Declares the commands of a command that does nothing without one, and returns the function that
/// runs the chosen one. `example` is the hint if there is none. `rows` must outlive the line.
Action add_subcommands(Options& options, std::span<const Subcommand> rows,
                       std::string_view example);

/// The options that all commands accept.
struct GeneralOptions {
  ConnectionOptions connection;
  std::optional<std::string> config;
  bool json = false;
  Colour colour = Colour::kAuto;
  bool short_help = false;
  bool help = false;
  bool version = false;

  bool asks_help() const { return help || short_help || version; }
};

/// All commands, in the order of `rlctl --help`: X(check) stands for check::kCommand, which
/// cli/commands/check/command.cc defines.
#define RLCTL_COMMANDS(X) \
  X(check)                \
  X(run)                  \
  X(settle)               \
  X(inspect)              \
  X(list)                 \
  X(audit)                \
  X(quota)                \
  X(reset) X(burst) X(adversary) X(lint) X(debug) X(doctor) X(config) X(scripts) X(completion)

#define RLCTL_DECLARE_COMMAND(name) \
  namespace name {                  \
  extern const Command kCommand;    \
  }
RLCTL_COMMANDS(RLCTL_DECLARE_COMMAND)
#undef RLCTL_DECLARE_COMMAND

/// All commands, in the same order.
std::span<const Command* const> commands();
/// rlctl's command line: the general options, all commands, `help` and `version`.
struct RlctlLine : CommandLine {
  RlctlLine();

  GeneralOptions general;
  /// What runs each command that is declared.
  std::map<const Command*, Action> actions;
};
/// The command that the line has chosen. Null if there is none, and for `help` and `version`.
const Command* chosen_command(const CommandLine& line);
/// rlctl's own commands, which have no Command.
inline constexpr CommandText kHelpCommand{.name = "help", .summary = "show the help of a command"};
inline constexpr CommandText kVersionCommand{.name = "version", .summary = "show the version"};

}  // namespace rlctl::cli
