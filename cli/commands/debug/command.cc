#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/app/command.h"
#include "cli/commands/debug/coverage.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/plan.h"
#include "cli/commands/debug/redis_cli.h"
#include "cli/commands/debug/repl.h"
#include "cli/commands/debug/replay.h"
#include "cli/commands/debug/view.h"
#include "cli/errors/failure.h"
#include "cli/options/completions.h"
#include "cli/server/complete_key.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "ldb/coverable_lines.h"
#include "ldb/probes.h"
#include "ldb/session.h"
#include "ldb/trace.h"
#include "lua/shebang.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "traffic/script.h"

namespace rlctl::cli::debug {
namespace {

using ldb::Ending;

/// Reports "my.lua:12: WRONGTYPE Operation against ...", for a run that is not traced.
void report_failure(const Plan& plan, const ldb::TraceResult& result,
                    const Invocation& invocation) {
  if (status_of(result) == ExitStatus::kDone) return;
  const bool is_cut_off = result.ending == Ending::kCutOff;
  const bool is_reply = result.ending == Ending::kReturned;
  const auto* how = is_cut_off ? "cut off: " : "";
  if (is_reply) how = "returned the error ";
  const auto line = result.error_line > 0 ? fmt::format(":{}", result.error_line) : "";
  const auto message =
      is_reply ? ldb::with_source_lines(result.reply->text(), result.text_lines) : result.message;
  write_stderr(render({.status = status_of(result),
                       .code = is_cut_off ? "cut_off" : "script",
                       .message = fmt::format("{}{}: {}{}", plan.debuggee.name, line, how, message),
                       .hint = missing_words(plan, result)},
                      invocation.command, invocation.json));
}

// ---- Output ----

/// Shows a run line by line, as text or JSON.
class TraceView {
 public:
  TraceView(Invocation& invocation, const ldb::Debuggee& debuggee, std::size_t maxlen)
      : out_(invocation.out),
        look_(out_.look()),
        is_terminal_(is_terminal(out_.fd())),
        text_(out_.buffer(), look_, debuggee, {.value = maxlen, .cuts_source = is_terminal_}) {
    if (invocation.json) json_.emplace(out_.buffer(), debuggee);
  }

  void line(const ldb::TracedLine& traced) {
    if (json_) {
      json_->line(traced);
    } else {
      text_.traced(traced);
    }
    // Show a long run as it proceeds.
    is_terminal_ ? out_.flush() : out_.flush_if_large();
  }
  /// `kept` says what happened to the script's writes; if it is empty, `keys` do.
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

  void reading(const ReplyAsRead& reading) {
    if (json_) {
      json_->reading(reading);
    } else {
      text_.reading(reading);
    }
  }

 private:
  static std::string changes_text(const std::vector<KeyChange>& keys) {
    std::size_t changed = 0;
    for (const auto& key : keys) changed += key.changed ? 1 : 0;
    if (changed == 0) return "nothing was changed";
    return fmt::format("{} key{} changed", changed, changed == 1 ? " was" : "s were");
  }

  Output& out_;
  Look look_;
  bool is_terminal_;
  View text_;
  std::optional<TraceJson> json_;
};

// ---- The session ----

/// The maximum number of distinct calls that are searched for keys.
constexpr std::size_t kMaxCalls = 1000;

class Session {
 public:
  /// Changes the plan's source if the server accepts it only in another form.
  Session(Plan& plan, Invocation& invocation) : plan_(plan), invocation_(invocation) {
    // Read the log before a server is started.
    if (plan.replay) replay_.emplace(plan, invocation);
    place_.emplace(plan, invocation);
    if (lua::read_shebang(plan.debuggee.source)) plan.debuggee.source = accepted_source();
    if (replay_) replay_->connect(place_->connect());
  }

  [[nodiscard]] ExitStatus run(Destination& lcov) {
    if (plan_.is_interactive()) {
      const auto target = next_target();
      return run_by_hand(plan_, invocation_, *place_, target.debuggee, target.now);
    }
    prepare_coverage();
    const auto status = plan_.is_whole_replay() ? run_all() : run_one();
    show_coverage(lcov);
    invocation_.out.flush();
    return is_covered() || status != ExitStatus::kDone ? status : ExitStatus::kDenied;
  }

 private:
  [[nodiscard]] Target next_target() {
    if (!replay_) return {.debuggee = plan_.debuggee, .now = plan_.now, .values = plan_.values};
    replay_->run_skipped();
    auto call = replay_->last();
    if (!plan_.quiet) warn("debugging " + replay_->request_text(), invocation_.command);
    return call;
  }

  /// Warns of keys that were not copied: the script did not see their contents, which may change
  /// its result.
  void warn_of_other_keys(const std::set<std::vector<std::string>>& calls, const Target& target) {
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
    warn(fmt::format(
             "warning: the script uses {}{}, which is not among its KEYS and was not copied from "
             "{}: it did not see the contents; with --attach, it does",
             in_quotes(*others.begin()), more, place_->copied_from()),
         invocation_.command);
  }

