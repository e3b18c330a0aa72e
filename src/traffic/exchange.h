#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
#include <vector>

#include "base/wait.h"
#include "limiter/decision.h"
#include "redis/error.h"
#include "traffic/numbered_queue.h"
#include "traffic/outcome.h"
#include "traffic/real_clock.h"
#include "traffic/real_run.h"
#include "traffic/server_stats.h"

namespace rlctl::traffic {

/// Requests and answers on a run's connections under the real clock. Takes the times of both, and
/// records what was decided in the order of sending, in whatever order the answers come. It never
/// waits for a socket to take what is sent: what it does not take stays in the connection. When to
/// ask for what is the caller's business.
///
/// What a server does wrong ends goes_on() and is thrown by finish(), once nothing is on its way.
class Exchange {
 public:
  /// Called for a connection (its place among the run's) from which some answers came, and again
  /// after some more, so that the server can go on with the next requests while they are read.
  using OnAnswers = std::function<void(std::size_t)>;

  /// `run` must outlive it. Loads the script and asks each connection once. Throws redis::Error.
  explicit Exchange(const RealRun& run);
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  [[nodiscard]] const RealClock& clock() const noexcept { return clock_; }
  /// Whether more may be asked: neither an error nor an interrupt has ended the run.
  [[nodiscard]] bool goes_on() const noexcept { return !stopped_at_; }
  /// How many requests are on their way on a connection.
  [[nodiscard]] std::size_t under_way(std::size_t number) const noexcept {
    return clients_[number].waiting.size();
  }
  /// When the first request will be due, for those who are told of the progress.
  void expect_first(Instant due) noexcept { first_due_ = due; }

  /// Hands a request to a connection, as of now; it leaves with the next send_all() or turn().
  /// `due`: when it was to be sent, none without a schedule. Only while goes_on().
  void ask(std::size_t number, Arrival arrival, std::optional<Instant> due);
  /// Sends what was asked, as far as the sockets take it.
  void send_all();
  /// Sends, then takes the answers that have come; where there are none it waits for them until
  /// `until`, or some time less. Sees to time-outs, the interrupt and the progress.
  void turn(Instant until, const OnAnswers& on_answers = {});
  /// Awaits all that is on its way, and makes an outcome of all. Once.
  [[nodiscard]] Outcome finish();
  /// Awaits all that is on its way without telling anyone, after an exception: a run leaves nothing
  /// behind that would be executed later.
  void abandon() noexcept;

 private:
  enum class State { kUnderWay, kAnswered, kLost };
  struct Request {
    Arrival arrival = {};  ///< at the time at which it was sent
    Instant sent = {};
    std::optional<Instant> due = {};
    std::size_t client = 0;
    State state = State::kUnderWay;
    limiter::Decision decision = {};
  };
  struct Client {
    redis::Connection* connection = nullptr;
    NumberedQueue<std::uint64_t> waiting = {};  ///< the numbers of its requests
    Instant heard = {};                         ///< when its last answer came
    bool has_news = false;                      ///< it is in to_send_
    bool awaits_room = false;                   ///< its socket takes no more
    bool is_lost = false;                       ///< its connection is of no more use
  };

  void send(std::size_t number);
  void receive(std::size_t number, const OnAnswers& on_answers);
  int take_answers(Client& client);
  void take_answer(Client& client, redis::ReplyView reply);
  void hand_on();
  void lose(Client& client, const redis::Error& error);
  void time_out(Client& client);
  void time_out_silent(Instant now);
  void stop(const redis::Error* error);
  void tell_progress(Instant now);
  void await_all();
  void set_rates();
  [[nodiscard]] Instant next_duty() const;

  const RealRun& run_;
  const std::chrono::microseconds timeout_;
  RealClock clock_;
  Poller poller_;
  std::vector<Client> clients_;
  std::vector<std::size_t> to_send_;
  std::vector<std::size_t> to_read_;  ///< whose connection may hold answers that were not taken
  NumberedQueue<Request> requests_;   ///< from the first that has not been handed on

  OutcomeRecorder recorder_;
  Timing timing_;
  std::optional<redis::CommandStats> server_time_;  ///< before the first
  std::int64_t sent_ = 0, allowed_ = 0, denied_ = 0;
  std::int64_t awaited_ = 0;  ///< answers
  Instant first_due_ = {}, last_due_ = {}, first_sent_ = {}, last_sent_ = {}, last_answer_ = {};
  Instant next_progress_;

  std::optional<Instant> stopped_at_;
  std::optional<redis::Error> error_;
  bool is_interrupted_ = false;
  bool is_abandoned_ = false;
};

}  // namespace rlctl::traffic
