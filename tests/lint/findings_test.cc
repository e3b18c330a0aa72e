#include "lint/findings.h"

#include <doctest/doctest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/shell.h"

namespace rlctl::lint {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::microseconds kNow{1'767'225'603'873'457};

/// A call at a line, with its reply; its first argument is its key.
Call call(int line, const std::string& words, const std::string& reply, bool writes = true) {
  Call made{.line = line, .words = shell_words(words), .reply = reply, .writes = writes};
  if (made.words.size() > 1) made.keys = {made.words[1]};
  return made;
}

/// An observation of requests of ann's, each with these calls.
Observation observe(std::vector<std::vector<Call>> requests) {
  Observation seen{.limit = 5, .window = 60s};
  for (auto& calls : requests) {
    seen.requests.push_back(
        {.run = 1, .at = kNow, .keys = {"ann"}, .calls = std::move(calls), .allowed = true});
  }
  return seen;
}

/// "LINE NAME" of each finding, critical ones with "!", notes with "?".
std::vector<std::string> found(const Observation& seen) {
  constexpr std::array<std::string_view, 3> kMarks{"?", "", "!"};
  std::vector<std::string> all;
  auto findings = find_flaws(seen);
  drop_followers(findings);
  for (const auto& finding : findings) {
    all.push_back(std::to_string(finding.line) + " " + std::string(finding.name) +
                  std::string(kMarks.at(static_cast<std::size_t>(finding.severity))));
  }
  return all;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("a key beside KEYS is found once for a line") {
  CHECK(found(observe({{call(3, "SET other 1", "+OK")}, {call(3, "SET more 1", "+OK")}})) ==
        Found{"3 undeclared-key"});
  CHECK(found(observe({{call(3, "SET ann 1", "+OK")}})).empty());
}

TEST_CASE("a key beside KEYS in their slot is a note, which a worse one of the line replaces") {
  CHECK(found(observe({{call(3, "SET {ann}:b 1", "+OK")}})) == Found{"3 undeclared-key?"});
  CHECK(found(observe({{call(3, "SET {ann}:b 1", "+OK")}, {call(3, "SET b 1", "+OK")}})) ==
        Found{"3 undeclared-key"});
}

TEST_CASE("a TTL that is missing is told of at the write that made the key") {
  auto seen = observe({{call(5, "ZADD ann 1 a", "1")}, {call(3, "ZREMRANGEBYSCORE ann 0 9", "0")}});
  for (auto& request : seen.requests) request.left = {{.key = "ann", .expires = false}};
  CHECK(found(seen) == Found{"5 no-ttl"});
  seen.requests[1].calls = {call(3, "PERSIST ann", "1")};
  CHECK(found(seen) == Found{"3 no-ttl", "5 no-ttl"});
  seen.requests = {seen.requests[0]};
  seen.requests[0].calls = {call(1, "INCR ann", "1")};
  CHECK(find_flaws(seen).front().fix.starts_with("set a TTL when the key is new"));
}

TEST_CASE("a denied request that only renews a TTL is found where it does") {
  auto seen = observe({{call(2, "ZREMRANGEBYSCORE ann 0 9", "0"), call(3, "PEXPIRE ann 9", "1")}});
  seen.requests[0].allowed = false;
  seen.probed.lock_out = {.denial = 0};
  CHECK(found(seen) == Found{"3 denied-write!"});
  // Of several writes, one to a key that allowed requests use too is why.
  seen = observe({{call(1, "GET ann", "NULL", false)},
                  {call(2, "INCR denials", "1"), call(3, "PEXPIRE ann 9", "1")}});
  for (auto& request : seen.requests) request.keys = {"ann", "denials"};
  seen.requests[1].allowed = false;
  CHECK(found(seen) == Found{"2 cross-slot"});
  seen.probed.lock_out = {.denial = 1};
  CHECK(found(seen) == Found{"2 cross-slot", "3 denied-write!"});
  seen.requests[1].calls.clear();
  CHECK(found(seen) == Found{"1 cross-slot", "1 locked-out!"});
}

TEST_CASE("a key without a TTL is found at its last write, and is critical if it locks out") {
  auto seen = observe(
      {{call(1, "INCR ann", "1"), call(2, "SET ann 1", "+OK"), call(3, "GET ann", "1", false)}});
  seen.requests[0].left = {{.key = "ann", .expires = false}};
  CHECK(found(seen) == Found{"2 no-ttl"});
  seen.is_denied_for_ever = true;
  CHECK(found(seen) == Found{"2 no-ttl!"});
  seen.requests[0].left[0].expires = true;
  CHECK(found(seen).empty());
}

TEST_CASE("keys in one slot are no finding, keys in two are") {
  auto seen = observe({{call(1, "GET ann", "NULL", false), call(2, "GET {ann}:b", "NULL", false)}});
  seen.requests[0].keys = {"ann", "{ann}:b"};
  CHECK(found(seen).empty());
  seen = observe({{call(1, "GET ann", "NULL", false), call(2, "GET bob", "NULL", false)}});
  seen.requests[0].keys = {"ann", "bob"};
  CHECK(found(seen) == Found{"2 cross-slot"});
  // A Cluster looks at KEYS, not at what the script does with them.
  seen.requests[0].calls.pop_back();
  CHECK(found(seen) == Found{"1 cross-slot"});
}

TEST_CASE("a key that is in KEYS twice is found if a request counts it twice") {
  struct Row {
    std::string first, reply;
    std::string second, again;
    bool is_found;
  };
  const std::array rows{
      Row{"INCR ann", "1", "INCR ann", "2", true},
      Row{"DECR ann", "4", "DECR ann", "3", true},
      Row{"RPUSH ann 9", "1", "RPUSH ann 9", "2", true},
      Row{"SET ann 4", "+OK", "SET ann 3", "+OK", true},
      Row{"SET ann 4", "+OK", "SET ann 4", "+OK", false},
      Row{"ZADD ann 9 a", "1", "ZADD ann 9 a", "0", false},
      Row{"INCR ann", "1", "PEXPIRE ann 9", "1", false},
  };
  for (const auto& row : rows) {
    CAPTURE(row.second);
    auto seen = observe({{call(2, row.first, row.reply), call(2, row.second, row.again)}});
    CHECK(found(seen).empty());
    seen.requests[0].keys = {"ann", "ann"};
    CHECK(found(seen) == (row.is_found ? Found{"2 doubled-key!"} : Found{}));
  }
  // Two fields of one hash are written by lines of their own.
  auto seen = observe({{call(2, "HSET ann n 1", "1"), call(3, "HSET ann at 9", "1")}});
  seen.requests[0].keys = {"ann", "ann"};
  CHECK(found(seen).empty());
}

TEST_CASE("what grows is found where the most different elements are written or asked for") {
  auto seen = observe({{call(1, "HGET ann 7", "1", false), call(2, "HSET ann 7 1", "1"),
                        call(3, "HSET ann last 7", "1")},
                       {call(1, "HGET ann 8", "1", false), call(2, "HSET ann 8 1", "1"),
                        call(3, "HSET ann last 8", "0")}});
  seen.growth = {.span = 1200s, .half = {{{"", "ann"}, 500}}, .whole = {{{"", "ann"}, 1000}}};
  CHECK(found(seen) == Found{"2 never-pruned"});
  CHECK(
      find_flaws(seen).front().detail ==
      "While a client asks steadily, the bytes of 'ann' grow: about 500 after 10m, and 1000 after "
      "20m.");
  seen.growth.half[{"hget", ""}] = 50;
  seen.growth.whole[{"hget", ""}] = 100;
  CHECK(found(seen) == Found{"1 growing-work", "2 never-pruned"});
}

TEST_CASE("a TTL of a thousand windows is another unit; one that varies is computed") {
  const auto twice = [](const std::string& words) {
    auto seen = observe({{call(4, words, "1")}, {call(4, words, "1")}});
    for (auto& request : seen.requests) request.arguments = {"60000"};
    return seen;
  };
  CHECK(found(twice("EXPIRE ann 60000")) == Found{"4 mixed-units!"});
  CHECK(found(twice("EXPIRE ann 120000")) == Found{"4 mixed-units!"});
  auto constant = twice("EXPIRE ann 60000");
  constant.source = "redis.call('EXPIRE', KEYS[1], 60000)";
  CHECK(found(constant) == Found{"4 mixed-units"});
  auto jitter = twice("EXPIRE ann 60000");
  jitter.requests[1].calls[0].words[2] = "65432";
  CHECK(found(jitter) == Found{"4 mixed-units!"});
  CHECK(found(twice("PEXPIRE ann 60")) == Found{"4 mixed-units!"});
  CHECK(found(twice("PEXPIRE ann 60000000")) == Found{"4 mixed-units"});
  CHECK(found(twice("EXPIRE ann 86400")) == Found{"4 long-ttl?"});
  CHECK(found(twice("EXPIREAT ann 1767325604")) == Found{"4 long-ttl?"});
  for (const auto* words : {"EXPIRE ann 60", "PEXPIRE ann 60000", "EXPIRE ann 3660",
                            "PEXPIRE ann 30000", "PEXPIRE ann 600000"}) {
    CAPTURE(words);
    CHECK(found(twice(words)).empty());
  }
  CHECK(found(observe({{call(4, "PEXPIRE ann 60", "1")}, {call(4, "PEXPIRE ann 120", "1")}}))
            .empty());
}

TEST_CASE("a time of day in another unit than its command's is found") {
  CHECK(found(observe({{call(2, "EXPIREAT ann 1767225663873", "1")}})) == Found{"2 mixed-units!"});
  CHECK(found(observe({{call(2, "PEXPIREAT ann 1767225663", "1")}})) == Found{"2 mixed-units!"});
  CHECK(found(observe({{call(2, "PEXPIREAT ann 1767225663873", "1")}})).empty());
}

TEST_CASE("bounds must have the unit of the scores, and be a window ago") {
  const auto log = [](const std::string& bound, const std::string& score) {
    const std::vector<Call> calls{call(1, "ZREMRANGEBYSCORE ann 0 " + bound, "0"),
                                  call(2, "ZADD ann " + score + " id", "1")};
    return observe({calls, calls});
  };
  CHECK(found(log("1767225543873", "1767225603873")).empty());
  CHECK(found(log("1767225543", "1767225603873")) == Found{"1 mixed-units!"});
  CHECK(found(log("1767225603813", "1767225603873")) == Found{"1 mixed-units!"});
  CHECK(found(log("1767165603", "1767225603")) == Found{"1 mixed-units!", "2 coarse-time"});
}

TEST_CASE("digits that tostring() cuts off are found, also within a word") {
  const auto with = [](const std::string& words, const std::string& argument) {
    auto seen = observe({{call(1, words, "1")}});
    seen.requests[0].arguments = {argument};
    return found(seen);
  };
  CHECK(with("ZADD ann 1 1767225603.8735", "1767225603.873457") == Found{"1 number-as-text"});
  CHECK(with("ZADD ann 1 id:1.7672256038735e+15", "1767225603873457") == Found{"1 number-as-text"});
  CHECK(with("SET ann 1.23e+16", "1") == Found{"1 number-as-text"});
  CHECK(with("ZADD ann 1767225603.873457 a", "1767225603.873457").empty());
  CHECK(with("ZADD ann 1767225603873 1767225603873", "1767225603873").empty());
  CHECK(with("SET ann 1.7672256038735e+15", "1.7672256038735e+15").empty());
  // As servers write them.
  CHECK(with("SET ann 1.7672256038734570e+18", "1").empty());
  CHECK(with("SET ann 2.8399680028595704e+8", "1").empty());
  CHECK(with("SET ann 2.500000005e+8", "1").empty());
}

TEST_CASE("a member is shared if it left an allowed request without a trace") {
  const std::vector<Call> first{call(1, "ZADD ann 5 5", "1")}, again{call(1, "ZADD ann 5 5", "0")},
      later{call(1, "ZADD ann 6 6", "1")};
  CHECK(found(observe({first, again, later})) == Found{"1 non-unique-member!"});
  CHECK(found(observe({first, again})).empty());  // always the same: a registry
  auto denied = observe({first, again, later});
  denied.requests[1].allowed = false;
  CHECK(found(denied).empty());
  auto counted = observe({first, again, later});
  counted.requests[1].calls.push_back(call(2, "INCR ann", "2"));
  CHECK(found(counted).empty());
  auto apart = observe({first, again, later});
  apart.requests[1].run = 2;
  CHECK(found(apart).empty());
}

TEST_CASE("a count before the removal of old elements is found if it denied") {
  auto seen = observe({{call(1, "ZADD ann 1 a", "1"), call(2, "ZCARD ann", "6", false),
                        call(3, "ZREMRANGEBYSCORE ann 0 9", "5")}});
  CHECK(found(seen).empty());
  seen.requests[0].allowed = false;
  CHECK(found(seen) == Found{"2 late-pruning!"});
  seen.requests[0].calls.push_back(call(4, "ZCARD ann", "1", false));
  CHECK(found(seen).empty());
  seen.requests[0].calls = {call(3, "ZREMRANGEBYSCORE ann 0 9", "5"),
                            call(4, "ZCARD ann", "6", false)};
  CHECK(found(seen).empty());
  seen.requests[0].calls = {call(2, "ZCARD", "-ERR wrong number of arguments", false),
                            call(3, "ZREMRANGEBYSCORE ann 0 9", "5")};
  CHECK(found(seen).empty());
  // A list, too, but not one that takes back what it has just added.
  seen.requests[0].calls = {call(1, "LLEN ann", "5", false), call(2, "LPOP ann", "1767225543"),
                            call(2, "LPOP ann", "NULL")};
  CHECK(found(seen) == Found{"1 late-pruning!"});
  seen.requests[0].calls = {call(1, "LPUSH ann 1767225603", "6"), call(2, "LLEN ann", "6", false),
                            call(3, "LPOP ann", "1767225603")};
  CHECK(found(seen).empty());
}

TEST_CASE("whole seconds are too coarse for a minute, not for an hour") {
  const std::vector<Call> calls{call(1, "ZREMRANGEBYSCORE ann 0 1767225543", "0"),
                                call(2, "ZADD ann 1767225603 id", "1")};
  auto seen = observe({calls});
  CHECK(found(seen) == Found{"2 coarse-time"});
  seen.window = 1h;
  CHECK(found(seen).empty());
}

TEST_CASE("unknown flags are in line 1") {
  auto seen = observe({});
  seen.source = "#!lua flags=no-writes,fast\nreturn 1";
  CHECK(found(seen) == Found{"1 unknown-flag!"});
}

TEST_CASE("a lock-out is told of at the write of a denied request, unless something else is why") {
  auto seen = observe({{call(1, "GET ann", "5", false), call(4, "HSET ann seen 9", "0")}});
  seen.requests[0].allowed = false;
  seen.probed.lock_out = {.gap = 1s, .span = 60s, .sent = 60, .wait = 12s, .denial = 0};
  CHECK(found(seen) == Found{"4 denied-write!"});
  const auto detail = find_flaws(seen).front().detail;
  CHECK(detail.find("Of 60 requests in 60 s, 1 s apart, 0 were allowed") != detail.npos);
  seen.requests[0].calls.pop_back();
  CHECK(found(seen) == Found{"1 locked-out!"});
  seen.requests[0].left = {{.key = "ann", .expires = false}};
  seen.requests[0].calls = {call(1, "INCR ann", "6")};
  seen.is_denied_for_ever = true;
  CHECK(found(seen) == Found{"1 no-ttl!"});
}

TEST_CASE("a renewed window is told of where an allowed request sets the TTL again") {
  auto seen = observe({{call(2, "INCR ann", "1"), call(3, "EXPIRE ann 60", "1")},
                       {call(2, "INCR ann", "2"), call(3, "EXPIRE ann 60", "1")}});
  seen.probed.renewal = {.gap = 51s, .sent = 21, .denied = 3};
  CHECK(found(seen) == Found{"3 locked-out!"});
  seen.cause = Cause{.kind = Cause::Kind::kRenewedTtl};
  CHECK(found(seen) == Found{"3 renewed-window!"});
  CHECK(find_flaws(seen).front().fix == "set the TTL only when the key is new");
}

TEST_CASE("only what an experiment has confirmed is named as the cause of a lock-out, and cured") {
  auto seen = observe({{call(2, "INCR ann", "5"), call(3, "EXPIRE ann 60", "1")},
                       {call(2, "INCR ann", "6"), call(3, "EXPIRE ann 60", "1")}});
  seen.requests[1].allowed = false;
  const auto fix = [&] { return find_flaws(seen).front().fix; };
  seen.probed.lock_out = {.gap = 12s, .denial = 1};
  CHECK(found(seen) == Found{"2 denied-write!"});
  CHECK(fix() == "let a request leave the window when it ends");
  seen.probed.lock_out->counts_denials = true;
  CHECK(fix() == "count first, and write only if the request is allowed");
  // Those below the limit are denied as well, whatever denials leave.
  seen.probed.renewal = {.gap = 51s, .sent = 21, .denied = 3};
  CHECK(fix() == "let a request leave the window when it ends");
  seen.cause = Cause{.kind = Cause::Kind::kRenewedTtl};
  CHECK(found(seen) == Found{"3 denied-write!"});
  CHECK(fix() == "set the TTL only when the key is new");
  seen.cause->kind = Cause::Kind::kUnequalTtls;
  CHECK(found(seen) == Found{"3 short-ttl!"});
}

TEST_CASE("a time in another unit is told of where it is stored, and is why other findings are") {
  auto seen =
      observe({{call(1, "ZREMRANGEBYSCORE ann 0 1767165603", "0"),
                call(2, "ZADD ann 1767225603 id", "1"), call(3, "PEXPIRE ann 61000", "1")}});
  seen.requests[0].allowed = false;
  seen.probed.lock_out = {.gap = 12s, .denial = 0};
  seen.cause = Cause{.given = "{now_s}", .meant = "{now_ms}"};
  CHECK(found(seen) == Found{"2 mixed-units!"});
  CHECK(find_flaws(seen).front().fix == "use {now_ms} in place of {now_s}");
  seen.probed.lock_out.reset();
  CHECK(found(seen) == Found{"2 mixed-units!"});
}

TEST_CASE("what is forgotten is told of where its TTL was set") {
  auto seen = observe({{call(2, "HSET ann n 1", "1"), call(3, "EXPIRE ann 120", "1")}});
  seen.probed.forgotten = {.ttl = 120s, .allowed = 5, .allowed_if_kept = 2};
  CHECK(found(seen) == Found{"3 short-ttl!"});
}

TEST_CASE("a wait of 0 is told of where the TTL is read") {
  auto seen = observe({{call(2, "PTTL ann", "900", false)}});
  seen.requests[0].allowed = false;
  CHECK(found(seen).empty());
  seen.probed.free_pass = {.after = 59s, .sent = 7, .allowed = 7, .request = 0};
  CHECK(found(seen) == Found{"2 zero-wait!"});
}

TEST_CASE("whole seconds in fields and keys are found if each request has its own") {
  std::vector<std::vector<Call>> requests(3);
  auto seen = observe(std::move(requests));
  for (std::size_t i = 0; i < seen.requests.size(); ++i) {
    auto& request = seen.requests[i];
    request.at = kNow + i * 1s;
    const auto second = std::to_string(request.at / 1s);
    request.calls = {call(1, "HSET ann seen " + second, "0"),
                     call(2, "INCR {ann}:1767225600", "1")};
    request.keys.push_back("{ann}:1767225600");
  }
  CHECK(found(seen) == Found{"1 coarse-time"});
  seen.window = 200s;
  CHECK(found(seen).empty());
}

TEST_CASE("leases: each flaw has its name, and a sound semaphore has none") {
  const auto names = [](const LeaseObservation& observation) {
    std::string all;
    for (const auto& finding : find_lease_flaws(observation)) {
      CHECK(finding.line == 0);
      all.append(finding.name).append(" ");
    }
    return all;
  };
  CHECK(names({.limit = 2, .held = 2}).empty());
  CHECK(names({.leak = "x"}) == "leaked-slot ");
  CHECK(names({.leak = "x", .is_for_ever = true}) == "endless-lease ");
  CHECK(names({.held = 2, .overfilled = "x"}) == "too-many-leases ");
  CHECK(names({.held = 2, .overfilled = "x", .is_by_release = true, .clock = "{now_ms}"}) ==
        "frees-another holder-clock ");
}

}  // namespace rlctl::lint
