#include "base/json.h"

#include <algorithm>
#include <numeric>

#include "base/shell.h"
#include "cli/commands/burst/budgets.h"
#include "cli/commands/burst/holder_search.h"
#include "cli/commands/burst/leases.h"
#include "cli/commands/burst/measures.h"

namespace rlctl::cli::burst {
namespace {

/// An object of this name, whose fields `write` writes, or null.
template <typename Write>
void write_object(JsonWriter& json, std::string_view name, bool is_known, const Write& write) {
  json.name(name);
  if (!is_known) {
    json.null();
    return;
  }
  json.begin_object();
  write();
  json.end_object();
}

// --- Traffic -------------------------------------------------------------------------------------

void write_measures(JsonWriter& json, const MeasureGroup& group, const Run& run) {
  for (const auto& measure : group.measures) {
    if ((measure.outputs & kInJson) == 0) continue;
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
  const auto& share = *report.plan.suggest;
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

void write_own_windows(JsonWriter& json, const Report& report, const Run& run,
                       const traffic::Worst& worst) {
  const auto windows = own_windows(report, run, worst);
  json.name("own_windows");
  if (windows.empty()) {
    json.null();
    return;
  }
  json.begin_array();
  for (const auto& [from, to, units] : windows) {
    json.begin_object().field("from_us", from).field("to_us", to).field("units", units);
    json.end_object();
  }
  json.end_array();
}

void write_worst_keys(JsonWriter& json, const Report& report, const Run& run) {
  json.name("worst_keys").begin_array();
  for (std::size_t i = 0; i < run.worst_keys.size(); ++i) {
    const auto& [worst, denied] = run.outcome.measured.worst_keys[i];
    json.begin_object().bytes_field("key", run.worst_keys[i]).field("allowed", worst.allowed);
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

void write_leases(JsonWriter& json, const Run& run) {
  json.begin_object().field("algorithm", run.name);
  write_measures(json, kCountGroup, run);
  json.name("holding").begin_object();
  write_measures(json, kHoldingGroup, run);
  json.bytes_field("key", run.held_key).end_object();
  json.field("first_denial_us", run.outcome.measured.first_denial);
  json.field("longest_shut_out_us", run.outcome.measured.longest_shut_out);
  write_top_denied(json, run);
  json.field("hint", run.hint).end_object();
}

void write_run(JsonWriter& json, const Report& report, const Run& run) {
  const auto& measured = run.outcome.measured;
  json.begin_object().field("algorithm", run.name);
  write_measures(json, kCountGroup, run);
  json.name(kWorstGroup.name).begin_object();
  write_measures(json, kWorstGroup, run);
  json.bytes_field("key", run.worst_key);
  json.field("limit", limiter::format_limit(report.plan.limits[measured.worst.limit]));
  write_own_windows(json, report, run, measured.worst);
  json.end_object();
  write_worst_keys(json, report, run);
  write_denied_by_limit(json, measured);
  write_measures(json, kMemoryGroup, run);
  write_measures(json, kPaceGroup, run);
  write_measures(json, kDenialGroup, run);
  write_group(json, kRetryGroup, run, true);
  write_group(json, kRemainingGroup, run, measured.remaining_error.compared > 0);
  write_group(json, kResetGroup, run, measured.reset_error.compared > 0);
  write_top_denied(json, run);
  write_group(json, kMinuteGroup, run, measured.worst_minute.has_value());
  write_object(json, "suggestion", run.suggestion.has_value(),
               [&] { write_suggestion(json, report, *run.suggestion); });
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
  json.field("at_end_of_ttl", found ? std::optional(found->at_end_of_ttl) : std::nullopt);
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
    json.field("burst", one.burst).end_object();
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
  json.field("settle_twice", spend.repeat_share).field("crash", spend.crash_share);
}

void write_budget(JsonWriter& json, const Run& run) {
  json.begin_object().field("algorithm", run.name);
  write_measures(json, kCountGroup, run);
  json.name("spending").begin_object();
  write_measures(json, kSpendingGroup, run);
  json.bytes_field("key", run.spent_key).end_object();
  json.field("first_denial_us", run.outcome.measured.first_denial);
  json.field("longest_shut_out_us", run.outcome.measured.longest_shut_out);
  write_top_denied(json, run);
  json.field("hint", run.hint).end_object();
}

void write_traffic(JsonWriter& json, const Report& report) {
  const auto& plan = report.plan;
  json.field("pattern", traffic_name(report)).field("seed", seed_of(report));
  json.field("clock", plan.is_real ? "real" : "virtual");
  if (plan.concurrency) {
    write_lease_plan(json, plan);
    write_object(json, "replay", report.recording != nullptr,
                 [&] { write_recording(json, *report.recording); });
    return;
  }
  if (plan.reserve) {
    write_limits(json, plan);
    write_budget_plan(json, plan);
    write_object(json, "replay", report.recording != nullptr,
                 [&] { write_recording(json, *report.recording); });
    return;
  }
  json.field("clients", plan.is_real ? std::optional(plan.clients) : std::nullopt);
  write_limits(json, plan);
  write_object(json, "replay", report.recording != nullptr,
               [&] { write_recording(json, *report.recording); });
}

// --- Searches ------------------------------------------------------------------------------------

/// What a foreign script may not report.
template <typename Reported>
std::optional<Reported> reported(Reported value, Reported unknown) {
  return value != unknown ? std::optional(value) : std::nullopt;
}

/// The fields of a step, apart from its place.
void write_step(JsonWriter& json, const Plan& plan, const Run& run,
                const adversary::Finding& finding, std::size_t step) {
  const auto at = finding.schedule[step].at;
  const auto cost = finding.schedule[step].cost;
  const auto& answer = finding.answers[step];
  json.field("at_us", at).field("cost", cost).field("allowed", answer.allowed);
  json.field("remaining", reported(answer.remaining, limiter::kNotTold));
  json.field("retry_after_us", reported(answer.retry_after, limiter::kTimeNotTold));
  json.field("delay_us", answer.delay);
  json.known_field("reason", step_reason(run, plan, finding, step));
}

void write_finding(JsonWriter& json, const Plan& plan, const Run& run,
                   const adversary::Finding& finding) {
  const auto& score = finding.score;
  json.name("worst").begin_object().field("allowed", score.worst);
  json.field("ratio", run.search->ratio_of(finding)).field("from_us", score.worst_from);
  json.field("span_us", score.worst_span).end_object().name("wrongly_denied").begin_array();
  for (const auto index : score.wrongly_denied) json.value(index);
  json.end_array().field("denied_at_edge", score.denied_at_edge).name("schedule").begin_array();
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    json.begin_object();
    write_step(json, plan, run, finding, i);
    json.end_object();
  }
  json.end_array();
}

void write_search(JsonWriter& json, const Plan& plan) {
  const auto& limit = plan.limits.front();
  const auto& search = *plan.search;
  const auto& exhaustive = search.exhaustive;
  json.field("pattern", kAdversary);
  json.field("seed", exhaustive ? std::nullopt : std::optional(plan.request.seed));
  json.field("clock", "virtual");
  if (plan.concurrency) {
    json.field("concurrency", limit.limit).field("lease_us", limit.window);
  } else if (plan.reserve) {
    json.field("limit", limit.limit).field("window_us", limit.window);
    json.field("reserve", *plan.reserve).field("hold_us", plan.budget.spend.hold);
  } else {
    json.field("limit", limit.limit).field("window_us", limit.window);
    json.field("burst", limit.burst).field("cost", plan.request.cost).name("costs").begin_array();
    for (const auto cost : plan.costs) json.value(cost);
    json.end_array();
  }
  json.field("tries", exhaustive ? std::nullopt : std::optional(search.tries));
  json.field("exhaustive", exhaustive).field("base_us", search_base(plan));
}

void write_findings(JsonWriter& json, const Plan& plan, const Run& run) {
  const auto& result = run.search->result;
  json.begin_object().field("algorithm", run.name).field("asked", result.requests_sent);
  json.field("tick_us", run.search->tick()).field("unbounded", result.is_unbounded);
  json.field("tried", result.tried).field("undecided", result.undecided);
  json.field("ttls_left_out", result.ttls_left_out);
  json.field("bucket_allows", run.search->bucket_allows);
  const auto& late = run.search->clock_ahead;
  write_object(json, "clock_ahead", late.has_value(), [&] {
    json.field("ahead_us", late->ahead).field("requests", late->answers.size() - 1);
    json.field("allowed", late->allowed).field("allowed_without", late->usual);
  });
  for (const auto& [name, finding] : findings_of(result)) {
    write_object(json, name, finding != nullptr,
                 [&, found = finding] { write_finding(json, plan, run, *found); });
  }
  json.field("hint", run.hint).end_object();
}

}  // namespace

void append_json(std::string& out, const Report& report) {
  const auto& plan = report.plan;
  JsonWriter json(out);
  json.begin_object();
  if (plan.search) {
    write_search(json, plan);
  } else {
    write_traffic(json, report);
  }
  json.field("command", command_line(plan.command)).field("interrupted", report.interrupted);
  json.name("runs").begin_array();
  for (const auto& run : report.runs) {
    if (run.spent) {
      write_budget(json, run);
    } else if (run.held) {
      write_leases(json, run);
    } else if (run.holder_search) {
      write_holder_findings(json, plan, run);
    } else if (run.search) {
      write_findings(json, plan, run);
    } else {
      write_run(json, report, run);
    }
  }
  json.end_array();
  if (tells_difference(report)) {
    write_object(json, "compare", true, [&] { write_difference(json, plan, report.difference); });
  }
  json.end_object();
  out += '\n';
}

void append_decision_json(std::string& out, const Plan& plan, std::string_view run,
                          std::int64_t number, std::string_view key,
                          const traffic::Arrival& arrival, const limiter::Decision& decision) {
  if (traffic::is_of_reservation(arrival.event)) {
    return append_reservation_json(out, run, number, key, arrival, decision);
  }
  if (arrival.holder > 0) return append_event_json(out, run, number, key, arrival, decision);
  const auto limit = static_cast<std::size_t>(decision.denied_by) - 1;
  const bool is_known = limit < plan.limits.size();
  JsonWriter json(out);
  json.begin_object().field("algorithm", run).field("at_us", arrival.at).bytes_field("key", key);
  json.field("cost", arrival.cost).field("allowed", decision.allowed);
  json.field("remaining", reported(decision.remaining, limiter::kNotTold));
  json.field("retry_after_us", reported(decision.retry_after, limiter::kTimeNotTold));
  json.field("reset_after_us", reported(decision.reset_after, limiter::kTimeNotTold));
  json.field("delay_us", decision.delay).field("request", number);
  json.known_field("denied_by", is_known ? limiter::format_limit(plan.limits[limit]) : "");
  json.end_object();
  out += '\n';
}

void append_steps_json(std::string& out, const Report& report) {
  if (has_holders(report.plan)) return append_holder_steps_json(out, report);
  for (const auto& run : report.runs) {
    for (const auto& [name, finding] : findings_of(run.search->result)) {
      for (std::size_t i = 0; finding != nullptr && i < finding->schedule.size(); ++i) {
        const auto& wrong = finding->score.wrongly_denied;
        JsonWriter json(out);
        json.begin_object().field("algorithm", run.name).field("finding", name);
        json.field("request", i + 1);
        write_step(json, report.plan, run, *finding, i);
        json.field("is_wrongly_denied", std::ranges::find(wrong, i) != wrong.end()).end_object();
        out += '\n';
      }
    }
  }
}

}  // namespace rlctl::cli::burst
