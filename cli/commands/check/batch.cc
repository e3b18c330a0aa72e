#include <poll.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/wait.h"
#include "cli/commands/check/lines.h"
#include "cli/commands/check/plan.h"
#include "cli/options/holder_options.h"
#include "cli/server/asker.h"
#include "cli/server/needs.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "limiter/check.h"
#include "redis/error.h"

namespace rlctl::cli::check {
namespace {

using std::chrono::microseconds;

// ---- The connection ----

/// The connection of a batch: opened when a line needs it, dropped when it fails. A server that
/// answered before may be restarting: it is waited for, as long as for an answer. After an attempt
/// that failed, or a connection on which no line was answered, the next attempt comes a second
/// later.
class BatchLink {
 public:
  BatchLink(Connector& connector, const limiter::Algorithm& algorithm, const Interrupt& interrupt)
      : connector_(connector), algorithm_(algorithm), interrupt_(interrupt) {}

  /// Opens the connection if needed. Returns false if that fails; then problem() gives the reason.
  /// Throws Interrupted, and errors in the command line.
  bool ensure() {
    if (connection_) return true;
    if (Clock::now() < next_attempt_) return false;
    while (!open()) {
      if (Clock::now() >= wait_until_) {
        next_attempt_ = Clock::now() + kReconnectPause;
        return false;
      }
      wait_for(-1, 0, &interrupt_, Clock::now() + kRestartPause);
    }
    return true;
  }
  bool is_open() const noexcept { return connection_.has_value(); }
  redis::Connection& connection() { return *connection_; }
  limiter::Checker& checker() { return *checker_; }
  const Problem& problem() const noexcept { return problem_; }
  std::size_t outstanding() const { return connection_ ? connection_->outstanding() : 0; }
  /// A line was answered, so a later failure is a new one. A reply for which a line is asked again
  /// does not count: each connection might bring another.
  void answered() noexcept { answered_ = true; }
  /// Closes the connection. Until the next attempt, lines are not sent, and problem() is this one,
  /// as "not asked: ...".
  void drop(const Problem& problem) {
    checker_.reset();
    connection_.reset();
    problem_ = problem;
    problem_.message = "not asked: " + problem.message;
    problem_.hint.clear();
    (answered_ ? wait_until_ : next_attempt_) =
        Clock::now() + (answered_ ? connector_.timeout() : kReconnectPause);
  }

 private:
  static constexpr microseconds kReconnectPause = std::chrono::seconds{1};
  /// Between two attempts to reach a server that may be restarting.
  static constexpr std::chrono::milliseconds kRestartPause{20};

  bool open() {
    try {
      connection_.emplace(connector_.open());
      const bool is_restart = wait_until_ != Clock::time_point{};
      if (is_restart) require_loaded();
      checker_.emplace(*connection_, algorithm_);
      answered_ = false;
      return true;
    } catch (const std::exception& error) {
      connection_.reset();
      const Problem problem = describe(error);
      if (problem.status < ExitStatus::kUnreachable || problem.code == "interrupted") throw;
      problem_ = problem;
      return false;
    }
  }

  /// A server accepts connections before it has loaded its data.
  void require_loaded() {
    const auto reply = connection_->call({"PING"});
    if (reply.is_error() && reply.text().starts_with("LOADING")) throw redis::to_error(reply);
  }

