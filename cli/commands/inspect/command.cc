#include "cli/commands/inspect/report.h"

#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/app/watch.h"
#include "cli/errors/refused_keys.h"
#include "cli/options/completions.h"
#include "cli/options/limits.h"
#include "cli/options/values.h"
#include "cli/server/complete_key.h"
#include "cli/server/targets.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/progress.h"
#include "limiter/limit.h"
#include "limiter/policies.h"
#include "redis/scan.h"
#include "state/key_family.h"
#include "state/state.h"

namespace rlctl::cli::inspect {
namespace {

/// The options of `rlctl inspect`.
struct Plan {
  LimitOptions limit;
  std::optional<std::string> match;
  std::optional<std::chrono::microseconds> now;
  std::optional<std::int64_t> entries = 20;  ///< none: all
  bool entries_are_asked = false;            ///< --entries is given; else a screen may show fewer
  bool watches = false;
  std::chrono::microseconds watch_interval = Watch{}.interval;
  bool key_base64 = false;

  std::optional<Limiter> limiter = {};  ///< from --limit or --policy; takes precedence
  std::size_t columns_for_bars = 0;     ///< 0: no bars

  [[nodiscard]] bool names_algorithm() const { return limit.algorithm || limit.policy; }
};

constexpr std::int64_t kMaxEntries = 1'000'000'000;

std::optional<std::int64_t> parse_entries(const std::string& text) {
  if (text == "all") return std::nullopt;
  try {
    const auto number = parse_whole(text, "--entries");
    if (number >= 0 && number <= kMaxEntries) return number;
  } catch (const UsageError&) {
    // The error below also names "all".
  }
  throw UsageError("--entries must be from 0 to " + std::to_string(kMaxEntries) + ", or all, not " +
                   in_quotes(text));
}

void declare_options(Options& options, Plan& plan) {
  options.group("Options");
  options
      .value("--match", "PATTERN", plan.match,
             "show every limiter whose key matches this Redis pattern: * ? [ab]")
      .once("run inspect once for each pattern")
      .excludes("--policy", "the policy of a key follows from its name")
      .excludes("--watch", "rlctl list --watch shows many keys")
      .excludes("--key-base64", "a pattern is not a KEY");
  add_limit_options(options, plan.limit, false);
  const auto take_entries = [&plan](const std::string& text) {
    plan.entries = parse_entries(text);
    plan.entries_are_asked = true;
  };
  options.value("--entries", "NUMBER", take_entries,
                "list this many of the newest entries, or all (default: 20)");
  options
      .optional_value("--watch", "TIME", plan.watches, into(plan.watch_interval, parse_watch),
                      "repeat every TIME (default: 1s) until Ctrl-C")
      .rejects_detached(is_duration)
      .excludes("--now", kNowFixesTheClock);
  options.value("--now", "TIME", into(plan.now, parse_now), kNowHelp);
  add_key_option(options, plan.key_base64);
}

// ---- The keys in Redis that belong to a key ----

using state::Inspection;

/// The window for the layout of bars if it is not known beforehand.
constexpr std::chrono::minutes kDefaultWindow{1};

/// Results of a scan are reused for at least this long.
constexpr std::chrono::seconds kScanAgain{1};

/// The results for one KEY.
struct KeyResults {
  /// One for each key in Redis that belongs to it; at least one, whose key may not exist.
  std::vector<Found> keys;
  /// Sentences about inconsistencies.
  std::vector<std::string> warnings;
};

/// Looks at the keys in Redis that belong to a key: those of find_targets(), and if that does not
/// know the limits, the existing keys of several limits: those with common windows or, if the key
/// itself does not exist, those that a scan of the database finds. The results of a scan are reused
/// for a while, so that watching does not keep the server busy.
/// Reads only. Throws redis::Error.
class Inspector {
 public:
  /// Reads the configuration only if the plan has no limiter. `keys`: all keys that inspect() will
  /// be called with, so that one scan covers all of them.
  Inspector(const Plan& plan, ConfigurationSource& configuration, std::span<const std::string> keys,
            Progress& progress)
      : plan_(plan), configuration_(configuration), keys_(keys), progress_(progress) {}

