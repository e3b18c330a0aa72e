#include "cli/commands/burst/measures.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <functional>
#include <variant>

#include "base/json.h"
#include "base/shell.h"
#include "base/time.h"
#include "cli/commands/burst/difference.h"
#include "cli/commands/burst/report.h"

namespace rlctl::cli::burst {
namespace {

using std::chrono::microseconds;
using traffic::Histogram;
using traffic::Measured;
using traffic::Minute;
using traffic::RemainingError;
using traffic::ResetError;
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
  Value (*of)(const Run&) = nullptr;
  Value (*shown)(double) = nullptr;  ///< for JSON and CSV; assertions compare the exact value
  /// The values that it could have had, see AssertedMeasure::reach; may be null.
  Reach (*reach)(const Run&) = nullptr;
};

/// A group of measures. Its name is that of an object in JSON, and a prefix in CSV and assertions;
/// without a name there is neither.
struct MeasureGroup {
  std::string_view name;
  std::span<const Measure> measures;
  bool needs_real_clock = false;
};

const Measured& measured(const Run& run) {
  return run.outcome.measured;
}

double as_double(std::int64_t number) {
  return static_cast<double>(number);
}

/// The value that these members lead to: of<&Measured::worst, &Worst::ratio>.
template <auto... members>
Value of(const Run& run) {
  return value_of((measured(run).*....*members));
}

/// A member of the worst minute or of the timing; unknown if the run has none.
template <auto member>
Value of_minute(const Run& run) {
  const auto& minute = measured(run).worst_minute;
  return minute ? value_of((*minute).*member) : Value();
}
template <auto member>
Value of_timing(const Run& run) {
  const auto& timing = run.outcome.timing;
  return timing ? value_of((*timing).*member) : Value();
}

/// A member of the errors of a report; unknown if no decision has made it.
template <auto errors, auto member>
Value of_reported(const Run& run) {
  const auto& all = measured(run).*errors;
  return all.compared > 0 ? value_of(all.*member) : Value();
}

/// A value that needs at least one request.
Value of_requests(const Run& run, double value) {
  return measured(run).sent > 0 ? Value(value) : Value();
}

/// A value that needs at least one allowed request.
template <microseconds Worst::*time>
Value of_allowed(const Run& run) {
  return measured(run).worst.allowed > 0 ? value_of(measured(run).worst.*time) : Value();
}

// --- What limiters could do ----------------------------------------------------------------------

/// A number of requests, units or keys, of which there are `most`.
Reach up_to(std::int64_t most) {
  return {.most = as_double(most)};
}

Reach reach_of_requests(const Run& run) {
  return up_to(measured(run).sent);
}

/// A limiter that allows nothing meets every upper bound.
Reach nothing_allowed() {
  return {.least = -HUGE_VAL, .most = 0, .because = "nothing was allowed"};
}

Reach reach_of_worst(const Run& run) {
  const auto& all = measured(run);
  if (all.worst.allowed == 0) return nothing_allowed();
  // Delays may bring requests together.
  if (!run.offered || all.longest_delay.count() > 0) return {};
  return {.most = run.offered->worst.ratio,
          .because = fmt::format(
              "the traffic never offered more than {} within {}, so no limiter could exceed that; "
              "send more, or lower --limit",
              run.offered->worst.allowed, format_duration(run.offered->window))};
}

Reach reach_of_delay(const Run& run) {
  return measured(run).allowed == 0 ? nothing_allowed() : Reach{};
}

/// No client is shut out for longer than the traffic lasts.
Reach reach_of_shut_out(const Run& run) {
  const auto& timeline = run.outcome.timeline;
  return up_to((timeline.end() - timeline.begin()).count());
}

Reach reach_of_broken(const Run& run) {
  auto reach = up_to(measured(run).retry_error.compared);
  if (reach.most == 0) reach.because = "no retry_after was compared";
  return reach;
}

Reach reach_of_retry_error(const Run& run) {
  auto reach = reach_of_broken(run);
  if (reach.most > 0) reach.most = HUGE_VAL;
  return reach;
}

Reach reach_of_search(const Run& run) {
  const bool allows_nothing =
      measured(run).allowed == 0 && run.search && run.search->most_stepping_back == 0;
  return allows_nothing ? nothing_allowed() : Reach{};
}

constexpr Measure kCountMeasures[] = {
    {"worst", kInAssert, [](const Run& run) { return of_requests(run, measured(run).worst.ratio); },
     nullptr, reach_of_worst},
    {"sent", kInAll, of<&Measured::sent>},
    {"allowed", kInAll, of<&Measured::allowed>, nullptr, reach_of_requests},
    {"denied", kInAll, of<&Measured::denied>, nullptr, reach_of_requests},
    {"denied_share", kInAssert,
     [](const Run& run) {
       return of_requests(run, as_double(measured(run).denied) / as_double(measured(run).sent));
     },
     nullptr, [](const Run&) { return up_to(1); }},
    {"keys", kInAll, of<&Measured::keys>},
    {"keys_denied", kInAll, of<&Measured::keys_denied>, nullptr,
     [](const Run& run) { return up_to(measured(run).keys); }},
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
    {"longest_shut_out_us", kInAll, of<&Measured::longest_shut_out>, nullptr, reach_of_shut_out},
    {"longest_delay_us", kInJson | kInAssert, of<&Measured::longest_delay>, nullptr,
     reach_of_delay},
};

constexpr Measure kRetryMeasures[] = {
    {"compared", kInData, of<&Measured::retry_error, &RetryError::compared>},
    {"broken", kInAll, of<&Measured::retry_error, &RetryError::broken>, nullptr, reach_of_broken},
    {"too_early_us", kInJson | kInAssert, of<&Measured::retry_error, &RetryError::too_early>,
     nullptr, reach_of_retry_error},
    {"too_late_us", kInJson | kInAssert, of<&Measured::retry_error, &RetryError::too_late>, nullptr,
     reach_of_retry_error},
};

constexpr Measure kRemainingMeasures[] = {
    {"compared", kInJson, of_reported<&Measured::remaining_error, &RemainingError::compared>},
    {"too_many", kInJson | kInAssert,
     of_reported<&Measured::remaining_error, &RemainingError::too_many>},
    {"too_few", kInJson | kInAssert,
     of_reported<&Measured::remaining_error, &RemainingError::too_few>},
};

constexpr Measure kResetMeasures[] = {
    {"compared", kInJson, of_reported<&Measured::reset_error, &ResetError::compared>},
    {"too_early_us", kInJson | kInAssert,
     of_reported<&Measured::reset_error, &ResetError::too_early>},
    {"too_late_us", kInJson | kInAssert,
     of_reported<&Measured::reset_error, &ResetError::too_late>},
};

constexpr Measure kMemoryMeasures[] = {
    {"bytes_per_key", kInAll, [](const Run& run) { return value_of(run.outcome.bytes_per_key); }},
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
     [](const Run& run) {
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
    kRemainingGroup{"remaining", kRemainingMeasures}, kResetGroup{"reset_after", kResetMeasures},
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
std::optional<std::uint64_t> seed_of(const Report& report) {
  return report.plan.pattern ? std::optional(report.plan.request.seed) : std::nullopt;
}

std::optional<std::size_t> clients_of(const Report& report) {
  return report.plan.real ? std::optional(report.plan.real->clients) : std::nullopt;
}
std::optional<std::size_t> pipeline_of(const Report& report) {
  return report.plan.real ? report.plan.real->pipeline : std::nullopt;
}

// --- JSON ----------------------------------------------------------------------------------------

Value shown_value(const Measure& measure, const Run& run) {
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

void write_measures(JsonWriter& json, const MeasureGroup& group, const Run& run) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInJson) == 0) continue;
    json.name(measure.name);
    write_value(json, shown_value(measure, run));
  }
}

