#include "cli/quota/quota.h"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/command.h"
#include "cli/limits.h"
#include "cli/request_failure.h"
#include "cli/targets.h"
#include "cli/term/output.h"
#include "limiter/key_family.h"
#include "limiter/usage.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

using limiter::Inspection;

struct QuotaOptions {
  LimitOptions limit;
  std::optional<std::string> warning, critical, textfile, label_keys, seconds;
  bool quiet = false, verbose = false, key_base64 = false;
};

constexpr std::string_view kDefaultWarning = "80%", kDefaultCritical = "95%";
constexpr std::int64_t kMostKeys = 1'000'000;

void add_quota_options(Options& options, QuotaOptions& target) {
  options.group("Options");
  options.value("-w,--warning", "RANGE", target.warning,
                "warn if the use of a limit is outside this range: 800, 80%, @10:20 "
                "(default: 80%)");
  options.value("-c,--critical", "RANGE", target.critical,
                "the same for the state CRITICAL (default: 95%)");
  add_limit_options(options, target.limit, false);
  options.flag("-q,--quiet", target.quiet, "print only what is not OK");
  options.value(
      "--textfile", "FILE", target.textfile,
      "also write metrics for node_exporter's textfile collector to this file, whose name "
      "ends in .prom");
  options
      .value("--label-keys", "NUMBER", target.label_keys,
             "label this many keys by name in the metrics; the others share series (default: 0)")
      .needs("--textfile");
  options.value("-t", "SECONDS", target.seconds, "the same as --timeout, also without a unit")
      .excludes("--timeout", "they are the same");
  options.flag("-v", target.verbose, "accepted, as plugins must; changes nothing");
  add_key_option(options, target.key_base64);
}

/// The options of `rlctl quota`, without its keys.
struct QuotaPlan {
  Thresholds thresholds;
  std::optional<Limiter> limiter;  ///< from --limit or --policy; takes precedence
  bool names_algorithm = false;    ///< --algorithm or --policy is given
};

QuotaPlan make_quota_plan(const QuotaOptions& options, Invocation& invocation) {
  QuotaPlan plan;
  plan.thresholds.warning =
      parse_range(options.warning.value_or(std::string(kDefaultWarning)), "--warning");
  plan.thresholds.critical =
      parse_range(options.critical.value_or(std::string(kDefaultCritical)), "--critical");
  plan.limiter = resolve_optional_limiter(options.limit, invocation.configuration);
  plan.names_algorithm = options.limit.algorithm || options.limit.policy;
  return plan;
}

/// The options of the connection with -t, for which a number means seconds.
ConnectionOptions connection_with(const QuotaOptions& options, const ConnectionOptions& general) {
  auto connection = general;
  if (!options.seconds) return connection;
  const bool is_number = !options.seconds->empty() &&
                         std::all_of(options.seconds->begin(), options.seconds->end(), is_digit);
  connection.timeout = is_number ? *options.seconds + "s" : *options.seconds;
  static_cast<void>(parse_time(*connection.timeout, "-t"));
  return connection;
}

// ---- Keys and their limits ----

/// The keys in Redis of one KEY.
struct QuotaTargets {
  std::string key;
  std::vector<KeyTarget> targets;
  /// The limits are not known: the targets are the key itself and the names of several usual
  /// limits, of which those count that exist.
  bool is_guess = false;
};

QuotaTargets targets_of(const std::string& key, const QuotaPlan& plan,
                        ConfigurationSource& configuration) {
  QuotaTargets result{.key = key, .targets = find_targets(key, plan.limiter, configuration)};
  result.is_guess = !result.targets.front().limit;
  // `check` with several limits does not write the key itself.
  std::erase_if(result.targets, [](const auto& target) { return target.only_if_there; });
  if (!result.is_guess) return result;
  for (auto& name : limiter::usual_family_names(key)) {
    result.targets.push_back({.key = std::move(name), .only_if_there = true});
  }
  return result;
}

limiter::UsageGroup group_of(const QuotaTargets& targets) {
  limiter::UsageGroup group;
  for (const auto& target : targets.targets) {
    group.push_back({.key = target.key, .request = request_for(target)});
  }
  return group;
}

// ---- Judging ----

