#include "cli/commands/burst/adversary_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "adversary/trial.h"
#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/burst/report.h"
#include "cli/options/log_options.h"
#include "cli/options/script_options.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/table.h"
#include "limiter/algorithm.h"
#include "limiter/decision.h"
#include "traffic/outcome.h"

namespace rlctl::cli::burst {
namespace {

using adversary::Finding;
using std::chrono::microseconds;

// --- Text ----------------------------------------------------------------------------------------

/// The most instants in the text report; --json has all of them.
constexpr std::size_t kMaxRows = 20;

constexpr std::string_view kUnbounded = "as many as were sent: no bound was found";

/// "within 20 ms"
std::string within_text(microseconds span) {
  return span == microseconds{0} ? "at one instant" : "within " + exact_text(span);
}

std::string times(double ratio, const Look& look) {
  return ratio_text(ratio).append(glyphs(look.utf8).times);
}

void append_header(TextBlock& block, const AdversaryReport& report) {
  block.row("pattern", kAdversary, kSearchSummary);
  const auto& search = report.search();
  auto about = search.exhaustive ? fmt::format("every schedule of up to {} at critical times",
                                               counted(*search.exhaustive, "request"))
                                 : fmt::format("seed {}, a budget of {} requests each",
                                               report.plan.request.seed, search.budget);
  if (search.costs.size() > 1 || search.costs.front() > 1) {
    about += fmt::format(", cost {}", fmt::join(search.costs, ", "));
  }
  block.row("limit",
            fmt::format("{} per {}", report.limit().limit, period_text(report.limit().window)),
            about);
  append_script_rows(block, report.plan);
  append_virtual_clock(block);
  if (report.interrupted) {
    block.row("", block.tone("interrupted: shows the findings so far", Tone::kWarning));
  }
}

/// The verdict on a finding; the caller prints the title before it.
std::string verdict(const Finding& finding, const AdversaryReport& report, const Look& look) {
  const auto ratio = report.ratio_of(finding);
  if (const auto kept = verdict_within_limit(finding.score.worst, ratio)) {
    return toned(kept->text, kept->tone, look.colour);
  }
  return toned(fmt::format("{} the limit: {} {}", times(ratio, look), finding.score.worst,
                           within_text(finding.score.worst_span)),
               Tone::kBad, look.colour);
}

/// One row per instant: its requests, and how many were allowed and denied.
void append_schedule(std::string& out, const Finding& finding, const AdversaryReport& report,
                     const Look& look) {
  const auto instants = adversary::instants_of(finding.schedule);
  std::vector<std::string> at, cost, asked, allowed, denied;
  for (const auto& instant : std::span(instants).first(std::min(instants.size(), kMaxRows))) {
    const auto answers = std::span(finding.answers).subspan(instant.first, instant.count);
    const auto passed = static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(), [](const auto& answer) { return answer.allowed; }));
    at.push_back(exact_offset_text(instant.at - report.base));
    cost.push_back(fmt::to_string(instant.cost));
    asked.push_back(fmt::to_string(instant.count));
    allowed.push_back(fmt::to_string(passed));
    denied.push_back(fmt::to_string(instant.count - passed));
  }
  Table table;
  table.add("at", std::move(at));
  if (report.search().costs.size() > 1) table.add("cost", std::move(cost));
  table.add("requests", std::move(asked));
  table.add("allowed", std::move(allowed));
  table.add("denied", std::move(denied));
  table.append(out, look);
  if (instants.size() > kMaxRows) {
    out += fmt::format("  and {} more; --json lists all\n", instants.size() - kMaxRows);
  }
}

/// The bound that the algorithm guarantees, so that reaching it does not look like a fault.
std::string promise_of(const AdversaryRun& run, const AdversaryReport& report) {
  const auto& algorithm = *run.candidate->algorithm;
  std::string text(algorithm.allows_at_most);
  const auto cost = report.largest_cost();
  if (algorithm.has_delay && report.search().costs.size() > 1) {
    text += fmt::format("; the last unit that fits may be the first of {}: {}", cost,
                        report.limit().limit - 1 + cost);
  } else if (algorithm.has_delay && report.limit().limit % cost != 0) {
    // The last unit that fits may be the first unit of a request.
    const auto whole = (report.limit().limit / cost + 1) * cost;
    text += fmt::format("; in whole requests of {}: {}", cost, whole);
  }
  const auto burst = limiter::effective_burst(algorithm, report.limit());
  if (!burst || algorithm.has_delay) return text;
  // The units refilled in less than one window.
  const auto back = std::min(report.limit().limit, report.limit().window.count()) - 1;
  return text + fmt::format(": {} + {}", *burst, back);
}

