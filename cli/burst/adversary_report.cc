#include "cli/burst/adversary_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/burst/text.h"
#include "cli/replay.h"
#include "cli/script_options.h"
#include "cli/term/bars.h"
#include "cli/term/style.h"
#include "cli/term/table.h"
#include "cli/term/text_block.h"
#include "traffic/measurement.h"

namespace rlctl::cli {
namespace {

using adversary::Finding;
using std::chrono::microseconds;

// --- Text ----------------------------------------------------------------------------------------

/// The most instants that a person reads; --json has all.
constexpr std::size_t kMostRows = 20;

/// To the µs, since one may be what a limiter errs by: 59.999999 s is not 60 s.
std::string exact_text(microseconds span) {
  if (span % std::chrono::minutes{1} == microseconds{0}) return span_text(span);
  const auto count = static_cast<double>(span.count());
  if (span < std::chrono::milliseconds{1}) return fmt::format("{} us", span.count());
  if (span < std::chrono::seconds{1}) return fmt::format("{} ms", count / 1e3);
  return fmt::format("{} s", count / 1e6);
}

std::string exact_offset_text(microseconds offset) {
  if (offset == microseconds{0}) return "0";
  return (offset < microseconds{0} ? "-" : "+") + exact_text(std::chrono::abs(offset));
}

std::string times(double ratio, const Look& look) {
  return ratio_text(ratio).append(glyphs(look.utf8).times);
}

void append_header(TextBlock& block, const AdversaryReport& report) {
  block.row("pattern", "adversary", "the schedule that makes a limiter allow the most");
  std::string about = fmt::format("seed {}, a budget of {} requests each", report.plan.request.seed,
                                  *report.plan.adversary_budget);
  if (report.plan.request.cost > 1) about += fmt::format(", cost {}", report.plan.request.cost);
  block.row("limit",
            fmt::format("{} per {}", report.limit().limit, period_text(report.limit().window)),
            about);
  if (report.plan.script) {
    std::string name;
    escape_text(name, report.plan.script->name);
    block.row("script", name, reading_text(*report.plan.script));
  }
  block.row("clock", "virtual time", "latencies not measured");
  if (report.interrupted) {
    block.row("", block.tone("interrupted: what was found by then", Tone::kWarning));
  }
}

/// What was found, in a sentence that begins with a name.
std::string verdict(const Finding& finding, const AdversaryReport& report, const Look& look) {
  const auto ratio = report.ratio_of(finding);
  if (finding.score.worst == 0) return toned("allows nothing", Tone::kBad, look.colour);
  if (ratio <= 1) return toned("never above the limit", Tone::kGood, look.colour);
  return toned(fmt::format("{} the limit: {} within {}", times(ratio, look), finding.score.worst,
                           exact_text(finding.score.worst_span)),
               Tone::kBad, look.colour);
}

/// One row for each instant: what was asked, and what came of it.
void append_schedule(std::string& out, const Finding& finding, const AdversaryReport& report,
                     const Look& look) {
  const auto instants = adversary::instants_of(finding.schedule);
  std::vector<std::string> at, asked, allowed, denied;
  for (const auto& instant : std::span(instants).first(std::min(instants.size(), kMostRows))) {
    const auto answers = std::span(finding.answers).subspan(instant.first, instant.count);
    const auto passed = static_cast<std::size_t>(std::count_if(
        answers.begin(), answers.end(), [](const auto& answer) { return answer.allowed; }));
    at.push_back(exact_offset_text(instant.at - report.base));
    asked.push_back(fmt::to_string(instant.count));
    allowed.push_back(fmt::to_string(passed));
    denied.push_back(fmt::to_string(instant.count - passed));
  }
  Table table;
  table.add("at", std::move(at));
  table.add("requests", std::move(asked));
  table.add("allowed", std::move(allowed));
  table.add("denied", std::move(denied));
  table.append(out, look);
  if (instants.size() > kMostRows) {
    out += fmt::format("  and {} more, which --json has\n", instants.size() - kMostRows);
  }
}

/// The algorithm's own promise, so that its use is not mistaken for a fault.
std::string promise_of(const AdversaryRun& run, const AdversaryReport& report) {
  const auto& algorithm = *run.algorithm;
  std::string text(algorithm.allows_at_most);
  if (algorithm.has_delay && report.limit().limit % report.plan.request.cost != 0) {
    // The first unit of a request may be the last that fits.
    const auto whole =
        (report.limit().limit / report.plan.request.cost + 1) * report.plan.request.cost;
    text += fmt::format("; in whole requests of {}: {}", report.plan.request.cost, whole);
  }
  const auto burst = limiter::effective_burst(algorithm, report.limit());
  if (!burst || algorithm.has_delay) return text;
  // What comes back within less than a window.
  const auto back = std::min(report.limit().limit, report.limit().window.count()) - 1;
  return text + fmt::format(": {} + {}", *burst, back);
}

/// A finding: whose it is, what it shows, on the same line where there is room, and the schedule.
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

/// A row whose text is broken where it is too wide.
void append_sentence(std::string& out, std::string_view label, std::string_view text,
                     const Look& look) {
  std::string lines;
  TextBlock(lines, look).note(text);
  out += toned(label, Tone::kLabel, look.colour);
  pad(out, label.size(), TextBlock::kLabel);
  out.append(lines, TextBlock::kLabel);
}

void append_denied(std::string& out, const AdversaryRun& run, const AdversaryReport& report,
                   const Look& look) {
  if (run.result.wrongly_denied) {
    out += toned("denied what an exact log would allow", Tone::kBad, look.colour) + "\n";
    append_schedule(out, *run.result.wrongly_denied, report, look);
  } else {
    append_sentence(out, "denied", "nothing that an exact log would allow", look);
  }
}

void append_run(std::string& out, const AdversaryRun& run, const AdversaryReport& report,
                const Look& look) {
  const auto& result = run.result;
  std::string name;
  escape_text(name, run.name);
  append_finding(out, toned(name, Tone::kLabel, look.colour), result.most, report, look);
  if (result.is_unbounded) {
    append_sentence(out, "at most", "as many as were asked: no bound was found", look);
  }
  if (run.algorithm != nullptr) append_sentence(out, "at most", promise_of(run, report), look);
  if (result.most_stepping_back) {
    append_finding(out, "by a clock that steps back", *result.most_stepping_back, report, look);
  }
  if (run.algorithm == nullptr || run.algorithm->is_exact) append_denied(out, run, report, look);
  if (run.told_by.empty()) return;
  const auto* unit = run.tick == std::chrono::seconds{1} ? "seconds" : "ms";
  append_sentence(out, "times", fmt::format("in whole {}, as {{{}}} tells them", unit, run.told_by),
                  look);
}

// --- JSON ----------------------------------------------------------------------------------------

void write_finding(JsonWriter& json, std::string_view name, const Finding& finding,
                   const AdversaryReport& report) {
  const auto& score = finding.score;
  json.name(name).begin_object().name("worst").begin_object().field("allowed", score.worst);
  json.field("ratio", report.ratio_of(finding)).field("from_us", score.worst_from);
  json.field("span_us", score.worst_span).end_object().name("wrongly_denied").begin_array();
  for (const auto index : score.wrongly_denied) json.value(index);
  json.end_array().name("schedule").begin_array();
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const auto& answer = finding.answers[i];
    json.begin_object().field("at_us", finding.schedule[i]).field("allowed", answer.allowed);
    json.field("delay_us", answer.delay).end_object();
  }
  json.end_array().end_object();
}

void write_finding(JsonWriter& json, std::string_view name, const std::optional<Finding>& finding,
                   const AdversaryReport& report) {
  if (finding) {
    write_finding(json, name, *finding, report);
  } else {
    json.name(name).null();
  }
}

// --- A log ---------------------------------------------------------------------------------------

/// What is worth replaying: too much allowed, else a wrong denial, else the most that was allowed.
const Finding& telling_finding(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& result = run.result;
  const bool keeps_limit = result.most.score.worst <= report.limit().limit;
  return keeps_limit && result.wrongly_denied ? *result.wrongly_denied : result.most;
}

/// Seconds since 1970, with the digits that it takes.
std::string epoch_text(microseconds at) {
  constexpr std::int64_t kSecond = 1'000'000;
  auto text = fmt::format("{}.{:06}", at.count() / kSecond, at.count() % kSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// A line, or some where the text has line ends.
std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const auto c : text) out += c == '\n' ? "\n# " : std::string(1, c);
  return out + "\n";
}

}  // namespace

