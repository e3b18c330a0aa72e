#include "simulation/real_run.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "redis/error.h"

namespace rlctl::simulation {

namespace {

/// Keys queried in one write.
constexpr std::size_t kKeysAtOnce = 512;

}  // namespace

std::optional<double> bytes_per_key(redis::Connection& connection,
                                    std::span<const std::string> keys) {
  std::int64_t bytes = 0, there = 0;
  while (!keys.empty()) {
    const auto lot = keys.first(std::min(kKeysAtOnce, keys.size()));
    for (const auto& key : lot) connection.append({"MEMORY", "USAGE", key, "SAMPLES", "0"});
    for (std::size_t i = 0; i < lot.size(); ++i) {
      const auto usage = connection.read();
      if (usage.is_error() || usage.is_nil()) continue;  // expired, or not permitted
      ++there;
      bytes += redis::number_in(usage);
    }
    keys = keys.subspan(lot.size());
  }
  if (there == 0) return std::nullopt;
  return static_cast<double>(bytes) / static_cast<double>(there);
}

namespace {

constexpr std::chrono::milliseconds kBetweenTimeouts{10};
/// Longer than any run, and short enough to add to an instant.
constexpr std::chrono::hours kLongestTimeout{24 * 365};

/// After this many answers, requests that are due get their turn.
constexpr int kAnswersAtOnce = 512;

double as_seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

/// The rate of requests, from the first to the last; 0 if that is no time. The gaps count.
double rate(std::int64_t requests, Clock::duration duration) {
  return duration > Clock::duration{0} ? static_cast<double>(requests - 1) / as_seconds(duration)
                                       : 0;
}

}  // namespace

void PaceRecorder::add_sent(Instant now, Instant due) {
  if (sent_++ == 0) first_sent_ = now;
  last_sent_ = now;
  last_due_ = due;
  lag_ = std::max<std::chrono::nanoseconds>(lag_, now - due);
}

void PaceRecorder::add_answer(Instant now) {
  ++answered_;
  last_answer_ = now;
}

std::optional<Pace> PaceRecorder::pace() const {
  if (sent_ == 0) return std::nullopt;
  const auto until_answered = answered_ > 0 ? last_answer_ - first_sent_ : Clock::duration{0};
  return Pace{.lag = std::chrono::floor<std::chrono::microseconds>(lag_),
              .span = std::chrono::floor<std::chrono::microseconds>(last_due_ - first_due_),
              .sent_per_second = rate(sent_, last_sent_ - first_sent_),
              .seconds = as_seconds(until_answered),
              .answered_per_second = rate(answered_, until_answered)};
}

RealProgress PaceRecorder::progress(Instant now, std::int64_t allowed, std::int64_t denied) const {
  RealProgress progress{.sent = sent_, .allowed = allowed, .denied = denied};
  if (sent_ > 0) {
    progress.seconds = as_seconds(now - first_sent_);
  } else if (first_due_ > now) {
    progress.until_first = std::chrono::floor<std::chrono::microseconds>(first_due_ - now);
  }
  return progress;
}

namespace {

/// Requests and answers on a run's connection under the real clock. Measures the pace of both, and
/// records the decisions. It never waits for the socket to accept data: the connection keeps the
/// rest. The caller decides when to send what.
///
/// After a server error, is_running() is false; finish() throws it once nothing is in flight.
class Exchange {
 public:
  /// Loads the script. `run` must outlive this. Throws redis::Error.
  explicit Exchange(const RealRun& run)
      : run_(run),
        timeout_(std::min<std::chrono::microseconds>(run.timeout, kLongestTimeout)),
        connection_(*run.connection),
        poller_(run.interrupt),
        recorder_(run.limits, run.on_decision, true, run.zero) {
    run_.script->load(connection_);
    fd_ = connection_.fd();
    poller_.add(fd_, 0);
    next_progress_ = RealClock::now();
  }
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RealClock& clock() const noexcept { return clock_; }
  /// Whether more requests may be sent: neither an error nor an interrupt has ended the run.
  bool is_running() const noexcept { return !stopped_at_; }
  /// Sets when the first request is due, for the progress.
  void set_first_due(Instant due) noexcept { pace_.set_first_due(due); }

