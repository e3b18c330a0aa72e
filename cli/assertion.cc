#include "cli/assertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>

#include "cli/problem.h"
#include "limiter/suggest.h"

namespace rlctl::cli {
namespace {

struct Measure {
  std::string_view name;
  double (*of)(const BurstRun&);
};

double as_double(std::int64_t number) {
  return static_cast<double>(number);
}

const traffic::Measured& measured(const BurstRun& run) {
  return run.outcome.measured;
}

constexpr std::array kMeasures{
    Measure{"worst", [](const BurstRun& run) { return measured(run).worst.ratio; }},
    Measure{"sent", [](const BurstRun& run) { return as_double(measured(run).sent); }},
    Measure{"allowed", [](const BurstRun& run) { return as_double(measured(run).allowed); }},
    Measure{"denied", [](const BurstRun& run) { return as_double(measured(run).denied); }},
    Measure{"keys", [](const BurstRun& run) { return as_double(measured(run).keys); }},
    Measure{"keys_denied",
            [](const BurstRun& run) { return as_double(measured(run).keys_denied); }},
    Measure{"longest_shut_out_us",
            [](const BurstRun& run) { return as_double(measured(run).longest_shut_out.count()); }},
    Measure{"retry_after_broken",
            [](const BurstRun& run) { return as_double(measured(run).retry_error.broken); }},
};

struct Comparison {
  std::string_view sign;
  bool (*holds)(double, double);
};

template <typename Compare>
bool holds(double left, double right) {
  return Compare{}(left, right);
}

// The longer signs first: "<" is the beginning of "<=".
constexpr std::array kComparisons{
    Comparison{"<=", holds<std::less_equal<>>}, Comparison{">=", holds<std::greater_equal<>>},
    Comparison{"==", holds<std::equal_to<>>},   Comparison{"!=", holds<std::not_equal_to<>>},
    Comparison{"<", holds<std::less<>>},        Comparison{">", holds<std::greater<>>},
};

constexpr std::string_view kExample = "--assert 'worst<=1'";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

std::vector<std::string_view> names() {
  std::vector<std::string_view> result;
  for (const auto& measure : kMeasures) result.push_back(measure.name);
  return result;
}

const Measure& find_measure(std::string_view name, const std::string& text) {
  const auto* found = std::find_if(kMeasures.begin(), kMeasures.end(),
                                   [name](const Measure& measure) { return measure.name == name; });
  if (found != kMeasures.end()) return *found;
  throw UsageError("--assert: " + in_quotes(text) + " asserts something of " + in_quotes(name) +
                       ", which is not known" + limiter::did_you_mean(name, names()),
                   "it is one of " + assertable_names());
}

double parse_value(std::string_view number, const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value,
                                            std::chars_format::fixed);
  const bool good = error == std::errc{} && end == number.data() + number.size() &&
                    std::isfinite(value) && !number.empty();
  if (good) return value;
  throw UsageError("--assert: " + in_quotes(text) + " compares with " + in_quotes(number) +
                       ", which is not a number",
                   std::string(kExample));
}

}  // namespace

std::string assertable_names() {
  return limiter::one_of(names());
}

Assertion parse_assertion(const std::string& text) {
  const auto at = text.find_first_of("<>=!");
  const std::string_view rest =
      at == text.npos ? std::string_view{} : std::string_view(text).substr(at);
  const auto* sign = std::find_if(kComparisons.begin(), kComparisons.end(),
                                  [rest](const auto& one) { return rest.starts_with(one.sign); });
  if (sign == kComparisons.end()) {
    throw UsageError("--assert: " + in_quotes(text) + " needs one of < <= == != >= >",
                     std::string(kExample));
  }
  const auto& measure = find_measure(trimmed(std::string_view(text).substr(0, at)), text);
  const auto value = parse_value(trimmed(rest.substr(sign->sign.size())), text);
  return {.text = text, .measure = measure.of, .compare = sign->holds, .value = value};
}

std::optional<std::string> failure_of(const Assertion& assertion, std::span<const BurstRun> runs) {
  std::string values;
  for (const auto& run : runs) {
    const auto value = assertion.measure(run);
    if (assertion.compare(value, assertion.value)) continue;
    values += fmt::format("{}{} has {}", values.empty() ? "" : ", ", run.name, value);
  }
  if (values.empty() && !runs.empty()) return std::nullopt;
  if (values.empty()) values = "nothing was run";
  return fmt::format("assertion {} does not hold: {}", in_quotes(assertion.text), values);
}

}  // namespace rlctl::cli
