#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/command.h"
#include "cli/debug/coverage.h"
#include "cli/debug/json.h"
#include "cli/debug/keys.h"
#include "cli/debug/options.h"
#include "cli/debug/place.h"
#include "cli/debug/plan.h"
#include "cli/debug/redis_cli.h"
#include "cli/debug/repl.h"
#include "cli/debug/replay.h"
#include "cli/debug/view.h"
#include "cli/failure.h"
#include "cli/term/output.h"
#include "cli/term/terminal.h"
#include "ldb/coverable_lines.h"
#include "ldb/trace.h"
#include "redis/error.h"
#include "redis/reply.h"

namespace rlctl::cli {
namespace {

using ldb::Ending;

/// "my.lua:12: WRONGTYPE Operation against ...", where nothing else tells it.
void tell_failure(const DebugPlan& plan, const ldb::TraceResult& result,
                  const Invocation& invocation) {
  if (result.ending == Ending::kReturned) return;
  const bool is_cut_off = result.ending == Ending::kCutOff;
  const auto line = result.error_line > 0 ? fmt::format(":{}", result.error_line) : "";
  write_stderr(render({.status = status_of(result),
                       .code = is_cut_off ? "cut_off" : "script",
                       .message = fmt::format("{}{}: {}{}", plan.debuggee.name, line,
                                              is_cut_off ? "cut off: " : "", result.message)},
                      invocation.command, invocation.json));
}

// ---- What is shown ----

/// A run, line by line, as text or JSON.
class TraceView {
 public:
  TraceView(Invocation& invocation, const ldb::Debuggee& debuggee)
      : out_(invocation.out),
        look_(look_of(out_.fd())),
        is_terminal_(is_terminal(out_.fd())),
        text_(out_.buffer(), look_, debuggee, {.value = 0, .cuts_source = is_terminal_}) {
    if (invocation.json) json_.emplace(out_.buffer(), debuggee);
  }

  void line(const ldb::TracedLine& traced) {
    if (json_) {
      json_->line(traced);
    } else {
      text_.traced(traced);
    }
    // A long run is seen as it goes.
    if (is_terminal_ || out_.buffer().size() > kPiece) out_.flush();
  }
  /// `kept`: what became of what the script wrote; empty: see the keys.
  void result(const ldb::TraceResult& result, const std::vector<KeyChange>& keys,
              std::string_view kept) {
    if (json_) {
      json_->result(result);
      for (const auto& key : keys) json_->key(key);
    } else {
      text_.traced_result(result, kept.empty() ? changes_text(keys) : std::string(kept));
      for (const auto& key : keys) {
        if (key.changed) text_.say("  " + text_of(key, look_.utf8));
      }
    }
  }

 private:
  static constexpr std::size_t kPiece = 16UL * 1024;

  static std::string changes_text(const std::vector<KeyChange>& keys) {
    std::size_t changed = 0;
    for (const auto& key : keys) changed += key.changed ? 1 : 0;
    if (changed == 0) return "nothing was changed";
    return fmt::format("{} key{} changed", changed, changed == 1 ? " was" : "s were");
  }

  Output& out_;
  Look look_;
  bool is_terminal_;
  DebugView text_;
  std::optional<TraceJson> json_;
};

// ---- The session ----

/// Different calls that are looked through for keys.
constexpr std::size_t kMostCalls = 1000;

class DebugSession {
 public:
  DebugSession(const DebugPlan& plan, Invocation& invocation)
      : plan_(plan), invocation_(invocation) {
    // Before a server is started.
    if (plan.replay) replay_.emplace(plan, invocation);
    place_.emplace(plan, invocation);
  }

  [[nodiscard]] ExitStatus run(Destination& lcov);

 private:
  /// What is debugged, and as of when.
  struct Target {
    ldb::Debuggee debuggee;
    std::optional<std::chrono::microseconds> now = {};
  };
  [[nodiscard]] Target next_target();
  void warn_of_other_keys(const std::set<std::vector<std::string>>& calls, const Target& target);
  [[nodiscard]] ldb::TraceResult trace(const Target& target,
                                       const std::function<void(const ldb::TracedLine&)>& on_line);
  [[nodiscard]] ExitStatus run_one();
  [[nodiscard]] ExitStatus run_all();
  void show(TraceView& view, const ldb::TraceResult& result, const KeyWatch* watch);
  [[nodiscard]] std::optional<std::vector<KeyChange>> changes_after(const ldb::TraceResult& result,
                                                                    const KeyWatch& watch);
  void prepare_coverage();
  void show_coverage(Destination& lcov);
  [[nodiscard]] std::string source_path() const;
  void warn_of_expiry() const;

