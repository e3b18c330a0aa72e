#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/app/subcommand.h"
#include "cli/app/unfinished_line.h"
#include "embedded_completions.h"

namespace rlctl::cli {
namespace {

struct CompletionSubcommand {
  std::string_view name;    ///< a shell, or "words"
  std::string_view script;  ///< what completes rlctl's arguments in that shell, with these words
};

constexpr std::array kCompletionSubcommands{
    CompletionSubcommand{"bash", embedded::k_rlctl_bash.text},
    CompletionSubcommand{"zsh", embedded::k_rlctl_zsh.text},
    CompletionSubcommand{"fish", embedded::k_rlctl_fish.text}, CompletionSubcommand{"words", {}}};

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
  std::vector<std::string> words(invocation.operands.begin() + 1, invocation.operands.end());
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

ExitStatus run_completion(Invocation& invocation) {
  const auto& subcommand = find_subcommand<CompletionSubcommand>(
      kCompletionSubcommands, invocation.operands, "rlctl completion bash");
  if (subcommand.script.empty()) return run_words(invocation);
  require_at_most(1, invocation.operands);
  invocation.out.buffer() += subcommand.script;
  return ExitStatus::kDone;
}

Action add_completion(Options&) {
  return run_completion;
}

}  // namespace

const Command completion_command{
    .name = "completion",
    .summary = "print a script that completes rlctl's arguments in a shell",
    .synopsis =
        "completion bash|zsh|fish\n"
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
)",
    .add = add_completion,
    .complete_operand = [](const Typed& typed) {
      return typed.operands.empty()
                 ? to_completions(kCompletionSubcommands, &CompletionSubcommand::name)
                 : Completions{};
    }};

}  // namespace rlctl::cli
