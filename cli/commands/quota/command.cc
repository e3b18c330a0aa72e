#include "cli/commands/quota/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <exception>
#include <unordered_set>
#include <utility>

#include "base/file.h"
#include "base/prometheus.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/app/command.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/report/usage.h"
#include "cli/server/asker.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/server/targets.h"
#include "cli/terminal/output.h"
#include "redis/error.h"
#include "stored/families.h"
#include "stored/survey.h"

namespace rlctl::cli::quota {
namespace {

using stored::Inspection;

/// The options of `rlctl quota`. Ranges are parsed when the command runs: its metrics say if it
/// failed, also because of a wrong range.
struct Plan {
  LimitOptions limit;
  std::optional<std::string> warning = "80%", critical = "95%";
  std::optional<std::string> textfile, as;
  std::int64_t label_keys = 0;
  bool quiet = false;
  bool must_exist = false;  ///< a KEY of which nothing is stored is UNKNOWN

  Thresholds thresholds = {};
  std::optional<Limiter> limiter = {};  ///< from --limit or --policy; takes precedence
};

void declare_options(Options& options, Plan& plan) {
  constexpr std::int64_t kMaxKeys = 1'000'000;
  options.group("Options");
  options.value("-w,--warning", "RANGE", plan.warning,
                "warn if the use of a limit is outside this range: 80%, or in units 800, @10:20 "
                "(default: 80%)");
  options.value("-c,--critical", "RANGE", plan.critical,
                "the same for the state CRITICAL, not below --warning (default: 95%)");
  options.flag("--must-exist", plan.must_exist, "report UNKNOWN for a KEY that does not exist");
  add_limits_of_key(options, plan.limit);
  add_burst_of_key(options, plan.limit);
  add_as_option(options, plan.as);
  options.flag("-q,--quiet", plan.quiet, "print only what is not OK");
  options.value(
      "--textfile", "FILE", plan.textfile,
      "also write metrics for node_exporter's textfile collector to this file, whose name "
      "ends in .prom");
  options
      .value("--label-keys", "NUMBER",
             into(plan.label_keys, number_between("--label-keys", 0, kMaxKeys)),
             "label the limits of this many KEYs by name in the metrics; the others share series "
             "(default: 0)")
      .needs("--textfile");
}

// ---- Keys and their limits ----

/// A key in Redis that belongs to a KEY, or may.
struct Candidate {
  KeyTarget target;
  std::size_t operand = 0;  ///< the index of the KEY
  /// One of the names that `check` gives the keys of several limits: it counts if it exists. The
  /// user may lack access to it.
  bool is_guess = false;
};

/// Appends the Redis keys that may hold the state of a KEY: those that its limits name, then
/// guesses.
void add_candidates(std::vector<Candidate>& all, const std::string& key, std::size_t operand,
                    const Plan& plan, ConfigurationSource& configuration) {
  auto targets = find_targets(key, plan.limiter, configuration);
  // `check` with several limits does not write the key itself.
  std::erase_if(targets, [](const auto& target) { return target.only_if_there; });
  const auto first = targets.front();
  const bool is_one = targets.size() == 1 && first.key == key;
  for (auto& target : targets) all.push_back({std::move(target), operand});
  const auto add_guess = [&](KeyTarget guess) { all.push_back({std::move(guess), operand, true}); };
  if (!first.limit) {
    for (auto& name : stored::usual_family_names(key)) add_guess({.key = std::move(name)});
  } else if (is_one && !stored::window_in_name(key) && limiter::can_carry_several_limits(key)) {
    // The name of the same limit if `check` is given several for the key.
    auto guess = first;
    guess.key = limiter::family_prefix(key) + limiter::window_suffix(*guess.limit);
    add_guess(std::move(guess));
  }
}

// ---- Judging ----

/// What keeps a key that was read from being judged, whatever its limit is.
std::optional<Problem> problem_of(const Inspection& inspection, const KeyTarget& target,
                                  bool names_policy) {
  const auto& state = inspection.state;
  if (!inspection.exists() && state.unknown.empty()) return std::nullopt;
  const auto holds = quoted_and_masked(inspection.key) + " holds ";
  if (inspection.exists() && !inspection.is_limiter()) {
    return Problem{
        .code = "WRONGTYPE",
        .message = holds + stored::describe_content(inspection.content, inspection.state),
        .hint = inspect_hint(inspection.key)};
  }
  if (!state.part_of.empty()) {
    return Problem{.code = "unknown",
                   .message = quoted_and_masked(inspection.key) + " is a part of the state of " +
                              quoted_and_masked(state.part_of),
                   .hint = "give that KEY"};
  }
  if (inspection.is_limiter() && state.form->library.empty()) {
    const std::string as(report::readings_of(state.form->type));
    return Problem{.code = "unknown",
                   .message = holds + stored::looks_text(state) + ": " + state.unknown,
                   .hint = (as.empty() ? "" : as + " tells it, or ") +
                           "a row [library.NAME] in the configuration file"};
  }
  if (!state.unknown.empty() && !state.ban) {
    return Problem{.code = "unknown",
                   .message = quoted_and_masked(inspection.key) + ": " + state.unknown,
                   .hint = inspection.exists() ? inspect_hint(inspection.key)
                                               : "if rlctl made the key, define a policy for it"};
  }
  const bool is_named = names_policy || !target.policy.empty();
  if (!is_named || target.algorithm == inspection.state.form->algorithm()) return std::nullopt;
  return Problem{.code = "WRONGTYPE",
                 .message = holds +
                            what_it_holds(inspection.content, inspection.state, *target.algorithm) +
                            ": check would fail"};
}

LimitStatus judge(Inspection inspection, const KeyTarget& target, const Plan& plan) {
  const bool is_named = plan.limiter && plan.limiter->policy != nullptr;
  LimitStatus status{.policy = is_named ? plan.limiter->policy->name : target.policy};
  if (inspection.is_limiter()) {
    status.algorithm = inspection.state.form->name;
  } else if (target.algorithm != nullptr) {
    status.algorithm = target.algorithm->name;
  }
  if (plan.limit.policy || !plan.limiter) status.series_algorithm = status.algorithm;
  status.problem = problem_of(inspection, target, plan.limit.policy.has_value());
  const auto capacity = inspection.capacity(), most = inspection.limit;
  // Whoever is banned has as much as if the limit were reached, and so has who asks a budget for a
  // reservation that has no place.
  const bool is_closed = inspection.state.ban || inspection.is_closed_by_reservations();
  const auto full = inspection.burst ? inspection.burst : most;
  const auto alerts_by = [&](const Range& range) {
    if (!is_closed) return alerts(range, inspection.used, capacity);
    if (!full) return std::optional(true);
    return alerts(range, std::max(inspection.used.value_or(0), *full), full);
  };
  const auto is_critical = alerts_by(plan.thresholds.critical);
  const auto is_warning = alerts_by(plan.thresholds.warning);
  if (!status.problem && is_critical && is_warning) {
    status.state = *is_critical  ? PluginState::kCritical
                   : *is_warning ? PluginState::kWarning
                                 : PluginState::kOk;
  } else if (!status.problem) {
    status.problem = {.code = "unknown_limit",
                      .message = "the state of " + quoted_and_masked(inspection.key) +
                                 " does not include its limit",
                      .hint = "pass --limit or --policy"};
  }
  status.inspection = std::move(inspection);
  return status;
}

// ---- A run ----

/// What is wrong, with a hint that fits a plugin.
Problem describe_read(const std::exception_ptr& error) {
  Problem problem;
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& reason) {
    problem = drop_in_doubt_note(describe(reason));  // quota changes nothing
  }
  // A plugin's line cannot contain the bar of "+cluster|slots".
  if (problem.code == "NOPERM" && problem.hint.find('|') != std::string::npos) {
    problem.hint = "rlctl-acl(7) lists the rules that the user needs";
  }
  return problem;
}

/// Judges every KEY by the Redis keys that were read for it.
class Judging {
 public:
  Judging(const Plan& plan, std::vector<std::string> keys) : plan_(plan), keys_(std::move(keys)) {}

