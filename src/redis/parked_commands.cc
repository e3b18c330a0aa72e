#include "redis/parked_commands.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>
#include <utility>

namespace rlctl::redis {

ParkedCommands::ParkedCommands(Poller& poller, std::size_t timer_id)
    : timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!timer_) throw std::system_error(errno, std::generic_category(), "cannot make a timer");
  poller.add(timer_.get(), timer_id);
}

void ParkedCommands::add(Command command) {
  if (commands_.empty()) {
    due_ = Clock::now() + kPause;
    set_timer(kPause);
  }
  commands_.push_back(std::move(command));
}

std::vector<ParkedCommands::Command> ParkedCommands::take() {
  set_timer(std::chrono::nanoseconds{0});
  auto commands = std::exchange(commands_, {});
  std::ranges::sort(commands, {}, &Command::id);
  return commands;
}

void ParkedCommands::wake() {
  set_timer(std::chrono::nanoseconds{1});
}

void ParkedCommands::expired() {
  std::uint64_t times = 0;
  [[maybe_unused]] const auto read = ::read(timer_.get(), &times, sizeof(times));
  is_timer_set_ = false;
  if (!commands_.empty()) set_timer(kPause);
}

/// Zero stops the timer. An expiry that was not read is forgotten.
void ParkedCommands::set_timer(std::chrono::nanoseconds time) {
  const itimerspec spec{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = time.count()}};
  ::timerfd_settime(timer_.get(), 0, &spec, nullptr);
  is_timer_set_ = time.count() > 0;
}

}  // namespace rlctl::redis
