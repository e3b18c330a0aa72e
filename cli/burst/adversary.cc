#include "cli/burst/adversary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/burst/server.h"
#include "cli/burst/text.h"
#include "cli/failure.h"
#include "cli/replay.h"
#include "cli/script_options.h"
#include "cli/term/bars.h"
#include "cli/term/output.h"
#include "cli/term/progress.h"
#include "cli/term/table.h"
#include "cli/term/terminal.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "traffic/measurement.h"
#include "traffic/script.h"

namespace rlctl::cli {
namespace {

using adversary::Finding;
using std::chrono::microseconds;

/// The result of the search against one limiter.
struct AdversaryRun {
  const traffic::Candidate* candidate = nullptr;  ///< of the plan
  /// The placeholder that gives a foreign script a rounded time; null if the script gets µs.
  const traffic::Placeholder* told_by = nullptr;
  adversary::SearchResult result = {};

  /// Request times are multiples of this.
  [[nodiscard]] microseconds tick() const {
    return told_by != nullptr ? told_by->tick : microseconds{1};
  }
};

/// The results of `rlctl burst adversary`, for every output format.
struct AdversaryReport {
  const BurstPlan& plan;
  microseconds base{0};                 ///< the origin of all times: the start of a window
  std::vector<AdversaryRun> runs = {};  ///< in the order of the candidates
  bool interrupted = false;             ///< the last search is incomplete, or some are missing

  [[nodiscard]] const limiter::Limit& limit() const { return plan.limits.front(); }
  /// The units in a finding's worst window, as a multiple of the limit.
  [[nodiscard]] double ratio_of(const Finding& finding) const {
    return static_cast<double>(finding.score.worst) / static_cast<double>(limit().limit);
  }
};

// --- Text ----------------------------------------------------------------------------------------

/// The most instants in the text report; --json has all of them.
constexpr std::size_t kMostRows = 20;

/// Exact to the µs, since a limiter may be off by one: 59.999999 s is not 60 s.
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
    block.row("script", escaped_text(report.plan.script->name), reading_text(*report.plan.script));
  }
  block.row("clock", "virtual time", "latencies not measured");
  if (report.interrupted) {
    block.row("", block.tone("interrupted: shows the findings so far", Tone::kWarning));
  }
}

/// The verdict on a finding; the caller prints the title before it.
std::string verdict(const Finding& finding, const AdversaryReport& report, const Look& look) {
  const auto ratio = report.ratio_of(finding);
  if (finding.score.worst == 0) return toned("allows nothing", Tone::kBad, look.colour);
  if (ratio <= 1) return toned("never above the limit", Tone::kGood, look.colour);
  return toned(fmt::format("{} the limit: {} within {}", times(ratio, look), finding.score.worst,
                           exact_text(finding.score.worst_span)),
               Tone::kBad, look.colour);
}

/// One row per instant: its requests, and how many were allowed and denied.
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
    out += fmt::format("  and {} more; --json lists all\n", instants.size() - kMostRows);
  }
}

/// The bound that the algorithm guarantees, so that reaching it does not look like a fault.
std::string promise_of(const AdversaryRun& run, const AdversaryReport& report) {
  const auto& algorithm = *run.candidate->algorithm;
  std::string text(algorithm.allows_at_most);
  if (algorithm.has_delay && report.limit().limit % report.plan.request.cost != 0) {
    // The last unit that fits may be the first unit of a request.
    const auto whole =
        (report.limit().limit / report.plan.request.cost + 1) * report.plan.request.cost;
    text += fmt::format("; in whole requests of {}: {}", report.plan.request.cost, whole);
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

/// A row whose text is wrapped if it is too wide.
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
  const auto* algorithm = run.candidate->algorithm;
  append_finding(out, toned(escaped_text(name_of(*run.candidate)), Tone::kLabel, look.colour),
                 result.most, report, look);
  if (result.is_unbounded) {
    append_sentence(out, "at most", "as many as were sent: no bound was found", look);
  }
  if (algorithm != nullptr) append_sentence(out, "at most", promise_of(run, report), look);
  if (result.most_stepping_back) {
    append_finding(out, "by a clock that steps back", *result.most_stepping_back, report, look);
  }
  if (algorithm == nullptr || algorithm->is_exact) append_denied(out, run, report, look);
  if (run.told_by == nullptr) return;
  const auto* unit = run.tick() == std::chrono::seconds{1} ? "seconds" : "ms";
  append_sentence(out, "times",
                  fmt::format("in whole {}, as {{{}}} gives them", unit, run.told_by->name), look);
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
  json.end_array().name("schedule").begin_array();
  for (std::size_t i = 0; i < finding->schedule.size(); ++i) {
    const auto& answer = finding->answers[i];
    json.begin_object().field("at_us", finding->schedule[i]).field("allowed", answer.allowed);
    json.field("delay_us", answer.delay).end_object();
  }
  json.end_array().end_object();
}

// --- A log ---------------------------------------------------------------------------------------

/// The finding worth replaying: too much allowed, else a wrong denial, else the most allowed.
const Finding& telling_finding(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& result = run.result;
  const bool keeps_limit = result.most.score.worst <= report.limit().limit;
  return keeps_limit && result.wrongly_denied ? *result.wrongly_denied : result.most;
}

/// Seconds since 1970, with as many decimals as needed.
std::string epoch_text(microseconds at) {
  constexpr std::int64_t kSecond = 1'000'000;
  auto text = fmt::format("{}.{:06}", at.count() / kSecond, at.count() % kSecond);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.back() == '.') text.pop_back();
  return text;
}