  [[nodiscard]] ldb::TraceResult trace(const Target& target,
                                       const std::function<void(const ldb::TracedLine&)>& on_line) {
    // Do not end a script halfway if it runs in the server itself.
    ldb::TraceOptions options{.max_steps = plan_.max_steps.value_or(ldb::kDefaultSteps),
                              .lets_go = plan_.where() == Where::kSync};
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

  [[nodiscard]] ExitStatus run_one() {
    const auto target = next_target();
    std::optional<KeyWatch> watch;
    if (plan_.trace && place_->is_private()) {
      auto connection = place_->connect();
      watch.emplace(connection, plan_, target.debuggee.keys, target.now);
    }
    TraceView view(invocation_, target.debuggee, plan_.maxlen.value_or(0));
    std::set<std::vector<std::string>> calls;
    const auto result = trace(target, [&](const ldb::TracedLine& line) {
      if (plan_.trace) view.line(line);
      for (const auto& call : line.calls) {
        if (!call.raw && calls.size() < kMaxCalls) calls.insert(call.words);
      }
    });
    const auto problem = problem_of(result);
    if (problem) throw ProblemError(*problem);
    if (result.ending != Ending::kCutOff) warn_of_other_keys(calls, target);
    if (plan_.trace) {
      show(view, target, result, watch ? &*watch : nullptr);
      report_missing_words(result);
    } else {
      report_failure(plan_, result, invocation_);
    }
    return status_of(result);
  }

  /// Runs all requests for coverage.
  [[nodiscard]] ExitStatus run_all() {
    auto status = ExitStatus::kDone;
    while (const auto call = replay_->next()) {
      const auto result = trace(*call, [](const ldb::TracedLine&) {});
      if (const auto problem = problem_of(result)) throw ProblemError(*problem);
      const bool is_cut_off = result.ending == Ending::kCutOff;
      if (status == ExitStatus::kDone || is_cut_off) {
        status = status_of(result);
        report_failure(plan_, result, invocation_);
      }
      // The server is still busy with the script.
      if (is_cut_off) break;
      if (result.ending == Ending::kCompileError) break;
    }
    return status;
  }

  void show(TraceView& view, const Target& target, const ldb::TraceResult& result,
            const KeyWatch* watch) {
    std::vector<KeyChange> keys;
    std::string kept;
    if (!place_->is_private()) {
      kept = kept_text(place_->mode(), result.ending);
    } else if (auto changes = changes_after(result, *watch)) {
      keys = std::move(*changes);
    } else {
      kept = "the changes are not known";
    }
    view.result(result, keys, kept);
    if (plan_.reads_reply && result.ending == Ending::kReturned && !result.reply->is_error()) {
      view.reading(interpret(*result.reply, target.values));
    }
  }

  void report_missing_words(const ldb::TraceResult& result) {
    const auto missing = missing_words(plan_, result);
    if (missing.empty()) return;
    invocation_.out.flush();
    warn(missing, invocation_.command);
  }

  [[nodiscard]] ReplyAsRead interpret(redis::ReplyView reply,
                                      const traffic::TemplateValues& values) const {
    try {
      return {.decision =
                  traffic::read_reply(reply, plan_.foreign->reading, values, plan_.foreign->name)};
    } catch (const redis::Error& error) {
      return {.problem = error.what()};
    }
  }

  /// Returns none if the server no longer answers because the script runs on: it may have caught
  /// the error meant to end it.
  [[nodiscard]] std::optional<std::vector<KeyChange>> changes_after(const ldb::TraceResult& result,
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

  /// Returns the source in the form that the server accepts, or unchanged if it accepts none, or if
  /// this user may not load scripts.
  [[nodiscard]] std::string accepted_source() {
    const auto& debuggee = plan_.debuggee;
    auto connection = place_->connect();
    try {
      auto accepted = traffic::load_accepted(connection, debuggee.source, debuggee.name);
      if (!accepted.change.empty() && !plan_.quiet) {
        warn(fmt::format("warning: {}: {}", escape(debuggee.name), accepted.change),
             invocation_.command);
      }
      return std::move(accepted.source);
    } catch (const redis::Error&) {
      return debuggee.source;
    }
  }

  /// Sets up the coverage, except for a script that does not compile: running it reports the error.
  void prepare_coverage() {
    if (!plan_.coverage) return;
    auto connection = place_->connect();
    try {
      const auto& source = plan_.debuggee.source;
      coverage_.emplace(plan_.debuggee.shown_source(),
                        ldb::coverable_lines_as_run(connection, source));
    } catch (const redis::Error& error) {
      if (error.failure() != redis::Failure::kRejected) throw;
    }
  }

  void show_coverage(Destination& lcov) {
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
      coverage_->append_text(out.buffer(), out.look());
    }
  }

  /// Returns false, with a warning, if the coverage is below --fail-under.
  [[nodiscard]] bool is_covered() const {
    if (!coverage_ || !coverage_->is_below(plan_.min_coverage)) return true;
    warn(fmt::format("--fail-under {}: only {}", plan_.min_coverage, coverage_->summary()),
         invocation_.command);
    return false;
  }

  /// Returns the path of the source for lcov: absolute, if the file exists.
  [[nodiscard]] std::string source_path() const {
    std::error_code failed;
    if (plan_.algorithm == nullptr && plan_.path != kStandardInput) {
      const auto path = std::filesystem::canonical(plan_.path, failed);
      return failed ? plan_.path : path.string();
    }
    const auto path = bundled_file(plan_.debuggee);
    return path.empty() ? plan_.debuggee.name : path;
  }

  const Plan& plan_;
  Invocation& invocation_;
  std::optional<Replay> replay_;
  std::optional<Place> place_;
  std::optional<Coverage> coverage_;
};

void warn_of_comma(const Plan& plan, const Invocation& invocation) {
  const auto key = key_with_comma(plan);
  if (key.empty() || plan.quiet) return;
  warn(
      fmt::format("warning: the comma of {} is a part of this KEY; the comma before ARGV is a word "
                  "of its own: {} ,",
                  in_quotes(key), in_quotes(key.substr(0, key.size() - 1))),
      invocation.command);
}

ExitStatus run(const Plan& given, Invocation& invocation) {
  auto plan = make_plan(given, invocation);
  warn_of_comma(plan, invocation);
  if (plan.is_for_redis_cli()) return run_redis_cli(plan, invocation);
  require_one_on_stdout((plan.lcov == "-") + (invocation.json || plan.trace),
                        "use only one of --json, --trace and --lcov -");
  Destination lcov("--lcov", plan.lcov, invocation.out);
  try {
    return Session(plan, invocation).run(lcov);
  } catch (const OutputClosed&) {
    throw;
  } catch (const std::exception& error) {
    // Show what was traced so far.
    invocation.out.flush();
    // With --attach, a signal interrupts no wait, but it still ends the process.
    const bool is_ending = dynamic_cast<const Interrupted*>(&error) != nullptr;
    if (invocation.interrupt.signal() != 0 && !is_ending) {
      write_stderr(render(describe(error), invocation.command, invocation.json));
      throw Interrupted();
    }
    throw;
  }
}

/// Completes the script, unless an option names it, then KEYs.
Completions complete_operand(const CompletionContext& typed) {
  const auto& options = typed.options;
  const bool is_named = options.is_given("--algorithm") || options.is_given("--script") ||
                        options.is_given("--policy");
  return typed.operands.empty() && !is_named ? complete_limiter(typed) : complete_key(typed);
}

}  // namespace
}  // namespace rlctl::cli::debug

namespace rlctl::cli {

const Command debug_command{
    .text =
        {.name = "debug",
         .summary = "run a limiter's script line by line, and show what each line did",
         .synopsis = "[connection] debug SCRIPT [KEY...] [, ARG...] [--trace] [options]\n"
                     "[connection] debug --policy NAME [--trace] [options] [ARGUMENT...]\n"
                     "debug SCRIPT --replay FILE [--skip NUMBER] [--trace] [options]",
         .about =
             "Runs a bundled script, a file, or a script that the configuration names, in the\n"
             "server's debugger: step by step ('help' lists the commands), or with --trace all\n"
             "at once, showing each line, its calls, their replies, and the variables it\n"
             "changed. It runs on a private server with copies of the script's keys from the\n"
             "server that the connection names, which is neither changed nor blocked.",
         .statuses =
             {
                 "the script returned, or you left or aborted it",
                 "it was cut off (--max-steps, no line in 5 seconds, an evaluation of 2),\n"
                 "--sync was not confirmed, or the coverage is below --fail-under",
                 "wrong usage or input, a command that failed, or output that\n"
                 "cannot be written",
                 kStatusUnreachable,
                 kStatusRefused,
                 "it raised an error, replied with one, or does not compile",
             },
         .epilogue = R"(
Examples:
  rlctl debug sliding-window-log login:ann --limit 5/60s
  rlctl debug sliding-window-log login:ann --limit 5/60s --trace
  rlctl debug my.lua 'hist:ann' --args '60 {limit}' --limit 5/60s --trace --json
  rlctl debug my.lua KEY1 KEY2 , '{now_ms}' 60 --trace
  rlctl debug my.lua --args '{now_ms}' --limit 5/60s --replay found.log --skip 3
  rlctl debug gcra --limit 10/s --replay found.log --coverage --lcov gcra.info
  rlctl debug gcra --limit 10/s --replay found.log --coverage --fail-under 90
  rlctl debug --policy login alice --print-command
)",
         .notes = debug::notes,
         .complete_operand = debug::complete_operand},
    .add = add_command<debug::Plan, debug::add_options, debug::run>};

}  // namespace rlctl::cli
