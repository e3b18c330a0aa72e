#include "redis/server.h"

#include "base/address.h"
#include "base/distribution.h"
#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "base/time.h"
#include "base/worker.h"
#include "redis/error.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace rlctl::redis {

namespace {

/// Redis' successors, which report a redis_version too.
constexpr std::array<std::string_view, 2> kSuccessors{"valkey", "redict"};

std::optional<ServerVersion> parse_hello(ReplyView reply) {
  ServerVersion version{.family = lower_case(hello_field(reply, "server")),
                        .number = std::string(hello_field(reply, "version"))};
  if (version.family.empty() || version.number.empty()) return std::nullopt;
  return version;
}

}  // namespace

std::string_view info_field(std::string_view info, std::string_view name) {
  while (!info.empty()) {
    const auto line = take_until(info, "\r\n");
    if (line.size() > name.size() && line.starts_with(name) && line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
  }
  return {};
}

int ServerVersion::major_number() const noexcept {
  int value = -1;
  std::from_chars(number.data(), number.data() + number.size(), value);
  return value;
}

std::string display(const ServerVersion& version) {
  auto name = version.family;
  if (!name.empty() && name[0] >= 'a' && name[0] <= 'z') {
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
  }
  return name + ' ' + version.number;
}

std::optional<ServerVersion> parse_info(std::string_view info) {
  for (const auto family : kSuccessors) {
    const auto number = info_field(info, fmt::format("{}_version", family));
    if (!number.empty()) {
      return ServerVersion{.family = std::string(family), .number = std::string(number)};
    }
  }
  const auto number = info_field(info, "redis_version");
  if (number.empty()) return std::nullopt;
  return ServerVersion{.family = "redis", .number = std::string(number)};
}

std::optional<ServerVersion> version_of(Connection& connection) {
  const auto info = connection.call({"INFO", "server"});
  throw_failure_of(info);
  if (!info.is_error()) return parse_info(info.text());
  const auto error = to_error(info);
  if (error.code() == "NOAUTH" || error.failure() == Failure::kNotNow) throw Error(error);
  const auto hello = connection.call({"HELLO", "2"});
  throw_failure_of(hello);
  return hello.is_error() ? std::nullopt : parse_hello(hello);
}

namespace {

/// The master in the replies to ROLE ("slave", host, port, ...) or INFO replication, whichever the
/// user may send.
std::optional<Url> master_in(ReplyView role, ReplyView info) {
  Url url;
  std::int64_t port = url.port;
  if (role.size() >= 3 && role[0].text() == "slave") {
    url.host = role[1].text();
    port = role[2].integer();
  } else {
    url.host = info_field(info.text(), "master_host");
    port = to_number<std::int64_t>(info_field(info.text(), "master_port")).value_or(port);
  }
  if (url.host.empty() || !is_port(port)) return std::nullopt;
  if (may_be_metadata_service(url.host)) return std::nullopt;
  url.port = static_cast<int>(port);
  return url;
}

}  // namespace

const std::optional<Url>& find_master(const Endpoint& server) {
  constexpr std::chrono::microseconds kAtMost = std::chrono::seconds(1);
  if (server.master) return *server.master;
  server.master.emplace();
  try {
    auto connection =
        Connection::open(server.url, std::min(server.timeout, kAtMost), server.interrupt);
    connection.append({"ROLE"});
    connection.append({"INFO", "replication"});
    const auto role = connection.read();
    const auto info = connection.read();
    server.master = master_in(role, info);
    if (*server.master) (*server.master)->tls = server.url.tls;
  } catch (const Error&) {
    // The caller only gets a less helpful message.
  } catch (const Interrupted&) {
    // The caller reports what it knows.
  }
  return *server.master;
}

namespace {

/// No server was up for longer; so that no reply overflows a time.
constexpr std::int64_t kMaxSeconds = 1'000'000'000;

/// Whether a reply to ROLE ("slave", host, port, state, ...) is that of a replica without a link.
bool has_no_link(ReplyView role) {
  return role.size() >= 4 && role[0].text() == "slave" && role[3].text() != "connected";
}

/// The number after `name` in "calls=4,usec=31,..."; 0 if there is none.
std::int64_t number_after(std::string_view name, std::string_view line) {
  const auto at = line.find(name);
  if (at == line.npos) return 0;
  line.remove_prefix(at + name.size());
  std::int64_t number = 0;
  std::from_chars(line.data(), line.data() + line.size(), number);
  return number;
}

}  // namespace

std::optional<std::string> why_out_of_date(Connection& connection) {
  const auto role = connection.call({"ROLE"});
  const bool is_refused = role.is_error() && to_error(role).failure() == Failure::kRefused;
  if (!has_no_link(role) && !is_refused) return std::nullopt;
  const auto reply = connection.call({"INFO", "replication"});
  const auto info = reply.is_error() ? std::string_view() : reply.text();
  if (is_refused && info_field(info, "master_link_status") != "down") return std::nullopt;
  const auto since = to_number<std::int64_t>(info_field(info, "master_link_down_since_seconds"));
  if (since == -1) return "this replica has not received its master's data yet";
  const auto when =
      since ? " for " + format_duration(std::chrono::seconds{std::min(*since, kMaxSeconds)}) : "";
  return "this replica has had no link to its master" + when + ", and may be out of date";
}

std::chrono::microseconds server_time(ReplyView reply, std::size_t at) {
  constexpr std::int64_t kMax = 1'000'000'000'000;
  const auto part = [&](std::size_t i) {
    const auto number = i < reply.size() ? to_number<std::int64_t>(reply[i].text()) : std::nullopt;
    if (!number || *number < 0 || *number > kMax) {
      throw error_about(reply, {Failure::kProtocol, "the reply to TIME is not a time"});
    }
    return *number;
  };
  return std::chrono::seconds{part(at)} + std::chrono::microseconds{part(at + 1)};
}

std::optional<CallCounts> read_call_counts(Connection& connection) {
  constexpr std::string_view kStart = "cmdstat_";
  constexpr std::array<std::string_view, 2> kCommand{"INFO", "commandstats"};
  CallCounts counts;
  for (const auto& server : connection.servers()) {
    connection.append_to(server, kCommand);
    const auto reply = connection.read();
    throw_failure_of(reply);
    if (reply.type() != ReplyType::kString) return std::nullopt;
    auto text = reply.text();
    while (!text.empty()) {
      // cmdstat_time:calls=12,usec=34,...
      const auto line = take_until(text, "\n");
      const auto colon = line.find(':');
      if (!line.starts_with(kStart) || colon == line.npos) continue;
      counts[std::string(line.substr(kStart.size(), colon - kStart.size()))] +=
          number_after("calls=", line);
    }
  }
  return counts;
}

std::int64_t calls_of_scripts(const CallCounts& counts) {
  std::int64_t sum = 0;
  for (const auto command : {"eval", "eval_ro", "evalsha", "evalsha_ro", "fcall", "fcall_ro"}) {
    const auto found = counts.find(command);
    if (found != counts.end()) sum += found->second;
  }
  return sum;
}

namespace fs = std::filesystem;

namespace {

constexpr std::array<std::string_view, 5> kServerNames{
    "redis-server", "valkey-server", "redis-check-rdb", "valkey-check-rdb", "redict-server"};

/// The first program of this name in PATH.
std::optional<std::string> find_in_path(std::string_view name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto folder = take_until(rest, ":");
    // An empty entry means the current folder, which must not provide a server.
    if (folder.empty()) continue;
    auto candidate = fmt::format("{}/{}", folder, name);
    std::error_code failed;
    if (::access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate, failed)) {
      return candidate;
    }
  }
  return std::nullopt;
}

