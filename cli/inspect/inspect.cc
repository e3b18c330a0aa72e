#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/inspect/inspector.h"
#include "cli/inspect/json.h"
#include "cli/inspect/text.h"
#include "cli/inspect/watch.h"
#include "cli/limits.h"
#include "cli/term/progress.h"
#include "cli/term/style.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {
namespace {

struct InspectOptions {
  LimitOptions limit;
  std::optional<std::string> entries, now;
  OptionalValue watch;
};

constexpr std::int64_t kMostEntries = 1'000'000'000;
void add_inspect_options(Options& options, InspectOptions& target) {
  options.group("Options");
  add_optional_limit_options(options, target.limit);
  options.value("--entries", "NUMBER", target.entries,
                "list this many of the newest entries, or all (default: 20)");
  options
      .optional_value("--watch", "TIME", target.watch,
                      "repeat every TIME (default: 1s) until Ctrl-C")
      .excludes("--now", "a given time does not pass");
  options.value("--now", "TIME", target.now, kNowHelp);
}

std::optional<std::int64_t> parse_entries(const std::string& text) {
  if (text == "all") return std::nullopt;
  try {
    const auto number = parse_whole(text, "--entries");
    if (number >= 0 && number <= kMostEntries) return number;
  } catch (const UsageError&) {
    // The error below also names "all".
  }
  throw UsageError("--entries must be from 0 to " + std::to_string(kMostEntries) +
                   ", or all, not " + in_quotes(text));
}

InspectPlan make_plan(const InspectOptions& options, ConfigurationSource& configuration) {
  InspectPlan plan;
  plan.limiter = resolve_optional_limiter(options.limit, configuration);
  plan.names_algorithm = options.limit.algorithm || options.limit.policy;
  if (options.entries) plan.entries = parse_entries(*options.entries);
  if (options.now) plan.now = parse_now(*options.now);
  return plan;
}

/// One run: everything that each look at the keys needs.
class Inspecting {
 public:
  Inspecting(const InspectPlan& plan, bool entries_are_asked, bool watches, bool redraws,
             std::vector<std::string> keys, Invocation& invocation)
      : plan_(plan),
        entries_are_asked_(entries_are_asked),
        watches_(watches),
        redraws_(redraws),
        keys_(std::move(keys)),
        invocation_(invocation),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt),
        progress_(!redraws && is_terminal(STDERR_FILENO)),
        inspector_(plan_, invocation.configuration, keys_,
                   [this](double share, std::string_view what) { progress_.update(share, what); }) {
  }

  /// Appends the output for all keys once, including keys read before an error. An error of one key
  /// is reported and ends nothing, but it is thrown while keys are watched.
  void read(std::string& out);
  /// The worst of all keys, at the last read().
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  void fit_to(const Look& look);
  void read_key(const std::string& key);
  void drop_connection();
  void tell(const std::string& key, const std::exception& error);
  [[nodiscard]] std::string text(const Findings& findings, const Look& look,
                                 std::optional<std::int64_t> entries) const;
  void append_screen(std::string& out, const Look& look) const;
  void warn(const Findings& findings);

  InspectPlan plan_;
  bool entries_are_asked_;
  bool watches_;
  bool redraws_;
  std::vector<std::string> keys_;
  Invocation& invocation_;
  Connector connector_;
  std::optional<redis::Connection> connection_;
  Progress progress_;
  Inspector inspector_;
  std::vector<Findings> findings_;
  std::set<std::string> warned_;
  ExitStatus status_ = ExitStatus::kDone;
};

/// As many bars as there are columns.
void Inspecting::fit_to(const Look& look) {
  if (!invocation_.json) plan_.columns_for_bars = columns_for_bars(look);
}

/// Whether the error is about one key, so that another one may be had.
bool is_of_one_key(const redis::Error& error) {
  if (error.failure() == redis::Failure::kNotNow) return error.code().empty();
  return error.code() == "WRONGTYPE" || error.code() == "NOPERM";
}

/// After an error: commands already sent on it would be answered out of turn.
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

void Inspecting::read_key(const std::string& key) {
  try {
    if (!connection_) connection_.emplace(connector_.open());
    findings_.push_back(inspector_.inspect(*connection_, key));
    status_ = std::max(status_, status_of(findings_.back()));
  } catch (const redis::Error& error) {
    if (watches_ || !is_of_one_key(error)) throw;
    tell(key, error);
  }
}

void Inspecting::read(std::string& out) {
  const Look look = look_of(invocation_.out.fd());
  fit_to(look);
  status_ = ExitStatus::kDone;
  findings_.clear();
  const auto begin = out.size();
  try {
    for (const auto& key : keys_) {
      const auto before = findings_.size();
      read_key(key);
      progress_.clear();
      if (redraws_ || findings_.size() == before) continue;
      if (out.size() > begin && !invocation_.json) out += '\n';
      out += text(findings_.back(), look, std::nullopt);
      warn(findings_.back());
      findings_.clear();
    }
  } catch (const redis::Error& error) {
    drop_connection();
    throw ProblemError(without_doubt(describe(error)));  // looks leave no trace
  } catch (...) {
    drop_connection();
    throw;
  }
  if (redraws_) append_screen(out, look);
}

