// needs: server
#include "stored/inspection.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "redis/server.h"
#include "stored/libraries.h"
#include "support/failure.h"
#include "support/random.h"

namespace stored_entries_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;

namespace {

/// What inspect() says with the built-in rows.
Inspection inspect(redis::Connection& connection, const std::string& key,
                   const InspectionRequest& request, const OnProgress& on_progress = {}) {
  return stored::inspect(connection, key, request, built_in_libraries(), on_progress);
}

constexpr std::int64_t kFirst = 1'700'000'000'000'000;

/// A server, a connection that reads, and one that writes at the same time.
struct Servers {
  redis::PrivateServer server;
  redis::Connection reader = redis::Connection::open(server.url(), 120s);
  redis::Connection writer = redis::Connection::open(server.url(), 120s);

  /// A command from another client.
  void write(const std::vector<std::string_view>& command) {
    const auto reply = writer.call(command);
    REQUIRE_MESSAGE(!reply.is_error(), reply.text());
  }
  /// Creates `count` entries, `step` µs apart, oldest first.
  void make(std::string_view type, std::int64_t count, std::int64_t step = 10) {
    const std::string script =
        type == "list" ? "for i = 0, ARGV[1] - 1 do redis.call('RPUSH', KEYS[1], "
                         "string.format('%d', ARGV[2] + i * ARGV[3])) end"
                       : "for i = 0, ARGV[1] - 1 do local at = string.format('%d', ARGV[2] + i * "
                         "ARGV[3]) redis.call('ZADD', KEYS[1], at, at .. ':0000000000') end";
    write({"DEL", "k"});
    const auto reply = writer.call({"EVAL", script, "1", "k", std::to_string(count),
                                    std::to_string(kFirst), std::to_string(step)});
    REQUIRE_MESSAGE(!reply.is_error(), reply.text());
  }
  /// What inspect() reports about all entries if `write` runs after this many pages.
  Inspection inspect_while(int pages, const std::function<void()>& write) {
    int page = 0;
    return inspect(reader, "k",
                   {.limit = Limit{.limit = 100'000, .window = 3600s},
                    .now = microseconds{kFirst + 1'000'000'000},
                    .entries = std::nullopt},
                   [&](std::int64_t, std::int64_t) {
                     if (++page == pages) write();
                   });
  }
};

std::vector<microseconds> times_of(const Inspection& inspection) {
  std::vector<microseconds> times;
  for (const auto& entry : inspection.entries) {
    times.insert(times.end(), static_cast<std::size_t>(entry.count), entry.at);
  }
  return times;
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

}  // namespace

TEST_CASE("each entry that stays in a key is reported once, whatever happens while it is read") {
  using Command = std::vector<std::string_view>;
  struct Case {
    std::string_view type;
    std::vector<Command> meanwhile;
    std::size_t reported;
    std::int64_t first;  ///< index of the first one reported
  };
  const Case cases[] = {
      {"list", std::vector<Command>(50, {"RPUSH", "k", "1700000900000000"}), 35'000, 0},
      {"zset",
       {{"ZADD", "k", "1700000900000000", "1700000900000000:0000000000"},
        {"ZADD", "k", "1700000900000001", "1700000900000001:0000000000"}},
       35'000,
       0},
      {"list", {{"LTRIM", "k", "500", "-1"}}, 34'500, 500},
      {"zset", {{"ZREMRANGEBYRANK", "k", "0", "499"}}, 34'500, 500},
      // The newest are read first; a page is in flight when the key disappears.
      {"list", {{"DEL", "k"}}, 21'000, 14'000},
      {"zset", {{"DEL", "k"}}, 21'000, 14'000},
  };
  Servers servers;
  for (const auto& each : cases) {
    CAPTURE(each.type);
    CAPTURE(each.meanwhile.front().front());
    servers.make(each.type, 35'000);
    const auto seen = servers.inspect_while(1, [&] {
      for (const auto& command : each.meanwhile) servers.write(command);
    });
    CHECK(seen.changed_while_read);
    const auto times = times_of(seen);
    REQUIRE(times.size() == each.reported);
    CHECK(times.front() == microseconds{kFirst + each.first * 10});
    const auto last = each.first + static_cast<std::int64_t>(each.reported) - 1;
    CHECK(times.back() == microseconds{kFirst + last * 10});
    CHECK(std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) == times.end());
  }
}

TEST_CASE("a key that is replaced while it is read is reported as its new type") {
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, 35'000);
    const auto hash = servers.inspect_while(1, [&] {
      servers.write({"DEL", "k"});
      servers.write({"HSET", "k", "f", "v"});
    });
    CHECK(hash.content.type == "hash");
    CHECK_FALSE(hash.is_limiter());
    CHECK_FALSE(hash.changed_while_read);
    CHECK(hash.entries.empty());
    CHECK(servers.reader.outstanding() == 0);
  }
}

TEST_CASE("a key that changes its type on every read is an error, not a hang") {
  Servers servers;
  servers.make("list", 35'000);
  const auto swap = [&](std::int64_t, std::int64_t) {
    const bool list = servers.writer.call({"TYPE", "k"}).text() == "list";
    servers.make(list ? "zset" : "list", 35'000);
  };
  const auto error = support::error_of(
      [&] { (void)inspect(servers.reader, "k", {.entries = std::nullopt}, swap); });
  CHECK(error.failure() == redis::Failure::kNotNow);
  CHECK(support::message_of(error) == "'k' changes faster than it can be read");
}

TEST_CASE("a window of many entries is reported in little memory") {
  const auto count = test::scaled(200'000, 1'000'000);
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, count);
    // They are 10 µs apart; a fifth of them is outside the window.
    const microseconds window{count * 8};
    const auto used = count / 10 * 8;
    const InspectionRequest request{.limit = Limit{.limit = count / 10 * 9, .window = window},
                                    .now = microseconds{kFirst + (count - 1) * 10},
                                    .bars = 60};
    static_cast<void>(inspect(servers.reader, "k", request));
    const auto before = resident_bytes();
    const auto seen = inspect(servers.reader, "k", request);
    CHECK(resident_bytes() < before + (1 << 20));
    CHECK(seen.stored == count);
    CHECK(seen.used == used);
    CHECK(seen.expired == count - used);
    CHECK(seen.remaining == count / 10);
    CHECK(seen.next_free == 0us);
    CHECK(seen.reset_after == window);
    CHECK(seen.entries.size() == 20);
    REQUIRE(seen.bars.size() == 60);
    CHECK(*std::max_element(seen.bars.begin(), seen.bars.end()) <= used / 60 + 1);
    CHECK(*std::min_element(seen.bars.begin(), seen.bars.end()) >= used / 60);
  }
}

TEST_CASE("many entries of one instant are one line") {
  const auto count = test::scaled(200'000, 1'000'000);
  Servers servers;
  servers.make("list", count, 0);
  int reports = 0;
  const auto seen =
      inspect(servers.reader, "k",
              {.limit = Limit{.limit = 2 * count, .window = 60s}, .now = microseconds{kFirst}},
              [&](std::int64_t, std::int64_t) { ++reports; });
  CHECK(seen.entries == std::vector<InspectedEntry>{{.at = microseconds{kFirst}, .count = count}});
  CHECK(reports == count / 10'000);
}

}  // namespace stored_entries_test
