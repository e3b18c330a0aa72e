#include "cli/server/connection.h"

#include <fmt/format.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/shell.h"
#include "base/text.h"
#include "cli/errors/failure.h"
#include "cli/options/options.h"
#include "cli/terminal/terminal.h"
#include "redis/error.h"

namespace rlctl::cli {
namespace {

// ---- Passwords ----

constexpr std::size_t kMaxPassword = 4096;

void require_private_file(const PasswordFile& file, const FileDescriptor& opened) {
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) throw std::system_error(errno, std::generic_category());
  if (!S_ISREG(status.st_mode) && !S_ISFIFO(status.st_mode)) {
    throw InputError(
        fmt::format("the password file {} is not a regular file or a pipe", file.path));
  }
  // systemd gives the service's user an access control list, which shows as rights of the group.
  const auto content = file.is_credential ? FileContent::kGroupSecret : FileContent::kSecret;
  if (const auto refusal = unsafe_file(opened, file.path, "holds a password", content)) {
    throw InputError(*refusal);
  }
}

/// Keeps the memory of this process, which will hold a password, from core files and from other
/// processes of its user, on Linux.
void keep_memory_private() noexcept {
#ifdef __linux__
  // Not a limit on the size of cores, which the commands of `run` would inherit; nor does a limit
  // apply to a program that takes the cores.
  ::prctl(PR_SET_DUMPABLE, 0);
#endif
}

/// The file that systemd gives a service; none if it does not exist.
std::optional<PasswordFile> find_credential() {
  const auto folder = environment("CREDENTIALS_DIRECTORY");
  if (!folder) return std::nullopt;
  PasswordFile file{.path = *folder + "/rlctl.password", .is_credential = true};
  // A file that cannot be examined counts as existing: reading it gives the reason.
  const bool is_missing = ::access(file.path.c_str(), F_OK) != 0 && errno == ENOENT;
  return is_missing ? std::nullopt : std::optional(std::move(file));
}

/// Throws InputError that names the file if it cannot be read, if others may read or write it, or
/// if it holds no password; Interrupted if a signal ends the wait for a pipe.
std::string read_password(const PasswordFile& file) {
  std::string text;
  try {
    const auto opened = open_file(file.path);
    require_private_file(file, opened);
    text = read_all(opened, kMaxPassword + 1);
  } catch (const std::system_error& error) {
    throw InputError(fmt::format("cannot read the password file {}: {}", file.path,
                                 errno_text(error.code().value())));
  }
  const auto end = text.find('\n');
  const bool is_cut = end == text.npos && text.size() > kMaxPassword;
  text.resize(std::min(end, text.size()));
  if (end != text.npos && text.ends_with('\r')) text.pop_back();
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("the first line of the password file {} {}", file.path, why));
  };
  if (is_cut) refuse(fmt::format("has more than {} bytes", kMaxPassword));
  if (text.empty()) refuse("is empty");
  if (text.find('\0') != text.npos) refuse("contains a NUL byte");
  return text;
}

// ---- Settings ----

void refuse_password(const ConnectionOptions& options) {
  if (!options.password) return;
  throw UsageError("a password on the command line can be read by every user of this machine",
                   "use --askpass, --password-file, the variable REDISCLI_AUTH, or a URL in the "
                   "variable RLCTL_URL");
}

/// The URL in the environment.
redis::Url parse_url_of_environment(const std::string& text) try {
  return redis::parse_url(text);
} catch (const redis::Error& error) {
  throw redis::Error(error.failure(), std::string("RLCTL_URL: ") + error.what(), error.code(),
                     error.hint());
}

