#include <algorithm>
#include <optional>

#include "base/shell.h"
#include "cli/commands/adversary/holders.h"
#include "cli/commands/adversary/report.h"
#include "cli/trial/findings.h"
#include "cli/trial/json.h"

namespace rlctl::cli::adversary {
namespace {

using trial::Plan;
using trial::Report;
using trial::reported;
using trial::Run;
using trial::write_object;

/// The fields of a step, apart from its place.
void write_step(JsonWriter& json, const rlctl::adversary::Finding& finding, std::size_t step) {
  const auto at = finding.schedule[step].at;
  const auto cost = finding.schedule[step].cost;
  const auto& answer = finding.answers[step];
  json.field("at_us", at).field("cost", cost).field("allowed", answer.allowed);
  json.field("remaining", reported(answer.remaining, limiter::kNotTold));
  json.field("retry_after_us", reported(answer.retry_after, limiter::kTimeNotTold));
  json.field("delay_us", answer.delay);
}

void write_finding(JsonWriter& json, const Run& run, const rlctl::adversary::Finding& finding) {
  const auto& score = finding.score;
  json.name("worst").begin_object().field("allowed", score.worst);
  json.field("ratio", run.search()->ratio_of(finding)).field("from_us", score.worst_from);
  json.field("span_us", score.worst_span).end_object().name("wrongly_denied").begin_array();
  for (const auto index : score.wrongly_denied) json.value(index);
  json.end_array().field("denied_at_edge", score.denied_at_edge).name("schedule").begin_array();
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    json.begin_object();
    write_step(json, finding, i);
    json.end_object();
  }
  json.end_array();
}

void write_search(JsonWriter& json, const Plan& plan) {
  const auto& limit = plan.limits.front();
  const auto& search = *plan.search();
  const auto& exhaustive = search.exhaustive;
  json.field("pattern", "adversary");
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

void write_findings(JsonWriter& json, const Run& run) {
  const auto& result = run.search()->result;
  json.begin_object().field("algorithm", run.name).field("asked", result.requests_sent);
  json.field("tick_us", run.search()->tick()).field("unbounded", result.is_unbounded);
  json.field("tried", result.tried).field("undecided", result.undecided);
  json.field("ttls_left_out", result.ttls_left_out);
  json.field("bucket_allows", run.search()->bucket_allows);
  const auto& late = run.search()->clock_ahead;
  write_object(json, "clock_ahead", late.has_value(), [&] {
    json.field("ahead_us", late->ahead).field("requests", late->answers.size() - 1);
    json.field("allowed", late->allowed).field("allowed_without", late->usual);
  });
  for (const auto& [name, finding] : trial::findings_of(result)) {
    write_object(json, name, finding != nullptr,
                 [&, found = finding] { write_finding(json, run, *found); });
  }
  json.field("hint", run.hint).end_object();
}

}  // namespace

void write_json(JsonWriter& json, const Report& report) {
  const auto& plan = report.plan;
  write_search(json, plan);
  json.field("command", command_line(plan.command)).field("interrupted", report.interrupted);
  json.name("runs").begin_array();
  for (const auto& run : report.runs) {
    if (run.holder_search() != nullptr) {
      write_holder_findings(json, plan, run);
    } else {
      write_findings(json, run);
    }
  }
  json.end_array();
}

void append_steps_json(std::string& out, const Report& report) {
  if (has_holders(report.plan)) return append_holder_steps_json(out, report);
  for (const auto& run : report.runs) {
    for (const auto& [name, finding] : trial::findings_of(run.search()->result)) {
      for (std::size_t i = 0; finding != nullptr && i < finding->schedule.size(); ++i) {
        const auto& wrong = finding->score.wrongly_denied;
        JsonWriter json(out);
        json.begin_object().field("algorithm", run.name).field("finding", name);
        json.field("request", i + 1);
        write_step(json, *finding, i);
        json.field("is_wrongly_denied", std::ranges::find(wrong, i) != wrong.end()).end_object();
        out += '\n';
      }
    }
  }
}

}  // namespace rlctl::cli::adversary
