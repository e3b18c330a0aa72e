#include "base/wait.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <string>
#include <system_error>
#include <vector>

namespace base_poller_test {

using namespace std::chrono_literals;
using namespace rlctl;

namespace {

struct Ends {
  FileDescriptor near, far;
};

Ends make_ends() {
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void write_to(const FileDescriptor& end, const std::string& bytes) {
  REQUIRE(::write(end.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
}

/// The descriptors that become ready before `deadline`.
std::vector<Poller::Ready> wait(Poller& poller, rlctl::Deadline deadline) {
  for (;;) {
    const auto ready = poller.wait(deadline);
    if (!ready.empty() || Clock::now() >= deadline) return {ready.begin(), ready.end()};
  }
}

}  // namespace

TEST_CASE("the poller reports readable descriptors and no others, and those whose peer hung up") {
  auto one = make_ends();
  const auto other = make_ends();
  Poller poller(nullptr);
  poller.add(one.near.get(), 11);
  poller.add(other.near.get(), 22);
  CHECK(poller.wait(Clock::now()).empty());
  write_to(other.far, "x");
  const auto ready = wait(poller, kNoDeadline);
  REQUIRE(ready.size() == 1);
  CHECK(ready[0].id == 22);
  CHECK(ready[0].readable);
  CHECK_FALSE(ready[0].writable);
  poller.remove(other.near.get());
  CHECK(poller.wait(Clock::now()).empty());
  one.far.reset();
  const auto hung_up = wait(poller, kNoDeadline);
  REQUIRE(hung_up.size() == 1);
  CHECK(hung_up[0].id == 11);
  CHECK(hung_up[0].readable);
}

TEST_CASE("the poller reports writability only while it is requested") {
  const auto ends = make_ends();
  Poller poller(nullptr);
  poller.add(ends.near.get(), 1);
  poller.set_writing(ends.near.get(), 1, true);
  const auto ready = wait(poller, kNoDeadline);
  REQUIRE(ready.size() == 1);
  CHECK(ready[0].writable);
  CHECK_FALSE(ready[0].readable);
  poller.set_writing(ends.near.get(), 1, false);
  CHECK(poller.wait(Clock::now()).empty());
}

TEST_CASE("waiting ends at the deadline, within a millisecond or later") {
  Poller poller(nullptr);
  for (const auto length : {300us, 1'000us, 5'400us}) {
    const auto deadline = Clock::now() + length;
    CHECK(wait(poller, deadline).empty());
    CHECK(Clock::now() >= deadline);
  }
}

TEST_CASE("an interrupt ends the wait only once, so that requests in flight can be awaited") {
  const auto ends = make_ends();
  Interrupt interrupt;
  Poller poller(&interrupt);
  poller.add(ends.near.get(), 1);
  interrupt.raise(SIGINT);
  auto began = Clock::now();
  CHECK(poller.wait(began + 60s).empty());
  CHECK(Clock::now() < began + 60s);
  began = Clock::now();
  CHECK(poller.wait(began + 50ms).empty());
  CHECK(Clock::now() > began + 40ms);
  write_to(ends.far, "x");
  CHECK(wait(poller, kNoDeadline).size() == 1);
}

TEST_CASE("if more descriptors are ready than fit in one wait, each gets its turn") {
  std::vector<Ends> all;
  Poller poller(nullptr);
  constexpr std::size_t kCount = Poller::kAtOnce + 20;
  for (std::size_t id = 0; id < kCount; ++id) {
    all.push_back(make_ends());
    poller.add(all.back().near.get(), id);
    write_to(all.back().far, "x");
  }
  std::vector<int> seen(kCount);
  for (int i = 0; i < 4; ++i) {
    for (const auto& ready : poller.wait(kNoDeadline)) ++seen.at(ready.id);
  }
  CHECK(*std::min_element(seen.begin(), seen.end()) >= 1);
}

TEST_CASE("a descriptor that cannot be polled is refused") {
  Poller poller(nullptr);
  CHECK_THROWS_AS(poller.add(-1, 0), std::system_error);
}

}  // namespace base_poller_test