/// Sets the URL, to which the other options apply.
void set_url(ConnectionSettings& settings, const ConnectionOptions& options,
             ConfigurationSource& configuration) {
  if (options.url) {
    settings.url_from = Origin::kOption;
    settings.url = redis::parse_url(*options.url);
  } else if (const auto text = environment("RLCTL_URL")) {
    settings.url_from = Origin::kEnvironment;
    settings.url = parse_url_of_environment(*text);
  } else {
    const auto& file = configuration.server();
    settings.url_from = file.url ? Origin::kFile : Origin::kDefault;
    if (file.url) settings.url = redis::parse_url(*file.url);
    if (file.use_tls && !settings.url.tls) settings.url.tls.emplace();
    if (settings.url.tls) {
      settings.url.tls->sni = file.tls.sni;
      settings.url.tls->insecure = file.tls.insecure;
    }
  }
}

/// Throws UsageError if the text is a URL, a path, or a host with a port, which other options take.
void require_host(const std::string& host) {
  if (host.empty()) throw UsageError("--host is empty");
  if (host.find('@') != host.npos) {  // what precedes it may be a password
    throw UsageError("--host takes a host name or an address, without a user or a password",
                     "use --url, or the variable RLCTL_URL, for a URL");
  }
  if (host.find('/') != host.npos) {
    throw UsageError("--host: " + quoted_and_masked(host) + " is not a host name or an address",
                     (host.starts_with('/') ? "write -s " : "write -u ") + host);
  }
  const bool in_brackets = host.starts_with('[');
  // An IPv6 address has two colons or more.
  if (!in_brackets && std::count(host.begin(), host.end(), ':') != 1) return;
  const auto end = std::min(host.find(in_brackets ? ']' : ':'), host.size());
  const auto colon = host.find(':', end);
  const auto port = colon == host.npos ? std::string() : host.substr(colon + 1);
  throw UsageError("--host: " + quoted_and_masked(host) +
                       (colon == host.npos ? " is in brackets, as in a URL" : " includes a port"),
                   "write -H " + host.substr(in_brackets ? 1 : 0, end - (in_brackets ? 1 : 0)) +
                       (port.empty() ? "" : " -p " + port) + ", or -u redis://" + host);
}

void set_address(redis::Url& url, const ConnectionOptions& options) {
  if (options.socket) {
    url.scheme = redis::Scheme::kUnix;
    url.path = *options.socket;
    if (url.path.empty()) throw UsageError("--socket is empty");
    // Messages name the server by its path, and a URL may have a password.
    if (url.path.find("://") != url.path.npos || lower_case(url.path).starts_with("unix:")) {
      throw UsageError("--socket takes the path of a socket, not a URL",
                       "use --url, or the variable RLCTL_URL, for a URL");
    }
    return;
  }
  if (!options.host && !options.port) return;
  url.more_hosts.clear();  // they belong to the server that is not meant
  if (url.scheme == redis::Scheme::kUnix || url.scheme == redis::Scheme::kPrivate) {
    url.scheme = redis::Scheme::kTcp;  // the missing part gets its default
  }
  if (options.host) {
    require_host(*options.host);
    url.host = *options.host;
  }
  if (options.port) {
    url.port = static_cast<int>(parse_between(*options.port, "--port", 1, redis::kLargestPort));
  }
}

/// Throws UsageError if an option needs TLS, which the URL does not use.
void require_no_tls_option(const ConnectionOptions& options) {
  std::string_view given;
  if (options.insecure) given = "--insecure";
  if (options.sni) given = "--sni";
  if (options.cert) given = "--cert";
  if (options.cacert) given = "--cacert";
  if (given.empty()) return;
  throw UsageError(std::string(given) + " requires TLS",
                   "add --tls, or write rediss:// in the URL");
}

/// `target` is the setting of the URL.
void set_from_option(std::string& target, const std::optional<std::string>& option,
                     std::string_view name) {
  if (!option) return;
  require_not_empty(*option, std::string(name));
  target = *option;
}

