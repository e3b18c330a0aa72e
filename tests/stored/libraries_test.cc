// needs: server
#include "stored/libraries.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "limiter/configuration.h"
#include "stored/library_row.h"
#include "support/limiters.h"
#include "support/recordings.h"

// That each row reads the keys of its library: see tests/stored/libraries/.

namespace stored_libraries_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;

namespace {

constexpr microseconds kNow = 1'795'600'000s;

KeySample text(const std::string& value, std::optional<microseconds> ttl = 60s) {
  KeySample content{.type = "string", .text = value, .expires = ttl.has_value()};
  if (ttl) content.until = kNow + *ttl;
  content.read_at = kNow;
  return content;
}

/// The tables of a configuration file.
std::vector<LibrarySection> tables(std::string_view toml) {
  return parse_configuration(toml, "test.toml").libraries;
}

Decoded decode(const Libraries& libraries, const std::string& key, const KeySample& content,
               const Siblings& siblings = {}, std::optional<Limit> asked = {}) {
  return libraries.decode({.key = key, .content = &content, .asked = asked}, siblings);
}

/// The messages about a table [library.x].
std::vector<std::string> mistakes_in(const std::string& lines) {
  auto configuration = parse_configuration("[library.x]\n" + lines, "f");
  std::vector<std::string> messages;
  for (const auto& mistake : configuration.mistakes) messages.push_back(mistake.message);
  for (const auto& mistake : library_mistakes(configuration)) messages.push_back(mistake.message);
  return messages;
}

}  // namespace

TEST_CASE("the built-in tables are without mistakes") {
  const auto parsed = parse_configuration(
      test::content_of(RLCTL_TESTS_DIR "/../src/stored/libraries.toml"), "libraries.toml");
  CHECK(parsed.mistakes.empty());
  CHECK(library_mistakes(parsed).empty());
}