  Connector& connector_;
  const limiter::Algorithm& algorithm_;
  const Interrupt& interrupt_;
  std::optional<redis::Connection> connection_;
  std::optional<limiter::Checker> checker_;
  bool answered_ = false;
  Problem problem_;
  Clock::time_point next_attempt_{};
  Clock::time_point wait_until_{};  ///< for a server that answered before
};

// ---- The batch ----

/// A line without a result so far.
struct Pending {
  enum class State {
    kAsked,     ///< waiting for replies
    kAskAgain,  ///< refused for a reason that has gone, such as NOSCRIPT; nothing was counted
    kExplain,   ///< failed; the reason is determined when no reply is outstanding
    kAnswered,
    kFailed,
  };
  State state = State::kFailed;
  std::size_t line = 0;
  std::size_t bytes = 0;  ///< approximate memory use
  std::string key;
  std::vector<std::string> redis_keys;
  std::int64_t cost = 1;
  std::optional<limiter::ReservationCall> reservation;
  std::size_t replies_to_come = 0;
  bool must_ask_again = false;           ///< a reply says so
  int periods = 0;                       ///< how often it was asked, with periods
  bool was_sent = false;                 ///< and may have been counted
  std::vector<limiter::Decision> peeks;  ///< --peek: one for each key
  limiter::Decision decision;
  Problem problem;
};

/// Enough to keep the server busy, few enough that a lost connection leaves few in doubt.
constexpr std::size_t kMaxPending = 1000;
/// A line may be a megabyte long: no lines are added while all together hold more than this.
constexpr std::size_t kMaxPendingBytes = std::size_t{8} << 20;

std::string in_doubt_text(std::int64_t requests) {
  return counted(requests, "request") + " in flight may have been counted";
}

/// Throws InputError, with a hint, since a KEY may have been meant.
LineReader open_input(const std::string& file) {
  try {
    return LineReader(file);
  } catch (const InputError& error) {
    throw InputError(error.what(), "--batch reads keys from a file or standard input");
  }
}

class Batch {
 public:
  Batch(const Plan& plan, const std::string& file, Invocation& invocation)
      : plan_(plan),
        invocation_(invocation),
        input_(open_input(file)),
        connector_(invocation.connection, invocation.configuration, invocation.interrupt,
                   [name = plan.limiter.algorithm->name] { return needs_of(name); }),
        link_(connector_, *plan.limiter.algorithm, invocation.interrupt),
        format_(plan.limiter, invocation.json, invocation.out.look().colour),
        progress_(input_.total_bytes() > 0 && !is_terminal(STDOUT_FILENO) &&
                  is_terminal(STDERR_FILENO)),
        tally_(plan, invocation.command) {
    request_.limits = plan.limiter.limits;
    request_.now = plan.now;
    if (!plan.quiet) invocation.out.require_open();
  }

  ExitStatus run() {
    while (true) {
      // Read replies first, to notice that an idle connection has ended before sending on it.
      take_replies();
      if (is_postponed_due()) do_postponed();
      emit_answers();
      const bool input_is_used_up = take_lines();
      send();
      emit_answers();
      if (pending_.empty() && input_.ended()) break;
      progress_.update(input_.taken_bytes(), input_.total_bytes(), input_.lines());
      report(tally_.write_if_due());
      wait((input_is_used_up || !may_take()) && !is_postponed_due());
    }
    progress_.clear();
    flush();
    end_reports();
    if (input_failure_) std::rethrow_exception(input_failure_);
    return worst_;
  }

  /// After Ctrl-C: puts out the answers that came, and reports what may have been counted.
  void end_interrupted() {
    if (link_.is_open() && link_.connection().give_up()) {
      while (link_.outstanding() > 0) {
        const auto reply = link_.connection().try_read();
        if (!reply) break;
        on_reply(*reply);
      }
    }
    std::int64_t in_doubt = 0;
    for (; !pending_.empty(); pending_.pop_front()) {
      const Pending& pending = pending_.front();
      const bool is_unanswered =
          pending.state == Pending::State::kAsked ||
          (pending.state == Pending::State::kFailed && is_in_doubt(pending.problem));
      if (pending.state == Pending::State::kAnswered) {
        emit(pending);
      } else if (is_unanswered && pending.was_sent && pending.cost != 0 && !plan_.peek) {
        ++in_doubt;
      }
    }
    end_reports();
    if (in_doubt > 0) report(in_doubt_text(in_doubt));
  }

  /// Reports what remains to be said at the end, also after a signal: failures, and totals.
  void end_reports() {
    if (std::exchange(has_reported_, true)) return;
    end_failures();
    progress_.clear();
    tally_.end();
  }

 private:
  /// Returns true if more input must be read to get the next line.
  bool take_lines() {
    while (may_take()) {
      const auto line = input_.next();
      if (!line) return true;
      const bool blank = line->text.find_first_not_of(" \t") == std::string_view::npos;
      if (!blank && !line->text.starts_with('#')) take(*line);
    }
    return false;
  }

  void take(const LineReader::Line& line) {
    // The text is stored as the key and once more for each limit; an error message repeats it too.
    const auto* policy = plan_.limiter.policy;
    const auto key_size = line.text.size() + (policy == nullptr ? 0 : policy->key.size());
    Pending& pending = pending_.emplace_back();
    pending.line = line.number;
    pending.bytes = key_size * (1 + plan_.limiter.limits.size());
    pending_bytes_ += pending.bytes;
    try {
      read_line(line, pending);
    } catch (const UsageError& error) {
      pending.problem = describe(error);
      return;
    }
    if (!link_.ensure()) {
      pending.problem = link_.problem();
      return;
    }
    if (link_.outstanding() == 0) last_progress_ = Clock::now();
    ask(pending);
  }