void set_tls(redis::Url& url, const ConnectionOptions& options,
             ConfigurationSource& configuration) {
  if (!redis::has_tcp(url)) {
    url.tls.reset();  // of a URL whose host --socket replaces
    if (options.tls) {
      throw UsageError("--tls: " + redis::display(url) + " is not reached by TCP",
                       "name the server with --host, or leave out --tls");
    }
  } else if (options.tls && !url.tls) {
    url.tls.emplace();
  }
  if (!url.tls) return require_no_tls_option(options);
  redis::Tls& tls = *url.tls;
  if (!options.cacert) tls.cacert = configuration.cacert();
  if (!options.cert) {
    const auto& file = configuration.certificate();
    tls.cert = file.tls.cert;
    tls.key = file.tls.key;
  }
  set_from_option(tls.cacert, options.cacert, "--cacert");
  set_from_option(tls.cert, options.cert, "--cert");
  set_from_option(tls.key, options.key, "--key");
  set_from_option(tls.sni, options.sni, "--sni");
  if (options.insecure) tls.insecure = true;
}

void set_timeout(ConnectionSettings& settings, const ConnectionOptions& options,
                 ConfigurationSource& configuration) {
  auto text = options.timeout;
  settings.timeout_from = Origin::kOption;
  if (!text) {
    text = configuration.timeout();
    settings.timeout_from = text ? Origin::kFile : Origin::kDefault;
  }
  settings.timeout = parse_duration_of(text.value_or("1s"), "--timeout");
  if (settings.timeout.count() == 0) {
    throw UsageError("--timeout must be greater than 0, not " + quoted_and_masked(*text));
  }
}

void set_password(ConnectionSettings& settings, const ConnectionOptions& options,
                  ConfigurationSource& configuration) {
  auto& url = settings.url;
  if (url.scheme == redis::Scheme::kPrivate) return;  // it has no password
  if (options.password_file) {
    require_not_empty(*options.password_file, "--password-file: the name of the file");
    settings.password_file = PasswordFile{.path = *options.password_file};
    return;
  }
  const bool is_from_file =
      settings.url_from == Origin::kFile || settings.url_from == Origin::kDefault;
  if (!url.password.empty() && !is_from_file) return;
  settings.password_file = find_credential();
  if (settings.password_file) return;
  if (const auto password = environment("REDISCLI_AUTH")) {
    url.password = *password;
    return;
  }
  if (!is_from_file || !configuration.server().password_file) return;
  settings.password_file = PasswordFile{.path = *configuration.server().password_file};
}

/// A word as redis-cli reads it with --quoted-input: only printable ASCII, which every shell passes
/// on.
std::string redis_quoted(std::string_view word) {
  std::string out = "\"";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < ' ' || byte >= 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out + '"';
}

void append_option(std::vector<std::string>& words, const char* name, const std::string& value) {
  if (!value.empty()) words.insert(words.end(), {name, value});
}

}  // namespace

std::vector<std::string> redis_cli_words(const redis::Url& url) {
  std::vector<std::string> words{"redis-cli"};
  if (url.scheme == redis::Scheme::kUnix) {
    append_option(words, "-s", url.path);
  } else {
    append_option(words, "-h", url.host);
    append_option(words, "-p", std::to_string(url.port));
  }
  if (url.scheme == redis::Scheme::kCluster) words.emplace_back("-c");
  if (url.database != 0) append_option(words, "-n", std::to_string(url.database));
  append_option(words, "--user", url.user);
  if (!url.tls) return words;
  words.emplace_back("--tls");
  append_option(words, "--cacert", url.tls->cacert);
  append_option(words, "--cert", url.tls->cert);
  append_option(words, "--key", url.tls->key);
  // Unlike rlctl, redis-cli does not send the host's name.
  append_option(words, "--sni", url.tls->sni);
  if (url.tls->insecure) words.emplace_back("--insecure");
  return words;
}

void append_redis_command(std::vector<std::string>& words, redis::Arguments command) {
  const bool quotes = !std::all_of(command.begin(), command.end(), every_shell_reads);
  if (quotes) words.emplace_back("--quoted-input");
  for (const auto word : command) words.push_back(quotes ? redis_quoted(word) : std::string(word));
}