Problem unknown_limit(const Inspection& inspection) {
  return {.code = "unknown_limit",
          .message = "the state of " + in_quotes(inspection.key) + " does not include its limit",
          .hint = "pass --limit or --policy"};
}

/// What keeps a key that was read from being judged.
std::optional<Problem> problem_of(const Inspection& inspection, const KeyTarget& target,
                                  bool names_algorithm) {
  if (!inspection.exists()) return std::nullopt;
  if (!inspection.is_limiter()) {
    return Problem{.code = "WRONGTYPE",
                   .message = in_quotes(inspection.key) + " holds " +
                              limiter::describe_content(inspection.content),
                   .hint = inspect_hint(inspection.key)};
  }
  const bool is_named = names_algorithm || !target.policy.empty();
  if (is_named && target.algorithm->name != inspection.state.form->name) {
    return Problem{.code = "WRONGTYPE",
                   .message = in_quotes(inspection.key) + " holds " +
                              what_it_holds(inspection.content, *target.algorithm) +
                              ": check would fail"};
  }
  if (!inspection.used) return unknown_limit(inspection);
  return std::nullopt;
}

Judgement judge(Inspection inspection, const KeyTarget& target, const QuotaPlan& plan) {
  const bool is_named = plan.limiter && plan.limiter->policy != nullptr;
  Judgement judgement{.policy = is_named ? plan.limiter->policy->name : target.policy};
  if (inspection.is_limiter()) {
    judgement.algorithm = inspection.state.form->name;
  } else if (target.algorithm != nullptr) {
    judgement.algorithm = target.algorithm->name;
  }
  judgement.problem = problem_of(inspection, target, plan.names_algorithm);
  judgement.inspection = std::move(inspection);
  if (judgement.problem) return judgement;
  const auto& seen = judgement.inspection;
  const auto is_critical = alerts(plan.thresholds.critical, *seen.used, seen.capacity());
  const auto is_warning = alerts(plan.thresholds.warning, *seen.used, seen.capacity());
  if (!is_critical || !is_warning) {
    judgement.problem = unknown_limit(seen);
  } else if (*is_critical) {
    judgement.state = PluginState::kCritical;
  } else {
    judgement.state = *is_warning ? PluginState::kWarning : PluginState::kOk;
  }
  return judgement;
}

Problem describe_current(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& reason) {
    return describe(reason);
  }
}

/// Appends the judgements about one KEY, except about the keys in Redis that are `judged` already.
void judge_group(const QuotaTargets& targets, limiter::GroupUsage usage, const QuotaPlan& plan,
                 std::unordered_set<std::string>& judged, std::vector<Judgement>& judgements) {
  if (usage.error) {
    Judgement unread{.was_read = false};
    unread.inspection.key = targets.key;
    unread.problem = without_doubt(describe_current(usage.error));
    unread.problem->message = in_quotes(targets.key) + ": " + unread.problem->message;
    judgements.push_back(std::move(unread));
    return;
  }
  const auto is_of_family = [&](std::size_t i) {
    return targets.targets[i].only_if_there && usage.keys[i].exists();
  };
  bool has_family = false;
  for (std::size_t i = 0; i < usage.keys.size(); ++i) has_family = has_family || is_of_family(i);
  for (std::size_t i = 0; i < usage.keys.size(); ++i) {
    const bool is_asked = !targets.targets[i].only_if_there;
    const bool stands_alone = is_asked && (usage.keys[i].exists() || !has_family);
    if (!stands_alone && !is_of_family(i)) continue;
    if (!judged.insert(usage.keys[i].key).second) continue;
    judgements.push_back(judge(std::move(usage.keys[i]), targets.targets[i], plan));
  }
}

// ---- A run ----

