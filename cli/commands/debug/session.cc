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
#include "cli/commands/debug/keys.h"
#include "cli/commands/debug/place.h"
#include "cli/commands/debug/repl.h"
#include "cli/commands/debug/view.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "ldb/coverable_lines.h"
#include "lua/substitute.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "redis/scan.h"
#include "script/key_aging.h"
#include "traffic/traffic.h"

namespace rlctl::cli::debug {
namespace {

using ldb::Ending;

// ---- Virtual time ----

constexpr const char* kAgingHash = script::KeyAging::kHashName;

/// Gives all keys the TTLs that they have at this time, and removes what virtual time needed.
void end_virtual_time(redis::Connection& connection, script::KeyAging& aging,
                      std::chrono::microseconds now) {
  const auto all = connection.call({"KEYS", "*"});
  std::vector<std::string_view> keys;
  std::vector<std::string> not_the_scripts;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].text().starts_with(kAgingHash)) {
      not_the_scripts.emplace_back(all[i].text());
    } else {
      keys.push_back(all[i].text());
    }
  }
  if (aging.advance(now, keys)) script::KeyAging::require_done(connection.read());
  redis::unlink_keys(connection, not_the_scripts);
}

/// A server that is in use is not prepared, whatever the configuration says of the script.
bool has_setup(const Plan& plan) {
  return plan.is_private() && plan.foreign && !plan.foreign->setup.empty();
}

/// The KEY of a call without a log.
class OneKey final : public traffic::Traffic {
 public:
  explicit OneKey(const std::string& name) : name_(name) {}
  bool next(traffic::Arrival& /*arrival*/) override { return false; }
  std::string_view key_name(std::uint32_t /*key*/) const override { return name_; }
  std::int64_t size() const override { return 0; }

 private:
  const std::string& name_;
};

/// A name as a template that stands for it.
script::Template template_of(const std::string& name) {
  std::string text;
  for (const char c : name) text += c == '{' ? "{{}" : std::string(1, c);
  return script::Template(text);
}

/// Sends what --setup says for the plan's call.
void prepare(const Plan& plan, redis::Connection& connection) {
  auto foreign = *plan.foreign;
  foreign.keys.clear();
  for (const auto& key : plan.debuggee.keys) foreign.keys.push_back(template_of(key));
  const script::Candidate candidate{
      .limits = plan.limits.empty() ? std::vector<limiter::Limit>(1) : plan.limits,
      .foreign = std::make_shared<const script::ForeignLimiter>(std::move(foreign))};
  const OneKey names(plan.key);
  const auto script = script::make_script(candidate, names, "");
  script->load(connection);
  script::prepare(*script, connection, {.at = plan.values.now, .cost = plan.values.cost});
  script::KeyAging aging(connection, kAgingHash);
  end_virtual_time(connection, aging, plan.values.now);
}

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
        candidate_{.algorithm = plan.algorithm, .limits = plan.limits, .foreign = plan.foreign} {
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
    skipped_ = script::make_script(candidate_, *traffic_, "");
  }

  /// Sets the connection to the server; the functions below need it. Throws redis::Error.
  void connect(redis::Connection connection) {
    connection_.emplace(std::move(connection));
    aging_.emplace(*connection_, kAgingHash);
    if (skipped_count() > 0 || has_setup(plan_)) skipped_->load(*connection_);
  }

  /// Goes to the next request, with its keys aged to its time; returns false after the last one.
  bool next() {
    if (!advance()) return false;
    age(plan_.debuggee.keys);
    script::prepare(*skipped_, *connection_, arrival_);
    return true;
  }

  /// Runs the requests of --skip as ordinary calls, reporting the first error reply on stderr, and
  /// goes to the next one, which is the only one to be debugged, and which stderr reports: all keys
  /// are aged to its time, and are as the script left them.
  void skip() {
    while (number_ < skipped_count() && advance()) {
      invocation_.interrupt.check();
      run();
    }
    static_cast<void>(next());
    end_virtual_time(*connection_, *aging_, arrival_.at);
    if (plan_.quiet) return;
    warn(fmt::format("debugging request {} of {}, of {}, for {}", number_,
                     recording_.counts().requests, instant_text(arrival_.at),
                     quoted_and_masked(traffic_->key_name(arrival_.key))),
         invocation_.command);
  }

 private:
  std::int64_t skipped_count() const { return plan_.skip.value_or(0); }

  bool advance() {
    if (!traffic_->next(arrival_)) return false;
    ++number_;
    const auto call = script_->call(arrival_);
    plan_.debuggee.keys.assign(call.keys.begin(), call.keys.end());
    plan_.debuggee.arguments.assign(call.arguments.begin(), call.arguments.end());
    plan_.now = arrival_.at;
    plan_.values = {.limit = candidate_.limits.front(),
                    .cost = arrival_.cost,
                    .id = number_,
                    .now = arrival_.at};
    return true;
  }

  void age(const std::vector<std::string>& keys) {
    const std::vector<std::string_view> named(keys.begin(), keys.end());
    if (aging_->advance(arrival_.at, named)) script::KeyAging::require_done(connection_->read());
  }

  void run() {
    age(plan_.debuggee.keys);
    script::prepare(*skipped_, *connection_, arrival_);
    skipped_->call(arrival_).append_to(*connection_);
    const auto reply = connection_->read();
    if (!reply.is_error() || std::exchange(has_warned_, true) || plan_.quiet) return;
    const auto shown = script_->with_request(redis::to_error(reply), arrival_, number_);
    warn(fmt::format("warning: request {} ended in an error, as others may: {}", number_,
                     shown.what()),
         invocation_.command);
  }

  Plan& plan_;
  const Invocation& invocation_;
  replay::Recording recording_;
  std::unique_ptr<traffic::Traffic> traffic_;
  script::Candidate candidate_;
  std::unique_ptr<script::Script> script_;   ///< makes the calls to debug
  std::unique_ptr<script::Script> skipped_;  ///< runs the skipped requests
  bool has_warned_ = false;
  std::optional<redis::Connection> connection_;
  std::optional<script::KeyAging> aging_;
  traffic::Arrival arrival_;  ///< the current request
  std::int64_t number_ = 0;   ///< the number of the current request, from 1
};