  /// Hands a request that was due at this time to the connection, as of now; the next turn() sends
  /// it. Call this only while is_running().
  void enqueue(traffic::Arrival arrival, Instant due) {
    const auto now = RealClock::now();
    arrival.at = clock_.since_1970(now);
    run_.script->call(arrival).append_to(connection_);
    in_flight_.push_back({.arrival = arrival, .sent = now});
    pace_.add_sent(now, due);
    is_queued_ = true;
  }

  /// Sends, then takes the answers that have arrived; if there are none, waits until `until` at
  /// most. Handles timeouts, the interrupt and the progress.
  void turn(Instant until) {
    if (std::exchange(is_queued_, false) && !is_full_) send();
    const bool has_more = std::exchange(has_more_, false);
    const auto ready = poller_.wait(has_more ? RealClock::now() : std::min(until, next_duty()));
    const auto now = RealClock::now();
    if (has_more) receive();
    for (const auto& [id, readable, writable] : ready) {
      // A connection to several servers is readable, too, if it has room again.
      if (writable || is_full_) send();
      if (readable) receive();
    }
    time_out_silent(now);
    tell_progress(now);
    if (run_.interrupt != nullptr && run_.interrupt->signal() != 0) stop(nullptr);
  }

  /// Awaits all answers in flight, and returns the outcome. Call it once.
  Outcome finish() {
    await_all();
    if (error_) throw redis::Error(*error_);
    auto outcome = recorder_.finish();
    outcome.pace = pace_.pace();
    outcome.interrupted = is_interrupted_;
    if (!is_interrupted_) outcome.bytes_per_key = bytes_per_key(connection_, run_.script->keys());
    outcome.replies = std::move(replies_);
    return outcome;
  }

  /// After an exception, awaits all answers in flight and drops them, so that the server executes
  /// nothing after the run.
  void abandon() noexcept {
    is_abandoned_ = true;
    try {
      stop(nullptr);
      await_all();
    } catch (const std::exception&) {
      return;  // the caller rethrows the first exception
    }
  }

 private:
  struct Request {
    traffic::Arrival arrival = {};  ///< at the time when it was sent
    Instant sent = {};
  };

  void send() {
    if (is_broken_) return;
    try {
      const bool is_full = !connection_.send_some();
      if (is_full == is_full_) return;
      is_full_ = is_full;
      poller_.set_writing(fd_, 0, is_full);
    } catch (const redis::Error& error) {
      fail(error);
    }
  }

  void receive() {
    if (is_broken_) return;
    has_more_ = true;  // even if recording a decision throws
    has_more_ = take_answers() == kAnswersAtOnce;
    if (is_broken_ || connection_.fd() == fd_) return;
    // The server has turned out to be one of several.
    poller_.remove(fd_);
    fd_ = connection_.fd();
    poller_.add(fd_, 0);
    is_full_ = false;
  }

  /// Takes at most kAnswersAtOnce, and returns how many. A server sends an unsolicited reply before
  /// it hangs up; the next read reports that.
  int take_answers() {
    int taken = 0;
    try {
      do {
        const auto reply = connection_.try_read();
        if (!reply || in_flight_.empty()) break;
        take_answer(*reply);
        ++taken;
      } while (taken < kAnswersAtOnce && !in_flight_.empty());
    } catch (const redis::Error& error) {
      fail(error);
    }
    return taken;
  }

  /// The answer to the first request in flight.
  void take_answer(redis::ReplyView reply) {
    last_answer_ = RealClock::now();
    const auto arrival = in_flight_.front().arrival;
    in_flight_.pop_front();
    const auto call = ++answered_;
    limiter::Decision decision;
    try {
      decision = run_.script->parse(reply, arrival, call);
      replies_.add(reply, arrival, decision.allowed, run_.script->limit());
    } catch (const redis::Error& error) {
      const auto explained = run_.script->with_request(error, arrival, call);
      stop(&explained);
      return;
    }
    pace_.add_answer(last_answer_);
    if (is_abandoned_) return;
    ++(decision.allowed ? allowed_ : denied_);
    recorder_.add(arrival, decision);
  }

