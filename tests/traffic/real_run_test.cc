#include "traffic/real_run.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/wait.h"
#include "redis/private_server.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "traffic/pattern.h"
#include "traffic/virtual_run.h"

namespace traffic_real_run_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;
using rlctl::Clock;
using rlctl::Interrupt;
using rlctl::redis::Connection;
using rlctl::redis::Error;
using rlctl::redis::Failure;
using rlctl::redis::PrivateServer;
using support::contains;
using support::error_of;
using support::message_of;

namespace {

const Limit kMinute{1000, 60s, {}};

microseconds in(microseconds from_now) {
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
  [[nodiscard]] Arrival arrival(std::int64_t number) const {
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

/// A server, connections to it, and what is reported about runs on them.
class Rig {
 public:
  explicit Rig(std::size_t clients = 1) {
    for (std::size_t i = 0; i < clients; ++i) {
      connections.push_back(Connection::open(server.url(), 60s));
    }
  }

  Outcome on_schedule(Traffic& traffic, std::string_view name = "fixed-window",
                      std::vector<Limit> limits = {kMinute}) {
    const auto script = make_script({&algorithm(name), limits}, traffic, "r:");
    return run_on_schedule(traffic, run_of(*script, std::move(limits)));
  }
  Outcome flat_out(Traffic& traffic, std::size_t pipeline,
                   std::optional<microseconds> duration = {}) {
    const auto script = make_script({&algorithm("fixed-window"), {kMinute}}, traffic, "r:");
    return run_flat_out(traffic, run_of(*script, {kMinute}), pipeline, duration);
  }
  RealRun run_of(Script& script, std::vector<Limit> limits) {
    return {.script = &script,
            .connections = connections,
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
  rlctl::redis::Reply call(std::initializer_list<std::string_view> arguments) {
    auto other = Connection::open(server.url(), 60s);
    return other.call(arguments);
  }
  /// Checks that each connection answers, and that no earlier request is executed afterwards.
  void check_nothing_under_way() {
    for (auto& connection : connections) {
      CHECK(connection.outstanding() == 0);
      CHECK(connection.call({"PING"}).text() == "PONG");
    }
    static_cast<void>(call({"FLUSHALL"}));
    std::this_thread::sleep_for(20ms);
    CHECK(call({"DBSIZE"}).integer() == 0);
  }

  PrivateServer server;
  std::vector<Connection> connections;
  Interrupt interrupt;
  microseconds timeout = 60s;
  OnRealProgress on_progress;
  std::function<void()> on_answer;
  std::vector<Answer> answers;

 private:
  std::vector<std::jthread> resumers_;
};

bool in_order(const std::vector<Answer>& answers) {
  return std::is_sorted(answers.begin(), answers.end(), [](const Answer& one, const Answer& other) {
    return one.arrival.at < other.arrival.at;
  });
}

/// Checks that all of a stream was sent, in order, and nothing before its time.
void check_all_sent(const std::vector<Answer>& answers, const Stream& stream) {
  REQUIRE(static_cast<std::int64_t>(answers.size()) == stream.size());
  CHECK(in_order(answers));
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CAPTURE(i);
    const auto expected = stream.arrival(static_cast<std::int64_t>(i));
    REQUIRE(answers[i].arrival.at >= expected.at);
    REQUIRE(answers[i].arrival.key == expected.key);
    REQUIRE(answers[i].arrival.cost == expected.cost);
  }
}

/// The error of a run that must fail.
template <typename Run>
Error failure_of(Run run) {
  return error_of([&] { static_cast<void>(run()); });
}

/// Whether at least `count` durations were longer than `than`.
bool longer(const Histogram& histogram, std::int64_t count, nanoseconds than) {
  const auto share = static_cast<double>(count) / static_cast<double>(histogram.count());
  const auto found = histogram.percentile(100 * (1 - share));
  REQUIRE(found);
  return *found >= than;
}

/// Counts the requests in flight.
class CountingScript final : public Script {
 public:
  explicit CountingScript(Script& script) : script_(script) {}
  std::string_view name() const override { return script_.name(); }
  void load(Connection& connection) override { script_.load(connection); }
  rlctl::limiter::ScriptCall call(const Arrival& arrival) override {
    most_ = std::max(most_, ++under_way_);
    return script_.call(arrival);
  }
  std::vector<std::string> keys() const override { return script_.keys(); }
  [[nodiscard]] std::int64_t most() const { return most_; }

 private:
  Decision read(rlctl::redis::ReplyView reply, const Arrival& arrival,
                std::int64_t number) const override {
    --under_way_;
    return script_.parse(reply, arrival, number);
  }
  Script& script_;
  mutable std::int64_t under_way_ = 0;
  std::int64_t most_ = 0;
};

/// The machine itself may stop the process and so hide the effect of a stopped server: then the run
/// is repeated. `is_shown` runs once and reports whether the effect was visible.
bool is_shown_at_last(const std::function<bool()>& is_shown) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    if (is_shown()) return true;
  }
  return false;
}

/// Keeps the server busy for this long. A server executes all commands that it reads at once before
/// it sends any reply; with this padding, Redis 7 reads no command together with another. Where
/// time stands still within a script, there is os.clock().
class SlowScript final : public Script {
 public:
  explicit SlowScript(microseconds length, std::size_t padding)
      : length_(std::to_string(length.count())), padding_(padding, ' ') {}
  std::string_view name() const override { return "slow"; }
  void load(Connection& connection) override {
    const auto reply = connection.call({"SCRIPT", "LOAD", R"(
      local function now()
        local time = redis.call('TIME')
        return time[1] * 1e6 + time[2]
      end
      local clock = rawget(_G, 'os') and os.clock or now
      local unit = clock == now and 1 or 1e6
      local ends = clock() + ARGV[1] / unit
      while clock() < ends do end
      return {1, 0, 0, 0, 0, 0})"});
    sha1_ = reply.text();
    arguments_ = {length_, padding_};
  }
  rlctl::limiter::ScriptCall call(const Arrival&) override {
    return {.sha1 = sha1_, .arguments = arguments_};
  }
  std::vector<std::string> keys() const override { return {}; }

 private:
  Decision read(rlctl::redis::ReplyView reply, const Arrival& /*arrival*/,
                std::int64_t /*number*/) const override {
    return rlctl::limiter::Checker::parse(reply);
  }
  std::string sha1_, length_;
  std::string padding_;
  std::vector<std::string_view> arguments_;
};

}  // namespace

// --- on schedule ---------------------------------------------------------------------------------

TEST_CASE("every request is sent in order, and none before its time") {
  Rig rig;
  Stream stream(500, 400us, 3);
  const auto outcome = rig.on_schedule(stream);
  check_all_sent(rig.answers, stream);
  CHECK(outcome.measured.sent == 500);
  CHECK(outcome.measured.keys == 3);
  CHECK_FALSE(outcome.interrupted);
  CHECK(outcome.bytes_per_key > 0);
}

TEST_CASE("the timings cover all requests and add up") {
  Rig rig;
  Stream stream(500, 400us);
  const auto timing = rig.on_schedule(stream).timing.value();
  CHECK(timing.service.count() == 500);
  CHECK(timing.response.count() == 500);
  CHECK(timing.lag.count() == 500);
  CHECK(timing.service.min() > 0ns);
  CHECK(timing.response.max() >= timing.service.min());
  CHECK(timing.response.mean_ns() ==
        doctest::Approx(timing.service.mean_ns() + timing.lag.mean_ns()));
  CHECK(timing.offered_per_second == doctest::Approx(2500));
  // The time begins with the first request, which a busy machine sends late.
  const auto late = static_cast<double>(timing.lag.max().count()) * 1e-9;
  CHECK(timing.seconds + late >= 499 * 400e-6 - 0.01);
  CHECK(timing.achieved_per_second == doctest::Approx(499 / timing.seconds));
  CHECK(timing.sent_per_second >= timing.achieved_per_second);
}

TEST_CASE("the scripts decide like the models at the times of sending, whatever the algorithm") {
  const Limit limit{20, 50ms, {}};
  for (const Algorithm& row : rlctl::limiter::algorithms()) {
    if (!rlctl::limiter::counts_requests(row)) continue;
    CAPTURE(std::string(row.name));
    Limit bursting = limit;
    if (row.has_burst) bursting.burst = 7;
    const std::vector<Limit> limits{bursting, {100, 200ms, {}}};
    Rig rig;
    Stream stream(1500, 200us, 4);
    const auto outcome = rig.on_schedule(stream, row.name, limits);
    check_all_sent(rig.answers, stream);
    ModelDecider model({&row, limits});
    for (std::size_t i = 0; i < rig.answers.size(); ++i) {
      CAPTURE(i);
      Decision expected;
      model.decide({&rig.answers[i].arrival, 1}, {&expected, 1});
      REQUIRE(rig.answers[i].decision == expected);
    }
    CHECK(outcome.measured.allowed > 0);
    CHECK(outcome.measured.denied > 0);
  }
}

TEST_CASE("requests take turns on several connections, and the limit applies to all together") {
  Rig rig(7);
  Stream stream(3000, 100us);
  const auto outcome = rig.on_schedule(stream);
  check_all_sent(rig.answers, stream);
  CHECK(outcome.measured.sent == 3000);
  // Costs are 1 and 2, and the edge of a window may fall in between.
  CHECK(outcome.measured.worst.allowed >= 999);
  const auto calls = rig.call({"INFO", "commandstats"});
  CHECK(contains(std::string(calls.text()), "cmdstat_evalsha:calls=3000,"));
  for (auto& connection : rig.connections) CHECK(connection.outstanding() == 0);
}

TEST_CASE("every connection is used") {
  Rig rig(4);
  Stream stream(4, 1ms);
  static_cast<void>(rig.on_schedule(stream));
  const auto list = std::string(rig.connections[0].call({"CLIENT", "LIST"}).text());
  CHECK(std::count(list.begin(), list.end(), '\n') == 4);
  std::size_t asked = 0, at = 0;
  for (; (at = list.find("cmd=evalsha", at)) != std::string::npos; ++at) ++asked;
  CHECK(asked == 3);  // the first one has since sent CLIENT LIST
}

TEST_CASE("the server's own time is reported if no other client calls scripts at the same time") {
  Rig rig;
  Stream stream(200, 100us);
  const auto outcome = rig.on_schedule(stream);
  const auto us_per_call = outcome.timing.value().server_us_per_call;
  CHECK(us_per_call > 0);
  // Other clients' calls before the run do not count.
  Stream again(200, 100us);
  CHECK(rig.on_schedule(again).timing.value().server_us_per_call > 0);
  Stream disturbed(200, 100us);
  disturbed.on(100, [&] { static_cast<void>(rig.call({"EVALSHA", "0", "0"})); });
  CHECK_FALSE(rig.on_schedule(disturbed).timing.value().server_us_per_call);
}

TEST_CASE("a user with few permissions can drive traffic and sees what it is allowed to see") {
  Rig rig;
  CHECK(rig.call({"ACL", "SETUSER", "scripter", "on", ">secret", "~r:*", "+@all", "-ping", "-info",
                  "-memory"})
            .text() == "OK");
  auto url = rig.server.url();
  url.user = "scripter";
  url.password = "secret";
  rig.connections.clear();
  for (int i = 0; i < 3; ++i) rig.connections.push_back(Connection::open(url, 60s));
  Stream stream(100, 100us);
  const auto outcome = rig.on_schedule(stream);
  CHECK(outcome.measured.sent == 100);
  CHECK_FALSE(outcome.timing.value().server_us_per_call);
  CHECK_FALSE(outcome.bytes_per_key);
}

TEST_CASE("progress is reported before the first request, and then with the decisions") {
  Rig rig;
  std::vector<RealProgress> all;
  rig.on_progress = [&](const RealProgress& progress) {
    REQUIRE(progress.timing != nullptr);
    CHECK(progress.allowed + progress.denied <= progress.sent);
    CHECK(progress.timing->lag.count() == progress.sent);
    all.push_back(progress);
  };
  CHECK(is_shown_at_last([&] {
    all.clear();
    Stream stream(500, 1ms);
    stream.begins_in = 400ms;
    static_cast<void>(rig.on_schedule(stream));
    return all.size() >= 3 && all.front().until_first > 0us && all.back().allowed > 0;
  }));
  CHECK(all.front().until_first <= 400ms);
  CHECK(all.front().sent == 0);
  CHECK(all.back().until_first == 0us);
  CHECK(all.back().sent > 0);
  CHECK(all.back().seconds > 0);
}

// --- a slow server, and a slow sender
// --------------------------------------------------

TEST_CASE("a server that stops does not delay the sender, and every request shows the stop") {
  Rig rig;
  CHECK(is_shown_at_last([&] {
    rig.answers.clear();
    Stream stream(1500, 1ms);
    stream.on(500, [&] { rig.stop_for(500ms); });
    const auto outcome = rig.on_schedule(stream);
    check_all_sent(rig.answers, stream);
    const auto timing = outcome.timing.value();
    // 250 were due in the first half of the stop and had to wait through the second half.
    return timing.response.max() >= 490ms && timing.service.max() >= 400ms &&
           longer(timing.response, 245, 245ms) && longer(timing.service, 150, 245ms) &&
           timing.lag.percentile(90).value() < 100ms;
  }));
}

TEST_CASE("requests that a stopped server does not accept wait in the client and are not lag") {
  Rig rig(2);
  // Those of the stop are several megabytes, more than the sockets' buffers take.
  CHECK(is_shown_at_last([&] {
    rig.answers.clear();
    Stream stream(4000, 500us);
    stream.lengthen_names(8192).on(1000, [&] { rig.stop_for(400ms); });
    const auto outcome = rig.on_schedule(stream);
    check_all_sent(rig.answers, stream);
    rig.check_nothing_under_way();
    const auto timing = outcome.timing.value();
    return longer(timing.response, 390, 195ms) &&  // of the 400 in the first half of the stop
           timing.lag.percentile(90).value() < 100ms;
  }));
}

namespace {

bool a_held_up_sender_is_shown(bool progress) {
  Rig rig;
  int calls = 0;
  const auto sleep_once = [&](int at) {
    if (++calls == at) std::this_thread::sleep_for(300ms);
  };
  if (progress) {
    rig.on_progress = [&](const RealProgress&) { sleep_once(4); };
  } else {
    rig.on_answer = [&] { sleep_once(300); };
  }
  Stream stream(1000, 1ms);
  const auto outcome = rig.on_schedule(stream);
  check_all_sent(rig.answers, stream);
  const auto timing = outcome.timing.value();
  microseconds latest{0};
  for (std::size_t i = 0; i < rig.answers.size(); ++i) {
    const auto due = stream.arrival(static_cast<std::int64_t>(i)).at;
    latest = std::max(latest, rig.answers[i].arrival.at - due);
  }
  return timing.lag.max() >= 290ms && latest >= 290ms && longer(timing.lag, 145, 145ms) &&
         longer(timing.response, 145, 145ms) && !longer(timing.service, 145, 145ms) &&
         !timing.is_valid();
}

}  // namespace

TEST_CASE("a delayed sender shows in lag and response but not in service") {
  bool progress = false;
  SUBCASE("by the consumer of decisions") {}
  SUBCASE("by the consumer of progress") {
    progress = true;
  }
  CHECK(is_shown_at_last([&] { return a_held_up_sender_is_shown(progress); }));
}

// --- what ends a run -----------------------------------------------------------------------------

TEST_CASE("a server that stops answering is a timeout in every mode") {
  Rig rig(3);
  rig.timeout = 200ms;
  Stream stream(100'000, 100us, 2);
  stream.on(100, [&] { rig.kill(SIGSTOP); });
  Error error{Failure::kUsage, ""};
  SUBCASE("on schedule") {
    error = failure_of([&] { return rig.on_schedule(stream); });
  }
  SUBCASE("flat out") {
    error = failure_of([&] { return rig.flat_out(stream, 5); });
  }
  CHECK(error.failure() == Failure::kTimeout);
  CHECK(contains(message_of(error), "within 200ms"));
  CHECK(contains(error.hint(), "may have been executed"));
  rig.kill(SIGCONT);
  // Replies to earlier requests are not taken for answers to anything else.
  for (auto& connection : rig.connections) {
    if (connection.outstanding() == 0) continue;
    CHECK(failure_of([&] { return connection.call({"PING"}); }).failure() == Failure::kTimeout);
  }
}

TEST_CASE("a slow server that does answer is not a timeout, however late the answers are") {
  SlowScript script(250ms, 0);
  CHECK(is_shown_at_last([&] {
    Rig rig;
    // Where the script's clock is that of the processor, a busy machine makes it last longer.
    Stream half(8, 0us);
    const auto begin = std::chrono::steady_clock::now();
    static_cast<void>(run_on_schedule(half, rig.run_of(script, {kMinute})));
    const auto length = std::chrono::steady_clock::now() - begin;
    rig.timeout = std::chrono::duration_cast<microseconds>(length * 3 / 2);
    // A server answers each half at once: after two seconds, and after two more.
    Stream stream(16, 0us);
    stream.second_half_after = 500ms;
    try {
      const auto outcome = run_on_schedule(stream, rig.run_of(script, {kMinute}));
      CHECK(outcome.measured.sent == 16);
      return outcome.timing.value().service.max() > rig.timeout;
    } catch (const Error& error) {
      if (error.failure() != Failure::kTimeout) throw;
      return false;
    }
  }));
}

TEST_CASE("an error reply ends the run, and nothing is left in flight") {
  Rig rig(3);
  Stream stream(100'000, 100us, 2);
  std::string code;
  SUBCASE("a key of another type, on schedule") {
    stream.on(200, [&] {
      static_cast<void>(rig.call({"DEL", "r:b"}));
      static_cast<void>(rig.call({"LPUSH", "r:b", "x"}));
    });
    const auto error = failure_of([&] { return rig.on_schedule(stream); });
    CHECK(error.code() == "WRONGTYPE");
  }
  SUBCASE("a key of another type, flat out") {
    stream.on(200, [&] {
      static_cast<void>(rig.call({"DEL", "r:b"}));
      static_cast<void>(rig.call({"LPUSH", "r:b", "x"}));
    });
    const auto error = failure_of([&] { return rig.flat_out(stream, 20); });
    CHECK(error.code() == "WRONGTYPE");
  }
  SUBCASE("a script that is missing") {
    stream.on(200, [&] { static_cast<void>(rig.call({"SCRIPT", "FLUSH"})); });
    const auto error = failure_of([&] { return rig.on_schedule(stream); });
    CHECK(error.code() == "NOSCRIPT");
    CHECK_FALSE(error.hint().empty());
  }
  CHECK(rig.answers.size() < 50'000);
  rig.check_nothing_under_way();
}

TEST_CASE("a server that dies ends the run") {
  Rig rig(3);
  Stream stream(100'000, 100us);
  stream.on(200, [&] { rig.kill(SIGKILL); });
  Error error{Failure::kUsage, ""};
  SUBCASE("on schedule") {
    error = failure_of([&] { return rig.on_schedule(stream); });
  }
  SUBCASE("flat out") {
    error = failure_of([&] { return rig.flat_out(stream, 5); });
  }
  CHECK(error.failure() == Failure::kUnreachable);
  CHECK(rig.answers.size() < 50'000);
}

TEST_CASE("one broken connection ends the run, after the others' requests have been answered") {
  Rig rig(3);
  Stream stream(100'000, 100us);
  stream.on(200, [&] {
    auto& second = rig.connections[1];
    ::shutdown(second.fd(), SHUT_RDWR);
  });
  const auto error = failure_of([&] { return rig.on_schedule(stream); });
  CHECK(error.failure() == Failure::kUnreachable);
  rig.connections.erase(rig.connections.begin() + 1);
  rig.check_nothing_under_way();
}

TEST_CASE("an interrupt ends the run with all that was sent, without an exception") {
  Rig rig(3);
  Stream stream(100'000, 100us, 3);
  stream.on(500, [&] { rig.interrupt.raise(SIGINT); });
  Outcome outcome;
  SUBCASE("on schedule") {
    outcome = rig.on_schedule(stream);
  }
  SUBCASE("flat out") {
    outcome = rig.flat_out(stream, 10);
  }
  CHECK(outcome.interrupted);
  CHECK(outcome.measured.sent >= 500);
  CHECK(outcome.measured.sent < 50'000);
  CHECK(outcome.timing.value().service.count() == outcome.measured.sent);
  CHECK(rig.answers.size() == static_cast<std::size_t>(outcome.measured.sent));
  rig.check_nothing_under_way();
}

TEST_CASE("an interrupt immediately ends the wait for the first request") {
  Rig rig;
  Stream stream(10, 1ms);
  stream.begins_in = 60s;
  rig.on_progress = [&](const RealProgress&) { rig.interrupt.raise(SIGINT); };
  const auto began = Clock::now();
  const auto outcome = rig.on_schedule(stream);
  CHECK(Clock::now() - began < 30s);
  CHECK(outcome.interrupted);
  CHECK(outcome.measured.sent == 0);
  CHECK(outcome.timing.value().service.count() == 0);
  CHECK(outcome.timing.value().seconds == 0);
}

TEST_CASE("an interrupted run waits no longer for an unresponsive server than the timeout") {
  Rig rig(2);
  rig.timeout = 2s;
  Stream stream(100'000, 100us);
  stream.on(500, [&] {
    // A busy server may not have answered any by then.
    if (rig.answers.empty()) return stream.put_off();
    rig.kill(SIGSTOP);
    rig.interrupt.raise(SIGINT);
  });
  const auto outcome = rig.on_schedule(stream);
  CHECK(outcome.interrupted);
  CHECK(outcome.measured.sent > 0);
  CHECK(outcome.measured.sent < 50'000);
  CHECK(in_order(rig.answers));
  rig.kill(SIGCONT);
}

TEST_CASE("an interrupted run waits no longer for a slow server than the timeout") {
  Rig rig;
  rig.timeout = 300ms;
  Stream stream(100, 10us);
  stream.on(60, [&] { rig.interrupt.raise(SIGINT); });
  SlowScript script(100ms, 40'000);
  const auto outcome = run_on_schedule(stream, rig.run_of(script, {kMinute}));
  CHECK(outcome.interrupted);
  // Waiting for all of them would have taken six seconds.
  CHECK(outcome.measured.sent < 60);
}

TEST_CASE("the consumer of decisions may throw, and nothing is left in flight") {
  Rig rig(3);
  int decided = 0;
  rig.on_answer = [&] {
    if (++decided == 100) throw std::runtime_error("the disk is full");
  };
  Stream stream(100'000, 50us, 2);
  SUBCASE("on schedule") {
    CHECK_THROWS_WITH_AS(static_cast<void>(rig.on_schedule(stream)), "the disk is full",
                         std::runtime_error);
  }
  SUBCASE("flat out") {
    CHECK_THROWS_WITH_AS(static_cast<void>(rig.flat_out(stream, 30)), "the disk is full",
                         std::runtime_error);
  }
  CHECK(decided == 100);
  rig.check_nothing_under_way();
}

// --- flat out ------------------------------------------------------------------------------------

TEST_CASE("flat out: the run ends at the number of requests, with exactly full pipelines") {
  Rig rig(4);
  Stream stream(5000, 1us, 2);
  const auto script = make_script({&algorithm("fixed-window"), {kMinute}}, stream, "r:");
  CountingScript counting(*script);
  const auto outcome = run_flat_out(stream, rig.run_of(counting, {kMinute}), 6, {});
  CHECK(outcome.measured.sent == 5000);
  CHECK(counting.most() == 4 * 6);
  CHECK(rig.answers.size() == 5000);
  CHECK(in_order(rig.answers));
  const auto timing = outcome.timing.value();
  CHECK(timing.service.count() == 5000);
  CHECK(timing.response.count() == 0);
  CHECK(timing.lag.count() == 0);
  CHECK(timing.offered_per_second == 0);
  CHECK(timing.achieved_per_second == doctest::Approx(5000 / timing.seconds));
  CHECK(timing.server_us_per_call > 0);
  CHECK(timing.is_valid());
  rig.check_nothing_under_way();
}

TEST_CASE("flat out: fewer requests than the pipelines hold are still sent") {
  Rig rig(4);
  Stream stream(3, 1us);
  CHECK(rig.flat_out(stream, 100).measured.sent == 3);
  Stream none(0, 1us);
  CHECK(rig.flat_out(none, 1).measured.sent == 0);
}

TEST_CASE("flat out: the run ends after the duration, and all requests sent are answered") {
  Rig rig(3);
  Stream stream(1'000'000'000, 1us);
  const auto outcome = rig.flat_out(stream, 2, 300ms);
  const auto timing = outcome.timing.value();
  CHECK(timing.seconds >= 0.29);
  CHECK(timing.seconds < 30);
  CHECK(outcome.measured.sent >= 3 * 2);
  CHECK(timing.service.count() == outcome.measured.sent);
  CHECK_FALSE(outcome.interrupted);
  rig.check_nothing_under_way();
}

TEST_CASE("flat out: requests are measured at their sending times") {
  Rig rig(3);
  Stream stream(2000, 1us);
  const auto before = in(0us);
  static_cast<void>(rig.flat_out(stream, 4));
  const auto after = in(0us);
  CHECK(in_order(rig.answers));
  CHECK(rig.answers.front().arrival.at >= before);
  CHECK(rig.answers.back().arrival.at <= after);
}

TEST_CASE("flat out: requests on one connection are decided as in the model") {
  Rig rig;
  Stream stream(3000, 1us, 3);
  static_cast<void>(rig.flat_out(stream, 50));
  ModelDecider model({&algorithm("fixed-window"), {kMinute}});
  for (std::size_t i = 0; i < rig.answers.size(); ++i) {
    CAPTURE(i);
    Decision expected;
    model.decide({&rig.answers[i].arrival, 1}, {&expected, 1});
    REQUIRE(rig.answers[i].decision == expected);
  }
}

TEST_CASE("flat out: more answers than fit in one read are all read") {
  Rig rig;
  // By now the server has answered the whole pipeline.
  rig.on_answer = [&] {
    if (rig.answers.size() == 1) std::this_thread::sleep_for(200ms);
  };
  Stream stream(800, 1us);
  CHECK(rig.flat_out(stream, 800).measured.sent == 800);
  rig.check_nothing_under_way();
}

TEST_CASE("all connections are served even if there are more than one poll covers") {
  Rig rig(300);
  Stream stream(3000, 1us);
  Outcome outcome;
  SUBCASE("on schedule") {
    outcome = rig.on_schedule(stream);
  }
  SUBCASE("flat out") {
    outcome = rig.flat_out(stream, 1);
  }
  CHECK(outcome.measured.sent == 3000);
  CHECK(rig.answers.size() == 3000);
  CHECK(in_order(rig.answers));
}

}  // namespace traffic_real_run_test
