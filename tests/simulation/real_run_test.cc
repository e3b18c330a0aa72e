// needs: server
// alone: the effects of delays of some tenths of a second are measured in real time
#include "simulation/real_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "simulation/virtual_run.h"
#include "support/failure.h"
#include "support/limiters.h"
#include "support/real_run_rig.h"
#include "support/test_script.h"

namespace rlctl::simulation::real_run_test {

using namespace std::chrono_literals;
using namespace test;
using namespace test::real_run;
using redis::Connection;
using support::contains;

namespace {

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

void check_decided_like(ModelDecider model, const std::vector<Answer>& answers) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    CAPTURE(i);
    Decision expected;
    model.decide({&answers[i].arrival, 1}, {&expected, 1});
    REQUIRE(answers[i].decision == expected);
  }
}

}  // namespace

TEST_CASE("every request is sent in order, and none before its time") {
  Rig rig;
  Stream stream(500, 400us, 3);
  const auto outcome = rig.run(stream);
  check_all_sent(rig.answers, stream);
  CHECK(outcome.measured.sent == 500);
  CHECK(outcome.measured.keys == 3);
  CHECK_FALSE(outcome.interrupted);
  CHECK(outcome.bytes_per_key > 0);
}

TEST_CASE("the pace is that of the schedule, of the sender and of the answers") {
  Rig rig;
  Stream stream(500, 400us);
  const auto pace = rig.run(stream).pace.value();
  CHECK(pace.span == 499 * 400us);
  // The time begins with the first request, which a busy machine sends late.
  CHECK(pace.seconds + std::chrono::duration<double>(pace.lag).count() >= 499 * 400e-6 - 0.01);
  CHECK(pace.answered_per_second == doctest::Approx(499 / pace.seconds));
  CHECK(pace.sent_per_second >= pace.answered_per_second);
}

TEST_CASE("the scripts decide like the models at the times of sending, whatever the algorithm") {
  const Limit limit{20, 50ms, {}};
  for (const Algorithm& row : limiter::algorithms()) {
    if (!limiter::counts_requests(row)) continue;
    CAPTURE(std::string(row.name));
    Limit bursting = limit;
    if (row.has_burst) bursting.burst = 7;
    const std::vector<Limit> limits{bursting, {100, 200ms, {}}};
    Rig rig;
    Stream stream(1500, 200us, 4);
    const auto outcome = rig.run(stream, row.name, limits);
    check_all_sent(rig.answers, stream);
    check_decided_like(ModelDecider({&row, limits}), rig.answers);
    CHECK(outcome.measured.allowed > 0);
    CHECK(outcome.measured.denied > 0);
  }
}

TEST_CASE("a user with few permissions can drive traffic and sees what it is allowed to see") {
  Rig rig;
  CHECK(
      rig.call({"ACL", "SETUSER", "scripter", "on", ">secret", "~r:*", "+@all", "-ping", "-memory"})
          .text() == "OK");
  auto url = rig.server.url();
  url.user = "scripter";
  url.password = "secret";
  rig.connection = Connection::open(url, 60s);
  Stream stream(100, 100us);
  const auto outcome = rig.run(stream);
  CHECK(outcome.measured.sent == 100);
  CHECK_FALSE(outcome.bytes_per_key);
}

TEST_CASE("progress is reported before the first request, and then with the decisions") {
  Rig rig;
  std::vector<RealProgress> all;
  rig.on_progress = [&](const RealProgress& progress) {
    CHECK(progress.allowed + progress.denied <= progress.sent);
    all.push_back(progress);
  };
  CHECK(is_shown_at_last([&] {
    all.clear();
    Stream stream(500, 1ms);
    stream.begins_in = 400ms;
    static_cast<void>(rig.run(stream));
    return all.size() >= 3 && all.front().until_first > 0us && all.back().allowed > 0;
  }));
  CHECK(all.front().until_first <= 400ms);
  CHECK(all.front().sent == 0);
  CHECK(all.back().until_first == 0us);
  CHECK(all.back().sent > 0);
  CHECK(all.back().seconds > 0);
}

// --- a slow server, and a slow sender ------------------------------------------------------------

TEST_CASE("a server that stops does not delay the sender, and the answers show the stop") {
  Rig rig;
  CHECK(is_shown_at_last([&] {
    rig.answers.clear();
    Stream stream(1000, 1ms);
    stream.on(500, [&] { rig.stop_for(1500ms); });
    const auto outcome = rig.run(stream);
    check_all_sent(rig.answers, stream);
    // The last 500 were sent within the stop, which ends a second after the last of them. A sender
    // that waited for the stop's end would be 1.5 seconds late.
    const auto pace = outcome.pace.value();
    return pace.lag < 500ms && pace.seconds >= 1.95;
  }));
}

TEST_CASE("requests that a stopped server does not accept wait in the client and are not lag") {
  Rig rig;
  // Those of the stop are several megabytes, more than the sockets' buffers take.
  CHECK(is_shown_at_last([&] {
    rig.answers.clear();
    Stream stream(4000, 500us);
    stream.lengthen_names(8192).on(3000, [&] { rig.stop_for(1s); });
    const auto outcome = rig.run(stream);
    check_all_sent(rig.answers, stream);
    rig.check_nothing_under_way();
    // The last quarter was sent within the stop. A sender that waited for its end would be a
    // second late.
    const auto pace = outcome.pace.value();
    return pace.lag < 500ms && pace.seconds >= 2.45;
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
  const auto outcome = rig.run(stream);
  check_all_sent(rig.answers, stream);
  microseconds latest{0};
  for (std::size_t i = 0; i < rig.answers.size(); ++i) {
    const auto due = stream.arrival(static_cast<std::int64_t>(i)).at;
    latest = std::max(latest, rig.answers[i].arrival.at - due);
  }
  const auto lag = outcome.pace.value().lag;
  return lag >= 290ms && latest >= lag;
}

}  // namespace

TEST_CASE("a delayed sender shows in the lag, and in the times of the requests") {
  bool progress = false;
  SUBCASE("by the consumer of decisions") {}
  SUBCASE("by the consumer of progress") {
    progress = true;
  }
  CHECK(is_shown_at_last([&] { return a_held_up_sender_is_shown(progress); }));
}

TEST_CASE("more answers than fit in one read are all read") {
  Rig rig;
  // All are sent before the first answer.
  Stream stream(3000, 1us);
  stream.on(1, [&] { rig.stop_for(300ms); });
  CHECK(rig.run(stream).measured.sent == 3000);
  rig.check_nothing_under_way();
}

}  // namespace rlctl::simulation::real_run_test
