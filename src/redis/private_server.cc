#include "redis/private_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "redis/connection.h"
#include "redis/error.h"
#include "redis/file_descriptor.h"
#include "redis/text.h"

extern char** environ;

namespace rlctl::redis {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "rlctl-";
constexpr std::size_t kRandomLetters = 6;
constexpr const char* kLockName = "rlctl.lock";
constexpr const char* kNewLockName = "rlctl.lock.new";
constexpr const char* kLogName = "server.log";
constexpr const char* kSocketName = "redis.sock";
constexpr std::chrono::seconds kMakingTakesAtMost{10};
constexpr std::chrono::seconds kStartTakesAtMost{10};

// ---- Finding the binary ----

constexpr std::array<std::string_view, 4> kServerNames{"redis-server", "valkey-server",
                                                       "redis-check-rdb", "valkey-check-rdb"};

std::optional<std::string> find_in_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    // An empty entry is the current folder, where nobody keeps a server on purpose.
    if (folder.empty()) continue;
    auto candidate = fmt::format("{}/{}", folder, name);
    std::error_code ignored;
    if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, ignored)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::string find_server() {
  const char* chosen = std::getenv("RLCTL_REDIS_SERVER");
  if (chosen != nullptr && *chosen != '\0') {
    const std::string_view name = chosen;
    auto found = name.find('/') == name.npos ? find_in_path(name) : std::string(name);
    if (found && ::access(found->c_str(), X_OK) == 0) return *found;
    throw Error(Failure::kUnreachable,
                fmt::format("cannot start the server that RLCTL_REDIS_SERVER names: '{}': {}",
                            escape(name, 200), found ? errno_text(errno) : "not found in PATH"));
  }
  for (const auto name : kServerNames) {
    if (auto found = find_in_path(name)) return *found;
  }
  throw Error(Failure::kUnreachable, "no redis-server in PATH to start a private one", {},
              "it is in the packages redis-tools, redis-server (Debian, Ubuntu), redis, valkey "
              "(Fedora, Arch, Alpine, Homebrew); RLCTL_REDIS_SERVER names one elsewhere");
}

// ---- The folder ----

fs::path parent_folder() {
  const char* chosen = std::getenv("TMPDIR");
  // Absolute, because the server changes into its own folder.
  return fs::absolute(chosen != nullptr && *chosen != '\0' ? chosen : "/tmp");
}

bool is_folder_name(std::string_view name) {
  return name.size() == kPrefix.size() + kRandomLetters && name.starts_with(kPrefix) &&
         std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

// A lock file appears under its name only once it is locked, so that whoever finds it unlocked
// knows that its owner is dead.
FileDescriptor make_lock(const fs::path& folder) {
  const auto temporary = folder / kNewLockName;
  FileDescriptor lock(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename(temporary.c_str(), (folder / kLockName).c_str()) != 0) {
    throw Error(Failure::kUnreachable,
                fmt::format("cannot lock {}: {}", folder.string(), errno_text(errno)));
  }
  return lock;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Without a lock it is being made right now, or was left so early that nothing is in it: it only
// goes if it is old and empty, for it may be somebody's folder that happens to have such a name.
void sweep_unlocked(const fs::path& folder, const struct stat& status) {
  const std::chrono::seconds age(std::time(nullptr) - status.st_mtime);
  if (age <= kMakingTakesAtMost) return;
  ::unlink((folder / kNewLockName).c_str());
  ::rmdir(folder.c_str());
}

void sweep_folder(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  if (status.st_uid != ::geteuid()) return;
  const auto lock_path = folder / kLockName;
  const FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) {
    if (errno == ENOENT) sweep_unlocked(folder, status);
    return;
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  // Another sweeper may have been faster, and a new folder have got the name.
  struct stat locked {};
  struct stat named {};
  if (::fstat(lock.get(), &locked) != 0 || ::lstat(lock_path.c_str(), &named) != 0) return;
  std::error_code ignored;
  if (same_file(locked, named)) fs::remove_all(folder, ignored);
}

// Sweeping is a courtesy: nothing that fails here is worth an error.
void sweep(const fs::path& parent) {
  std::error_code failed;
  for (fs::directory_iterator it(parent, failed), end; !failed && it != end; it.increment(failed)) {
    if (is_folder_name(it->path().filename().native())) sweep_folder(it->path());
  }
}

fs::path make_folder(const fs::path& parent) {
  std::string path = (parent / kPrefix).string() + std::string(kRandomLetters, 'X');
  const auto socket_size = path.size() + 1 + std::string_view(kSocketName).size();
  constexpr auto kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (socket_size > kLongest) {
    throw Error(Failure::kUsage,
                fmt::format("{} is too long for a unix socket in it: {} bytes, {} at most",
                            parent.string(), socket_size, kLongest),
                {}, "set TMPDIR to a folder with a shorter name");
  }
  if (::mkdtemp(path.data()) == nullptr) {
    throw Error(Failure::kUnreachable,
                fmt::format("cannot make a folder in {}: {}", parent.string(), errno_text(errno)),
                {}, "TMPDIR names where private servers have their folders");
  }
  return path;
}

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

bool answers(const Url& url) {
  try {
    // Any answer will do: with a password set it is an error.
    (void)Connection::open(url, std::chrono::seconds(1)).call({"PING"});
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
                           pid_t& pid) {
  using Clock = std::chrono::steady_clock;
  const auto started = Clock::now();
  while (!answers(url)) {
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
    ::poll(nullptr, 0, waited < std::chrono::milliseconds(100) ? 1 : 20);
  }
}

}  // namespace

PrivateServer::PrivateServer(const Options& options) {
  const auto program = find_server();
  const auto parent = parent_folder();
  sweep(parent);
  folder_ = make_folder(parent);
  try {
    lock_fd_ = make_lock(folder_).release();
    url_.scheme = Scheme::kUnix;
    url_.path = folder_ / kSocketName;
    pid_ = start_process(program, command_line(folder_, url_.path, options.arguments), folder_);
    wait_until_it_answers(url_, folder_, program, pid_);
  } catch (...) {
    stop();
    throw;
  }
}

PrivateServer::~PrivateServer() {
  stop();
}

PrivateServer::PrivateServer(PrivateServer&& other) noexcept
    : url_(std::exchange(other.url_, {})),
      folder_(std::exchange(other.folder_, {})),
      pid_(std::exchange(other.pid_, -1)),
      lock_fd_(std::exchange(other.lock_fd_, -1)) {}

PrivateServer& PrivateServer::operator=(PrivateServer&& other) noexcept {
  if (this == &other) return *this;
  stop();
  url_ = std::exchange(other.url_, {});
  folder_ = std::exchange(other.folder_, {});
  pid_ = std::exchange(other.pid_, -1);
  lock_fd_ = std::exchange(other.lock_fd_, -1);
  return *this;
}

void PrivateServer::stop() noexcept {
  if (pid_ > 0) {
    // The whole session: the script debugger makes the server fork.
    ::kill(-pid_, SIGKILL);
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
  }
  if (!folder_.empty()) {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
    folder_.clear();
  }
  // Last, so that nobody sweeps what is still ours.
  if (lock_fd_ >= 0) ::close(std::exchange(lock_fd_, -1));
}

}  // namespace rlctl::redis
