#include "cli/commands/debug/dap/socket.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli::debug::dap {
namespace {

OutputError socket_error(const std::string& path, const std::string& what) {
  return OutputError(fmt::format("--dap: {} {}", quoted_and_masked(path), what));
}

/// Whether a client sends something; one that only looks whether somebody listens does not.
bool sends(const FileDescriptor& client, const Interrupt& interrupt) {
  wait_for(client.get(), POLLIN, &interrupt, kNoDeadline);
  char first = 0;
  return ::recv(client.get(), &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1;
}

FileDescriptor unix_socket() {
  return FileDescriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
}

/// Removes a socket whose listener has ended without doing so.
void remove_stale(const std::string& path, const sockaddr* address, socklen_t size) {
  struct stat there {};
  if (::lstat(path.c_str(), &there) != 0) return;
  if (!S_ISSOCK(there.st_mode)) throw socket_error(path, "exists, and is not a socket");
  const auto other = unix_socket();
  if (::connect(other.get(), address, size) == 0 || errno != ECONNREFUSED) {
    throw socket_error(path, "is in use");
  }
  static_cast<void>(::unlink(path.c_str()));
}

/// Removes a socket's name at the end, unless another file has that name by then.
class SocketName {
 public:
  explicit SocketName(const std::string& path) : path_(path) {
    exists_ = ::lstat(path.c_str(), &socket_) == 0;
  }
  ~SocketName() {
    struct stat there {};
    if (!exists_ || ::lstat(path_.c_str(), &there) != 0) return;
    if (there.st_dev == socket_.st_dev && there.st_ino == socket_.st_ino) ::unlink(path_.c_str());
  }
  SocketName(const SocketName&) = delete;
  SocketName& operator=(const SocketName&) = delete;

 private:
  const std::string& path_;
  struct stat socket_ {};
  bool exists_ = false;
};

}  // namespace

FileDescriptor accept_client(const std::string& path, const Interrupt& interrupt,
                             const std::function<void()>& on_listening) {
  sockaddr_un named{};
  named.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(named.sun_path)) {
    throw socket_error(path,
                       fmt::format("is not a path of 1 to {} bytes", sizeof(named.sun_path) - 1));
  }
  path.copy(named.sun_path, path.size());
  const auto* address = reinterpret_cast<const sockaddr*>(&named);
  remove_stale(path, address, sizeof(named));
  const auto listener = unix_socket();
  const auto mask = ::umask(0177);
  const int failed = ::bind(listener.get(), address, sizeof(named)) == 0 ? 0 : errno;
  ::umask(mask);
  if (failed != 0) throw socket_error(path, "cannot be created: " + errno_text(failed));
  const SocketName name(path);
  if (::listen(listener.get(), 1) != 0) {
    throw socket_error(path, "cannot be listened to: " + errno_text(errno));
  }
  on_listening();
  for (;;) {
    wait_for(listener.get(), POLLIN, &interrupt, kNoDeadline);
    FileDescriptor client(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (client && sends(client, interrupt)) return client;
    if (!client && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) {
      throw socket_error(path, "cannot accept a client: " + errno_text(errno));
    }
  }
}

}  // namespace rlctl::cli::debug::dap