/// Turns each line of the text into a comment.
std::string comment(const std::string& text) {
  std::string out = "# ";
  for (const auto c : text) out += c == '\n' ? "\n# " : std::string(1, c);
  return out + "\n";
}

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
    json.begin_object().field("algorithm", name_of(*run.candidate)).field("asked", result.asked);
    json.field("tick_us", run.tick()).field("unbounded", result.is_unbounded);
    write_finding(json, "most", result.most, report);
    write_finding(json, "most_stepping_back", result.most_stepping_back, report);
    write_finding(json, "wrongly_denied", result.wrongly_denied, report);
    json.end_object();
  }
  json.end_array().end_object();
  out += '\n';
}

/// The telling finding of a run as a log for --replay, with `time key cost` on each line. The log
/// begins with the command that replays it.
std::string schedule_log(const AdversaryReport& report, const AdversaryRun& run) {
  const auto& finding = telling_finding(report, run);
  auto log = comment(command_line(report.plan.replay_command)) +
             comment(command_line(report.plan.command));
  log += fmt::format("# {}: {} allowed within {} us, {} of {} requests denied wrongly\n",
                     escaped_text(name_of(*run.candidate)), finding.score.worst,
                     finding.score.worst_span.count(), finding.score.wrongly_denied.size(),
                     finding.schedule.size());
  for (const auto at : finding.schedule) {
    log += fmt::format("{} 1 {}\n", epoch_text(at), report.plan.request.cost);
  }
  return log;
}

/// A run's findings in the form of measured traffic, for assertions to check.
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
  BurstRun burst{.name = std::string(name_of(*run.candidate))};
  burst.outcome.measured = measurement.result();
  burst.search = {
      .most_stepping_back = report.ratio_of(back ? *back : finding),
      .wrongly_denied = wrong ? static_cast<std::int64_t>(wrong->score.wrongly_denied.size()) : 0};
  return burst;
}

// --- The search ----------------------------------------------------------------------------------

/// Searches use times in a future year, so that a key that a script expires at a time of the
/// schedule outlives the search.
constexpr microseconds kYearToCome{
    std::chrono::sys_days{std::chrono::year{2050} / 1 / 1}.time_since_epoch()};

/// The placeholder that gives a script a rounded time. Null if the script gets the time in µs, or
/// if the window is shorter than the rounding unit.
const traffic::Placeholder* rounding_of(const traffic::Candidate& candidate) {
  if (!candidate.foreign) return nullptr;
  const auto* told = coarsest_time(*candidate.foreign);
  const bool makes_sense = told != nullptr && told->tick <= candidate.limits.front().window;
  return makes_sense ? told : nullptr;
}

/// A multiple of the window and of every tick.
microseconds base_for(const BurstPlan& plan) {
  auto step = plan.limits.front().window.count();
  for (const auto& candidate : plan.candidates) {
    if (const auto* told = rounding_of(candidate)) step = std::lcm(step, told->tick.count());
  }
  return microseconds{(kYearToCome.count() + step - 1) / step * step};
}

/// Runs the searches of a report's plan.
class AdversarySession {
 public:
  AdversarySession(AdversaryReport& report, Invocation& invocation, bool shows_progress)
      : report_(report), plan_(report.plan), invocation_(invocation), progress_(shows_progress) {
    if (!plan_.model) server_ = std::make_unique<BurstServer>(invocation, plan_.candidates);
  }

