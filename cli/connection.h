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

/// The connection options as given on the command line.
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

/// What the options, the environment and the configuration file say together, and which of them
/// decided.
struct ConnectionSettings {
  redis::Url url;
  Origin url_from = Origin::kDefault;  ///< kOption if an option changed any part of it
  std::chrono::microseconds timeout{};
  Origin timeout_from = Origin::kDefault;
};

/// Flag before environment (RLCTL_URL, REDISCLI_AUTH) before file before default; the file is read
/// only if it decides. The URL comes first and the other options change it part by part; a password
/// in a URL is used before REDISCLI_AUTH, unless it is the file's. Does no other I/O. Throws
/// UsageError, redis::Error(kUsage, kUnsupported) and what the file throws.
[[nodiscard]] ConnectionSettings resolve_connection(const ConnectionOptions& options,
                                                    ConfigurationSource& configuration);

/// Opens connections to the server of this run.
class Connector {
 public:
  /// Checks the options and, with --askpass, asks for the password. Does not connect.
  Connector(const ConnectionOptions& options, ConfigurationSource& configuration,
            const Interrupt& interrupt);

  /// A `private:` server is started by the first call and lives as long as this.
  [[nodiscard]] redis::Connection open() { return open(&interrupt_); }
  /// The same, but only the time-out ends its waits, not Ctrl-C: for work that must be finished.
  [[nodiscard]] redis::Connection open_uninterrupted() { return open(nullptr); }
  [[nodiscard]] std::chrono::microseconds timeout() const noexcept { return settings_.timeout; }
  /// For messages; holds no password.
  [[nodiscard]] std::string name() const { return redis::display(settings_.url); }
  /// With its password.
  [[nodiscard]] const redis::Url& url() const noexcept { return settings_.url; }
  /// See ConnectionSettings.
  [[nodiscard]] Origin url_from() const noexcept { return settings_.url_from; }
  /// The server is this process's own.
  [[nodiscard]] bool is_private() const noexcept {
    return settings_.url.scheme == redis::Scheme::kPrivate;
  }

 private:
  [[nodiscard]] redis::Connection open(const Interrupt* interrupt);

  ConnectionSettings settings_;
  const Interrupt& interrupt_;
  std::unique_ptr<redis::PrivateServer> private_server_;
};

}  // namespace rlctl::cli