/// An object of the group's name, or null.
void write_object(JsonWriter& json, const MeasureGroup& group, const Run& run, bool known) {
  json.name(group.name);
  if (!known) {
    json.null();
    return;
  }
  json.begin_object();
  write_measures(json, group, run);
  json.end_object();
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

void write_suggestion(JsonWriter& json, const Report& report, const Run& run) {
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

void write_run(JsonWriter& json, const Report& report, const Run& run) {
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
  write_object(json, kRetryGroup, run, true);
  write_object(json, kRemainingGroup, run, measured(run).remaining_error.compared > 0);
  write_object(json, kResetGroup, run, measured(run).reset_error.compared > 0);
  json.name("top_denied").begin_array();
  for (const auto& [key, denied] : run.top_denied) {
    json.begin_object().bytes_field("key", key).field("denied", denied).end_object();
  }
  json.end_array();
  write_object(json, kMinuteGroup, run, measured(run).worst_minute.has_value());
  write_suggestion(json, report, run);
  json.field("hint", run.hint).field("why", run.why).end_object();
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

void add_values(CsvLine& line, const MeasureGroup& group, const Run& run) {
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
constexpr std::array kBeforeClock{&kCountGroup,     &kWorstGroup, &kDenialGroup, &kRetryGroup,
                                  &kRemainingGroup, &kResetGroup, &kMemoryGroup};

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

void add_csv_times(CsvLine& line, const Run& run) {
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

void add_asserted(std::vector<AssertedMeasure>& all, const MeasureGroup& group) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInAssert) == 0) continue;
    all.push_back({.name = full_name(group.name, measure.name),
                   .of = [of = measure.of](const Run& run) { return as_number(of(run)); },
                   .needs_real_clock = group.needs_real_clock,
                   .reach = measure.reach});
  }
}

/// `times` selects the Histogram of a Timing.
template <typename Times>
void add_asserted_times(std::vector<AssertedMeasure>& all, Times times, std::string_view prefix) {
  for (const auto& statistic : time_statistics()) {
    if (!statistic.is_asserted) continue;
    all.push_back({.name = full_name(prefix, fmt::format("{}_us", statistic.name)),
                   .of = [times, &statistic](const Run& run) -> std::optional<double> {
                     const auto& timing = run.outcome.timing;
                     return timing ? statistic.of(std::invoke(times, *timing)) : std::nullopt;
                   },
                   .needs_real_clock = true,
                   .needs_answers = statistic.needs});
  }
}

}  // namespace