  /// Appends the runs to the report.
  void run() {
    for (const auto& candidate : plan_.candidates) {
      AdversaryRun run{.candidate = &candidate, .told_by = rounding_of(candidate)};
      run.result = plan_.model ? search_model(run) : search_script(run);
      report_.interrupted = run.result.interrupted;
      report_.runs.push_back(std::move(run));
      if (report_.interrupted) return;
    }
  }

 private:
  [[nodiscard]] adversary::SearchResult search(adversary::Trial& trial, const AdversaryRun& run) {
    const auto done = static_cast<double>(report_.runs.size());
    const auto runs = static_cast<double>(plan_.candidates.size());
    const auto on_progress = [&](std::int64_t asked, std::int64_t of, std::int64_t worst) {
      const auto share = static_cast<double>(asked) / static_cast<double>(of);
      progress_.update(
          (done + std::min(share, 1.0)) / runs,
          fmt::format("{} requests; {}: {} within a window", static_cast<std::int64_t>(runs) * of,
                      name_of(*run.candidate), worst));
    };
    return adversary::search(trial,
                             {.limit = report_.limit(),
                              .cost = plan_.request.cost,
                              .budget = *plan_.adversary_budget,
                              .seed = plan_.request.seed,
                              .base = report_.base,
                              .tick = run.tick()},
                             invocation_.interrupt, on_progress);
  }

  [[nodiscard]] adversary::SearchResult search_script(const AdversaryRun& run) {
    using State = adversary::Preconditions::State;
    constexpr microseconds kTolerance{20'000};
    const auto& candidate = *run.candidate;
    const adversary::TrialKeys keys;
    const auto prefix = server_->next_prefix();
    const auto script = traffic::make_script(candidate, keys, prefix);
    const Cleaning cleaning(*server_, candidate, *script);
    auto& connection = server_->connections(1).front();
    // The bundled scripts keep all of their state in their KEYS.
    adversary::Preconditions preconditions;
    if (candidate.foreign) {
      preconditions = {.state = server_->is_private() ? State::kOwnServer : State::kUnderPrefix,
                       .ttl_tolerance = std::min(kTolerance, plan_.limits.front().window / 10),
                       .prefix = prefix};
    }
    adversary::ScriptTrial trial(connection, *script, plan_.request.cost, preconditions);
    return search(trial, run);
  }

  [[nodiscard]] adversary::SearchResult search_model(const AdversaryRun& run) {
    adversary::ModelTrial trial(*run.candidate, plan_.request.cost);
    return search(trial, run);
  }

  AdversaryReport& report_;
  const BurstPlan& plan_;
  Invocation& invocation_;
  Progress progress_;
  std::unique_ptr<BurstServer> server_;  ///< null with --model
};

Destination open_log(const BurstPlan& plan, const BurstOptions& options, Invocation& invocation) {
  if (options.write && plan.candidates.size() > 1) {
    throw UsageError(fmt::format("--write requires one limiter, not {}", plan.candidates.size()),
                     "name one with --algorithm");
  }
  if (options.write == "-" && invocation.json) {
    throw UsageError("standard output is asked for more than once",
                     "use --json, or --write to another file");
  }
  return {"--write", options.write, invocation.out};
}

}  // namespace

ExitStatus run_adversary(const BurstPlan& plan, const BurstOptions& options,
                         const std::vector<Assertion>& assertions, Invocation& invocation) {
  auto log = open_log(plan, options, invocation);
  const bool shows_progress = !options.quiet && is_terminal(STDERR_FILENO);
  AdversaryReport report{.plan = plan, .base = base_for(plan)};
  try {
    AdversarySession(report, invocation, shows_progress).run();
  } catch (const std::exception&) {
    // After Ctrl-C, stopping the search may have caused the error.
    if (invocation.interrupt.signal() == 0) throw;
    report.interrupted = true;
  }
  if (!report.interrupted) {
    log.write(schedule_log(report, report.runs.front()));
    log.commit();
  }
  if (!options.quiet && !log.to_stdout()) {
    auto& out = invocation.out;
    if (invocation.json) {
      append_adversary_json(out.buffer(), report);
    } else {
      append_adversary_text(out.buffer(), report, look_of(out.fd()));
    }
    out.flush();
  }
  // After Ctrl-C no assertion is checked: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  std::vector<BurstRun> runs;
  for (const auto& run : report.runs) runs.push_back(as_burst_run(report, run));
  return tell_failures(failures_of(assertions, runs), invocation);
}

}  // namespace rlctl::cli
