#include "state/entries.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "state/inspection.h"
#include "state/state.h"
#include "support/server.h"

namespace state_entries_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::state;

namespace {

constexpr std::int64_t kFirst = 1'700'000'000'000'000;

/// A server, a connection that reads, and one that writes at the same time.
struct Servers {
  redis::PrivateServer server;
  redis::Connection reader = redis::Connection::open(server.url(), 60s);
  redis::Connection writer = redis::Connection::open(server.url(), 60s);

  /// A command from another client.
  void write(std::initializer_list<std::string_view> command) {
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

const StateForm& form_of(std::string_view type) {
  const std::string_view name = type == "list" ? "sliding-window-log" : "sliding-window-zset";
  return *std::find_if(state_forms().begin(), state_forms().end(),
                       [&](const StateForm& form) { return form.name == name; });
}

std::size_t resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096;
}

}  // namespace

TEST_CASE("while other clients append to a key, each earlier entry is reported exactly once") {
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, 35'000);
    const auto seen = servers.inspect_while(1, [&] {
      for (int i = 0; i < 50; ++i) {
        const auto at = std::to_string(kFirst + 900'000'000 + i);
        if (type == "list")
          servers.write({"RPUSH", "k", at});
        else
          servers.write({"ZADD", "k", at, at + ":0000000000"});
      }
    });
    CHECK(seen.changed_while_read);
    const auto times = times_of(seen);
    REQUIRE(times.size() == 35'000);
    CHECK(times.front() == microseconds{kFirst});
    CHECK(times.back() == microseconds{kFirst + 349'990});
    CHECK(std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) == times.end());
  }
}

TEST_CASE("while the oldest entries of a key are dropped, no entry is reported twice") {
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, 35'000);
    const auto seen = servers.inspect_while(1, [&] {
      if (type == "list")
        servers.write({"LTRIM", "k", "500", "-1"});
      else
        servers.write({"ZREMRANGEBYRANK", "k", "0", "499"});
    });
    CHECK(seen.changed_while_read);
    const auto times = times_of(seen);
    CHECK(times.size() == 34'500);
    CHECK(times.front() == microseconds{kFirst + 5000});
    CHECK(std::adjacent_find(times.begin(), times.end(), std::greater_equal<>()) == times.end());
  }
}

TEST_CASE(
    "if a key is deleted while it is read, the entries read so far and the change are reported") {
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, 35'000);
    const auto seen = servers.inspect_while(1, [&] { servers.write({"DEL", "k"}); });
    CHECK(seen.changed_while_read);
    CHECK(times_of(seen).size() == 21'000);  // a page was in flight when the key disappeared
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
  try {
    static_cast<void>(inspect(servers.reader, "k", {.entries = std::nullopt}, swap));
    FAIL("it was read");
  } catch (const redis::Error& error) {
    CHECK(error.failure() == redis::Failure::kNotNow);
    CHECK(std::string(error.what()) == "'k' changes faster than it can be read");
  }
}

TEST_CASE("searching a deleted key reports that it is gone") {
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, 5000);
    Entries entries(servers.reader, form_of(type), "k", {});
    entries.begin();
    servers.write({"DEL", "k"});
    CHECK_THROWS_AS(static_cast<void>(entries.at(0)), KeyChanged);
    const microseconds instant{kFirst + 100};
    if (type == "list") {
      CHECK_THROWS_AS(static_cast<void>(entries.count_before({&instant, 1})), KeyChanged);
    }
    Entries again(servers.reader, form_of(type), "k", {});
    CHECK_THROWS_AS(again.begin(), KeyChanged);
    servers.write({"SET", "k", "x"});
    Entries other(servers.reader, form_of(type), "k", {});
    CHECK_THROWS_AS(other.begin(), KeyChanged);
    while (servers.reader.outstanding() > 0) static_cast<void>(servers.reader.read());
  }
}

TEST_CASE("a window of a million entries is reported in little memory") {
  Servers servers;
  for (const std::string type : {"list", "zset"}) {
    CAPTURE(type);
    servers.make(type, 1'000'000);
    const InspectionRequest request{.limit = Limit{.limit = 900'000, .window = 8s},
                                    .now = microseconds{kFirst + 9'999'990},
                                    .bars = 60};
    static_cast<void>(inspect(servers.reader, "k", request));
    const auto before = resident_bytes();
    const auto seen = inspect(servers.reader, "k", request);
    CHECK(resident_bytes() < before + (1 << 20));
    CHECK(seen.stored == 1'000'000);
    CHECK(seen.used == 800'000);
    CHECK(seen.expired == 200'000);
    CHECK(seen.remaining == 100'000);
    CHECK(seen.next_free == 0us);
    CHECK(seen.reset_after == 8s);
    CHECK(seen.entries.size() == 20);
    REQUIRE(seen.bars.size() == 60);
    CHECK(*std::max_element(seen.bars.begin(), seen.bars.end()) <= 13'334);
    CHECK(*std::min_element(seen.bars.begin(), seen.bars.end()) >= 13'333);
  }
}

TEST_CASE("a million entries of one instant are one line") {
  Servers servers;
  servers.make("list", 1'000'000, 0);
  int reports = 0;
  const auto seen =
      inspect(servers.reader, "k",
              {.limit = Limit{.limit = 2'000'000, .window = 60s}, .now = microseconds{kFirst}},
              [&](std::int64_t, std::int64_t) { ++reports; });
  CHECK(seen.entries ==
        std::vector<InspectedEntry>{{.at = microseconds{kFirst}, .count = 1'000'000}});
  CHECK(reports == 100);
}

}  // namespace state_entries_test
