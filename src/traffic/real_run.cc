#include "traffic/real_run.h"

#include <algorithm>

#include "traffic/exchange.h"

namespace rlctl::traffic {
namespace {

/// Requests that are handed over before they are sent: many at a time take less work, but the first
/// must wait for the last.
constexpr int kMostAtOnce = 32;

/// For so long before a request is due it is not slept: the kernel's timers are 50 to 100 µs late.
constexpr std::chrono::microseconds kAwake{200};

/// Awaits what is on its way, however `drive` ends.
template <typename Drive>
Outcome finish_after(Exchange& exchange, Drive drive) {
  try {
    drive();
    return exchange.finish();
  } catch (...) {
    exchange.abandon();
    throw;
  }
}

/// The traffic as it is due, on the connections in turn.
class Schedule {
 public:
  Schedule(Traffic& traffic, Exchange& exchange, std::size_t clients)
      : traffic_(traffic), exchange_(exchange), clients_(clients) {
    fetch();
  }

  void run() {
    if (has_next_) exchange_.expect_first(due_);
    while (has_next_ && exchange_.goes_on()) {
      ask_for_due();
      exchange_.turn(has_next_ ? due_ - kAwake : RealClock::now());
    }
  }

 private:
  void fetch() {
    has_next_ = traffic_.next(next_);
    if (has_next_) due_ = exchange_.clock().at(next_.at);
  }
  void ask_for_due() {
    for (int i = 0; i < kMostAtOnce && has_next_ && due_ <= RealClock::now(); ++i) {
      exchange_.ask(client_, next_, due_);
      client_ = (client_ + 1) % clients_;
      fetch();
    }
  }

  Traffic& traffic_;
  Exchange& exchange_;
  std::size_t clients_;
  std::size_t client_ = 0;  ///< whose turn it is
  Arrival next_;
  Instant due_ = {};
  bool has_next_ = false;
};

/// The traffic as fast as it is answered.
class Flood {
 public:
  Flood(Traffic& traffic, Exchange& exchange, std::size_t pipeline)
      : traffic_(traffic), exchange_(exchange), pipeline_(pipeline) {}

  void run(std::size_t clients, Instant end) {
    end_ = end;
    const auto refill = [&](std::size_t client) {
      fill(client);
      exchange_.send_all();
    };
    for (std::size_t client = 0; client < clients; ++client) refill(client);
    while (goes_on()) exchange_.turn(end_, refill);
  }

 private:
  [[nodiscard]] bool goes_on() const {
    return has_next_ && exchange_.goes_on() && RealClock::now() < end_;
  }
  void fill(std::size_t client) {
    if (!goes_on()) return;
    while (has_next_ && exchange_.under_way(client) < pipeline_) {
      Arrival arrival;
      has_next_ = traffic_.next(arrival);
      if (has_next_) exchange_.ask(client, arrival, std::nullopt);
    }
  }

  Traffic& traffic_;
  Exchange& exchange_;
  std::size_t pipeline_;
  Instant end_ = {};
  bool has_next_ = true;
};

}  // namespace

Outcome run_on_schedule(Traffic& traffic, const RealRun& run) {
  Exchange exchange(run);
  Schedule schedule(traffic, exchange, run.connections.size());
  return finish_after(exchange, [&] { schedule.run(); });
}

Outcome run_flat_out(Traffic& traffic, const RealRun& run, std::size_t pipeline,
                     std::optional<std::chrono::microseconds> duration) {
  Exchange exchange(run);
  Flood flood(traffic, exchange, pipeline);
  const auto end = duration ? RealClock::now() + *duration : kNoDeadline;
  return finish_after(exchange, [&] { flood.run(run.connections.size(), end); });
}

}  // namespace rlctl::traffic
