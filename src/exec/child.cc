#include "exec/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

#include "base/shell.h"
#include "base/wait.h"
#include "base/worker.h"

namespace rlctl::exec {
namespace {

/// Between SIGTERM and SIGKILL.
constexpr std::chrono::milliseconds kAfterTerm{500};
constexpr std::chrono::milliseconds kBetweenLooks{1};

struct Pipe {
  FileDescriptor read_end, write_end;
};

Pipe make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::system_error(errno, std::generic_category());
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void never_block(const FileDescriptor& file) {
  ::fcntl(file.get(), F_SETFL, ::fcntl(file.get(), F_GETFL) | O_NONBLOCK);
}

// Prepared before the fork: after it, only async-signal-safe calls are allowed.
struct Launch {
  char* const* words;
  char* const* environment;
  const char* folder;           ///< may be empty
  std::array<int, 3> standard;  ///< becomes its input, output and error
  int report;                   ///< where it writes errno if it cannot be run
  pid_t parent;
};

[[noreturn]] void run_child(const Launch& launch) noexcept {
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  // If the parent died before that call, no signal will come.
  if (::getppid() != launch.parent) ::_exit(127);
  worker::unlimit_memory();
  ::setpgid(0, 0);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT}) ::signal(signal, SIG_DFL);
  for (int i = 0; i < 3; ++i) ::dup2(launch.standard[static_cast<std::size_t>(i)], i);
  if (*launch.folder == '\0' || ::chdir(launch.folder) == 0) {
    ::execvpe(launch.words[0], launch.words, launch.environment);
  }
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(launch.report, &error, sizeof error);
  ::_exit(127);
}

std::string end_text(bool exited, int status) {
  if (exited) return fmt::format("ended with status {}", status);
  const char* const name = ::sigabbrev_np(status);
  return fmt::format("was killed by signal {}{}", status,
                     name == nullptr ? "" : fmt::format(" (SIG{})", name));
}

}  // namespace

Child::Child(const std::vector<std::string>& words, const std::string& folder,
             const std::vector<std::string>& environment) {
  auto arguments = words;
  auto variables = environment_with(environment);
  const auto argument_pointers = pointers_to(arguments);
  const auto variable_pointers = pointers_to(variables);
  auto in = make_pipe(), out = make_pipe(), err = make_pipe(), report = make_pipe();
  const Launch launch{
      argument_pointers.data(), variable_pointers.data(),
      folder.c_str(),           {in.read_end.get(), out.write_end.get(), err.write_end.get()},
      report.write_end.get(),   ::getpid()};
  pid_ = ::fork();
  if (pid_ == 0) run_child(launch);
  if (pid_ < 0) throw std::system_error(errno, std::generic_category());
  ::setpgid(pid_, pid_);  // whichever of the two comes first
  report.write_end.reset();
  int error = 0;
  ssize_t size = 0;
  do {
    size = ::read(report.read_end.get(), &error, sizeof error);
  } while (size < 0 && errno == EINTR);
  if (size == static_cast<ssize_t>(sizeof error)) {
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    throw std::system_error(error, std::generic_category());
  }
  input_ = std::move(in.write_end);
  output_ = std::move(out.read_end);
  error_ = std::move(err.read_end);
  for (const auto* file : {&input_, &output_, &error_}) never_block(*file);
}

void Child::signal_group(int signal) const noexcept {
  ::kill(-pid_, signal);
}

bool Child::ends_within(std::chrono::milliseconds time) {
  const auto deadline = Clock::now() + time;
  while (!how_) {
    siginfo_t info{};
    // Not reaped yet, so that no other group can get its number.
    const int failed = ::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT);
    if (failed != 0 && errno == ECHILD) {
      how_ = "ended";  // this process was started with SIGCHLD ignored
    } else if (failed == 0 && info.si_pid == pid_) {
      how_ = end_text(info.si_code == CLD_EXITED, info.si_status);
    } else if (Clock::now() >= deadline) {
      return false;
    } else {
      wait_for(-1, 0, nullptr, std::min(deadline, Clock::now() + kBetweenLooks));
    }
  }
  return true;
}

Child::~Child() {
  input_.reset();
  if (!ends_within(std::chrono::milliseconds(0))) {
    signal_group(SIGTERM);
    ends_within(kAfterTerm);
  }
  // Also whatever it has started and left.
  signal_group(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace rlctl::exec
