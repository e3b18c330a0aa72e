#include "cli/burst/assertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>

#include "base/text.h"
#include "cli/failure.h"

namespace rlctl::cli {
namespace {

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

BurstMeasure find_measure(std::string_view name, const std::string& text,
                          const std::vector<BurstMeasure>& measures) {
  std::vector<std::string_view> names;
  for (const auto& measure : measures) {
    if (measure.name == name) return measure;
    names.push_back(measure.name);
  }
  throw UsageError("--assert: " + in_quotes(text) + " asserts something of " + in_quotes(name) +
                       ", which is not known" + did_you_mean(name, names),
                   "it is one of " + one_of(names));
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

/// What is said of a run behind its name.
std::string value_text(const BurstMeasure& measure, const BurstRun& run,
                       std::optional<double> value) {
  if (value) return fmt::format(" has {}", *value);
  const auto sent = run.outcome.measured.sent;
  if (measure.needs_answers > sent) {
    return fmt::format(" has {} answers, which are too few: it needs {}", sent,
                       measure.needs_answers);
  }
  return " does not tell";
}

}  // namespace

Assertion parse_assertion(const std::string& text, bool real_clock,
                          const std::vector<BurstMeasure>& measures) {
  const auto at = text.find_first_of("<>=!");
  const std::string_view rest =
      at == text.npos ? std::string_view{} : std::string_view(text).substr(at);
  const auto* sign = std::find_if(kComparisons.begin(), kComparisons.end(),
                                  [rest](const auto& one) { return rest.starts_with(one.sign); });
  if (sign == kComparisons.end()) {
    throw UsageError("--assert: " + in_quotes(text) + " needs one of < <= == != >= >",
                     std::string(kExample));
  }
  auto measure = find_measure(trimmed(std::string_view(text).substr(0, at)), text, measures);
  if (measure.needs_real_clock && !real_clock) {
    throw UsageError("--assert: " + in_quotes(text) + " is about " + measure.name +
                         ", which a virtual clock cannot measure",
                     "use --clock real");
  }
  const auto value = parse_value(trimmed(rest.substr(sign->sign.size())), text);
  return {.text = text, .measure = std::move(measure), .compare = sign->holds, .value = value};
}

std::optional<std::string> failure_of(const Assertion& assertion, std::span<const BurstRun> runs) {
  std::string values;
  for (const auto& run : runs) {
    const auto value = assertion.measure.of(run);
    if (value && assertion.compare(*value, assertion.value)) continue;
    if (!values.empty()) values += ", ";
    values += run.name + value_text(assertion.measure, run, value);
  }
  if (values.empty() && !runs.empty()) return std::nullopt;
  if (values.empty()) values = "nothing was run";
  return fmt::format("assertion {} does not hold: {}", in_quotes(assertion.text), values);
}

std::vector<std::string> failures_of(std::span<const Assertion> assertions,
                                     std::span<const BurstRun> runs) {
  std::vector<std::string> failures;
  for (const auto& assertion : assertions) {
    if (auto failure = failure_of(assertion, runs)) failures.push_back(std::move(*failure));
  }
  return failures;
}

ExitStatus tell_failures(const std::vector<std::string>& failures, const Invocation& invocation) {
  for (const auto& failure : failures) {
    write_stderr(render({.status = ExitStatus::kDenied, .code = "assertion", .message = failure},
                        invocation.command, invocation.json));
  }
  return failures.empty() ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace rlctl::cli
