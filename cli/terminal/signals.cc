#include "cli/terminal/signals.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <system_error>

#include "base/worker.h"

namespace rlctl::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
/// A signal that comes again this soon counts as one: timeout(1) signals its child, and then the
/// process group, to which the child belongs.
constexpr std::chrono::nanoseconds kCountsAsOne = std::chrono::milliseconds{100};

// A signal handler can only use globals.
std::atomic<Interrupt*> raised_by_handler{nullptr};
std::atomic<bool> pipe_was_ignored{false}, size_was_ignored{false};
/// When each signal came first, in ns; 0: it has not come.
std::array<std::atomic<std::int64_t>, SIGTERM + 1> first_at{};

/// Lets the signal take its default action.
void raise_default(int signal) noexcept {
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  static_cast<void>(std::raise(signal));
}

std::atomic<BreakKey*> pressed_by_handler{nullptr};

/// In ns. Safe in a signal handler.
std::int64_t time_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

/// Whether the signal has come before, and not just now.
bool is_second(int signal) noexcept {
  const auto at = time_now();
  std::int64_t first = 0;
  if (first_at[static_cast<std::size_t>(signal)].compare_exchange_strong(first, at)) return false;
  return at - first > kCountsAsOne.count();
}

extern "C" void on_signal(int signal, siginfo_t* info, void* /*context*/) {
  auto* key = pressed_by_handler.load();
  if (signal == SIGINT && key != nullptr && key->press(info->si_code == SI_KERNEL)) return;
  if (is_second(signal)) return raise_default(signal);
  if (auto* interrupt = raised_by_handler.load()) interrupt->raise(signal);
}

std::atomic<Suspension*> stopped_by_handler{nullptr};

extern "C" void on_stop(int /*signal*/) {
  const int saved_errno = errno;
  if (auto* suspension = stopped_by_handler.load()) suspension->stop();
  errno = saved_errno;
}

void handle_stop() noexcept {
  struct sigaction action {};
  action.sa_handler = on_stop;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTSTP, &action, nullptr);
}

}  // namespace

Signals::Signals() {
  for (auto& at : first_at) at = 0;
  raised_by_handler = &interrupt_;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO;  // without SA_RESTART, so that waits end
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  pipe_was_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
  size_was_ignored = std::signal(SIGXFSZ, SIG_IGN) == SIG_IGN;
}

sigset_t handled_signals() noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_sigaction == on_signal) sigaddset(&set, signal);
  }
  return set;
}

void take_signal(int signal) noexcept {
  if (auto* interrupt = raised_by_handler.load()) interrupt->raise(signal);
}

void restore_signals() noexcept {
  for (const int signal : kSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_sigaction == on_signal) std::signal(signal, SIG_DFL);
  }
  if (!pipe_was_ignored) std::signal(SIGPIPE, SIG_DFL);
  if (!size_was_ignored) std::signal(SIGXFSZ, SIG_DFL);
}

Signals::~Signals() {
  restore_signals();
  raised_by_handler = nullptr;
}

WakeUp::WakeUp() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  }
  read_end_ = FileDescriptor(ends[0]);
  write_end_ = FileDescriptor(ends[1]);
}

void WakeUp::notify() noexcept {
  [[maybe_unused]] const auto written = ::write(write_end_.get(), "!", 1);
}

void WakeUp::clear() noexcept {
  char bytes[16];
  while (::read(fd(), bytes, sizeof bytes) > 0) {
  }
}

BreakKey::BreakKey() {
  pressed_by_handler = this;
  worker::page().break_key = worker::BreakKey::kReady;
}

BreakKey::~BreakKey() {
  worker::page().break_key = worker::BreakKey::kNone;
  pressed_by_handler = nullptr;
}

void BreakKey::clear() noexcept {
  wake_up_.clear();
  pressed_ = false;
  worker::page().break_key = worker::BreakKey::kReady;
}

/// Runs in the signal handler.
bool BreakKey::press(bool is_typed) noexcept {
  const int saved_errno = errno;
  const auto now = time_now();
  const bool is_first = !pressed_.exchange(true);
  if (is_first) {
    pressed_at_ = now;
    wake_up_.notify();
  }
  const bool counts = is_first || (!is_typed && now - pressed_at_ <= kCountsAsOne.count());
  worker::page().break_key = counts ? worker::BreakKey::kPressed : worker::BreakKey::kOver;
  errno = saved_errno;
  return counts;
}

bool ignores_pipe() noexcept {
  return pipe_was_ignored;
}

void die_by(int signal) noexcept {
  raise_default(signal);
}

Suspension::Suspension() {
  stopped_by_handler = this;
  struct sigaction before {};
  sigaction(SIGTSTP, nullptr, &before);
  if (before.sa_handler != SIG_IGN) handle_stop();
}

Suspension::~Suspension() {
  struct sigaction now {};
  sigaction(SIGTSTP, nullptr, &now);
  if (now.sa_handler == on_stop) std::signal(SIGTSTP, SIG_DFL);
  stopped_by_handler = nullptr;
}

/// Runs in the signal handler: must not allocate or lock.
void Suspension::stop() noexcept {
  raise_default(SIGTSTP);  // returns when the process continues
  handle_stop();
  wake_up_.notify();
}

}  // namespace rlctl::cli