std::vector<std::string> rlctl_words(const Options& options, const ConnectionOptions& given,
                                     const ConfigurationSource& configuration) {
  std::map<std::string_view, std::vector<std::string>> values;
  bool needs_file = true;
  if (const auto named = given.url ? given.url : environment("RLCTL_URL")) {
    // Without its password, a URL cannot have the user.
    auto url = redis::parse_url(*named);
    needs_file = url.tls.has_value();
    const auto user = given.user.value_or(std::exchange(url.user, {}));
    url.user.clear();
    values["--url"] = {redis::display(url)};
    if (!user.empty()) values["--user"] = {user};
  }
  std::vector<std::string> words{"rlctl"};
  if (const auto file = configuration.named_file(); file && needs_file) {
    words.insert(words.end(), {"--config", std::filesystem::absolute(*file).string()});
  }
  for (auto& word : options.repeated_server(values)) words.push_back(std::move(word));
  return words;
}

bool names_server(const ConnectionOptions& options) {
  return options.url || options.host || options.port || options.socket;
}

void add_connection_options(Options& options, ConnectionOptions& target) {
  options.group(kConnectionGroup);
  options.value(
      "-u,--url", "URL", target.url,
      "the server: redis://[[USER]:PASSWORD@]HOST[:PORT][/DB], rediss:// for TLS, "
      "unix:///PATH, "
      "redis+cluster://HOST,..., redis+sentinel://HOST,.../MASTER, or private: for an empty "
      "server that ends with this run (default: $RLCTL_URL, else the configuration's, else "
      "redis://127.0.0.1:6379)");
  options.value("-H,--host", "HOST", target.host, "server name or address");
  options.value("-p,--port", "PORT", target.port, "server port");
  options.value("-s,--socket", "PATH", target.socket, "server unix socket")
      .excludes_each({"--host", "--port"}, "they name two servers");
  options.value("-n,--db", "NUMBER", target.database, "database");
  options.value("--user", "NAME", target.user, "ACL user");
  options.flag("--askpass", target.askpass,
               "ask for the password on the terminal (default: see PASSWORDS in rlctl(1))");
  options.value(
      "--password-file", "FILE", target.password_file,
      "read the password from the first line of this file, which only its owner may read");
  options.flag("--tls", target.tls, "use TLS, as for rediss://");
  options.value("--cacert", "FILE", target.cacert,
                "TLS: certificate authorities to trust (default: the system's)");
  options.value("--cert", "FILE", target.cert, "TLS: client certificate")
      .needs("--key", "a certificate is of no use without its private key");
  options.value("--key", "FILE", target.key, "TLS: private key of the client certificate")
      .needs("--cert");
  options.value("--sni", "NAME", target.sni,
                "TLS: the name that the server's certificate must have (default: the host)");
  options.flag("--insecure", target.insecure, "TLS: do not verify the server");
  options.group(kConnectionGroup, Repeats::kNo);
  options.value("-a,--pass", "PASSWORD", target.password, "");
  options.value(
      "--timeout", "TIME", target.timeout,
      "time limit for connecting and for each answer (default: the configuration's, else 1s)");
}

ConnectionSettings resolve_connection(const ConnectionOptions& options,
                                      ConfigurationSource& configuration) {
  refuse_password(options);
  ConnectionSettings settings;
  auto& url = settings.url;
  set_url(settings, options, configuration);
  set_address(url, options);
  if (options.database)
    url.database = static_cast<int>(parse_between(*options.database, "--db", 0, INT_MAX));
  if (options.user) url.user = *options.user;
  set_tls(url, options, configuration);
  set_password(settings, options, configuration);
  const bool has_tls_option =
      options.tls || options.cacert || options.cert || options.sni || options.insecure;
  if (names_server(options) || options.database || options.user || has_tls_option)
    settings.url_from = Origin::kOption;
  set_timeout(settings, options, configuration);
  configuration.warn_of_mistakes();
  return settings;
}

