#include <unistd.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/burst/adversary.h"
#include "cli/burst/measures.h"
#include "cli/burst/options.h"
#include "cli/burst/plan.h"
#include "cli/burst/report.h"
#include "cli/burst/run.h"
#include "cli/burst/svg.h"
#include "cli/burst/text.h"
#include "cli/command.h"
#include "cli/term/destination.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {
namespace {

/// Decisions are written in pieces of about this many bytes.
constexpr std::size_t kPiece = 64 * 1024;

/// The forms of one report.
class Reporting {
 public:
  Reporting(const BurstOptions& options, Invocation& invocation)
      : quiet_(options.quiet),
        invocation_(invocation),
        svg_("--svg", options.svg, invocation.out),
        csv_("--csv", options.csv, invocation.out),
        jsonl_("--jsonl", options.jsonl, invocation.out) {
    const int on_stdout = svg_.to_stdout() + csv_.to_stdout() + jsonl_.to_stdout();
    if (on_stdout + invocation.json > 1) {
      throw UsageError("standard output is asked for more than once",
                       "of --json and --svg, --csv or --jsonl with - give one");
    }
    // What was asked for there is all that comes there.
    if (on_stdout > 0) quiet_ = true;
  }

  /// For run_burst(); empty where no decisions are wanted.
  OnBurstDecision on_decision();
  /// Writes everything; of an interrupted report only what goes to standard output, since a file
  /// has no place to say so.
  void finish(const BurstReport& report);

 private:
  void write_decisions(std::size_t more_than);

  bool quiet_;
  Invocation& invocation_;
  Destination svg_, csv_, jsonl_;
  std::string decisions_;
};

OnBurstDecision Reporting::on_decision() {
  if (!jsonl_.is_wanted()) return {};
  return [this](std::string_view run, std::string_view key, const traffic::Arrival& arrival,
                const limiter::Decision& decision) {
    append_decision_json(decisions_, run, key, arrival, decision);
    write_decisions(kPiece);
  };
}

void Reporting::write_decisions(std::size_t more_than) {
  if (decisions_.size() <= more_than) return;
  jsonl_.write(decisions_);
  decisions_.clear();
}

void Reporting::finish(const BurstReport& report) {
  write_decisions(0);
  if (!report.interrupted) {
    jsonl_.commit();
    std::string csv;
    append_burst_csv(csv, report);
    csv_.write(csv);
    csv_.commit();
    if (svg_.is_wanted()) svg_.write(burst_svg(report));
    svg_.commit();
  }
  if (quiet_) return;
  auto& out = invocation_.out;
  if (invocation_.json) {
    append_burst_json(out.buffer(), report);
  } else {
    append_burst_text(out.buffer(), report, look_of(out.fd()));
  }
  out.flush();
}

/// Assertions about a run in which the sender fell behind mean nothing, so they do not hold.
std::vector<std::string> failures(const std::vector<Assertion>& assertions,
                                  const BurstReport& report) {
  auto all = failures_of(assertions, report.runs);
  if (assertions.empty()) return all;
  for (const auto& run : report.runs) {
    if (!why_invalid(run)) continue;
    all.push_back("nothing can be asserted of " + run.name + ": the sender fell behind");
  }
  return all;
}

/// Runs the plan and writes the report; after an error or Ctrl-C, of the runs before.
BurstReport run_and_report(BurstPlan plan, const BurstOptions& options, Invocation& invocation) {
  Reporting reporting(options, invocation);
  const bool shows_progress = !options.quiet && is_terminal(STDERR_FILENO);
  BurstReport report{.plan = std::move(plan)};
  report.recording = read_recording(report.plan, invocation, shows_progress);
  try {
    run_burst(report, invocation, shows_progress, reporting.on_decision());
  } catch (const std::exception&) {
    // An error after Ctrl-C comes from ending; before, the finished runs are not to be lost.
    report.failed = invocation.interrupt.signal() == 0;
    if (report.failed && report.runs.empty()) throw;
    report.interrupted = true;
    reporting.finish(report);
    if (report.failed) throw;
    return report;
  }
  reporting.finish(report);
  return report;
}

ExitStatus run_burst_command(const BurstOptions& options, Invocation& invocation) {
  std::vector<Assertion> assertions;
  auto plan = make_burst_plan(options, invocation);
  const auto measures = plan.adversary_budget ? search_measures() : burst_measures();
  for (const auto& text : options.assertions) {
    assertions.push_back(parse_assertion(text, plan.real.has_value(), measures));
  }
  if (plan.adversary_budget) return run_adversary(plan, options, assertions, invocation);
  const auto report = run_and_report(std::move(plan), options, invocation);
  // After Ctrl-C nothing more is judged: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  return tell_failures(failures(assertions, report), invocation);
}

Action add_burst(Options& options) {
  auto target = std::make_shared<BurstOptions>();
  add_burst_options(options, *target);
  return [target](Invocation& invocation) { return run_burst_command(*target, invocation); };
}

}  // namespace

const Command burst_command{
    .name = "burst",
    .summary = "drive traffic at limiters, and show what they let pass",
    .synopsis =
        "[connection] burst [options] [PATTERN]\n"
        "[connection] burst [options] --replay FILE...",
    .about =
        "Sends the same traffic through one limiter after the other, and compares what\n"
        "each allows within any one window with the limit. Time is virtual: a minute of\n"
        "traffic takes no minute, and the same seed gives the same result; --clock real\n"
        "sends each request when it is due, and measures how long it takes. The server is\n"
        "one of its own: RLCTL_URL and the configuration name servers that are in use,\n"
        "so only --url, -H, -p or -s on the command line leads traffic to another.",
    .epilogue = R"(
Exit status:
  0  done
  1  an assertion does not hold, or is about a run that is not valid
  2  wrong usage, a log that cannot be read, or output that cannot be written
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  the server or the script failed (READONLY, OOM)

Examples:
  rlctl burst
  rlctl burst poisson --limit 100/10s --algorithm all --keys 50
  rlctl burst adversary --algorithm gcra
  rlctl burst boundary --algorithm gcra --assert 'worst<=2' --svg gcra.svg
  rlctl burst steady --clock real --rate 500/s --assert 'p99_us<5000'
  rlctl burst --rate max --clients 20 --pipeline 10
  rlctl burst --replay access.log --limit 100/60s --suggest 1%
)",
    .add = add_burst,
    .notes = burst_notes};

}  // namespace rlctl::cli
