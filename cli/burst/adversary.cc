#include "cli/burst/adversary.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "adversary/branching.h"
#include "adversary/exhaustive.h"
#include "adversary/search.h"
#include "adversary/trial.h"
#include "base/json.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/burst/hint.h"
#include "cli/burst/search_files.h"
#include "cli/burst/server.h"
#include "cli/burst/text.h"
#include "cli/burst/trial.h"
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
#include "redis/error.h"
#include "traffic/outcome.h"
#include "traffic/pattern.h"
#include "traffic/script.h"

namespace rlctl::cli {
namespace {

using adversary::Finding;
using std::chrono::microseconds;

/// The result of the search against one limiter.
struct AdversaryRun {
  const traffic::Candidate* candidate = nullptr;  ///< of the plan
  /// The placeholder that gives a foreign script a time that is rounded by more than the tick, but
  /// by little compared with the window; else null.
  const traffic::Placeholder* rounded_by = nullptr;
  adversary::SearchResult result = {};
  traffic::RepliesSeen replies = {};
  std::optional<std::string> hint = {};  ///< see reply_hint()
};

/// The results of `rlctl burst adversary`, for every output format.
struct AdversaryReport {
  const BurstPlan& plan;
  microseconds base{0};                 ///< the origin of all times: the start of a window
  std::vector<AdversaryRun> runs = {};  ///< in the order of the candidates
  bool interrupted = false;             ///< the last search is incomplete, or some are missing

