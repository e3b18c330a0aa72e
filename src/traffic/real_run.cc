#include "traffic/real_run.h"

#include <algorithm>
#include <deque>
#include <exception>
#include <utility>

#include "base/numbered_queue.h"
#include "redis/error.h"

namespace rlctl::traffic {

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

/// After this many answers, the other connections get their turn.
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

/// Pings each connection, all in one round trip: a server with too many clients reports it then.
void greet(std::span<redis::Connection> connections) {
  for (auto& connection : connections) {
    connection.append({"PING"});
    connection.flush();
  }
  for (auto& connection : connections) {
    const auto reply = connection.read();
    // A user who may only call scripts gets NOPERM, which is an answer as well.
    if (reply.is_error() && redis::error_code(reply.text()) != "NOPERM") {
      throw redis::to_error(reply);
    }
  }
}

/// Requests and answers on a run's connections under the real clock. Measures the pace of both, and
/// records the decisions in sending order, whatever the order of the answers. It never waits
/// for a socket to accept data: the connection keeps the rest. The caller decides when to send
/// what.
///
/// After a server error, is_running() is false; finish() throws it once nothing is in flight.
class Exchange {
 public:
  /// Loads the script and pings each connection. `run` must outlive this. Throws redis::Error.
  explicit Exchange(const RealRun& run);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const RealClock& clock() const noexcept { return clock_; }
  /// Whether more requests may be sent: neither an error nor an interrupt has ended the run.
  bool is_running() const noexcept { return !stopped_at_; }
  /// Sets when the first request is due, for the progress.
  void set_first_due(Instant due) noexcept { pace_.set_first_due(due); }

  /// Hands a request that was due at this time to a connection, as of now; the next turn() sends
  /// it. Call this only while is_running().
  void enqueue(std::size_t number, Arrival arrival, Instant due) {
    Client& client = clients_[number];
    const auto now = RealClock::now();
    arrival.at = clock_.since_1970(now);
    run_.script->call(arrival).append_to(*client.connection);
    client.in_flight.push_back(requests_.push({.arrival = arrival, .sent = now, .client = number}));
    ++in_flight_;
    pace_.add_sent(now, due);
    if (!client.is_queued && !client.is_full) {
      client.is_queued = true;
      to_send_.push_back(number);
    }
  }

  /// Sends, then takes the answers that have arrived; if there are none, waits until `until` at
  /// most. Handles timeouts, the interrupt and the progress.
  void turn(Instant until);

