#include "cli/trial/findings.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/time.h"
#include "limiter/algorithm.h"

namespace rlctl::cli::trial {
namespace {

using rlctl::adversary::Finding;

/// The bound that the algorithm guarantees, so that reaching it does not look like a fault.
std::string promise_of(const limiter::Algorithm& algorithm, const Plan& plan) {
  const auto& limit = plan.limits.front();
  const auto& costs = plan.costs;
  std::string text(algorithm.allows_at_most);
  const auto cost = *std::max_element(costs.begin(), costs.end());
  if (algorithm.has_delay && costs.size() > 1) {
    text += fmt::format("; the last unit that fits may be the first of {}: {}", cost,
                        limit.limit - 1 + cost);
  } else if (algorithm.has_delay && limit.limit % cost != 0) {
    // The last unit that fits may be the first unit of a request.
    const auto whole = (limit.limit / cost + 1) * cost;
    text += fmt::format("; in whole requests of {}: {}", cost, whole);
  }
  const auto burst = limiter::effective_burst(algorithm, limit);
  if (!burst || algorithm.has_delay) return text;
  // The units refilled in less than one window.
  const auto back = std::min(limit.limit, limit.window.count()) - 1;
  return text + fmt::format(": {} + {}", *burst, back);
}

/// The verdict on what a search found as a whole.
Text search_verdict(const SearchFindings& search) {
  const auto& result = search.result;
  if (!result.most.schedule.empty()) return finding_verdict(result.most, search);
  return nothing_is_known(result.interrupted ? "interrupted" : "skipped " + left_out_text(result));
}

}  // namespace

std::string rounding_text(const SearchFindings& search) {
  const auto& found = search.result.by_rounding;
  if (!found) return {};
  return fmt::format("{} {}, which a clock of {}, as in {{{}}}, cannot tell from {}",
                     found->score.worst, within_text(found->score.worst_span),
                     exact_text(search.tick()), search.clock->name,
                     exact_text(search.limit.window));
}

std::string left_out_text(const rlctl::adversary::SearchResult& result) {
  std::string text;
  if (result.undecided > 0) {
    text = fmt::format("{} {}", counted(result.undecided, "schedule"), kUndecided);
  }
  if (result.ttls_left_out > 0) {
    text += fmt::format("{}schedules that wait for {} of the TTLs", text.empty() ? "" : ", and ",
                        result.ttls_left_out);
  }
  return text;
}

std::string proof_text(const Plan& plan, const Proof& proof) {
  if (!proof.tried) return {};
  const auto tried = grouped(*proof.tried);
  const auto schedules =
      "of up to " + counted(*plan.search()->exhaustive, has_holders(plan) ? "event" : "request");
  auto text = proof.is_interrupted
                  ? fmt::format("none: interrupted after {} schedules {}", tried, schedules)
              : proof.fails ? fmt::format("the worst of all {} schedules {} at critical times",
                                          tried, schedules)
                            : fmt::format("no schedule {} at critical times {} ({} tried)",
                                          schedules, proof.claim, tried);
  if (proof.undecided == 0) return text;
  return text + fmt::format("; skipped {} of them {}, and all that begin with these",
                            grouped(proof.undecided), kUndecided);
}

Judgement judge_search(const Report& report, const Run& run) {
  const auto& plan = report.plan;
  const auto& search = *run.search();
  const auto& result = search.result;
  const auto number = static_cast<std::size_t>(&run - report.runs.data());
  const auto& candidate = plan.candidates[number];
  Judgement judgement{search_verdict(search)};
  const auto add = [&](std::string_view label, std::string text, bool is_advice = false) {
    if (text.empty()) return;
    judgement.remarks.push_back({{std::string(label), std::move(text)}, is_advice});
  };
  add("hint", run.hint.value_or(""), true);
  add("rounding", rounding_text(search));
  const auto left_out = left_out_text(result);
  const auto proof =
      proof_text(plan, {.tried = result.tried,
                        .undecided = result.undecided,
                        .is_interrupted = result.interrupted,
                        .fails = result.most.score.worst > plan.limits.front().limit,
                        .claim = result.by_rounding ? "leaks, but for rounding" : "leaks"});
  add("proof", proof);
  if (proof.empty() && !left_out.empty()) add("left out", "skipped " + left_out);
  if (result.is_unbounded) add("bound", "as many as were sent: no bound was found");
  if (candidate.is_bundled()) add("promise", promise_of(*candidate.algorithm, plan));
  if (const auto& found = search.clock_ahead) {
    add("ahead", fmt::format("after one request whose clock is {} ahead, {} of {} requests are "
                             "allowed instead of {}",
                             span_text(found->ahead), found->allowed, found->answers.size() - 1,
                             found->usual));
  }
  return judgement;
}

Text finding_verdict(const Finding& finding, const SearchFindings& search) {
  const auto& score = finding.score;
  auto verdict =
      worst_verdict(score.worst, search.ratio_of(finding), within_text(score.worst_span));
  if (search.result.by_rounding && verdict.tone == Tone::kGood)
    verdict.words += ", but for rounding";
  return verdict;
}

}  // namespace rlctl::cli::trial
