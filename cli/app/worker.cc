#include "cli/app/worker.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "base/worker.h"
#include "cli/errors/failure.h"
#include "cli/terminal/output.h"
#include "cli/terminal/signals.h"
#include "lua/sandbox.h"

namespace rlctl::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using worker::BreakKey;

// All times are of the processor, so that a busy machine, a stopped process or a user who thinks
// does not matter.

/// The parent looks at the worker this often.
constexpr milliseconds kBetweenLooks{50}, kBetweenLooksAfterSignal{10};
/// A script may take so long to see a signal.
constexpr milliseconds kAfterSignal{100};
/// A run that is asked to stop may take so long to do so.
constexpr milliseconds kAfterStop{1000};
/// The worker notes its line in this time, which is not the processor's.
constexpr milliseconds kForLine{20};
/// When Ctrl-C has not stopped a script that is being debugged, the user is told.
constexpr milliseconds kAfterBreak{1000};

/// The terminal as it is now, for a worker that changes it and is killed.
class TerminalState {
 public:
  TerminalState() : is_known_(::tcgetattr(STDIN_FILENO, &state_) == 0) {}
  void restore() const noexcept {
    if (!is_known_) return;
    // In the background, the parent would be stopped.
    const auto before = std::signal(SIGTTOU, SIG_IGN);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &state_);
    std::signal(SIGTTOU, before);
  }

 private:
  termios state_{};
  bool is_known_;
};

bool is_in_worker = false;

std::vector<pid_t> children() {
  std::ifstream list(fmt::format("/proc/self/task/{}/children", ::getpid()));
  std::vector<pid_t> all;
  for (pid_t child = 0; list >> child;) all.push_back(child);
  return all;
}

/// Ends the processes that a worker has left: they are this process's children now.
void end_children() {
  for (;;) {
    const auto all = children();
    for (const pid_t child : all) ::kill(child, SIGKILL);
    if (all.empty() || ::waitpid(-1, nullptr, 0) < 0) return;
  }
}

class Parent {
 public:
  Parent(const Invocation& invocation, nanoseconds most_time)
      : invocation_(invocation), most_time_(most_time) {}

  /// Returns whether this is the worker.
  bool fork() {
    waited_for_ = handled_signals();
    if (std::signal(SIGTSTP, SIG_DFL) == SIG_IGN) {
      std::signal(SIGTSTP, SIG_IGN);
    } else {
      sigaddset(&waited_for_, SIGTSTP);
    }
    sigaddset(&waited_for_, SIGCHLD);
    const auto on_child = std::signal(SIGCHLD, SIG_DFL);  // ignored, a child leaves no status
    sigset_t before;
    sigprocmask(SIG_BLOCK, &waited_for_, &before);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    const auto parent = ::getpid();
    worker_ = ::fork();
    if (worker_ > 0) return false;
    const int error = errno;
    if (worker_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(1);
      std::signal(SIGXCPU, [](int /*signal*/) { lua::Sandbox::note_line(); });
    }
    std::signal(SIGCHLD, on_child);
    sigprocmask(SIG_SETMASK, &before, nullptr);
    if (worker_ == 0) {
      worker::limit_memory();
      return is_in_worker = true;
    }
    throw ProblemError({.status = ExitStatus::kRejected,
                        .code = "memory",
                        .message = "cannot start a process: " + errno_text(error)});
  }

  /// Waits for the end of the worker.
  ExitStatus wait() {
    for (;;) {
      const milliseconds pause = signal_ != 0 ? kBetweenLooksAfterSignal : kBetweenLooks;
      const timespec timeout{.tv_sec = 0, .tv_nsec = nanoseconds{pause}.count()};
      siginfo_t info{};
      const int signal = ::sigtimedwait(&waited_for_, &info, &timeout);
      if (signal == SIGTSTP) {
        stop();
      } else if (signal > 0 && signal != SIGCHLD) {
        pass_on(info);
      }
      int status = 0;
      for (pid_t ended = 0; (ended = ::waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended == worker_) return after_end(status);
      }
      look();
    }
  }

 private:
  // ---- The worker ----

  nanoseconds used_time() const {
    clockid_t clock{};
    timespec used{};
    if (::clock_getcpuclockid(worker_, &clock) == 0) ::clock_gettime(clock, &used);
    return std::chrono::seconds{used.tv_sec} + nanoseconds{used.tv_nsec};
  }

  /// Ends the worker if its script has run for too long.
  void look() {
    if (is_late_) return;
    const auto used = used_time();
    if (used > most_time_) page_.is_over = true;
    const auto step = page_.step.load();
    if (page_.runs == 0 || step != step_) {
      step_ = step;
      since_ = used;
      was_told_ = false;
      return;
    }
    const auto took = used - since_;
    if (took > worker::kMostTime && page_.is_stoppable) page_.stopped_step = step;
    const auto most = worker::kMostTime + (page_.is_stoppable ? kAfterStop : milliseconds{0});
    is_late_ = took > most;
    const auto since_signal = used - std::max(since_, signalled_);
    if (is_late_ || (is_ending() && since_signal > kAfterSignal)) {
      if (is_late_) let_note_line();
      ::kill(worker_, SIGKILL);
    } else if (page_.break_key == BreakKey::kPressed && since_signal > kAfterBreak &&
               !std::exchange(was_told_, true)) {
      write_stderr("\nThe script is still in the same line; Ctrl-C again ends the session.\n");
    }
  }

