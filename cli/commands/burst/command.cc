#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/shell.h"
#include "base/text.h"
#include "cli/commands/burst/assertions.h"
#include "cli/commands/burst/budgets.h"
#include "cli/commands/burst/html.h"
#include "cli/commands/burst/leases.h"
#include "cli/commands/burst/picture.h"
#include "cli/commands/burst/session.h"
#include "cli/errors/failure.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/table.h"

namespace rlctl::cli::burst {
namespace {

/// The values of --clock.
constexpr std::string_view kVirtual = "virtual", kReal = "real";
/// The largest --clients, --tries and --exhaustive.
constexpr std::int64_t kMaxClients = 10'000;
constexpr std::int64_t kMaxTries = 1'000'000'000'000, kMaxExhaustive = 32;

// ---- Values ----

bool is_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return is_digits(text);
}

/// Adds the algorithm, or all of them, unless it is there.
void add_algorithms(std::vector<const limiter::Algorithm*>& chosen, const std::string& name) {
  const auto add = [&chosen](const limiter::Algorithm& algorithm) {
    if (std::find(chosen.begin(), chosen.end(), &algorithm) == chosen.end()) {
      chosen.push_back(&algorithm);
    }
  };
  if (const auto* algorithm = limiter::find_algorithm(name)) return add(*algorithm);
  if (name != kAllAlgorithms) return add(parse_algorithm(name, kAllAlgorithms));
  for (const auto& algorithm : limiter::algorithms()) {
    if (limiter::counts_requests(algorithm)) add(algorithm);
  }
}

/// Requests per second, written like a limit: 400/s, 24k/min.
double parse_rate(const std::string& text) {
  try {
    const auto rate = limiter::parse_limit(text, microseconds{1});
    require_lengths({&rate, 1}, "--rate");
    return static_cast<double>(rate.limit) * 1e6 / static_cast<double>(rate.window.count());
  } catch (const UsageError&) {
    throw UsageError("--rate: " + quoted_and_masked(text) +
                     " is not a rate; write 400/s or 24k/min");
  }
}

double parse_skew(const std::string& text) {
  constexpr double kMaxSkew = 100;
  const auto value = to_decimal(text);
  if (value && *value >= 0 && *value <= kMaxSkew) return *value;
  throw UsageError(fmt::format("--key-skew must be a number from 0 to {}, not {}", kMaxSkew,
                               quoted_and_masked(text)));
}

/// Whether the clock is the real one.
bool parse_clock(const std::string& text) {
  if (text == kReal || text == kVirtual) return text == kReal;
  throw UsageError("--clock must be virtual or real, not " + quoted_and_masked(text));
}

std::uint64_t parse_seed(const std::string& text) {
  return static_cast<std::uint64_t>(parse_between(text, "--seed", 0, INT64_MAX));
}

/// The ending of a file's name for each format, as in ReportFormat.
constexpr std::array<std::string_view, 4> kEndings{".svg", ".html", ".json", ".jsonl"};

ReportFile parse_file(const std::string& path) {
  for (std::size_t i = 0; i < kEndings.size(); ++i) {
    if (path.ends_with(kEndings[i])) return {static_cast<ReportFormat>(i), path};
  }
  throw UsageError(fmt::format("-o {}: the name must end in .svg, .html, .json or .jsonl",
                               quoted_and_masked(path)));
}

// ---- Declarations ----

void add_limiters(Options& options, Plan& plan) {
  static const auto kLimitHelp = fmt::format(
      "requests and window: 5/60s, 100/min; several make one decision (default: {}; {} for "
      "adversary)",
      kDefaultLimit, kSearchLimit);
  options.group("Limiters");
  options.comma_list("--limit", "LIMIT", plan.limit_texts, kLimitHelp);
  options
      .comma_list(
          "--algorithm", "NAMES",
          [&plan](const std::string& name) { add_algorithms(plan.algorithms, name); },
          "algorithms to test, separated by commas, or all (default: "
          "fixed-window,sliding-window-log)")
      .completes([](const CompletionContext& typed) {
        Completions leases;
        leases.words.push_back({"concurrency", "gives leases"});
        if (typed.options.is_given("--concurrency")) return leases;
        if (typed.options.is_given("--reserve")) {
          return to_completions(std::array<std::string_view, 1>{"budget"});
        }
        auto completions = complete_counting_algorithm(typed);
        completions.words.push_back({std::string(kAllAlgorithms), "all that count requests"});
        return completions;
      });
  add_script_options(options, plan.script, true);
  add_exec_options(options, plan.exec);
  options
      .value("--compare", "NAME", plan.compare,
             "compare with this algorithm or script; show the first request that the two decide "
             "differently, and exit with status 1")
      .excludes("--suggest")
      .completes(complete_limiter);
  options.value("--burst", "NUMBER", plan.burst_text,
                "requests that may come at once; for algorithms with a burst (default: the limit)");
  options.flag("--model", plan.model, "decide in this process, without a server; fast")
      .excludes("--script", "a script runs on a server only")
      .excludes_each({"--url", "--host", "--port", "--socket"});
}

void add_traffic(Options& options, Plan& plan) {
  options.group("Traffic");
  options.value("--rate", "RATE", into(plan.request.rate, parse_rate),
                "rate of requests: 400/s, 24k/min (default: from the limit)");
  options.value("--duration", "TIME", into(plan.request.duration, duration_of("--duration")),
                "how long the traffic lasts (default: three windows)");
  options
      .value("--requests", "NUMBER",
             into(plan.request.requests, number_between("--requests", 1, INT64_MAX)),
             "stop after this many requests")
      .excludes("--replay", "the log has the requests",
                "cut the log: head -n 1000 FILE | rlctl burst --replay -");
  options.list(
      "--keys", "NUMBER",
      [&plan](const std::string& text) {
        if (text == "-") throw UsageError("--keys: '-' is not a KEY");
        if (!is_number(text)) return plan.script.keys.push_back(text);
        plan.keys =
            static_cast<std::uint32_t>(parse_between(text, "--keys", 1, traffic::kMaxPatternKeys));
      },
      "number of keys (default: 1); with --script, one of its KEYS, given once for each "
      "(default: {key})");
  options
      .value("--key-skew", "NUMBER", into(plan.request.key_skew, parse_skew),
             "request key n in proportion to 1/n^NUMBER (default: 0, all equally often)")
      .excludes("--replay", "the log has the keys");
  options
      .value("--cost", "NUMBER", into(plan.costs, parse_costs),
             "cost of each request (default: 1); for adversary also several, and refunds: 1,3,-1")
      .excludes("--replay", kLogHasCosts, kNameCosts);
  options
      .value("--seed", "NUMBER", into(plan.request.seed, parse_seed),
             "seed for the random generator (default: 1)")
      .excludes("--replay", "nothing in a log is random");
  options
      .value(
          "--start", "TIME",
          into(plan.start, [](const std::string& text) { return parse_time_of(text, "--start"); }),
          "when the traffic begins; microseconds since 1970, or ISO 8601 with a zone (default: "
          "2026-01-01T00:00:00Z)")
      .excludes("--replay", kLogHasTimes);
  add_replay_options(options, plan.log);
}

void add_clock(Options& options, Plan& plan) {
  options.group("Clock");
  options
      .value("--clock", "CLOCK", into(plan.is_real, parse_clock),
             "clock of the traffic: virtual or real; virtual takes no time, real sends each "
             "request when it is due (default: virtual)")
      .completes([](const CompletionContext&) {
        return to_completions(std::array{kVirtual, kReal});
      });
  options.value("--clients", "NUMBER",
                into(plan.clients, number_between("--clients", 1, kMaxClients)),
                "number of connections, under the real clock (default: 1)");
}

void add_report(Options& options, Plan& plan) {
  options.group("Report", Repeats::kNo);
  options.list("--assert", "EXPRESSION", plan.assertion_texts,
               "exit with status 1 unless this holds: 'worst<=1'; it must hold for each algorithm");
  options.list(
      "-o,--output", "FILE",
      [&plan](const std::string& path) { plan.files.push_back(parse_file(path)); },
      "write the report to a file (its name says how: .svg draws the plot, .html is a page for "
      "a browser, .json is the report of --json, .jsonl has a line for each decision)");
  options.flag("-q,--quiet", plan.quiet, "print no report, only set the exit status");
}

void add_adversary_options(Options& options, Plan& plan) {
  static const auto kTriesHelp =
      fmt::format("requests to try against each limiter (default: {})", adversary::kDefaultTries);
  auto& search = plan.search.emplace();
  options.group("Options");
  options
      .value("--tries", "NUMBER", into(search.tries, number_between("--tries", 1, kMaxTries)),
             kTriesHelp)
      .excludes("--exhaustive");
  options
      .value("--exhaustive", "NUMBER",
             into(search.exhaustive, number_between("--exhaustive", 1, kMaxExhaustive)),
             "try every schedule of up to this many requests; at the times at which a limiter's "
             "answer may change")
      .excludes("--seed", "nothing in an exhaustive search is random");
  options.flag("--monotonic", search.monotonic,
               "do not try a clock that steps back; an exhaustive search never does");
  options.group("Options", Repeats::kNo);
  options
      .value("--write", "FILE", search.write,
             "write the schedule that was found as a log; - for standard output")
      .takes_stream();
}

constexpr CommandText kAdversaryText{
    .name = kAdversary,
    .summary = "search for the schedule under which a limiter allows the most",
    .synopsis = "burst [options] adversary [options]",
    .about =
        "Searches for the schedule of requests under which each limiter allows most\n"
        "within any window of its limit, and removes the requests that it does not need.\n"
        "It also takes the options of 'rlctl burst' for limiters, --cost, --seed, --start\n"
        "and the report.",
    .epilogue = R"(
Examples:
  rlctl burst adversary --algorithm gcra
  rlctl burst adversary --script my.lua --limit 5/60s --write worst.log
  rlctl burst adversary --concurrency 2 --lease 10s --exhaustive 5 --model
  rlctl burst adversary --limit 5/60s --reserve 2 --exhaustive 4 --model
)"};

void add_options(Options& options, Plan& plan) {
  add_limiters(options, plan);
  add_lease_options(options, plan);
  add_budget_options(options, plan);
  add_traffic(options, plan);
  add_clock(options, plan);
  add_report(options, plan);
  options.subcommand(kAdversaryText,
                     [&plan](Options& adversary) { add_adversary_options(adversary, plan); });
}

/// The patterns and `adversary`; with --replay, files.
Completions complete_pattern(const CompletionContext& typed) {
  if (typed.options.is_given("--replay")) return complete_file(typed);
  Completions patterns;
  if (!typed.operands.empty()) return patterns;
  for (const auto& pattern : traffic::patterns()) {
    patterns.words.push_back({std::string(pattern.name), std::string(pattern.summary)});
  }
  return patterns;
}

/// The sections of --help that list the patterns, the algorithms and more.
std::string notes() {
  const auto patterns = traffic::patterns();
  return help_section(fmt::format("Patterns (default: {})", patterns.front().name), patterns) +
         list_algorithms({}) + placeholder_help();
}

// ---- The report and the command ----

/// Writes a report in every requested format.
class ReportOutput {
 public:
  /// Opens the files. Throws UsageError if more than one output goes to standard output.
  ReportOutput(const Plan& plan, Invocation& invocation)
      : plan_(plan),
        quiet_(plan.quiet),
        invocation_(invocation),
        log_("--write", plan.search ? plan.search->write : std::nullopt, invocation.out) {
    for (const auto& [format, path] : plan.files) {
      files_.emplace_back(format, std::make_unique<Destination>("-o", path, invocation.out));
    }
    require_one_on_stdout(log_.to_stdout() + invocation.json,
                          "use only one of --json and --write -");
    // Then nothing else goes to standard output.
    if (log_.to_stdout()) quiet_ = true;
  }

