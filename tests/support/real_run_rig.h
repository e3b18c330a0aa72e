#pragma once

#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/wait.h"
#include "redis/connection.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "script/script.h"
#include "simulation/real_run.h"
#include "support/limiters.h"
#include "traffic/traffic.h"

namespace rlctl::test::real_run {

using namespace std::chrono_literals;
using namespace rlctl::script;
using namespace rlctl::simulation;
using namespace rlctl::traffic;
using redis::Connection;

inline const Limit kMinute{1000, 60s, {}};

inline microseconds in(microseconds from_now) {
  const RealClock clock;
  return clock.since_1970(RealClock::now()) + from_now;
}

/// A number of requests at a fixed rate, starting a moment from now. An incident may be attached to
/// a request, and happens when it is made.
class Stream final : public Traffic {
 public:
  Stream(std::int64_t count, microseconds distance, std::uint32_t keys = 1)
      : count_(count), distance_(distance), keys_(keys) {}

  /// The incident happens when request number `at` is made, a moment after the previous one was
  /// handed over.
  Stream& on(std::int64_t at, std::function<void()> incident) {
    at_ = at;
    incident_ = std::move(incident);
    return *this;
  }
  Stream& lengthen_names(std::size_t size) {
    for (auto& name : names_) name.resize(size, 'x');
    return *this;
  }
  /// The incident under way happens at the next request instead.
  void put_off() { ++at_; }
  Arrival arrival(std::int64_t number) const {
    const bool is_in_first_half = number < count_ / 2;
    return {.at = begin_ + number * distance_ + (is_in_first_half ? 0us : second_half_after),
            .key = static_cast<std::uint32_t>(number) % keys_,
            .cost = number % 5 == 4 ? 2 : 1};
  }

  bool next(Arrival& arrival) override {
    if (made_ == count_) return false;
    if (made_ == 0) begin_ = in(begins_in);
    if (made_ == at_) incident_();
    arrival = this->arrival(made_++);
    return true;
  }
  std::string_view key_name(std::uint32_t key) const override { return names_[key]; }
  std::int64_t size() const override { return count_; }

  microseconds begins_in = 20ms;
  microseconds second_half_after = 0us;  ///< is added to the distances

 private:
  std::int64_t count_;
  microseconds distance_;
  std::uint32_t keys_;
  std::int64_t at_ = -1;
  std::function<void()> incident_;
  std::int64_t made_ = 0;
  microseconds begin_{0};
  std::vector<std::string> names_{"a", "b", "c", "d", "e"};
};

struct Answer {
  Arrival arrival;
  Decision decision;
};

/// A server, a connection to it, and what is reported about runs on it.
class Rig {
 public:
  Outcome run(Traffic& traffic, std::string_view name = "fixed-window",
              std::vector<Limit> limits = {kMinute}) {
    const auto script = make_script({&algorithm(name), limits}, traffic, "r:");
    return run_in_real_time(traffic, run_of(*script, std::move(limits)));
  }
  RealRun run_of(Script& script, std::vector<Limit> limits) {
    return {.script = &script,
            .connection = &connection,
            .limits = std::move(limits),
            .timeout = timeout,
            .interrupt = &interrupt,
            .on_decision =
                [this](const Arrival& arrival, const Decision& decision) {
                  answers.push_back({arrival, decision});
                  if (on_answer) on_answer();
                },
            .on_progress = on_progress};
  }

  /// The server stops for this long, starting now.
  void stop_for(std::chrono::milliseconds length) {
    ::kill(server.pid(), SIGSTOP);
    resumers_.emplace_back([pid = server.pid(), length] {
      std::this_thread::sleep_for(length);
      ::kill(pid, SIGCONT);
    });
  }
  void kill(int signal) { ::kill(server.pid(), signal); }
  redis::Reply call(std::initializer_list<std::string_view> arguments) {
    auto other = Connection::open(server.url(), 60s);
    return other.call(arguments);
  }
  /// Checks that the connection answers, and that no earlier request is executed afterwards.
  void check_nothing_under_way() {
    CHECK(connection.outstanding() == 0);
    CHECK(connection.call({"PING"}).text() == "PONG");
    static_cast<void>(call({"FLUSHALL"}));
    std::this_thread::sleep_for(20ms);
    CHECK(call({"DBSIZE"}).integer() == 0);
  }

  redis::PrivateServer server;
  Connection connection = Connection::open(server.url(), 60s);
  Interrupt interrupt;
  microseconds timeout = 60s;
  OnRealProgress on_progress;
  std::function<void()> on_answer;
  std::vector<Answer> answers;

 private:
  std::vector<std::jthread> resumers_;
};

inline bool in_order(const std::vector<Answer>& answers) {
  return std::is_sorted(answers.begin(), answers.end(), [](const Answer& one, const Answer& other) {
    return one.arrival.at < other.arrival.at;
  });
}

/// The machine itself may stop the process and so hide the effect of a stopped server: then the run
/// is repeated. `is_shown` runs once and reports whether the effect was visible.
inline bool is_shown_at_last(const std::function<bool()>& is_shown) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (is_shown()) return true;
  }
  return false;
}

}  // namespace rlctl::test::real_run
