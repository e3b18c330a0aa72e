#include "cli/burst/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/failure.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;
using traffic::Histogram;
using traffic::Measured;
using traffic::Minute;
using traffic::RetryError;
using traffic::Timing;
using traffic::Worst;

// --- The tables ----------------------------------------------------------------------------------

/// The value of a measure; monostate if it is unknown.
using Value = std::variant<std::monostate, std::int64_t, double, bool>;

template <typename Known>
Value value_of(const Known& known) {
  if constexpr (std::is_same_v<Known, microseconds>) {
    return known.count();
  } else {
    return known;
  }
}
template <typename Known>
Value value_of(const std::optional<Known>& known) {
  return known ? value_of(*known) : Value();
}

/// The outputs that include a measure.
enum Outputs : unsigned {
  kInJson = 1,
  kInCsv = 2,
  kInAssert = 4,
  kInData = kInJson | kInCsv,
  kInAll = 7
};

/// One number that describes a run.
struct Measure {
  std::string_view name;
  unsigned outputs = kInAll;
  Value (*of)(const BurstRun&) = nullptr;
  Value (*shown)(double) = nullptr;  ///< for JSON and CSV; assertions compare the exact value
};

/// A group of measures. Its name is that of an object in JSON, and a prefix in CSV and assertions;
/// without a name there is neither.
struct MeasureGroup {
  std::string_view name;
  std::span<const Measure> measures;
  bool needs_real_clock = false;
};

const Measured& measured(const BurstRun& run) {
  return run.outcome.measured;
}

double as_double(std::int64_t number) {
  return static_cast<double>(number);
}

/// The value that these members lead to: of<&Measured::worst, &Worst::ratio>.
template <auto... members>
Value of(const BurstRun& run) {
  return value_of((measured(run).*....*members));
}

/// A member of the worst minute or of the timing; unknown if the run has none.
template <auto member>
Value of_minute(const BurstRun& run) {
  const auto& minute = measured(run).worst_minute;
  return minute ? value_of((*minute).*member) : Value();
}
template <auto member>
Value of_timing(const BurstRun& run) {
  const auto& timing = run.outcome.timing;
  return timing ? value_of((*timing).*member) : Value();
}

/// A value that needs at least one request.
Value of_requests(const BurstRun& run, double value) {
  return measured(run).sent > 0 ? Value(value) : Value();
}

/// A value that needs at least one allowed request.
template <microseconds Worst::*time>
Value of_allowed(const BurstRun& run) {
  return measured(run).worst.allowed > 0 ? value_of(measured(run).worst.*time) : Value();
}

constexpr Measure kCountMeasures[] = {
    {"worst", kInAssert,
     [](const BurstRun& run) { return of_requests(run, measured(run).worst.ratio); }},
    {"sent", kInAll, of<&Measured::sent>},
    {"allowed", kInAll, of<&Measured::allowed>},
    {"denied", kInAll, of<&Measured::denied>},
    {"denied_share", kInAssert,
     [](const BurstRun& run) {
       return of_requests(run, as_double(measured(run).denied) / as_double(measured(run).sent));
     }},
    {"keys", kInAll, of<&Measured::keys>},
    {"keys_denied", kInAll, of<&Measured::keys_denied>},
};

// If nothing was allowed, these times are null in JSON, but 0 in CSV.
constexpr Measure kWorstMeasures[] = {
    {"allowed", kInData, of<&Measured::worst, &Worst::allowed>},
    {"ratio", kInData, of<&Measured::worst, &Worst::ratio>},
    {"from_us", kInJson, of_allowed<&Worst::from>},
    {"span_us", kInJson, of_allowed<&Worst::span>},
    {"from_us", kInCsv, of<&Measured::worst, &Worst::from>},
    {"span_us", kInCsv, of<&Measured::worst, &Worst::span>},
};

constexpr Measure kDenialMeasures[] = {
    {"first_denial_us", kInData, of<&Measured::first_denial>},
    {"longest_shut_out_us", kInAll, of<&Measured::longest_shut_out>},
    {"longest_delay_us", kInJson | kInAssert, of<&Measured::longest_delay>},
};

constexpr Measure kRetryMeasures[] = {
    {"compared", kInData, of<&Measured::retry_error, &RetryError::compared>},
    {"broken", kInAll, of<&Measured::retry_error, &RetryError::broken>},
    {"too_early_us", kInJson, of<&Measured::retry_error, &RetryError::too_early>},
    {"too_late_us", kInJson, of<&Measured::retry_error, &RetryError::too_late>},
};

