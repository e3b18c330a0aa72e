#include "limiter/lease_renewal.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace rlctl::limiter {

LeaseRenewal::LeaseRenewal(Connect connect, Lease lease, Clock::time_point since)
    : connect_(std::move(connect)),
      lease_(std::move(lease)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      since_(since) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  thread_ = std::thread([this] { run(); });
}

LeaseRenewal::~LeaseRenewal() {
  stopped_.raise(SIGTERM);
  thread_.join();
}

Clock::time_point LeaseRenewal::lapses() const {
  const std::scoped_lock lock(mutex_);
  return since_ + lease_.duration;
}

std::exception_ptr LeaseRenewal::failure() const {
  const std::scoped_lock lock(mutex_);
  return failure_;
}

void LeaseRenewal::renew_now() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void LeaseRenewal::run() {
  try {
    auto next = std::optional(since_ + lease_.duration / 3);
    while (next) {
      wait_for(wake_.get(), POLLIN, &stopped_, *next);
      std::uint64_t count = 0;
      [[maybe_unused]] const auto size = ::read(wake_.get(), &count, sizeof count);
      next = renew();
    }
    refused_.raise(SIGTERM);
  } catch (const std::exception&) {
    // The destructor interrupted it. After any other failure, the lease lapses.
  }
}

std::optional<Clock::time_point> LeaseRenewal::renew() {
  constexpr std::chrono::seconds kPauseAfterFailure{1};
  const auto third = lease_.duration / 3;
  try {
    auto connection = connect_(stopped_, third);
    const auto sent = Clock::now();
    if (!limiter::renew(connection, lease_).allowed) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    since_ = sent;
    failure_ = nullptr;
    return sent + third;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception&) {
    const std::scoped_lock lock(mutex_);
    failure_ = std::current_exception();
    return Clock::now() + std::min<Clock::duration>(third, kPauseAfterFailure);
  }
}

}  // namespace rlctl::limiter
