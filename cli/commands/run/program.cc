#include "cli/commands/run/program.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "cli/server/request_failure.h"
#include "cli/terminal/signals.h"

namespace rlctl::cli::run {
namespace {

/// 0, or the errno with which executing the file would fail.
int error_of_executing(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// The folders of PATH; an empty one is the current folder.
std::vector<std::string> folders_of_path() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  std::vector<std::string> folders;
  while (true) {
    const auto colon = rest.find(':');
    const auto folder = rest.substr(0, colon);
    folders.emplace_back(folder.empty() ? "." : folder);
    if (colon == rest.npos) return folders;
    rest.remove_prefix(colon + 1);
  }
}

bool means_not_found(int error) {
  return error == ENOENT || error == ENOTDIR;
}

std::string cannot_run(const Program& program, int error) {
  return "cannot run " + in_quotes(program.words.front()) + ": " + errno_text(error);
}

}  // namespace

Problem cannot_execute(const Program& program, int error, std::string after) {
  // The file was there when it was looked for: what is missing is named in its first line.
  const bool lacks_interpreter = means_not_found(error);
  return {.status = kCannotExecute,
          .code = "cannot_execute",
          .message = cannot_run(program, error) + std::move(after),
          .hint = lacks_interpreter ? "the interpreter that its #! line names may be missing" : ""};
}

Program find_program(std::vector<std::string> words) {
  Program program{.path = words.front(), .words = {}};
  program.words = std::move(words);
  int error = ENOENT;
  if (program.path.find('/') != program.path.npos) {
    error = error_of_executing(program.path);
    if (error == 0) return program;
  } else if (!program.path.empty()) {
    for (const auto& folder : folders_of_path()) {
      auto candidate = std::string(folder).append("/").append(program.words.front());
      const int reason = error_of_executing(candidate);
      if (reason == 0) {
        program.path = std::move(candidate);
        return program;
      }
      if (!means_not_found(reason)) error = reason;
    }
  }
  if (!means_not_found(error)) throw ProblemError(cannot_execute(program, error, ""));
  throw ProblemError(
      {.status = kNotFound, .code = "not_found", .message = cannot_run(program, error)});
}

Execution::Execution(const Program& program) {
  // execv() takes char*, but changes nothing.
  const auto pointer = [](const std::string& word) { return const_cast<char*>(word.c_str()); };
  static std::string shell = "/bin/sh";
  for (const auto& word : program.words) words_.push_back(pointer(word));
  words_.push_back(nullptr);
  shell_words_ = {shell.data(), pointer(program.path)};
  shell_words_.insert(shell_words_.end(), words_.begin() + 1, words_.end());
}

int Execution::execute() noexcept {
  ::execv(shell_words_[1], words_.data());
  if (errno == ENOEXEC) ::execv(shell_words_[0], shell_words_.data());
  return errno;
}

void replace_process(const Program& program, const Interrupt& interrupt) {
  Execution execution(program);
  // A signal that comes now either ends this process or reaches the program.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const bool is_interrupted = interrupt.signal() != 0;
  if (!is_interrupted) restore_signals();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  interrupt.check();
  const int error = execution.execute();
  throw ProblemError(cannot_execute(program, error, kWasCounted));
}

}  // namespace rlctl::cli::run
