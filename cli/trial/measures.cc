#include "cli/trial/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "base/time.h"

namespace rlctl::cli::trial {

/// A run's value in a table for people, and what its text depends on.
struct Cell {
  const Report& report;
  const Run& run;
  std::chrono::microseconds origin;  ///< the instant shown as 0, relative to Run::begin
  Value value;

  std::chrono::microseconds time() const {
    return std::chrono::microseconds{std::get<std::int64_t>(*value)};
  }
};

namespace {

using namespace json_type;
using simulation::EndProbe;
using simulation::HolderReport;
using simulation::Measured;
using simulation::Minute;
using simulation::Pace;
using simulation::RemainingError;
using simulation::ResetError;
using simulation::RetryError;
using simulation::UnitsUsed;
using simulation::Worst;
using std::chrono::microseconds;

// --- Values of runs ------------------------------------------------------------------------------

template <typename Known>
Value value_of(const Known& known) {
  if constexpr (requires { known.count(); }) {
    return known.count();
  } else if constexpr (requires { known.value(); }) {
    return known ? value_of(*known) : Value();
  } else {
    return known;
  }
}

const Measured& measured(const Run& run) {
  return run.outcome.measured;
}

/// The value that these members lead to: read<&Measured::worst, &Worst::ratio>.
template <auto... members>
Value read(const Run& run) {
  return value_of((measured(run).*....*members));
}

/// A member of the worst minute, or a value of the pace; unknown if the run has none.
template <auto member>
Value read_minute(const Run& run) {
  const auto& minute = measured(run).worst_minute;
  return minute ? value_of((*minute).*member) : Value();
}
template <auto member>
Value read_pace(const Run& run) {
  const auto& pace = run.outcome.pace;
  return pace ? value_of(std::invoke(member, *pace)) : Value();
}

/// A member of the errors of a report; unknown if no decision has made it.
template <auto errors, auto member>
Value read_reported(const Run& run) {
  const auto& all = measured(run).*errors;
  return all.compared > 0 ? value_of(all.*member) : Value();
}

/// The value that these members of what is known of holders lead to; unknown without holders.
template <auto... members>
Value read_holders(const Run& run) {
  return run.holders() ? value_of((run.holders()->report.*....*members)) : Value();
}
/// A member of what the end showed about holders.
template <auto member>
Value read_end(const Run& run) {
  const auto* holders = run.holders();
  return holders != nullptr && holders->report.end ? value_of((*holders->report.end).*member)
                                                   : Value();
}
Value most_used(const Run& run) {
  return run.holders() ? value_of(run.holders()->report.most.both()) : Value();
}
Value most_used_at(const Run& run) {
  return most_used(run) != Value(0) ? read_holders<&HolderReport::most, &UnitsUsed::at>(run)
                                    : Value();
}

// The values that need at least one request.
Value denied_share(const Run& run) {
  const auto& all = measured(run);
  return all.sent > 0 ? Value(as_double(all.denied) / as_double(all.sent)) : Value();
}

/// A value that needs at least one allowed request.
template <microseconds Worst::*time>
Value read_allowed(const Run& run) {
  return measured(run).worst.allowed > 0 ? value_of(measured(run).worst.*time) : Value();
}

Value bytes_per_key(const Run& run) {
  return value_of(run.outcome.bytes_per_key);
}

// --- What limiters could do ----------------------------------------------------------------------

/// A limiter that allows nothing meets every upper bound.
Ceiling nothing_allowed() {
  return {.most = 0, .why = "nothing was allowed"};
}

Ceiling ceiling_of_worst(const Run& run) {
  const auto& all = measured(run);
  if (all.worst.allowed == 0) return nothing_allowed();
  const auto* requests = run.requests();
  // Delays may bring requests together.
  if (requests == nullptr || !requests->offered || all.longest_delay.count() > 0) return {};
  const auto& [worst, window] = *requests->offered;
  return {.most = worst.ratio,
          .why = fmt::format(
              "the traffic never offered more than {} within {}, so no limiter could exceed that; "
              "send more, or lower --limit",
              worst.allowed, format_duration(window))};
}

Ceiling ceiling_of_delay(const Run& run) {
  return measured(run).allowed == 0 ? nothing_allowed() : Ceiling{};
}

/// Where a request was denied, or the end asked for more than there is, another limiter could have
/// allowed too much.
Ceiling ceiling_of_holders(const Run& run) {
  if (measured(run).allowed == 0) return nothing_allowed();
  if (measured(run).denied > 0 || !run.holders() || run.holders()->report.end) return {};
  return {.most = as_double(run.holders()->report.most_ever.both()),
          .why =
              "nothing was denied, and the end did not ask for the whole limit; send more, or "
              "lower the limit"};
}

Ceiling ceiling_of_retry(const Run& run) {
  if (measured(run).retry_error.compared > 0) return {};
  return {.most = 0, .why = "no retry_after was compared"};
}

/// The most that a search was allowed by any clock, as a multiple of the limit; none if it tried no
/// clock that steps back.
std::optional<double> most_by_any_clock(const Run& run) {
  const auto& result = run.search()->result;
  if (!result.has_stepped_back) return std::nullopt;
  return run.search()->ratio_of(result.most_stepping_back.value_or(result.most));
}

Ceiling ceiling_of_search(const Run& run) {
  const bool allows_nothing = measured(run).allowed == 0 && most_by_any_clock(run) == 0;
  return allows_nothing ? nothing_allowed() : Ceiling{};
}

// --- Columns for people --------------------------------------------------------------------------

bool has_recording(const Report& report) {
  return report.recording != nullptr;
}

bool has_several_limits(const Report& report) {
  return report.plan.limits.size() > 1;
}

bool has_several_keys(const Report& report) {
  return traffic_keys(report) > 1;
}

bool has_delays(const Report& report) {
  return std::any_of(report.runs.begin(), report.runs.end(),
                     [](const Run& run) { return measured(run).longest_delay.count() > 0; });
}

bool is_real(const Report& report) {
  return report.plan.is_real();
}

Text span_of(const Cell& cell) {
  return span_text(cell.time());
}

/// How much was used at once, and whether that was too much.
Text used_of(const Cell& cell) {
  const auto used = std::get<std::int64_t>(*cell.value);
  const auto limit = cell.report.plan.limits.front().limit;
  return {fmt::format("{} of {}", used, limit), used > limit ? Tone::kBad : Tone::kGood};
}

/// A number that should be 0.
Text should_be_zero(const Cell& cell) {
  const auto number = std::get<std::int64_t>(*cell.value);
  return {fmt::to_string(number), number > 0 ? Tone::kBad : Tone::kGood};
}

bool has_crashes(const Report& report) {
  return report.plan.leases.hold.crash_share > 0;
}

bool has_renewals(const Report& report) {
  return report.plan.leases.hold.renews;
}

/// Without denials, nobody was shut out.
Text shut_out_of(const Cell& cell) {
  return measured(cell.run).first_denial ? span_of(cell) : Text();
}

Text delay_of(const Cell& cell) {
  return cell.time().count() > 0 ? span_of(cell) : Text();
}

Text moment_of(const Cell& cell) {
  if (shows_dates(cell.report)) return instant_text(cell.time());
  return offset_text(cell.time() - cell.run.begin - cell.origin);
}

Text minute_of(const Cell& cell) {
  constexpr std::string_view kSeconds = ":00Z";
  auto text = instant_text(cell.time());
  return text.replace(text.size() - kSeconds.size(), text.npos, "Z");
}

Text denied_in_minute_of(const Cell& cell) {
  const auto& minute = *measured(cell.run).worst_minute;
  return fmt::format("{} of {}", minute.denied, minute.sent);
}

Text share_of(const Cell& cell) {
  return percent_text(std::get<double>(*cell.value));
}

Text worst_of(const Cell& cell) {
  const auto& worst = measured(cell.run).worst;
  return {fmt::format("{}  {}×", worst.allowed, ratio_text(worst.ratio)),
          worst.ratio > 1 ? Tone::kBad : Tone::kGood};
}

Text worst_limit_of(const Cell& cell) {
  return limiter::format_limit(cell.report.plan.limits[measured(cell.run).worst.limit]);
}

Text retry_accuracy(const Cell& cell) {
  const auto& error = measured(cell.run).retry_error;
  if (error.compared == 0) return {};
  return {fmt::format("{} of {} right", error.compared - error.broken, error.compared),
          error.broken > 0 ? Tone::kBad : Tone::kPlain};
}

Text keys_denied_of(const Cell& cell) {
  return fmt::format("{} of {}", measured(cell.run).keys_denied, measured(cell.run).keys);
}

Text bytes_of(const Cell& cell) {
  return fmt::format("{:.0f}", std::get<double>(*cell.value));
}

Text lag_of(const Cell& cell) {
  return latency_text(cell.time());
}

Text sender_of(const Cell& cell) {
  if (std::get<bool>(*cell.value)) return "kept up";
  return {"fell behind", Tone::kBad};
}

// --- The tables ----------------------------------------------------------------------------------

constexpr Measure kCountMeasures[] = {
    {"sent", kCount, "The number of requests, acquires or reservations.", read<&Measured::sent>,
     kAsserted, Column{"sent"}},
    {"allowed", kCount, "How many of them were allowed.", read<&Measured::allowed>, kAsserted,
     Column{"allowed"}},
    {"denied", kCount, "How many of them were denied.", read<&Measured::denied>, kAsserted,
     Column{"denied"}},
    {"denied_share", kNoField, "", denied_share, kAsserted,
     Column{"of all", share_of, has_recording}},
    {"keys", kCount, "The number of keys.", read<&Measured::keys>},
    {"keys_denied", kCount,
     "The number of keys of which at least one request, acquire or reservation was denied.",
     read<&Measured::keys_denied>},
};

constexpr Measure kWorstMeasures[] = {
    {"allowed", kCount, kWorstAllowedAbout, read<&Measured::worst, &Worst::allowed>, kNotAsserted,
     Column{"worst in {}", worst_of}},
    {"", kNoField, "", read<&Measured::sent>, kNotAsserted,
     Column{"of", worst_limit_of, has_several_limits}},
    {"", kNoField, "", read_allowed<&Worst::span>, kNotAsserted, Column{"within", span_of}},
    {"ratio", kRatio, kWorstRatioAbout, read<&Measured::worst, &Worst::ratio>, kNotAsserted},
    {"from_us", kTimeOrNull, kWorstFromAbout, read_allowed<&Worst::from>, kNotAsserted,
     Column{"at", moment_of}},
    {"span_us", kDurationOrNull, kWorstSpanAbout, read_allowed<&Worst::span>, kNotAsserted},
};

constexpr Measure kDenialMeasures[] = {
    {"first_denial_us", kTimeOrNull,
     "The time of the first denial, in microseconds since 1970; null if nothing was denied.",
     read<&Measured::first_denial>, kNotAsserted, Column{"first denial", moment_of}},
    {"longest_shut_out_us", kDuration,
     "The longest time for which all requests, acquires or reservations of one key were denied, "
     "in microseconds.",
     read<&Measured::longest_shut_out>, kAsserted, Column{"longest lockout", shut_out_of}},
};

constexpr Measure kDelayMeasures[] = {
    {"longest_delay_us", kDuration, "The longest delay of an allowed request in microseconds.",
     read<&Measured::longest_delay>, kAsserted, Column{"longest delay", delay_of, has_delays},
     ceiling_of_delay},
};

// What is said of the fields of the next three groups.
constexpr std::string_view kComparedAbout = "The number of cases that were compared.",
                           kTooEarlyAbout = "The most by which one was too early, in microseconds.",
                           kTooLateAbout = "The most by which one was too late, in microseconds.";

template <auto member>
constexpr auto kOfRetry = read<&Measured::retry_error, member>;
constexpr Measure kRetryMeasures[] = {
    {"compared", kCount, kComparedAbout, kOfRetry<&RetryError::compared>, kNotAsserted,
     Column{"retry_after", retry_accuracy}},
    {"broken", kCount, "In how many cases it was wrong.", kOfRetry<&RetryError::broken>, kAsserted,
     Column{}, ceiling_of_retry},
    {"too_early_us", kDuration, kTooEarlyAbout, kOfRetry<&RetryError::too_early>, kAsserted,
     Column{}, ceiling_of_retry},
    {"too_late_us", kDuration, kTooLateAbout, kOfRetry<&RetryError::too_late>, kAsserted, Column{},
     ceiling_of_retry},
};

template <auto member>
constexpr auto kOfRemaining = read_reported<&Measured::remaining_error, member>;
constexpr Measure kRemainingMeasures[] = {
    {"compared", kCount, kComparedAbout, kOfRemaining<&RemainingError::compared>, kNotAsserted},
    {"too_many", kCount, "The most by which one was too high, in units.",
     kOfRemaining<&RemainingError::too_many>},
    {"too_few", kCount, "The most by which one was too low, in units.",
     kOfRemaining<&RemainingError::too_few>},
};

template <auto member>
constexpr auto kOfReset = read_reported<&Measured::reset_error, member>;
constexpr Measure kResetMeasures[] = {
    {"compared", kCount, kComparedAbout, kOfReset<&ResetError::compared>, kNotAsserted},
    {"too_early_us", kDuration, kTooEarlyAbout, kOfReset<&ResetError::too_early>},
    {"too_late_us", kDuration, kTooLateAbout, kOfReset<&ResetError::too_late>},
};

constexpr Measure kMemoryMeasures[] = {
    {"", kNoField, "", read<&Measured::keys>, kNotAsserted,
     Column{"keys denied", keys_denied_of, has_several_keys}},
    {"bytes_per_key", kRatioOrNull, "The average size of a key in Redis at the end, or null.",
     bytes_per_key, kAsserted, Column{"bytes/key", bytes_of}},
};

constexpr Measure kLeaseMeasures[] = {
    {"held", kCount, "The most that held at once, whose leases had not ended.", most_used,
     kAsserted, Column{"held", used_of}, ceiling_of_holders},
    {"held_at_us", kTimeOrNull,
     "When that was reached first, in microseconds since 1970; null if no one held.", most_used_at,
     kNotAsserted},
    {"held_ever", kCount, "The same with those whose leases had ended.",
     read_holders<&HolderReport::most_ever, &UnitsUsed::held>, kAsserted, Column{},
     ceiling_of_holders},
    {"lapsed", kCount, "How many of these held on after their leases had ended.",
     read_holders<&HolderReport::most_ever, &UnitsUsed::lapsed>, kNotAsserted},
    {"longest_leaked_us", kDuration,
     "The longest time in microseconds from a denial that showed a leaked slot until as many "
     "held as the limit allows, or until the end.",
     read_holders<&HolderReport::longest_leaked>},
    {"released", kCount, "Leases that were released.", read_holders<&HolderReport::finished>,
     kNotAsserted},
    {"renewed", kCount, "Renewals that were allowed.", read_holders<&HolderReport::renewed>,
     kNotAsserted, Column{"renewals", nullptr, has_renewals}},
    {"renewals_refused", kCount, "Renewals that were refused although the lease had not ended.",
     read_holders<&HolderReport::renewals_refused>},
};

constexpr Measure kBudgetMeasures[] = {
    {"used", kCount, "The most units spent or held when a reservation was allowed.", most_used,
     kAsserted, Column{"used", used_of}, ceiling_of_holders},
    {"used_at_us", kTimeOrNull,
     "When that was, in microseconds since 1970; null if nothing was used.", most_used_at,
     kNotAsserted},
    {"exceeded", kCount,
     "Reservations that were allowed although more than the limit was used then.",
     read_holders<&HolderReport::exceeded>, kAsserted, Column{"exceeded", should_be_zero}},
    {"overspent", kCount,
     "By how much settles brought a key above the limit, which is no flaw of the limiter.",
     read_holders<&HolderReport::overspent>},
    {"settled", kCount, "Reservations that were settled.", read_holders<&HolderReport::finished>,
     kNotAsserted, Column{"settled"}},
    {"late", kCount, "How many of these were settled after their hold had ended.",
     read_holders<&HolderReport::late>, kNotAsserted, Column{"late"}},
    {"refused", kCountOrNull,
     "Settles that were refused; null for a script, whose replies to them are not read.",
     read_holders<&HolderReport::refused>},
};

/// Those of leases and of reservations.
constexpr Measure kHolderMeasures[] = {
    {"starved", kCount, "Acquires or reservations that were denied although there was room.",
     read_holders<&HolderReport::starved>, kAsserted, Column{"starved", should_be_zero}},
    {"longest_starved_us", kDuration,
     "The longest time in microseconds from such a denial until the next allowed acquire or "
     "reservation of the key, or its last one.",
     read_holders<&HolderReport::longest_starved>},
    {"leaked", kCount, "The most slots or units that no holder had and none could get.",
     read_holders<&HolderReport::leaked>, kAsserted, Column{"leaked", should_be_zero}},
    {"", kNoField, "", read<&Measured::longest_shut_out>, kNotAsserted,
     Column{"longest lockout", shut_out_of}},
    {"died", kCount, "Holders that died.", read_holders<&HolderReport::died>, kNotAsserted,
     Column{"died", nullptr, has_crashes}},
    {"refused_while_held", kCountOrNull,
     "Releases or settles that were refused before the lease or the hold had ended; null for a "
     "script, whose replies to them are not read.",
     read_holders<&HolderReport::refused_while_held>},
    {"end_after_us", kDurationOrNull,
     "How many microseconds after the last holder had gone new holders asked for all slots or "
     "units. This and the other fields that begin with end_ are null if the run was interrupted, "
     "or the limit is above 10,000 leases or 400 reservations.",
     read_end<&EndProbe::after>, kNotAsserted},
    {"end_keys", kCountOrNull, "The number of keys of which they did.", read_end<&EndProbe::keys>,
     kNotAsserted},
    {"end_taken", kCountOrNull, "The slots or units that they did not get.",
     read_end<&EndProbe::taken>},
    {"end_too_many", kCountOrNull,
     "The leases that they got beyond the limit, or the most units of a key above it.",
     read_end<&EndProbe::too_many>},
};

constexpr Measure kPaceMeasures[] = {
    {"lag_us", kDurationOrNull,
     "The longest time by which a request was sent too late, in microseconds; null under the "
     "virtual clock, and if nothing was sent.",
     read_pace<&Pace::lag>, kNotAsserted, Column{"lag", lag_of, is_real}},
    {"sender_kept_up", kBooleanOrNull,
     "Whether requests were late by at most a hundredth of the time from the first to the last, "
     "or 1 ms; null under the virtual clock, and if nothing was sent.",
     read_pace<&Pace::sender_kept_up>, kNotAsserted, Column{"sender", sender_of, is_real}},
};

/// The worst clock minute, as monitoring shows it.
constexpr Measure kMinuteMeasures[] = {
    {"from_us", kTime, "Its beginning, in microseconds since 1970.", read_minute<&Minute::from>,
     kNotAsserted, Column{"worst minute", minute_of, has_recording}},
    {"sent", kCount, "The number of requests in it.", read_minute<&Minute::sent>, kNotAsserted},
    {"denied", kCount, "The number of them that were denied.", read_minute<&Minute::denied>,
     kNotAsserted, Column{"denied in it", denied_in_minute_of, has_recording}},
};

// --- Fields in JSON ------------------------------------------------------------------------------

/// The fields of a table of measures, which are those of its rows that have a type.
template <const auto& measures>
class FieldsOf {
 public:
  static constexpr auto make() { return make(std::make_index_sequence<kSize>()); }