TEST_CASE("a row of the configuration comes before the built-in ones") {
  const Libraries libraries(tables(R"(
[library.acme]
key = ["rlflx:*", "token_bucket:*"]
type = "string"
value = "remaining"
limit = "7/60s"
)"));
  const auto state = decode(libraries, "rlflx:ann", text("2"));
  REQUIRE(state.form != nullptr);
  CHECK(state.form->label() == "acme: fixed-window");
  CHECK(state.left == 2);
  CHECK(state.limit == Limit{.limit = 7, .window = 60s});
  CHECK(decode(built_in_libraries(), "rlflx:ann", text("2")).form->library ==
        "rate-limiter-flexible");
  CHECK(decode(libraries, "token_bucket:ann", {.type = "none"}).unknown.empty());
}

TEST_CASE("a key that does not exist is unknown if its row has a mistake") {
  const Libraries broken(tables("[library.a]\nkey = 'a:*'\ntype = 'list'\nvalue = 'counts'"));
  CHECK(decode(broken, "a:x", {.type = "none"}).unknown.find("has a mistake") != std::string::npos);
}

TEST_CASE("a window that neither row nor name tells is the limit's, if name and TTL agree") {
  const Libraries libraries(tables(R"(
[library.acme]
key = "acme:<index>"
type = "string"
value = "count"
ttl = "window..2*window"
[library.starts]
key = "starts:<start s>"
type = "string"
value = "count"
[library.told]
key = "told:<index>"
type = "string"
value = "count"
window = "60s"
)"));
  using Window = std::optional<microseconds>;
  const auto window_of = [&](const std::string& key, Window ttl, Window asked) {
    const auto limit = asked ? std::optional(Limit{.limit = 5, .window = *asked}) : std::nullopt;
    const auto state = decode(libraries, key, text("3", ttl), {}, limit);
    CHECK(state.unknown.empty() == state.window.has_value());
    return state.window;
  };
  const std::string index = "acme:29926666", start = "starts:1795599960";  // 40 s ago
  CHECK(window_of(index, 50s, 60s) == 60s);
  CHECK(window_of(index, 50s, {}) == Window());
  CHECK(window_of(index, 50s, 61s) == Window());
  CHECK(window_of(index, 50s, 59s) == Window());
  CHECK(window_of(index, 50s, 3600s) == Window());
  CHECK(window_of(index, 300s, 60s) == Window());
  CHECK(window_of(index, {}, 60s) == Window());
  CHECK(window_of("acme:29926667", 60s, 60s) == Window());  // in 20 s
  CHECK(window_of(start, 50s, 60s) == 60s);
  CHECK(window_of(start, 50s, 30s) == 30s);
  CHECK(window_of(start, 50s, 50s) == Window());
  CHECK(window_of(start, 50s, {}) == Window());
  CHECK(window_of("told:29926666", 50s, {}) == 60s);
  CHECK(window_of("told:29926666", 50s, 3600s) == 60s);
}

TEST_CASE("each mistake in a row is found, with its line") {
  using Messages = std::vector<std::string>;
  CHECK(mistakes_in("key = \"a:*\"\ntype = \"string\"\nvalue = \"count\"").empty());
  CHECK(mistakes_in("key = \"a:*\"\ntype = \"text\"\nvalue = \"count\"") ==
        Messages{"f:3: library 'x': type: must be one of: string, list, hash or zset, not 'text'"});
  CHECK(mistakes_in("type = \"string\"\nvalue = \"count\"") ==
        Messages{"f:1: library 'x': key is missing; write key = \"acme:left:*\""});
  CHECK(mistakes_in("key = \"a:*\"\ntype = \"zset\"\nvalue = \"count\"") ==
        Messages{"f:1: library 'x': value = \"count\" is for the types string hash, not zset"});
  for (const std::string lines :
       {"key = \"a:<what>\"\ntype = \"string\"\nvalue = \"count\"",
        "key = \"a:<index\"\ntype = \"string\"\nvalue = \"count\"",
        "key = \"a:*\"\ntype = \"string\"\nvalue = \"tokens\"",
        "key = \"a:*\"\ntype = \"zset\"\nvalue = \"times\"\nscale = 100",
        "key = \"a:*\"\ntype = \"string\"\nvalue = \"tat\"\nunit = \"m\"",
        "key = \"a:*\"\ntype = \"string\"\nvalue = \"count\"\nban = \"<a>\"",
        "key = \"a:*\"\ntype = \"string\"\nvalue = \"count\"\nlimits = \"5/1s\"",
        "key = \"a:*\"\ntype = \"string\"\nvalue = \"count\"\nlimit = 1.5"}) {
    CAPTURE(lines);
    CHECK(mistakes_in(lines).size() == 1);
  }
}

TEST_CASE("--read-as says what keys of any name hold") {
  const Libraries remaining({}, "remaining");
  CHECK(decode(remaining, "anything", text("3")).left == 3);
  CHECK_FALSE(decode(remaining, "anything", {.type = "none"}).unknown.empty());
  const Libraries arrival({}, "tat");
  const auto ms = std::to_string((kNow + 12s).count() / 1000);
  CHECK(decode(arrival, "anything", text(ms)).time == kNow + 12s);
  CHECK_THROWS_AS(Libraries({}, "left"), UsageError);
  CHECK_THROWS_AS(Libraries({}, "level"), UsageError);
}

TEST_CASE("what a row of the configuration names beside a key is a part of that key") {
  const Libraries libraries(
      tables("library.hit = {key = 'hit:*', type = 'string', value = 'count', ban = 'KEY:no'}"));
  const auto ban = decode(libraries, "hit:a:no", text("1"));
  CHECK(ban.part_of == "hit:a");
  CHECK(ban.is_ban);
}

TEST_CASE("--read-as does not apply to keys that a row describes") {
  const std::string id(64, 'a');
  const Libraries libraries({}, "count");
  const Siblings banned{{"{" + id + ":d}:blocked", {.type = "string", .text = "1"}}};
  CHECK(decode(libraries, "{" + id + ":d}:hits", text("2"), banned).ban.has_value());
  CHECK(decode(libraries, "rl:tb:{a}:ts", text("1795600000000")).part_of == "rl:tb:{a}");
}

TEST_CASE("scale and zero apply to counts and to what is left") {
  const Libraries libraries(tables(R"(
library.used = {key = "used:*", type = "string", value = "count", scale = 100, zero = 50}
library.left = {key = "left:*", type = "string", value = "remaining", scale = 100}
)"));
  const auto used = decode(libraries, "used:a", text("300"));
  CHECK(used.counts == std::vector<Count>{{.units = 3}});
  CHECK(used.fraction == 2.5);
  CHECK(decode(libraries, "left:a", text("250")).left == 2);
}

TEST_CASE("a window in a name may be in us, and what is no count is not read as 0") {
  const Libraries libraries(
      tables("library.us = {key = 'a:<window us>', type = 'string', value = 'count'}"));
  CHECK(decode(libraries, "a:86400000000", text("1")).window == 86400s);
  const std::string key = "@upstash/ratelimit:a:29926666", before = "@upstash/ratelimit:a:29926665";
  const auto state = decode(built_in_libraries(), key, text("3", 120s),
                            {{before, {.type = "hash"}}}, Limit{.limit = 5, .window = 60s});
  CHECK(state.unknown == "'" + before + "', which should hold a part, holds something else");
}

TEST_CASE("without the other key, the state is unknown, and it says which one is missing") {
  const Siblings nothing{{"rl:tb:{ann}:ts", {.type = "none"}}};
  const auto gone = decode(built_in_libraries(), "rl:tb:{ann}", text("0"), nothing);
  CHECK(gone.unknown == "'rl:tb:{ann}:ts', which holds a part, is not there");
  CHECK(gone.is_incomplete);
  CHECK(decode(built_in_libraries(), "rl:tb:{ann}", text("0")).unknown ==
        "'rl:tb:{ann}:ts', which holds a part, cannot be read");
}

TEST_CASE("of a hash, only the fields are read that a row of such names has") {
  const auto other = built_in_libraries().hash_fields("user:1");
  const auto bucket = built_in_libraries().hash_fields("rate:ann");
  CHECK(std::ranges::find(other, "tokens") == other.end());
  CHECK(std::ranges::find(bucket, "tokens") != bucket.end());
  CHECK(built_in_libraries().hash_fields("").empty());
}

TEST_CASE("a name's first and last bytes decide as its whole does") {
  const auto passes = [](std::string_view pattern, std::string_view name) {
    return NameFilter(pattern).passes(NameEnds(name));
  };
  CHECK(passes("*:<index>", "a:17"));
  CHECK_FALSE(passes("*:<index>", "a-17"));
  CHECK_FALSE(passes("*:<index>", "a:b"));
  CHECK(passes("v1<index>", "v117"));
  CHECK(passes("{<hex>:*}:hits", "{:}:hits"));
  CHECK_FALSE(passes("a:*", "b:a"));
  CHECK_FALSE(passes("a*", ""));
  CHECK(literals_of(parse_pattern("LIMITS:*/<limit>/x")) == 10);
}

TEST_CASE("a plain number is unknown, and a time of today is no number") {
  for (const std::string key : {"hits:ann", "rate:ann", "rl:192.0.2.7", "limit:ann"}) {
    for (const std::string number : {"4", "0", "-1"}) {
      const auto state = decode(built_in_libraries(), key, text(number));
      REQUIRE(state.form != nullptr);
      CHECK(state.form->library.empty());
      CHECK_FALSE(state.unknown.empty());
    }
  }
  for (const std::string time : {"1795600000", "1795600000000", "1795600000000000"}) {
    CHECK(decode(built_in_libraries(), "at", text(time)).form == nullptr);
  }
}

TEST_CASE("a long name of equal characters costs little") {
  const std::string key(100'000, '_');
  for (int i = 0; i < 100; ++i) {
    CHECK(decode(built_in_libraries(), key + std::to_string(i), text("4")).form->library.empty());
  }
}

TEST_CASE(
    "the row that is suggested for an unknown key has no mistakes and is not for nearly all keys") {
  for (const std::string key : {"hits:ann", "hits", "a_b", "{a}:x", ":x", "it's:1", "\xff:1"}) {
    std::string toml;
    for (const auto& line : suggested_row(key, "string")) toml += line + "\n";
    auto configuration = parse_configuration(toml, "f");
    REQUIRE(configuration.libraries.size() == 1);
    CHECK(library_mistakes(configuration).empty());
    if (key == "{a}:x" || key == ":x") CHECK(toml.find("'PATTERN'") != toml.npos);
  }
}

}  // namespace stored_libraries_test
