#include "cli/options/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "cli/options/cli11.h"
#include "cli/options/values.h"

namespace rlctl::cli {
namespace {

/// A value that begins with '-' follows '='.
void append_words(std::vector<std::string>& words, const CLI::Option& option,
                  const std::string& value) {
  const auto name = long_name(option);
  const bool takes_value = option.get_items_expected_max() > 0;
  if (!takes_value && value == kNoValue) {
    words.push_back(name);
  } else if (!takes_value || (value.size() > 1 && value.front() == '-')) {
    words.push_back(fmt::format("{}={}", name, value));
  } else {
    words.insert(words.end(), {name, value});
  }
}

std::vector<std::string> given_values(const CLI::Option& option) {
  if (option.count() == 0) return {};
  auto values = option.results();
  if (option.get_multi_option_policy() != CLI::MultiOptionPolicy::TakeAll) {
    values.erase(values.begin(), values.end() - 1);
  }
  return values;
}

void append_repeated(std::vector<std::string>& words, const CommandLineState& line,
                     const CLI::App& command, bool of_server,
                     const std::map<std::string_view, std::vector<std::string>>& resolved) {
  for (const auto* option : line.own_options(command)) {
    const bool is_of_server = option->get_group() == kConnectionGroup;
    if (!option->get_configurable() || is_of_server != of_server) continue;
    const auto found = resolved.find(long_name(*option));
    const auto values = found == resolved.end() ? given_values(*option) : found->second;
    for (const auto& value : values) append_words(words, *option, value);
  }
}

}  // namespace

Take into(std::optional<std::string>& target) {
  return [&target](const std::string& text) { target = text; };
}

Take into(std::vector<std::string>& target) {
  return [&target](const std::string& text) { target.push_back(text); };
}

// ---- Rules ----

Option& Option::excludes(std::string_view name, std::string_view why, std::string_view hint) {
  line_->rules.push_back({option_, true, name, why, hint});
  return *this;
}

Option& Option::needs(std::string_view name, std::string_view why, std::string_view hint) {
  line_->rules.push_back({option_, false, name, why, hint});
  return *this;
}

Option& Option::once(std::string_view hint) {
  line_->options[option_].once_hint = hint;
  return *this;
}

Option& Option::rejects_detached(bool (*is_value)(const std::string& text)) {
  line_->options[option_].is_value = is_value;
  return *this;
}

Option& Option::only_in_long_help() {
  line_->options[option_].only_in_long_help = true;
  return *this;
}

Option& Option::completes(Completer complete) {
  line_->options[option_].complete = complete;
  return *this;
}

// ---- Declarations ----

void Options::group(const std::string& title, Repeats repeats) {
  app_->option_defaults()->group(title)->configurable(repeats == Repeats::kYes);
}

Option Options::flag(const std::string& names, bool& target, std::string_view help) {
  auto* option = app_->add_flag(names, target, std::string(help))->disable_flag_override();
  return line_->add(*app_, *option);
}

Option Options::value(const std::string& names, const std::string& type, Take take,
                      std::string_view help) {
  // Not bound to a variable: CLI11's own conversions split "[a,b]" and make an empty text none.
  auto* option = app_->add_option(
      names,
      [take = std::move(take)](const CLI::results_t& texts) {
        take(texts.back());
        return true;
      },
      std::string(help));
  option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  return line_->add(*app_, *option);
}

Option Options::list(const std::string& names, const std::string& type, Take take,
                     std::string_view help) {
  auto* option = app_->add_option(
      names,
      [take = std::move(take)](const CLI::results_t& texts) {
        std::ranges::for_each(texts, take);
        return true;
      },
      std::string(help));
  option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  return line_->add(*app_, *option);
}

Option Options::comma_list(const std::string& names, const std::string& type, Take take,
                           std::string_view help) {
  const auto take_each = [take = std::move(take)](const std::string& text) {
    for (const auto& word : split_at_commas(text)) take(std::string(word));
  };
  const auto option = list(names, type, take_each, help);
  line_->options[option.option_].comma_separated = true;
  return option;
}

Option Options::optional_value(const std::string& names, const std::string& type, bool& given,
                               Take take, std::string_view help) {
  auto* option = app_->add_option(
      names,
      [&given, take = std::move(take)](const CLI::results_t& texts) {
        given = true;
        if (texts.back() != kNoValue) take(texts.back());
        return true;
      },
      std::string(help));
  // For CLI11, a flag: only '=' gives it a value.
  option->type_name(type)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast)->expected(0);
  return line_->add(*app_, *option);
}

void Options::subcommand(const CommandText& text, std::function<void(Options&)> declare) {
  line_->add(*app_, text, std::move(declare));
}

void Options::require_subcommand(std::string_view example) {
  line_->commands.at(app_).example = example;
}

// ---- What is given ----

bool Options::is_given(const std::string& name) const {
  const auto* option = CommandLineState::find(*app_, name);
  return option != nullptr && option->count() > 0;
}

std::vector<std::string> Options::repeated(
    const std::map<std::string_view, std::vector<std::string>>& resolved, bool with_server) const {
  std::vector<std::string> words;
  std::vector<const CLI::App*> commands;  // from the inner to the outer
  for (const auto* command = app_; command != nullptr; command = command->get_parent()) {
    commands.push_back(command);
  }
  std::ranges::reverse(commands);
  for (const auto* command : commands) append_repeated(words, *line_, *command, false, resolved);
  if (with_server) append_repeated(words, *line_, line_->app, true, resolved);
  return words;
}

std::vector<std::string> Options::repeated_server(
    const std::map<std::string_view, std::vector<std::string>>& resolved) const {
  std::vector<std::string> words;
  append_repeated(words, *line_, line_->app, true, resolved);
  return words;
}

// ---- Refusals ----

void refuse_both(std::string_view first, std::string_view second, std::string_view why,
                 std::string_view hint) {
  auto message = fmt::format("{} and {} cannot be combined", first, second);
  if (!why.empty()) message.append(": ").append(why);
  throw UsageError(message, std::string(hint));
}

}  // namespace rlctl::cli