 private:
  static constexpr std::size_t kSize =
      std::ranges::count_if(measures, [](const Measure& one) { return !one.type.text.empty(); });
  static constexpr auto kRows = [] {
    std::array<std::size_t, kSize> rows{};
    for (std::size_t row = 0, field = 0; field < kSize; ++row) {
      if (!measures[row].type.text.empty()) rows[field++] = row;
    }
    return rows;
  }();

  template <std::size_t... fields>
  static constexpr auto make(std::index_sequence<fields...>) {
    return std::array{field_of<kRows[fields]>()...};
  }
  template <std::size_t row>
  static constexpr JsonField<Run> field_of() {
    constexpr const Measure& kMeasure = measures[row];
    return {kMeasure.name, kMeasure.type, kMeasure.about, [](JsonWriter& json, const Run& run) {
              const auto value = measures[row].of(run);
              if (!value) {
                json.null();
                return;
              }
              std::visit([&json](const auto& known) { json.value(known); }, *value);
            }};
  }
};
template <const auto& measures>
constexpr auto kFieldsOf = FieldsOf<measures>::make();

template <const auto& measures>
constexpr MeasureGroup group_of(std::string_view name) {
  return {name, measures, JsonObject<Run>(kFieldsOf<measures>)};
}

// --- Names and texts -----------------------------------------------------------------------------

/// The groups that every run of requests has, in the order of their columns.
constexpr std::array kRequestGroups{&kCountGroup, &kWorstGroup,     &kDenialGroup, &kDelayGroup,
                                    &kRetryGroup, &kRemainingGroup, &kResetGroup,  &kMemoryGroup};

std::string full_name(std::string_view prefix, std::string_view name) {
  return prefix.empty() ? std::string(name) : fmt::format("{}_{}", prefix, name);
}

/// Empty if the value is unknown.
std::string text_of(const Value& value) {
  if (!value) return {};
  return std::visit([](const auto& known) { return fmt::to_string(known); }, *value);
}

// --- Assertions ----------------------------------------------------------------------------------

std::optional<double> as_number(const Value& value) {
  if (!value) return std::nullopt;
  return std::visit([](const auto& known) { return static_cast<double>(known); }, *value);
}

void add_asserted(std::vector<AssertedMeasure>& all, const MeasureGroup& group) {
  for (const auto& measure : group.measures) {
    if (measure.asserted == kNotAsserted) continue;
    all.push_back({.name = full_name(group.name, measure.name),
                   .of = [of = measure.of](const Run& run) { return as_number(of(run)); },
                   .ceiling = measure.ceiling});
  }
}

// --- Tables for people ---------------------------------------------------------------------------

/// Adds the columns of a group to a table with a row for each run.
void add_columns(Rows& table, const MeasureGroup& group, const Report& report,
                 microseconds origin) {
  auto& rows = table.rows;
  const auto window =
      has_several_limits(report) ? "a window" : period_text(report.plan.limits.front().window);
  for (const auto& measure : group.measures) {
    const auto& [title, text, is_shown] = measure.column;
    if (title.empty() || (is_shown != nullptr && !is_shown(report))) continue;
    rows.front().push_back(fmt::format(fmt::runtime(title), window));
    for (std::size_t i = 0; i < report.runs.size(); ++i) {
      const auto& run = report.runs[i];
      const Cell cell{report, run, origin, measure.of(run)};
      Text shown;
      if (cell.value) shown = text != nullptr ? text(cell) : text_of(cell.value);
      rows[i + 1].push_back(shown.words.empty() ? kNoValue : shown);
    }
  }
}

/// The worst window as a multiple of the limit; unknown if nothing was sent.
AssertedMeasure worst_measure() {
  const auto ratio = [](const Run& run) -> std::optional<double> {
    if (measured(run).sent == 0) return std::nullopt;
    return measured(run).worst.ratio;
  };
  return {.name = "worst", .of = ratio, .ceiling = ceiling_of_worst};
}

std::vector<AssertedMeasure> measures_of_holders(const MeasureGroup& group) {
  std::vector<AssertedMeasure> all;
  for (const auto* each : {&kCountGroup, &kDenialGroup, &kDelayGroup, &group, &kHolderGroup}) {
    add_asserted(all, *each);
  }
  return all;
}

}  // namespace

constinit const MeasureGroup kCountGroup = group_of<kCountMeasures>(""),
                             kWorstGroup = group_of<kWorstMeasures>("worst"),
                             kDenialGroup = group_of<kDenialMeasures>(""),
                             kDelayGroup = group_of<kDelayMeasures>(""),
                             kRetryGroup = group_of<kRetryMeasures>("retry_after"),
                             kRemainingGroup = group_of<kRemainingMeasures>("remaining"),
                             kResetGroup = group_of<kResetMeasures>("reset_after"),
                             kMemoryGroup = group_of<kMemoryMeasures>(""),
                             kPaceGroup = group_of<kPaceMeasures>(""),
                             kMinuteGroup = group_of<kMinuteMeasures>("worst_minute"),
                             kLeaseGroup = group_of<kLeaseMeasures>(""),
                             kBudgetGroup = group_of<kBudgetMeasures>(""),
                             kHolderGroup = group_of<kHolderMeasures>("");

std::optional<std::uint64_t> seed_of(const Report& report) {
  return report.plan.pattern() ? std::optional(report.plan.request.seed) : std::nullopt;
}

std::string percent_text(double share) {
  constexpr double kMinPercent = 0.001;
  const double percent = 100 * share;
  return percent > 0 && percent < kMinPercent ? fmt::format("<{} %", kMinPercent)
                                              : fmt::format("{:.3f} %", percent);
}

Rows decisions_table(const Report& report, microseconds origin) {
  Rows table;
  table.rows.emplace_back(1);  // the names have no title
  for (const auto& run : report.runs) table.rows.push_back({escaped_message(run.name)});
  std::vector<const MeasureGroup*> groups(kRequestGroups.begin(), kRequestGroups.end());
  groups.insert(groups.end(), {&kMinuteGroup, &kPaceGroup});
  if (has_holders(report.plan)) {
    groups = {&kCountGroup, report.plan.concurrency ? &kLeaseGroup : &kBudgetGroup, &kHolderGroup};
  }
  for (const auto* group : groups) add_columns(table, *group, report, origin);
  return table;
}

std::vector<AssertedMeasure> traffic_measures() {
  std::vector all{worst_measure()};
  for (const auto* group : kRequestGroups) add_asserted(all, *group);
  return all;
}

std::vector<AssertedMeasure> lease_measures() {
  return measures_of_holders(kLeaseGroup);
}

std::vector<AssertedMeasure> budget_measures() {
  return measures_of_holders(kBudgetGroup);
}

std::vector<AssertedMeasure> holder_search_measures(bool of_budget) {
  const auto held = [](const Run& run) -> std::optional<double> {
    return static_cast<double>(run.holder_search()->result.held);
  };
  const auto leaked = [](const Run& run) -> std::optional<double> {
    return static_cast<double>(run.holder_search()->result.leaked);
  };
  const auto ceiling = [](const Run& run) {
    return run.holder_search()->result.held == 0 ? nothing_allowed() : Ceiling{};
  };
  return {{.name = of_budget ? "used" : "held", .of = held, .ceiling = ceiling},
          {.name = "leaked", .of = leaked, .ceiling = ceiling}};
}

std::vector<AssertedMeasure> search_measures() {
  const auto wrongly_denied = [](const Run& run) -> std::optional<double> {
    const auto& wrong = run.search()->result.wrongly_denied;
    return wrong ? static_cast<double>(wrong->score.wrongly_denied.size()) : 0;
  };
  return {worst_measure(),
          {.name = "most_stepping_back",
           .of = most_by_any_clock,
           .needs_stepping_back = true,
           .ceiling = ceiling_of_search},
          {.name = "wrongly_denied", .of = wrongly_denied}};
}

}  // namespace rlctl::cli::trial