/// A finding: the title, the verdict on the same line if there is room, and the schedule.
void append_finding(std::string& out, const std::string& title, const Finding& finding,
                    const AdversaryReport& report, const Look& look) {
  const auto line = title + "  " + verdict(finding, report, look);
  if (display_width(line) <= look.columns) {
    out.append(line).append("\n");
  } else {
    out.append(title).append("\n");
    TextBlock(out, look).item(verdict(finding, report, look));
  }
  append_schedule(out, finding, report, look);
}

/// If the schedule shows no more than the rounding of the time that the script gets: how to leave
/// it out. Otherwise empty.
std::string rounding_text(const AdversaryRun& run, const AdversaryReport& report) {
  const auto& score = run.result.most.score;
  if (run.rounded_by == nullptr || score.worst <= report.limit().limit) return {};
  const auto tick = run.rounded_by->tick;
  if (report.limit().window - score.worst_span >= tick) return {};
  const auto& beyond = run.result.beyond_rounding;
  return fmt::format(
      "{} only in windows within {} of a full one, which {{{}}} rounds off; --tick {} ignores it{}",
      beyond ? "this many appear" : "the excess appears", exact_text(tick), run.rounded_by->name,
      format_duration(tick),
      beyond ? fmt::format(" ({} remain {})", beyond->worst, within_text(beyond->worst_span))
             : std::string());
}

void append_denied(std::string& out, const AdversaryRun& run, const AdversaryReport& report,
                   const Look& look) {
  if (const auto& wrong = run.result.wrongly_denied) {
    const bool is_minor = wrong->score.only_at_edge();
    const bool is_back = adversary::steps_back(wrong->schedule);
    std::string title =
        is_minor ? "denied exactly one window after" : "denied what an exact log would allow";
    if (is_minor && !is_back) title += ", where an exact log would allow";
    if (is_back) title += ", by a clock that steps back";
    out += toned(title, is_minor ? Tone::kWarning : Tone::kBad, look.colour) + "\n";
    append_schedule(out, *wrong, report, look);
    if (is_minor) {
      append_sentence(out, "edge",
                      "the limiter denies exactly one window after a unit, where an exact log "
                      "allows, and not a moment later: it compares with > instead of >=, or it "
                      "rounds; no other denial differs",
                      look);
    }
  } else {
    append_sentence(out, "denied",
                    run.result.interrupted ? "so far nothing that an exact log would allow"
                                           : "nothing that an exact log would allow",
                    look);
  }
}

/// What an exhaustive search has proved, and for which schedules. Empty after another search.
std::string proof_text(const AdversaryRun& run, const AdversaryReport& report) {
  const auto& result = run.result;
  if (!result.tried) return {};
  const auto tried = *result.tried, undecided = result.undecided;
  const auto requests = counted(*report.search().exhaustive, "request");
  std::string text;
  if (result.interrupted) {
    text =
        fmt::format("none: interrupted after {} schedules of up to {}", grouped(tried), requests);
  } else if (result.most.score.worst > report.limit().limit) {
    text = fmt::format("the worst of all {} schedules of up to {} at critical times",
                       grouped(tried), requests);
  } else {
    text = fmt::format("no schedule of up to {} at critical times leaks ({} tried)", requests,
                       grouped(tried));
  }
  if (undecided == 0) return text;
  return text + fmt::format("; {} of them are left out, and so are all that begin with them: {}",
                            grouped(undecided), kUndecided);
}