  void let_note_line() const noexcept {
    ::kill(worker_, SIGXCPU);
    const timespec moment{.tv_sec = 0, .tv_nsec = nanoseconds{kForLine}.count()};
    ::nanosleep(&moment, nullptr);
  }

  // ---- Signals ----

  /// Whether a signal ends the worker, and not only the line of a script that is being debugged.
  bool is_ending() const {
    const auto key = page_.break_key.load();
    const bool is_break = key == BreakKey::kReady || key == BreakKey::kPressed;
    return signal_ != 0 && !(signal_ == SIGINT && is_break);
  }

  void pass_on(const siginfo_t& info) {
    if (signal_ == 0 || signal_ == SIGINT) signal_ = info.si_signo;
    signalled_ = used_time();
    // A key of the terminal has signalled the worker, too.
    if (info.si_code != SI_KERNEL || info.si_signo == SIGHUP) ::kill(worker_, info.si_signo);
  }

  /// Stops with the worker, and continues with it.
  void stop() {
    ::kill(worker_, SIGTSTP);
    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, SIGTSTP);
    static_cast<void>(std::raise(SIGTSTP));
    sigprocmask(SIG_UNBLOCK, &only, nullptr);  // here it stops
    sigprocmask(SIG_BLOCK, &only, nullptr);
    ::kill(worker_, SIGCONT);
  }

  // ---- Its end ----

  ExitStatus after_end(int status) {
    const bool has_exited = WIFEXITED(status) && !page_.is_out_of_memory;
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (!has_exited) clean_up(signal == SIGKILL);
    sigprocmask(SIG_UNBLOCK, &waited_for_, nullptr);
    if (has_exited) return static_cast<ExitStatus>(WEXITSTATUS(status));
    if (page_.is_out_of_memory) throw_too_much();
    if (is_late_) throw_late();
    if (signal == SIGPIPE) throw OutputClosed();
    const bool is_passed_on = sigismember(&waited_for_, signal) == 1;
    if (!is_passed_on && !(is_ending() && signal == SIGKILL)) throw_crashed(signal);
    take_signal(is_passed_on ? signal : signal_);
    throw Interrupted();
  }

  void clean_up(bool was_killed) const {
    end_children();
    worker::remove_leftovers();
    terminal_.restore();
    if (was_killed) clear_progress();
  }

  /// "my.lua", as far as it is known.
  std::string script() const {
    const auto names = page_.script.get();
    return names.empty() || names.front().empty() ? "the script" : names.front();
  }

  /// Names the request that ran.
  std::string request() const {
    const auto quoted = [](const std::vector<std::string>& words) {
      constexpr std::size_t kMostShown = 60;
      std::string out;
      for (const auto& word : words) out += " '" + escape(word, kMostShown) + "'";
      return words.empty() ? " none" : out;
    };
    std::string out;
    if (page_.request > 0) {
      out += fmt::format("; request {} had KEYS{} and ARGV{}", page_.request.load(),
                         quoted(page_.keys.get()), quoted(page_.arguments.get()));
    }
    if (page_.line > 0) out += fmt::format("; it was last seen at line {}", page_.line.load());
    return out;
  }

  [[noreturn]] void fail(std::string code, std::string message, std::string hint) const {
    throw ProblemError({.status = ExitStatus::kRejected,
                        .code = std::move(code),
                        .message = std::move(message),
                        .hint = std::move(hint)});
  }
  [[noreturn]] void throw_late() const {
    const bool is_debug = invocation_.command == "debug";
    fail("timeout",
         fmt::format("{} did not end within {} s of processor time{}",
                     page_.is_stoppable ? "an expression" : script(), worker::kMostTime.count(),
                     request()),
         is_debug ? "" : "the script may never end: step through it with rlctl debug");
  }
  [[noreturn]] void throw_too_much() const {
    constexpr auto kMebibytes = worker::kMostMemory >> 20U;
    if (page_.runs == 0)
      fail("memory", fmt::format("out of memory: more than {} MiB", kMebibytes), "");
    fail("memory",
         fmt::format("{} needs more than {} MiB of memory{}", script(), kMebibytes, request()), "");
  }
  [[noreturn]] void throw_crashed(int signal) const {
    const char* const name = ::sigabbrev_np(signal);
    fail("internal",
         fmt::format("the process that runs {} was killed by signal {}{}{}", script(), signal,
                     name == nullptr ? "" : fmt::format(" (SIG{})", name), request()),
         "");
  }

  const Invocation& invocation_;
  const nanoseconds most_time_;
  const TerminalState terminal_;
  worker::Page& page_ = worker::share_page();
  sigset_t waited_for_{};
  pid_t worker_ = 0;
  std::uint64_t step_ = 0;  ///< in which the worker was seen
  nanoseconds since_{0};    ///< the worker's time then
  nanoseconds signalled_{0};
  int signal_ = 0;  ///< the first that has come, or the first that is not SIGINT
  bool was_told_ = false, is_late_ = false;
};

}  // namespace

bool is_worker() noexcept {
  return is_in_worker;
}

std::optional<ExitStatus> run_in_worker(const Invocation& invocation, nanoseconds most_time) {
  Parent parent(invocation, most_time);
  if (parent.fork()) return std::nullopt;
  return parent.wait();
}

}  // namespace rlctl::cli
