#include "redis/private_server.h"

#include "base/time.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/file.h"
#include "base/text.h"
#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/server_binary.h"

extern char** environ;

namespace rlctl::redis {

namespace fs = std::filesystem;

namespace {

constexpr const char* kLogName = "server.log";
constexpr const char* kSocketName = "redis.sock";
constexpr std::chrono::seconds kStartTakesAtMost{10};

// ---- The process ----

std::vector<std::string> command_line(const fs::path& folder, const fs::path& socket,
                                      const std::vector<std::string>& more) {
  // The name matters: under their own names the check programs are not servers.
  std::vector<std::string> line{
      "redis-server", "--port", "0",    "--unixsocket", socket, "--unixsocketperm",
      "700",          "--save", "",     "--appendonly", "no",   "--daemonize",
      "no",           "--dir",  folder, "--databases",  "16",   "--loglevel",
      "notice"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

// Redis 7 does not start in a locale that the system has not got.
std::vector<std::string> server_environment() {
  std::vector<std::string> out{"LC_ALL=C"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    if (!std::string_view(*entry).starts_with("LC_")) out.emplace_back(*entry);
  }
  return out;
}

std::vector<char*> c_array(std::vector<std::string>& strings) {
  std::vector<char*> out;
  out.reserve(strings.size() + 1);
  for (auto& text : strings) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

// Everything the child needs, made before the fork: in it only async-signal-safe calls are allowed.
struct Launch {
  const char* program;
  char* const* arguments;
  char* const* environment;
  int input;
  int log;
  pid_t parent;
};

[[noreturn]] void run_child(const Launch& launch) noexcept {
  constexpr std::string_view kFailed = "the program cannot be run\n";
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  // If the parent died before that call, no signal will come.
  if (::getppid() != launch.parent) ::_exit(127);
  ::setsid();  // the terminal's Ctrl-C is for the parent, which ends the server itself
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::dup2(launch.input, STDIN_FILENO);
  for (const int output : {1, 2}) ::dup2(launch.log, output);
  ::execve(launch.program, launch.arguments, launch.environment);
  [[maybe_unused]] const auto written = ::write(launch.log, kFailed.data(), kFailed.size());
  ::_exit(127);
}

pid_t start_process(const std::string& program, std::vector<std::string> line,
                    const fs::path& folder) {
  auto variables = server_environment();
  const auto arguments = c_array(line);
  const auto environment = c_array(variables);
  const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FileDescriptor log(
      ::open((folder / kLogName).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!input || !log) {
    throw Error(Failure::kUnreachable,
                fmt::format("cannot write in {}: {}", folder.string(), errno_text(errno)));
  }
  const Launch launch{program.c_str(), arguments.data(), environment.data(),
                      input.get(),     log.get(),        ::getpid()};
  const pid_t pid = ::fork();
  if (pid == 0) run_child(launch);
  if (pid < 0) {
    throw Error(Failure::kUnreachable,
                fmt::format("cannot start {}: {}", program, errno_text(errno)));
  }
  return pid;
}

// ---- Waiting for it ----

std::string last_lines(const fs::path& log) {
  constexpr std::size_t kLines = 4;
  std::ifstream file(log);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    lines.push_back(escape(line, 200));
    if (lines.size() > kLines) lines.erase(lines.begin());
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

bool answers(const Url& url, const Interrupt* interrupt) {
  try {
    // Any answer will do: with a password set it is an error.
    (void)Connection::open(url, std::chrono::seconds(1), interrupt).call({"PING"});
    return true;
  } catch (const Error& error) {
    if (error.failure() == Failure::kUnreachable || error.failure() == Failure::kTimeout)
      return false;
    throw;
  }
}

// Sets `pid` to -1 where it is gone and waited for.
bool has_ended(pid_t& pid) {
  if (::waitpid(pid, nullptr, WNOHANG) != pid) return false;
  pid = -1;
  return true;
}

void wait_until_it_answers(const Url& url, const fs::path& folder, const std::string& program,
                           const Interrupt* interrupt, pid_t& pid) {
  using std::chrono::milliseconds;
  const auto started = Clock::now();
  while (!answers(url, interrupt)) {
    const auto waited = Clock::now() - started;
    const bool ended = has_ended(pid);
    if (ended || waited > kStartTakesAtMost) {
      const auto log = last_lines(folder / kLogName);
      throw Error(Failure::kUnreachable,
                  fmt::format("{} {}: {}", program,
                              ended ? "did not start"
                                    : fmt::format("did not answer within {}",
                                                  format_duration(kStartTakesAtMost)),
                              log.empty() ? "it said nothing" : log));
    }
    const milliseconds pause(waited < milliseconds(100) ? 1 : 20);
    wait_for(-1, 0, interrupt, Clock::now() + pause);
  }
}

}  // namespace

PrivateServer::PrivateServer(const Options& options)
    : PrivateServer(options, find_server_binary(options.like, options.interrupt)) {}

PrivateServer::PrivateServer(const Options& options, const std::string& program)
    : folder_(kSocketName) {
  const auto& folder = folder_.path();
  url_.scheme = Scheme::kUnix;
  url_.path = folder / kSocketName;
  try {
    pid_ = start_process(program, command_line(folder, url_.path, options.arguments), folder);
    wait_until_it_answers(url_, folder, program, options.interrupt, pid_);
  } catch (...) {
    stop();
    throw;
  }
}

PrivateServer::~PrivateServer() {
  stop();
}

PrivateServer::PrivateServer(PrivateServer&& other) noexcept
    : folder_(std::move(other.folder_)),
      url_(std::exchange(other.url_, {})),
      pid_(std::exchange(other.pid_, -1)) {}

PrivateServer& PrivateServer::operator=(PrivateServer&& other) noexcept {
  if (this == &other) return *this;
  stop();
  folder_ = std::move(other.folder_);
  url_ = std::exchange(other.url_, {});
  pid_ = std::exchange(other.pid_, -1);
  return *this;
}

void PrivateServer::stop() noexcept {
  if (pid_ <= 0) return;
  // The whole session: the script debugger makes the server fork.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace rlctl::redis