  /// Parses KEY or KEY<TAB>COST; a key that contains a tab must have a cost. For a reservation,
  /// also KEY<TAB>UNITS<TAB>ID; a key that contains a tab must have an ID. Throws UsageError.
  void read_line(const LineReader::Line& line, Pending& pending) {
    if (line.too_long) {
      throw UsageError("the line is longer than " + std::to_string(LineReader::kMaxLine) +
                       " bytes");
    }
    auto text_of_request = line.text;
    if (plan_.hold) text_of_request = take_id(line.text, pending);
    const auto tab = text_of_request.rfind('\t');
    pending.key = text_of_request.substr(0, tab);
    pending.cost = plan_.cost;
    if (tab != std::string_view::npos) {
      const auto text = text_of_request.substr(tab + 1);
      pending.cost = parse_whole(text, plan_.hold ? "UNITS" : "cost");
      if (plan_.peek && pending.cost < 0) {
        throw UsageError("cost " + std::string(text) + " is below 0, and --peek takes nothing");
      }
      if (!plan_.hold && !plan_.refunds && pending.cost < 0) {
        throw UsageError("cost " + std::string(text) + " is below 0, which requires --refunds");
      }
      limiter::require_usable(*plan_.limiter.algorithm, plan_.limiter.limits.front(), pending.cost);
    }
    const bool has_units = tab != std::string_view::npos || plan_.reserve;
    if (plan_.hold && (!has_units || pending.cost < 1)) {
      throw UsageError("a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID");
    }
    if (pending.key.empty()) throw UsageError("the key is empty");
    if (const auto* policy = plan_.limiter.policy) {
      pending.key = limiter::fill(*policy, std::span(&pending.key, 1));
    }
    if (plan_.limiter.limits.size() == 1) {
      pending.redis_keys.resize(1);
      pending.redis_keys[0] = pending.key;
    } else {
      pending.redis_keys = limiter::redis_keys(pending.key, plan_.limiter.limits);
      spellings_.require_same(pending.key, pending.redis_keys[0], plan_.limiter.limits[0]);
    }
  }

  /// Sets the reservation of a line, and returns the rest, which comes before its second tab.
  std::string_view take_id(std::string_view text, Pending& pending) const {
    const auto tab = text.rfind('\t');
    const bool has_id = tab != text.npos && text.find('\t') != tab;
    if (!has_id && plan_.quiet) {
      throw UsageError("with --quiet, a reservation needs an ID: nothing would print it");
    }
    std::optional<std::string> id;
    if (has_id) id = parse_reservation_id(std::string(text.substr(tab + 1)), "ID");
    pending.reservation = reservation_of(plan_, id);
    return has_id ? text.substr(0, tab) : text;
  }

  void ask(Pending& pending) {
    pending.state = Pending::State::kAsked;
    pending.must_ask_again = false;
    ++pending.periods;
    pending.was_sent = true;
    pending.peeks.clear();
    pending.problem.message.clear();
    pending.replies_to_come = commands_of(pending);
    // Swap the keys in and out to avoid copies.
    request_.keys.swap(pending.redis_keys);
    request_.reservation.swap(pending.reservation);
    request_.cost = pending.cost;
    if (plan_.peek) {
      link_.checker().append_read_only_peeks(request_);
    } else {
      link_.checker().append(request_);
    }
    request_.keys.swap(pending.redis_keys);
    request_.reservation.swap(pending.reservation);
  }

  void send() {
    if (!link_.is_open() || !link_.connection().has_unsent()) return;
    try {
      link_.connection().send_some();
    } catch (const redis::Error& error) {
      lose_connection(error);
    }
  }

  void take_replies() {
    if (!link_.is_open() || !readable_) return;
    try {
      while (const auto reply = link_.connection().try_read()) on_reply(*reply);
    } catch (const redis::Error& error) {
      lose_connection(error);
    }
    check_timeout();  // bytes arrived, but perhaps no whole reply
  }

  /// The line to which the next reply belongs.
  Pending& replied() {
    while (next_reply_ < pending_.size() && pending_[next_reply_].state != Pending::State::kAsked) {
      ++next_reply_;
    }
    if (next_reply_ < pending_.size()) return pending_[next_reply_];
    throw redis::Error(redis::Failure::kProtocol, "the server sent an unexpected reply");
  }

