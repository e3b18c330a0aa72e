#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "cli/command.h"
#include "cli/escape.h"
#include "cli/inspection_json.h"
#include "cli/inspection_text.h"
#include "cli/inspector.h"
#include "cli/limit_options.h"
#include "cli/now_option.h"
#include "cli/progress.h"
#include "cli/style.h"
#include "cli/terminal.h"
#include "cli/watch.h"

namespace rlctl::cli {
namespace {

struct InspectOptions {
  LimitOptions limit;
  std::optional<std::string> entries, now;
  OptionalValue watch;
};

constexpr std::int64_t kEntries = 20;
constexpr std::int64_t kMostEntries = 1'000'000'000;
/// Lines of a block besides those of its entries, about; where a terminal is too narrow for an
/// entry in one line, others have two as well.
constexpr std::int64_t kOtherLines = 9, kOtherLinesNarrow = 13;
constexpr std::size_t kEntryInOneLine = 72;

void add_inspect_options(Options& options, InspectOptions& target) {
  options.group("Options");
  add_limit_options(options, target.limit);
  options.value("--entries", "NUMBER", target.entries,
                "how many entries are listed, the newest, or all (default: 20)");
  options.optional_value("--watch", "TIME", target.watch,
                         "look again and again, every TIME (default: 1s), until Ctrl-C");
  options.value("--now", "TIME", target.now,
                "instead of the server's clock: microseconds since 1970, or ISO 8601 with a zone");
}

std::optional<std::int64_t> parse_entries(const std::string& text) {
  if (text == "all") return std::nullopt;
  try {
    const auto number = limiter::parse_whole(text, "--entries");
    if (number >= 0 && number <= kMostEntries) return number;
  } catch (const limiter::UsageError&) {
    // Said below, with "all" among what is accepted.
  }
  throw UsageError("--entries must be from 0 to " + std::to_string(kMostEntries) +
                   ", or all, not " + in_quotes(text));
}

InspectPlan make_plan(const InspectOptions& options, ConfigurationSource& configuration) {
  if (options.watch.given && options.now) {
    throw UsageError("--watch and --now exclude each other: a given time does not pass");
  }
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
  Inspecting(const InspectPlan& plan, bool entries_are_asked, bool redraws,
             std::vector<std::string> keys, Invocation& invocation)
      : plan_(plan),
        entries_are_asked_(entries_are_asked),
        redraws_(redraws),
        keys_(std::move(keys)),
        invocation_(invocation),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt),
        progress_(!redraws && is_terminal(STDERR_FILENO)),
        inspector_(plan_, invocation.configuration,
                   [this](double share, std::string_view what) { progress_.update(share, what); }) {
  }

  /// What is printed of all keys, once.
  std::string read();
  /// The worst of all keys, at the last read().
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  void fit_to(const Look& look);
  void append(std::string& out, const Findings& findings, const Look& look);
  void append_warnings(std::string& out, const Findings& findings, const Look& look);

  InspectPlan plan_;
  bool entries_are_asked_;
  bool redraws_;
  std::vector<std::string> keys_;
  Invocation& invocation_;
  Connector connector_;
  std::optional<redis::Connection> connection_;
  Progress progress_;
  Inspector inspector_;
  std::set<std::string> warned_;
  ExitStatus status_ = ExitStatus::kDone;
};

/// Bars as many as there are columns; on a screen no more entries than lines.
void Inspecting::fit_to(const Look& look) {
  if (!invocation_.json) plan_.columns_for_bars = columns_for_bars(look);
  if (!redraws_ || entries_are_asked_) return;
  const bool narrow = look.columns < kEntryInOneLine;
  const auto lines =
      static_cast<std::int64_t>(terminal_height(invocation_.out.fd()) / keys_.size());
  const auto room = narrow ? (lines - kOtherLinesNarrow) / 2 : lines - kOtherLines;
  plan_.entries = std::clamp<std::int64_t>(room, 0, kEntries);
}

std::string Inspecting::read() {
  const Look look = look_of(invocation_.out.fd());
  fit_to(look);
  std::string out;
  status_ = ExitStatus::kDone;
  try {
    if (!connection_) connection_.emplace(connector_.open());
    for (const auto& key : keys_) {
      const auto findings = inspector_.inspect(*connection_, key);
      status_ = std::max(status_, status_of(findings));
      append(out, findings, look);
    }
  } catch (...) {
    // What was sent on it has no answer any more.
    connection_.reset();
    progress_.clear();
    throw;
  }
  progress_.clear();
  return out;
}

void Inspecting::append(std::string& out, const Findings& findings, const Look& look) {
  for (const auto& inspection : findings.inspections) {
    if (invocation_.json) {
      append_inspection_json(out, inspection);
      continue;
    }
    if (!out.empty()) out += '\n';
    append_inspection_text(out, inspection, look);
  }
  append_warnings(out, findings, look);
}

/// On a screen, where there is no place beside it, warnings are part of the text.
void Inspecting::append_warnings(std::string& out, const Findings& findings, const Look& look) {
  for (const auto& warning : findings.warnings) {
    if (redraws_) {
      std::string text;
      escape_message(text, warning);
      out.append(toned(text, Tone::kWarning, look.colour)).append("\n");
    } else if (warned_.insert(warning).second) {
      progress_.clear();
      write_stderr(render({.message = "warning: " + warning}, invocation_.command, false));
    }
  }
}

std::vector<std::string> keys_of(const InspectPlan& plan, const Invocation& invocation) {
  const auto* limiter = plan.limiter ? &*plan.limiter : nullptr;
  auto keys = asked_keys(limiter, invocation.operands);
  if (keys.empty()) throw UsageError("no KEY is given", "rlctl inspect login:alice");
  return keys;
}

ExitStatus run_inspect(const InspectOptions& options, Invocation& invocation) {
  const InspectPlan plan = make_plan(options, invocation.configuration);
  const auto keys = keys_of(plan, invocation);
  const bool watches = options.watch.given;
  Watch how{.redraws = watches && !invocation.json && is_terminal(invocation.out.fd())};
  if (watches) how.interval = parse_watch(options.watch);
  Inspecting inspecting(plan, options.entries.has_value(), how.redraws, keys, invocation);
  if (watches) watch(how, invocation, [&] { return inspecting.read(); });
  invocation.out.write(inspecting.read());
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
    .synopsis = "[connection] inspect [options] [--] KEY...",
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
    .add = add_inspect};

}  // namespace rlctl::cli