  [[nodiscard]] const limiter::Limit& limit() const { return plan.limits.front(); }
  [[nodiscard]] const SearchPlan& search() const { return *plan.search; }
  [[nodiscard]] std::int64_t largest_cost() const {
    return *std::max_element(search().costs.begin(), search().costs.end());
  }
  /// The units in a finding's worst window, as a multiple of the limit.
  [[nodiscard]] double ratio_of(const Finding& finding) const {
    return static_cast<double>(finding.score.worst) / static_cast<double>(limit().limit);
  }
};

// --- Text ----------------------------------------------------------------------------------------

/// The most instants in the text report; --json has all of them.
constexpr std::size_t kMostRows = 20;

constexpr std::string_view kUnbounded = "as many as were sent: no bound was found";

/// "within 20 ms"
std::string within_text(microseconds span) {
  return span == microseconds{0} ? "at one instant" : "within " + exact_text(span);
}

std::string times(double ratio, const Look& look) {
  return ratio_text(ratio).append(glyphs(look.utf8).times);
}

void append_header(TextBlock& block, const AdversaryReport& report) {
  block.row("pattern", "adversary", "the schedule that makes a limiter allow the most");
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
  return toned(fmt::format("{} the limit: {} {}", times(ratio, look), finding.score.worst,
                           within_text(finding.score.worst_span)),
               Tone::kBad, look.colour);
}

/// One row per instant: its requests, and how many were allowed and denied.
void append_schedule(std::string& out, const Finding& finding, const AdversaryReport& report,
                     const Look& look) {
  const auto instants = adversary::instants_of(finding.schedule);
  std::vector<std::string> at, cost, asked, allowed, denied;
  for (const auto& instant : std::span(instants).first(std::min(instants.size(), kMostRows))) {
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
  if (instants.size() > kMostRows) {
    out += fmt::format("  and {} more; --json lists all\n", instants.size() - kMostRows);
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
      "{} in windows within {} of a full one, which is what {{{}}} rounds off; --tick {} leaves "
      "this out{}",
      beyond ? "so many" : "only", exact_text(tick), run.rounded_by->name, format_duration(tick),
      beyond ? fmt::format(", and shows how {} come {}", beyond->worst,
                           within_text(beyond->worst_span))
             : std::string());
}

void append_denied(std::string& out, const AdversaryRun& run, const AdversaryReport& report,
                   const Look& look) {
  if (const auto& wrong = run.result.wrongly_denied) {
    const bool is_minor = wrong->score.only_at_edge();
    out += toned(is_minor ? "denied exactly one window after, where an exact log would allow"
                          : "denied what an exact log would allow",
                 is_minor ? Tone::kWarning : Tone::kBad, look.colour) +
           "\n";
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
  if (!result.exhaustive) return {};
  const auto& [tried, undecided] = *result.exhaustive;
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
  return text + fmt::format(
                    "; {} of them are left out, and so are all that begin with them: their "
                    "answers change if keys live a moment longer or shorter",
                    grouped(undecided));
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
      "the time of the request before; {} later; 1/4, 1/2 and 3/4 of a window later; and {} "
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

void append_adversary_text(std::string& all, const AdversaryReport& report, const Look& look) {
  std::string out;
  TextBlock block(out, look);
  append_header(block, report);
  for (const auto& run : report.runs) {
    out += '\n';
    append_run(out, run, report, look);
  }
  auto times = "from the beginning of a window, " + instant_text(report.base);
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
    const auto& all = result.exhaustive;
    json.field("tried", all ? std::optional(all->tried) : std::nullopt);
    json.field("undecided", all ? std::optional(all->undecided) : std::nullopt);
    write_finding(json, "most", result.most, report);
    write_finding(json, "most_stepping_back", result.most_stepping_back, report);
    write_finding(json, "wrongly_denied", result.wrongly_denied, report);
    json.field("hint", run.hint).end_object();
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
  log += fmt::format("# {}: {} allowed {}, {} of {} requests denied wrongly\n",
                     escaped_text(name_of(*run.candidate)), finding.score.worst,
                     within_text(finding.score.worst_span), finding.score.wrongly_denied.size(),
                     finding.schedule.size());
  for (const auto& [at, cost] : finding.schedule) {
    log += fmt::format("{} 1 {}\n", epoch_text(at), cost);
  }
  return log;
}

/// A run's findings in the form of measured traffic, for assertions to check.
BurstRun as_burst_run(const AdversaryReport& report, const AdversaryRun& run) {
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
  const auto& back = run.result.most_stepping_back;
  const auto& wrong = run.result.wrongly_denied;
  BurstRun burst{.name = std::string(name_of(*run.candidate))};
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
      .most_stepping_back = report.ratio_of(back ? *back : finding),
      .wrongly_denied = wrong ? static_cast<std::int64_t>(wrong->score.wrongly_denied.size()) : 0,
      .has_refunds = has_refunds};
  return burst;
}

// --- The search ----------------------------------------------------------------------------------

/// AdversaryRun::rounded_by.
const traffic::Placeholder* rounding_of(const traffic::Candidate& candidate,
                                        const BurstPlan& plan) {
  // If the time is coarser, a finding shows more than the rounding.
  constexpr int kTicksOfWindow = 10;
  if (!candidate.foreign) return nullptr;
  const auto* rounded = coarsest_time(*candidate.foreign);
  const bool matters = rounded != nullptr && rounded->tick > plan.search->tick &&
                       kTicksOfWindow * rounded->tick <= plan.limits.front().window;
  return matters ? rounded : nullptr;
}

/// The start of a window.
microseconds base_for(const BurstPlan& plan) {
  return traffic::window_from(plan.request.start, plan.limits.front().window);
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
      AdversaryRun run{.candidate = &candidate, .rounded_by = rounding_of(candidate, plan_)};
      run.result = plan_.model ? search_model(run) : search_script(run);
      report_.interrupted = run.result.interrupted;
      auto measured = as_burst_run(report_, run);
      run.hint = measured.hint = reply_hint(measured, candidate);
      progress_.clear();
      warn_of_hint(measured, invocation_);
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
    return adversary::search(trial, request_for(run), invocation_.interrupt, on_progress);
  }

  [[nodiscard]] adversary::SearchRequest request_for(const AdversaryRun& run) const {
    return {.limit = report_.limit(),
            .costs = report_.search().costs,
            .budget = report_.search().budget,
            .seed = plan_.request.seed,
            .base = report_.base,
            .tick = report_.search().tick,
            .rounding = run.rounded_by != nullptr ? run.rounded_by->tick : microseconds{0},
            .steps_back = report_.search().steps_back};
  }

  /// `limiter`: a trial, with its states or without.
  template <typename... Limiter>
  [[nodiscard]] adversary::SearchResult exhaust(const AdversaryRun& run, Limiter&... limiter) {
    const auto done = static_cast<double>(report_.runs.size());
    const auto runs = static_cast<double>(plan_.candidates.size());
    return adversary::search_all(
        limiter..., request_for(run), *report_.search().exhaustive, invocation_.interrupt,
        [&](std::int64_t tried, double share, std::int64_t worst) {
          progress_.update((done + share) / runs,
                           fmt::format("all schedules; {}: {} tried, {} within a window",
                                       name_of(*run.candidate), grouped(tried), worst));
        });
  }

  /// If a script never ends, searches again in the same way, to name the request to blame.
  [[nodiscard]] adversary::SearchResult search_script(AdversaryRun& run) {
    try {
      return search_script(run, false);
    } catch (const redis::Error& error) {
      if (!server_->may_retry(error, *run.candidate)) throw;
      server_ = std::make_unique<BurstServer>(invocation_, plan_.candidates);
      static_cast<void>(search_script(run, true));
      throw;
    }
  }

  [[nodiscard]] adversary::SearchResult search_script(AdversaryRun& run, bool one_at_a_time) {
    LimiterTrial limiter(*run.candidate, server_.get());
    auto& trial = *limiter.script_trial();
    if (one_at_a_time) trial.send_one_at_a_time();
    auto result = report_.search().exhaustive ? exhaust(run, trial) : search(trial, run);
    run.replies = trial.replies();
    return result;
  }

  [[nodiscard]] adversary::SearchResult search_model(const AdversaryRun& run) {
    adversary::ModelTrial trial(*run.candidate);
    if (!report_.search().exhaustive) return search(trial, run);
    adversary::ModelBranching limiter(*run.candidate);
    return exhaust(run, limiter, trial);
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
  require_one_on_stdout((options.write == "-") + invocation.json,
                        "use --json, or --write to another file");
  return {"--write", options.write, invocation.out};
}

}  // namespace

ExitStatus run_adversary(const BurstPlan& plan, const BurstOptions& options,
                         const std::vector<Assertion>& assertions, Invocation& invocation) {
  auto log = open_log(plan, options, invocation);
  SearchFiles files(options, invocation);
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
  if (!options.quiet && !log.to_stdout() && !files.to_stdout()) {
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
  files.write(plan, runs, assertions);
  return tell_failures(failures_of(assertions, runs), invocation);
}

}  // namespace rlctl::cli