  /// `key` must be one of the keys.
  [[nodiscard]] KeyResults inspect(redis::Connection& connection, const std::string& key);
  /// The same for a key of --match, which exists: only itself.
  [[nodiscard]] KeyResults inspect_found(redis::Connection& connection, const std::string& key);

 private:
  [[nodiscard]] Found look(redis::Connection& connection, const KeyTarget& target);
  void add_usual_family(redis::Connection& connection, const std::string& key, KeyResults& results);
  void take_scanned_family(redis::Connection& connection, const std::string& key,
                           KeyResults& results);
  void warn_of_algorithm(const state::Inspection& inspection, KeyResults& results);
  void warn_of_others(redis::Connection& connection, const std::string& key, KeyResults& results);

  const Plan& plan_;
  ConfigurationSource& configuration_;
  std::span<const std::string> keys_;
  Progress& progress_;
  std::map<std::string, std::vector<std::string>> families_;  ///< from the last scan
  Clock::time_point scan_again_{};
};

Found Inspector::look(redis::Connection& connection, const KeyTarget& target) {
  auto request = request_for(target);
  request.now = plan_.now;
  request.entries = plan_.entries;
  if (plan_.columns_for_bars > 0) {
    const auto window = target.limit ? target.limit->window : request.window_in_name;
    request.bars = bars_for(window.value_or(kDefaultWindow), plan_.columns_for_bars);
  }
  Found found{.inspection = state::inspect(
                  connection, target.key, request, [this](std::int64_t done, std::int64_t total) {
                    const auto share = static_cast<double>(done) /
                                       static_cast<double>(std::max<std::int64_t>(total, 1));
                    progress_.update(share, std::to_string(total) + " entries");
                  })};
  if (!found.inspection.state.limit) found.policy = target.policy;
  return found;
}

void Inspector::add_usual_family(redis::Connection& connection, const std::string& key,
                                 KeyResults& results) {
  const auto family = state::find_usual_family(connection, key, state::FamilyKeys::kAll);
  for (const auto& member : family.keys) {
    results.keys.push_back(look(connection, {.key = member}));
  }
  if (!family.refused.empty()) {
    results.warnings.push_back(
        "this user may not read the keys that " + in_quotes(key) +
        " has if it has several limits: " + in_quotes(limiter::family_prefix(key) + "..."));
  }
}

/// Replaces a key that does not exist with the existing keys of its limits.
void Inspector::take_scanned_family(redis::Connection& connection, const std::string& key,
                                    KeyResults& results) {
  const auto begin = Clock::now();
  if (begin >= scan_again_) {
    auto families =
        state::find_families(connection, keys_, state::FamilyKeys::kAll,
                             [this](double share) { progress_.update(share, "the database"); });
    for (std::size_t i = 0; i < keys_.size(); ++i) families_[keys_[i]] = std::move(families[i]);
    const auto end = Clock::now();
    scan_again_ = end + std::max<Clock::duration>(kScanAgain, 10 * (end - begin));
  }
  const auto& family = families_[key];
  if (family.empty()) return;
  results.keys.clear();
  for (const auto& member : family) {
    results.keys.push_back(look(connection, {.key = member}));
  }
}

/// Warns if `check` would fail because the stored state belongs to another algorithm.
void Inspector::warn_of_algorithm(const Inspection& inspection, KeyResults& results) {
  if (!inspection.is_limiter()) return;
  const auto* policy = plan_.limiter
                           ? plan_.limiter->policy
                           : limiter::policy_for(configuration_.policies(), inspection.key);
  const limiter::Algorithm* named = policy != nullptr ? policy->algorithm : nullptr;
  if (plan_.names_algorithm()) named = plan_.limiter->algorithm;
  if (named == nullptr || named == inspection.state.form->algorithm()) return;
  std::string from = policy != nullptr ? "policy " + in_quotes(policy->name) : "--algorithm";
  results.warnings.push_back(
      from.append(" names ").append(named->name).append(", but ") + in_quotes(inspection.key) +
      " is " + state::describe_content(inspection.key, inspection.content) + ": check would fail");
}

/// Warns if nothing is stored under the names for these limits, but other limits are stored.
void Inspector::warn_of_others(redis::Connection& connection, const std::string& key,
                               KeyResults& results) {
  std::string others;
  const auto family = state::find_usual_family(connection, key, state::FamilyKeys::kLimiters);
  for (const auto& name : family.keys) {
    others += (others.empty() ? "" : ", ") + in_quotes(name);
  }
  if (others.empty()) return;
  results.warnings.push_back("nothing is stored under the names of these limits, but there is " +
                             others);
}

KeyResults Inspector::inspect(redis::Connection& connection, const std::string& key) {
  KeyResults results;
  // If nothing is stored for a key with several limits, each limit is shown as unused.
  const auto all = find_targets(key, plan_.limiter, configuration_);
  for (const auto& target : all) {
    auto found = look(connection, target);
    if (target.only_if_there && !found.inspection.exists()) continue;
    // `check` with several limits does not write the plain key.
    if (!target.only_if_there) warn_of_algorithm(found.inspection, results);
    results.keys.push_back(std::move(found));
  }
  const bool limits_are_known = all.front().limit.has_value();
  const auto exists = [](const Found& found) { return found.inspection.exists(); };
  if (std::any_of(results.keys.begin(), results.keys.end(), exists)) {
    if (!limits_are_known) add_usual_family(connection, key, results);
  } else if (limits_are_known) {
    warn_of_others(connection, key, results);
  } else {
    take_scanned_family(connection, key, results);
  }
  if (std::none_of(results.keys.begin(), results.keys.end(), exists)) {
    auto warning = literal_key_warning(key);
    if (!warning.empty()) results.warnings.push_back(std::move(warning));
  }
  return results;
}

KeyResults Inspector::inspect_found(redis::Connection& connection, const std::string& key) {
  KeyTarget target{.key = key};
  if (plan_.limiter) {
    target.limit = plan_.limiter->limits.front();
    target.limit_is_asked = true;
  } else {
    target = found_target(key, configuration_.policies());
  }
  KeyResults results;
  results.keys.push_back(look(connection, target));
  warn_of_algorithm(results.keys.front().inspection, results);
  return results;
}

/// kDone if limiter state was found, kDenied if no key exists, kRejected if a key holds other data.
ExitStatus status_of(const KeyResults& results) {
  bool found = false;
  for (const auto& [inspection, policy] : results.keys) {
    if (inspection.exists() && !inspection.is_limiter()) return ExitStatus::kRejected;
    found = found || inspection.exists();
  }
  return found ? ExitStatus::kDone : ExitStatus::kDenied;
}

// ---- A run ----

/// One run of the command: the data that all looks at the keys share.
class Inspecting {
 public:
  Inspecting(const Plan& plan, bool redraws, std::vector<std::string> keys, Invocation& invocation)
      : plan_(plan),
        redraws_(redraws),
        keys_(std::move(keys)),
        invocation_(invocation),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt),
        progress_(!redraws_ && is_terminal(STDERR_FILENO)),
        inspector_(plan_, invocation.configuration, keys_, progress_) {}