  /// Awaits all answers in flight, and returns the outcome. Call it once.
  Outcome finish() {
    await_all();
    if (error_) throw redis::Error(*error_);
    auto outcome = recorder_.finish();
    outcome.pace = pace_.pace();
    // A server may serve several connections in an order other than that of sending. Another
    // request may then take a promised place, which does not make the promise wrong.
    if (clients_.size() > 1) {
      outcome.measured.retry_error = {};
      outcome.measured.remaining_error = {};
      outcome.measured.reset_error = {};
    }
    outcome.interrupted = is_interrupted_;
    if (!is_interrupted_) {
      outcome.bytes_per_key = bytes_per_key(run_.connections.front(), run_.script->keys());
    }
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
  enum class State { kInFlight, kAnswered, kFailed };
  struct Request {
    Arrival arrival = {};  ///< at the time when it was sent
    Instant sent = {};
    std::size_t client = 0;
    State state = State::kInFlight;
    limiter::Decision decision = {};
  };
  struct Client {
    redis::Connection* connection = nullptr;
    int fd = -1;                               ///< the connection's, as the poller knows it
    std::deque<std::uint64_t> in_flight = {};  ///< the numbers of its requests
    Instant last_answer = {};                  ///< when its last answer arrived
    bool is_queued = false;                    ///< for sending, in to_send_
    bool is_full = false;                      ///< its socket accepts no more data now
    bool is_broken = false;                    ///< its connection is unusable
  };

  /// Sends the queued requests, as far as the sockets accept them.
  void send_all() {
    for (const auto number : to_send_) send(number);
    to_send_.clear();
  }

  void send(std::size_t number) {
    Client& client = clients_[number];
    client.is_queued = false;
    if (client.is_broken) return;
    try {
      const bool is_full = !client.connection->send_some();
      if (is_full == client.is_full) return;
      client.is_full = is_full;
      poller_.set_writing(client.fd, number, is_full);
    } catch (const redis::Error& error) {
      fail(client, error);
    }
  }

  void receive(std::size_t number) {
    Client& client = clients_[number];
    if (client.is_broken) return;
    const auto taken = take_answers(client);
    if (client.connection->fd() != client.fd) watch(client, number);
    if (taken == kAnswersAtOnce) to_read_.push_back(number);
  }

  /// Watches another descriptor: the server has turned out to be one of several.
  void watch(Client& client, std::size_t number) {
    if (client.is_broken) return;
    poller_.remove(client.fd);
    client.fd = client.connection->fd();
    poller_.add(client.fd, number);
    client.is_full = false;
  }

  /// Takes at most kAnswersAtOnce, and returns how many. A server sends an unsolicited reply before
  /// it hangs up; the next read reports that.
  int take_answers(Client& client) {
    int taken = 0;
    try {
      do {
        const auto reply = client.connection->try_read();
        if (!reply || client.in_flight.empty()) break;
        take_answer(client, *reply);
        ++taken;
      } while (taken < kAnswersAtOnce && !client.in_flight.empty());
    } catch (const redis::Error& error) {
      fail(client, error);
    }
    return taken;
  }

  void take_answer(Client& client, redis::ReplyView reply) {
    const auto now = RealClock::now();
    const auto number = client.in_flight.front();
    Request& request = requests_[number];
    client.in_flight.pop_front();
    client.last_answer = now;
    --in_flight_;
    const auto call = static_cast<std::int64_t>(number) + 1;
    try {
      request.decision = run_.script->parse(reply, request.arrival, call);
      replies_.add(reply, request.arrival, request.decision.allowed, run_.script->limit());
    } catch (const redis::Error& error) {
      request.state = State::kFailed;
      const auto explained = run_.script->with_request(error, request.arrival, call);
      stop(&explained);
      return;
    }
    request.state = State::kAnswered;
    pace_.add_answer(now);
  }

  /// Records the answered requests before the first one in flight.
  void record_answered() {
    for (; !requests_.empty(); requests_.pop()) {
      const Request& request = requests_.front();
      if (request.state == State::kInFlight) return;
      if (request.state == State::kFailed || is_abandoned_) continue;
      ++(request.decision.allowed ? allowed_ : denied_);
      recorder_.add(request.arrival, request.decision);
    }
  }

  /// The error, with details of the client's first request in flight if that may be the cause.
  redis::Error explained(Client& client, const redis::Error& error) {
    if (client.in_flight.empty()) return error;
    const auto number = client.in_flight.front();
    const auto& request = requests_[number];
    // On a schedule, the first request in flight is usually alone.
    return without_answer(error, *run_.script, request.arrival,
                          static_cast<std::int64_t>(number) + 1, false);
  }

  /// Ends the run, and gives up what is in flight on a connection.
  void fail(Client& client, const redis::Error& cause) {
    const auto error = explained(client, cause);
    stop(&error);
    if (std::exchange(client.is_broken, true)) return;
    poller_.remove(client.fd);
    in_flight_ -= static_cast<std::int64_t>(client.in_flight.size());
    for (; !client.in_flight.empty(); client.in_flight.pop_front()) {
      requests_[client.in_flight.front()].state = State::kFailed;
    }
  }

  void time_out(Client& client) {
    try {
      client.connection->time_out(timeout_);
      while (take_answers(client) > 0) {
      }
    } catch (const redis::Error& error) {
      fail(client, error);
    }
  }

  /// `now`: when the caller last looked for answers. The first request in the queue is the one sent
  /// first, on any connection.
  void time_out_silent(Instant now) {
    if (now < next_timeout_) return;
    if (stopped_at_ && now - *stopped_at_ > timeout_) {
      for (Client& client : clients_) {
        if (!client.in_flight.empty()) time_out(client);
      }
    }
    for (; !requests_.empty(); record_answered()) {
      Client& client = clients_[requests_.front().client];
      if (now - std::max(requests_.front().sent, client.last_answer) <= timeout_) return;
      const auto before = in_flight_;
      time_out(client);
      if (in_flight_ != before) continue;
      // One server of several that is not late itself: its answer is on the way.
      next_timeout_ = now + kBetweenTimeouts;
      return;
    }
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
    while (in_flight_ > 0) turn(kNoDeadline);
    record_answered();
  }

  /// When there is work to do even if nothing arrives.
  Instant next_duty() const {
    auto at = next_progress_;
    if (!requests_.empty()) {
      const Request& first = requests_.front();
      at = std::min(at, std::max(first.sent, clients_[first.client].last_answer) + timeout_);
    }
    if (stopped_at_) at = std::min(at, *stopped_at_ + timeout_);
    return std::max(at, next_timeout_);
  }

  const RealRun& run_;
  const std::chrono::microseconds timeout_;
  RealClock clock_;
  Poller poller_;
  std::vector<Client> clients_;
  std::vector<std::size_t> to_send_;
  std::vector<std::size_t> to_read_;  ///< clients whose connections may hold more answers
  NumberedQueue<Request> requests_;   ///< from the first that is not recorded

  OutcomeRecorder recorder_;
  PaceRecorder pace_;
  RepliesSeen replies_;
  std::int64_t allowed_ = 0, denied_ = 0;
  std::int64_t in_flight_ = 0;  ///< requests on all connections
  Instant next_progress_;
  Instant next_timeout_ = {};  ///< no timeout is handled before

  std::optional<Instant> stopped_at_;
  std::optional<redis::Error> error_;
  bool is_interrupted_ = false;
  bool is_abandoned_ = false;
};

Exchange::Exchange(const RealRun& run)
    : run_(run),
      timeout_(std::min<std::chrono::microseconds>(run.timeout, kLongestTimeout)),
      poller_(run.interrupt),
      recorder_(run.limits, run.on_decision, true, run.zero) {
  run_.script->load(run_.connections.front());
  greet(run_.connections);
  clients_.reserve(run_.connections.size());
  for (auto& connection : run_.connections) {
    poller_.add(connection.fd(), clients_.size());
    clients_.push_back({.connection = &connection, .fd = connection.fd()});
  }
  next_progress_ = RealClock::now();
}

void Exchange::turn(Instant until) {
  send_all();
  const auto unread = std::exchange(to_read_, {});
  const auto ready = poller_.wait(unread.empty() ? std::min(until, next_duty()) : RealClock::now());
  const auto now = RealClock::now();
  for (const auto number : unread) receive(number);
  for (const auto& [number, readable, writable] : ready) {
    // A connection to several servers is readable, too, if it has room again.
    if (writable || clients_[number].is_full) send(number);
    if (readable) receive(number);
  }
  record_answered();
  if (ready.size() < Poller::kAtOnce) time_out_silent(now);
  tell_progress(now);
  if (run_.interrupt != nullptr && run_.interrupt->signal() != 0) stop(nullptr);
}

/// Requests handed over before a send: many at a time cost less, but the first must wait for the
/// last.
constexpr int kMaxAtOnce = 32;

}  // namespace

Outcome run_in_real_time(Traffic& traffic, const RealRun& run) {
  Exchange exchange(run);
  try {
    Arrival next;
    bool has_next = false;
    Instant due = {};
    const auto fetch = [&] {
      has_next = traffic.next(next);
      if (has_next) due = exchange.clock().at(next.at);
    };
    fetch();
    if (has_next) exchange.set_first_due(due);
    std::size_t client = 0;
    while (has_next && exchange.is_running()) {
      for (int i = 0; i < kMaxAtOnce && has_next && due <= RealClock::now(); ++i) {
        exchange.enqueue(client, next, due);
        client = (client + 1) % run.connections.size();
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

}  // namespace rlctl::traffic
