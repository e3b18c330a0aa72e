#include "support/scripted_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <system_error>

namespace support {

using rlctl::FileDescriptor;
using namespace rlctl::redis;

std::string Peer::read_until(std::string_view end) {
  std::string all;
  for (std::string piece; !all.ends_with(end) && !(piece = read_some()).empty();) all += piece;
  return all;
}

std::string Peer::read_some() {
  std::array<char, 16384> piece;
  const auto count = ::recv(socket_, piece.data(), piece.size(), 0);
  return {piece.data(), count < 0 ? 0 : static_cast<std::size_t>(count)};
}

std::size_t Peer::read_to_end() {
  std::size_t total = 0;
  for (std::string piece; !(piece = read_some()).empty();) total += piece.size();
  return total;
}

bool Peer::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

FileDescriptor listen_at(Url& url, int backlog) {
  const auto check = [](int result) {
    if (result < 0) throw std::system_error(errno, std::generic_category(), "listen_at");
  };
  const bool local = url.scheme == Scheme::kUnix;
  FileDescriptor socket(::socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (local) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    url.path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    check(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
  } else {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(::bind(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)));
    socklen_t size = sizeof(address);
    check(::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size));
    url.port = ntohs(address.sin_port);
  }
  check(::listen(socket.get(), backlog));
  return socket;
}

ScriptedServer::ScriptedServer(Talk talk, Scheme scheme) : talk_(std::move(talk)) {
  url_.scheme = scheme;
  if (scheme == Scheme::kUnix) url_.path = folder_.path() / "s";
  listener_ = listen_at(url_);
  acceptor_ = std::thread([this] { accept_clients(); });
}

ScriptedServer::~ScriptedServer() {
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  for (const auto& client : clients_) ::shutdown(client.get(), SHUT_RDWR);
  for (auto& talk : talks_) talk.join();
}

int ScriptedServer::clients() {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(clients_.size());
}

// A client's socket stays open until the end, so that its number is not given to another one.
void ScriptedServer::accept_clients() {
  for (;;) {
    FileDescriptor client(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    const std::lock_guard lock(mutex_);
    const int socket = clients_.emplace_back(std::move(client)).get();
    talks_.emplace_back([this, socket] {
      Peer peer(socket);
      talk_(peer);
      ::shutdown(socket, SHUT_RDWR);
    });
  }
}

}  // namespace support
