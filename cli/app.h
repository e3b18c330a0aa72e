#pragma once

#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/failure.h"
#include "cli/term/signals.h"

namespace rlctl::cli {

/// rlctl itself: finds the command, reads its options and runs it.
class App {
 public:
  /// Passwords are wiped from argv. Throws whatever goes wrong; report() knows what to do with it.
  [[nodiscard]] ExitStatus run(int argc, char** argv);

  /// Says what went wrong, once, on stderr. Ends the process where that was a signal.
  [[nodiscard]] ExitStatus report(const std::exception& error);

 private:
  [[nodiscard]] ExitStatus run_arguments(std::span<const std::string> arguments, Output& out);
  [[nodiscard]] ExitStatus run_help(std::span<const std::string> arguments, Output& out);

  std::optional<Signals> signals_;
  std::string_view command_;  ///< for messages; empty until it is known
  bool json_ = false;         ///< errors as JSON
};

/// -h shows usage and options on one screen; --help shows everything.
enum class HelpExtent { kShort, kAll };
[[nodiscard]] std::string general_help(HelpExtent extent);
[[nodiscard]] std::string command_help(const Command& command, HelpExtent extent);

}  // namespace rlctl::cli
