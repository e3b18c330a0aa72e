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

using std::chrono::microseconds;
using traffic::EndProbe;
using traffic::HolderReport;
using traffic::Measured;
using traffic::Minute;
using traffic::Pace;
using traffic::RemainingError;
using traffic::ResetError;
using traffic::RetryError;
using traffic::UnitsUsed;
using traffic::Worst;

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

/// The value that these members lead to: of<&Measured::worst, &Worst::ratio>.
template <auto... members>
Value of(const Run& run) {
  return value_of((measured(run).*....*members));
}

/// A member of the worst minute, or a value of the pace; unknown if the run has none.
template <auto member>
Value of_minute(const Run& run) {
  const auto& minute = measured(run).worst_minute;
  return minute ? value_of((*minute).*member) : Value();
}
template <auto member>
Value of_pace(const Run& run) {
  const auto& pace = run.outcome.pace;
  return pace ? value_of(std::invoke(member, *pace)) : Value();
}

/// A member of the errors of a report; unknown if no decision has made it.
template <auto errors, auto member>
Value of_reported(const Run& run) {
  const auto& all = measured(run).*errors;
  return all.compared > 0 ? value_of(all.*member) : Value();
}

/// The value that these members of what is known of holders lead to; unknown without holders.
template <auto... members>
Value of_holders(const Run& run) {
  return run.holders() ? value_of((run.holders()->report.*....*members)) : Value();
}
/// A member of what the end showed about holders.
template <auto member>
Value of_end(const Run& run) {
  const auto* holders = run.holders();
  return holders != nullptr && holders->report.end ? value_of((*holders->report.end).*member)
                                                   : Value();
}
Value most_used(const Run& run) {
  return run.holders() ? value_of(run.holders()->report.most.both()) : Value();
}
Value most_used_at(const Run& run) {
  return most_used(run) != Value(0) ? of_holders<&HolderReport::most, &UnitsUsed::at>(run)
                                    : Value();
}

// The values that need at least one request.
Value worst_ratio(const Run& run) {
  return measured(run).sent > 0 ? Value(measured(run).worst.ratio) : Value();
}
Value denied_share(const Run& run) {
  const auto& all = measured(run);
  return all.sent > 0 ? Value(as_double(all.denied) / as_double(all.sent)) : Value();
}

