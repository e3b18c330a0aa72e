#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/options/completions.h"
#include "cli/options/options.h"
#include "embedded_completions.h"

namespace rlctl::cli::completion {
namespace {

// ---- An unfinished line ----

/// What may stand where the user is typing.
struct LineCompletions {
  Completions completions = {};  ///< only those that begin with the unfinished word
  /// The index of the program in the words, if the unfinished word belongs to a command line of its
  /// own: `rlctl run KEY -- PROGRAM ARGUMENT...`.
  std::optional<std::size_t> program = std::nullopt;
};

/// A line of which the last word, which may be empty, is unfinished.
class UnfinishedLine {
 public:
  /// `words` is the command line after "rlctl".
  explicit UnfinishedLine(std::span<const std::string> words) : words_(words), word_(words.back()) {
    line_.parse_unfinished(words.first(words.size() - 1));
    operands_ = line_.operands();
  }

  LineCompletions complete() {
    const auto* command = chosen_command(line_);
    if (command != nullptr && command->takes_program && line_.after_separator()) {
      const auto separator = std::ranges::find(words_, "--");
      return {.program = static_cast<std::size_t>(separator - words_.begin()) + 1};
    }
    auto completions = complete_word();
    std::erase_if(completions.words,
                  [this](const Completion& one) { return !one.word.starts_with(word_); });
    return {.completions = std::move(completions)};
  }

 private:
  Completions complete_word() {
    if (const auto value = line_.awaited_value()) return complete_value(*value, 0);
    if (!line_.after_separator() && word_.starts_with('-')) return complete_option();
    const auto* command = line_.innermost_command();
    auto completions = command == nullptr ? Completions{} : ask(command->complete_operand, word_);
    // Before "--", a name like this would be an option.
    if (!line_.after_separator()) {
      std::erase_if(completions.words,
                    [](const Completion& one) { return one.word.starts_with('-'); });
    }
    if (!operands_.empty()) return completions;
    auto commands = command == &kHelpCommand ? line_.commands() : line_.subcommands();
    return joined({.words = std::move(commands)}, std::move(completions));
  }

  Completions complete_option() {
    const auto equals = word_.find('=');
    if (equals == word_.npos) return {.words = line_.options_to_follow()};
    const auto value = line_.value_of(std::string(word_.substr(0, equals)));
    if (!value) return {};
    return complete_value(*value, equals + 1);
  }

  /// The value begins at this place in the word.
  Completions complete_value(const CommandLine::Value& value, std::size_t begin) {
    const auto comma = word_.substr(begin).rfind(',');
    const bool is_first = !value.comma_separated || comma == word_.npos;
    const auto last = is_first ? begin : begin + comma + 1;
    auto completions = ask(value.complete, word_.substr(last));
    const auto given = split_at_commas(word_.substr(begin, last - begin));
    std::erase_if(completions.words, [&given](const Completion& completion) {
      return std::ranges::find(given, completion.word) != given.end();
    });
    for (auto& completion : completions.words) completion.word.insert(0, word_.substr(0, last));
    return completions;
  }

  Completions ask(Completer completer, std::string_view typed) {
    if (completer == nullptr) return {};
    ConfigurationSource configuration(line_.general.config);
    return completer({.word = typed,
                      .operands = operands_,
                      .options = line_.options(),
                      .configuration = configuration});
  }

  std::span<const std::string> words_;
  std::string_view word_;
  RlctlLine line_;
  std::vector<std::string> operands_;
};

// ---- The commands ----

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
    write_completions(UnfinishedLine(words).complete(), invocation.out.buffer());
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

constexpr JsonOutput kJson{
    .about = "Standard output is for the shell. An error is an object on standard error."};

}  // namespace

const Command kCommand{
    .text = {.name = "completion",
             .summary = "print a script that completes rlctl's arguments in a shell",
             .synopsis = "completion bash|zsh|fish\n"
                         "completion words -- WORD...",
             .about =
                 "Prints a script for the shell that completes commands, options and their\n"
                 "values: algorithms, patterns, and the policies and scripts of the configuration\n"
                 "file. The script calls 'rlctl completion words' at each Tab. It contacts no\n"
                 "server, and so completes no KEYs.",
             .epilogue = R"(
Exit status: 0 done, 2 wrong usage; words: 1 if they are unknown.

Examples:
  source <(rlctl completion bash)
  rlctl completion fish | source
)"},
    .add = add,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::completion
