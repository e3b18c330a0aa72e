#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"

// How a user names a server: the URL of --url, of the environment or of a configuration.
// cli/server/connection.cc parses it and passes it to Connection::open(); messages show it with
// display(), without its password.

namespace rlctl::redis {

enum class Scheme {
  kTcp,       ///< redis://[[user]:password@]host[:port][/db]
  kUnix,      ///< unix://[[user]:password@]/path[?db=N]
  kSentinel,  ///< redis+sentinel://[[user]:password@]host[:port],.../master[/db]
  kCluster,   ///< redis+cluster://[[user]:password@]host[:port],...[/db]
  kPrivate,   ///< private: a private server, see PrivateServer
};

struct HostPort {
  std::string host = "127.0.0.1";
  int port = 6379;
  bool operator==(const HostPort&) const = default;
};

inline constexpr std::int64_t kLargestPort = 65535;  ///< ports are 1 to this
constexpr bool is_port(std::int64_t number) noexcept {
  return number >= 1 && number <= kLargestPort;
}

/// How to use TLS.
struct Tls {
  std::string cacert = {};  ///< file of the authorities to trust; empty: the system's
  std::string cert = {};    ///< file of the client's certificate; may be empty
  std::string key = {};     ///< file of its private key
  std::string sni = {};     ///< the name that the server must prove; empty: the host
  bool insecure = false;    ///< do not verify the server
  bool operator==(const Tls&) const = default;
};

/// A server's address and the user to log in as. Percent-escapes in user, password, host, path and
/// master are decoded.
struct Url {
  Scheme scheme = Scheme::kTcp;
  std::string host = HostPort{}.host;
  int port = HostPort{}.port;
  std::string path = {};  ///< the unix socket
  std::string user = {};  ///< empty: the default user
  std::string password = {};
  int database = 0;
  std::vector<HostPort> more_hosts = {};  ///< kSentinel, kCluster: those after the first
  std::string master = {};                ///< kSentinel: the name of the master
  std::optional<Tls> tls = {};            ///< std::nullopt: without TLS
  bool is_referred = false;               ///< a server named the host, not the user: see connect()

  bool operator==(const Url&) const = default;
};

/// Whether the server is reached by TCP, and so may use TLS.
constexpr bool has_tcp(const Url& url) noexcept {
  return url.scheme != Scheme::kUnix && url.scheme != Scheme::kPrivate;
}

/// Throws Error(kUsage) that names the offending part, never the password.
Url parse_url(std::string_view text);

/// The URL for a message or a log, without the password.
std::string display(const Url& url);
/// "host:port", "[::1]:port"
std::string display(const HostPort& address);

/// What a user must be allowed on a server, for the hint if the server refuses part of it.
struct Needs {
  std::string of;                          ///< whose needs they are: "inspect"
  std::vector<std::string> commands = {};  ///< "GET", "SCRIPT LOAD"
  std::string keys = "its keys";           ///< empty: none
};

/// A server that the user named, for the messages of its errors.
struct Endpoint {
  Url url = {};
  std::chrono::microseconds timeout{};
  const Interrupt* interrupt = nullptr;  ///< ends the search for the master; may be null
  bool sets_name = false;                ///< connections to it are named in CLIENT LIST
  std::function<Needs()> needs = {};     ///< called after a refusal; may be empty
  /// Where its master is, once find_master() has asked; std::nullopt within if that is not known.
  mutable std::optional<std::optional<Url>> master = {};
};

}  // namespace rlctl::redis
