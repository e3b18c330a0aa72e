#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/commands/inspect/report.h"
#include "cli/options/limits.h"
#include "cli/options/options.h"
#include "cli/server/connection.h"
#include "cli/server/needs.h"
#include "cli/server/targets.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/output.h"
#include "limiter/configuration.h"
#include "redis/scan.h"
#include "stored/families.h"
#include "stored/forms.h"

namespace rlctl::cli::inspect {
namespace {

/// The options of `rlctl inspect`.
struct Plan {
  LimitOptions limit;
  std::optional<microseconds> now;
  std::optional<std::int64_t> entries = 20;  ///< none: all
  std::optional<std::string> as;             ///< what the keys of other limiters hold

  std::optional<Limiter> limiter = {};  ///< from --limit or --policy; takes precedence
};

std::optional<std::int64_t> parse_entries(const std::string& text) {
  constexpr std::int64_t kMax = 1'000'000'000;
  if (text == "all") return std::nullopt;
  if (const auto number = to_number<std::int64_t>(text);
      number && *number >= 0 && *number <= kMax) {
    return number;
  }
  throw UsageError("--entries must be from 0 to " + std::to_string(kMax) + ", or all, not " +
                   quoted_and_masked(text));
}

void declare_options(Options& options, Plan& plan) {
  options.group("Options");
  add_limits_of_key(options, plan.limit);
  add_burst_of_key(options, plan.limit);
  options.value("--entries", "NUMBER", into(plan.entries, parse_entries),
                "list this many of the newest entries, or all (default: 20)");
  add_as_option(options, plan.as);
  options.value("--now", "TIME", into(plan.now, parse_now), kNowHelp);
}

using stored::Inspection;

/// What is shown for one KEY.
struct KeyResults {
  /// One for each key in Redis that belongs to it; at least one, whose key may not exist.
  std::vector<Found> keys;
  /// Sentences about inconsistencies.
  std::vector<std::string> warnings;

  bool has_existing() const {
    return std::ranges::any_of(keys, [](const Found& found) { return found.inspection.exists(); });
  }
};

/// Whether the error concerns one key only, so that other keys may be readable.
bool is_of_one_key(const redis::Error& error) {
  if (error.failure() == redis::Failure::kNotNow) return error.code().empty();
  return error.code() == "WRONGTYPE" || error.code() == "NOPERM";
}

/// kDone if limiter state was found, kDenied if no key exists, kRejected if a key holds other data.
ExitStatus status_of(const KeyResults& results) {
  for (const auto& [inspection, policy] : results.keys) {
    if (inspection.exists() && !inspection.is_limiter()) return ExitStatus::kRejected;
  }
  return results.has_existing() ? ExitStatus::kDone : ExitStatus::kDenied;
}

/// One run of the command. Reads only.
class Run {
 public:
  Run(const Plan& plan, std::vector<std::string> keys, Invocation& invocation)
      : plan_(plan),
        keys_(std::move(keys)),
        invocation_(invocation),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt,
                   [searches = !plan.limiter] {
                     const std::string_view uses[] = {"inspect", kSearch};
                     return needs_of("inspect", std::span(uses).first(searches ? 2 : 1));
                   }),
        libraries_(libraries_of(invocation.configuration, plan.as)) {}

  /// Writes what is found, key by key. Reports an error that concerns one key and reads the others.
  /// Returns the worst status of all keys. Throws redis::Error.
  ExitStatus run() {
    for (const auto& key : keys_) {
      invocation_.interrupt.check();
      const auto results = read(key);
      progress_.clear();
      if (results) write(*results);
    }
    hint_at_databases();
    return status_;
  }

 private:
  // ---- All keys ----

  /// If no key was found: where there may be some. A key that could not be read may be there.
  void hint_at_databases() {
    if (invocation_.json || found_any_ || status_ != ExitStatus::kDenied) return;
    const auto hint = cli::hint_at_databases(connector_);
    if (!hint.empty()) write_stderr("  hint: " + hint + "\n");
  }

