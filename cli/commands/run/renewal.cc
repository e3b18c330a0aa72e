#include "cli/commands/run/renewal.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <poll.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <system_error>
#include <utility>

namespace rlctl::cli::run {
namespace {

constexpr std::chrono::seconds kPauseAfterFailure{1};

}  // namespace

Renewal::Renewal(Connector& connector, HeldLease held)
    : connector_(connector),
      lease_(std::move(held.lease)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      since_(held.since) {
  if (!wake_) throw std::system_error(errno, std::generic_category(), "cannot make an eventfd");
  thread_ = std::thread([this] { run(); });
}

Clock::time_point Renewal::lapses() const {
  const std::scoped_lock lock(mutex_);
  return since_ + lease_.duration;
}

bool Renewal::is_refused() const {
  return refused_.signal() != 0;
}

std::string Renewal::problem() const {
  const std::scoped_lock lock(mutex_);
  return problem_;
}

void Renewal::renew_now() noexcept {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake_.get(), &one, sizeof one);
}

void Renewal::stop() noexcept {
  stopped_.raise(SIGTERM);
  if (thread_.joinable()) thread_.join();
}

void Renewal::run() {
  try {
    auto next = std::optional(since_ + lease_.duration / 3);
    while (next) {
      wait_for(wake_.get(), POLLIN, &stopped_, *next);
      std::uint64_t count = 0;
      [[maybe_unused]] const auto size = ::read(wake_.get(), &count, sizeof count);
      next = renew();
    }
    refused_.raise(SIGTERM);
  } catch (const std::exception& error) {
    // By stop(). After any other failure, the lease lapses.
  }
}

std::optional<Clock::time_point> Renewal::renew() {
  const auto third = lease_.duration / 3;
  try {
    auto connection = connector_.open_with(stopped_, third);
    const auto sent = Clock::now();
    if (!limiter::renew(connection, lease_).allowed) return std::nullopt;
    const std::scoped_lock lock(mutex_);
    since_ = sent;
    problem_.clear();
    return sent + third;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    auto message = describe(error).message;
    const std::scoped_lock lock(mutex_);
    problem_ = std::move(message);
    return Clock::now() + std::min<Clock::duration>(third, kPauseAfterFailure);
  }
}

}  // namespace rlctl::cli::run