  const DebugPlan& plan_;
  Invocation& invocation_;
  std::optional<DebugReplay> replay_;
  std::optional<DebugPlace> place_;
  std::optional<Coverage> coverage_;
};

DebugSession::Target DebugSession::next_target() {
  if (!replay_) return {.debuggee = plan_.debuggee, .now = plan_.now};
  auto connection = place_->connect();
  replay_->run_skipped(connection);
  auto call = replay_->next(connection);
  if (!plan_.quiet) warn("debugging " + replay_->request_text(), invocation_.command);
  return {.debuggee = std::move(call->debuggee), .now = call->now};
}

ldb::TraceResult DebugSession::trace(const Target& target,
                                     const std::function<void(const ldb::TracedLine&)>& on_line) {
  // What runs in the server itself is not left half done.
  ldb::TraceOptions options{.max_steps = plan_.max_steps,
                            .lets_go = plan_.where == DebugWhere::kSync};
  if (freezes_time(plan_)) options.now = target.now;
  auto result = ldb::trace(
      target.debuggee, place_->mode(), [this] { return place_->connect(); }, options,
      [&](const ldb::TracedLine& line) {
        on_line(line);
        invocation_.interrupt.check();
      });
  if (coverage_) coverage_->add(result.hits);
  return result;
}

void DebugSession::show(TraceView& view, const ldb::TraceResult& result, const KeyWatch* watch) {
  std::vector<KeyChange> keys;
  std::string kept;
  if (!place_->is_private()) {
    kept = kept_text(place_->mode(), result.ending);
  } else if (auto changes = changes_after(result, *watch)) {
    keys = std::move(*changes);
  } else {
    kept = "what was changed is not known";
  }
  view.result(result, keys, kept);
}

/// None where the server does not answer any more, since the script goes on: it may have caught
/// what was to end it.
std::optional<std::vector<KeyChange>> DebugSession::changes_after(const ldb::TraceResult& result,
                                                                  const KeyWatch& watch) {
  constexpr std::chrono::seconds kPatience{1};
  auto connection = place_->connect();
  if (result.ending != Ending::kCutOff) return watch.changes(connection);
  connection.set_timeout(kPatience);
  try {
    return watch.changes(connection);
  } catch (const redis::Error& error) {
    return std::nullopt;
  }
}

/// Of keys that were not copied the script has seen nothing, which makes its answer another one.
void DebugSession::warn_of_other_keys(const std::set<std::vector<std::string>>& calls,
                                      const Target& target) {
  if (plan_.quiet || place_->copied_from().empty()) return;
  auto connection = place_->connect();
  std::set<std::string> others;
  for (const auto& words : calls) {
    std::vector<std::string_view> command{"COMMAND", "GETKEYS"};
    command.insert(command.end(), words.begin(), words.end());
    const auto keys = connection.call(redis::Arguments(command));
    for (std::size_t i = 0; i < keys.size(); ++i) others.emplace(keys[i].text());
  }
  for (const auto& key : target.debuggee.keys) others.erase(key);
  if (others.empty()) return;
  const auto more = others.size() == 1 ? "" : fmt::format(" and {} more", others.size() - 1);
  warn(fmt::format("warning: it uses {}{}, which is not among its KEYS and was not copied from {}: "
                   "what is there it did not see; --attach shows it that",
                   in_quotes(*others.begin()), more, place_->copied_from()),
       invocation_.command);
}

ExitStatus DebugSession::run_one() {
  const auto target = next_target();
  std::optional<KeyWatch> watch;
  if (plan_.trace && place_->is_private()) {
    auto connection = place_->connect();
    watch.emplace(connection, plan_, target.debuggee.keys, target.now);
  }
  TraceView view(invocation_, target.debuggee);
  std::set<std::vector<std::string>> calls;
  const auto result = trace(target, [&](const ldb::TracedLine& line) {
    if (plan_.trace) view.line(line);
    for (const auto& call : line.calls) {
      if (!call.raw && calls.size() < kMostCalls) calls.insert(call.words);
    }
  });
  const auto problem = problem_of(result);
  if (problem) throw ProblemError(*problem);
  if (result.ending != Ending::kCutOff) warn_of_other_keys(calls, target);
  if (plan_.trace) {
    show(view, result, watch ? &*watch : nullptr);
  } else {
    tell_failure(plan_, result, invocation_);
  }
  return status_of(result);
}

/// For their coverage.
ExitStatus DebugSession::run_all() {
  auto connection = place_->connect();
  auto status = ExitStatus::kDone;
  while (const auto call = replay_->next(connection)) {
    const auto result =
        trace({.debuggee = call->debuggee, .now = call->now}, [](const ldb::TracedLine&) {});
    if (const auto problem = problem_of(result)) throw ProblemError(*problem);
    if (status == ExitStatus::kDone) {
      status = status_of(result);
      tell_failure(plan_, result, invocation_);
    }
    // The server is busy with it.
    if (result.ending == Ending::kCutOff) return ExitStatus::kDenied;
    if (result.ending == Ending::kCompileError) break;
    replay_->finish(connection);
  }
  return status;
}

/// As tools find it again.
std::string DebugSession::source_path() const {
  std::error_code failed;
  if (plan_.algorithm == nullptr) {
    const auto path = std::filesystem::canonical(plan_.path, failed);
    return failed ? plan_.path : path.string();
  }
  const auto path = bundled_file(plan_.debuggee);
  return path.empty() ? plan_.debuggee.name : path;
}

void DebugSession::show_coverage(Destination& lcov) {
  if (!coverage_) return;
  auto& out = invocation_.out;
  if (lcov.is_wanted()) {
    std::string text;
    coverage_->append_lcov(text, source_path());
    lcov.write(text);
    lcov.commit();
  }
  if (lcov.to_stdout()) return;
  if (invocation_.json) {
    coverage_->append_json(out.buffer());
  } else {
    coverage_->append_text(out.buffer(), look_of(out.fd()));
  }
}

/// There is none of a script that does not compile; that is told when it is run.
void DebugSession::prepare_coverage() {
  if (!plan_.coverage) return;
  auto connection = place_->connect();
  try {
    const auto& source = plan_.debuggee.source;
    coverage_.emplace(source, ldb::coverable_lines_as_run(connection, source));
  } catch (const redis::Error& error) {
    if (error.failure() != redis::Failure::kRejected) throw;
  }
}

/// A key that is to expire at a time of day does so by the server's clock.
void DebugSession::warn_of_expiry() const {
  constexpr std::array<std::string_view, 3> kAtTimes{"EXPIREAT", "EXAT", "PXAT"};
  if (plan_.quiet || !(plan_.replay || plan_.now)) return;
  std::string source = plan_.debuggee.source;
  std::transform(source.begin(), source.end(), source.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  for (const auto word : kAtTimes) {
    if (source.find(word) == source.npos) continue;
    return warn(fmt::format("warning: {} has the word {}: a key that expires at a time does so by "
                            "the server's clock, not by that of --now or --replay",
                            plan_.debuggee.name, word),
                invocation_.command);
  }
}

ExitStatus DebugSession::run(Destination& lcov) {
  warn_of_expiry();
  if (plan_.interactive) {
    const auto target = next_target();
    return run_by_hand(plan_, invocation_, *place_, target.debuggee, target.now);
  }
  prepare_coverage();
  const auto status = plan_.is_whole_replay ? run_all() : run_one();
  show_coverage(lcov);
  invocation_.out.flush();
  return status;
}

void require_one_output(const DebugOptions& options, const Invocation& invocation) {
  if (options.lcov != "-" || !(invocation.json || options.trace)) return;
  throw UsageError("standard output is asked for more than once",
                   "of --json and --trace, and --lcov with -, give one");
}

ExitStatus run_debug(const DebugOptions& options, Invocation& invocation) {
  const auto plan = make_debug_plan(options, invocation);
  if (plan.redis_cli || plan.print_command) return run_redis_cli(plan, invocation);
  require_one_output(options, invocation);
  Destination lcov("--lcov", options.lcov, invocation.out);
  try {
    return DebugSession(plan, invocation).run(lcov);
  } catch (const OutputClosed&) {
    throw;
  } catch (const std::exception&) {
    // What was traced until then is worth seeing.
    invocation.out.flush();
    throw;
  }
}

Action add_debug(Options& options) {
  auto target = std::make_shared<DebugOptions>();
  add_debug_options(options, *target);
  return [target](Invocation& invocation) { return run_debug(*target, invocation); };
}

}  // namespace

const Command debug_command{
    .name = "debug",
    .summary = "run a limiter's script line by line, and show what each line did",
    .synopsis =
        "[connection] debug SCRIPT KEY --limit LIMIT [--trace] [options]\n"
        "[connection] debug FILE.lua [KEY...] [--args WORDS] [options]\n"
        "[connection] debug --policy NAME [--trace] [options] [ARGUMENT...]\n"
        "debug SCRIPT --replay FILE [--skip NUMBER] [--trace] [options]",
    .about =
        "Runs a bundled script, or anyone's, in the server's debugger: stepped by hand\n"
        "('help' lists the commands), or with --trace all at once, each line with the\n"
        "calls it made, their replies, and the variables it changed. That happens on\n"
        "a private server, to which the state of the script's keys is copied from the\n"
        "server that the connection names: there nothing is changed, and nobody waits.",
    .epilogue = R"(
Exit status:
  0  the script returned, or was left by its user
  1  it was cut off (--max-steps, no line in 5 seconds, an evaluation of 2), or
     --sync was not allowed
  2  wrong usage or input, a command that could not be done, or output that
     cannot be written
  3  no server, no answer in time, or the server is not ready (LOADING, BUSY)
  4  the server refuses this user (NOAUTH, NOPERM)
  5  it raised an error, replied one, or does not compile

Examples:
  rlctl debug sliding-window-log login:ann --limit 5/60s
  rlctl debug sliding-window-log login:ann --limit 5/60s --trace
  rlctl debug my.lua 'hist:ann' --args '60 {limit}' --limit 5/60s --trace --json
  rlctl debug my.lua --args '{now_ms}' --limit 5/60s --replay found.log --skip 3
  rlctl debug gcra --limit 10/s --replay found.log --coverage --lcov gcra.info
  rlctl debug --policy login alice --print-command
)",
    .add = add_debug,
    .notes = debug_notes};

}  // namespace rlctl::cli
