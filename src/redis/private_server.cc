#include "redis/private_server.h"

#include <fcntl.h>
#include <fmt/format.h>
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
#include <cctype>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "base/time.h"
#include "base/wait.h"
#include "redis/connection.h"
#include "redis/error.h"

extern char** environ;

namespace rlctl::redis {

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 5> kServerNames{
    "redis-server", "valkey-server", "redis-check-rdb", "valkey-check-rdb", "redict-server"};
constexpr std::chrono::seconds kVersionTakesAtMost{2};

/// Calls visit(path, status) for each program of this name in PATH, until it returns true.
template <typename Visit>
bool find_in_path(std::string_view name, Visit visit) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(folder.size() + 1, rest.size()));
    // An empty entry means the current folder, which must not provide a server.
    if (folder.empty()) continue;
    const auto candidate = fmt::format("{}/{}", folder, name);
    struct stat status {};
    if (::access(candidate.c_str(), X_OK) == 0 && ::stat(candidate.c_str(), &status) == 0 &&
        S_ISREG(status.st_mode) && visit(candidate, status)) {
      return true;
    }
  }
  return false;
}

/// The binary that RLCTL_REDIS_SERVER names.
std::optional<std::string> chosen_binary() {
  const char* chosen = std::getenv("RLCTL_REDIS_SERVER");
  if (chosen == nullptr || *chosen == '\0') return std::nullopt;
  std::string found = chosen;
  bool is_known = true;
  if (found.find('/') == found.npos) {
    is_known = find_in_path(chosen, [&found](const std::string& path, const struct stat&) {
      found = path;
      return true;
    });
  }
  if (is_known && ::access(found.c_str(), X_OK) == 0) return found;
  throw Error(Failure::kUnreachable,
              fmt::format("cannot start the server that RLCTL_REDIS_SERVER names: '{}': {}",
                          escape(chosen, 200), is_known ? errno_text(errno) : "not found in PATH"));
}

/// All binaries, in order; one file with several names appears once.
std::vector<std::string> all_binaries() {
  std::vector<std::string> found;
  std::vector<std::pair<dev_t, ino_t>> seen;
  for (const auto name : kServerNames) {
    find_in_path(name, [&](const std::string& path, const struct stat& status) {
      const std::pair file{status.st_dev, status.st_ino};
      if (std::find(seen.begin(), seen.end(), file) != seen.end()) return false;
      seen.push_back(file);
      found.push_back(path);
      return false;
    });
  }
  return found;
}

enum class Likeness { kNotFound, kFamily, kMajor };

Likeness likeness_of(const std::string& binary, const ServerVersion& like,
                     const Interrupt* interrupt) {
  const auto version = version_of_binary(binary, kVersionTakesAtMost, interrupt);
  if (!version || version->family != like.family) return Likeness::kNotFound;
  return version->major_number() == like.major_number() ? Likeness::kMajor : Likeness::kFamily;
}

const std::string& most_alike(const std::vector<std::string>& binaries, const ServerVersion& like,
                              const Interrupt* interrupt) {
  const auto* best = &binaries.front();
  auto most = Likeness::kNotFound;
  for (const auto& binary : binaries) {
    const auto likeness = likeness_of(binary, like, interrupt);
    if (likeness <= most) continue;
    most = likeness;
    best = &binary;
    if (most == Likeness::kMajor) break;
  }
  return *best;
}

}  // namespace

std::string find_server_binary(const std::optional<ServerVersion>& like,
                               const Interrupt* interrupt) {
  if (auto chosen = chosen_binary()) return *chosen;
  const auto binaries = all_binaries();
  if (binaries.empty()) {
    throw Error(Failure::kUnreachable, "no redis-server in PATH to start a private one", {},
                "it is in the packages redis-tools, redis-server (Debian, Ubuntu), redis, valkey "
                "(Fedora, Arch, Alpine, Homebrew); RLCTL_REDIS_SERVER names one elsewhere");
  }
  if (!like || binaries.size() == 1) return binaries.front();
  return most_alike(binaries, *like, interrupt);
}

