// needs: server
#include "stored/forms.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "stored/libraries.h"
#include "support/contract.h"
#include "support/limiters.h"
#include "support/packed.h"
#include "support/random.h"
#include "support/schedule.h"

namespace stored_forms_test {

using namespace std::chrono_literals;
using namespace rlctl;
using namespace rlctl::limiter;
using namespace rlctl::stored;
using namespace rlctl::test;

namespace {

Decoded decode(std::string_view key, const KeySample& content) {
  return built_in_libraries().decode({.key = key, .content = &content}, {});
}

std::string name_of(const KeySample& content) {
  const auto* form = decode_ours(content).form;
  return form == nullptr ? "" : std::string(form->name);
}

KeySample text(std::string text) {
  return {.type = "string", .text = std::move(text)};
}
KeySample list(std::string first, std::string last) {
  return {.type = "list", .first = {std::move(first), ""}, .last = {std::move(last), ""}};
}
KeySample zset(KeySample::Edge first, KeySample::Edge last) {
  return {.type = "zset", .first = std::move(first), .last = std::move(last)};
}

}  // namespace

TEST_CASE("every algorithm has its own form, and every other form names an algorithm or a shape") {
  std::set<std::string_view> names;
  for (const auto& form : our_forms()) {
    CAPTURE(form.label());
    CHECK(form.is_foreign() == !form.summary.empty());
    CHECK(form.library.empty() == form.name.starts_with("foreign-"));
    CHECK((form.algorithm() != nullptr) == !form.is_foreign());
    if (form.is_foreign()) {
      CHECK((form.library.empty() || find_algorithm(form.name) != nullptr));
    } else {
      CHECK(names.insert(form.name).second);
    }
  }
  for (const auto& algorithm : algorithms()) CHECK(names.contains(algorithm.name));
  CHECK(names.size() == algorithms().size());
}

TEST_CASE("the state of every script is decoded as its own, with the limit that it was given") {
  TestServer server;
  Random random;
  for (const auto& algorithm : usual_algorithms()) {
    CAPTURE(algorithm.name);
    for (int i = 0; i < scaled(10, 40); ++i) {
      server.call({"FLUSHALL"});
      ScriptLimiter script(server, algorithm);
      for (const auto& request : make_schedule(algorithm, random)) {
        const auto decision = script.ask(request);
        const auto contents =
            read_contents(server.connection(), request.keys, built_in_libraries());
        for (std::size_t k = 0; k < contents.size(); ++k) {
          if (contents[k].type == "none") continue;
          CAPTURE(contents[k].text);
          const auto state = decode(request.keys[k], contents[k]);
          REQUIRE(state.form != nullptr);
          CHECK(state.form->name == algorithm.name);
          const auto layout = state.form->layout;
          CHECK((state.model != nullptr) == (layout == Layout::kText || layout == Layout::kBudget));
          if (!state.limit || !decision.allowed || request.cost <= 0) continue;
          if (request.reservation) continue;  // made again, it writes nothing
          CHECK(state.limit->limit == request.limits[k].limit);
          if (algorithm.has_burst) {
            CHECK(state.limit->burst == request.limits[k].burst_or_limit());
          }
        }
      }
    }
  }
}

TEST_CASE("a budget is recognized by its header, and reservations are parsed to the last byte") {
  TestServer server;
  const auto& script = algorithm("budget").script;
  const auto add = [&](const std::string& cost, const std::string& id) {
    REQUIRE_FALSE(server
                      .eval(script, {"k"},
                            {"9", "60000000", "", cost, "1700000000000000", "reserve", id, "1000"})
                      .is_error());
  };
  add("4", "one");
  add("5", "two");
  const std::vector<std::string> keys{"k"};
  const auto read = [&] {
    return read_contents(server.connection(), keys, built_in_libraries()).front();
  };
  auto content = read();
  CHECK(content.size == 3);
  REQUIRE(content.fields.size() == 1);
  const auto header = decode("k", content);
  CHECK(header.certain);
  REQUIRE(header.budget);
  CHECK(header.budget->held == 9);
  CHECK(header.budget->remembered == 2);
  CHECK_FALSE(header.budget->whole);

  for (const auto* id : {"one", "two"}) {
    content.fields[id] = server.call({"HGET", "k", id}).text();
  }
  const auto whole = decode("k", content);
  REQUIRE(whole.budget);
  REQUIRE(whole.budget->whole);
  const auto& two = whole.budget->whole->reservations.at("two");
  CHECK(two.units == 5);
  CHECK(two.held_until == microseconds{1'700'000'000'001'000});
  CHECK(two.forgotten_at == microseconds{1'700'000'000'002'000});
  CHECK_FALSE(two.is_settled);

  content.fields["two"].pop_back();
  CHECK(decode("k", content).form == nullptr);
  content = read();
  content.fields[""].pop_back();
  CHECK(decode("k", content).form == nullptr);
  CHECK(decode("k", {.type = "hash", .size = 1, .fields = {{"", std::string(64, 'x')}}}).form ==
        nullptr);
}

TEST_CASE("the times of a budget are no later than its script takes") {
  struct Part {
    std::size_t offset, bytes;
    std::uint64_t most;
  };
  constexpr std::uint64_t kNow = 4'000'000'000'000'000, kEnd = 5'000'000'000'000'000;
  // END, WINDOW, LIMIT, NEXT, TIME, LAST: see rlctl-stored(7).
  constexpr std::array kParts{Part{6, 7, kEnd},           Part{13, 6, 100'000'000'000'000},
                              Part{19, 4, 1'000'000'000}, Part{33, 7, kEnd},
                              Part{40, 7, kNow},          Part{47, 7, kEnd}};
  std::string header = "budget" + std::string(58, '\0');
  const auto set = [&](const Part& part, std::uint64_t value) {
    for (std::size_t i = 0; i < part.bytes; ++i) {
      header[part.offset + i] = static_cast<char>(value >> (8 * i) & 0xff);
    }
  };
  const auto is_budget = [&] {
    return decode("k", {.type = "hash", .size = 1, .fields = {{"", header}}}).form != nullptr;
  };
  for (const auto& part : kParts) set(part, part.most);
  REQUIRE(is_budget());
  for (const auto& part : kParts) {
    CAPTURE(part.offset);
    set(part, part.most + 1);
    CHECK_FALSE(is_budget());
    set(part, part.most);
  }
}

TEST_CASE("strings are parsed to the last byte") {
  constexpr double kStart = 1.7e15, kWindow = 6e7,
                   kInfinity = std::numeric_limits<double>::infinity();
  const auto fixed = packed("fixed ", kStart, 3, 5, kWindow);
  CHECK(name_of(text(fixed)) == "fixed-window");
  CHECK(name_of(text(packed("fixed~", kStart, 3, 5, kWindow))) == "fixed-window");
  CHECK(name_of(text(packed("counter ", kStart, 3, 4, 5, kWindow))) == "sliding-window-counter");
  CHECK(name_of(text(packed("tokens ", 4.0, kStart, 5, kWindow, 5))) == "token-bucket");
  CHECK(name_of(text(packed("tokens ", 4.25, kStart, 5, kWindow, 5))) == "token-bucket");
  CHECK(name_of(text(packed("gcra ", kStart, 4, 5, kWindow, 5))) == "gcra");
  CHECK(name_of(text(packed("leaky ", kStart, 4, 5, kWindow, 5))) == "leaky-bucket");
  for (const char* bad : {"", "fixed", "fixed ", "fixed 1700000000000000 0000003", "1x", "17", "-1",
                          "01", "+1", " 1", "1 ", "1.5", "1e3", "99999999999999999999"}) {
    CAPTURE(bad);
    CHECK(name_of(text(bad)).empty());
  }
  for (const std::string& bad : {packed("fixed-", kStart, 3, 5, kWindow),
                                 packed("fixed ", kStart, 3, 5),
                                 fixed.substr(0, fixed.size() - 1),
                                 fixed + " ",
                                 packed("fixed ", kStart, 3, 5, kWindow, 5),
                                 packed("fixed  ", kStart, 3, 5, kWindow),
                                 packed("fixed ", -kStart, 3, 5, kWindow),
                                 packed("fixed ", kStart + 0.5, 3, 5, kWindow),
                                 packed("fixed ", 9.7e15, 3, 5, kWindow),
                                 packed("fixed ", -kInfinity, 3, 5, kWindow),
                                 packed("fixed ", std::nan(""), 3, 5, kWindow),
                                 packed("fixed ", kStart, -1, 5, kWindow),
                                 packed("fixed ", kStart, 1'000'000'001, 5, kWindow),
                                 packed("fixed ", kStart, 3, 0, kWindow),
                                 packed("fixed ", kStart, 3, 1'000'000'001, kWindow),
                                 packed("fixed ", kStart, 3, 5, 0.0),
                                 packed("fixed ", kStart, 3, 5, 1.5),
                                 packed("fixed ", kStart, 3, 5, 1e14 + 1),
                                 packed("fixed ", kStart, 3, 5, kInfinity),
                                 packed("Fixed ", kStart, 3, 5, kWindow),
                                 packed("xfixed ", kStart, 3, 5, kWindow),
                                 packed("tokens ", -1.0, kStart, 5, kWindow, 5),
                                 packed("tokens ", std::nan(""), kStart, 5, kWindow, 5),
                                 packed("tokens ", kInfinity, kStart, 5, kWindow, 5),
                                 packed("tokens ", 4.0, kStart, 5, kWindow),
                                 packed("gcra ", kStart, 5, 5, kWindow, 5),
                                 packed("gcra ", kStart, 4, 5, kWindow),
                                 packed("gcra ", kStart, 0, 1'000'000'000, kWindow, 1'000'000'000),
                                 packed("leaky ", kStart, 0, 5, kWindow, 1'000'000'000)}) {
    CAPTURE(bad);
    CHECK(name_of(text(bad)).empty());
  }
  for (const std::string number : {"0", "17", "-1", "999999999999999999"}) {
    CHECK(decode("", text(number)).form->name == "foreign-counter");
    CHECK(decode("", text(number)).left == std::stoll(number));
  }
  for (const std::string number : {"0.5", "100.25", "-1.5"}) {
    CHECK(decode("", text(number)).form->name == "foreign-counter");
    CHECK(decode("", text(number)).fraction == std::stod(number));
  }
  for (const char* other : {"01", "+1", "-0", "-0.0", "01.5", "1.", ".5", "1.5.2", "1.5e3", "1e3",
                            "99999999999999999999", "1700000000.25", "1700000000123.5"}) {
    CHECK(decode("", text(other)).form == nullptr);
  }
}

TEST_CASE("a string longer than any limiter's is not a limiter's, even if it starts like one") {
  TestServer server;
  server.call({"SET", "k", std::string(300, '7')});
  server.call({"SET", "l", packed("gcra ", 1.7e15, 4, 5, 6e7, 5) + std::string(200, ' ')});
  const std::vector<std::string> keys{"k", "l"};
  for (const auto& content : read_contents(server.connection(), keys, built_in_libraries())) {
    CHECK(content.text.size() == KeySample::kMaxText);
    CHECK(name_of(content).empty());
  }
}

TEST_CASE("lists and sorted sets are recognized by both ends") {
  CHECK(name_of(list("1700000000000000", "1700000000000000")) == "sliding-window-log");
  auto log = list("1700000000000000", "1700000000000001");
  CHECK_FALSE(decode("", log).certain);  // no TTL: no script leaves it like this
  log.expires = true;
  CHECK(decode("", log).certain);
  for (const auto* number : {"356938035643809", "100009876543210", "5500000000000004"}) {
    auto names = list(number, number);  // IDs of devices, people, cards
    names.expires = true;
    CHECK_FALSE(decode("", names).certain);
  }
  CHECK(name_of(list("3", "17")).empty());  // the script refuses it
  auto small = list("3", "17");
  small.expires = true;
  CHECK(name_of(small) == "sliding-window-log");
  CHECK_FALSE(decode("", small).certain);  // may be anything
  CHECK(name_of(list("17", "3")).empty());
  CHECK(name_of(list("3", "job")).empty());
  CHECK(name_of(list("job", "3")).empty());
  CHECK(name_of(list("3.5", "4.5")).empty());
  CHECK(name_of(list("-3", "4")).empty());
  CHECK(name_of(list("1700000000000000", "9000000000000000")).empty());
  const KeySample::Edge unit{"1700000000000000:0000000003", "1700000000000000"};
  const KeySample::Edge lease{"lease:a", "1700000000000000"};
  const KeySample::Edge ms{"x", "1700000000000"};
  CHECK(name_of(zset(unit, unit)) == "sliding-window-zset");
  CHECK(name_of(zset(lease, lease)) == "concurrency");
  CHECK(decode("", zset(ms, ms)).form->name == "foreign-zset");
  CHECK(decode("", zset(unit, unit)).certain);
  auto leases = zset(lease, lease);
  CHECK_FALSE(decode("", leases).certain);
  leases.expires = true;
  CHECK(decode("", leases).certain);
  leases.first = {"lease:17", "1200"};
  CHECK_FALSE(decode("", leases).certain);  // prices, for example
  leases.first = {"limit", "-3"};
  CHECK(decode("", leases).certain);
  CHECK(decode("", leases).most_leases == 3);
  CHECK(name_of(zset({"limit", "3"}, lease)).empty());
  CHECK(name_of(zset({"limit", "-0.5"}, lease)).empty());
  CHECK(name_of(zset({"limit", "-3"}, {"limit", "-3"})).empty());
  CHECK(name_of(zset({"other", "-3"}, lease)).empty());
  CHECK_FALSE(decode("", zset(ms, ms)).certain);
  CHECK(name_of(zset(unit, lease)).empty());
  CHECK(name_of(zset(lease, unit)).empty());
  CHECK(name_of(zset(unit, ms)).empty());
  CHECK(name_of(zset({"1700000000000000:0000000003", "1700000000000001"}, unit)).empty());
  CHECK(name_of(zset({"1700000000000000:3", "1700000000000000"}, unit)).empty());
  CHECK(name_of(zset({"lease:", "1700000000000000"}, lease)).empty());
  CHECK(name_of(zset({"lease:a", "1700000000000000.5"}, lease)).empty());
  CHECK(name_of(zset({"lease:a", "inf"}, {"lease:a", "inf"})).empty());
  CHECK(name_of(zset({"a", "1"}, {"b", "2"})).empty());
  CHECK(name_of(zset({"a", "1700000000"}, {"b", "1700000001"})).empty());
  CHECK(name_of({.type = "hash"}).empty());
  CHECK(name_of({.type = "none"}).empty());
  CHECK(name_of({.type = "stream"}).empty());
}

TEST_CASE("the decoder accepts any content") {
  Random random;
  const std::vector<std::string> seeds{packed("fixed ", 1.7e15, 3, 5, 6e7),
                                       packed("counter~", 1.7e15, 3, 4, 5, 6e7),
                                       packed("tokens ", 4.25, 1.7e15, 5, 6e7, 5),
                                       packed("gcra ", 1.7e15, 4, 5, 6e7, 5),
                                       "1700000000000000:0000000003",
                                       "lease:a",
                                       "42"};
  int known = 0;
  const auto rounds = scaled(40'000, 200'000);
  for (std::int64_t i = 0; i < rounds; ++i) {
    auto bytes = random.one_of(seeds);
    for (auto n = random.uniform(0, 3); n > 0 && !bytes.empty(); --n) {
      const auto at =
          static_cast<std::size_t>(random.uniform(0, static_cast<std::int64_t>(bytes.size()) - 1));
      if (random.percent(60))
        bytes[at] = static_cast<char>(random.uniform(0, 255));
      else
        bytes.erase(at, 1);
    }
    for (const auto& content :
         {text(bytes), list(bytes, bytes), zset({bytes, bytes}, {bytes, "3"})}) {
      const auto state = decode("", content);
      if (state.form == nullptr) continue;
      ++known;
      // Decoded state can be queried: no limit is out of range, and no frame lacks a window.
      if (state.model) {
        const auto look = state.model->peek(*state.limit, 1, 1'700'000'000s);
        CHECK(look.remaining >= 0);
      }
    }
  }
  CHECK(known > rounds / 20);
}

}  // namespace stored_forms_test
