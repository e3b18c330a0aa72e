// needs: server
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <regex>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "keyspace/keyspace.h"
#include "lua/runner.h"
#include "redis/server.h"
#include "script/template.h"
#include "support/forwarded_commands.h"
#include "support/random.h"
#include "support/server.h"
#include "support/standing_clock.h"
#include "support/stored_contents.h"

// Each script is called with the same random requests in three ways: by EVAL, by a Runner whose
// commands go to another server, and by a Runner whose commands go to a Keyspace. Replies, contents
// and TTLs of all keys must be equal after each.
//
// The model is Redis 7. What other servers do otherwise, and is therefore not compared with them:
//   - the wording of errors: Redis 6 and Valkey have another;
//   - "#!lua", which Redis 6 does not know;
//   - a number as an argument of a command, which Redis 8 and Valkey write with as few digits as it
//     needs or with an exponent, and Redis 6 and 7 with 17 digits.

namespace lua_runner_calls_test {

using namespace rlctl;
using namespace rlctl::test;
using namespace std::chrono_literals;
using std::chrono::microseconds;
namespace fs = std::filesystem;

const fs::path kProject = fs::path(RLCTL_TESTS_DIR).parent_path();

/// How a script is called. A script without a row gets as many keys and arguments as it uses.
struct Convention {
  std::string_view file;  ///< the end of its path
  std::string_view keys;
  std::string_view arguments;
};

constexpr std::string_view kOwn = "{limit} {window_us} {burst} {cost} {now_us}";
constexpr std::string_view kOwnOfServer = "{limit} {window_us} {burst} {cost}";
constexpr Convention kConventions[] = {
    {"lua/budget.lua", "{key}", "{limit} {window_us} - {cost} {now_us}"},
    {"lua/budget.lua", "{key}", "{limit} {window_us} - {cost} {now_us} reserve {holder} 5000000"},
    {"lua/budget.lua", "{key}", "{limit} {window_us} - {cost} {now_us} settle {holder}"},
    {"lua/budget.lua", "{key} {key}:2",
     "{limit} {window_us} - {burst} {window_us} - {cost} {now_us} reserve {holder} 5000000"},
    {"lua/concurrency.lua", "{key}", "{limit} {window_us} {event} {holder} {now_us}"},
    {"lua/concurrency.lua", "{key}", "{limit} {window_us} {event} {holder}"},
    {"lua/fixed-window.lua", "{key}", kOwn},
    {"lua/fixed-window.lua", "{key}", kOwnOfServer},
    {"lua/gcra.lua", "{key}", kOwn},
    {"lua/gcra.lua", "{key} {key}:2",
     "{limit} {window_us} {burst} {burst} {window_us} {limit} {cost} {now_us}"},
    {"lua/leaky-bucket.lua", "{key}", kOwn},
    {"lua/leaky-bucket.lua", "{key}", kOwnOfServer},
    {"lua/sliding-window-counter.lua", "{key}", kOwn},
    {"lua/sliding-window-log.lua", "{key}", kOwn},
    {"lua/sliding-window-log.lua", "{key} {key}:2",
     "{limit} {window_us} - {burst} {window_us} - {cost} {now_us}"},
    {"lua/sliding-window-zset.lua", "{key}", kOwn},
    {"lua/token-bucket.lua", "{key}", kOwn},
    {"lua/token-bucket.lua", "{key}", kOwnOfServer},
    {"libraries/redis_rate_allow_n.lua", "{key}", "{burst} {limit} {window_s} {cost}"},
    {"libraries/redis_rate_allow_at_most.lua", "{key}", "{burst} {limit} {window_s} {cost}"},
    {"libraries/limits_moving.lua", "{key}", "{now} {limit} {window_s} {cost}"},
    {"libraries/limits_sliding.lua", "{key}/-1 {key}", "{limit} {window_s} {cost}"},
    {"libraries/upstash_sliding.lua", "{key}:{window_index} {key}:{prev_window_index}",
     "{limit} {now_ms} {window_ms} {cost}"},
    {"libraries/upstash_token_bucket.lua", "{key}", "{limit} {window_ms} {limit} {now_ms} {cost}"},
    {"libraries/spring_cloud_gateway.lua", "{key}.tokens {key}.timestamp",
     "{rate} {burst} {now_s} {cost}"},
    {"libraries/throttled_py_sliding.lua", "{key}:{window_index} {key}:{prev_window_index}",
     "{window_s} {limit} {cost} {now_ms}"},
    {"libraries/throttled_py_gcra.lua", "{key}", "12 {burst} {cost}"},
    {"libraries/throttled_py_token.lua", "{key}", "{rate} {burst} {cost}"},
    {"libraries/throttled_py_leaking.lua", "{key}", "{rate} {burst} {cost}"},
    {"libraries/redis_cell.lua", "{key}", "4 {limit} {window_s} {cost}"},
    {"libraries/bullmq.lua", "{key}", "{limit} {window_ms}"},
    {"libraries/goredisstore.lua", "{key}", "{now_ms} {window_ms} {limit}"},
};

/// The arguments of a script without a row, and of one call in ten of any script. A script with a
/// loop gets none of the large ones, since it might count up to them; and other servers than the
/// model get none of those that they read or write otherwise.
constexpr std::string_view kAnything[] = {
    "{limit}", "{window_s}", "{window_ms}", "{burst}",     "{cost}",
    "{rate}",  "{event}",    "{holder}",    "{id}",        "{key}",
    "-",       "0",          "-1",          "1e3",         "acquire",
    "0x10",    "0.1",        "nan",         "{window_us}", "{now}",
    "{now_s}", "{now_ms}",   "{now_us}",    "1e400",       "99999999999999999999"};
constexpr std::size_t kPlain = 15, kSmall = 18;

std::string_view anything(Random& random, const std::string& source, bool are_model) {
  const std::span all(kAnything);
  if (!are_model) return random.one_of(all.first(kPlain));
  return random.one_of(source.find("for ") == source.npos ? all : all.first(kSmall));
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// All scripts of the project, except those that never end, and the library, which EVAL refuses.
std::vector<fs::path> scripts() {
  std::vector<fs::path> all;
  for (const auto* folder : {"lua", "examples", "bench/others", "tests/cli", "tests/limiters"}) {
    for (const auto& entry : fs::recursive_directory_iterator(kProject / folder)) {
      const auto name = entry.path().filename();
      if (name.extension() == ".lua" && name != "loop.lua" && name != "library.lua") {
        all.push_back(entry.path());
      }
    }
  }
  std::ranges::sort(all);
  return all;
}

/// "{key} {key}:2" for a script that uses KEYS[2].
std::string words_for(const std::string& source, const std::string& table,
                      const std::string& first) {
  const std::regex element(table + R"(\[(\d+)\])");
  int most = 0;
  for (std::sregex_iterator i(source.begin(), source.end(), element), end; i != end; ++i) {
    most = std::max(most, std::stoi((*i)[1]));
  }
  std::string words;
  for (int i = 1; i <= std::min(most, 9); ++i) {
    words += fmt::format("{}{}", i > 1 ? " " + first : first, i > 1 ? ":" + std::to_string(i) : "");
  }
  return words;
}

std::vector<script::Template> templates(std::string_view words) {
  std::vector<script::Template> all;
  while (!words.empty()) {
    const auto end = std::min(words.find(' '), words.size());
    const auto word = words.substr(0, end);
    all.emplace_back(word == "-" ? "" : word);
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return all;
}

using Words = std::vector<std::string>;
std::vector<std::string_view> views_of(const Words& words) {
  return {words.begin(), words.end()};
}

/// Two servers and a keyspace whose clocks stand, and the ways to call a script.
class Sides {
 public:
  Sides() : clock_(1'700'000'000s), evaluating_(start()), forwarded_(start()) {
    are_model_ = support::is_model(evaluating_.connection);
  }

  microseconds now() const { return clock_.now(); }
  /// On other servers than the model, to a later millisecond if a key expires in this one, in which
  /// Redis 8 has or has not removed it.
  void set_time(microseconds now) {
    const auto expires = [&](std::string_view name) {
      const auto* key = keyspace_.find(name);
      return key != nullptr && key->expiry && *key->expiry == now.count() / 1000;
    };
    while (!are_model_ && std::ranges::any_of(keyspace_.keys(), expires)) now += 1ms;
    clock_.set(now);
    keyspace_.set_time(now);
  }
  redis::Connection& evaluating() { return evaluating_.connection; }
  void flush() {
    for (auto* side : {&evaluating_, &forwarded_}) side->connection.call({"FLUSHALL"});
    keyspace_ = keyspace::Keyspace(now());
  }
  std::string eval(const std::string& source, const Words& keys, const Words& arguments) {
    Words words{"EVAL", source, std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    const auto views = views_of(words);
    return to_resp(evaluating_.connection.call(views));
  }
  std::string run(lua::Runner& runner, const Words& keys, const Words& arguments) {
    ForwardedCommands commands(forwarded_.connection);
    std::string reply;
    runner.run("", views_of(keys), views_of(arguments), commands, reply);
    if (commands.has_long_number()) has_long_number_ = true;
    return reply;
  }
  /// Throws keyspace::NotImplementedHere.
  std::string run_in_process(lua::Runner& runner, const Words& keys, const Words& arguments) {
    std::string reply;
    runner.run("", views_of(keys), views_of(arguments), keyspace_, reply);
    return reply;
  }
  /// The keys that differ between the server that evaluates and the keyspace.
  std::string differing_keys() {
    const auto reply = evaluating_.connection.call({"KEYS", "*"});
    std::set<std::string> names;
    for (std::size_t i = 0; i < reply.size(); ++i) names.emplace(reply[i].text());
    for (const auto name : keyspace_.keys()) names.emplace(name);
    ForwardedCommands server(evaluating_.connection);
    std::string differing;
    for (const auto& name : names) {
      const auto here = stored_contents(keyspace_, name), there = stored_contents(server, name);
      if (here != there) differing += fmt::format("{}\n{}not\n{}", name, here, there);
    }
    return differing;
  }
  /// The servers are Redis 7.
  bool are_model() const { return are_model_; }
  /// The stored numbers are not those of EVAL on another server than the model; asking forgets it.
  bool differ_in_numbers() { return std::exchange(has_long_number_, false) && !are_model_; }
  /// What a server holds after the calls: names, contents and TTLs.
  std::string stored_by_eval() { return stored(evaluating_.connection); }
  std::string stored_by_runner() { return stored(forwarded_.connection); }

 private:
  struct Side {
    redis::PrivateServer server;
    redis::Connection connection;
  };
  Side start() const {
    redis::PrivateServer::Options options;
    options.environment = clock_.environment();
    redis::PrivateServer server(options);
    auto connection = redis::Connection::open(server.url(), 30s);
    return {std::move(server), std::move(connection)};
  }
  static std::string stored(redis::Connection& connection) {
    const auto keys = connection.call({"KEYS", "*"});
    std::set<std::string> names;
    for (std::size_t i = 0; i < keys.size(); ++i) names.emplace(keys[i].text());
    std::string all;
    for (const auto& name : names) {
      const auto ttl = connection.call({"PTTL", name});
      all += fmt::format("{} {} {}\n", name, ttl.integer(), contents(connection, name));
    }
    return all;
  }

  /// The dump or, of a set, whose order differs from server to server, the members.
  static std::string contents(redis::Connection& connection, const std::string& key) {
    if (connection.call({"TYPE", key}).text() != "set") {
      return escape(connection.call({"DUMP", key}).text());
    }
    const auto reply = connection.call({"SMEMBERS", key});
    std::set<std::string> members;
    for (std::size_t i = 0; i < reply.size(); ++i) members.emplace(escape(reply[i].text()));
    return fmt::format("{}", fmt::join(members, " "));
  }

  StandingClock clock_;
  Side evaluating_, forwarded_;
  keyspace::Keyspace keyspace_{clock_.now()};
  bool are_model_ = false;
  bool has_long_number_ = false;
};

/// The reply, or only that it is an error, if the words of errors are not compared.
std::string comparable(const Sides& sides, const std::string& reply) {
  return sides.are_model() || !reply.starts_with('-') ? reply : "an error";
}

/// Random requests to a script with one limit.
class Requests {
 public:
  Requests(Random& random, const Sides& sides, const std::string& source, std::string_view keys,
           std::string_view arguments)
      : random_(random),
        sides_(sides),
        source_(source),
        keys_(templates(keys)),
        arguments_(templates(arguments)),
        limit_{random.log_uniform(1, 20), microseconds{random.uniform(1, 60) * 1'000'000},
               random.log_uniform(1, 20)} {}

  Words keys() { return filled(keys_, 0); }
  Words arguments() { return filled(arguments_, 10); }
  void next() {
    values_ = {.key = random_.percent(80) ? "a" : "b",
               .limit = limit_,
               .cost = random_.percent(70) ? 1 : random_.uniform(-2, 6),
               .id = values_.id + 1,
               .now = sides_.now(),
               .event = random_.percent(60)   ? "acquire"
                        : random_.percent(50) ? "renew"
                                              : "release",
               .holder = random_.percent(50) ? "h1" : "h2"};
  }
  microseconds step() { return microseconds{random_.log_uniform(1, limit_.window.count())}; }

 private:
  /// With a random word in so many percent of cases, and none or one more in a few.
  Words filled(const std::vector<script::Template>& words, int percent_random) {
    Words all;
    for (const auto& word : words) word.append(all.emplace_back(), values_);
    if (percent_random == 0 || !random_.percent(percent_random)) return all;
    const auto any = templates(anything(random_, source_, sides_.are_model()));
    std::string text;
    any.front().append(text, values_);
    const auto at = random_.uniform(0, static_cast<std::int64_t>(all.size()));
    if (at == static_cast<std::int64_t>(all.size())) {
      all.push_back(text);
    } else if (random_.percent(80)) {
      all[static_cast<std::size_t>(at)] = text;
    } else {
      all.resize(static_cast<std::size_t>(at));
    }
    return all;
  }

  Random& random_;
  const Sides& sides_;
  const std::string& source_;
  std::vector<script::Template> keys_, arguments_;
  limiter::Limit limit_;
  script::TemplateValues values_;
};

/// The error of EVAL for a script that a Runner refuses to compile.
std::string error_of(const std::string& source) {
  try {
    const lua::Runner runner(source);
    return "none";
  } catch (const lua::InvalidScript& invalid) {
    return fmt::format("-{}\r\n", invalid.what());
  }
}

void compare(Sides& sides, Random& random, const std::string& source, std::string_view keys,
             std::string_view arguments) {
  std::unique_ptr<lua::Runner> runner;
  try {
    runner = std::make_unique<lua::Runner>(source);
  } catch (const lua::InvalidScript&) {
    CHECK(comparable(sides, sides.eval(source, {}, {})) == comparable(sides, error_of(source)));
    return;
  }
  if (source.starts_with("#!") && sides.eval(source, {}, {}).find("'#'") != std::string::npos) {
    return;
  }
  std::unique_ptr<Requests> requests;
  bool runs_in_process = true;
  for (std::int64_t i = 0; i < scaled(40, 1000); ++i) {
    if (i % 30 == 0) {
      sides.flush();
      requests = std::make_unique<Requests>(random, sides, source, keys, arguments);
    }
    sides.set_time(sides.now() + requests->step());
    requests->next();
    const auto its_keys = requests->keys();
    const auto its_arguments = requests->arguments();
    CAPTURE(i);
    CAPTURE(fmt::format("{}", fmt::join(its_keys, "' '")));
    CAPTURE(fmt::format("{}", fmt::join(its_arguments, "' '")));
    const auto expected = comparable(sides, sides.eval(source, its_keys, its_arguments));
    const auto actual = comparable(sides, sides.run(*runner, its_keys, its_arguments));
    if (sides.differ_in_numbers()) {
      sides.flush();
      continue;
    }
    CHECK(actual == expected);
    CHECK(sides.stored_by_runner() == sides.stored_by_eval());
    if (!runs_in_process) continue;
    std::string in_process;
    try {
      in_process = comparable(sides, sides.run_in_process(*runner, its_keys, its_arguments));
    } catch (const keyspace::NotImplementedHere& error) {
      MESSAGE(std::string(error.what()));
      runs_in_process = false;
      continue;
    }
    CHECK(in_process == expected);
    CHECK(sides.differing_keys() == "");
  }
}

TEST_CASE("every script of the project decides in the process as on a server") {
  Random random;
  Sides sides;
  for (const auto& path : scripts()) {
    CAPTURE(path.string());
    const auto source = text_of(path);
    bool has_row = false;
    for (const auto& row : kConventions) {
      if (!path.string().ends_with(row.file)) continue;
      has_row = true;
      compare(sides, random, source, row.keys, row.arguments);
    }
    if (has_row) continue;
    std::string arguments;
    for (auto count = templates(words_for(source, "ARGV", "x")).size(); count > 0; --count) {
      arguments += std::string(arguments.empty() ? "" : " ") +
                   std::string(anything(random, source, sides.are_model()));
    }
    compare(sides, random, source, words_for(source, "KEYS", "{key}"), arguments);
  }
}

}  // namespace lua_runner_calls_test
