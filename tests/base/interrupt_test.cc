#include "base/error.h"
#include "base/wait.h"

#include <doctest/doctest.h>
#include <poll.h>

#include <cerrno>
#include <csignal>

namespace base_interrupt_test {

using namespace rlctl;

namespace {

bool readable(const Interrupt& interrupt) {
  pollfd polled{interrupt.fd(), POLLIN, 0};
  return ::poll(&polled, 1, 0) == 1;
}

}  // namespace

TEST_CASE("an interrupt that was not raised stops nothing") {
  const Interrupt interrupt;
  CHECK(interrupt.signal() == 0);
  CHECK_FALSE(readable(interrupt));
  interrupt.check();
}

TEST_CASE("a raised interrupt stays raised, with the first signal's number") {
  Interrupt interrupt;
  interrupt.raise(SIGINT);
  interrupt.raise(SIGTERM);
  CHECK(interrupt.signal() == SIGINT);
  CHECK(readable(interrupt));
  CHECK(readable(interrupt));
  CHECK_THROWS_AS(interrupt.check(), Interrupted);
}

TEST_CASE("raising an interrupt leaves errno unchanged, as a signal handler must") {
  Interrupt interrupt;
  errno = ENOENT;
  interrupt.raise(SIGINT);
  CHECK(errno == ENOENT);
}

}  // namespace base_interrupt_test