  /// The callback for a Session; empty if no file lists decisions.
  OnNamedDecision on_decision() {
    if (!writes(plan_, ReportFormat::kJsonl)) return {};
    return [this](std::string_view run, std::int64_t number, std::string_view key,
                  const traffic::Arrival& arrival, const limiter::Decision& decision) {
      append_decision_json(decisions_, plan_, run, number, key, arrival, decision);
      write_decisions(Output::kLarge);
    };
  }

  /// Writes all outputs; for an interrupted report only the text or the JSON, since the other
  /// formats cannot state that it was interrupted.
  void finish(const Report& report) {
    if (plan_.search && writes(plan_, ReportFormat::kJsonl)) append_steps_json(decisions_, report);
    write_decisions(0);
    for (auto& [format, file] : files_) {
      if (report.interrupted && format != ReportFormat::kJson) continue;
      file->write(text_of(format, report));
      file->commit();
    }
    if (!report.interrupted) {
      log_.write(log_.is_wanted() ? schedule_log(report) : "");
      log_.commit();
    }
    if (quiet_) return;
    auto& out = invocation_.out;
    if (invocation_.json) {
      append_json(out.buffer(), report);
    } else {
      append_text(out.buffer(), report, out.look());
    }
    out.flush();
  }

 private:
  /// The text that completes a file.
  static std::string text_of(ReportFormat format, const Report& report) {
    switch (format) {
      case ReportFormat::kSvg:
        return draw_svg(report);
      case ReportFormat::kHtml:
        return draw_page(report);
      case ReportFormat::kJson: {
        std::string json;
        append_json(json, report);
        return json;
      }
      case ReportFormat::kJsonl:
        break;  // Its decisions have been written already.
    }
    return {};
  }