  void on_reply(const redis::Reply& reply) {
    Pending& pending = replied();
    last_progress_ = Clock::now();
    --pending.replies_to_come;
    const bool unknown_script = redis::is_unknown_script(reply);
    if (plan_.peek && link_.checker().note_missing_evalsha_ro(reply)) {
      pending.must_ask_again = true;
      has_postponed_ = true;
    } else if ((pending.must_ask_again || pending.periods < limiter::kMaxPeriods) &&
               link_.checker().note_wrong_period(reply)) {
      pending.must_ask_again = true;
      has_postponed_ = true;
    } else if (unknown_script && failed_script_loads_ < limiter::kMaxLoads) {
      pending.must_ask_again = true;
      needs_script_ = true;
      has_postponed_ = true;
    } else {
      link_.answered();
      if (!unknown_script) failed_script_loads_ = 0;
      try {
        pending.decision =
            limiter::Checker::parse(reply, pending.reservation, *plan_.limiter.algorithm);
        if (plan_.peek) pending.peeks.push_back(pending.decision);
        auto conflict =
            conflict_of(pending.decision, pending.key, pending.reservation, pending.cost);
        if (conflict) pending.problem = *std::move(conflict);
      } catch (const redis::Error& error) {
        // One server of several may fail by itself.
        pending.problem = describe(error);
        if (redis::failure_of(reply) != nullptr) {
          pending.problem = unanswered(std::move(pending.problem), pending);
        }
      }
    }
    if (pending.replies_to_come > 0) return;
    finish(pending);
  }

  /// Sets the state of a line whose replies have all come.
  void finish(Pending& pending) {
    if (pending.must_ask_again) {
      pending.state = Pending::State::kAskAgain;
      pending.was_sent = false;
    } else if (pending.problem.message.empty()) {
      pending.state = Pending::State::kAnswered;
      if (plan_.peek) {
        pending.decision = merge_peeks(*plan_.limiter.algorithm, plan_.limiter.limits, pending.cost,
                                       pending.peeks);
      }
    } else if (is_about_keys(pending.problem)) {
      pending.state = Pending::State::kExplain;
      has_postponed_ = true;
    } else {
      pending.state = Pending::State::kFailed;
    }
  }

  /// Does the work that requires that no replies are outstanding: explains failures, and repeats,
  /// in order, the requests that failed with NOSCRIPT, for a period that has ended, or for want of
  /// EVALSHA_RO.
  void do_postponed() {
    has_postponed_ = false;
    next_reply_ = 0;
    for (auto& pending : pending_) {
      if (pending.state != Pending::State::kExplain) continue;
      pending.problem = explain_keys(std::move(pending.problem), *plan_.limiter.algorithm,
                                     pending.redis_keys, link_.connection());
      pending.state = Pending::State::kFailed;
    }
    std::optional<Problem> problem;
    if (!link_.ensure()) {
      problem = link_.problem();
    } else if (std::exchange(needs_script_, false)) {
      problem = load_script();
    }
    for (auto& pending : pending_) {
      if (pending.state != Pending::State::kAskAgain) continue;
      if (problem) {
        pending.state = Pending::State::kFailed;
        pending.problem = *problem;
      } else {
        ask(pending);
      }
    }
    last_progress_ = Clock::now();
  }

  /// Loads the script, and returns the problem if that fails.
  std::optional<Problem> load_script() {
    ++failed_script_loads_;
    try {
      link_.checker().load();
    } catch (const redis::Error& error) {
      // The requests that failed for want of the script were not counted.
      const auto problem = drop_in_doubt_note(describe(error));
      // An error reply leaves the connection usable.
      const bool is_reply =
          error.failure() == redis::Failure::kNotSent || error.failure() == redis::Failure::kNotNow;
      const bool is_lost =
          (error.code().empty() && !is_reply) || error.failure() == redis::Failure::kUnreachable;
      if (is_lost) link_.drop(problem);
      return problem;
    }
    return std::nullopt;
  }

  /// The problem of a line that was sent before the connection failed with this one.
  Problem unanswered(Problem problem, const Pending& line) const {
    return plan_.peek ? drop_in_doubt_note(std::move(problem))
                      : may_have_been_counted(std::move(problem), line.reservation);
  }

