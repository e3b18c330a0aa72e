// needs: server
// threads: a lease is renewed in a thread of its own
#include "limiter/lease_renewal.h"

#include <doctest/doctest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <stdexcept>
#include <string>
#include <thread>

#include "redis/error.h"
#include "redis/server.h"

namespace lease_renewal_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;

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

/// A lease of a day, which does not lapse during a test, on a private server.
struct HeldLease {
  redis::PrivateServer server;
  Lease lease{.key = "job", .limit = 1, .duration = 24h, .holder = "a"};
  Clock::time_point since = Clock::now();

  HeldLease() {
    auto connection = connect();
    REQUIRE(acquire(connection, lease).allowed);
  }

  redis::Connection connect() const { return redis::Connection::open(server.url(), 60s); }
  /// Opens connections that wait for longer than any test: only the interrupt ends their waits.
  LeaseRenewal::Connect reconnect() const {
    return [url = server.url()](const Interrupt& interrupt, std::chrono::microseconds) {
      return redis::Connection::open(url, 1h, &interrupt);
    };
  }
  /// The microsecond at which the lease lapses, by the server's clock.
  std::int64_t lapses_on_server() const {
    return std::stoll(std::string(connect().call({"ZSCORE", "job", "lease:a"}).text()));
  }
};

}  // namespace

TEST_CASE("a lease is renewed again and again, and lapses later each time") {
  const HeldLease held;
  // The server keeps the lease for a day, so that no renewal comes too late on a slow machine.
  auto lease = held.lease;
  lease.duration = 300ms;
  const LeaseRenewal renewal(held.reconnect(), lease, held.since);
  auto before = held.since + lease.duration;
  for (int times = 0; times < 3; ++times) {
    REQUIRE(becomes_true([&] { return renewal.lapses() > before; }));
    before = renewal.lapses();
  }
  CHECK_FALSE(renewal.is_refused());
  CHECK(renewal.failure() == nullptr);
}

TEST_CASE("renew_now renews a lease that is not due, here and on the server") {
  const HeldLease held;
  const auto before = held.lapses_on_server();
  LeaseRenewal renewal(held.reconnect(), held.lease, held.since);
  CHECK(renewal.lapses() == held.since + 24h);
  renewal.renew_now();
  REQUIRE(becomes_true([&] { return renewal.lapses() > held.since + 24h; }));
  CHECK(renewal.lapses() <= Clock::now() + 24h);
  CHECK(held.lapses_on_server() > before);
}

TEST_CASE("a lease that is gone is refused, which ends a wait") {
  const HeldLease held;
  held.connect().call({"DEL", "job"});
  LeaseRenewal renewal(held.reconnect(), held.lease, held.since);
  CHECK_FALSE(renewal.is_refused());
  renewal.renew_now();
  CHECK_THROWS_AS(static_cast<void>(wait_for(-1, 0, &renewal.refusal(), Clock::now() + 2min)),
                  Interrupted);
  CHECK(renewal.is_refused());
  CHECK(renewal.failure() == nullptr);
  CHECK(renewal.lapses() == held.since + 24h);
}

TEST_CASE("a server that is gone is a failure, not a refusal, and the lease lapses as before") {
  const HeldLease held;
  ::kill(held.server.pid(), SIGKILL);
  std::exception_ptr failure;
  {
    LeaseRenewal renewal(held.reconnect(), held.lease, held.since);
    renewal.renew_now();
    REQUIRE(becomes_true([&] { return renewal.failure() != nullptr; }));
    failure = renewal.failure();
    CHECK_FALSE(renewal.is_refused());
    CHECK(renewal.lapses() == held.since + 24h);
  }
  // The exception is read once the thread has ended: TSan does not see how libstdc++ counts its
  // owners, and would take the release of an owner in the thread for a race.
  auto kind = redis::Failure::kUsage;
  try {
    std::rethrow_exception(failure);
  } catch (const redis::Error& error) {
    kind = error.failure();
  }
  CHECK(kind == redis::Failure::kUnreachable);
}

TEST_CASE("a renewal that fails is tried again, and the reason is kept until one succeeds") {
  const HeldLease held;
  std::atomic<bool> fails = true;
  const auto connect = [&](const Interrupt& interrupt, std::chrono::microseconds most) {
    if (fails) throw std::runtime_error("nothing answers");
    return held.reconnect()(interrupt, most);
  };
  LeaseRenewal renewal(connect, held.lease, held.since);
  renewal.renew_now();
  REQUIRE(becomes_true([&] { return renewal.failure() != nullptr; }));
  CHECK(renewal.lapses() == held.since + 24h);
  fails = false;
  REQUIRE(becomes_true([&] { return renewal.lapses() > held.since + 24h; }));
  CHECK(renewal.failure() == nullptr);
}

TEST_CASE("a renewal that waits for a server that hangs ends with its object") {
  const HeldLease held;
  ::kill(held.server.pid(), SIGSTOP);
  std::atomic<bool> is_connected = false;
  const auto connect = [&](const Interrupt& interrupt, std::chrono::microseconds most) {
    auto connection = held.reconnect()(interrupt, most);
    is_connected = true;
    return connection;
  };
  // In another thread, so that this one can let the server go on if the destructor waits for it.
  auto lifetime = std::async(std::launch::async, [&] {
    LeaseRenewal renewal(connect, held.lease, held.since);
    renewal.renew_now();
    return becomes_true([&] { return is_connected.load(); });
  });
  CHECK(lifetime.wait_for(2min) == std::future_status::ready);
  ::kill(held.server.pid(), SIGCONT);
  CHECK(lifetime.get());
}

}  // namespace lease_renewal_test