constexpr Measure kMemoryMeasures[] = {
    {"bytes_per_key", kInAll,
     [](const BurstRun& run) { return value_of(run.outcome.bytes_per_key); }},
};

/// Rounds to three decimals; further ones are noise.
Value thousandths(double number) {
  return std::round(number * 1e3) / 1e3;
}

/// A rate of 0 means that it was not measured.
Value rate_value(double per_second) {
  return per_second > 0 ? thousandths(per_second) : Value();
}

constexpr Measure kServerMeasures[] = {
    {"server_us_per_call", kInAll, of_timing<&Timing::server_us_per_call>, thousandths},
    {"offered_per_second", kInData, of_timing<&Timing::offered_per_second>, rate_value},
    {"achieved_per_second", kInAll, of_timing<&Timing::achieved_per_second>, rate_value},
    {"valid", kInData,
     [](const BurstRun& run) {
       const auto& timing = run.outcome.timing;
       return timing ? Value(timing->is_valid()) : Value();
     }},
};

constexpr Measure kMinuteMeasures[] = {
    {"from_us", kInData, of_minute<&Minute::from>},
    {"sent", kInData, of_minute<&Minute::sent>},
    {"denied", kInData, of_minute<&Minute::denied>},
};

constexpr MeasureGroup kCountGroup{"", kCountMeasures}, kWorstGroup{"worst", kWorstMeasures},
    kDenialGroup{"", kDenialMeasures}, kRetryGroup{"retry_after", kRetryMeasures},
    kMemoryGroup{"", kMemoryMeasures}, kServerGroup{"", kServerMeasures, true},
    kMinuteGroup{"worst_minute", kMinuteMeasures};

/// The times that are measured under the real clock.
struct TimedSpan {
  std::string_view name;
  Histogram Timing::*times;
};
constexpr TimedSpan kTimedSpans[] = {
    {"service", &Timing::service}, {"response", &Timing::response}, {"lag", &Timing::lag}};

/// A statistic of a run's times.
struct TimeStatistic {
  std::string_view name;
  bool is_asserted = true;
  std::int64_t needs = 1;  ///< the fewest times
  std::function<double(const Histogram&)> ns;

  /// In µs, with three decimals at most; none if there are too few times.
  [[nodiscard]] std::optional<double> of(const Histogram& times) const {
    if (times.count() < needs) return std::nullopt;
    return std::round(ns(times)) / 1e3;
  }
};

const std::vector<TimeStatistic>& time_statistics() {
  static const auto kAll = [] {
    std::vector<TimeStatistic> rows{
        {"min", false, 1, [](const Histogram& times) { return as_double(times.min().count()); }}};
    for (const auto& one : kPercentiles) {
      rows.push_back({one.name, true, one.needs(), [percent = one.percent](const Histogram& times) {
                        return as_double(times.percentile(percent)->count());
                      }});
    }
    rows.push_back(
        {"max", true, 1, [](const Histogram& times) { return as_double(times.max().count()); }});
    rows.push_back({"mean", true, 1, &Histogram::mean_ns});
    rows.push_back({"stdev", false, 1, &Histogram::stdev_ns});
    return rows;
  }();
  return kAll;
}

/// Null if the run has no such times: in a closed loop requests have no due time.
const Histogram* histogram_of(const std::optional<Timing>& timing, const TimedSpan& span) {
  if (!timing) return nullptr;
  const bool needs_schedule = span.times != &Timing::service;
  return needs_schedule && timing->response.count() == 0 ? nullptr : &((*timing).*span.times);
}

/// None for a log, which uses no random numbers.
std::optional<std::uint64_t> seed_of(const BurstReport& report) {
  return report.plan.pattern ? std::optional(report.plan.request.seed) : std::nullopt;
}

std::optional<std::size_t> clients_of(const BurstReport& report) {
  return report.plan.real ? std::optional(report.plan.real->clients) : std::nullopt;
}
std::optional<std::size_t> pipeline_of(const BurstReport& report) {
  return report.plan.real ? report.plan.real->pipeline : std::nullopt;
}

// --- JSON ----------------------------------------------------------------------------------------

Value shown_value(const Measure& measure, const BurstRun& run) {
  auto value = measure.of(run);
  const auto* number = std::get_if<double>(&value);
  return measure.shown != nullptr && number != nullptr ? measure.shown(*number) : value;
}

