#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "cli/configuration.h"
#include "cli/connection.h"
#include "cli/failure.h"
#include "cli/options.h"
#include "cli/term/output.h"

namespace rlctl::cli {

/// What a command is given when it runs; its options are in its own struct.
struct Invocation {
  std::string_view command;
  std::vector<std::string> operands;
  const Options& options;  ///< as they were given
  const ConnectionOptions& connection;
  ConfigurationSource& configuration;
  bool json = false;
  const Interrupt& interrupt;
  Output& out;
};

using Action = std::function<ExitStatus(Invocation&)>;

/// One command of rlctl, a value in a file of its own.
struct Command {
  std::string_view name;
  std::string_view summary;   ///< its line in `rlctl --help`
  std::string_view synopsis;  ///< what follows "Usage: rlctl ", a line each
  std::string_view about;     ///< a paragraph, lines of at most 80 columns
  std::string_view epilogue;  ///< the end: exit status, examples
  /// Declares the options and returns what runs once they are set. Only the chosen command is
  /// asked; nothing else may happen here, since help calls it too.
  Action (*add)(Options& options) = nullptr;
  /// The part of help between the options and the epilogue that is made from a table.
  std::string (*notes)() = nullptr;
};

/// A Command's `add`: makes a Target, declares its options, and runs with it.
template <typename Target, void (*declare)(Options&, Target&),
          ExitStatus (*run)(const Target&, Invocation&)>
[[nodiscard]] Action add_command(Options& options) {
  auto target = std::make_shared<Target>();
  declare(options, *target);
  return [target](Invocation& invocation) { return run(*target, invocation); };
}

/// Every command, in the order in which `rlctl --help` lists them: X(check) stands for
/// `extern const Command check_command`, which cli/check/check.cc defines.
#define RLCTL_COMMANDS(X) X(check) X(inspect) X(reset) X(burst) X(debug) X(config)

#define RLCTL_DECLARE_COMMAND(name) extern const Command name##_command;
RLCTL_COMMANDS(RLCTL_DECLARE_COMMAND)
#undef RLCTL_DECLARE_COMMAND

}  // namespace rlctl::cli