std::optional<std::string> find_server_binary() {
  const char* chosen = std::getenv("RLCTL_REDIS_SERVER");
  if (chosen != nullptr && *chosen != '\0') {
    const bool is_path = std::string_view(chosen).find('/') != std::string_view::npos;
    const auto found = is_path ? std::string(chosen) : find_in_path(chosen);
    if (found && ::access(found->c_str(), X_OK) == 0) return *found;
    throw Error(Failure::kUnreachable,
                fmt::format("cannot start the server that RLCTL_REDIS_SERVER names: '{}': {}",
                            escape(chosen, 200), found ? errno_text(errno) : "not found in PATH"));
  }
  for (const auto name : kServerNames) {
    if (const auto found = find_in_path(name)) return *found;
  }
  return std::nullopt;
}

std::string require_server_binary() {
  if (auto found = find_server_binary()) return *std::move(found);
  throw Error(Failure::kUnreachable, "no redis-server in PATH to start a private one", {},
              how_to_install(SystemPart::kRedisServer) +
                  "; RLCTL_REDIS_SERVER names one that is not in PATH");
}

constexpr const char* kLogName = "server.log";
constexpr const char* kSocketName = "redis.sock";
constexpr std::chrono::seconds kStartTakesAtMost{10};

/// The path of a folder under $TMPDIR must leave room for the socket.
void make_folder(std::optional<TemporaryFolder>& folder) {
  try {
    folder.emplace();
  } catch (const OutputError& error) {
    throw Error(Failure::kUnreachable, error.what(), {},
                "private servers keep their folders in TMPDIR");
  }
  const auto socket_size = (folder->path() / kSocketName).native().size();
  constexpr auto kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (socket_size <= kLongest) return;
  throw Error(Failure::kUsage,
              fmt::format("{} is too long for a unix socket in it: {} bytes, {} at most",
                          folder->path().parent_path().string(), socket_size, kLongest),
              {}, "set TMPDIR to a folder with a shorter name");
}

