#include "cli/trial/wording.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/trial/findings.h"
#include "cli/trial/holder_report.h"

namespace rlctl::cli::trial {
namespace {

/// "100 per 10 s and 1000 per hour", "3 leases of 5 s"
std::string limits_text(const Plan& plan) {
  if (plan.concurrency) return leases_text(plan);
  std::string out;
  for (const auto& limit : plan.limits) {
    if (!out.empty()) out += " and ";
    out += fmt::format("{} per {}", limit.limit, window_text(limit));
  }
  return out;
}

/// Whether each limiter got all of its requests, so that an interrupt cost the confirmation alone.
bool is_whole(const Report& report) {
  return !report.failed && report.runs.size() == report.plan.candidates.size() &&
         std::ranges::none_of(report.runs, [](const Run& run) { return run.outcome.interrupted; });
}

/// What a report lacks that was ended early.
std::string ended_text(const Report& report) {
  const std::string how = report.failed ? "ended by an error: " : "interrupted: ";
  if (report.plan.search() != nullptr) return how + "shows the findings so far";
  return how + (report.failed ? "covers the decisions before it" : "covers the beginning only");
}

std::string traffic_text(const Report& report) {
  const auto& plan = report.plan;
  if (plan.search() && plan.concurrency) {
    return "the schedule that holds too many leases, or loses a slot";
  }
  if (plan.search() && plan.reserve) {
    return "the schedule that spends and holds too much, or loses units";
  }
  if (plan.search()) return "the schedule that makes a limiter allow the most";
  const auto& rate = plan.request.rate;
  if (rate) return fmt::format("{} {}", rate_text(*rate), plan.pattern()->rate);
  return std::string(plan.pattern()->summary);
}

void add_limiters(std::vector<HeadFact>& facts, const Plan& plan) {
  for (const auto& candidate : plan.candidates) {
    if (const auto& script = candidate.foreign) {
      facts.push_back(
          {{"script", escaped_message(script->name), {reading_text(*script)}}, Pictured::kNothing});
    } else if (const auto& program = candidate.program) {
      facts.push_back({{"program", escaped_message(program->name), {command_line(program->words)}},
                       Pictured::kNothing});
    }
  }
}

}  // namespace

Document begin_document(const Report& report, std::vector<HeadFact> traffic,
                        const std::string& about) {
  const auto& plan = report.plan;
  Document document{.title = fmt::format("{}: {}", traffic_name(report), limits_text(plan)),
                    .facts = std::move(traffic),
                    .command = plan.command};
  auto& facts = document.facts;
  auto beside = about;
  if (plan.concurrency) beside = plan.search() ? "" : holds_text(plan);
  facts.push_back({{"limit", limits_text(plan), {beside}}, Pictured::kAbout});
  if (plan.concurrency && !about.empty()) facts.push_back({{"", about}});
  if (plan.reserve) facts.push_back({{"units", reservations_text(plan)}});
  add_limiters(facts, plan);
  facts.push_back({{"clock", plan.is_real() ? "real time" : "virtual time"}});
  if (report.interrupted && !is_whole(report)) {
    facts.push_back({{"", Text(ended_text(report), Tone::kWarning)}});
  }
  return document;
}

HeadFact traffic_fact(const Report& report) {
  return {{"pattern", traffic_name(report), {traffic_text(report)}}, Pictured::kAbout};
}

Fact confirmation_fact(const Report& report) {
  const auto& [server, why_not, requests, is_part] = *report.confirmation;
  if (!why_not.empty()) {
    return {
        "server", Text("not confirmed on a server", Tone::kWarning), {escaped_message(why_not)}};
  }
  return {"server",
          "confirmed on " + server,
          {fmt::format("{}{} decided alike", is_part ? "the first " : "",
                       counted(requests, "request"))}};
}

std::string shown_name(const Run& run) {
  return escaped_message(run.name);
}

Text worst_verdict(std::int64_t allowed, double ratio, const std::string& within,
                   const std::string& key) {
  if (allowed == 0) return {kAllowsNothing, Tone::kBad};
  if (ratio <= 1) {
    return {"never above the limit" + (key.empty() ? "" : "; closest: key " + key), Tone::kGood};
  }
  return {fmt::format("{}× the limit{}: {} {}", ratio_text(ratio),
                      key.empty() ? "" : " of key " + key, allowed, within),
          Tone::kBad};
}

Text nothing_is_known(const std::string& why) {
  return {"nothing is known: " + why, Tone::kWarning};
}

Judgement judge(const Report& report, const Run& run) {
  if (run.holders()) return judge_holders(report, run);
  if (run.search()) return judge_search(report, run);
  constexpr std::size_t kLongestKey = 48;  // an IPv6 address, a UUID
  const auto& measured = run.outcome.measured;
  const auto& worst = measured.worst;
  const bool has_keys = traffic_keys(report) > 1;
  Judgement judgement{worst_verdict(
      worst.allowed, worst.ratio, within_text(worst.span, span_text),
      has_keys ? without_middle(escaped_message(run.worst_key()), kLongestKey, "...") : "")};
  auto& remarks = judgement.remarks;
  if (run.why) remarks.push_back({{std::string(kWhy), *run.why}});
  // A user's limiter that kept the limit under one traffic may not keep it under another.
  if (!run.is_bundled && measured.allowed > 0 && worst.ratio <= 1) {
    remarks.push_back({{"note",
                        "never above the limit with this traffic; adversary searches for traffic "
                        "that gets more through"},
                       true});
  }
  if (run.hint) remarks.push_back({{"hint", *run.hint}, true});
  return judgement;
}

std::vector<Judgement> judge_runs(const Report& report) {
  std::vector<Judgement> judgements;
  for (const auto& run : report.runs) judgements.push_back(judge(report, run));
  return judgements;
}

Heading heading_of(const Run& run, const Judgement& judgement) {
  return {{shown_name(run), Tone::kLabel}, judgement.verdict};
}

}  // namespace rlctl::cli::trial