void write_value(JsonWriter& json, const Value& value) {
  const auto write = [&json](const auto& known) {
    if constexpr (std::is_same_v<decltype(known), const std::monostate&>) {
      json.null();
    } else {
      json.value(known);
    }
  };
  std::visit(write, value);
}

void write_measures(JsonWriter& json, const MeasureGroup& group, const BurstRun& run) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInJson) == 0) continue;
    json.name(measure.name);
    write_value(json, shown_value(measure, run));
  }
}

void write_times(JsonWriter& json, const std::optional<Timing>& timing) {
  json.name("latency_us");
  if (!timing) {
    json.null();
    return;
  }
  json.begin_object();
  for (const auto& span : kTimedSpans) {
    json.name(span.name);
    const auto* times = histogram_of(timing, span);
    if (times == nullptr) {
      json.null();
      continue;
    }
    json.begin_object().field("n", times->count());
    for (const auto& statistic : time_statistics()) {
      json.field(statistic.name, statistic.of(*times));
    }
    json.end_object();
  }
  json.end_object();
}

void write_suggestion(JsonWriter& json, const BurstReport& report, const BurstRun& run) {
  json.name("suggestion");
  const auto& share = report.plan.suggest;
  if (!share || !run.suggestion) {
    json.null();
    return;
  }
  const auto& [tried, chosen] = *run.suggestion;
  json.begin_object().field("most", share->most).field("of", share->of_keys ? "keys" : "requests");
  json.field("limit", chosen ? std::optional(tried[*chosen].limit) : std::nullopt);
  json.field("window_us", report.plan.limits.front().window).name("tried").begin_array();
  for (const auto& one : tried) {
    json.begin_object().field("limit", one.limit).field("denied", one.denied);
    json.field("share", one.share(share->of_keys)).field("keys_denied", one.keys_denied);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_run(JsonWriter& json, const BurstReport& report, const BurstRun& run) {
  json.begin_object().field("algorithm", run.name);
  write_measures(json, kCountGroup, run);
  json.name(kWorstGroup.name).begin_object();
  write_measures(json, kWorstGroup, run);
  json.bytes_field("key", run.worst_key);
  json.field("limit", limiter::format_limit(report.plan.limits[measured(run).worst.limit]));
  json.end_object();
  write_measures(json, kMemoryGroup, run);
  write_measures(json, kServerGroup, run);
  write_times(json, run.outcome.timing);
  write_measures(json, kDenialGroup, run);
  json.name(kRetryGroup.name).begin_object();
  write_measures(json, kRetryGroup, run);
  json.end_object().name("top_denied").begin_array();
  for (const auto& [key, denied] : run.top_denied) {
    json.begin_object().bytes_field("key", key).field("denied", denied).end_object();
  }
  json.end_array().name(kMinuteGroup.name);
  if (measured(run).worst_minute) {
    json.begin_object();
    write_measures(json, kMinuteGroup, run);
    json.end_object();
  } else {
    json.null();
  }
  write_suggestion(json, report, run);
  json.end_object();
}

void write_file(JsonWriter& json, const replay::RecordedFile& file) {
  const auto& counts = file.counts;
  const auto* format = file.format;
  json.begin_object().field("name", file.name);
  json.field("format", format != nullptr ? std::optional(format->name) : std::nullopt);
  json.field("lines", counts.lines).field("requests", counts.requests).field("bad", counts.bad);
  json.field("blank", counts.blank).field("other", counts.other).end_object();
}

void write_replay(JsonWriter& json, const replay::Recording* recording) {
  json.name("replay");
  if (recording == nullptr) {
    json.null();
    return;
  }
  json.begin_object().name("files").begin_array();
  for (const auto& file : recording->files()) write_file(json, file);
  json.end_array().field("first_us", recording->first()).field("last_us", recording->last());
  json.name("first_bad");
  if (const auto& bad = recording->first_bad()) {
    json.begin_object().field("file", bad->file).field("line", bad->line).field("why", bad->why);
    json.end_object();
  } else {
    json.null();
  }
  json.end_object();
}

// --- CSV -----------------------------------------------------------------------------------------

/// A line of CSV.
class CsvLine {
 public:
  explicit CsvLine(std::string& out) : out_(out) {}

  /// Quotes the text only if necessary.
  void add(std::string_view text) {
    if (!is_first_) out_ += ',';
    is_first_ = false;
    if (text.find_first_of(",\"\r\n") == text.npos) {
      out_ += text;
      return;
    }
    out_ += '"';
    for (const char c : text) out_.append(c == '"' ? 2 : 1, c);
    out_ += '"';
  }
  template <typename Known>
  void add(const std::optional<Known>& value) {
    add(value ? fmt::to_string(*value) : std::string());
  }
  void end() { out_ += '\n'; }

 private:
  std::string& out_;
  bool is_first_ = true;
};

std::string full_name(std::string_view prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : fmt::format("{}_{}", prefix, name);
}

void add_names(CsvLine& line, const MeasureGroup& group) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInCsv) != 0) line.add(full_name(group.name, measure.name));
  }
}