namespace {

/// Whether the server is a node of a Cluster, as any user may ask it from Redis 6.2 on.
bool is_known_node(const redis::Endpoint& server) {
  constexpr std::chrono::microseconds kAtMost = std::chrono::seconds(1);
  if (server.url.scheme == redis::Scheme::kCluster) return true;
  try {
    auto connection =
        redis::Connection::open(server.url, std::min(server.timeout, kAtMost), server.interrupt);
    return redis::hello_field(connection.call({"HELLO", "2"}), "mode") == "cluster";
  } catch (const std::exception&) {  // the hint is only less complete
    return false;
  }
}

}  // namespace

Connector::Connector(const ConnectionOptions& options, ConfigurationSource& configuration,
                     const Interrupt& interrupt, std::function<redis::Needs()> needs)
    : settings_(resolve_connection(options, configuration)), interrupt_(interrupt) {
  const bool has_password =
      options.askpass || settings_.password_file || !settings_.url.password.empty();
  if (has_password) keep_memory_private();
  if (options.askpass) {
    settings_.url.password = ask_password("Password: ", interrupt);
  } else if (settings_.password_file) {
    settings_.url.password = read_password(*settings_.password_file);
  }
  if (is_private()) return;
  redis::Endpoint server{.url = settings_.url,
                         .timeout = settings_.timeout,
                         .interrupt = &interrupt_,
                         .sets_name = true};
  if (needs) {
    // Asks the server once, since each line of a batch may be refused.
    server.needs = [server, needs = std::move(needs), all = redis::Needs{}]() mutable {
      if (!all.of.empty()) return all;
      all = needs();
      if (!all.of.empty() && is_known_node(server)) {
        all.commands.insert(all.commands.end(), {"CLUSTER SLOTS", "ASKING"});
      }
      return all;
    };
  }
  server_ = std::make_shared<const redis::Endpoint>(std::move(server));
}

redis::Connection Connector::open(const Interrupt* interrupt, std::chrono::microseconds timeout) {
  if (is_private() && !private_server_) {
    redis::PrivateServer::Options options;
    options.interrupt = &interrupt_;
    private_server_ = std::make_unique<redis::PrivateServer>(options);
  }
  redis::Url url = settings_.url;
  if (private_server_) {
    url = private_server_->url();
    url.database = settings_.url.database;
  }
  try {
    return redis::Connection::open(url, timeout, interrupt, server_);
  } catch (const redis::Error& error) {
    Problem problem = describe(error.from(server_, error.command()));
    // "rlctl: cannot connect to ...", without the command, which is not the cause.
    problem.of_command = false;
    if (error.failure() == redis::Failure::kUnreachable && settings_.url == redis::Url{}) {
      problem.hint =
          "start a server there, or name another with --url or RLCTL_URL; --url private: starts an "
          "empty one for a try";
    }
    throw ProblemError(problem);
  }
}

redis::Connection Connector::open_for_looks(std::string_view command) {
  auto connection = open();
  if (is_private()) return connection;
  try {
    if (const auto why = redis::why_out_of_date(connection)) warn("warning: " + *why, command);
  } catch (const redis::Error& error) {
    throw ProblemError(drop_in_doubt_note(describe(error)));
  }
  return connection;
}

std::string hint_at_databases(Connector& connector) try {
  const auto own = std::to_string(connector.url().database);
  auto connection = connector.open();
  const auto reply = connection.call({"INFO", "keyspace"});
  if (reply.is_error()) return {};
  std::vector<std::string_view> others;
  for (std::string_view info = reply.text(); !info.empty();) {
    auto line = take_until(info, "\r\n");  // db0:keys=12,expires=3
    if (!line.starts_with("db")) continue;
    line.remove_prefix(2);
    const auto number = take_until(line, ":");
    if (number != own && is_digits(number)) others.push_back(number);
  }
  if (others.empty()) return {};
  const bool is_one = others.size() == 1;
  return fmt::format("database {} has none, but database{} {} ha{} keys; see --db", own,
                     is_one ? "" : "s", one_of(others, "and"), is_one ? "s" : "ve");
} catch (const std::exception&) {  // the answer is complete without it
  return {};
}

}  // namespace rlctl::cli
