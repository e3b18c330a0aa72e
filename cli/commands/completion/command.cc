#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/app/unfinished_line.h"
#include "cli/options/options.h"
#include "embedded_completions.h"

namespace rlctl::cli::completion {
namespace {

/// Anything else could not be typed, or would not look like what it is.
bool is_printable(std::string_view text) {
  return escaped_message(text) == text;
}

/// The first line is "words"; "files", if files may follow too; or "program N". Then come the
/// completions, one a line: WORD, or WORD, a tab, and a description. Those that do not fit
/// in a line are left out.
void write_completions(const LineCompletions& found, std::string& out) {
  if (found.program) {
    out.append("program ").append(std::to_string(*found.program)).append("\n");
    return;
  }
  out += found.completions.files ? "files\n" : "words\n";
  for (const auto& [word, about] : found.completions.words) {
    if (!is_printable(word) || word.empty()) continue;
    out += word;
    if (!about.empty() && is_printable(about)) out.append("\t").append(about);
    out += '\n';
  }
}

/// Says nothing about errors, which would appear in the middle of the line that is typed.
ExitStatus run_words(Invocation& invocation) {
  std::vector<std::string> words(invocation.operands.begin(), invocation.operands.end());
  if (words.empty()) words.emplace_back();
  try {
    write_completions(complete_line(words, invocation.interrupt), invocation.out.buffer());
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    return ExitStatus::kDenied;
  }
  return ExitStatus::kDone;
}

/// Prints what completes rlctl's arguments in a shell.
template <const auto& script>
ExitStatus print_script(Invocation& invocation) {
  require_at_most(0, invocation.operands);
  invocation.out.buffer() += script.text;
  return ExitStatus::kDone;
}

constexpr std::array kCommands{
    Subcommand{{.name = "bash",
                .summary = "print the script for bash",
                .synopsis = "completion bash",
                .about = "Prints what completes rlctl's arguments in bash.",
                .epilogue = "\nExample:\n  source <(rlctl completion bash)\n"},
               [](Options&) -> Action { return print_script<embedded::k_rlctl_bash>; }},
    Subcommand{{.name = "zsh",
                .summary = "print the script for zsh",
                .synopsis = "completion zsh",
                .about = "Prints what completes rlctl's arguments in zsh.",
                .epilogue = "\nExample:\n  source <(rlctl completion zsh)\n"},
               [](Options&) -> Action { return print_script<embedded::k_rlctl_zsh>; }},
    Subcommand{{.name = "fish",
                .summary = "print the script for fish",
                .synopsis = "completion fish",
                .about = "Prints what completes rlctl's arguments in fish.",
                .epilogue = "\nExample:\n  rlctl completion fish | source\n"},
               [](Options&) -> Action { return print_script<embedded::k_rlctl_fish>; }},
    Subcommand{
        {.name = "words",
         .summary = "complete a command line, for those scripts",
         .synopsis = "completion words -- WORD...",
         .about = "Prints what may stand for the last WORD, which may be empty; the WORDs are a\n"
                  "command line after 'rlctl'.",
         .epilogue = R"(
Exit status: 0 done, 1 the words are unknown, 2 wrong usage.

Example:
  rlctl completion words -- check --al
)"},
        [](Options&) -> Action { return run_words; }}};

Action add(Options& options) {
  return add_subcommands(options, kCommands, "rlctl completion bash");
}

}  // namespace
}  // namespace rlctl::cli::completion

namespace rlctl::cli {

const Command completion_command{
    .text = {.name = "completion",
             .summary = "print a script that completes rlctl's arguments in a shell",
             .synopsis = "completion bash|zsh|fish\n"
                         "completion words -- WORD...",
             .about =
                 "Prints a script for the shell that completes commands, options and their\n"
                 "values: algorithms, patterns, and the policies and scripts of the configuration\n"
                 "file. The script calls 'rlctl completion words' at each Tab. It contacts no\n"
                 "server unless RLCTL_COMPLETE_KEYS=1 is set: then it completes KEYs too.",
             .epilogue = R"(
Exit status: 0 done, 2 wrong usage; words: 1 if they are unknown.

Examples:
  source <(rlctl completion bash)
  rlctl completion fish | source
)"},
    .add = completion::add};

}  // namespace rlctl::cli