void append_run(std::string& out, const AdversaryRun& run, const AdversaryReport& report,
                const Look& look) {
  const auto& result = run.result;
  const auto* algorithm = run.candidate->algorithm;
  append_finding(out, toned(escaped_text(name_of(*run.candidate)), Tone::kLabel, look.colour),
                 result.most, report, look);
  if (run.hint) append_sentence(out, "hint", *run.hint, look);
  if (const auto text = rounding_text(run, report); !text.empty()) {
    append_sentence(out, "rounding", text, look);
  }
  if (const auto text = proof_text(run, report); !text.empty()) {
    append_sentence(out, "proof", text, look);
  } else if (result.undecided > 0) {
    append_sentence(out, "left out",
                    fmt::format("{}: {}", counted(result.undecided, "schedule"), kUndecided), look);
  }
  if (result.is_unbounded) {
    append_sentence(out, "at most", kUnbounded, look);
  }
  if (algorithm != nullptr) append_sentence(out, "at most", promise_of(run, report), look);
  if (result.most_stepping_back) {
    append_finding(out, "by a clock that steps back", *result.most_stepping_back, report, look);
  }
  if (algorithm == nullptr || algorithm->is_exact) append_denied(out, run, report, look);
}

/// The times that an exhaustive search tries.
std::string critical_text(const AdversaryReport& report) {
  const auto tick = exact_text(report.search().tick);
  return fmt::format(
      "the time of the previous request; {} later; 1/4, 1/2 and 3/4 of a window later; and {} "
      "before, "
      "at, and {} after the next edge of the clock's windows and one window after each earlier "
      "request",
      tick, tick, tick);
}

// --- JSON ----------------------------------------------------------------------------------------

void write_finding(JsonWriter& json, std::string_view name, const std::optional<Finding>& finding,
                   const AdversaryReport& report) {
  json.name(name);
  if (!finding) {
    json.null();
    return;
  }
  const auto& score = finding->score;
  json.begin_object().name("worst").begin_object().field("allowed", score.worst);
  json.field("ratio", report.ratio_of(*finding)).field("from_us", score.worst_from);
  json.field("span_us", score.worst_span).end_object().name("wrongly_denied").begin_array();
  for (const auto index : score.wrongly_denied) json.value(index);
  json.end_array().field("denied_at_edge", score.denied_at_edge).name("schedule").begin_array();
  for (std::size_t i = 0; i < finding->schedule.size(); ++i) {
    const auto& [at, cost] = finding->schedule[i];
    const auto& answer = finding->answers[i];
    json.begin_object().field("at_us", at).field("cost", cost).field("allowed", answer.allowed);
    json.field("delay_us", answer.delay).end_object();
  }
  json.end_array().end_object();
}

// --- A log ---------------------------------------------------------------------------------------

/// The finding worth replaying: too much allowed, else a wrong denial, else the most allowed. A
/// replay sorts requests by time, so that it cannot show what needs a clock that steps back.
const Finding& finding_to_replay(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& most = run.result.most;
  const auto& wrong = run.result.wrongly_denied;
  const bool keeps_limit = most.score.worst <= report.limit().limit;
  return keeps_limit && wrong && !adversary::steps_back(wrong->schedule) ? *wrong : most;
}

/// The most that was allowed by any clock, see SearchFindings::most_stepping_back.
std::optional<double> most_by_any_clock(const AdversaryReport& report,
                                        const adversary::SearchResult& result) {
  if (!result.has_stepped_back) return std::nullopt;
  return report.ratio_of(result.most_stepping_back.value_or(result.most));
}

/// Turns each line of the text into a comment.
std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const auto c : text) out += c == '\n' ? "\n# " : std::string(1, c);
  return out + "\n";
}

}  // namespace

void append_adversary_text(std::string& all, const AdversaryReport& report, const Look& look) {
  std::string out;
  TextBlock block(out, look);
  append_header(block, report);
  for (const auto& run : report.runs) {
    out += '\n';
    append_run(out, run, report, look);
  }
  auto times = window_origin_text(report.base);
  const auto tick = report.search().tick;
  if (tick > microseconds{1}) times += "; multiples of " + exact_text(tick);
  append_sentence(out, "times", times, look);
  if (report.search().exhaustive) append_sentence(out, "critical", critical_text(report), look);
  out += '\n';
  append_pasteable(out, report.plan.command, look);
  all += without_micro_sign(std::move(out), look.utf8);
}

