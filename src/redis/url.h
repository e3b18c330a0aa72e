#pragma once

#include <string>
#include <string_view>

namespace rlctl::redis {

enum class Scheme {
  kTcp,       ///< redis://[[user]:password@]host[:port][/db]
  kTls,       ///< rediss://...
  kUnix,      ///< unix://[[user]:password@]/path[?db=N]
  kSentinel,  ///< redis+sentinel://...
  kCluster,   ///< redis+cluster://...
  kPrivate,   ///< private: a private server, see private_server.h
};

/// A server's address and the user to log in as. Percent-escapes in user, password and path are
/// decoded.
struct Url {
  Scheme scheme = Scheme::kTcp;
  std::string host = "127.0.0.1";
  int port = 6379;
  std::string path = {};  ///< the unix socket
  std::string user = {};  ///< empty: the default user
  std::string password = {};
  int database = 0;

  bool operator==(const Url&) const = default;
};

/// Throws Error(kUsage) that names the offending part, never the password.
[[nodiscard]] Url parse_url(std::string_view text);

/// The URL for a message or a log, without the password.
[[nodiscard]] std::string display(const Url& url);

}  // namespace rlctl::redis
