#include "redis/transport.h"

#include "base/address.h"
#include "base/file.h"
#include "base/text.h"
#include "redis/tls.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

namespace rlctl::redis {

namespace {

Resolved failed(std::string why) {
  return {.addresses = nullptr, .why = std::move(why)};
}

Resolved look_up(Lookup lookup, const std::string& host, const std::string& service, int flags) {
  addrinfo wanted{};
  wanted.ai_family = AF_UNSPEC;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = lookup(host.c_str(), service.c_str(), &wanted, &list);
  if (error == 0) return {.addresses = Addresses(list), .why = {}};
  if (error == EAI_SYSTEM) return failed(errno_text(errno));
  return failed(without_initial_capital(::gai_strerror(error)));
}

// Blocks signals for a new thread, which inherits the mask, so that other threads get them.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

// Runs `task` in a separate thread, which closes `done` once the result is ready. The thread owns
// everything it uses, so no caller has to wait for it.
void start(std::packaged_task<Resolved()> task, FileDescriptor done) {
  const BlockedSignals blocked;
  std::thread([task = std::move(task), done = std::move(done)]() mutable {
    task();
    done.reset();
  }).detach();
}

}  // namespace

std::optional<Resolved> resolve(const std::string& host, int port, Deadline deadline,
                                const Interrupt* interrupt, Lookup lookup) {
  const auto service = std::to_string(port);
  auto numeric = look_up(::getaddrinfo, host, service, AI_NUMERICHOST);
  if (numeric.addresses) return numeric;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(errno_text(errno));
  const FileDescriptor ready(ends[0]);
  FileDescriptor done(ends[1]);
  std::packaged_task<Resolved()> task([=] { return look_up(lookup, host, service, 0); });
  auto resolved = task.get_future();
  try {
    start(std::move(task), std::move(done));
  } catch (const std::system_error& error) {
    return failed("cannot start a thread: " + errno_text(error.code().value()));
  }
  if (wait_for(ready.get(), POLLIN, interrupt, deadline) == Wake::kDeadline) return std::nullopt;
  return resolved.get();
}

Error connection_broke(const std::string& server, std::string_view why) {
  return {Failure::kUnreachable, fmt::format("the connection to {} broke: {}", server, why)};
}

Error no_answer(const std::string& server) {
  return {Failure::kTimeout, fmt::format("no answer from {} in time", server)};
}

namespace {

using std::chrono::milliseconds;

class SocketTransport final : public Transport {
 public:
  SocketTransport(FileDescriptor socket, Scheme scheme, std::string name,
                  const Interrupt* interrupt)
      : socket_(std::move(socket)),
        scheme_(scheme),
        name_(std::move(name)),
        interrupt_(interrupt) {}

  std::size_t read(char* buffer, std::size_t size, Deadline deadline) override {
    for (;;) {
      if (interrupt_ != nullptr) interrupt_->check();
      if (const auto count = read_available(buffer, size); count > 0) return count;
      wait_until(POLLIN, deadline);
    }
  }