  /// Appends the output for all keys once, including keys read before an error. Reports an error
  /// that concerns one key and reads the others; with --watch, throws it.
  void read(std::string& out);
  /// The same for all limiters whose keys match the pattern.
  void read_matching(const std::string& pattern, std::string& out);
  /// The worst status of all keys in the last read().
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  void fit_to(const Look& look);
  void read_key(const std::string& key, bool is_found);
  void read_keys(bool are_found, const Look& look, std::string& out);
  [[nodiscard]] std::vector<std::string> limiters_of(const std::string& pattern);
  void drop_connection();
  void tell(const std::string& key, const std::exception& error);
  [[nodiscard]] std::string text(const KeyResults& results, const Look& look,
                                 std::optional<std::int64_t> entries) const;
  void append_screen(std::string& out, const Look& look) const;
  void warn(const KeyResults& results);

  Plan plan_;
  bool redraws_;
  std::vector<std::string> keys_;
  Invocation& invocation_;
  Connector connector_;
  std::optional<redis::Connection> connection_;
  Progress progress_;
  Inspector inspector_;
  std::vector<KeyResults> results_;
  std::set<std::string> warned_;
  ExitStatus status_ = ExitStatus::kDone;
};

/// Sets the number of bars to the number of columns.
void Inspecting::fit_to(const Look& look) {
  if (!invocation_.json) plan_.columns_for_bars = columns_for_bars(look);
}

/// Whether the error concerns one key only, so that other keys may be readable.
bool is_of_one_key(const redis::Error& error) {
  if (error.failure() == redis::Failure::kNotNow) return error.code().empty();
  return error.code() == "WRONGTYPE" || error.code() == "NOPERM";
}

/// Drops the connection after an error: replies to commands already sent would be out of step.
void Inspecting::drop_connection() {
  connection_.reset();
  progress_.clear();
}

void Inspecting::tell(const std::string& key, const std::exception& error) {
  drop_connection();
  Problem problem = describe(error);
  problem.message = in_quotes(key) + ": " + problem.message;
  status_ = std::max(status_, problem.status);
  write_stderr(render(problem, invocation_.command, invocation_.json));
}

void Inspecting::read_key(const std::string& key, bool is_found) {
  try {
    if (!connection_) connection_.emplace(connector_.open());
    results_.push_back(is_found ? inspector_.inspect_found(*connection_, key)
                                : inspector_.inspect(*connection_, key));
    status_ = std::max(status_, status_of(results_.back()));
  } catch (const redis::Error& error) {
    if (plan_.watches || !is_of_one_key(error)) throw;
    tell(key, error);
  }
}

void Inspecting::read(std::string& out) {
  const Look look = invocation_.out.look();
  fit_to(look);
  status_ = ExitStatus::kDone;
  results_.clear();
  try {
    read_keys(false, look, out);
  } catch (const redis::Error& error) {
    drop_connection();
    throw ProblemError(drop_in_doubt_note(describe(error)));  // looks change nothing
  } catch (...) {
    drop_connection();
    throw;
  }
  if (redraws_) append_screen(out, look);
}

void Inspecting::read_keys(bool are_found, const Look& look, std::string& out) {
  bool is_first = true;
  for (const auto& key : keys_) {
    invocation_.interrupt.check();
    const auto before = results_.size();
    read_key(key, are_found);
    progress_.clear();
    if (redraws_ || results_.size() == before) continue;
    if (!std::exchange(is_first, false) && !invocation_.json) out += '\n';
    out += text(results_.back(), look, std::nullopt);
    if (!plan_.watches) invocation_.out.flush();  // there may be many keys
    warn(results_.back());
    results_.clear();
  }
}

void Inspecting::read_matching(const std::string& pattern, std::string& out) {
  const Look look = invocation_.out.look();
  fit_to(look);
  try {
    connection_.emplace(connector_.open());
    keys_ = limiters_of(pattern);
    read_keys(true, look, out);
  } catch (const redis::Error& error) {
    drop_connection();
    throw ProblemError(drop_in_doubt_note(describe(error)));
  }
  if (!keys_.empty()) return;
  status_ = ExitStatus::kDenied;
  progress_.clear();
  if (!invocation_.json) write_stderr("no limiter matches\n");
}

/// Sorted, without duplicates.
std::vector<std::string> Inspecting::limiters_of(const std::string& pattern) {
  std::set<std::string> limiters;
  RefusedKeys refused;
  redis::Scan scan(*connection_, pattern);
  while (!scan.done()) {
    const auto readable = state::readable_keys(*connection_, scan.next());
    const auto& keys = readable.keys;
    refused.add(readable);
    const auto contents = state::read_contents(*connection_, readable, state::Parts::kCut);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto state = state::decode(keys[i], contents[i]);
      if (state::is_recognized(keys[i], contents[i], state)) limiters.insert(keys[i]);
    }
    progress_.update(scan.share(), "the database");
    invocation_.interrupt.check();
  }
  progress_.clear();
  refused.require_readable();
  if (refused.count() > 0) {
    cli::warn("warning: not shown: " + refused.text(), invocation_.command);
  }
  return {limiters.begin(), limiters.end()};
}