namespace {

constexpr std::string_view kPrefix = "rlctl-";
constexpr std::size_t kRandomLetters = 6;
constexpr const char* kLockName = "rlctl.lock";
constexpr const char* kNewLockName = "rlctl.lock.new";
constexpr std::chrono::seconds kMakingTakesAtMost{10};

bool is_folder_name(std::string_view name) {
  return name.size() == kPrefix.size() + kRandomLetters && name.starts_with(kPrefix) &&
         std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

// A lock file gets its name only once it is locked, so an unlocked one has a dead owner.
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

// A folder without a lock is being made right now, or was abandoned so early that it is empty:
// remove it only if it is old and empty, since an unrelated folder may have such a name.
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
  // Another sweeper may have been faster, and a new folder may have the name now.
  struct stat locked {};
  struct stat named {};
  if (::fstat(lock.get(), &locked) != 0 || ::lstat(lock_path.c_str(), &named) != 0) return;
  std::error_code ignored;
  if (same_file(locked, named)) fs::remove_all(folder, ignored);
}

// Sweeping is optional: ignore its errors.
void sweep(const fs::path& parent) {
  std::error_code failed;
  for (fs::directory_iterator it(parent, failed), end; !failed && it != end; it.increment(failed)) {
    if (is_folder_name(it->path().filename().native())) sweep_folder(it->path());
  }
}

fs::path make_folder(const fs::path& parent, std::string_view socket_name) {
  std::string path = (parent / kPrefix).string() + std::string(kRandomLetters, 'X');
  const auto socket_size = path.size() + 1 + socket_name.size();
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
                {}, "private servers keep their folders in TMPDIR");
  }
  return path;
}

}  // namespace

PrivateFolder::PrivateFolder(std::string_view socket_name) {
  // Absolute, because the server changes to its own folder.
  const auto parent = fs::absolute(temporary_folder());
  sweep(parent);
  path_ = make_folder(parent, socket_name);
  try {
    lock_ = make_lock(path_);
  } catch (...) {
    remove();
    throw;
  }
}

PrivateFolder::~PrivateFolder() {
  remove();
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  lock_ = std::move(other.lock_);
  return *this;
}

// Remove the lock last, so that no other process sweeps the folder meanwhile.
void PrivateFolder::remove() noexcept {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  path_.clear();
  lock_.reset();
}

namespace {

constexpr const char* kLogName = "server.log";
constexpr const char* kSocketName = "redis.sock";
constexpr std::chrono::seconds kStartTakesAtMost{10};

// ---- The process ----

std::vector<std::string> command_line(const fs::path& folder, const fs::path& socket,
                                      const std::vector<std::string>& more) {
  // The name matters: under their own names the check programs do not act as servers.
  std::vector<std::string> line{
      "redis-server", "--port", "0",    "--unixsocket", socket, "--unixsocketperm",
      "700",          "--save", "",     "--appendonly", "no",   "--daemonize",
      "no",           "--dir",  folder, "--databases",  "16",   "--loglevel",
      "notice"};
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

// Redis 7 does not start in a locale that the system does not have.
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

// Everything the child needs, prepared before the fork: after it, only async-signal-safe calls are
// allowed.
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
    // Any answer will do: if a password is set it is an error.
    (void)Connection::open(url, std::chrono::seconds(1), interrupt).call({"PING"});
    return true;
  } catch (const Error& error) {
    if (error.failure() == Failure::kUnreachable || error.failure() == Failure::kTimeout)
      return false;
    throw;
  }
}

// Whether the process has ended; if so, reaps it and sets `pid` to -1.
bool has_ended(pid_t& pid) {
  const auto reaped = ::waitpid(pid, nullptr, WNOHANG);
  // The kernel reaps it if this process was started with SIGCHLD ignored.
  if (reaped != pid && !(reaped < 0 && errno == ECHILD)) return false;
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
  // Kill the whole process group: the script debugger makes the server fork.
  ::kill(-pid_, SIGKILL);
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

}  // namespace rlctl::redis