  /// Returns nothing after an error that concerns this key only, and reports it.
  std::optional<KeyResults> read(const std::string& key) {
    if (!connection_) connection_.emplace(connector_.open_for_looks(invocation_.command));
    try {
      auto results = redis::repeated_if_lost(*connection_, [&] { return inspect(key); });
      status_ = std::max(status_, status_of(results));
      found_any_ = found_any_ || results.has_existing();
      return results;
    } catch (const redis::Error& error) {
      progress_.clear();
      if (!is_of_one_key(error)) throw;
      connection_.reset();  // replies to commands already sent would be out of step
      Problem problem = describe(error);
      problem.message = quoted_and_masked(key) + ": " + problem.message;
      status_ = std::max(status_, problem.status);
      write_stderr(render(problem, invocation_.command, invocation_.json));
      return std::nullopt;
    }
  }

  void write(const KeyResults& results) {
    auto& out = invocation_.out.buffer();
    for (const auto& found : results.keys) {
      if (invocation_.json) {
        append_json(out, found);
        continue;
      }
      if (!std::exchange(is_first_, false)) out += '\n';
      append_text(out, found, look_, connector_.name());
    }
    invocation_.out.flush();  // there may be many keys
    for (const auto& warning : results.warnings) {
      if (warned_.insert(warning).second) warn("warning: " + warning, invocation_.command);
    }
  }

  // ---- One KEY ----

  /// The keys in Redis that belong to the key: those of find_targets(), and if that does not know
  /// the limits, the existing keys of several limits: those with common windows or, if the key
  /// itself does not exist, those that a scan of the database finds.
  KeyResults inspect(const std::string& key) {
    KeyResults results;
    // If nothing is stored for a key with several limits, each limit is shown as unused.
    const auto targets = find_targets(key, plan_.limiter, invocation_.configuration);
    for (const auto& target : targets) {
      auto found = look(target);
      if (target.only_if_there && !found.inspection.exists()) continue;
      // `check` with several limits does not write the plain key.
      if (!target.only_if_there) warn_of_algorithm(found.inspection, results);
      results.keys.push_back(std::move(found));
    }
    const bool limits_are_known = targets.front().limit.has_value();
    if (results.has_existing()) {
      if (!limits_are_known) add_usual_family(key, results);
    } else if (limits_are_known) {
      warn_of_others(key, results);
    } else {
      take_scanned_family(key, results);
    }
    auto warning = literal_key_warning(key);
    if (!results.has_existing() && !warning.empty()) results.warnings.push_back(std::move(warning));
    return results;
  }

  Found look(const KeyTarget& target) {
    /// The window for the layout of bars if it is not known beforehand.
    constexpr std::chrono::minutes kDefaultWindow{1};
    auto request = request_for(target);
    request.now = plan_.now;
    request.entries = plan_.entries;
    if (!invocation_.json) {
      const auto window = target.limit ? target.limit->window : request.window_in_name;
      request.bars = bars_for(window.value_or(kDefaultWindow), columns_for_bars(look_));
    }
    const auto on_progress = [this](std::int64_t done, std::int64_t total) {
      const auto share = static_cast<double>(done) / static_cast<double>(total);
      progress_.update(share, std::to_string(total) + " entries");
    };
    const auto* policy = policy_of(target.key);
    return {stored::inspect(*connection_, target.key, request, libraries_, on_progress),
            policy != nullptr ? policy->name : std::string_view()};
  }

  /// Null if the key belongs to none.
  const limiter::Policy* policy_of(const std::string& key) const {
    return plan_.limiter ? plan_.limiter->policy
                         : limiter::policy_for(invocation_.configuration.policies(), key);
  }

  void add_usual_family(const std::string& key, KeyResults& results) {
    const auto family = stored::find_usual_family(*connection_, key, stored::FamilyKeys::kAll);
    for (const auto& member : family.keys) results.keys.push_back(look({.key = member}));
    if (!family.refused.empty()) {
      results.warnings.push_back("this user may not read the keys that " + quoted_and_masked(key) +
                                 " has if it has several limits: " +
                                 quoted_and_masked(limiter::family_prefix(key) + "..."));
    }
  }

