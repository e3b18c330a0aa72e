#include "cli/options/options.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/options/cli11.h"
#include "limiter/limit.h"

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

void append_repeated(std::vector<std::string>& words, const CommandLineState& line, bool of_server,
                     const std::map<std::string_view, std::vector<std::string>>& resolved) {
  for (const auto& details : line.options) {
    const auto& option = *details.option;
    const bool is_hidden = option.get_description().empty();
    const bool is_of_server = option.get_group() == kConnectionGroup;
    if (is_hidden || !option.get_configurable() || is_of_server != of_server) continue;
    const auto found = resolved.find(long_name(option));
    const auto values = found == resolved.end() ? option.reduced_results() : found->second;
    for (const auto& value : values) append_words(words, option, value);
  }
}

/// A time in microseconds is never that close to January 1970.
void refuse_seconds(std::chrono::microseconds now, std::string_view option) {
  using std::chrono::microseconds;
  constexpr microseconds kYears = std::chrono::years{10};
  const auto today = system_time();
  for (const auto& [name, scale] : {std::pair{"seconds", 1'000'000}, {"milliseconds", 1'000}}) {
    if (std::chrono::abs(now - today / scale) > kYears / scale) continue;
    throw UsageError(std::string(option) + ": '" + std::to_string(now.count()) + "' looks like " +
                         name + " since 1970, but is read as microseconds",
                     "use the output of date +%s%6N, or ISO 8601");
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

Option& Option::add_rule(bool excludes, std::string_view name, std::string_view why,
                         std::string_view hint) {
  if (details_ != nullptr) line_->rules.push_back({details_, excludes, name, why, hint});
  return *this;
}

Option& Option::once(std::string_view hint) {
  if (details_ != nullptr) details_->once_hint = hint;
  return *this;
}

Option& Option::splits_at_commas() {
  if (details_ != nullptr) details_->splits_at_commas = true;
  return *this;
}

Option& Option::takes_stream() {
  if (details_ != nullptr) details_->has_stream = true;
  return *this;
}

Option& Option::completes(Completer complete) {
  if (details_ != nullptr) details_->complete = complete;
  return *this;
}

// ---- Declarations ----

void Options::group(const std::string& title, Repeats repeats) {
  app_->option_defaults()->group(title)->configurable(repeats == Repeats::kYes);
}

Option Options::flag(std::string_view names, bool& target, std::string_view help) {
  if (!line_->wants(names)) return {nullptr, *line_};
  auto& details = line_->options.emplace_back(OptionDetails{.command = app_});
  details.option = app_->add_flag(std::string(names), target, std::string(help));
  details.option->disable_flag_override();
  return {&details, *line_};
}

/// Not bound to a variable: CLI11's own conversions split "[a,b]" and make an empty text none. Not
/// split by CLI11, which drops an empty part: in "$A,$B", a limit whose variable is not set.
Option Options::add(std::string_view names, std::string_view type, Take take, std::string_view help,
                    bool is_list) {
  if (!line_->wants(names)) return {nullptr, *line_};
  auto& details = line_->options.emplace_back(OptionDetails{.command = app_});
  const auto take_all = [take = std::move(take), &details](const CLI::results_t& texts) {
    for (const auto& text : texts) {
      const auto parts = details.splits_at_commas ? split_at_commas(text) : CLI::results_t{text};
      std::ranges::for_each(parts, take);
    }
    return true;
  };
  details.option = app_->add_option(std::string(names), take_all, std::string(help));
  details.option->type_name(std::string(type))
      ->multi_option_policy(is_list ? CLI::MultiOptionPolicy::TakeAll
                                    : CLI::MultiOptionPolicy::TakeLast);
  return {&details, *line_};
}

Option Options::optional_value(std::string_view names, std::string_view type, bool& given,
                               Take take, std::string_view help) {
  const auto take_given = [&given, take = std::move(take)](const std::string& text) {
    given = true;
    if (text != kNoValue) take(text);
  };
  auto option = add(names, type, take_given, help, false);
  // For CLI11, a flag: only '=' gives it a value.
  if (option.details_ != nullptr) option.details_->option->expected(0);
  return option;
}

void Options::subcommand(const CommandText& text, std::function<void(Options&)> declare) {
  line_->add(*app_, text, std::move(declare));
}

void Options::require_subcommand(std::string_view example) {
  line_->commands.at(app_).example = example;
}

// ---- What is given ----

bool Options::is_given(std::string_view name) const {
  const auto* found = line_->find(*app_, name);
  return found != nullptr && found->option->count() > 0;
}

std::vector<std::string> Options::repeated(
    const std::map<std::string_view, std::vector<std::string>>& resolved, bool with_server) const {
  std::vector<std::string> words;
  append_repeated(words, *line_, false, resolved);
  if (with_server) append_repeated(words, *line_, true, resolved);
  return words;
}

std::vector<std::string> Options::repeated_server(
    const std::map<std::string_view, std::vector<std::string>>& resolved) const {
  std::vector<std::string> words;
  append_repeated(words, *line_, true, resolved);
  return words;
}

// ---- Refusals ----

void refuse_both(std::string_view first, std::string_view second, std::string_view why,
                 std::string_view hint) {
  auto message = fmt::format("{} and {} cannot be combined", first, second);
  if (!why.empty()) message.append(": ").append(why);
  throw UsageError(message, std::string(hint));
}

void require_not_empty(std::string_view text, const std::string& what) {
  if (text.empty()) throw UsageError(what + " is empty", "is the variable set?");
}

void require_at_most(std::size_t most, std::span<const std::string> operands, std::string hint) {
  if (operands.size() <= most) return;
  throw UsageError("unexpected argument " + quoted_and_masked(operands[most]), std::move(hint));
}

void refuse_dash(std::span<const std::string> operands, std::size_t typed, std::string_view hint) {
  const auto before = operands.first(std::min(typed, operands.size()));
  if (std::ranges::find(before, "-") == before.end()) return;
  throw UsageError("unexpected argument '-': standard input is not read here", std::string(hint));
}

void refuse_word(const std::string& message, std::string_view word,
                 std::span<const std::string_view> names) {
  throw UsageError(message + did_you_mean(word, names), "expected one of: " + one_of(names));
}

// ---- Values ----

std::int64_t parse_between(const std::string& text, std::string_view option, std::int64_t least,
                           std::int64_t most) {
  const auto value = parse_whole(text, option);
  if (value >= least && value <= most) return value;
  throw UsageError(fmt::format("{} must be from {} to {}, not {}", option, least, most, value));
}

std::chrono::microseconds parse_duration_of(const std::string& text, std::string_view option) {
  return parsed(option, [&] { return parse_duration(text); });
}

std::string percentage_hint(double number) {
  const auto as_share = number > 0 && number <= 1 ? fmt::format("{:.10g}% or ", number * 100) : "";
  return fmt::format("write {}{:.10g}%", as_share, number);
}

double parse_percentage(const std::string& text, std::string_view option, double most) {
  const bool has_sign = text.ends_with('%');
  const auto number = to_decimal(has_sign ? text.substr(0, text.size() - 1) : text);
  if (!number || text.starts_with('-') || *number > most) {
    throw UsageError(fmt::format("{} must be a percentage from 0% to {:.10g}%, not {}", option,
                                 most, quoted_and_masked(text)));
  }
  if (has_sign) return *number;
  throw UsageError(
      fmt::format("{} must be a percentage with its sign, not {}", option, quoted_and_masked(text)),
      percentage_hint(*number));
}

double parse_share(const std::string& text, std::string_view option, double most) {
  return parse_percentage(text, option, most) / 100;
}

std::int64_t parse_cost(const std::string& text) {
  return parse_whole(text, "--cost");
}

std::vector<std::int64_t> parse_costs(const std::string& text) {
  std::vector<std::int64_t> costs;
  for (const auto& word : split_at_commas(text)) {
    const auto cost = parse_between(word, "--cost", -limiter::kLargestCost, limiter::kLargestCost);
    if (std::ranges::find(costs, cost) == costs.end()) costs.push_back(cost);
  }
  std::ranges::stable_sort(costs, std::greater{}, [](std::int64_t cost) {
    return (cost > 0 ? 1 : 0) - (cost < 0 ? 1 : 0);
  });
  return costs;
}

void require_cost_above_0(const std::vector<std::int64_t>& costs, const ValueOrigin& origin) {
  if (costs.front() > 0) return;
  const auto text = fmt::format("{}", fmt::join(costs, ","));
  refuse_value(origin.with(text), "at least one cost must be above 0", "for example: 1," + text);
}

std::chrono::microseconds parse_time_of(const std::string& text, std::string_view option) {
  const auto now = parsed(option, [&] { return parse_instant(text); });
  refuse_seconds(now, option);
  return now;
}

std::chrono::microseconds parse_now(const std::string& text) {
  return parse_time_of(text, "--now");
}

}  // namespace rlctl::cli
