#include "redis/url.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/table.h"
#include "base/text.h"
#include "redis/error.h"

namespace rlctl::redis {

namespace {

struct SchemeName {
  std::string_view name;
  Scheme scheme;
  bool tls = false;
};

// The first name of a scheme is the one shown. valkey-cli uses its own names in URLs.
constexpr std::array<SchemeName, 14> kSchemes{{{"redis", Scheme::kTcp},
                                               {"rediss", Scheme::kTcp, true},
                                               {"unix", Scheme::kUnix},
                                               {"redis+cluster", Scheme::kCluster},
                                               {"rediss+cluster", Scheme::kCluster, true},
                                               {"redis+sentinel", Scheme::kSentinel},
                                               {"rediss+sentinel", Scheme::kSentinel, true},
                                               {"private", Scheme::kPrivate},
                                               {"valkey", Scheme::kTcp},
                                               {"valkeys", Scheme::kTcp, true},
                                               {"valkey+cluster", Scheme::kCluster},
                                               {"valkeys+cluster", Scheme::kCluster, true},
                                               {"valkey+sentinel", Scheme::kSentinel},
                                               {"valkeys+sentinel", Scheme::kSentinel, true}}};

constexpr int kSentinelPort = 26379;

constexpr const char* kSchemesHint =
    "URLs begin with redis://, rediss://, unix://, redis+cluster://, redis+sentinel:// or private:";

[[noreturn]] void bad_url(const std::string& what, const std::string& hint = {}) {
  throw Error(Failure::kUsage, what, {}, hint);
}

// What messages show of a text without an @. Parameters, which other clients take, may hold a
// password: "?password=secret", "?db=0&auth=secret".
std::string_view shown_part(std::string_view text) {
  return text.substr(0, text.find_first_of("?&;#"));
}

// Messages contain `what` instead of the text, which may be a password.
std::string decode_percent(std::string_view text, std::string_view what) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    // In a configuration, TOML can write one.
    if (text[i] == '\0') bad_url(fmt::format("a NUL byte in the {} of the URL", what));
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const auto digits = text.substr(i + 1, 2);
    const auto byte = digits.size() == 2 ? to_number<unsigned>(digits, 16) : std::nullopt;
    if (!byte) {
      bad_url(fmt::format("bad percent-escape in the {} of the URL", what),
              "a % is followed by two hexadecimal digits; a plain % is written %25");
    }
    if (*byte == 0) bad_url(fmt::format("%00 in the {} of the URL", what));
    out += static_cast<char>(*byte);
    i += 2;
  }
  return out;
}