// ---- The session ----

class Session {
 public:
  /// Changes the plan's source if the server accepts it only in another form. With a log, the plan
  /// gets the calls of its requests.
  Session(Plan& plan, Invocation& invocation) : plan_(plan), invocation_(invocation) {
    // Read the log before a server is started.
    if (plan.replay) replay_.emplace(plan, invocation);
    place_.emplace(plan, invocation);
    if (lua::read_shebang(plan.debuggee.source)) plan.debuggee.source = accepted_source();
    if (replay_) {
      replay_->connect(place_->connect());
    } else if (has_setup(plan)) {
      auto connection = place_->connect();
      prepare(plan, connection);
    }
  }

  ExitStatus run(Destination& lcov, const std::function<ExitStatus(Place&)>& by_hand) {
    if (plan_.is_interactive()) {
      if (replay_) replay_->skip();
      if (by_hand) return by_hand(*place_);
      return plan_.ldb ? run_ldb(plan_, invocation_, *place_)
                       : run_by_hand(plan_, invocation_, *place_);
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
  /// Warns of keys that were not copied: the script did not see their contents, which may change
  /// its result.
  void warn_of_other_keys(const std::set<std::vector<std::string>>& calls) {
    if (plan_.quiet || place_->copied_from().empty()) return;
    auto connection = place_->connect();
    std::set<std::string> others;
    for (const auto& words : calls) {
      std::vector<std::string_view> command{"COMMAND", "GETKEYS"};
      command.insert(command.end(), words.begin(), words.end());
      const auto keys = connection.call(redis::Arguments(command));
      for (std::size_t i = 0; i < keys.size(); ++i) others.emplace(keys[i].text());
    }
    for (const auto& key : plan_.debuggee.keys) others.erase(key);
    if (others.empty()) return;
    const auto more = others.size() == 1 ? "" : fmt::format(" and {} more", others.size() - 1);
    warn(fmt::format(
             "warning: the script uses {}{}, which is not among its KEYS and was not copied from "
             "{}: it did not see the contents; with --attach, it does",
             quoted_and_masked(*others.begin()), more, place_->copied_from()),
         invocation_.command);
  }

  /// Runs the script to its end. Throws ProblemError if the server did not start it.
  ldb::TraceResult trace(const std::function<void(const ldb::TracedLine&)>& on_line) {
    // Do not end a script halfway if it runs in the server itself.
    ldb::TraceOptions options{.detaches = plan_.sync};
    if (plan_.freezes_time()) options.now = plan_.now;
    auto result = ldb::trace(
        plan_.debuggee, plan_.mode(), [this] { return place_->connect(); }, options,
        [&](const ldb::TracedLine& line) {
          on_line(line);
          invocation_.interrupt.check();
        });
    if (coverage_) coverage_->add(result.hits);
    if (const auto problem = problem_of(result)) throw ProblemError(*problem);
    return result;
  }

  ExitStatus run_one() {
    if (replay_) replay_->skip();
    std::optional<KeyWatch> watch;
    if (plan_.trace && plan_.is_private()) {
      auto connection = place_->connect();
      watch.emplace(connection, plan_, plan_.debuggee.keys, plan_.now);
    }
    auto& out = invocation_.out;
    const bool is_seen = is_terminal(out.fd());
    View view(out.buffer(), out.look(), plan_.debuggee,
              {.maxlen = 0, .cuts_source = is_seen, .json = invocation_.json});
    constexpr std::size_t kMaxCalls = 1000;  // distinct ones that are searched for keys
    std::set<std::vector<std::string>> calls;
    const auto result = trace([&](const ldb::TracedLine& line) {
      for (const auto& call : line.calls) {
        if (!call.raw && calls.size() < kMaxCalls) calls.insert(call.words);
      }
      if (!plan_.trace) return;
      view.traced(line);
      // Show a long run as it proceeds.
      is_seen ? out.flush() : out.flush_if_large();
    });
    if (result.ending != Ending::kCutOff) warn_of_other_keys(calls);
    plan_.trace ? show(view, result, watch) : report_failure(result);
    return status_of(result);
  }

  /// Runs all requests for coverage.
  ExitStatus run_all() {
    auto status = ExitStatus::kDone;
    while (replay_->next()) {
      const auto result = trace([](const ldb::TracedLine&) {});
      const bool is_cut_off = result.ending == Ending::kCutOff;
      if (status == ExitStatus::kDone || is_cut_off) {
        status = status_of(result);
        report_failure(result);
      }
      // After a cut, the server is still busy with the script.
      if (is_cut_off || result.ending == Ending::kCompileError) break;
    }
    return status;
  }

  void show(View& view, const ldb::TraceResult& result, const std::optional<KeyWatch>& watch) {
    std::vector<KeyChange> keys;
    std::string kept;
    if (!watch) {
      kept = kept_text(plan_.mode(), result.ending);
    } else {
      auto connection = place_->connect();
      // A script that has caught the error meant to end it runs on, and the server does not answer.
      const bool may_run_on = result.ending == Ending::kCutOff;
      if (may_run_on) connection.set_timeout(std::chrono::seconds{1});
      try {
        keys = watch->changes(connection);
      } catch (const redis::Error&) {
        if (!may_run_on) throw;
        kept = "the changes are not known";
      }
    }
    view.traced_result(result, keys, kept);
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
  void report_failure(const ldb::TraceResult& result) const {
    if (status_of(result) == ExitStatus::kDone) return;
    const bool is_cut_off = result.ending == Ending::kCutOff;
    const bool is_reply = result.ending == Ending::kReturned;
    const auto line = result.error_line > 0 ? fmt::format(":{}", result.error_line) : "";
    const auto what = is_reply ? "returned the error " +
                                     ldb::with_source_lines(result.reply->text(), result.text_lines)
                               : (is_cut_off ? "cut off: " : "") + result.message;
    write_stderr(render({.status = status_of(result),
                         .code = is_cut_off ? "cut_off" : "script",
                         .message = fmt::format("{}{}: {}", plan_.debuggee.name, line, what),
                         .hint = missing_words(plan_, result.ending, result.reply)},
                        invocation_.command, invocation_.json));
  }

  /// Returns the source in the form that the server accepts, or unchanged if it accepts none, or if
  /// this user may not load scripts.
  std::string accepted_source() {
    const auto& debuggee = plan_.debuggee;
    auto connection = place_->connect();
    try {
      script::ScriptServer server(connection);
      auto accepted = script::load_accepted(server, debuggee.source, debuggee.name);
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
    const auto& debuggee = plan_.debuggee;
    try {
      coverage_.emplace(debuggee.shown_source(),
                        ldb::coverable_lines_as_run(connection, debuggee.source));
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
  std::optional<Place> place_;
  std::optional<Coverage> coverage_;
};

}  // namespace

ExitStatus run_session(Plan& plan, Invocation& invocation,
                       const std::function<ExitStatus(Place&)>& by_hand) {
  require_one_on_stdout((plan.lcov == "-") + (invocation.json || plan.trace),
                        "use only one of --json, --trace and --lcov -");
  Destination lcov("--lcov", plan.lcov, invocation.out);
  return Session(plan, invocation).run(lcov, by_hand);
}

}  // namespace rlctl::cli::debug