void append_adversary_json(std::string& out, const AdversaryReport& report) {
  const auto& plan = report.plan;
  const auto& limit = report.limit();
  const auto& exhaustive = report.search().exhaustive;
  JsonWriter json(out);
  json.begin_object().field("pattern", kAdversary);
  json.field("seed", exhaustive ? std::nullopt : std::optional(plan.request.seed));
  json.field("clock", "virtual").field("limit", limit.limit).field("window_us", limit.window);
  json.field("burst", limit.burst).field("cost", plan.request.cost).name("costs").begin_array();
  for (const auto cost : report.search().costs) json.value(cost);
  json.end_array();
  json.field("budget", exhaustive ? std::nullopt : std::optional(report.search().budget));
  json.field("exhaustive", exhaustive).field("base_us", report.base);
  json.field("command", command_line(plan.command)).field("interrupted", report.interrupted);
  json.name("runs").begin_array();
  for (const auto& run : report.runs) {
    const auto& result = run.result;
    json.begin_object().field("algorithm", name_of(*run.candidate)).field("asked", result.asked);
    json.field("tick_us", report.search().tick).field("unbounded", result.is_unbounded);
    json.field("tried", result.tried).field("undecided", result.undecided);
    write_finding(json, "most", result.most, report);
    write_finding(json, "most_stepping_back", result.most_stepping_back, report);
    write_finding(json, "wrongly_denied", result.wrongly_denied, report);
    json.field("hint", run.hint).end_object();
  }
  json.end_array().end_object();
  out += '\n';
}

std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& finding = finding_to_replay(report, run);
  auto log = comment(command_line(report.plan.replay_command)) +
             comment(command_line(report.plan.command));
  log += fmt::format("# {}: {} allowed {}, {} of {} requests wrongly denied\n",
                     escaped_text(name_of(*run.candidate)), finding.score.worst,
                     within_text(finding.score.worst_span), finding.score.wrongly_denied.size(),
                     finding.schedule.size());
  for (const auto& [at, cost] : finding.schedule) {
    log += fmt::format("{} 1 {}\n", decimal_seconds(at), cost);
  }
  return log;
}

Run as_run(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& finding = run.result.most;
  std::int64_t highest_cost = 1;
  bool has_refunds = false;
  const traffic::OnDecision no_callback;
  traffic::OutcomeRecorder recorder({report.limit()}, no_callback, false, report.base);
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const limiter::Decision decision{.allowed = finding.answers[i].allowed,
                                     .remaining = limiter::kNotTold,
                                     .retry_after = limiter::kTimeNotTold,
                                     .reset_after = limiter::kTimeNotTold,
                                     .delay = finding.answers[i].delay};
    const auto& [at, cost] = finding.schedule[i];
    has_refunds |= cost < 0;
    highest_cost = std::max(highest_cost, cost);
    if (cost > 0) recorder.add({.at = at, .cost = cost}, decision);
  }
  const auto& wrong = run.result.wrongly_denied;
  Run burst{.name = std::string(name_of(*run.candidate))};
  burst.outcome = recorder.finish();
  // The measurement knows no refunds.
  if (!has_refunds) burst.why = why_of(*run.candidate, burst.outcome.measured, highest_cost, true);
  if (run.result.is_unbounded) burst.why = kUnbounded;
  burst.outcome.measured.worst.allowed = finding.score.worst;
  burst.outcome.measured.worst.from = finding.score.worst_from;
  burst.outcome.measured.worst.span = finding.score.worst_span;
  burst.outcome.measured.worst.ratio = report.ratio_of(finding);
  burst.outcome.replies = run.replies;
  burst.verdict = verdict(finding, report, {.utf8 = true});
  burst.search = {
      .most_stepping_back = most_by_any_clock(report, run.result),
      .wrongly_denied = wrong ? static_cast<std::int64_t>(wrong->score.wrongly_denied.size()) : 0,
      .tried = run.result.tried,
      .undecided = run.result.undecided,
      .has_refunds = has_refunds};
  return burst;
}

}  // namespace rlctl::cli::burst
