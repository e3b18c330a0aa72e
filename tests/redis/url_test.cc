#include "redis/url.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "redis/error.h"
#include "support/failure.h"

namespace rlctl::redis::url_test {

using namespace support;

namespace {

Url tcp(const std::string& host, int port, int database = 0, const std::string& user = {},
        const std::string& password = {}) {
  return {.host = host, .port = port, .user = user, .password = password, .database = database};
}

Url local(const std::string& path, int database = 0, const std::string& user = {},
          const std::string& password = {}) {
  return {.scheme = Scheme::kUnix,
          .path = path,
          .user = user,
          .password = password,
          .database = database};
}

}  // namespace

TEST_CASE("a URL is parsed as redis-cli parses it") {
  const std::vector<std::pair<const char*, Url>> cases{
      {"redis://", tcp("127.0.0.1", 6379)},
      {"redis://example.org", tcp("example.org", 6379)},
      {"redis://example.org/", tcp("example.org", 6379)},
      {"redis://example.org:6380/3", tcp("example.org", 6380, 3)},
      {"REDIS://Example.org", tcp("Example.org", 6379)},
      {"redis://:6380", tcp("127.0.0.1", 6380)},
      {"redis://:1", tcp("127.0.0.1", 1)},
      {"redis://:65535", tcp("127.0.0.1", 65535)},
      {"redis:///5", tcp("127.0.0.1", 6379, 5)},
      {"redis://secret@h", tcp("h", 6379, 0, "", "secret")},
      {"redis://:secret@h", tcp("h", 6379, 0, "", "secret")},
      {"redis://alice:secret@h:1/2", tcp("h", 1, 2, "alice", "secret")},
      {"redis://alice:@h", tcp("h", 6379, 0, "alice", "")},
      {"redis://al%40ice:s%3Ac%2Fr%25@h", tcp("h", 6379, 0, "al@ice", "s:c/r%")},
      {"redis://:p@ss/w?rd#:@h", tcp("h", 6379, 0, "", "p@ss/w?rd#:")},
      {"redis://[::1]", tcp("::1", 6379)},
      {"redis://[::1]:6380/1", tcp("::1", 6380, 1)},
      {"redis://u:p@[fe80::1%25eth0]:6380", tcp("fe80::1%eth0", 6380, 0, "u", "p")},
      {"valkey://h", tcp("h", 6379)},
      {"unix:/run/r.sock", local("/run/r.sock")},
      {"unix:///run/r.sock", local("/run/r.sock")},
      {"unix:///run/r.sock?db=7", local("/run/r.sock", 7)},
      {"unix:///run/with%20blank%3F", local("/run/with blank?")},
      {"unix:///run/a@b", local("/run/a@b")},
      {"unix://:secret@/run/r.sock", local("/run/r.sock", 0, "", "secret")},
      {"unix://alice:s/e@/run/r.sock?db=1", local("/run/r.sock", 1, "alice", "s/e")},
  };
  for (const auto& row : cases) {
    CAPTURE(row.first);
    CHECK(parse_url(row.first) == row.second);
  }
}

TEST_CASE("a URL may ask for TLS, and a private server has a URL of its own") {
  for (const auto* text : {"rediss://h:1/2", "valkeys://h:1/2"}) {
    auto expected = tcp("h", 1, 2);
    expected.tls = Tls{};
    CHECK(parse_url(text) == expected);
    CHECK(display(expected) == "rediss://h:1/2");
  }
  CHECK(parse_url("private:").scheme == Scheme::kPrivate);
  CHECK(parse_url("private://").scheme == Scheme::kPrivate);
}

TEST_CASE("a URL may name nodes of a Cluster") {
  auto expected = tcp("a", 1, 2, "u", "p");
  expected.scheme = Scheme::kCluster;
  expected.more_hosts = {{"b", 6379}, {"::1", 3}};
  CHECK(parse_url("redis+cluster://u:p@a:1,b,[::1]:3/2") == expected);
  CHECK(display(expected) == "redis+cluster://u:***@a:1,b:6379,[::1]:3/2");
  CHECK(parse_url("redis+cluster://a").more_hosts.empty());
  CHECK(parse_url("rediss+cluster://a").tls);
  CHECK(parse_url("valkey+cluster://a").scheme == Scheme::kCluster);
}

TEST_CASE("a URL may name Sentinels and a master") {
  auto expected = tcp("a", 26379, 3, "", "p");
  expected.scheme = Scheme::kSentinel;
  expected.more_hosts = {{"b", 2}};
  expected.master = "my master";
  CHECK(parse_url("redis+sentinel://:p@a,b:2/my%20master/3") == expected);
  CHECK(display(expected) == "redis+sentinel://a:26379,b:2/my%20master/3");
  CHECK(parse_url("rediss+sentinel://a/m").tls);
}

// More of them, with their hints, are in tests/cli/refusals.tsv.
TEST_CASE("an error about a URL names what is wrong") {
  const std::vector<std::pair<const char*, const char*>> cases{
      {"redis:6379", "without a scheme: 'redis:6379'"},
      {"/run/r.sock", "without a scheme: '/run/r.sock'"},
      {"redis://h:65536", "bad port in the URL: '65536'"},
      {"redis://h:99999999999999999999", "bad port in the URL: '99999999999999999999'"},
      {"redis://h:", "bad port"},
      {"redis://h:-1", "bad port"},
      {"redis://h:6379x", "bad port"},
      {"redis://::1", "bad port"},
      {"redis://[localhost]", "'[localhost]' is not an IPv6 address"},
      {"redis://[::1]6379", "']'"},
      {"redis://h h", "bad host in the URL: 'h h'"},
      {"redis://h\n", "bad host in the URL: 'h\\n'"},
      {"redis://h/-1", "bad database in the URL: '-1'"},
      {"redis://h/+1", "bad database in the URL: '+1'"},
      {"redis://h/1/2", "bad database in the URL: '1/2'"},
      {"redis://h/99999999999", "bad database in the URL: '99999999999'"},
      {"redis://h/1#x", "nothing may follow '#' in the URL"},
      {"redis://%zz:p@h", "percent-escape in the user"},
      {"redis://:%4@h", "percent-escape in the password"},
      {"redis://:%00@h", "%00 in the password"},
      {"unix://run/r.sock", "absolute path"},
      {"unix:", "absolute path"},
      {"unix:///", "absolute path"},
      {"unix:///r?db=x", "bad database in the URL: 'x'"},
      {"unix:///r?x=1", "only ?db=N may follow a unix socket's path in the URL"},
      {"private:x", "private:"},
      {"redis:h", "the scheme of the URL is not followed by two slashes: 'redis:h'"},
      {"valkey:127.0.0.1:7/1", "not followed by two slashes: 'valkey:127.0.0.1:7/1'"},
      {"REDIS:/h", "not followed by two slashes: 'REDIS:/h'"},
      {"redis:/:geheim@h", "the scheme of the URL is not followed by two slashes"},
      {"redis:6379/1", "without a scheme: 'redis:6379/1'"},
      {"redis://a:1,b:2", "several hosts in the URL: 'a:1,b:2'"},
      {"redis+cluster://a:1,b:x", "bad port"},
      {"redis+cluster://a:1,b:2/x", "bad database in the URL: 'x'"},
      {"redis+sentinel://a:1", "does not name the master"},
      {"redis+sentinel://a:1//3", "does not name the master"},
      {"redis+sentinel://a:1/m/x", "bad database in the URL: 'x'"},
      {"redis+clutser://a", "did you mean 'redis+cluster'?"},
      {"http:", "unknown scheme in the URL: 'http'"},
      {"private", "without a scheme: 'private'"},
  };
  for (const auto& row : cases) {
    CAPTURE(row.first);
    const auto error = error_of([&] { (void)parse_url(row.first); });
    CHECK(error.failure() == Failure::kUsage);
    CAPTURE(message_of(error));
    CHECK(contains(error.what(), row.second));
  }
}

TEST_CASE("no part of a URL has a NUL byte, escaped or not") {
  for (const std::string text : {"unix:///r~.sock", "redis://~:p@h", "redis://:~@h", "redis://a~",
                                 "redis+sentinel://h/~m", "redis+cluster://a,b~"}) {
    for (const std::string& nul : {std::string("%00"), std::string(1, '\0')}) {
      auto url = text;
      url.replace(url.find('~'), 1, nul);
      CAPTURE(url);
      CHECK(error_of([&] { (void)parse_url(url); }).failure() == Failure::kUsage);
    }
  }
}

TEST_CASE("the hint for a mistyped URL is the right form") {
  const auto hint = [](const char* text) {
    return error_of([&] { (void)parse_url(text); }).hint();
  };
  CHECK(contains(hint("/run/r.sock"), "unix:///run/r.sock"));
  CHECK(hint("redis:h:7/1") == "did you mean redis://h:7/1 ?");
  CHECK(hint("valkey:/h") == "did you mean valkey://h ?");
  CHECK(hint("redis:6379") == "did you mean redis://redis:6379 ?");
  CHECK(hint("private") ==
        "write private: for a private server, or redis://private for a host of that name");
  CHECK(hint("redis://h/99999999999") == "a database is a whole number from 0 to 2147483647");
}

TEST_CASE("no error about a URL shows its password") {
  for (const char* text :
       {"redis://alice:geheim@h:0", "redis://alice:geheim@h:x", "redis://alice:geheim@h/x",
        "redis://alice:geheim", "redis://:geheim", "redis://:ge@heim@h h", "alice:geheim@h",
        "http://alice:geheim@h", "redis://:geheim%zz@h", "unix://:geheim", "unix://:geheim@run",
        "unix://a:geheim@/r?x", "redis://:x/geheim@h:x", "redis://:x?geheim@h:x", "redis:geheim@h",
        "redis:/geheim@h", "redis:/:geheim@h", "redis://:x#geheim@h?y", "unix:geheim@h"}) {
    CAPTURE(text);
    const auto error = error_of([&] { (void)parse_url(text); });
    CHECK_FALSE(contains(error.what(), "heim"));
    CHECK_FALSE(contains(error.hint(), "heim"));
  }
}

TEST_CASE("a URL is shown with its port and without its password, and else parses to itself") {
  const char* const cases[][2] = {{"redis://", "redis://127.0.0.1:6379"},
                                  {"redis://:secret@h/3", "redis://h:6379/3"},
                                  {"redis://alice:secret@h", "redis://alice:***@h:6379"},
                                  {"rediss://[::1]:1", "rediss://[::1]:1"},
                                  {"unix:/r.sock?db=2", "unix:///r.sock?db=2"},
                                  {"unix:///a%0Ab", "unix:///a%0Ab"},
                                  {"unix:///a%3Fb%20c?db=9", "unix:///a%3Fb%20c?db=9"},
                                  {"redis+cluster://:secret@a:1,b:2", "redis+cluster://a:1,b:2"},
                                  {"redis://[fe80::1%25eth0]", "redis://[fe80::1%25eth0]:6379"},
                                  {"private:", "private:"}};
  for (const auto& [text, shown] : cases) {
    const auto url = parse_url(text);
    CHECK(display(url) == shown);
    if (url.password.empty()) CHECK(parse_url(shown) == url);
  }
}

}  // namespace rlctl::redis::url_test
