#include "base/poller.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <system_error>

namespace rlctl {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::size_t kInterruptId = SIZE_MAX;

[[noreturn]] void fail(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

/// Until `fd` can be read or `left` is over, which is less than a second.
void wait_below_a_second(int fd, nanoseconds left) {
  pollfd polled{fd, POLLIN, 0};
  const timespec timeout{.tv_sec = 0, .tv_nsec = left.count()};
  if (::ppoll(&polled, 1, &timeout, nullptr) < 0 && errno != EINTR) fail("cannot poll");
}

}  // namespace

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
  control(EPOLL_CTL_DEL, fd, 0, 0);
}

std::span<const Poller::Ready> Poller::look(int timeout_ms) {
  std::array<epoll_event, kAtOnce> events;  // the kernel fills it
  const int count =
      ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  if (count < 0 && errno != EINTR) fail("cannot poll");
  std::size_t ready = 0;
  for (int i = 0; i < count; ++i) {
    const auto& event = events[static_cast<std::size_t>(i)];
    if (event.data.u64 == kInterruptId) {
      // It stays readable for ever, and would end every wait.
      remove(interrupt_->fd());
      continue;
    }
    ready_[ready++] = {.id = event.data.u64,
                       .readable = (event.events & ~unsigned{EPOLLOUT}) != 0,
                       .writable = (event.events & EPOLLOUT) != 0};
  }
  return std::span(ready_).first(ready);
}

/// epoll_wait() knows whole milliseconds only, and its sibling for nanoseconds is not everywhere.
std::span<const Poller::Ready> Poller::wait(Deadline deadline) {
  constexpr milliseconds kLongest{1000};
  const auto left =
      deadline == kNoDeadline ? nanoseconds{kLongest} : nanoseconds{deadline - Clock::now()};
  if (left >= milliseconds{1}) {
    const auto whole = std::min(std::chrono::floor<milliseconds>(left), kLongest);
    return look(static_cast<int>(whole.count()));
  }
  if (left.count() > 0) wait_below_a_second(epoll_.get(), left);
  return look(0);
}

}  // namespace rlctl