/// A value that needs at least one allowed request.
template <microseconds Worst::*time>
Value of_allowed(const Run& run) {
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
Text zero_of(const Cell& cell) {
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

Text right_of(const Cell& cell) {
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
    {"worst", worst_ratio, kInAssert, {}, ceiling_of_worst},
    {"sent", of<&Measured::sent>, kInAll, {"sent"}},
    {"allowed", of<&Measured::allowed>, kInAll, {"allowed"}},
    {"denied", of<&Measured::denied>, kInAll, {"denied"}},
    {"denied_share", denied_share, kInAssert, {"of all", share_of, has_recording}},
    {"keys", of<&Measured::keys>},
    {"keys_denied", of<&Measured::keys_denied>, kInAll},
};

// If nothing was allowed, these times are null in JSON.
constexpr Measure kWorstMeasures[] = {
    {"allowed", of<&Measured::worst, &Worst::allowed>, kInJson, {"worst in {}", worst_of}},
    {"limit", of<&Measured::sent>, kInText, {"of", worst_limit_of, has_several_limits}},
    {"span", of_allowed<&Worst::span>, kInText, {"within", span_of}},
    {"ratio", of<&Measured::worst, &Worst::ratio>, kInJson},
    {"from_us", of_allowed<&Worst::from>, kInJson, {"at", moment_of}},
    {"span_us", of_allowed<&Worst::span>, kInJson},
};

constexpr Measure kDenialMeasures[] = {
    {"first_denial_us", of<&Measured::first_denial>, kInJson, {"first denial", moment_of}},
    {"longest_shut_out_us",
     of<&Measured::longest_shut_out>,
     kInAll,
     {"longest lockout", shut_out_of}},
    {"longest_delay_us",
     of<&Measured::longest_delay>,
     kInJson | kInAssert,
     {"longest delay", delay_of, has_delays},
     ceiling_of_delay},
};

template <auto member>
constexpr auto kOfRetry = of<&Measured::retry_error, member>;
constexpr Measure kRetryMeasures[] = {
    {"compared", kOfRetry<&RetryError::compared>, kInJson, {"retry_after", right_of}},
    {"broken", kOfRetry<&RetryError::broken>, kInAll, {}, ceiling_of_retry},
    {"too_early_us", kOfRetry<&RetryError::too_early>, kInJson | kInAssert, {}, ceiling_of_retry},
    {"too_late_us", kOfRetry<&RetryError::too_late>, kInJson | kInAssert, {}, ceiling_of_retry},
};

template <auto member>
constexpr auto kOfRemaining = of_reported<&Measured::remaining_error, member>;
constexpr Measure kRemainingMeasures[] = {
    {"compared", kOfRemaining<&RemainingError::compared>, kInJson},
    {"too_many", kOfRemaining<&RemainingError::too_many>, kInJson | kInAssert},
    {"too_few", kOfRemaining<&RemainingError::too_few>, kInJson | kInAssert},
};

template <auto member>
constexpr auto kOfReset = of_reported<&Measured::reset_error, member>;
constexpr Measure kResetMeasures[] = {
    {"compared", kOfReset<&ResetError::compared>, kInJson},
    {"too_early_us", kOfReset<&ResetError::too_early>, kInJson | kInAssert},
    {"too_late_us", kOfReset<&ResetError::too_late>, kInJson | kInAssert},
};

constexpr Measure kMemoryMeasures[] = {
    {"keys", of<&Measured::keys>, kInText, {"keys denied", keys_denied_of, has_several_keys}},
    {"bytes_per_key", bytes_per_key, kInAll, {"bytes/key", bytes_of}},
};

constexpr Measure kLeaseMeasures[] = {
    {"held", most_used, kInAll, {"held", used_of}, ceiling_of_holders},
    {"held_at_us", most_used_at, kInJson},
    {"held_ever",
     of_holders<&HolderReport::most_ever, &UnitsUsed::held>,
     kInAll,
     {},
     ceiling_of_holders},
    {"lapsed", of_holders<&HolderReport::most_ever, &UnitsUsed::lapsed>, kInJson},
    {"longest_leaked_us", of_holders<&HolderReport::longest_leaked>},
    {"released", of_holders<&HolderReport::finished>, kInJson},
    {"renewed", of_holders<&HolderReport::renewed>, kInJson, {"renewals", nullptr, has_renewals}},
    {"renewals_refused", of_holders<&HolderReport::renewals_refused>},
};

constexpr Measure kBudgetMeasures[] = {
    {"used", most_used, kInAll, {"used", used_of}, ceiling_of_holders},
    {"used_at_us", most_used_at, kInJson},
    {"exceeded", of_holders<&HolderReport::exceeded>, kInAll, {"exceeded", zero_of}},
    {"overspent", of_holders<&HolderReport::overspent>},
    {"settled", of_holders<&HolderReport::finished>, kInJson, {"settled"}},
    {"late", of_holders<&HolderReport::late>, kInJson, {"late"}},
    {"refused", of_holders<&HolderReport::refused>},
};

/// Those of leases and of reservations.
constexpr Measure kHolderMeasures[] = {
    {"starved", of_holders<&HolderReport::starved>, kInAll, {"starved", zero_of}},
    {"longest_starved_us", of_holders<&HolderReport::longest_starved>},
    {"leaked", of_holders<&HolderReport::leaked>, kInAll, {"leaked", zero_of}},
    {"lockout", of<&Measured::longest_shut_out>, kInText, {"longest lockout", shut_out_of}},
    {"died", of_holders<&HolderReport::died>, kInJson, {"died", nullptr, has_crashes}},
    {"refused_while_held", of_holders<&HolderReport::refused_while_held>},
    {"end_after_us", of_end<&EndProbe::after>, kInJson},
    {"end_keys", of_end<&EndProbe::keys>, kInJson},
    {"end_taken", of_end<&EndProbe::taken>},
    {"end_too_many", of_end<&EndProbe::too_many>},
};

constexpr Measure kPaceMeasures[] = {
    {"lag_us", of_pace<&Pace::lag>, kInJson, {"lag", lag_of, is_real}},
    {"sender_kept_up", of_pace<&Pace::sender_kept_up>, kInJson, {"sender", sender_of, is_real}},
};

/// The worst clock minute, as monitoring shows it.
constexpr Measure kMinuteMeasures[] = {
    {"from_us", of_minute<&Minute::from>, kInJson, {"worst minute", minute_of, has_recording}},
    {"sent", of_minute<&Minute::sent>, kInJson},
    {"denied",
     of_minute<&Minute::denied>,
     kInJson,
     {"denied in it", denied_in_minute_of, has_recording}},
};

// --- Names and texts -----------------------------------------------------------------------------

/// The groups that every run of requests has, in the order of their columns.
constexpr std::array kRequestGroups{&kCountGroup,     &kWorstGroup, &kDenialGroup, &kRetryGroup,
                                    &kRemainingGroup, &kResetGroup, &kMemoryGroup};

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
    if ((measure.outputs & kInAssert) == 0) continue;
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

std::vector<AssertedMeasure> measures_of_holders(const MeasureGroup& group) {
  std::vector<AssertedMeasure> all;
  add_asserted(all, kCountGroup);
  all.erase(all.begin());  // the worst window
  for (const auto* each : {&kDenialGroup, &group, &kHolderGroup}) add_asserted(all, *each);
  return all;
}

}  // namespace

const MeasureGroup kCountGroup{"", kCountMeasures}, kWorstGroup{"worst", kWorstMeasures},
    kDenialGroup{"", kDenialMeasures}, kRetryGroup{"retry_after", kRetryMeasures},
    kRemainingGroup{"remaining", kRemainingMeasures}, kResetGroup{"reset_after", kResetMeasures},
    kMemoryGroup{"", kMemoryMeasures}, kPaceGroup{"", kPaceMeasures},
    kMinuteGroup{"worst_minute", kMinuteMeasures}, kLeaseGroup{"", kLeaseMeasures},
    kBudgetGroup{"", kBudgetMeasures}, kHolderGroup{"", kHolderMeasures};

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
  std::vector<AssertedMeasure> all;
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
  return {traffic_measures().front(),
          {.name = "most_stepping_back",
           .of = most_by_any_clock,
           .needs_stepping_back = true,
           .ceiling = ceiling_of_search},
          {.name = "wrongly_denied", .of = wrongly_denied}};
}

}  // namespace rlctl::cli::trial
