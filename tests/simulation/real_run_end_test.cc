// needs: server
// alone: a server that is slow by design must answer within a time limit
#include "simulation/real_run.h"

#include <doctest/doctest.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "support/failure.h"
#include "support/limiters.h"
#include "support/real_run_rig.h"

namespace rlctl::simulation::real_run_end_test {

using namespace std::chrono_literals;
using namespace redis;
using namespace test;
using namespace test::real_run;
using namespace support;

namespace {

/// The error of a run that must fail.
template <typename Run>
Error failure_of(Run run) {
  return error_of([&] { static_cast<void>(run()); });
}

/// Keeps the server busy for this long. A server executes all commands that it reads at once before
/// it sends any reply; with this padding, Redis 7 reads no command together with another. Where
/// time stands still within a script, there is os.clock().
class SlowScript final : public script::Script {
 public:
  explicit SlowScript(microseconds length, std::size_t padding)
      : length_(std::to_string(length.count())), padding_(padding, ' ') {}
  std::string_view name() const override { return "slow"; }
  void load(script::ScriptHost& host) override {
    const auto reply = host.call(std::array<std::string_view, 3>{"SCRIPT", "LOAD", R"(
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
  limiter::ScriptCall call(const traffic::Arrival&) override {
    return {.sha1 = sha1_, .arguments = arguments_};
  }
  std::vector<std::string> keys() const override { return {}; }

 private:
  Decision read(redis::ReplyView reply, const traffic::Arrival& /*arrival*/,
                std::int64_t /*number*/) const override {
    return limiter::Checker::parse(reply);
  }
  std::string sha1_, length_;
  std::string padding_;
  std::vector<std::string_view> arguments_;
};

}  // namespace

TEST_CASE("a server that stops answering is a timeout") {
  Rig rig;
  rig.timeout = 200ms;
  Stream stream(100'000, 100us, 2);
  stream.on(100, [&] { rig.kill(SIGSTOP); });
  const auto error = failure_of([&] { return rig.run(stream); });
  CHECK(error.failure() == Failure::kTimeout);
  CHECK(contains(message_of(error), "within 200ms"));
  CHECK(contains(error.hint(), "may have been executed"));
  rig.kill(SIGCONT);
  // Replies to earlier requests are not taken for answers to anything else.
  CHECK(failure_of([&] { return rig.connection.call({"PING"}); }).failure() == Failure::kTimeout);
}

TEST_CASE("a slow server that does answer is not a timeout, however late the answers are") {
  SlowScript script(250ms, 0);
  CHECK(is_shown_at_last([&] {
    Rig rig;
    // Where the script's clock is that of the processor, a busy machine makes it last longer.
    Stream half(8, 0us);
    const auto begin = std::chrono::steady_clock::now();
    static_cast<void>(run_in_real_time(half, rig.run_of(script, {kMinute})));
    const auto length = std::chrono::steady_clock::now() - begin;
    rig.timeout = std::chrono::duration_cast<microseconds>(length * 3 / 2);
    // A server answers each half at once: after two seconds, and after two more.
    Stream stream(16, 0us);
    stream.second_half_after = 500ms;
    try {
      const auto outcome = run_in_real_time(stream, rig.run_of(script, {kMinute}));
      CHECK(outcome.measured.sent == 16);
      // From the first send; the second half was sent later.
      const std::chrono::duration<double> late = rig.timeout + stream.second_half_after;
      return outcome.pace.value().seconds > late.count();
    } catch (const Error& error) {
      if (error.failure() != Failure::kTimeout) throw;
      return false;
    }
  }));
}

TEST_CASE("an error reply ends the run, and nothing is left in flight") {
  for (const std::string code : {"WRONGTYPE", "NOSCRIPT"}) {
    CAPTURE(code);
    Rig rig;
    Stream stream(100'000, 100us, 2);
    stream.on(200, [&] {
      static_cast<void>(rig.call({"DEL", "r:b"}));
      static_cast<void>(code == "WRONGTYPE" ? rig.call({"LPUSH", "r:b", "x"})
                                            : rig.call({"SCRIPT", "FLUSH"}));
    });
    const auto error = failure_of([&] { return rig.run(stream); });
    CHECK(error.code() == code);
    if (code == "NOSCRIPT") CHECK_FALSE(error.hint().empty());
    CHECK(rig.answers.size() < 50'000);
    rig.check_nothing_under_way();
  }
}

TEST_CASE("a broken connection ends the run") {
  Rig rig;
  Stream stream(100'000, 100us);
  stream.on(200, [&] { ::shutdown(rig.connection.fd(), SHUT_RDWR); });
  const auto error = failure_of([&] { return rig.run(stream); });
  CHECK(error.failure() == Failure::kUnreachable);
}

TEST_CASE("an interrupt ends the run with all that was sent, without an exception") {
  Rig rig;
  Stream stream(100'000, 100us, 3);
  stream.on(500, [&] { rig.interrupt.raise(SIGINT); });
  const auto outcome = rig.run(stream);
  CHECK(outcome.interrupted);
  CHECK(outcome.measured.sent >= 500);
  CHECK(outcome.measured.sent < 50'000);
  CHECK(rig.answers.size() == static_cast<std::size_t>(outcome.measured.sent));
  rig.check_nothing_under_way();
}

TEST_CASE("an interrupted run waits no longer for an unresponsive server than the timeout") {
  Rig rig;
  rig.timeout = 2s;
  Stream stream(100'000, 100us);
  stream.on(500, [&] {
    // A busy server may not have answered any by then.
    if (rig.answers.empty()) return stream.put_off();
    rig.kill(SIGSTOP);
    rig.interrupt.raise(SIGINT);
  });
  const auto outcome = rig.run(stream);
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
  const auto outcome = run_in_real_time(stream, rig.run_of(script, {kMinute}));
  CHECK(outcome.interrupted);
  // Waiting for all of them would have taken six seconds.
  CHECK(outcome.measured.sent < 60);
}

TEST_CASE("the consumer of decisions may throw, and nothing is left in flight") {
  Rig rig;
  int decided = 0;
  rig.on_answer = [&] {
    if (++decided == 100) throw std::runtime_error("the disk is full");
  };
  Stream stream(100'000, 50us, 2);
  CHECK_THROWS_WITH_AS(static_cast<void>(rig.run(stream)), "the disk is full", std::runtime_error);
  CHECK(decided == 100);
  rig.check_nothing_under_way();
}

}  // namespace rlctl::simulation::real_run_end_test