void add_values(CsvLine& line, const MeasureGroup& group, const BurstRun& run) {
  const auto text = [](const auto& known) {
    if constexpr (std::is_same_v<decltype(known), const std::monostate&>) {
      return std::string();
    } else {
      return fmt::to_string(known);
    }
  };
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInCsv) != 0) line.add(std::visit(text, shown_value(measure, run)));
  }
}

/// The groups before the columns of the clock, in column order.
constexpr std::array kBeforeClock{&kCountGroup, &kWorstGroup, &kDenialGroup, &kRetryGroup,
                                  &kMemoryGroup};

void add_csv_names(CsvLine& line) {
  for (const auto* name : {"pattern", "seed", "limit", "window_us", "algorithm"}) line.add(name);
  for (const auto* group : kBeforeClock) add_names(line, *group);
  for (const auto* name : {"clock", "clients", "pipeline"}) line.add(name);
  add_names(line, kServerGroup);
  for (const auto& span : kTimedSpans) {
    line.add(full_name(span.name, "n"));
    for (const auto& statistic : time_statistics()) {
      line.add(fmt::format("{}_{}_us", span.name, statistic.name));
    }
  }
  add_names(line, kMinuteGroup);
  line.end();
}

void add_csv_times(CsvLine& line, const BurstRun& run) {
  for (const auto& span : kTimedSpans) {
    const auto* times = histogram_of(run.outcome.timing, span);
    line.add(times != nullptr ? fmt::to_string(times->count()) : std::string());
    for (const auto& statistic : time_statistics()) {
      line.add(times != nullptr ? statistic.of(*times) : std::nullopt);
    }
  }
}

// --- Assertions ----------------------------------------------------------------------------------

std::optional<double> as_number(const Value& value) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return as_double(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

void add_asserted(std::vector<BurstMeasure>& all, const MeasureGroup& group) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInAssert) == 0) continue;
    all.push_back({.name = full_name(group.name, measure.name),
                   .of = [of = measure.of](const BurstRun& run) { return as_number(of(run)); },
                   .needs_real_clock = group.needs_real_clock});
  }
}

/// `times` selects the Histogram of a Timing.
template <typename Times>
void add_asserted_times(std::vector<BurstMeasure>& all, Times times, std::string_view prefix) {
  for (const auto& statistic : time_statistics()) {
    if (!statistic.is_asserted) continue;
    all.push_back({.name = full_name(prefix, fmt::format("{}_us", statistic.name)),
                   .of = [times, &statistic](const BurstRun& run) -> std::optional<double> {
                     const auto& timing = run.outcome.timing;
                     return timing ? statistic.of(std::invoke(times, *timing)) : std::nullopt;
                   },
                   .needs_real_clock = true,
                   .needs_answers = statistic.needs});
  }
}

struct Comparison {
  std::string_view sign;
  bool (*holds)(double, double);
};

template <typename Compare>
bool holds(double left, double right) {
  return Compare{}(left, right);
}

// Longer signs first: "<" is a prefix of "<=".
constexpr std::array kComparisons{
    Comparison{"<=", holds<std::less_equal<>>}, Comparison{">=", holds<std::greater_equal<>>},
    Comparison{"==", holds<std::equal_to<>>},   Comparison{"!=", holds<std::not_equal_to<>>},
    Comparison{"<", holds<std::less<>>},        Comparison{">", holds<std::greater<>>},
};

constexpr std::string_view kAssertExample = "--assert 'worst<=1'";

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
  throw UsageError("--assert: " + in_quotes(text) + " compares " + in_quotes(name) +
                       ", which is not a measure" + did_you_mean(name, names),
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
                   std::string(kAssertExample));
}