  void write_decisions(std::size_t more_than) {
    if (decisions_.size() <= more_than) return;
    for (auto& [format, file] : files_) {
      if (format == ReportFormat::kJsonl) file->write(decisions_);
    }
    decisions_.clear();
  }

  const Plan& plan_;
  bool quiet_;
  Invocation& invocation_;
  Destination log_;
  std::vector<std::pair<ReportFormat, std::unique_ptr<Destination>>> files_;
  std::string decisions_;
};

/// Runs the plan and writes the report; after an error or Ctrl-C it covers the runs so far.
Report run_and_report(const Plan& plan, Invocation& invocation) {
  ReportOutput output(plan, invocation);
  Report report{.plan = plan, .recording = read_recording(plan, invocation)};
  std::exception_ptr error;
  try {
    run_plan(report, invocation, output.on_decision());
  } catch (const std::exception&) {
    // After Ctrl-C, stopping the run may have caused the error; any other error must not lose the
    // finished runs.
    report.interrupted = true;
    report.failed = invocation.interrupt.signal() == 0;
    if (report.failed && report.runs.empty()) throw;
    error = std::current_exception();
  }
  output.finish(report);
  if (report.failed) std::rethrow_exception(error);
  return report;
}

void warn_of_missing_clock(const Plan& plan, const Invocation& invocation) {
  if (plan.is_real) return;
  for (const auto& candidate : plan.candidates) {
    if (!candidate.foreign || !traffic::lacks_clock(*candidate.foreign)) continue;
    warn(
        fmt::format("warning: no time passes for {}: it calls neither TIME nor a command that "
                    "sets a TTL, and --keys and --args do not contain the time, such as {{now_ms}}",
                    escape(candidate.foreign->name)),
        invocation.command);
  }
}

ExitStatus run_command(Plan& plan, Invocation& invocation) {
  if (plan.log.list_formats) {
    append_formats(invocation.out.buffer(), invocation.json);
    return ExitStatus::kDone;
  }
  std::vector<Assertion> assertions;
  complete_plan(plan, invocation);
  warn_of_missing_clock(plan, invocation);
  for (const auto& text : plan.assertion_texts) assertions.push_back(parse_assertion(text, plan));
  const auto report = run_and_report(plan, invocation);
  // After Ctrl-C no assertion is checked: the process ends by the signal.
  if (report.interrupted) invocation.interrupt.check();
  for (const auto& text : warnings_of(assertions, report.runs)) warn(text, invocation.command);
  auto failures = failures_of(assertions, report.runs);
  if (plan.quiet && report.difference) {
    failures.push_back("the limiters differ, " + difference_text(report.plan, *report.difference));
  }
  for (const auto& failure : failures) {
    write_stderr(render({.status = ExitStatus::kDenied, .code = "assertion", .message = failure},
                        invocation.command, invocation.json));
  }
  return failures.empty() && !report.difference ? ExitStatus::kDone : ExitStatus::kDenied;
}

}  // namespace

