#include "cli/trial/assertions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/table.h"
#include "base/text.h"
#include "cli/options/options.h"
#include "cli/trial/findings.h"

namespace rlctl::cli::trial {
namespace {

struct Comparison {
  std::string_view sign;
  bool (*holds)(double, double);
};

// Longer signs first: "<" is a prefix of "<=".
constexpr std::array kComparisons{
    Comparison{"<=", [](double left, double right) { return left <= right; }},
    Comparison{">=", [](double left, double right) { return left >= right; }},
    Comparison{"==", [](double left, double right) { return left == right; }},
    Comparison{"!=", [](double left, double right) { return left != right; }},
    Comparison{"<", [](double left, double right) { return left < right; }},
    Comparison{">", [](double left, double right) { return left > right; }},
};

constexpr std::string_view kAssertExample = "--assert 'worst<=1'";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// Measures that belong together: what they are measures of, and how they are measured.
struct AssertedMeasures {
  std::string_view of;
  std::vector<AssertedMeasure> measures;
  std::string_view hint;
};

AssertedMeasure find_measure(std::string_view name, const std::string& text, const Plan& plan) {
  const bool of_search = plan.search() != nullptr, of_budget = plan.reserve.has_value();
  const AssertedMeasures all[] = {
      {"requests", traffic_measures(), "rlctl burst measures it, of requests"},
      {"leases", lease_measures(), "rlctl burst --concurrency measures it"},
      {"reservations", budget_measures(), "rlctl burst --reserve measures it"},
      {"a search", search_measures(), "rlctl adversary measures it, of requests"},
      {"a search", holder_search_measures(of_budget), ""}};
  const auto& own = all[of_search          ? (has_holders(plan) ? 4 : 3)
                        : plan.concurrency ? 1
                        : of_budget        ? 2
                                           : 0];
  if (const auto* measure = find_by_name(own.measures, name)) return *measure;
  const auto message = "--assert: " + quoted_and_masked(text) + " compares " +
                       quoted_and_masked(name) + ", which is not a measure";
  for (const auto& other : std::span(all).first(4)) {
    if (find_by_name(other.measures, name) == nullptr) continue;
    throw UsageError(fmt::format("{} of {}", message, own.of), std::string(other.hint));
  }
  refuse_word(message, name, names_of(own.measures));
}

double parse_value(std::string_view number, const std::string& text) {
  if (const auto value = to_decimal(number)) return *value;
  throw UsageError("--assert: " + quoted_and_masked(text) + " compares with " +
                       quoted_and_masked(number) + ", which is not a number",
                   std::string(kAssertExample));
}

/// The value with as few decimals as tell it from the bound, at least two; whole numbers as they
/// are.
std::string rounded_text(const Assertion& assertion, double value) {
  constexpr int kMinDecimals = 2, kMaxDecimals = 9;
  constexpr double kPrecision = 0.005;  // relative
  for (int decimals = kMinDecimals; decimals <= kMaxDecimals; ++decimals) {
    const double scale = std::pow(10, decimals);
    const double rounded = std::round(value * scale) / scale;
    const bool is_close = std::abs(rounded - value) <= kPrecision * std::abs(value);
    const bool differs = rounded != assertion.value || value == assertion.value;
    const bool holds = assertion.compare(rounded, assertion.value);
    if (is_close && differs && holds == assertion.compare(value, assertion.value)) {
      return fmt::format("{}", rounded);
    }
  }
  return fmt::format("{}", value);
}

/// "assertion 'worst<=1' does not hold: fixed-window has 2"; none if it holds.
std::optional<std::string> failure_of(const Assertion& assertion, std::span<const Run> runs) {
  std::string values;
  for (const auto& run : runs) {
    const auto value = assertion.measure.of(run);
    if (value && assertion.compare(*value, assertion.value)) continue;
    if (!values.empty()) values += ", ";
    values += run.name + (value ? " has " + rounded_text(assertion, *value) : " has no value");
  }
  if (values.empty() && !runs.empty()) return std::nullopt;
  if (values.empty()) values = "nothing was run";
  return fmt::format("assertion {} does not hold: {}", quoted_and_masked(assertion.text), values);
}

/// Why a run could not have broken the assertion, an upper bound, so that it proves nothing; none
/// if it could.
std::optional<std::string> why_vacuous(const Assertion& assertion, const Run& run) {
  if (assertion.measure.ceiling == nullptr) return std::nullopt;
  const auto ceiling = assertion.measure.ceiling(run);
  const auto holds = [&](double value) { return assertion.compare(value, assertion.value); };
  if (!holds(0) || !holds(ceiling.most) || holds(HUGE_VAL)) return std::nullopt;
  return ceiling.why;
}

/// "assertion 'worst<=1' proves nothing about gcra: nothing was allowed", for each cause.
std::vector<std::string> vacuous_of(const Assertion& assertion, std::span<const Run> runs) {
  std::vector<std::pair<std::string, std::string>> names_of;  // by cause
  for (const auto& run : runs) {
    const auto value = assertion.measure.of(run);
    if (!value || !assertion.compare(*value, assertion.value)) continue;
    const auto why = why_vacuous(assertion, run);
    if (!why) continue;
    auto known = names_of.begin();
    while (known != names_of.end() && known->first != *why) ++known;
    if (known == names_of.end()) known = names_of.insert(known, {*why, {}});
    known->second += (known->second.empty() ? "" : ", ") + run.name;
  }
  std::vector<std::string> texts;
  for (const auto& [why, names] : names_of) {
    texts.push_back(fmt::format("assertion {} proves nothing about {}: {}",
                                quoted_and_masked(assertion.text), names, why));
  }
  return texts;
}

/// Whether it holds for the run, but would not if the value were high enough.
bool holds_as_upper_bound(const Assertion& assertion, const Run& run) {
  const auto value = assertion.measure.of(run);
  return value && assertion.compare(*value, assertion.value) &&
         !assertion.compare(HUGE_VAL, assertion.value);
}

struct Skipped {
  std::int64_t tried = 0, undecided = 0;
};
/// The schedules of an exhaustive search.
std::optional<Skipped> skipped_of(const Run& run) {
  const auto of = [](const auto& result) -> std::optional<Skipped> {
    if (!result.tried) return std::nullopt;
    return Skipped{*result.tried, result.undecided};
  };
  if (run.holder_search()) return of(run.holder_search()->result);
  return run.search() ? of(run.search()->result) : std::nullopt;
}

/// For each run about which a search can prove nothing, since it had to leave schedules out.
std::vector<std::string> unproven_of(const Assertion& assertion, std::span<const Run> runs) {
  std::vector<std::string> texts;
  for (const auto& run : runs) {
    const auto skipped = skipped_of(run);
    if (!skipped || skipped->undecided == 0) continue;
    if (!holds_as_upper_bound(assertion, run)) continue;
    texts.push_back(fmt::format("assertion {} is not proven for {}: skipped {} of {} schedules, {}",
                                quoted_and_masked(assertion.text), run.name,
                                grouped(skipped->undecided), grouped(skipped->tried), kUndecided));
  }
  return texts;
}

}  // namespace

Assertion parse_assertion(const std::string& text, const Plan& plan) {
  const auto at = text.find_first_of("<>=!");
  const std::string_view rest =
      at == text.npos ? std::string_view{} : std::string_view(text).substr(at);
  const auto* sign = std::find_if(kComparisons.begin(), kComparisons.end(),
                                  [rest](const auto& one) { return rest.starts_with(one.sign); });
  if (sign == kComparisons.end()) {
    throw UsageError("--assert: " + quoted_and_masked(text) + " needs one of < <= == != >= >",
                     std::string(kAssertExample));
  }
  auto measure = find_measure(trimmed(std::string_view(text).substr(0, at)), text, plan);
  if (measure.needs_stepping_back && !plan.search()->steps_back()) {
    throw UsageError("--assert: " + quoted_and_masked(text) + " needs a clock that steps back",
                     plan.search()->exhaustive ? "leave out --exhaustive, which tries no such clock"
                                               : "leave out --monotonic");
  }
  const auto value = parse_value(trimmed(rest.substr(sign->sign.size())), text);
  return {.text = text, .measure = std::move(measure), .compare = sign->holds, .value = value};
}

std::vector<std::string> failures_of(std::span<const Assertion> assertions,
                                     std::span<const Run> runs) {
  std::vector<std::string> failures;
  for (const auto& assertion : assertions) {
    if (auto failure = failure_of(assertion, runs)) failures.push_back(std::move(*failure));
    for (auto& vacuous : vacuous_of(assertion, runs)) failures.push_back(std::move(vacuous));
    for (auto& unproven : unproven_of(assertion, runs)) failures.push_back(std::move(unproven));
  }
  return failures;
}

std::vector<std::string> warnings_of(std::span<const Assertion> assertions,
                                     std::span<const Run> runs) {
  std::vector<std::string> warnings;
  for (const auto& run : runs) {
    if (!run.search()) continue;
    const auto holds = [&](const auto& one) { return holds_as_upper_bound(one, run); };
    if (std::none_of(assertions.begin(), assertions.end(), holds)) continue;
    if (const auto rounding = rounding_text(*run.search()); !rounding.empty()) {
      warnings.push_back(fmt::format(
          "warning: {}: the assertions ignore what rounding explains: {}", run.name, rounding));
    }
    const auto left_out = left_out_text(run.search()->result);
    // What an exhaustive search left out makes the assertion fail instead.
    if (left_out.empty() || run.search()->result.tried) continue;
    warnings.push_back(
        fmt::format("warning: {}: the assertions do not cover {}", run.name, left_out));
  }
  return warnings;
}

}  // namespace rlctl::cli::trial