/// The part of a failure message after the name of a run.
std::string value_text(const BurstMeasure& measure, const BurstRun& run,
                       std::optional<double> value) {
  if (value) return fmt::format(" has {}", *value);
  const auto sent = run.outcome.measured.sent;
  if (measure.needs_answers > sent) {
    return fmt::format(" has {} answers, but needs {}", sent, measure.needs_answers);
  }
  return " has no value";
}

/// "assertion 'worst<=1' does not hold: fixed-window has 2"; none if it holds. An assertion about
/// an unknown value does not hold; without runs every value is unknown.
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

}  // namespace

void append_burst_json(std::string& out, const BurstReport& report) {
  const auto& plan = report.plan;
  const auto& limit = plan.limits.front();
  JsonWriter json(out);
  json.begin_object().field("pattern", traffic_name(report)).field("seed", seed_of(report));
  json.field("clock", report.plan.real ? "real" : "virtual").field("clients", clients_of(report));
  json.field("pipeline", pipeline_of(report));
  json.field("limit", limit.limit).field("window_us", limit.window).name("limits").begin_array();
  for (const auto& one : plan.limits) {
    json.begin_object().field("limit", one.limit).field("window_us", one.window);
    json.field("burst", one.burst).end_object();
  }
  json.end_array();
  write_replay(json, report.recording.get());
  json.field("command", command_line(plan.command)).field("interrupted", report.interrupted);
  json.name("runs").begin_array();
  for (const auto& run : report.runs) write_run(json, report, run);
  json.end_array().end_object();
  out += '\n';
}

void append_burst_csv(std::string& out, const BurstReport& report) {
  CsvLine names(out);
  add_csv_names(names);
  const auto& limit = report.plan.limits.front();
  for (const auto& run : report.runs) {
    CsvLine line(out);
    line.add(traffic_name(report));
    line.add(seed_of(report));
    line.add(fmt::to_string(limit.limit));
    line.add(fmt::to_string(limit.window.count()));
    line.add(run.name);
    for (const auto* group : kBeforeClock) add_values(line, *group, run);
    line.add(report.plan.real ? "real" : "virtual");
    line.add(clients_of(report));
    line.add(pipeline_of(report));
    add_values(line, kServerGroup, run);
    add_csv_times(line, run);
    add_values(line, kMinuteGroup, run);
    line.end();
  }
}

void append_decision_json(std::string& out, std::string_view run, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision) {
  // A foreign script may not report these two.
  const bool has_remaining = decision.remaining != limiter::kNotTold;
  const bool has_retry_after = has_remaining || decision.retry_after != limiter::kNever;
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("cost", arrival.cost).field("allowed", decision.allowed);
  json.field("remaining", has_remaining ? std::optional(decision.remaining) : std::nullopt);
  json.field("retry_after_us",
             has_retry_after ? std::optional(decision.retry_after) : std::nullopt);
  json.field("delay_us", decision.delay).end_object();
  out += '\n';
}

std::vector<BurstMeasure> burst_measures() {
  std::vector<BurstMeasure> all;
  for (const auto* group : kBeforeClock) add_asserted(all, *group);
  add_asserted_times(all, waited_for, "");
  add_asserted_times(all, &Timing::service, "service");
  add_asserted(all, kServerGroup);
  return all;
}

std::vector<BurstMeasure> search_measures() {
  const auto found = [](auto value) {
    return [value](const BurstRun& run) -> std::optional<double> {
      return run.search ? std::optional(value(*run.search)) : std::nullopt;
    };
  };
  return {burst_measures().front(),
          {.name = "most_stepping_back",
           .of = found([](const SearchFindings& all) { return all.most_stepping_back; })},
          {.name = "wrongly_denied",
           .of = found([](const SearchFindings& all) { return as_double(all.wrongly_denied); })}};
}

Assertion parse_assertion(const std::string& text, bool real_clock,
                          const std::vector<BurstMeasure>& measures) {
  const auto at = text.find_first_of("<>=!");
  const std::string_view rest =
      at == text.npos ? std::string_view{} : std::string_view(text).substr(at);
  const auto* sign = std::find_if(kComparisons.begin(), kComparisons.end(),
                                  [rest](const auto& one) { return rest.starts_with(one.sign); });
  if (sign == kComparisons.end()) {
    throw UsageError("--assert: " + in_quotes(text) + " needs one of < <= == != >= >",
                     std::string(kAssertExample));
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