std::vector<Judgement> ask(const QuotaOptions& options, const QuotaPlan& plan,
                           Invocation& invocation) {
  const auto operands = decode_operands(invocation.operands, options.key_base64);
  const auto keys = distinct_keys(plan.limiter, operands, "rlctl quota api:acme");
  std::vector<QuotaTargets> targets;
  std::vector<limiter::UsageGroup> groups;
  for (const auto& key : keys) {
    targets.push_back(targets_of(key, plan, invocation.configuration));
    groups.push_back(group_of(targets.back()));
  }
  Connector connector(connection_with(options, invocation.connection), invocation.configuration,
                      invocation.interrupt);
  std::vector<Judgement> judgements;
  try {
    auto connection = connector.open();
    auto usages = limiter::read_usage(connection, groups);
    std::unordered_set<std::string> judged;
    for (std::size_t i = 0; i < usages.size(); ++i) {
      judge_group(targets[i], std::move(usages[i]), plan, judged, judgements);
    }
  } catch (const redis::Error& error) {
    throw ProblemError(without_doubt(describe(error)));  // looks change nothing
  }
  return judgements;
}

std::optional<MetricsFile> open_metrics(const QuotaOptions& options) {
  if (!options.textfile) return std::nullopt;
  std::int64_t keys = 0;
  if (options.label_keys) keys = parse_between(*options.label_keys, "--label-keys", 0, kMostKeys);
  return std::optional<MetricsFile>(std::in_place, *options.textfile,
                                    static_cast<std::size_t>(keys));
}

PluginState worst_of(std::span<const Judgement> judgements) {
  return std::max_element(judgements.begin(), judgements.end(), is_less_bad)->state;
}

bool is_any_read(std::span<const Judgement> judgements) {
  return std::any_of(judgements.begin(), judgements.end(),
                     [](const Judgement& judgement) { return judgement.was_read; });
}

ExitStatus run_quota(const QuotaOptions& options, Invocation& invocation) {
  auto metrics = open_metrics(options);
  QuotaPlan plan;
  std::vector<Judgement> judgements;
  try {
    plan = make_quota_plan(options, invocation);
    judgements = ask(options, plan, invocation);
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    if (metrics) metrics->write_failure();
    throw;
  }
  if (metrics && is_any_read(judgements)) {
    metrics->write(judgements, system_time());
  } else if (metrics) {
    metrics->write_failure();
  }
  const auto state = worst_of(judgements);
  auto& out = invocation.out.buffer();
  const bool is_silent = options.quiet && state == PluginState::kOk;
  if (invocation.json && !is_silent) append_json_report(out, judgements);
  if (!invocation.json && !is_silent) {
    append_plugin_report(out, judgements, plan.thresholds, options.quiet);
  }
  invocation.out.flush();
  return static_cast<ExitStatus>(state);
}

/// A plugin prints its failures to standard output, where its caller reads them. Nothing else goes
/// to stderr, so that cron mails each failure once.
ExitStatus report_quota_failure(const Problem& problem, bool json) {
  std::string out;
  json ? append_json_failure(out, problem) : append_plugin_failure(out, problem);
  if (!write_all(STDOUT_FILENO, out)) write_stderr(render(problem, quota_command.name, json));
  return static_cast<ExitStatus>(PluginState::kUnknown);
}

}  // namespace

const Command quota_command{
    .name = "quota",
    .summary = "report how much of a limit is used, as a monitoring plugin",
    .synopsis =
        "[connection] quota [options] [--] KEY...\n"
        "[connection] quota --policy NAME [options] [--] [ARGUMENT...]",
    .about =
        "Compares the used part of each limit with thresholds and prints one line for\n"
        "Nagios, Icinga, Sensu or cron; writes metrics for Prometheus. Only reads: takes\n"
        "nothing and changes nothing.",
    .epilogue = R"(
A RANGE alerts if the use is outside it, or with @ inside it, in units of the
limit or in percent: 80% alerts above 80 %, 10: below 10, @10:20 from 10 to 20.

Exit status:
  0  OK
  1  WARNING
  2  CRITICAL
  3  UNKNOWN: anything that kept rlctl from judging, also wrong usage
  With several limits, the worst of them: 2, else 1, else 3, else 0.

Examples:
  rlctl quota api:acme
  rlctl quota --limit 5/60s -w 3 -c '~:4' login:alice login:bob
  rlctl quota -q --textfile /var/lib/node_exporter/api.prom api:acme
  rlctl quota --policy login -w 50% ann
)",
    .add = add_command<QuotaOptions, add_quota_options, run_quota>,
    .notes = algorithm_help,
    .report = report_quota_failure};

}  // namespace rlctl::cli
