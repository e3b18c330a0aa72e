#include "cli/commands/run/supervise.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "cli/commands/run/renewal.h"
#include "cli/terminal/signals.h"

namespace rlctl::cli::run {
namespace {

/// How long the command may take to end after SIGTERM (--kill-on-loss).
constexpr std::chrono::seconds kGrace{10};

// ---- Signals ----

constexpr std::array kForwarded{SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGTSTP, SIGCONT};

/// While it exists, signals are read from a descriptor instead of delivered. Those that were
/// ignored stay ignored. The child gets what was there before: see restore().
class SignalQueue {
 public:
  SignalQueue() {
    sigset_t wanted;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGCHLD);
    for (const int signal : kForwarded) {
      struct sigaction now {};
      sigaction(signal, nullptr, &now);
      if (now.sa_handler != SIG_IGN || signal == SIGCONT) sigaddset(&wanted, signal);
    }
    sigprocmask(SIG_BLOCK, &wanted, &mask_);
    // If it is ignored, the child's status is lost.
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    sigaction(SIGCHLD, &by_default, &child_action_);
    fd_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
    if (!fd_) throw std::system_error(errno, std::generic_category(), "cannot make a signalfd");
  }
  ~SignalQueue() {
    while (next()) {
      // A signal that came too late for the child is not one for this process.
    }
    sigaction(SIGCHLD, &child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalQueue(const SignalQueue&) = delete;
  SignalQueue& operator=(const SignalQueue&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::optional<signalfd_siginfo> next() const noexcept {
    signalfd_siginfo info{};
    if (::read(fd_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return info;
  }
  /// Gives a child the signals as rlctl inherited them. Safe after fork().
  void restore() const noexcept {
    restore_signals();
    sigaction(SIGCHLD, &child_action_, nullptr);
    sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }

 private:
  sigset_t mask_{};
  struct sigaction child_action_ {};
  FileDescriptor fd_;
};

/// Whether the kernel has sent the signal to the command too: what is typed goes to the whole
/// process group. A hangup goes to the leader of the session only, which rlctl may be, and to the
/// group once the leader ends.
bool reaches_command(const signalfd_siginfo& info) {
  const bool is_for_leader =
      static_cast<int>(info.ssi_signo) == SIGHUP && ::getsid(0) == ::getpid();
  return info.ssi_code == SI_KERNEL && !is_for_leader;
}

// ---- The child ----

/// Starts the program and returns its process ID. Throws ProblemError.
pid_t start(const Program& program, const SignalQueue& signals, bool dies_with_rlctl) {
  Execution execution(program);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "cannot make a pipe");
  }
  const FileDescriptor read_end(ends[0]);
  FileDescriptor write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw std::system_error(errno, std::generic_category(), "cannot fork");
  if (child == 0) {
    if (dies_with_rlctl) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (::getppid() != parent) ::_exit(static_cast<int>(kFailed));
    }
    signals.restore();
    const int error = execution.execute();
    [[maybe_unused]] const auto written = ::write(write_end.get(), &error, sizeof error);
    ::_exit(static_cast<int>(kNotFound));  // the pipe says why
  }
  write_end.reset();
  // The pipe closes when the program has been executed.
  int error = 0;
  ssize_t size = 0;
  do {
    size = ::read(read_end.get(), &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  if (size != sizeof error) return child;
  ::waitpid(child, nullptr, 0);
  throw ProblemError(cannot_execute(program, error, ""));
}

bool is_stop_for_shell(int signal) {
  return signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

/// Ends as the child did, so that a shell sees 128+n and a loop around rlctl ends by Ctrl-C.
ExitStatus exit_like_child(int status) {
  if (WIFEXITED(status)) return static_cast<ExitStatus>(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  const rlimit no_core{.rlim_cur = 0, .rlim_max = 0};
  ::setrlimit(RLIMIT_CORE, &no_core);  // one core, that of the child, is enough
  die_by(signal);
  return static_cast<ExitStatus>(128 + signal);
}

// ---- Supervision ----

class Supervisor {
 public:
  Supervisor(const Plan& plan, HeldLease held, Connector& connector, Invocation& invocation)
      : plan_(plan), held_(std::move(held)), connector_(connector), invocation_(invocation) {}

  ExitStatus run(const Program& program);

 private:
  /// Throws if the child cannot be started.
  void supervise_child(const Program& program, const SignalQueue& signals);
  void wait(const SignalQueue& signals) const;
  void forward(const signalfd_siginfo& info);
  void look_at_child();
  void check_lease();
  void lose(const std::string& why);
  void release_lease() const;
  void warn_of(const std::string& code, const std::string& what) const {
    const bool json = invocation_.json;
    const auto message = (json ? "" : "warning: ") + ("the lease of " + in_quotes(plan_.key)) + " ";
    write_stderr(render({.code = code, .message = message + what}, invocation_.command, json));
  }
  [[nodiscard]] std::string more_may_run() const {
    return "; more than " + std::to_string(*plan_.concurrency) + " may be running";
  }

  const Plan& plan_;
  HeldLease held_;
  Connector& connector_;
  Invocation& invocation_;
  pid_t child_ = 0;
  std::optional<int> status_;
  std::optional<Renewal> renewal_;  ///< none once the lease is lost
  bool is_lost_ = false;            ///< and reported
  std::optional<Clock::time_point> kill_at_;
};

ExitStatus Supervisor::run(const Program& program) {
  {
    const SignalQueue signals;  // until the lease is released, which no signal may prevent
    try {
      supervise_child(program, signals);
    } catch (const std::exception&) {
      renewal_.reset();
      release_lease();
      throw;
    }
    renewal_.reset();
    release_lease();
  }
  return exit_like_child(*status_);
}

void Supervisor::supervise_child(const Program& program, const SignalQueue& signals) {
  invocation_.interrupt.check();
  renewal_.emplace(connector_, held_);
  child_ = start(program, signals, plan_.kill_on_loss);
  while (!status_) {
    wait(signals);
    while (const auto info = signals.next()) {
      if (static_cast<int>(info->ssi_signo) == SIGCHLD) {
        look_at_child();
      } else if (!status_) {
        forward(*info);
      }
    }
    if (!status_) check_lease();
  }
}

void Supervisor::wait(const SignalQueue& signals) const {
  auto deadline = kNoDeadline;
  if (renewal_) deadline = renewal_->lapses();
  if (kill_at_) deadline = std::min(deadline, *kill_at_);
  std::array<pollfd, 2> polled{pollfd{signals.fd(), POLLIN, 0},
                               pollfd{renewal_ ? renewal_->fd() : -1, POLLIN, 0}};
  int timeout_ms = -1;
  if (deadline != kNoDeadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    // Also at the latest after an hour, since poll() takes no longer times.
    timeout_ms = static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
  }
  ::poll(polled.data(), polled.size(), timeout_ms);
}

void Supervisor::forward(const signalfd_siginfo& info) {
  const int signal = static_cast<int>(info.ssi_signo);
  if (signal == SIGCONT) {
    // After a stop, of which the server knew nothing.
    ::kill(child_, SIGCONT);
    if (renewal_) renewal_->renew_now();
  } else if (!reaches_command(info)) {
    ::kill(child_, signal);
  }
}

void Supervisor::look_at_child() {
  int status = 0;
  while (::waitpid(child_, &status, WNOHANG | WUNTRACED) > 0) {
    if (!WIFSTOPPED(status)) {
      status_ = status;
      return;
    }
    // Stopped until a SIGCONT, which forward() passes on.
    if (is_stop_for_shell(WSTOPSIG(status))) ::kill(::getpid(), SIGSTOP);
  }
}

void Supervisor::check_lease() {
  const auto now = Clock::now();
  if (renewal_ && renewal_->is_refused()) {
    lose("is lost: it lapsed or was removed before it could be renewed");
  } else if (renewal_ && now >= renewal_->lapses()) {
    const auto problem = renewal_->problem();
    lose("has lapsed: " + (problem.empty() ? "rlctl could not renew it in time"
                                           : "it could not be renewed: " + problem));
  }
  if (kill_at_ && now >= *kill_at_) {
    ::kill(child_, SIGKILL);
    kill_at_.reset();
  }
}

void Supervisor::lose(const std::string& why) {
  renewal_.reset();
  is_lost_ = true;
  warn_of(kLeaseLost,
          why + more_may_run() + (plan_.kill_on_loss ? "; terminating the command" : ""));
  if (!plan_.kill_on_loss) return;
  ::kill(child_, SIGTERM);
  ::kill(child_, SIGCONT);  // if it is stopped
  kill_at_ = Clock::now() + kGrace;
}

/// Also releases a lease that is lost: a renewal may have reached the server without an answer.
void Supervisor::release_lease() const {
  try {
    if (!release(connector_, held_.lease).allowed && !is_lost_) {
      warn_of(kLeaseLost,
              "was gone when the command ended: it lapsed or was removed" + more_may_run());
    }
  } catch (const std::exception& error) {
    if (is_lost_) return;
    const auto problem = describe(error);
    warn_of(problem.code, "was not released and lapses in at most " +
                              period_text(plan_.lease_duration) + ": " + problem.message);
  }
}

}  // namespace

ExitStatus supervise(const Plan& plan, const Program& program, HeldLease held, Connector& connector,
                     Invocation& invocation) {
  return Supervisor(plan, std::move(held), connector, invocation).run(program);
}

}  // namespace rlctl::cli::run
