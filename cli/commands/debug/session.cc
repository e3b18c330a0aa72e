#include "cli/commands/debug/plan.h"

#include <fmt/format.h>

#include <filesystem>
#include <functional>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/commands/debug/engine_keys.h"
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/repl.h"
#include "cli/commands/debug/setup.h"
#include "cli/commands/debug/view.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "debugger/run.h"
#include "keyspace/keyspace.h"
#include "lua/compiled.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "simulation/engine.h"
#include "traffic/traffic.h"

namespace rlctl::cli::debug {
namespace {

using debugger::Ending;

// ---- A log ----

/// Reads the plan's log. The reader's hints name options of burst, which debug does not have: they
/// are replaced.
replay::Recording read_log(const Plan& plan, const Interrupt& interrupt) {
  try {
    return replay::Recording(*plan.replay, interrupt);
  } catch (const UsageError& error) {
    if (error.hint().find("--") == std::string::npos) throw;
    throw InputError(error.what(),
                     "debug reads the formats that rlctl burst --formats lists, such as JSON lines "
                     "with time and key");
  }
}

/// Turns a log's requests into calls of the debugged script, in order, each at its own time: TTLs
/// elapse with that time, and the script sees it. The plan has the call of the current request.
class Replay {
 public:
  /// Reads the plan's log; bad lines are reported on stderr. Throws what replay::Recording throws,
  /// and UsageError if the log has too few requests to skip or a cost that the script does not
  /// accept.
  Replay(Plan& plan, const Invocation& invocation)
      : plan_(plan),
        invocation_(invocation),
        recording_(read_log(plan, invocation.interrupt)),
        traffic_(recording_.traffic()),
        candidate_{.algorithm = plan.algorithm, .limits = plan.limits, .foreign = plan.foreign},
        engine_(invocation.interrupt) {
    // A script that does not use the limit needs one, too.
    if (candidate_.limits.empty()) candidate_.limits.emplace_back();
    warn_of_bad_lines(recording_, invocation.command);
    const auto there = recording_.counts().requests;
    if (skipped_count() >= there) {
      throw UsageError(fmt::format("--skip {} leaves no request: the log has {}", skipped_count(),
                                   counted(there, "request")),
                       fmt::format("--skip {} debugs the last one", there - 1));
    }
    require_costs({&candidate_, 1}, recording_, "");
    script_ = script::make_script(candidate_, *traffic_, "", {.time = script::ScriptTime::kHost});
    const bool runs = skipped_count() > 0 || has_setup(plan);
    if (runs) script_->load(engine_);
  }

  /// Goes to the next request, and its time; returns false after the last one.
  bool next(keyspace::Keyspace& keys) {
    if (!traffic_->next(arrival_)) return false;
    ++number_;
    keys.set_time(std::max(keys.now(), arrival_.at), arrival_.at);
    for (const auto& call : script_->preparation(arrival_)) {
      script_->require_prepared(engine_.run(call, keys));
    }
    call_ = script_->call(arrival_);
    plan_.debuggee.keys.assign(call_.keys.begin(), call_.keys.end());
    plan_.debuggee.arguments.assign(call_.arguments.begin(), call_.arguments.end());
    plan_.now = arrival_.at;
    plan_.values = {.limit = candidate_.limits.front(),
                    .cost = arrival_.cost,
                    .id = number_,
                    .now = arrival_.at};
    return true;
  }

  /// Runs the requests of --skip as ordinary calls, reporting the first error reply on stderr, and
  /// goes to the next one, which is the only one to be debugged, and which stderr reports.
  void skip(keyspace::Keyspace& keys) {
    while (number_ < skipped_count() && next(keys)) run(keys);
    static_cast<void>(next(keys));
    if (plan_.quiet) return;
    warn(fmt::format("debugging request {} of {}, of {}, for {}", number_,
                     recording_.counts().requests, instant_text(arrival_.at),
                     quoted_and_masked(traffic_->key_name(arrival_.key))),
         invocation_.command);
  }

 private:
  std::int64_t skipped_count() const { return plan_.skip.value_or(0); }

  void run(keyspace::Keyspace& keys) {
    invocation_.interrupt.check();
    const auto reply = reply_of_skipped(keys);
    if (!reply.is_error() || std::exchange(has_warned_, true) || plan_.quiet) return;
    const auto shown = script_->with_request(redis::to_error(reply), arrival_, number_);
    warn(fmt::format("warning: request {} ended in an error, as others may: {}", number_,
                     shown.what()),
         invocation_.command);
  }

  redis::Reply reply_of_skipped(keyspace::Keyspace& keys) {
    try {
      return engine_.run(call_, keys);
    } catch (const lua::NotImplementedHere& error) {
      throw UsageError(fmt::format("request {}: {}", number_, error.what()));
    } catch (const lua::RanTooLong& error) {
      throw UsageError(fmt::format("request {} did not end: it {}", number_, error.what()));
    }
  }

  Plan& plan_;
  const Invocation& invocation_;
  replay::Recording recording_;
  std::unique_ptr<traffic::Traffic> traffic_;
  script::Candidate candidate_;
  simulation::Engine engine_;
  std::unique_ptr<script::Script> script_;
  bool has_warned_ = false;
  traffic::Arrival arrival_;  ///< the current request
  limiter::ScriptCall call_;  ///< its call, as an ordinary one
  std::int64_t number_ = 0;   ///< the number of the current request, from 1
};

// ---- The session ----

constexpr std::int64_t kMostLines = 100'000;

class Session {
 public:
  /// With a log, the plan gets the calls of its requests.
  Session(Plan& plan, Invocation& invocation) : plan_(plan), invocation_(invocation) {
    // Read the log before a server is asked.
    if (plan.replay) replay_.emplace(plan, invocation);
    simulation::Engine engine(invocation.interrupt);
    auto accepted = accepted_source(engine, plan.debuggee);
    plan.debuggee.source = std::move(accepted.source);
    warn_of_change(plan, accepted.change, invocation.command);
    keys_ = copy_keys(plan, invocation);
    if (!replay_ && has_setup(plan)) prepare(plan, keys_.keyspace, invocation.interrupt);
  }