// ---- A port ----

/// A port of 127.0.0.1 that is free now; another process may take it before a server does.
int free_port() {
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* any = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (!socket || ::bind(socket.get(), any, size) < 0 ||
      ::getsockname(socket.get(), any, &size) < 0) {
    throw Error(Failure::kUnreachable,
                fmt::format("no free port on 127.0.0.1: {}", errno_text(errno)));
  }
  return ntohs(address.sin_port);
}

std::string random_password() {
  std::array<unsigned char, 16> bytes;
  if (::getentropy(bytes.data(), bytes.size()) != 0) {
    throw Error(Failure::kUnreachable, fmt::format("no random password: {}", errno_text(errno)));
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

// ---- The process ----

constexpr const char* kConfigurationName = "redis.conf";

/// The server's configuration is on the command line, except for the password, since any user may
/// see command lines.
std::vector<std::string> command_line(const fs::path& folder, const Url& unix_url,
                                      const Url* tcp_url, const std::vector<std::string>& more) {
  // The name matters: under their own names the check programs do not act as servers.
  std::vector<std::string> line{"redis-server"};
  const auto add = [&](const auto&... words) { (line.emplace_back(words), ...); };
  if (tcp_url != nullptr) {
    const auto path = folder / kConfigurationName;
    std::ofstream file(path);
    if (!(file << "requirepass " << tcp_url->password << '\n').flush()) {
      throw Error(Failure::kUnreachable,
                  fmt::format("cannot write '{}': {}", path.string(), errno_text(errno)));
    }
    add(path.string(), "--bind", "127.0.0.1");
  }
  add("--port", std::to_string(tcp_url == nullptr ? 0 : tcp_url->port));
  add("--unixsocket", unix_url.path, "--unixsocketperm", "700", "--save", "", "--appendonly", "no");
  add("--daemonize", "no", "--dir", folder.string(), "--databases", "16", "--loglevel", "notice");
  line.insert(line.end(), more.begin(), more.end());
  return line;
}

// Redis 7 does not start in a locale that the system does not have.
std::vector<std::string> server_environment(std::vector<std::string> own) {
  own.emplace_back("LC_ALL=C");
  return environment_with(std::move(own));
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
  worker::unlimit_memory();
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
                    std::vector<std::string> variables, const fs::path& folder) {
  const auto arguments = pointers_to(line);
  const auto environment = pointers_to(variables);
  const FileDescriptor input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const FileDescriptor log(::open((folder / kLogName).c_str(),
                                  O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600));
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

/// The end of what the server said, for a message.
std::string end_of_log(const fs::path& folder) {
  constexpr std::size_t kLines = 4;
  std::ifstream file(folder / kLogName);
  const std::string log(std::istreambuf_iterator<char>(file), {});
  return last_lines(log, kLines);
}

[[noreturn]] void throw_did(std::string_view what, const std::string& program,
                            const fs::path& folder) {
  const auto log = end_of_log(folder);
  throw Error(Failure::kUnreachable,
              fmt::format("{} {}: {}", program, what, log.empty() ? "it said nothing" : log));
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

/// Returns whether it does; false if the process has ended, and sets `pid` to -1.
bool wait_until_it_answers(const Url& url, const fs::path& folder, const std::string& program,
                           const Interrupt* interrupt, pid_t& pid) {
  using std::chrono::milliseconds;
  const auto started = Clock::now();
  while (!answers(url, interrupt)) {
    if (has_ended(pid)) return false;
    const auto waited = Clock::now() - started;
    if (waited > kStartTakesAtMost) {
      throw_did(fmt::format("did not answer within {}", format_duration(kStartTakesAtMost)),
                program, folder);
    }
    const milliseconds pause(waited < milliseconds(100) ? 1 : 20);
    wait_for(-1, 0, interrupt, Clock::now() + pause);
  }
  return true;
}

/// Whether a server that ended said so (in the locale C) because another process has its port.
bool lost_its_port(const fs::path& folder) {
  return end_of_log(folder).find("ddress already in use") != std::string::npos;
}

}  // namespace

PrivateServer::PrivateServer(const Options& options) : process_(std::make_unique<Process>()) {
  constexpr int kMostPorts = 5;
  auto& [temporary, url, tcp_url, pid, connection] = *process_;
  const auto program = require_server_binary();
  make_folder(temporary);
  const auto& folder = temporary->path();
  url.scheme = Scheme::kUnix;
  url.path = folder / kSocketName;
  if (options.listens_on_tcp) url.password = tcp_url.password = random_password();
  auto more = options.arguments;
  more.insert(more.end(), options.optional_arguments.begin(), options.optional_arguments.end());
  for (int ports = 1;;) {
    if (options.listens_on_tcp) tcp_url.port = free_port();
    const auto* tcp = options.listens_on_tcp ? &tcp_url : nullptr;
    pid = start_process(program, command_line(folder, url, tcp, more),
                        server_environment(options.environment), folder);
    if (wait_until_it_answers(url, folder, program, options.interrupt, pid)) return;
    if (options.listens_on_tcp && lost_its_port(folder) && ports < kMostPorts) {
      ++ports;
    } else if (more.size() > options.arguments.size()) {
      more = options.arguments;
    } else {
      throw_did("did not start", program, folder);
    }
  }
}

bool PrivateServer::is_installed() {
  return find_server_binary().has_value();
}

void PrivateServer::remove_keys() {
  auto& connection = process_->connection;
  constexpr std::chrono::seconds kTimeout{30};
  if (!connection) connection = Connection::open(url(), kTimeout);
  const auto reply = connection->call({"FLUSHALL"});
  if (reply.is_error()) throw to_error(reply);
}

PrivateServer::Process::~Process() {
  if (pid > 0) {
    // Kill the whole process group: the script debugger makes the server fork.
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
}

}  // namespace rlctl::redis