  /// Adds the statuses of the next KEY, whose candidates these are.
  void add_operand(std::span<const Candidate> candidates, std::span<stored::Surveyed> read) {
    const auto first = statuses_.size();
    const bool limits_are_known = candidates.front().target.limit.has_value();
    bool finds_guess = false;
    std::array<std::exception_ptr, 2> errors;  // the first one of targets, and of guesses
    for (std::size_t i = 0; i < read.size(); ++i) {
      auto& error = errors.at(candidates[i].is_guess ? 1 : 0);
      if (!error) error = read[i].error;
      finds_guess |= candidates[i].is_guess && exists(read[i]);
    }
    for (std::size_t i = 0; i < read.size(); ++i) {
      // If no limit is known and keys of several limits exist, KEY itself is simply not used.
      const bool counts = !candidates[i].is_guess && (limits_are_known || !finds_guess);
      if (!read[i].error && (counts || exists(read[i]))) {
        add(std::move(read[i].inspection), candidates[i]);
      }
    }
    add_error(candidates.front().operand, errors);
    if (plan_.must_exist) require_stored(std::span(statuses_).subspan(first));
  }

  std::vector<LimitStatus> take() { return std::move(statuses_); }

 private:
  static bool exists(const stored::Surveyed& read) {
    return !read.error && read.inspection.exists();
  }