  /// Fails the lines that may have been counted; the others are asked on the next connection.
  void lose_connection(const redis::Error& error) {
    const Problem problem = describe(error);
    auto not_sent = link_.connection().not_sent();
    has_postponed_ = false;
    for (auto line = pending_.rbegin(); line != pending_.rend(); ++line) {
      const bool waits = line->state == Pending::State::kAsked;
      if (waits && not_sent >= commands_of(*line)) {
        not_sent -= commands_of(*line);
        line->state = Pending::State::kAskAgain;
        line->was_sent = false;
      } else if (waits || line->state == Pending::State::kExplain) {
        if (waits) line->problem = unanswered(problem, *line);
        line->state = Pending::State::kFailed;
        not_sent = 0;
      }
      has_postponed_ = has_postponed_ || line->state == Pending::State::kAskAgain;
    }
    link_.drop(problem);
    needs_script_ = false;
    next_reply_ = 0;
  }

  std::size_t commands_of(const Pending& pending) const {
    return plan_.peek ? pending.redis_keys.size() : 1;
  }

  void emit_answers() {
    while (!pending_.empty()) {
      const Pending& pending = pending_.front();
      if (pending.state != Pending::State::kAnswered && pending.state != Pending::State::kFailed) {
        return;
      }
      worst_ = std::max(worst_, emit(pending));
      pending_bytes_ -= pending.bytes;
      pending_.pop_front();
      if (next_reply_ > 0) --next_reply_;
      if (invocation_.out.buffer().size() >= Output::kLarge) flush();
    }
  }

  void flush() {
    flush_answers(invocation_.out, [this] { return lost_answers(); });
    unwritten_ = 0;
  }

  /// The end of the error if the output cannot be written: the requests whose answers nobody sees.
  std::string lost_answers() const {
    std::int64_t counted_ones = unwritten_, in_doubt = 0;
    for (const auto& pending : pending_) {
      if (pending.state == Pending::State::kAnswered && is_counted(result_of(pending))) {
        ++counted_ones;
      } else if (pending.state == Pending::State::kAsked && pending.cost != 0 && !plan_.peek) {
        ++in_doubt;
      }
    }
    std::string text;
    if (counted_ones > 0) {
      text += "; " + counted(counted_ones, "request") + (counted_ones == 1 ? " was" : " were") +
              " counted and may be missing from the output";
    }
    if (in_doubt > 0) text += "; " + in_doubt_text(in_doubt);
    return text;
  }

  Answer result_of(const Pending& pending) const {
    return {.key = pending.key,
            .redis_keys = pending.redis_keys,
            .cost = pending.cost,
            .reservation = pending.reservation ? &*pending.reservation : nullptr,
            .decision = pending.decision,
            .peek = plan_.peek,
            .shadow = plan_.shadow};
  }

  ExitStatus emit(const Pending& pending) {
    Answer result = result_of(pending);
    if (pending.state == Pending::State::kFailed) {
      complain(pending);
      tally_.add_error();
      if (!plan_.on_error.covers(pending.problem)) {
        if (!plan_.quiet) {
          format_.append_error(invocation_.out.buffer(), pending.line, pending.problem);
        }
        return pending.problem.status;
      }
      result.decision = {.allowed = *plan_.on_error.allows};
      result.on_error = &pending.problem;
    } else {
      // Where one server of several fails, lines that others answer come between.
      const bool is_spread = failures_.status() == ExitStatus::kUnreachable &&
                             ++answered_since_failure_ <= kMaxPending;
      if (!failures_.empty() && !is_spread) end_failures();
      tally_.add(result);
    }
    if (!plan_.quiet) format_.append(invocation_.out.buffer(), result);
    if (!plan_.quiet && is_counted(result)) ++unwritten_;
    return status_of(result);
  }

  /// Reports a failure on stderr, unless the lines before it failed alike. Reports nothing if the
  /// results are JSON, which include the errors.
  void complain(const Pending& pending) {
    if (invocation_.json && !plan_.quiet) return;
    Problem problem = pending.problem;
    // Programs read all of them.
    if (!invocation_.json) {
      if (!failures_.is_alike(problem)) end_failures();
      constexpr std::size_t kMaxReported = 3;
      answered_since_failure_ = 0;
      if (!failures_.add(pending.line, problem, kMaxReported)) return;
    }
    if (problem.status == ExitStatus::kUsage) problem.hint.clear();
    problem.message = "line " + std::to_string(pending.line) + ": " + problem.message;
    problem.of_command = true;
    problem.usage_advice = false;
    progress_.clear();
    flush();  // so that a terminal shows both in order
    write_stderr(plan_.on_error.covers(problem)
                     ? plan_.on_error.warning(problem, invocation_.command)
                     : render(problem, invocation_.command, invocation_.json));
  }