std::string encode_percent(std::string_view text, std::string_view also_plain = {}) {
  std::string out;
  for (const char c : text) {
    if (is_alphanumeric(c) || std::string_view("-._~").find(c) != std::string_view::npos ||
        also_plain.find(c) != std::string_view::npos) {
      out += c;
    } else {
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

// "user:password" or, as in redis-cli, "password".
void parse_user_info(std::string_view info, Url& url) {
  const auto colon = info.find(':');
  if (colon != std::string_view::npos) {
    url.user = decode_percent(info.substr(0, colon), "user");
    info.remove_prefix(colon + 1);
  }
  url.password = decode_percent(info, "password");
}

int parse_database(std::string_view text) {
  const auto database = to_number<int>(text);
  if (!database || !is_digits(text)) {
    bad_url(
        fmt::format("bad database in the URL: '{}'", escape(shown_part(text), 32)),
        fmt::format("a database is a whole number from 0 to {}", std::numeric_limits<int>::max()));
  }
  return *database;
}

// Text that is not a number is not repeated: in redis://user:secret it is the password.
int parse_port(std::string_view text) {
  const auto port = to_number<int>(text);
  const auto bounds = fmt::format("the port is 1 to {}", kLargestPort);
  if (!is_digits(text)) {
    bad_url("bad port in the URL: not a number",
            bounds + "; write an IPv6 address in brackets, and a password before an @");
  }
  if (!port || !is_port(*port)) {
    bad_url(fmt::format("bad port in the URL: '{}'", escape(text, 32)), bounds);
  }
  return *port;
}

void check_host(std::string_view host) {
  const auto is_bad = [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte <= ' ' || byte == 0x7f ||
           std::string_view("/?#@[]\\\"'").find(c) != std::string_view::npos;
  };
  if (std::ranges::any_of(host, is_bad)) {
    bad_url(fmt::format("bad host in the URL: '{}'", escape(host, 80)));
  }
}

// "host", "host:port", ":port", "[v6]", "[v6]:port"; omitted parts keep their default.
void parse_host_port(std::string_view text, std::string& to_host, int& to_port) {
  std::string_view host = text;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto bracket = text.find(']');
    if (bracket == std::string_view::npos) bad_url("bad host in the URL: a '[' without its ']'");
    host = text.substr(1, bracket - 1);
    rest = text.substr(bracket + 1);
    if (host.find(':') == std::string_view::npos) {
      bad_url(fmt::format("bad host in the URL: '[{}]' is not an IPv6 address", escape(host, 80)));
    }
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos) {
    host = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (!rest.empty()) {
    if (rest.front() != ':') bad_url("bad host in the URL: unexpected text between ']' and ':'");
    to_port = parse_port(rest.substr(1));
  }
  if (!host.empty()) to_host = decode_percent(host, "host");
  check_host(to_host);
}

// "host:port,host:port"
void parse_hosts(std::string_view text, Url& url) {
  if (url.scheme == Scheme::kSentinel) url.port = kSentinelPort;
  const int usual_port = url.port;
  const auto hosts = split_at_commas(text);
  parse_host_port(hosts.front(), url.host, url.port);
  for (const auto& host : std::span(hosts).subspan(1)) {
    HostPort& next = url.more_hosts.emplace_back();
    next.port = usual_port;
    parse_host_port(host, next.host, next.port);
  }
}

// The name of a Sentinel's master, and what follows the slash after it.
std::string_view parse_master(std::string_view text, Url& url) {
  url.master = decode_percent(take_until(text, "/"), "master's name");
  if (url.master.empty()) {
    bad_url("the URL does not name the master",
            "write redis+sentinel://HOST:PORT,HOST:PORT/MASTER, with the name that the Sentinels "
            "know it by");
  }
  return text;
}

// "[user:password@]hosts[/database]"; for a Sentinel "...hosts/master[/database]".
void parse_tcp(std::string_view rest, Url& url) {
  // The last @, wherever it is, so that no part of a password with an unescaped @ is taken for a
  // host and shown.
  if (const auto at = rest.rfind('@'); at != std::string_view::npos) {
    parse_user_info(rest.substr(0, at), url);
    rest.remove_prefix(at + 1);
  }
  if (const auto junk = rest.find_first_of("?#"); junk != std::string_view::npos) {
    bad_url(fmt::format("nothing may follow '{}' in the URL", rest[junk]),
            "the database follows the host: redis://host:port/3");
  }
  const auto hosts = take_until(rest, "/");
  if (url.scheme != Scheme::kTcp) {
    parse_hosts(hosts, url);
  } else if (hosts.find(',') != std::string_view::npos) {
    bad_url(fmt::format("several hosts in the URL: '{}'", escape(hosts, 80)),
            "write redis+cluster:// for the nodes of a Cluster, redis+sentinel:// for Sentinels");
  } else {
    parse_host_port(hosts, url.host, url.port);
  }
  if (url.scheme == Scheme::kSentinel) rest = parse_master(rest, url);
  if (!rest.empty()) url.database = parse_database(rest);
}

void parse_unix(std::string_view rest, Url& url) {
  if (!rest.starts_with('/')) {
    if (const auto at = rest.find("@/"); at != std::string_view::npos) {
      parse_user_info(rest.substr(0, at), url);
      rest.remove_prefix(at + 1);
    }
  }
  const auto question = rest.find('?');
  url.path = decode_percent(rest.substr(0, question), "path");
  if (!url.path.starts_with('/') || url.path == "/") {
    bad_url("bad path in the URL: a unix socket needs an absolute path",
            "write unix:///run/redis/redis.sock, or unix:///run/redis/redis.sock?db=3");
  }
  if (question == std::string_view::npos) return;
  const auto query = rest.substr(question + 1);
  if (!query.starts_with("db=")) {
    bad_url("only ?db=N may follow a unix socket's path in the URL");
  }
  url.database = parse_database(query.substr(3));
}

std::string_view scheme_name(Scheme scheme, bool tls = false) {
  return std::find_if(kSchemes.begin(), kSchemes.end(),
                      [&](const SchemeName& row) { return row.scheme == scheme && row.tls == tls; })
      ->name;
}

/// Reports `what` about the URL, which is shown with this hint unless it may contain a password.
[[noreturn]] void bad_start(const char* what, std::string_view text, const std::string& hint) {
  if (text.find('@') != std::string_view::npos) bad_url(what, kSchemesHint);
  bad_url(fmt::format("{}: '{}'", what, escape(shown_part(text), 80)), hint);
}

[[noreturn]] void no_scheme(std::string_view text) {
  if (text.empty()) bad_url("the URL is empty", kSchemesHint);
  const std::string shown = escape(shown_part(text), 80);
  const std::string_view prefix = text.starts_with('/') ? "unix://" : "redis://";
  const bool is_private = lower_case(text) == scheme_name(Scheme::kPrivate);
  bad_start("a URL without a scheme", text,
            is_private ? fmt::format("write private: for a private server, or {}{} for a host of "
                                     "that name",
                                     prefix, shown)
                       : fmt::format("did you mean {}{} ?", prefix, shown));
}

/// "redis:/h" or "redis:h"
[[noreturn]] void no_slashes(std::string_view text, std::string_view name, std::string_view rest) {
  if (rest.starts_with('/')) rest.remove_prefix(1);
  bad_start("the scheme of the URL is not followed by two slashes", text,
            fmt::format("did you mean {}://{} ?", name, escape(shown_part(rest), 80)));
}

const SchemeName& take_scheme(std::string_view& text) {
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) no_scheme(text);
  const std::string name = lower_case(text.substr(0, colon));
  const auto rest = text.substr(colon + 1);
  const bool slashes = rest.starts_with("//");
  const auto* row = find_by_name(kSchemes, name);
  if (row == nullptr && !slashes && !rest.empty()) no_scheme(text);
  if (row == nullptr) {
    bad_url(fmt::format("unknown scheme in the URL: '{}'{}", escape(name, 32),
                        did_you_mean(name, names_of(kSchemes))),
            kSchemesHint);
  }
  const bool needs_slashes = row->scheme != Scheme::kUnix && row->scheme != Scheme::kPrivate;
  if (needs_slashes && !slashes) {
    // "redis:6379" is a host called redis, as in container networks.
    if (is_digits(rest.substr(0, rest.find('/')))) no_scheme(text);
    no_slashes(text, name, rest);
  }
  text.remove_prefix(colon + (slashes ? 3 : 1));
  return *row;
}

}  // namespace

Url parse_url(std::string_view text) {
  Url url;
  const SchemeName& scheme = take_scheme(text);
  url.scheme = scheme.scheme;
  if (scheme.tls) url.tls.emplace();
  switch (url.scheme) {
    case Scheme::kTcp:
    case Scheme::kCluster:
    case Scheme::kSentinel:
      parse_tcp(text, url);
      break;
    case Scheme::kUnix:
      parse_unix(text, url);
      break;
    case Scheme::kPrivate:
      if (!text.empty()) bad_url("nothing may follow private: in the URL");
      break;
  }
  return url;
}

std::string display(const HostPort& address) {
  const std::string host = encode_percent(address.host, ":");
  const bool v6 = address.host.find(':') != std::string::npos;
  return v6 ? fmt::format("[{}]:{}", host, address.port) : fmt::format("{}:{}", host, address.port);
}

std::string display(const Url& url) {
  if (url.scheme == Scheme::kPrivate) return "private:";
  std::string out = fmt::format("{}://", scheme_name(url.scheme, url.tls.has_value()));
  // A user without a password would be read as a password if the text were used as a URL again.
  if (!url.user.empty()) out += encode_percent(url.user) + ":***@";
  if (url.scheme == Scheme::kUnix) {
    out += encode_percent(url.path, "/:@+,=");
    if (url.database != 0) out += fmt::format("?db={}", url.database);
    return out;
  }
  out += display(HostPort{url.host, url.port});
  for (const auto& next : url.more_hosts) out += "," + display(next);
  if (!url.master.empty()) out += "/" + encode_percent(url.master);
  if (url.database != 0) out += fmt::format("/{}", url.database);
  return out;
}

}  // namespace rlctl::redis