void append_adversary_text(std::string& out, const AdversaryReport& report, const Look& look) {
  TextBlock block(out, look);
  append_header(block, report);
  for (const auto& run : report.runs) {
    out += '\n';
    append_run(out, run, report, look);
  }
  append_sentence(out, "times", "from the beginning of a window, " + instant_text(report.base),
                  look);
  out += '\n';
  append_pasteable(out, report.plan.command, look);
}

void append_adversary_json(std::string& out, const AdversaryReport& report) {
  const auto& plan = report.plan;
  const auto& limit = report.limit();
  JsonWriter json(out);
  json.begin_object().field("pattern", kAdversary).field("seed", plan.request.seed);
  json.field("clock", "virtual").field("limit", limit.limit).field("window_us", limit.window);
  json.field("burst", limit.burst).field("cost", plan.request.cost);
  json.field("budget", plan.adversary_budget).field("base_us", report.base);
  json.field("command", command_line(plan.command)).field("interrupted", report.interrupted);
  json.name("runs").begin_array();
  for (const auto& run : report.runs) {
    const auto& result = run.result;
    json.begin_object().field("algorithm", run.name).field("asked", result.asked);
    json.field("tick_us", run.tick).field("unbounded", result.is_unbounded);
    write_finding(json, "most", result.most, report);
    write_finding(json, "most_stepping_back", result.most_stepping_back, report);
    write_finding(json, "wrongly_denied", result.wrongly_denied, report);
    json.end_object();
  }
  json.end_array().end_object();
  out += '\n';
}

