#include "base/wait.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <system_error>

#include "base/error.h"

namespace rlctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

// The timeout for poll(), rounded up so that it does not spin in the last millisecond.
int poll_timeout(Deadline deadline) {
  if (deadline == kNoDeadline) return -1;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<milliseconds::rep>(left, 0, std::numeric_limits<int>::max()));
}

constexpr std::size_t kInterruptId = SIZE_MAX;

/// Waits until `fd` is readable or `left`, less than a second, has passed.
void wait_below_a_second(int fd, nanoseconds left) {
  pollfd polled{fd, POLLIN, 0};
  const timespec timeout{.tv_sec = 0, .tv_nsec = left.count()};
  if (::ppoll(&polled, 1, &timeout, nullptr) < 0 && errno != EINTR) fail("cannot poll");
}

}  // namespace

// ---- Interrupt ----

// An atomic that is not lock-free could deadlock in a signal handler.
static_assert(std::atomic<int>::is_always_lock_free);

Interrupt::Interrupt() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    fail("cannot make a pipe");
  }
  read_end_.reset(ends[0]);
  write_end_.reset(ends[1]);
}

void Interrupt::raise(int signal) noexcept {
  const int saved_errno = errno;
  int none = 0;
  if (signal_.compare_exchange_strong(none, signal)) {
    // This byte is never read: the pipe stays readable for every later poll().
    [[maybe_unused]] const auto written = ::write(write_end_.get(), "!", 1);
  }
  errno = saved_errno;
}

int Interrupt::signal() const noexcept {
  return signal_.load();
}

void Interrupt::check() const {
  if (signal() != 0) throw Interrupted();
}

// ---- wait_for ----

Wake wait_for(int fd, short events, const Interrupt* interrupt, Deadline deadline) {
  std::array<pollfd, 2> polled{
      {{fd, events, 0}, {interrupt == nullptr ? -1 : interrupt->fd(), POLLIN, 0}}};
  for (;;) {
    if (interrupt != nullptr) interrupt->check();
    const int ready = ::poll(polled.data(), polled.size(), poll_timeout(deadline));
    if (ready < 0 && errno != EINTR) {
      fail("cannot poll");
    }
    if (ready > 0 && polled[0].revents != 0) return Wake::kReady;
    if (ready == 0 && Clock::now() >= deadline) return Wake::kDeadline;
  }
}

// ---- Poller ----

Poller::Poller(const Interrupt* interrupt)
    : epoll_(::epoll_create1(EPOLL_CLOEXEC)), interrupt_(interrupt) {
  if (!epoll_) fail("cannot make an epoll");
  if (interrupt_ != nullptr) {
    control(EPOLL_CTL_ADD, interrupt_->fd(), kInterruptId, EPOLLIN);
  }
}

void Poller::control(int operation, int fd, std::size_t id, unsigned events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = id;
  if (::epoll_ctl(epoll_.get(), operation, fd, &event) != 0) fail("cannot wait for a connection");
}

void Poller::add(int fd, std::size_t id) {
  control(EPOLL_CTL_ADD, fd, id, EPOLLIN);
}

void Poller::set_writing(int fd, std::size_t id, bool wanted) {
  control(EPOLL_CTL_MOD, fd, id, wanted ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

void Poller::remove(int fd) {
  epoll_event event{};
  const int failed = ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, &event);
  if (failed != 0 && errno != EBADF && errno != ENOENT) fail("cannot wait for a connection");
}

std::span<const Poller::Ready> Poller::poll(int timeout_ms) {
  std::array<epoll_event, kAtOnce> events;  // the kernel fills it
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  if (count < 0 && errno != EINTR) fail("cannot poll");
  std::size_t ready = 0;
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kInterruptId) {
      // It stays readable, and would end every wait.
      remove(interrupt_->fd());
      continue;
    }
    ready_[ready++] = {.id = event.data.u64,
                       .readable = (event.events & ~unsigned{EPOLLOUT}) != 0,
                       .writable = (event.events & EPOLLOUT) != 0};
  }
  return std::span(ready_).first(ready);
}

/// epoll_wait() takes whole milliseconds, and epoll_pwait2(), which takes nanoseconds, is not
/// available everywhere.
std::span<const Poller::Ready> Poller::wait(Deadline deadline) {
  constexpr milliseconds kLongest{1000};
  const auto left =
      deadline == kNoDeadline ? nanoseconds{kLongest} : nanoseconds{deadline - Clock::now()};
  if (left >= milliseconds{1}) {
    const auto whole = std::min(std::chrono::floor<milliseconds>(left), kLongest);
    return poll(static_cast<int>(whole.count()));
  }
  if (left.count() > 0) wait_below_a_second(epoll_.get(), left);
  return poll(0);
}

}  // namespace rlctl