/// With at most that many entries of each key.
std::string Inspecting::text(const Findings& findings, const Look& look,
                             std::optional<std::int64_t> entries) const {
  std::string out;
  for (const auto& inspection : findings.inspections) {
    if (invocation_.json) {
      append_inspection_json(out, inspection);
      continue;
    }
    if (!out.empty()) out += '\n';
    const auto most = static_cast<std::size_t>(entries.value_or(INT64_MAX));
    if (inspection.entries.size() <= most) {
      append_inspection_text(out, inspection, look, connector_.name());
      continue;
    }
    auto shorter = inspection;
    shorter.entries.erase(shorter.entries.begin(),
                          shorter.entries.end() - static_cast<std::ptrdiff_t>(most));
    append_inspection_text(out, shorter, look, connector_.name());
  }
  return out;
}

/// Everything on one screen if possible: the oldest entries are dropped first. Warnings are part of
/// it, as there is no other place for them.
void Inspecting::append_screen(std::string& out, const Look& look) const {
  const auto lines = static_cast<std::ptrdiff_t>(terminal_height(invocation_.out.fd())) - 1;
  for (auto entries = plan_.entries.value_or(INT64_MAX);; --entries) {
    std::string screen;
    for (const auto& findings : findings_) {
      if (!screen.empty()) screen += '\n';
      screen += text(findings, look, entries);
      for (const auto& warning : findings.warnings) {
        std::string message;
        escape_message(message, warning);
        screen.append(toned(message, Tone::kWarning, look.colour)).append("\n");
      }
    }
    const bool fits = std::count(screen.begin(), screen.end(), '\n') <= lines;
    if (!fits && !entries_are_asked_ && entries > 0) continue;
    out += screen;
    return;
  }
}

/// Each warning once.
void Inspecting::warn(const Findings& findings) {
  for (const auto& warning : findings.warnings) {
    if (!warned_.insert(warning).second) continue;
    write_stderr(render({.message = "warning: " + warning}, invocation_.command, false));
  }
}

std::vector<std::string> keys_of(const InspectPlan& plan, const Invocation& invocation) {
  const auto* limiter = plan.limiter ? &*plan.limiter : nullptr;
  auto keys = asked_keys(limiter, invocation.operands);
  if (keys.empty()) throw UsageError("no KEY is given", "rlctl inspect login:alice");
  // Each once, in the order in which they were asked for.
  std::set<std::string> seen;
  std::erase_if(keys, [&](const auto& key) { return !seen.insert(key).second; });
  return keys;
}

/// `--watch 2s KEY` would watch a key 2s.
void refuse_loose_time(const InspectOptions& options, const Invocation& invocation) {
  const auto& operands = invocation.operands;
  if (!options.watch.given || options.watch.value || operands.size() < 2) return;
  try {
    static_cast<void>(parse_duration(operands[0]));
  } catch (const UsageError&) {
    return;
  }
  throw UsageError(
      "--watch: is " + in_quotes(operands[0]) + " a KEY, or how often to look?",
      "write a time as --watch=" + operands[0] + "; put a KEY that looks like one last");
}

ExitStatus run_inspect(const InspectOptions& options, Invocation& invocation) {
  refuse_loose_time(options, invocation);
  const InspectPlan plan = make_plan(options, invocation.configuration);
  const auto keys = keys_of(plan, invocation);
  const bool watches = options.watch.given;
  Watch how{.redraws = watches && !invocation.json && may_draw(invocation.out.fd())};
  if (watches) how.interval = parse_watch(options.watch);
  Inspecting inspecting(plan, options.entries.has_value(), watches, how.redraws, keys, invocation);
  if (watches) {
    watch(how, invocation, [&] {
      std::string text;
      inspecting.read(text);
      return text;
    });
  }
  try {
    inspecting.read(invocation.out.buffer());
  } catch (...) {
    invocation.out.flush();
    throw;
  }
  invocation.out.flush();
  return inspecting.status();
}

Action add_inspect(Options& options) {
  auto target = std::make_shared<InspectOptions>();
  add_inspect_options(options, *target);
  return [target](Invocation& invocation) { return run_inspect(*target, invocation); };
}

}  // namespace

const Command inspect_command{
    .name = "inspect",
    .summary = "show what a limiter holds of a key, and change nothing",
    .synopsis =
        "[connection] inspect [options] [--] KEY...\n"
        "[connection] inspect --policy NAME [options] [--] [ARGUMENT...]",
    .about =
        "Shows which algorithm a KEY belongs to, how much is used and when the next\n"
        "is free. Reads only: nothing is pruned and no TTL touched; a replica will do.",
    .epilogue = R"(
Exit status:
  0  found
  1  there is no such key
  2  wrong usage or input, or output that cannot be written
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  the key is no limiter's, or the server failed
  Of several keys the worst: 5, 1, 0.

Examples:
  rlctl inspect login:alice
  rlctl inspect --limit 5/60s --watch login:alice
  rlctl inspect --json --entries all -- "$key" | jq .used
)",
    .add = add_inspect,
    .notes = algorithm_help};

}  // namespace rlctl::cli