  void end_failures() { report(std::exchange(failures_, {}).others()); }

  void report(const std::string& text) {
    if (text.empty()) return;
    progress_.clear();
    warn(text, invocation_.command);
  }

  /// Waits for input, replies or room to send. Writes the answers out before it blocks.
  void wait(bool may_block) {
    const bool unflushed = invocation_.out.pending();
    if (poll_once(may_block && !unflushed) || !may_block || !unflushed) return;
    flush();
    poll_once(true);
  }

  bool poll_once(bool may_block) {
    const bool open = link_.is_open();
    const bool unsent = open && link_.connection().has_unsent();
    pollfd fds[] = {{may_take() && !input_.end_of_file() ? input_.fd() : -1, POLLIN, 0},
                    {open ? link_.connection().fd() : -1,
                     static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0},
                    {invocation_.interrupt.fd(), POLLIN, 0}};
    const int ready = ::poll(fds, 3, may_block ? wait_ms() : 0);
    invocation_.interrupt.check();
    readable_ = ready > 0 && (fds[1].revents & ~POLLOUT) != 0;
    if (ready > 0 && fds[0].revents != 0) {
      try {
        input_.fill();
      } catch (const InputError&) {
        input_failure_ = std::current_exception();
      }
    }
    if (ready <= 0 && may_block) check_timeout();
    return ready > 0;
  }

  int wait_ms() const {
    auto until = tally_.next_write();
    if (link_.outstanding() > 0) until = std::min(until, last_progress_ + connector_.timeout());
    if (until == kNoDeadline) return -1;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX));
  }

  void check_timeout() {
    if (link_.outstanding() == 0 || Clock::now() < last_progress_ + connector_.timeout()) return;
    try {
      link_.connection().time_out(connector_.timeout());
      readable_ = true;  // errors, of a server among several that is late
      last_progress_ = Clock::now();
    } catch (const redis::Error& error) {
      lose_connection(error);
    }
  }

  /// Whether do_postponed() has something to do now: no reply need come before it.
  bool is_postponed_due() const { return has_postponed_ && link_.outstanding() == 0; }

  bool may_take() const {
    return pending_.size() < kMaxPending && pending_bytes_ <= kMaxPendingBytes && !has_postponed_;
  }

  const Plan& plan_;
  Invocation& invocation_;
  LineReader input_;
  Connector connector_;
  BatchLink link_;
  AnswerFormat format_;
  Progress progress_;
  std::deque<Pending> pending_;    ///< the oldest comes first
  std::size_t pending_bytes_ = 0;  ///< approximate memory use of all of them
  std::size_t next_reply_ = 0;     ///< no line before this index waits for a reply
  bool needs_script_ = false;      ///< a reply was NOSCRIPT
  bool has_postponed_ = false;     ///< send nothing new until do_postponed() has run
  int failed_script_loads_ = 0;    ///< since the last reply other than NOSCRIPT
  bool readable_ = false;          ///< whether the last poll() found the connection readable
  Clock::time_point last_progress_{};
  limiter::Request request_;    ///< reused for every line
  std::int64_t unwritten_ = 0;  ///< counted requests whose answers may still be in the buffer
  FailureRun failures_;         ///< of the last lines
  std::size_t answered_since_failure_ = 0;
  Tally tally_;
  Spellings spellings_;
  ExitStatus worst_ = ExitStatus::kDone;
  bool has_reported_ = false;
  std::exception_ptr input_failure_;  ///< thrown once all lines are answered
};

/// Runs the end of a batch, which must not hide why it ended.
template <typename End>
void end_early(const Invocation& invocation, End end) {
  try {
    end();
  } catch (const OutputError& error) {
    warn(error.what(), invocation.command);
  } catch (const redis::Error&) {
    // The connection cannot be used any more.
  } catch (const Interrupted&) {
    // Already reported by the caller.
  }
}

}  // namespace

ExitStatus run_batch(const Plan& plan, const std::string& file, Invocation& invocation) {
  Batch batch(plan, file, invocation);
  try {
    return batch.run();
  } catch (const Interrupted&) {  // Ctrl-C: answered lines were counted; this cannot block
    end_early(invocation, [&] { batch.end_interrupted(); });
    invocation.out.flush();
    throw;
  } catch (const std::exception&) {  // the answers cannot be written, for example
    end_early(invocation, [&] { batch.end_reports(); });
    throw;
  }
}

}  // namespace rlctl::cli::check
