#pragma once

#include <string>
#include <vector>

#include "base/wait.h"
#include "cli/errors/failure.h"

namespace rlctl::cli::run {

/// The status of every failure of rlctl itself, as of env(1) and timeout(1).
inline constexpr auto kFailed = static_cast<ExitStatus>(125);
/// The statuses with which shells, env(1) and timeout(1) report that a command cannot be run.
inline constexpr auto kCannotExecute = static_cast<ExitStatus>(126);
inline constexpr auto kNotFound = static_cast<ExitStatus>(127);

/// A program to execute.
struct Program {
  std::string path;                ///< where it was found
  std::vector<std::string> words;  ///< its name as given, and its arguments
};

/// Finds the program as a shell does: in PATH, unless its name contains a slash. Throws
/// ProblemError with kNotFound or kCannotExecute.
[[nodiscard]] Program find_program(std::vector<std::string> words);

/// The memory that execute() needs, since a child may not allocate any after fork().
class Execution {
 public:
  explicit Execution(const Program& program);
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  /// Executes the program in this process; a script without #! runs in /bin/sh, as in a shell.
  /// Returns errno if that fails. Safe after fork().
  [[nodiscard]] int execute() noexcept;

 private:
  std::vector<char*> words_;
  std::vector<char*> shell_words_;
};

/// Replaces this process with the program, which inherits everything but rlctl's own descriptors
/// and signal handlers. Throws Interrupted, and ProblemError if executing fails.
[[noreturn]] void replace_process(const Program& program, const Interrupt& interrupt);

/// The failure of Execution::execute(), of a program that was found. `after` is the end of the
/// message.
[[nodiscard]] Problem cannot_execute(const Program& program, int error, std::string after);

}  // namespace rlctl::cli::run