  void add(Inspection inspection, const Candidate& candidate) {
    if (!judged_.insert(inspection.key).second) return;
    auto status = judge(std::move(inspection), candidate.target, plan_);
    status.operand = candidate.operand;
    status.is_only_operand = keys_.size() == 1 && status.inspection.key == keys_.front();
    statuses_.push_back(std::move(status));
  }

  void add_error(std::size_t operand, const std::array<std::exception_ptr, 2>& errors) {
    const auto& [of_target, of_guess] = errors;
    if (!of_target && !of_guess) return;
    auto problem = describe_read(of_target ? of_target : of_guess);
    // A user who may only access KEY itself is told about KEY.
    if (!of_target && problem.code == "NOPERM" && refuses_key(problem.message)) return;
    const auto& key = keys_[operand];
    problem.message = quoted_and_masked(key) + ": " + problem.message;
    LimitStatus unread{.operand = operand, .problem = std::move(problem), .was_read = false};
    unread.inspection.key = key;
    statuses_.push_back(std::move(unread));
  }

  /// Sets the problem of the statuses of a KEY of which nothing is stored.
  static void require_stored(std::span<LimitStatus> statuses) {
    const auto may_be_stored = [](const LimitStatus& status) {
      return !status.was_read || status.inspection.exists() || status.inspection.state.ban;
    };
    if (std::ranges::any_of(statuses, may_be_stored)) return;
    for (auto& status : statuses) {
      status.state = PluginState::kUnknown;
      status.problem = {.code = "not_found",
                        .message = quoted_and_masked(status.inspection.key) + " does not exist"};
    }
  }

  const Plan& plan_;
  std::vector<std::string> keys_;
  std::unordered_set<std::string> judged_;  ///< keys in Redis
  std::vector<LimitStatus> statuses_;
};

std::vector<LimitStatus> ask(const Plan& plan, const stored::Libraries& libraries,
                             Invocation& invocation) {
  const auto operands =
      operands_or_lines(std::move(invocation.operands), invocation.typed, invocation.interrupt);
  const auto keys = distinct_keys(plan.limiter, operands, "rlctl quota api:acme");
  std::vector<Candidate> candidates;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    add_candidates(candidates, keys[i], i, plan, invocation.configuration);
  }
  std::vector<stored::InspectedKey> requests;
  for (const auto& [target, operand, is_guess] : candidates) {
    requests.push_back({.key = target.key, .request = request_for(target)});
  }
  Connector connector(invocation.connection, invocation.configuration, invocation.interrupt,
                      [] { return needs_of("quota"); });
  try {
    auto connection = connector.open();
    if (const auto why = redis::why_out_of_date(connection)) {
      throw ProblemError({.status = ExitStatus::kUnreachable, .code = "not_now", .message = *why});
    }
    auto read = stored::survey(connection, requests, libraries);
    Judging judging(plan, keys);
    for (std::size_t begin = 0, end = 0; begin < read.size(); begin = end) {
      while (end < read.size() && candidates[end].operand == candidates[begin].operand) ++end;
      judging.add_operand(std::span(candidates).subspan(begin, end - begin),
                          std::span(read).subspan(begin, end - begin));
    }
    return judging.take();
  } catch (const redis::Error&) {
    throw ProblemError(describe_read(std::current_exception()));
  }
}

/// Refuses a critical threshold that is reached before the warning.
void require_order(const Plan& plan, const Options& options,
                   std::optional<std::int64_t> limit = std::nullopt) {
  if (!is_critical_first(plan.thresholds.critical, plan.thresholds.warning, limit)) return;
  const auto named = [&](std::string_view option, const std::string& text) {
    return fmt::format("{} {}{}", option, text, options.is_given(option) ? "" : " (the default)");
  };
  throw UsageError(fmt::format("{} is reached before {}", named("--critical", *plan.critical),
                               named("--warning", *plan.warning)),
                   "the warning must be reached first, as with -w 80% -c 95%");
}

/// A threshold in units and one in percent are compared for each limit, unless one is a default.
void require_order_of_limits(const Plan& plan, const Options& options,
                             std::span<const LimitStatus> statuses) {
  if (!options.is_given("--warning") || !options.is_given("--critical")) return;
  for (const auto& status : statuses) require_order(plan, options, status.inspection.capacity());
}

