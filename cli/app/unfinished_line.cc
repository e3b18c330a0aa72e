#include "cli/app/unfinished_line.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/app/general_options.h"

namespace rlctl::cli {
namespace {

Completions names_of_commands() {
  Completions completions;
  for (const auto* command : commands()) {
    completions.words.push_back({std::string(command->name), std::string(command->summary)});
  }
  for (const auto& [name, summary] : kOwnCommands) {
    completions.words.push_back({std::string(name), std::string(summary)});
  }
  return completions;
}

void prepend(std::string_view prefix, Completions& completions) {
  for (auto& completion : completions.words) completion.word.insert(0, prefix);
}

/// The number of the words if there is none.
std::size_t index_of_command(std::span<const std::string> words) {
  GeneralOptions ignored;
  Options options;
  add_general_options(options, ignored);
  return options.parse_unfinished(words).first_operand;
}

/// A line of which the last word is unfinished. Its options live as long as it does.
class UnfinishedLine {
 public:
  UnfinishedLine(std::span<const std::string> words, const Interrupt& interrupt)
      : before_(words.first(words.size() - 1)), word_(words.back()), interrupt_(interrupt) {
    add_general_options(options_, general_);
  }

  [[nodiscard]] LineCompletions complete() {
    const auto at = index_of_command(before_);
    if (at < before_.size() && before_[at] == kHelpCommand) {
      return {.completions = at + 1 == before_.size() ? names_of_commands() : Completions{}};
    }
    const Command* command = at < before_.size() ? find_command(before_[at]) : nullptr;
    if (at < before_.size() && command == nullptr) return {};
    std::vector<std::string> arguments(before_.begin(), before_.end());
    if (command != nullptr) {
      if (const auto program = find_program(*command, at)) return {.program = program};
      action_ = command->add(options_);
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(at));
    }
    line_ = options_.parse_unfinished(arguments);
    return {.completions = complete_word(command)};
  }

 private:
  [[nodiscard]] std::optional<std::size_t> find_program(const Command& command, std::size_t at) {
    if (!command.takes_program) return std::nullopt;
    const auto after = before_.subspan(at + 1);
    const auto separator = std::ranges::find(after, "--");
    if (separator == after.end()) return std::nullopt;
    return at + 1 + static_cast<std::size_t>(separator - after.begin()) + 1;
  }

  [[nodiscard]] Completions complete_word(const Command* command) {
    if (line_.awaiting != nullptr) return complete_value(*line_.awaiting, "", word_);
    if (!line_.after_separator && word_.starts_with('-')) return complete_option();
    if (command == nullptr) return names_of_commands();
    return ask(command->complete_operand, word_);
  }

  [[nodiscard]] Completions complete_option() {
    const auto equals = word_.find('=');
    if (equals == word_.npos) return {.words = options_.completions(line_.operands)};
    const auto* row = options_.find(word_.substr(0, equals));
    if (row == nullptr) return {};
    return complete_value(*row, word_.substr(0, equals + 1), word_.substr(equals + 1));
  }

  /// `typed` is what there is of the value, after `prefix` in the same word.
  [[nodiscard]] Completions complete_value(const Options::Row& row, std::string_view prefix,
                                           std::string_view typed) {
    const auto comma = typed.rfind(',');
    const auto earlier = row.takes_several() && comma != typed.npos ? typed.substr(0, comma + 1)
                                                                    : std::string_view{};
    auto completions = ask(row.completion(), typed.substr(earlier.size()));
    const auto given = split_at_commas(earlier);
    std::erase_if(completions.words, [&given](const Completion& completion) {
      return std::ranges::find(given, completion.word) != given.end();
    });
    prepend(earlier, completions);
    prepend(prefix, completions);
    return completions;
  }

  [[nodiscard]] Completions ask(Completer completion, std::string_view typed) {
    if (completion == nullptr) return {};
    ConfigurationSource configuration(general_.config);
    return completion({.word = typed,
                       .operands = line_.operands,
                       .options = options_,
                       .connection = general_.connection,
                       .configuration = configuration,
                       .interrupt = interrupt_});
  }

  std::span<const std::string> before_;
  std::string_view word_;
  const Interrupt& interrupt_;
  GeneralOptions general_;
  Options options_;
  Action action_;  ///< owns the targets of the command's options
  Options::Unfinished line_;
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