void append_json(std::string& out, const Report& report) {
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
  json.end_array();
  if (plan.is_comparison && (!report.interrupted || report.difference)) {
    write_difference(json.name("against"), plan, report.difference);
  }
  json.end_object();
  out += '\n';
}

void append_csv(std::string& out, const Report& report) {
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
  // A foreign script may not report these.
  const auto reported = [](const auto& value, const auto& unknown) {
    return value != unknown ? std::optional(value) : std::nullopt;
  };
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("cost", arrival.cost).field("allowed", decision.allowed);
  json.field("remaining", reported(decision.remaining, limiter::kNotTold));
  json.field("retry_after_us", reported(decision.retry_after, limiter::kTimeNotTold));
  json.field("reset_after_us", reported(decision.reset_after, limiter::kTimeNotTold));
  json.field("delay_us", decision.delay).end_object();
  out += '\n';
}

std::vector<AssertedMeasure> traffic_measures() {
  std::vector<AssertedMeasure> all;
  for (const auto* group : kBeforeClock) add_asserted(all, *group);
  add_asserted_times(all, waited_for, "");
  add_asserted_times(all, &Timing::service, "service");
  add_asserted(all, kServerGroup);
  return all;
}

std::vector<AssertedMeasure> search_measures() {
  const auto found = [](auto value) {
    return [value](const Run& run) -> std::optional<double> {
      if (!run.search) return std::nullopt;
      return value(*run.search);
    };
  };
  return {traffic_measures().front(),
          {.name = "most_stepping_back",
           .of = found([](const SearchFindings& all) { return all.most_stepping_back; }),
           .needs_stepping_back = true,
           .reach = reach_of_search},
          {.name = "wrongly_denied",
           .of = found([](const SearchFindings& all) { return as_double(all.wrongly_denied); })}};
}

}  // namespace rlctl::cli::burst