/// A threshold such as -w 80 for a limit of 10 says OK until a library or a lower limit lets the
/// use exceed the limit.
void warn_of_idle_threshold(std::string_view option, const std::string& text, const Range& range,
                            std::span<const LimitStatus> statuses) {
  const auto is_idle = [&](const LimitStatus& status) {
    const auto capacity = status.inspection.capacity();
    return capacity && status.inspection.used.value_or(0) <= *capacity &&
           alerts_only_above(range, *capacity);
  };
  const auto found = std::ranges::find_if(statuses, is_idle);
  if (found == statuses.end()) return;
  warn(fmt::format("warning: {} {} alerts only above the limit of {}, which is {}{}", option, text,
                   quoted_and_masked(found->inspection.key), *found->inspection.capacity(),
                   range.in_percent ? "" : "; a percentage ends in %"),
       kCommand.text.name);
}

ExitStatus run(Plan& plan, Invocation& invocation) {
  std::optional<OutputFile> metrics;
  if (plan.textfile) metrics.emplace("--textfile", checked_textfile(*plan.textfile));
  stored::Libraries libraries;
  std::vector<LimitStatus> statuses;
  const auto write_metrics = [&] {
    if (!metrics) return;
    metrics->write(
        metrics_text(*plan.textfile, statuses, static_cast<std::size_t>(plan.label_keys)));
    metrics->commit();
  };
  try {
    plan.thresholds = {.warning = parse_range(*plan.warning, "--warning"),
                       .critical = parse_range(*plan.critical, "--critical")};
    require_order(plan, invocation.options);
    plan.limiter = resolve_optional_limiter(plan.limit, invocation.configuration);
    libraries = libraries_of(invocation.configuration, plan.as);
    statuses = ask(plan, libraries, invocation);
    require_order_of_limits(plan, invocation.options, statuses);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    write_metrics();
    throw;
  }
  write_metrics();
  warn_of_idle_threshold("--warning", *plan.warning, plan.thresholds.warning, statuses);
  warn_of_idle_threshold("--critical", *plan.critical, plan.thresholds.critical, statuses);
  const auto state = worst_of(statuses).state;
  auto& out = invocation.out.buffer();
  if (plan.quiet && state == PluginState::kOk) return to_status(state);
  if (invocation.json) {
    append_json(out, statuses);
  } else {
    append_text(out, statuses, plan.thresholds, plan.quiet, invocation.out.look());
  }
  invocation.out.flush();
  return to_status(state);
}

/// A plugin prints its failures to standard output, where its caller reads them. Nothing else goes
/// to stderr, so that cron mails each failure once.
ExitStatus report_failure(const Problem& problem, bool json) {
  std::string out;
  json ? append_json(out, {}, problem) : append_failure_text(out, problem);
  if (!write_stdout(out)) write_stderr(render(problem, kCommand.text.name, json));
  return to_status(PluginState::kUnknown);
}

constexpr std::array kInstead{
    Instead{.option = "-t", .advice = "--timeout 10s limits the wait for the server"}};

std::string notes() {
  return R"(
A RANGE alerts if the use is outside it, or with @ inside it. A percentage has
its sign, other numbers are units: 80% alerts above 80 %, 10: below 10 units,
@10:20 from 10 to 20.
)";
}

}  // namespace

const Command kCommand{
    .text = {.name = "quota",
             .summary = "report how much of a key's limit is used, as a monitoring plugin",
             .synopsis = "[connection] quota [options] [--] KEY...\n"
                         "[connection] quota --policy NAME [options] [--] [ARGUMENT...]",
             .about =
                 "Compares the used part of each limit with thresholds and prints one line for\n"
                 "Nagios, Icinga, Sensu or cron; writes metrics for Prometheus. Only reads: takes\n"
                 "nothing and changes nothing.",
             .brief = "--warning --critical --must-exist --limit "
                      "--policy --read-as --quiet --textfile",
             .statuses =
                 {
                     "OK",
                     "WARNING",
                     "CRITICAL",
                     "UNKNOWN: rlctl could not evaluate a limit, or wrong usage; or a KEY does\n"
                     "not exist, with --must-exist",
                 },
             .epilogue = R"(  With several limits, the worst of them: 2, else 1, else 3, else 0.

Examples:
  rlctl quota api:acme
  rlctl quota --limit 5/60s -w 3 -c '~:4' login:alice login:bob
  rlctl quota -q --limit 1k/s --textfile /var/lib/node_exporter/a.prom api:acme
  rlctl quota --policy login -w 50% ann
)",
             .notes = notes,
             .instead = kInstead},
    .add = add_command<Plan, declare_options, run>,
    .report = report_failure,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::quota
