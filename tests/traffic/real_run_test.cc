// needs: server
// alone: the effects of delays of some tenths of a second are measured in real time
#include "traffic/real_run.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "support/failure.h"
#include "support/limiters.h"
#include "support/real_run_rig.h"
#include "support/test_script.h"
#include "traffic/virtual_run.h"

namespace traffic_real_run_test {

using namespace std::chrono_literals;
using namespace rlctl::traffic;
using namespace rlctl::test;
using namespace rlctl::test::real_run;
using rlctl::redis::Connection;
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

/// Whether at least `count` durations were longer than `than`.
bool longer(const Histogram& histogram, std::int64_t count, nanoseconds than) {
  const auto share = static_cast<double>(count) / static_cast<double>(histogram.count());
  const auto found = histogram.percentile(100 * (1 - share));
  REQUIRE(found);
  return *found >= than;
}

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
    check_decided_like(ModelDecider({&row, limits}), rig.answers);
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

// --- flat out ------------------------------------------------------------------------------------

TEST_CASE("flat out: the run ends at the number of requests, with exactly full pipelines") {
  Rig rig(4);
  Stream stream(5000, 1us, 2);
  const auto script = make_script({&algorithm("fixed-window"), {kMinute}}, stream, "r:");
  std::int64_t under_way = 0, most = 0;
  WatchedScript counting(
      *script, [&] { most = std::max(most, ++under_way); }, [&] { --under_way; });
  const auto outcome = run_flat_out(stream, rig.run_of(counting, {kMinute}), 6, {});
  CHECK(outcome.measured.sent == 5000);
  CHECK(most == 4 * 6);
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
  check_decided_like(ModelDecider({&algorithm("fixed-window"), {kMinute}}), rig.answers);
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
  for (const bool flat_out : {false, true}) {
    CAPTURE(flat_out);
    Rig rig(300);
    Stream stream(3000, 1us);
    CHECK(rig.run(stream, flat_out, 1).measured.sent == 3000);
    CHECK(rig.answers.size() == 3000);
    CHECK(in_order(rig.answers));
  }
}

}  // namespace traffic_real_run_test
