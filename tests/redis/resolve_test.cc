// threads: names are resolved in a thread of its own
#include "base/error.h"
#include "redis/transport.h"
#include "support/needs.h"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace rlctl::redis::resolve_test {

using namespace std::chrono_literals;

namespace {

Clock::time_point in(std::chrono::milliseconds time) {
  return Clock::now() + time;
}

std::atomic<bool> lookups_hang = false;
std::atomic<int> hanging = 0;

int hang(const char*, const char* service, const addrinfo* wanted, addrinfo** list) {
  while (lookups_hang) std::this_thread::sleep_for(1ms);
  // The caller no longer waits for these: the thread frees them.
  const int error = ::getaddrinfo("127.0.0.1", service, wanted, list);
  --hanging;
  return error;
}

// Calls it while hang() blocks; then the one lookup that was started ends.
template <typename Call>
void while_lookups_hang(Call call) {
  hanging = 1;
  lookups_hang = true;
  call();
  lookups_hang = false;
  while (hanging > 0) std::this_thread::sleep_for(1ms);
}

int not_found(const char*, const char*, const addrinfo*, addrinfo**) {
  return EAI_NONAME;
}

int no_memory(const char*, const char*, const addrinfo*, addrinfo**) {
  errno = ENOMEM;
  return EAI_SYSTEM;
}

bool is_blocked(int signal) {
  sigset_t mask;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return ::sigismember(&mask, signal) == 1;
}

std::atomic<bool> blocked_in_lookup = false;

int look_at_signals(const char*, const char*, const addrinfo*, addrinfo**) {
  blocked_in_lookup = is_blocked(SIGINT) && is_blocked(SIGTERM);
  return EAI_NONAME;
}

}  // namespace

TEST_CASE("a numeric host is not looked up and takes no time") {
  for (const char* host : {"127.0.0.1", "::1"}) {
    const auto resolved = resolve(host, 6380, Clock::now(), nullptr, not_found);
    REQUIRE(resolved.has_value());
    REQUIRE(resolved->addresses);
    CHECK(resolved->addresses->ai_next == nullptr);
  }
  const auto resolved = resolve("127.0.0.1", 6380, kNoDeadline, nullptr, not_found);
  REQUIRE(resolved->addresses->ai_family == AF_INET);
  const auto* address = reinterpret_cast<const sockaddr_in*>(resolved->addresses->ai_addr);
  CHECK(ntohl(address->sin_addr.s_addr) == INADDR_LOOPBACK);
  CHECK(ntohs(address->sin_port) == 6380);
}

TEST_CASE("localhost is looked up") {
  if (!support::needs_localhost()) return;
  const Interrupt interrupt;
  const auto resolved = resolve("localhost", 6379, in(120s), &interrupt);
  REQUIRE(resolved.has_value());
  CHECK(resolved->addresses);
  CHECK(resolved->why.empty());
}

TEST_CASE("a failed lookup reports the reason") {
  const auto unknown = resolve("name", 6379, in(120s), nullptr, not_found);
  REQUIRE(unknown.has_value());
  CHECK_FALSE(unknown->addresses);
  // The C library's wording: "Name or service not known", "Name does not resolve".
  CHECK(unknown->why.starts_with("n"));
  CHECK(unknown->why.substr(1) == std::string(::gai_strerror(EAI_NONAME)).substr(1));

  const auto broken = resolve("name", 6379, in(120s), nullptr, no_memory);
  REQUIRE(broken.has_value());
  CHECK_FALSE(broken->addresses);
  CHECK(broken->why == "cannot allocate memory");
}

TEST_CASE("a lookup that hangs ends at the deadline") {
  const auto started = Clock::now();
  while_lookups_hang(
      [] { CHECK_FALSE(resolve("name", 6379, in(50ms), nullptr, hang).has_value()); });
  CHECK(Clock::now() - started >= 50ms);
  CHECK(Clock::now() - started < 120s);
}

TEST_CASE("an interrupt ends a lookup that hangs") {
  Interrupt interrupt;
  std::thread later([&] {
    std::this_thread::sleep_for(20ms);
    interrupt.raise(SIGINT);
  });
  while_lookups_hang([&] {
    CHECK_THROWS_AS((void)resolve("name", 6379, kNoDeadline, &interrupt, hang), Interrupted);
  });
  later.join();
}

TEST_CASE("the lookup thread blocks signals, and the waiting thread still receives them") {
  REQUIRE_FALSE(is_blocked(SIGINT));
  (void)resolve("name", 6379, in(120s), nullptr, look_at_signals);
  CHECK(blocked_in_lookup);
  CHECK_FALSE(is_blocked(SIGINT));
  CHECK_FALSE(is_blocked(SIGTERM));
}

}  // namespace rlctl::redis::resolve_test