/// The text with at most `entries` entries of each key.
std::string Inspecting::text(const KeyResults& results, const Look& look,
                             std::optional<std::int64_t> entries) const {
  std::string out;
  for (const auto& found : results.keys) {
    if (invocation_.json) {
      append_json(out, found.inspection);
      continue;
    }
    if (!out.empty()) out += '\n';
    const auto most = static_cast<std::size_t>(entries.value_or(INT64_MAX));
    if (found.inspection.entries.size() <= most) {
      append_text(out, found, look, connector_.name());
      continue;
    }
    auto shorter = found;
    auto& shown = shorter.inspection.entries;
    shown.erase(shown.begin(), shown.end() - static_cast<std::ptrdiff_t>(most));
    append_text(out, shorter, look, connector_.name());
  }
  return out;
}

/// Appends a screen with the warnings; drops the oldest entries if not everything fits.
void Inspecting::append_screen(std::string& out, const Look& look) const {
  const auto lines = static_cast<std::ptrdiff_t>(terminal_height(invocation_.out.fd())) - 1;
  for (auto entries = plan_.entries.value_or(INT64_MAX);; --entries) {
    std::string screen;
    for (const auto& results : results_) {
      if (!screen.empty()) screen += '\n';
      screen += text(results, look, entries);
      for (const auto& warning : results.warnings) {
        std::string message;
        escape_message(message, warning);
        screen.append(toned(message, Tone::kWarning, look.colour)).append("\n");
      }
    }
    const bool fits = std::count(screen.begin(), screen.end(), '\n') <= lines;
    if (!fits && !plan_.entries_are_asked && entries > 0) continue;
    out += screen;
    return;
  }
}

