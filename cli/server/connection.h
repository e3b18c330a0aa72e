#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/wait.h"
#include "cli/options/configuration.h"
#include "cli/options/options.h"
#include "redis/connection.h"
#include "redis/server.h"
#include "redis/url.h"

namespace rlctl::cli {

/// The connection options as given on the command line.
struct ConnectionOptions {
  std::optional<std::string> url, host, port, socket, database, user, timeout;
  std::optional<std::string> password;  ///< -a: always refused, with advice
  bool askpass = false;
  std::optional<std::string> password_file;
  bool tls = false, insecure = false;
  std::optional<std::string> cacert, cert, key, sni;
};

void add_connection_options(Options& options, ConnectionOptions& target);
/// "redis-cli" and the options by which it reaches the server; it takes the password from
/// REDISCLI_AUTH. The URL must be one that it can reach: not of Sentinels, nor private:.
std::vector<std::string> redis_cli_words(const redis::Url& url);
/// Appends a command for the server to redis_cli_words(). Its words may hold any bytes: for what no
/// argument can hold, or not every shell can write, redis-cli itself reads the words as quoted.
void append_redis_command(std::vector<std::string>& words, redis::Arguments command);
/// "rlctl" and the options by which it reaches the same server, without a password: those that are
/// given, and the URL or the configuration file that the environment names, since another shell may
/// not have them.
std::vector<std::string> rlctl_words(const Options& options, const ConnectionOptions& given,
                                     const ConfigurationSource& configuration);
/// Whether the command line gives --url, --host, --port or --socket.
bool names_server(const ConnectionOptions& options);
/// The hint for a command that uses no server that others use.
inline constexpr const char* kNameNoServer = "leave out --url, --host, --port and --socket";
/// The hint if only a server that outlives rlctl makes sense.
inline constexpr const char* kNamePersistentServer =
    "use --url or RLCTL_URL to name a persistent server";

/// A file whose first line is the password.
struct PasswordFile {
  std::string path;
  bool is_credential = false;  ///< rlctl.password in $CREDENTIALS_DIRECTORY, which systemd sets
};

/// The settings from the options, the environment and the configuration file, with their sources.
struct ConnectionSettings {
  redis::Url url;
  Origin url_from = Origin::kDefault;  ///< kOption if an option changed any part of it
  std::chrono::microseconds timeout{};
  Origin timeout_from = Origin::kDefault;
  /// Takes precedence over the URL's password.
  std::optional<PasswordFile> password_file = {};
};

/// An option takes precedence over the environment (RLCTL_URL, CREDENTIALS_DIRECTORY,
/// REDISCLI_AUTH), then the file, then the default; the file is read only if it is needed. The
/// other options change parts of the URL. A password in a URL takes precedence over those of the
/// environment, unless the URL is from the file. Reads no other file. Throws UsageError,
/// redis::Error(kUsage) and what the file throws.
ConnectionSettings resolve_connection(const ConnectionOptions& options,
                                      ConfigurationSource& configuration);

/// Opens connections to the server that the settings name.
class Connector {
 public:
  /// Checks the options, and asks for the password with --askpass or reads it from its file. Does
  /// not connect. `needs` is called for the hint if the server refuses something. Throws what
  /// resolve_connection() throws, InputError for that file, UsageError if nothing can be or was
  /// typed, and Interrupted.
  Connector(const ConnectionOptions& options, ConfigurationSource& configuration,
            const Interrupt& interrupt, std::function<redis::Needs()> needs = {});

  /// The first call starts a `private:` server, which lives as long as this object. Throws
  /// ProblemError, which names the server, if it cannot be reached or refuses the login;
  /// redis::Error if the private server cannot be started; InputError for a file of TLS; and
  /// Interrupted.
  redis::Connection open() { return open(&interrupt_, timeout()); }
  /// Like open(), for a command that looks at keys: warns on standard error if the server is a
  /// replica whose data may be out of date.
  redis::Connection open_for_looks(std::string_view command);
  /// Like open(), but only the timeout ends its waits, not Ctrl-C: for work that must be finished.
  redis::Connection open_uninterrupted() { return open(nullptr, timeout()); }
  /// Like open(), but another Interrupt ends its waits, and none of them takes longer than `most`.
  redis::Connection open_with(const Interrupt& interrupt, std::chrono::microseconds most) {
    return open(&interrupt, std::min(timeout(), most));
  }
  std::chrono::microseconds timeout() const noexcept { return settings_.timeout; }
  /// The server for messages, without a password.
  std::string name() const { return redis::display(settings_.url); }
  /// The URL, including the password.
  const redis::Url& url() const noexcept { return settings_.url; }
  /// See ConnectionSettings.
  Origin url_from() const noexcept { return settings_.url_from; }
  /// Whether this process runs the server itself.
  bool is_private() const noexcept { return settings_.url.scheme == redis::Scheme::kPrivate; }
  /// That server; null for another, and before the first open().
  redis::PrivateServer* private_server() const noexcept { return private_server_.get(); }

 private:
  redis::Connection open(const Interrupt* interrupt, std::chrono::microseconds timeout);

  ConnectionSettings settings_;
  const Interrupt& interrupt_;
  std::shared_ptr<const redis::Endpoint> server_;  ///< null if is_private()
  std::unique_ptr<redis::PrivateServer> private_server_;
};

/// "database 0 has none, but databases 1 and 3 have keys; see --db": a hint where no key was found.
/// Empty if no other database has keys, or that cannot be asked.
std::string hint_at_databases(Connector& connector);

}  // namespace rlctl::cli