std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run,
                         const std::vector<std::string>& replay_command) {
  const auto& finding = telling_finding(report, run);
  auto log =
      comment(command_line(replay_command)) + comment(command_line(report.plan.command)) + "# ";
  escape_text(log, run.name);
  log += fmt::format(": {} allowed within {} us, {} of {} requests denied wrongly\n",
                     finding.score.worst, finding.score.worst_span.count(),
                     finding.score.wrongly_denied.size(), finding.schedule.size());
  for (const auto at : finding.schedule) {
    log += fmt::format("{} 1 {}\n", epoch_text(at), report.plan.request.cost);
  }
  return log;
}

BurstRun as_burst_run(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& finding = run.result.most;
  traffic::Measurement measurement({report.limit()});
  for (std::size_t i = 0; i < finding.schedule.size(); ++i) {
    const limiter::Decision decision{.allowed = finding.answers[i].allowed,
                                     .retry_after = limiter::kNever,
                                     .delay = finding.answers[i].delay};
    measurement.add({.at = finding.schedule[i], .cost = report.plan.request.cost}, decision);
  }
  const auto& back = run.result.most_stepping_back;
  const auto& wrong = run.result.wrongly_denied;
  BurstRun burst{.name = run.name};
  burst.outcome.measured = measurement.result();
  burst.search = {
      .most_stepping_back = report.ratio_of(back ? *back : finding),
      .wrongly_denied = wrong ? static_cast<std::int64_t>(wrong->score.wrongly_denied.size()) : 0};
  return burst;
}

}  // namespace rlctl::cli