  // Not interrupted, since it does not wait: what has arrived is taken at the end, too.
  std::size_t read_available(char* buffer, std::size_t size) override {
    const auto count = retry([&] { return ::recv(fd(), buffer, size, MSG_DONTWAIT); });
    if (count == 0) closed();
    has_received_ |= count > 0;
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  std::size_t write_some(std::string_view bytes) override {
    if (interrupt_ != nullptr) interrupt_->check();
    const auto count = retry(
        [&] { return ::send(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL); });
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  void wait(Deadline deadline) override { wait_until(POLLIN | POLLOUT, deadline); }
  const std::string& name() const noexcept override { return name_; }
  int fd() const noexcept override { return socket_.get(); }

 private:
  void wait_until(short events, Deadline deadline) const {
    if (wait_for(fd(), events, interrupt_, deadline) == Wake::kDeadline) {
      throw no_answer(name_);
    }
  }

  // The call's result; -1 only if it would have to wait.
  template <typename Call>
  ssize_t retry(Call call) const {
    for (;;) {
      const ssize_t result = call();
      if (result >= 0 || errno == EAGAIN || errno == EWOULDBLOCK) return result;
      if (errno == ECONNRESET || errno == EPIPE) closed();
      if (errno != EINTR) {
        throw connection_broke(name_, errno_text(errno));
      }
    }
  }

  [[noreturn]] void closed() const {
    const bool may_expect_tls = scheme_ == Scheme::kTcp && !has_received_;
    throw Error(Failure::kUnreachable, fmt::format("{} closed the connection", name_), {},
                may_expect_tls ? kUseTls : "");
  }

  FileDescriptor socket_;
  Scheme scheme_;
  std::string name_;
  const Interrupt* interrupt_;
  bool has_received_ = false;
};

// What all attempts to connect to one server share, such as those to each address of its name.
struct Attempt {
  Scheme scheme;
  std::string name;
  Deadline deadline;
  const Interrupt* interrupt;

  Error failed(const std::string& why) const {
    return {Failure::kUnreachable, fmt::format("cannot connect to {}: {}", name, why)};
  }

  Error timed_out() const {
    return {Failure::kTimeout, fmt::format("cannot connect to {}: no answer in time", name)};
  }

  std::unique_ptr<Transport> done(FileDescriptor socket) const {
    return std::make_unique<SocketTransport>(std::move(socket), scheme, name, interrupt);
  }
};

FileDescriptor open_socket(int family) {
  return FileDescriptor(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// The errno with which connecting failed, 0 if it did not. ETIMEDOUT past `deadline`.
int connect_socket(int socket, const sockaddr* address, socklen_t length,
                   const Interrupt* interrupt, Deadline deadline) {
  if (::connect(socket, address, length) == 0) return 0;
  // EINTR does not abort the connection attempt, which continues as with EINPROGRESS.
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  if (wait_for(socket, POLLOUT, interrupt, deadline) == Wake::kDeadline) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof(error);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

std::unique_ptr<Transport> connect_unix(const Url& url, const Attempt& attempt) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (url.path.size() >= sizeof(address.sun_path)) {
    throw Error(Failure::kUsage,
                fmt::format("the path of a unix socket has at most {} bytes, not {}: {}",
                            sizeof(address.sun_path) - 1, url.path.size(), attempt.name));
  }
  url.path.copy(address.sun_path, url.path.size());
  FileDescriptor socket = open_socket(AF_UNIX);
  if (!socket) throw attempt.failed(errno_text(errno));
  for (;;) {
    const int error = connect_socket(socket.get(), reinterpret_cast<const sockaddr*>(&address),
                                     sizeof(address), attempt.interrupt, attempt.deadline);
    if (error == 0) return attempt.done(std::move(socket));
    // EAGAIN: the server's backlog is full, and poll() cannot report when there is room again.
    if (error != EAGAIN) throw attempt.failed(errno_text(error));
    if (Clock::now() >= attempt.deadline) throw attempt.timed_out();
    wait_for(-1, 0, attempt.interrupt, std::min(attempt.deadline, Clock::now() + milliseconds(5)));
  }
}

Addresses addresses_of(const Url& url, const Attempt& attempt) {
  // Only a server's referral can have one. The resolver would look up what is before it.
  if (url.host.find('\0') != url.host.npos) {
    throw Error(Failure::kProtocol,
                fmt::format("a server refers to {}, whose name has a NUL", attempt.name));
  }
  auto resolved = resolve(url.host, url.port, attempt.deadline, attempt.interrupt);
  if (!resolved) throw attempt.timed_out();
  if (!resolved->addresses) throw attempt.failed(resolved->why);
  return std::move(resolved->addresses);
}

std::string numeric_address(const addrinfo& address) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(address.ai_addr, address.ai_addrlen, text.data(), text.size(),
                                   nullptr, 0, NI_NUMERICHOST);
  return failed == 0 ? text.data() : "";
}

void require_allowed(const addrinfo& address, const Attempt& attempt) {
  const auto numeric = numeric_address(address);
  if (!may_be_metadata_service(numeric)) return;
  throw Error(Failure::kProtocol,
              fmt::format("a server refers to {}, but at {} a cloud may offer the credentials of "
                          "this machine",
                          attempt.name, numeric),
              {}, "a URL that names such an address allows this");
}

std::unique_ptr<Transport> connect_tcp(const Url& url, const Attempt& attempt) {
  const Addresses list = addresses_of(url, attempt);
  std::ptrdiff_t left = 0;
  for (const addrinfo* it = list.get(); it != nullptr; it = it->ai_next) {
    if (url.is_referred) require_allowed(*it, attempt);
    ++left;
  }
  int error = ETIMEDOUT;
  for (const addrinfo* it = list.get(); it != nullptr; it = it->ai_next, --left) {
    // An address that drops packets must leave time for those after it.
    const auto now = Clock::now();
    const Deadline deadline =
        attempt.deadline == kNoDeadline ? kNoDeadline : now + (attempt.deadline - now) / left;
    FileDescriptor socket = open_socket(it->ai_family);
    error = socket ? connect_socket(socket.get(), it->ai_addr, it->ai_addrlen, attempt.interrupt,
                                    deadline)
                   : errno;
    if (error != 0) continue;
    const int on = 1;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    return attempt.done(std::move(socket));
  }
  if (error == ETIMEDOUT && Clock::now() >= attempt.deadline) throw attempt.timed_out();
  throw attempt.failed(errno_text(error));
}

}  // namespace

std::unique_ptr<Transport> connect(const Url& url, Deadline deadline, const Interrupt* interrupt) {
  if (interrupt != nullptr) interrupt->check();
  const Attempt attempt{
      .scheme = url.scheme, .name = display(url), .deadline = deadline, .interrupt = interrupt};
  if (url.scheme == Scheme::kTcp && url.tls) {
    const auto context = make_tls_context(url);  // a file that cannot be used is reported first
    return start_tls(url, context, connect_tcp(url, attempt), deadline);
  }
  if (url.scheme == Scheme::kTcp) return connect_tcp(url, attempt);
  if (url.scheme == Scheme::kUnix) return connect_unix(url, attempt);
  throw Error(Failure::kUsage, "private: names no server to connect to; one must be started first");
}

}  // namespace rlctl::redis