  /// Replaces a key that does not exist with the existing keys of its limits. One scan of the
  /// database covers all keys.
  void take_scanned_family(const std::string& key, KeyResults& results) {
    if (families_.empty()) {
      auto families =
          stored::find_families(*connection_, keys_, stored::FamilyKeys::kAll,
                                [this](double share) { progress_.update(share, "the database"); });
      for (std::size_t i = 0; i < keys_.size(); ++i) families_[keys_[i]] = std::move(families[i]);
    }
    const auto& family = families_[key];
    if (family.empty()) return;
    results.keys.clear();
    for (const auto& member : family) results.keys.push_back(look({.key = member}));
  }

  /// Warns if `check` would fail because the stored state belongs to another algorithm.
  void warn_of_algorithm(const Inspection& inspection, KeyResults& results) {
    if (!inspection.is_limiter()) return;
    const auto* policy = policy_of(inspection.key);
    if (policy == nullptr || policy->algorithm == inspection.state.form->algorithm()) return;
    results.warnings.push_back("policy " + quoted_and_masked(policy->name) + " names " +
                               std::string(policy->algorithm->name) + ", but " +
                               quoted_and_masked(inspection.key) + " is " +
                               stored::describe_content(inspection.content, inspection.state) +
                               ": check would fail");
  }

  /// Warns if nothing is stored under the names for these limits, but other limits are stored.
  void warn_of_others(const std::string& key, KeyResults& results) {
    std::string others;
    const auto family = stored::find_usual_family(*connection_, key, stored::FamilyKeys::kLimiters);
    for (const auto& name : family.keys) {
      others += (others.empty() ? "" : ", ") + quoted_and_masked(name);
    }
    if (others.empty()) return;
    results.warnings.push_back("nothing is stored under the names of these limits, but there is " +
                               others);
  }

  const Plan& plan_;
  std::vector<std::string> keys_;
  Invocation& invocation_;
  Connector connector_;
  stored::Libraries libraries_;
  std::optional<redis::Connection> connection_;  ///< none after an error
  Progress progress_{is_terminal(STDERR_FILENO)};
  Look look_ = invocation_.out.look();
  bool is_first_ = true;          ///< no text was written yet
  std::set<std::string> warned_;  ///< each warning is written once
  ExitStatus status_ = ExitStatus::kDone;
  bool found_any_ = false;
  /// For each key, the keys in Redis of its limits that the scan found; empty before it.
  std::map<std::string, std::vector<std::string>> families_;
};

ExitStatus run(Plan& plan, Invocation& invocation) {
  plan.limiter = resolve_optional_limiter(plan.limit, invocation.configuration);
  const auto operands =
      operands_or_lines(std::move(invocation.operands), invocation.typed, invocation.interrupt);
  return Run(plan, distinct_keys(plan.limiter, operands, "rlctl inspect login:alice"), invocation)
      .run();
}

constexpr std::array kInstead{
    Instead{.option = "--match",
            .advice = "rlctl list PATTERN finds keys: rlctl list PATTERN --json | jq -r .key | "
                      "rlctl inspect -"},
    Instead{.option = "--watch", .advice = "watch(1) repeats a command: watch rlctl inspect KEY"}};

}  // namespace

const Command kCommand{
    .text = {.name = "inspect",
             .summary = "show what a limiter stores for a key, without changing it",
             .synopsis = "[connection] inspect [options] [--] KEY...\n"
                         "[connection] inspect --policy NAME [options] [--] [ARGUMENT...]",
             .about =
                 "Shows which algorithm wrote a KEY, how much of its limit is used, and when the\n"
                 "next request will be allowed. Only reads: prunes nothing, touches no TTL, and\n"
                 "works on a replica. If the only KEY is -, reads KEYs from standard input, one\n"
                 "per line.",
             .statuses =
                 {
                     "found",
                     "there is no such key",
                     kStatusOfUsage,
                     kStatusUnreachable,
                     kStatusRefused,
                     "the key holds no limiter state, or the server failed",
                 },
             .epilogue =
                 R"(  With several keys, the worst of them: 5, else 1, else 0.

Examples:
  rlctl inspect login:alice
  rlctl inspect --limit 5/60s login:alice
  rlctl list --above 80% --json | jq -r .key | rlctl inspect -
  rlctl inspect --json --entries all -- "$key" | jq .used
)",
             .instead = kInstead},
    .add = add_command<Plan, declare_options, run>,
    .only_looks = true,
    .json = &kJson,
    .decides_dash = true};

}  // namespace rlctl::cli::inspect
