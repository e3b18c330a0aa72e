#include <numeric>

#include "base/shell.h"
#include "cli/commands/burst/report.h"
#include "cli/trial/json.h"
#include "cli/trial/measures.h"

namespace rlctl::cli::burst {
namespace {

using trial::Difference;
using trial::MeasureGroup;
using trial::Plan;
using trial::Report;
using trial::Run;
using trial::write_object;

void write_measures(JsonWriter& json, const MeasureGroup& group, const Run& run) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & trial::kInJson) == 0) continue;
    json.name(measure.name);
    if (const auto value = measure.of(run)) {
      std::visit([&json](const auto& known) { json.value(known); }, *value);
    } else {
      json.null();
    }
  }
}

void write_group(JsonWriter& json, const MeasureGroup& group, const Run& run, bool is_known) {
  write_object(json, group.name, is_known, [&] { write_measures(json, group, run); });
}

void write_suggestion(JsonWriter& json, const Report& report, const traffic::Suggestion& found) {
  const auto& share = *report.plan.traffic()->suggest;
  const auto& [tried, chosen] = found;
  json.field("most", share.most).field("of", share.of_keys ? "keys" : "requests");
  json.field("limit", chosen ? std::optional(tried[*chosen].limit) : std::nullopt);
  json.field("window_us", report.plan.limits.front().window).name("tried").begin_array();
  for (const auto& one : tried) {
    json.begin_object().field("limit", one.limit).field("denied", one.denied);
    json.field("share", one.share(share.of_keys)).field("keys_denied", one.keys_denied);
    json.end_object();
  }
  json.end_array();
}

void write_worst_keys(JsonWriter& json, const Report& report, const Run& run) {
  json.name("worst_keys").begin_array();
  for (std::size_t i = 0; i < run.requests()->worst_keys.size(); ++i) {
    const auto& [worst, denied] = run.outcome.measured.worst_keys[i];
    json.begin_object()
        .bytes_field("key", run.requests()->worst_keys[i])
        .field("allowed", worst.allowed);
    json.field("ratio", worst.ratio).field("from_us", worst.from).field("span_us", worst.span);
    json.field("limit", limiter::format_limit(report.plan.limits[worst.limit]));
    json.field("denied", denied).end_object();
  }
  json.end_array();
}

void write_top_denied(JsonWriter& json, const Run& run) {
  json.name("top_denied").begin_array();
  for (const auto& [key, denied] : run.top_denied) {
    json.begin_object().bytes_field("key", key).field("denied", denied).end_object();
  }
  json.end_array();
}

/// Null if a script does not tell.
void write_denied_by_limit(JsonWriter& json, const traffic::Measured& measured) {
  const auto& denied = measured.denied_by_limit;
  json.name("denied_by_limit");
  if (std::reduce(denied.begin(), denied.end()) != measured.denied) {
    json.null();
    return;
  }
  json.begin_array();
  for (const auto count : denied) json.value(count);
  json.end_array();
}

/// Writes a run that gave leases or reservations.
void write_holders(JsonWriter& json, const Run& run, bool are_leases) {
  json.begin_object().field("algorithm", run.name);
  write_measures(json, trial::kCountGroup, run);
  json.name(are_leases ? "holding" : "spending").begin_object();
  write_measures(json, are_leases ? trial::kLeaseGroup : trial::kBudgetGroup, run);
  write_measures(json, trial::kHolderGroup, run);
  json.bytes_field("key", run.holders()->key).end_object();
  json.field("first_denial_us", run.outcome.measured.first_denial);
  json.field("longest_shut_out_us", run.outcome.measured.longest_shut_out);
  write_top_denied(json, run);
  json.field("hint", run.hint).end_object();
}

void write_run(JsonWriter& json, const Report& report, const Run& run) {
  const auto& measured = run.outcome.measured;
  json.begin_object().field("algorithm", run.name);
  write_measures(json, trial::kCountGroup, run);
  json.name(trial::kWorstGroup.name).begin_object();
  write_measures(json, trial::kWorstGroup, run);
  json.bytes_field("key", run.worst_key());
  json.field("limit", limiter::format_limit(report.plan.limits[measured.worst.limit]));
  json.end_object();
  write_worst_keys(json, report, run);
  write_denied_by_limit(json, measured);
  write_measures(json, trial::kMemoryGroup, run);
  write_measures(json, trial::kPaceGroup, run);
  write_measures(json, trial::kDenialGroup, run);
  write_group(json, trial::kRetryGroup, run, true);
  write_group(json, trial::kRemainingGroup, run, measured.remaining_error.compared > 0);
  write_group(json, trial::kResetGroup, run, measured.reset_error.compared > 0);
  write_top_denied(json, run);
  write_group(json, trial::kMinuteGroup, run, measured.worst_minute.has_value());
  write_object(json, "suggestion", run.requests()->suggestion.has_value(),
               [&] { write_suggestion(json, report, *run.requests()->suggestion); });
  json.field("hint", run.hint).field("why", run.why).end_object();
}

void write_file(JsonWriter& json, const replay::RecordedFile& file) {
  const auto& counts = file.counts;
  const auto known = [](const std::string& name) {
    return name.empty() ? std::nullopt : std::optional(name);
  };
  json.begin_object().field("name", file.name).field("format", known(file.format));
  json.field("prefix", known(file.prefix));
  json.field("lines", counts.lines).field("requests", counts.requests).field("bad", counts.bad);
  json.field("blank", counts.blank).field("other", counts.other).end_object();
}

