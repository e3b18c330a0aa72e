#include "base/wait.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace rlctl {

namespace {

// poll()'s time-out; rounded up, so that it never spins in the last millisecond.
int poll_timeout(Deadline deadline) {
  using std::chrono::milliseconds;
  if (deadline == kNoDeadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, std::numeric_limits<int>::max()));
}

}  // namespace

Wake wait_for(int fd, short events, const Interrupt* interrupt, Deadline deadline) {
  std::array<pollfd, 2> polled{
      {{fd, events, 0}, {interrupt == nullptr ? -1 : interrupt->fd(), POLLIN, 0}}};
  for (;;) {
    if (interrupt != nullptr) interrupt->check();
    const int ready = ::poll(polled.data(), polled.size(), poll_timeout(deadline));
    if (ready < 0 && errno != EINTR) {
      throw std::system_error(errno, std::generic_category(), "cannot poll");
    }
    if (ready > 0 && polled[0].revents != 0) return Wake::kReady;
    if (ready == 0 && Clock::now() >= deadline) return Wake::kDeadline;
  }
}

}  // namespace rlctl
