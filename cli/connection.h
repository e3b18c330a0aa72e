#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/wait.h"
#include "cli/configuration.h"
#include "cli/options.h"
#include "redis/connection.h"
#include "redis/private_server.h"
#include "redis/url.h"

namespace rlctl::cli {

/// As on the command line: which server, and who asks.
struct ConnectionOptions {
  std::optional<std::string> url, host, port, socket, database, user, timeout;
  std::optional<std::string> password;  ///< -a: only refused, with advice
  bool askpass = false;
  bool tls = false, insecure = false;
  std::optional<std::string> cacert, cert, key, sni;
};

void add_connection_options(Options& options, ConnectionOptions& target);
/// Whether --url, --host, --port or --socket is given: on the command line, not elsewhere.
[[nodiscard]] bool names_server(const ConnectionOptions& options);

/// What they say together with the environment and the configuration file, and where that was
/// found.
struct ConnectionSettings {
  redis::Url url;
  Origin url_from = Origin::kDefault;  ///< kOption where one changed any part of it
  std::chrono::microseconds timeout{};
  Origin timeout_from = Origin::kDefault;
};

/// Flag before environment (RLCTL_URL, REDISCLI_AUTH) before file before default; the file is read
/// only where it decides. The URL comes first and the other options change it part by part; a
/// password in a URL is used before REDISCLI_AUTH, unless it is the file's. Does no other I/O.
/// Throws UsageError, redis::Error(kUsage, kUnsupported) and what the file throws.
[[nodiscard]] ConnectionSettings resolve_connection(const ConnectionOptions& options,
                                                    ConfigurationSource& configuration);

/// Opens connections to the one server that this run is about.
class Connector {
 public:
  /// Checks the options and, with --askpass, asks for the password. Connects nowhere.
  Connector(const ConnectionOptions& options, ConfigurationSource& configuration,
            const Interrupt& interrupt);

  /// A `private:` server is started by the first call and lives as long as this.
  [[nodiscard]] redis::Connection open() { return open(&interrupt_); }
  /// The same, but Ctrl-C does not end its waits, only the time-out does: for what must end in
  /// order.
  [[nodiscard]] redis::Connection open_uninterrupted() { return open(nullptr); }
  [[nodiscard]] std::chrono::microseconds timeout() const noexcept { return timeout_; }
  /// For messages; holds no password.
  [[nodiscard]] std::string name() const { return redis::display(url_); }
  /// With its password.
  [[nodiscard]] const redis::Url& url() const noexcept { return url_; }
  /// Where that was found; kOption where one changed any part of it.
  [[nodiscard]] Origin url_from() const noexcept { return url_from_; }
  /// The server is this process's own.
  [[nodiscard]] bool is_private() const noexcept { return url_.scheme == redis::Scheme::kPrivate; }

 private:
  [[nodiscard]] redis::Connection open(const Interrupt* interrupt);

  redis::Url url_;
  Origin url_from_ = Origin::kDefault;
  std::chrono::microseconds timeout_;
  const Interrupt& interrupt_;
  std::unique_ptr<redis::PrivateServer> private_server_;
};

}  // namespace rlctl::cli
