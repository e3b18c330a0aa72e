// needs: server
// threads: a lease is renewed in a thread of its own
#include "limiter/lease_renewal.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "support/server.h"

namespace lease_renewal_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace support;

namespace {

/// Waits until the condition holds, for two minutes at most.
template <typename Condition>
bool becomes_true(const Condition& condition) {
  const auto deadline = Clock::now() + 2min;
  while (!condition()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// A lease that is taken, on a server of its own.
struct HeldLease {
  redis::PrivateServer server;
  Lease lease;
  Clock::time_point since = Clock::now();

  HeldLease(redis::PrivateServer started, std::chrono::microseconds duration)
      : server(std::move(started)),
        lease{.key = "job", .limit = 1, .duration = duration, .holder = "a"} {
    auto connection = connect();
    REQUIRE(acquire(connection, lease).allowed);
  }

  redis::Connection connect() const { return redis::Connection::open(server.url(), 60s); }
  LeaseRenewal::Connect reconnect() const {
    return [url = server.url()](const Interrupt& interrupt, std::chrono::microseconds) {
      return redis::Connection::open(url, 60s, &interrupt);
    };
  }
};

}  // namespace

TEST_CASE("a lease is renewed again and again, and lapses later each time") {
  auto started = start_server();
  if (!started) return;
  const HeldLease held(std::move(*started), 3s);
  const LeaseRenewal renewal(held.reconnect(), held.lease, held.since);
  auto lapses = renewal.lapses();
  CHECK(lapses == held.since + 3s);
  for (int times = 0; times < 2; ++times) {
    const auto before = std::exchange(lapses, Clock::time_point::max());
    REQUIRE(becomes_true([&] { return renewal.lapses() > before; }));
    lapses = renewal.lapses();
  }
  CHECK_FALSE(renewal.is_refused());
  CHECK(renewal.failure() == nullptr);
}

TEST_CASE("renew_now renews a lease that is not due") {
  auto started = start_server();
  if (!started) return;
  const HeldLease held(std::move(*started), 24h);
  LeaseRenewal renewal(held.reconnect(), held.lease, held.since);
  renewal.renew_now();
  CHECK(becomes_true([&] { return renewal.lapses() > held.since + 24h; }));
}

TEST_CASE("a lease that is gone is refused, which ends a wait") {
  auto started = start_server();
  if (!started) return;
  const HeldLease held(std::move(*started), 24h);
  held.connect().call({"DEL", "job"});
  LeaseRenewal renewal(held.reconnect(), held.lease, held.since);
  renewal.renew_now();
  CHECK_THROWS_AS(static_cast<void>(wait_for(-1, 0, &renewal.refusal(), Clock::now() + 2min)),
                  Interrupted);
  CHECK(renewal.is_refused());
  CHECK(renewal.lapses() == held.since + 24h);
}

TEST_CASE("a renewal that fails is tried again, and the reason is kept until one succeeds") {
  auto started = start_server();
  if (!started) return;
  const HeldLease held(std::move(*started), 24h);
  std::atomic<int> attempts = 0;
  const auto fails_once = [&](const Interrupt& interrupt, std::chrono::microseconds most) {
    if (++attempts == 1) throw std::runtime_error("nothing answers");
    return held.reconnect()(interrupt, most);
  };
  LeaseRenewal renewal(fails_once, held.lease, held.since);
  renewal.renew_now();
  REQUIRE(becomes_true([&] { return renewal.failure() != nullptr || attempts > 1; }));
  CHECK(becomes_true([&] { return renewal.lapses() > held.since + 24h; }));
  CHECK(renewal.failure() == nullptr);
}

TEST_CASE("a renewal that waits for a server that hangs ends with its object") {
  auto started = start_server();
  if (!started) return;
  const HeldLease held(std::move(*started), 24h);
  ::kill(held.server.pid(), SIGSTOP);
  std::atomic<bool> is_waiting = false;
  {
    LeaseRenewal renewal(
        [&](const Interrupt& interrupt, std::chrono::microseconds most) {
          is_waiting = true;
          return held.reconnect()(interrupt, most);
        },
        held.lease, held.since);
    renewal.renew_now();
    REQUIRE(becomes_true([&] { return is_waiting.load(); }));
  }
  ::kill(held.server.pid(), SIGCONT);
  CHECK(held.connect().call({"EXISTS", "job"}).integer() == 1);
}

}  // namespace lease_renewal_test