  /// Ends the run, and gives up what is in flight. The error gets details of the first request in
  /// flight, which may be the cause: on a schedule, it is usually alone.
  void fail(const redis::Error& cause) {
    auto error = cause;
    if (!in_flight_.empty()) {
      error = without_answer(cause, *run_.script, in_flight_.front().arrival, answered_ + 1, false);
    }
    stop(&error);
    if (std::exchange(is_broken_, true)) return;
    poller_.remove(fd_);
    in_flight_.clear();
  }

  /// When the connection has been silent for too long, or the run should have ended.
  Instant silent_until() const {
    const auto answer = std::max(in_flight_.front().sent, last_answer_) + timeout_;
    return stopped_at_ ? std::min(answer, *stopped_at_ + timeout_) : answer;
  }

  /// `now`: when the caller last looked for answers.
  void time_out_silent(Instant now) {
    if (in_flight_.empty() || now < next_timeout_ || now <= silent_until()) return;
    const auto before = in_flight_.size();
    try {
      connection_.time_out(timeout_);
      while (take_answers() > 0) {
      }
    } catch (const redis::Error& error) {
      fail(error);
    }
    // One server of several may not be late itself: its answer is on the way.
    if (in_flight_.size() == before) next_timeout_ = now + kBetweenTimeouts;
  }

  /// Only the first cause counts. Null: an interrupt.
  void stop(const redis::Error* error) {
    if (stopped_at_) return;
    stopped_at_ = RealClock::now();
    if (error != nullptr) error_ = *error;
    is_interrupted_ = error == nullptr;
  }

  void tell_progress(Instant now) {
    if (now < next_progress_) return;
    next_progress_ = now + kBetweenProgress;
    if (!run_.on_progress || is_abandoned_) return;
    run_.on_progress(pace_.progress(now, allowed_, denied_));
  }

  void await_all() {
    while (!in_flight_.empty()) turn(kNoDeadline);
  }

  /// When there is work to do even if nothing arrives.
  Instant next_duty() const {
    const auto at = in_flight_.empty() ? next_progress_ : std::min(next_progress_, silent_until());
    return std::max(at, next_timeout_);
  }

  const RealRun& run_;
  const std::chrono::microseconds timeout_;
  redis::Connection& connection_;
  RealClock clock_;
  Poller poller_;
  int fd_ = -1;  ///< the connection's, as the poller knows it
  std::deque<Request> in_flight_;
  Instant last_answer_ = {};
  bool is_queued_ = false;  ///< the connection has requests to send
  bool is_full_ = false;    ///< its socket accepts no more data now
  bool has_more_ = false;   ///< it may hold more answers
  bool is_broken_ = false;  ///< it is unusable

  OutcomeRecorder recorder_;
  PaceRecorder pace_;
  RepliesSeen replies_;
  std::int64_t answered_ = 0, allowed_ = 0, denied_ = 0;
  Instant next_progress_;
  Instant next_timeout_ = {};  ///< no timeout is handled before

  std::optional<Instant> stopped_at_;
  std::optional<redis::Error> error_;
  bool is_interrupted_ = false;
  bool is_abandoned_ = false;
};

/// Requests handed over before a send: many at a time cost less, but the first must wait for the
/// last.
constexpr int kMaxAtOnce = 32;

}  // namespace

Outcome run_in_real_time(traffic::Traffic& traffic, const RealRun& run) {
  Exchange exchange(run);
  try {
    traffic::Arrival next;
    bool has_next = false;
    Instant due = {};
    const auto fetch = [&] {
      has_next = traffic.next(next);
      if (has_next) due = exchange.clock().at(next.at);
    };
    fetch();
    if (has_next) exchange.set_first_due(due);
    while (has_next && exchange.is_running()) {
      for (int i = 0; i < kMaxAtOnce && has_next && due <= RealClock::now(); ++i) {
        exchange.enqueue(next, due);
        fetch();
      }
      exchange.turn(has_next ? due - kAwake : RealClock::now());
    }
    return exchange.finish();
  } catch (...) {
    exchange.abandon();
    throw;
  }
}

}  // namespace rlctl::simulation