  ExitStatus run(Destination& lcov, const ByHand& by_hand) {
    if (plan_.is_interactive()) {
      if (replay_) replay_->skip(keys_.keyspace);
      return by_hand ? by_hand(keys_) : run_by_hand(plan_, invocation_, keys_);
    }
    prepare_coverage();
    const auto status = plan_.is_whole_replay() ? run_all() : run_one();
    show_coverage(lcov);
    invocation_.out.flush();
    if (!coverage_ || !coverage_->is_below(plan_.min_coverage)) return status;
    warn(fmt::format("--fail-under {}%: only {}", plan_.min_coverage, coverage_->summary()),
         invocation_.command);
    return status == ExitStatus::kDone ? ExitStatus::kDenied : status;
  }

 private:
  void warn_of_other_keys(const debugger::RunResult& result) {
    const auto text = other_keys_text(keys_, result);
    if (!plan_.quiet && !text.empty()) warn("warning: " + text, invocation_.command);
  }

  ExitStatus run_one() {
    if (replay_) replay_->skip(keys_.keyspace);
    const auto before = look(plan_, keys_.keyspace);
    auto& out = invocation_.out;
    View view(out.buffer(), out.look(), plan_.debuggee,
              {.maxlen = 0, .cuts_source = is_terminal(out.fd()), .json = invocation_.json});
    const auto on_line = [&](const debugger::TracedLine& line) {
      view.traced(line);
      out.flush();  // the next line may never end
    };
    const auto result = plan_.trace ? debugger::trace(plan_.debuggee, keys_.keyspace,
                                                      &invocation_.interrupt, kMostLines, on_line)
                                    : debugger::count_lines(plan_.debuggee, keys_.keyspace,
                                                            &invocation_.interrupt, kMostLines);
    if (coverage_) coverage_->add(result.hits);
    if (result.ending != Ending::kCutOff) warn_of_other_keys(result);
    plan_.trace ? show(view, result, before) : report_failure(result);
    return status_of(result);
  }

  /// Runs all requests for coverage.
  ExitStatus run_all() {
    auto status = ExitStatus::kDone;
    while (replay_->next(keys_.keyspace)) {
      const auto result =
          debugger::count_lines(plan_.debuggee, keys_.keyspace, &invocation_.interrupt, kMostLines);
      if (coverage_) coverage_->add(result.hits);
      const bool is_cut_off = result.ending == Ending::kCutOff;
      if (status == ExitStatus::kDone || is_cut_off) {
        status = status_of(result);
        report_failure(result);
      }
      if (is_cut_off || result.ending == Ending::kCompileError) break;
    }
    return status;
  }

  void show(View& view, const debugger::RunResult& result, const KeyStates& before) {
    view.traced_result(result, changes(plan_.debuggee.keys, before, look(plan_, keys_.keyspace)));
    const bool is_read =
        plan_.reads_reply && result.ending == Ending::kReturned &&
        (!result.reply->is_error() || is_denial(*result.reply, plan_.foreign->reading));
    if (is_read) {
      ReplyAsRead reading;
      try {
        reading.decision = script::read_reply(*result.reply, plan_.foreign->reading, plan_.values,
                                              plan_.foreign->name);
      } catch (const redis::Error& error) {
        reading.problem = error.what();
      }
      view.reading(reading);
    }
    const auto missing = missing_words(plan_, result.ending, result.reply);
    if (missing.empty()) return;
    invocation_.out.flush();
    warn(missing, invocation_.command);
  }

  /// Reports "my.lua:12: WRONGTYPE Operation against ...", for a run that is not traced.
  void report_failure(const debugger::RunResult& result) const {
    if (status_of(result) == ExitStatus::kDone) return;
    const bool is_cut_off = result.ending == Ending::kCutOff;
    const bool is_reply = result.ending == Ending::kReturned;
    const auto line = result.error_line > 0 ? fmt::format(":{}", result.error_line) : "";
    const auto what = is_reply ? "returned the error " + std::string(result.reply->text())
                               : (is_cut_off ? "cut off: " : "") + result.message;
    write_stderr(render({.status = status_of(result),
                         .code = is_cut_off ? "cut_off" : "script",
                         .message = fmt::format("{}{}: {}", plan_.debuggee.name, line, what),
                         .hint = result.ending == Ending::kNotImplemented
                                     ? kOnServer
                                     : missing_words(plan_, result.ending, result.reply)},
                        invocation_.command, invocation_.json));
  }

  /// Sets up the coverage, except for a script that does not compile: running it reports the error.
  void prepare_coverage() {
    const auto lines = lua::stop_lines(plan_.debuggee.source);
    if (plan_.coverage && !lines.empty()) coverage_.emplace(plan_.debuggee.shown_source(), lines);
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

  /// Returns the path of the source for lcov: absolute, if the file exists.
  std::string source_path() const {
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
  EngineKeys keys_;
  std::optional<Coverage> coverage_;
};

}  // namespace

ExitStatus run_session(Plan& plan, Invocation& invocation, const ByHand& by_hand) {
  require_one_on_stdout((plan.lcov == "-") + (invocation.json || plan.trace),
                        "use only one of --json, --trace and --lcov -");
  Destination lcov("--lcov", plan.lcov, invocation.out);
  return Session(plan, invocation).run(lcov, by_hand);
}

}  // namespace rlctl::cli::debug
