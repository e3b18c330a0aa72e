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
  std::array<char, 4096> piece;
  while (!all.ends_with(end)) {
    const auto count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) break;
    all.append(piece.data(), static_cast<std::size_t>(count));
  }
  return all;
}

std::string Peer::read_some() {
  std::array<char, 16384> piece;
  const auto count = ::recv(socket_, piece.data(), piece.size(), 0);
  return {piece.data(), count < 0 ? 0 : static_cast<std::size_t>(count)};
}

std::size_t Peer::read_to_end() {
  std::size_t total = 0;
  std::array<char, 4096> piece;
  for (;;) {
    const auto count = ::recv(socket_, piece.data(), piece.size(), 0);
    if (count <= 0) return total;
    total += static_cast<std::size_t>(count);
  }
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

ScriptedServer::ScriptedServer(Talk talk, Scheme scheme) {
  url_.scheme = scheme;
  if (scheme == Scheme::kUnix) url_.path = folder_.path() / "s";
  listener_ = listen_at(url_);
  thread_ = std::thread([listener = listener_.get(), talk = std::move(talk)] {
    const FileDescriptor client(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!client) return;
    Peer peer(client.get());
    talk(peer);
  });
}

ScriptedServer::~ScriptedServer() {
  // If the client never came, accept() returns.
  ::shutdown(listener_.get(), SHUT_RDWR);
  thread_.join();
}

}  // namespace support
