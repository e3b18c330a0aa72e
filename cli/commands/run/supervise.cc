#include "cli/commands/run/plan.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "cli/terminal/signals.h"
#include "limiter/lease_renewal.h"

namespace rlctl::cli::run {
namespace {

// ---- Programs ----

/// 0, or the errno with which executing the file would fail.
int error_of_executing(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return errno;
  if (S_ISDIR(status.st_mode)) return EISDIR;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return ::access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// Where a shell looks for a program: in the folders of PATH, unless its name contains a slash.
std::vector<std::string> places_of(const std::string& name) {
  if (name.empty() || name.find('/') != name.npos) return {name};
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  std::vector<std::string> places;
  while (true) {
    const auto colon = rest.find(':');
    const auto folder = rest.substr(0, colon);  // an empty one is the current folder
    places.push_back(std::string(folder.empty() ? "." : folder) + "/" + name);
    if (colon == rest.npos) return places;
    rest.remove_prefix(colon + 1);
  }
}

bool means_not_found(int error) {
  return error == ENOENT || error == ENOTDIR;
}

std::string cannot_run(const Program& program, int error) {
  return "cannot run " + quoted_and_masked(program.words.front()) + ": " + errno_text(error);
}

/// The failure of Execution::execute(), of a program that was found. `after` is the end of the
/// message.
Problem cannot_execute(const Program& program, int error, std::string after) {
  // The file was there when it was looked for: what is missing is named in its first line.
  const bool lacks_interpreter = means_not_found(error);
  return {.status = kCannotExecute,
          .code = "cannot_execute",
          .message = cannot_run(program, error) + std::move(after),
          .hint = lacks_interpreter ? "the interpreter that its #! line names may be missing" : ""};
}

/// The memory that execute() needs, since a child may not allocate any after fork().
class Execution {
 public:
  explicit Execution(const Program& program) {
    // execv() takes char*, but changes nothing.
    const auto pointer = [](const std::string& word) { return const_cast<char*>(word.c_str()); };
    static std::string shell = "/bin/sh";
    for (const auto& word : program.words) words_.push_back(pointer(word));
    words_.push_back(nullptr);
    shell_words_ = {shell.data(), pointer(program.path)};
    shell_words_.insert(shell_words_.end(), words_.begin() + 1, words_.end());
  }

  /// Executes the program in this process; a script without #! runs in /bin/sh, as in a shell.
  /// Returns errno if that fails. Safe after fork().
  int execute() noexcept {
    ::execv(shell_words_[1], words_.data());
    if (errno == ENOEXEC) ::execv(shell_words_[0], shell_words_.data());
    return errno;
  }

 private:
  std::vector<char*> words_;
  std::vector<char*> shell_words_;
};

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

  int fd() const noexcept { return fd_.get(); }
  std::optional<signalfd_siginfo> next() const noexcept {
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

/// One call of supervise().
class Supervisor {
 public:
  Supervisor(const Plan& plan, HeldLease held, Connector& connector, Invocation& invocation)
      : plan_(plan), held_(std::move(held)), connector_(connector), invocation_(invocation) {}

  ExitStatus run(const Program& program) {
    {
      const SignalQueue signals;  // until the lease is released, which no signal may prevent
      try {
        supervise_child(program, signals);
      } catch (const std::exception&) {
        release_lease();
        throw;
      }
      release_lease();
    }
    return exit_like_child(*status_);
  }

 private:
  /// Throws if the child cannot be started.
  void supervise_child(const Program& program, const SignalQueue& signals) {
    invocation_.interrupt.check();
    renewal_.emplace(
        [this](const Interrupt& interrupt, std::chrono::microseconds most) {
          return connector_.open_with(interrupt, most);
        },
        held_.lease, held_.since);
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

  void wait(const SignalQueue& signals) const {
    auto deadline = kNoDeadline;
    if (renewal_) deadline = renewal_->lapses();
    if (kill_at_) deadline = std::min(deadline, *kill_at_);
    try {
      wait_for(signals.fd(), POLLIN, renewal_ ? &renewal_->refusal() : nullptr, deadline);
    } catch (const Interrupted&) {
      // The server refused a renewal.
    }
  }

  void forward(const signalfd_siginfo& info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal == SIGCONT) {
      // After a stop, of which the server knew nothing.
      ::kill(child_, SIGCONT);
      if (renewal_) renewal_->renew_now();
    } else if (!reaches_command(info)) {
      ::kill(child_, signal);
    }
  }

  void look_at_child() {
    int status = 0;
    while (::waitpid(child_, &status, WNOHANG | WUNTRACED) > 0) {
      if (!WIFSTOPPED(status)) {
        status_ = status;
        return;
      }
      const int signal = WSTOPSIG(status);
      // The shell stops this process too, until a SIGCONT, which forward() passes on.
      if (signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU) ::kill(::getpid(), SIGSTOP);
    }
  }

  void check_lease() {
    const auto now = Clock::now();
    if (renewal_ && renewal_->is_refused()) {
      lose("is lost: it lapsed or was removed before it could be renewed");
    } else if (renewal_ && now >= renewal_->lapses()) {
      lose("has lapsed: " + why_not_renewed());
    }
    if (kill_at_ && now >= *kill_at_) {
      ::kill(child_, SIGKILL);
      kill_at_.reset();
    }
  }

  std::string why_not_renewed() const {
    const auto failure = renewal_->failure();
    if (!failure) return "rlctl could not renew it in time";
    try {
      std::rethrow_exception(failure);
    } catch (const std::exception& error) {
      return "it could not be renewed: " + describe(error).message;
    }
  }

  void lose(const std::string& why) {
    renewal_.reset();
    is_lost_ = true;
    warn_of(kLeaseLost,
            why + more_may_run() + (plan_.kill_on_loss ? "; terminating the command" : ""));
    if (!plan_.kill_on_loss) return;
    ::kill(child_, SIGTERM);
    ::kill(child_, SIGCONT);                    // if it is stopped
    constexpr std::chrono::seconds kGrace{10};  // how long it may take to end after SIGTERM
    kill_at_ = Clock::now() + kGrace;
  }

  /// Also releases a lease that is lost: a renewal may have reached the server without an answer.
  void release_lease() {
    renewal_.reset();
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

  void warn_of(const std::string& code, const std::string& what) const {
    const bool json = invocation_.json;
    const auto message =
        (json ? "" : "warning: ") + ("the lease of " + quoted_and_masked(plan_.key)) + " ";
    write_stderr(render({.code = code, .message = message + what}, invocation_.command, json));
  }
  std::string more_may_run() const {
    return "; more than " + std::to_string(*plan_.concurrency) + " may be running";
  }

  const Plan& plan_;
  const HeldLease held_;
  Connector& connector_;
  Invocation& invocation_;
  pid_t child_ = 0;
  std::optional<int> status_;
  std::optional<limiter::LeaseRenewal> renewal_;  ///< none once the lease is lost
  bool is_lost_ = false;                          ///< and reported
  std::optional<Clock::time_point> kill_at_;
};

}  // namespace

Program find_program(std::vector<std::string> words) {
  Program program{.path = {}, .words = std::move(words)};
  const auto& name = program.words.front();
  const bool is_path = name.find('/') != name.npos;
  int error = ENOENT;
  for (auto& place : places_of(name)) {
    const int reason = error_of_executing(place);
    if (reason == 0) {
      program.path = std::move(place);
      return program;
    }
    if (is_path || !means_not_found(reason)) error = reason;
  }
  if (!means_not_found(error)) throw ProblemError(cannot_execute(program, error, ""));
  throw ProblemError(
      {.status = kNotFound, .code = "not_found", .message = cannot_run(program, error)});
}

void replace_process(const Program& program, const Interrupt& interrupt) {
  Execution execution(program);
  // A signal that comes now either ends this process or reaches the program.
  sigset_t all, before;
  sigfillset(&all);
  sigprocmask(SIG_BLOCK, &all, &before);
  const bool is_interrupted = interrupt.signal() != 0;
  if (!is_interrupted) restore_signals();
  sigprocmask(SIG_SETMASK, &before, nullptr);
  interrupt.check();
  const int error = execution.execute();
  throw ProblemError(cannot_execute(program, error, kWasCounted));
}

ExitStatus supervise(const Plan& plan, const Program& program, HeldLease held, Connector& connector,
                     Invocation& invocation) {
  return Supervisor(plan, std::move(held), connector, invocation).run(program);
}

}  // namespace rlctl::cli::run