const Command kCommand{
    .text =
        {.name = "burst",
         .summary = "send traffic through limiters, and show what they allow",
         .synopsis = "[connection] burst [options] [PATTERN]\n"
                     "burst --script SCRIPT [options] [PATTERN] [KEY...] , ARG...\n"
                     "[connection] burst [options] --replay FILE...",
         .about =
             "Sends the same traffic through one limiter after another, and compares the most\n"
             "that each allows within any one window with the limit. Time is virtual: a minute\n"
             "of traffic takes a moment, and the same seed gives the same result. With\n"
             "--clock real, each request is sent when it is due. The server is a private one:\n"
             "RLCTL_URL and the configuration name servers that are in use, so only --url, -H,\n"
             "-p or -s on the command line sends traffic to another server.",
         .brief = "--limit --algorithm --script --args --allowed-when "
                  "--compare --replay --assert --output",
         .statuses =
             {
                 "done",
                 "an assertion does not hold or proves nothing; --compare: they differ",
                 "wrong usage, a log that cannot be read, or output that cannot be written",
                 kStatusUnreachable,
                 kStatusRefused,
                 "the server or the script failed (READONLY, OOM)",
             },
         .epilogue = R"(
Examples:
  rlctl burst
  rlctl burst poisson --limit 100/10s --algorithm all --keys 50
  rlctl burst adversary --algorithm gcra
  rlctl burst boundary --algorithm gcra --assert 'worst<=1.5' -o gcra.svg
  rlctl burst poisson --limit 9/7s --algorithm gcra --compare token-bucket
  rlctl burst steady --clock real --rate 500/s --duration 5s --limit 100/1s
  rlctl burst poisson --concurrency 5 --lease 30s --hold 2s~ --crash 1%
  rlctl burst --limit 1000/60s --reserve 100 --hold 5s --crash 1%
  rlctl burst --replay access.log --limit 100/60s --suggest 1%
  rlctl burst --script my.lua --args '{now_ms}' --allowed-when 'r[1] > 0'
  rlctl burst --script a.lua --script b.lua '{key}' , '{now_ms}' '{limit}'
)",
         .notes = notes,
         .complete_operand = complete_pattern},
    .add = add_command<Plan, add_options, run_command>,
    .decides_dash = true};

}  // namespace rlctl::cli::burst