void write_recording(JsonWriter& json, const replay::Recording& recording) {
  json.name("files").begin_array();
  for (const auto& file : recording.files()) write_file(json, file);
  json.end_array().field("first_us", recording.first()).field("last_us", recording.last());
  json.field("out_of_order", recording.out_of_order());
  json.field("out_of_order_by_us", recording.out_of_order_by());
  const auto& bad = recording.first_bad();
  write_object(json, "first_bad", bad.has_value(), [&] {
    json.field("file", bad->file).field("line", bad->line).field("why", bad->why);
  });
}

void write_difference(JsonWriter& json, const Plan& plan, const std::optional<Difference>& found) {
  json.field("algorithm", name_of(plan.candidates[1])).field("differs", found.has_value());
  json.field("request", found ? std::optional(found->request) : std::nullopt);
  json.field("at_us", found ? std::optional(found->at) : std::nullopt);
  if (found) {
    json.bytes_field("key", found->key);
  } else {
    json.name("key").null();
  }
  json.field("allowed", found ? std::optional(found->allowed) : std::nullopt);
  json.field("other_allowed", found ? std::optional(!found->allowed) : std::nullopt);
}

void write_lease_plan(JsonWriter& json, const Plan& plan) {
  const auto& hold = plan.leases.hold;
  json.field("concurrency", *plan.concurrency).field("lease_us", plan.leases.lease);
  json.field("hold_us", hold.is_in_cost ? std::nullopt : std::optional(hold.hold));
  json.field("hold_is_exponential", hold.is_exponential);
  json.field("crash", hold.crash_share).field("renew", hold.renews);
}

void write_limits(JsonWriter& json, const Plan& plan) {
  const auto& limit = plan.limits.front();
  json.field("limit", limit.limit).field("window_us", limit.window).name("limits").begin_array();
  for (const auto& one : plan.limits) {
    json.begin_object().field("limit", one.limit).field("window_us", one.window);
    if (one.calendar != nullptr) json.field("calendar", one.calendar->text());
    json.field("burst", one.burst).field("text", limiter::format_limit(one)).end_object();
  }
  json.end_array();
}

void write_budget_plan(JsonWriter& json, const Plan& plan) {
  const auto& spend = plan.budget.spend;
  const auto least = spend.least_actual.value_or(spend.units);
  json.field("reserve", spend.units).field("hold_us", spend.hold);
  json.field("least_actual", least).field("most_actual", spend.most_actual.value_or(least));
  json.field("settle_after_us", spend.settle_after);
  json.field("settle_after_is_exponential", spend.is_exponential);
  json.field("crash", spend.crash_share);
}

void write_traffic(JsonWriter& json, const Report& report) {
  const auto& plan = report.plan;
  json.field("pattern", traffic_name(report)).field("seed", seed_of(report));
  json.field("clock", plan.is_real() ? "real" : "virtual");
  if (plan.concurrency) {
    write_lease_plan(json, plan);
  } else if (plan.reserve) {
    write_limits(json, plan);
    write_budget_plan(json, plan);
  } else {
    write_limits(json, plan);
  }
  write_object(json, "replay", report.recording != nullptr,
               [&] { write_recording(json, *report.recording); });
}

/// An event of a holder.
void append_event_json(std::string& out, std::string_view run, std::int64_t number,
                       std::string_view key, const traffic::Arrival& arrival,
                       const limiter::Decision& decision) {
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("event", traffic::event_name(arrival.event));
  if (traffic::is_of_reservation(arrival.event)) {
    const bool settles = arrival.event == traffic::Event::kSettle;
    json.field("reservation", traffic::reservation_name(arrival.holder));
    json.field("units", arrival.cost);
    json.field("actual", settles ? std::optional(arrival.actual) : std::nullopt);
  } else {
    json.field("holder", traffic::holder_name(arrival.holder));
  }
  json.field("allowed", decision.allowed).field("request", number).end_object();
  out += '\n';
}

}  // namespace

void write_json(JsonWriter& json, const Report& report) {
  const auto& plan = report.plan;
  write_traffic(json, report);
  json.field("command", command_line(plan.command)).field("interrupted", report.interrupted);
  json.name("runs").begin_array();
  for (const auto& run : report.runs) {
    if (run.holders()) {
      write_holders(json, run, plan.concurrency.has_value());
    } else {
      write_run(json, report, run);
    }
  }
  json.end_array();
  if (tells_difference(report)) {
    write_object(json, "compare", true, [&] { write_difference(json, plan, report.difference); });
  }
}

void append_decision_json(std::string& out, const Plan& plan, std::string_view run,
                          std::int64_t number, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision) {
  if (arrival.holder > 0) return append_event_json(out, run, number, key, arrival, decision);
  const auto limit = static_cast<std::size_t>(decision.denied_by) - 1;
  const bool is_known = limit < plan.limits.size();
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("cost", arrival.cost).field("allowed", decision.allowed);
  json.field("remaining", trial::reported(decision.remaining, limiter::kNotTold));
  json.field("retry_after_us", trial::reported(decision.retry_after, limiter::kTimeNotTold));
  json.field("reset_after_us", trial::reported(decision.reset_after, limiter::kTimeNotTold));
  json.field("delay_us", decision.delay).field("request", number);
  json.known_field("denied_by", is_known ? limiter::format_limit(plan.limits[limit]) : "");
  json.end_object();
  out += '\n';
}

}  // namespace rlctl::cli::burst
