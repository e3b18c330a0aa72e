#include "cli/app/unfinished_line.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/app/general_options.h"

namespace rlctl::cli {
namespace {

void prepend(std::string_view prefix, Completions& completions) {
  for (auto& completion : completions.words) completion.word.insert(0, prefix);
}

/// A line of which the last word is unfinished.
class UnfinishedLine {
 public:
  UnfinishedLine(std::span<const std::string> words, const Interrupt& interrupt)
      : words_(words), word_(words.back()), interrupt_(interrupt) {
    line_.set_general([this](Options& options) { add_general_options(options, general_); });
    add_commands(line_, actions_);
    line_.parse_unfinished(words.first(words.size() - 1));
    operands_ = line_.operands();
  }

  [[nodiscard]] LineCompletions complete() {
    const auto* command = chosen_command(line_);
    if (command != nullptr && command->takes_program && line_.after_separator()) {
      const auto separator = std::ranges::find(words_, "--");
      return {.program = static_cast<std::size_t>(separator - words_.begin()) + 1};
    }
    return {.completions = complete_word()};
  }

 private:
  [[nodiscard]] Completions complete_word() {
    if (const auto value = line_.awaited_value()) return complete_value(*value, "", word_);
    if (!line_.after_separator() && word_.starts_with('-')) return complete_option();
    const auto* command = line_.innermost_command();
    if (command == nullptr || command == &kHelpCommand) return complete_command();
    Completions commands{.words =
                             operands_.empty() ? line_.subcommands() : std::vector<Completion>{}};
    return joined(std::move(commands), ask(command->complete_operand, word_));
  }

  [[nodiscard]] Completions complete_command() const {
    return {.words = operands_.empty() ? line_.commands() : std::vector<Completion>{}};
  }

  [[nodiscard]] Completions complete_option() {
    const auto equals = word_.find('=');
    if (equals == word_.npos) return {.words = line_.options_to_follow()};
    const auto value = line_.value_of(std::string(word_.substr(0, equals)));
    if (!value) return {};
    return complete_value(*value, word_.substr(0, equals + 1), word_.substr(equals + 1));
  }

  /// `typed` is what there is of the value, after `prefix` in the same word.
  [[nodiscard]] Completions complete_value(const CommandLine::Value& value, std::string_view prefix,
                                           std::string_view typed) {
    const auto comma = typed.rfind(',');
    const auto earlier = value.comma_separated && comma != typed.npos ? typed.substr(0, comma + 1)
                                                                      : std::string_view{};
    auto completions = ask(value.complete, typed.substr(earlier.size()));
    const auto given = split_at_commas(earlier);
    std::erase_if(completions.words, [&given](const Completion& completion) {
      return std::ranges::find(given, completion.word) != given.end();
    });
    prepend(earlier, completions);
    prepend(prefix, completions);
    return completions;
  }

  [[nodiscard]] Completions ask(Completer completer, std::string_view typed) {
    if (completer == nullptr) return {};
    ConfigurationSource configuration(general_.config);
    return completer({.word = typed,
                      .operands = operands_,
                      .options = line_.options(),
                      .connection = general_.connection,
                      .configuration = configuration,
                      .interrupt = interrupt_});
  }

  std::span<const std::string> words_;
  std::string_view word_;
  const Interrupt& interrupt_;
  GeneralOptions general_;
  CommandLine line_;
  Actions actions_;  ///< they own the targets of the options
  std::vector<std::string> operands_;
};

}  // namespace

LineCompletions complete_line(std::span<const std::string> words, const Interrupt& interrupt) {
  auto found = UnfinishedLine(words, interrupt).complete();
  std::erase_if(found.completions.words, [word = std::string_view(words.back())](const auto& one) {
    return !one.word.starts_with(word);
  });
  return found;
}

}  // namespace rlctl::cli