/// Writes each warning once.
void Inspecting::warn(const KeyResults& results) {
  for (const auto& warning : results.warnings) {
    if (!warned_.insert(warning).second) continue;
    write_stderr(render({.message = "warning: " + warning}, invocation_.command, false));
  }
}

/// Writes what `read` appends to the output, also if it throws.
ExitStatus write_all(Inspecting& inspecting, Invocation& invocation,
                     const std::function<void(std::string&)>& read) {
  try {
    read(invocation.out.buffer());
  } catch (...) {
    invocation.out.flush();
    throw;
  }
  invocation.out.flush();
  return inspecting.status();
}

ExitStatus inspect_matching(const Plan& plan, Invocation& invocation) {
  require_pattern(*plan.match, invocation.operands);
  if (plan.limiter && plan.limiter->limits.size() > 1) {
    throw UsageError("--match takes one --limit: each key that matches has one");
  }
  Inspecting inspecting(plan, false, {}, invocation);
  return write_all(inspecting, invocation,
                   [&](std::string& out) { inspecting.read_matching(*plan.match, out); });
}

ExitStatus run(Plan& plan, Invocation& invocation) {
  if (!plan.match) {
    auto operands = operands_or_lines(std::move(invocation.operands), invocation.interrupt);
    invocation.operands = decode_operands(std::move(operands), plan.key_base64);
  }
  plan.limiter = resolve_optional_limiter(plan.limit, invocation.configuration);
  if (plan.match) return inspect_matching(plan, invocation);
  Watch how;
  if (plan.watches) {
    how = {.interval = plan.watch_interval,
           .redraws = !invocation.json && may_draw(invocation.out.fd())};
  }
  const auto keys = distinct_keys(plan.limiter, invocation.operands, "rlctl inspect login:alice");
  Inspecting inspecting(plan, how.redraws, keys, invocation);
  if (plan.watches) {
    watch(how, invocation, [&] {
      std::string text;
      inspecting.read(text);
      return text;
    });
  }
  return write_all(inspecting, invocation, [&](std::string& out) { inspecting.read(out); });
}

}  // namespace

}  // namespace rlctl::cli::inspect

namespace rlctl::cli {

const Command inspect_command{
    .text = {.name = "inspect",
             .summary = "show what a limiter stores for a key, without changing it",
             .synopsis = "[connection] inspect [options] [--] KEY...\n"
                         "[connection] inspect --policy NAME [options] [--] [ARGUMENT...]\n"
                         "[connection] inspect [options] --match PATTERN",
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
             .epilogue = R"(  With several keys, the worst of them: 5, else 1, else 0.

Examples:
  rlctl inspect login:alice
  rlctl inspect --limit 5/60s --watch login:alice
  rlctl inspect --match 'login:*'
  rlctl list --above 80% --json | jq -r .key | rlctl inspect -
  rlctl inspect --json --entries all -- "$key" | jq .used
)",
             .notes = [] { return list_algorithms(""); },
             .complete_operand = complete_key},
    .add = add_command<inspect::Plan, inspect::declare_options, inspect::run>};

}  // namespace rlctl::cli
