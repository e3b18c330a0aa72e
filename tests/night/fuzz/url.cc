// A URL that is accepted shows as one that means the same, without its password.
#include "redis/url.h"

#include "night/fuzz/fuzz.h"
#include "redis/error.h"

namespace fuzz::url {

using namespace rlctl::redis;

void require_in_bounds(const Url& url) {
  require(rlctl::redis::is_port(url.port), "a port is one");
  require(url.database >= 0, "a database is not negative");
  require(!url.host.empty(), "there is a host");
  for (const auto& next : url.more_hosts) {
    require(rlctl::redis::is_port(next.port) && !next.host.empty(), "so is each address");
  }
  require((url.scheme == Scheme::kUnix) == url.path.starts_with('/'), "a socket has a path");
  require((url.scheme == Scheme::kSentinel) != url.master.empty(), "Sentinels have a master");
  require(url.tls.has_value() <= rlctl::redis::has_tcp(url), "TLS is over TCP");
}

void test(std::string_view input) {
  const auto url = accepted<Error>([&] { return rlctl::redis::parse_url(input); }, 1000);
  if (!url) return;
  require_in_bounds(*url);
  const auto shown = display(*url);
  require(!has_control(shown) && shown.find('\n') == shown.npos, "it is shown on one line", shown);
  Url other = *url;
  if (!other.password.empty()) other.password = "another";
  require(display(other) == shown, "the password is not shown", shown);
  const auto again = accepted<Error>([&] { return rlctl::redis::parse_url(shown); }, 1000);
  require(again.has_value(), "what is shown is a URL", shown);
  Url same = *url;
  same.password = same.user.empty() ? "" : "***";
  require(*again == same, "it means the same", shown);
}

const Target kTarget("url", test);

}  // namespace fuzz::url
