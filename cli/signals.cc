#include "cli/signals.h"

#include <array>
#include <atomic>
#include <csignal>

namespace rlctl::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};

// A signal handler can reach nothing but globals.
std::atomic<redis::Interrupt*> raised_by_handler{nullptr};
std::atomic<bool> pipe_was_ignored{false};

extern "C" void on_signal(int signal) {
  if (auto* interrupt = raised_by_handler.load()) interrupt->raise(signal);
}

}  // namespace

Signals::Signals() {
  raised_by_handler = &interrupt_;
  struct sigaction action {};
  action.sa_handler = on_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // without SA_RESTART: waits shall end
  for (const int signal : kSignals) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  pipe_was_ignored = std::signal(SIGPIPE, SIG_IGN) == SIG_IGN;
}

Signals::~Signals() {
  for (const int signal : kSignals) {
    struct sigaction now {};
    sigaction(signal, nullptr, &now);
    if (now.sa_handler == on_signal) std::signal(signal, SIG_DFL);
  }
  if (!pipe_was_ignored) std::signal(SIGPIPE, SIG_DFL);
  raised_by_handler = nullptr;
}

void die_by(int signal) noexcept {
  if (signal == SIGPIPE && pipe_was_ignored) return;
  std::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  static_cast<void>(std::raise(signal));
}

}  // namespace rlctl::cli
