// needs: server
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "keyspace/keyspace.h"
#include "redis/server.h"
#include "support/forwarded_commands.h"
#include "support/random.h"
#include "support/server.h"
#include "support/standing_clock.h"
#include "support/stored_contents.h"

// Random calls, on few keys and at times around their expiry, of a Keyspace and of a server whose
// clock stands at the same time: replies, errors, types, values and TTLs must be equal.
//
// The model is Redis 7. On other servers, calls are not compared in which only one side replies an
// error, and no odd words are sent. They are known to do otherwise:
//   - Redis 6 lacks commands and options of 6.2 and 7.0, such as GETEX, COPY, LPOP with a count,
//     ZADD GT, ZRANGE BYSCORE and EXPIRE NX; ZPOPMIN takes a negative count for 0 there;
//   - Redis 8 and Valkey check all words of BITCOUNT before they look at the key; Redis 8.6 and
//     Valkey 9 refuse a bound of scores that begins with a blank; Valkey 9 checks the time of GETEX
//     even if there is no key;
//   - SET with EXAT or PXAT and the current time leaves no key on Valkey; on Redis, it exists until
//     the millisecond is over;
//   - Redis 8, when it looks for keys that have expired, removes them in the millisecond of their
//     expiry; without that, they can be read in it;
//   - LSET with an index of 2^62 sets the first element on Redis 8 and Valkey;
//   - scores as text: Redis 8 and Valkey write the shortest, 0.1, where Redis 6 and 7 write
//     0.10000000000000001.

namespace keyspace_differential_test {

using namespace rlctl;
using namespace rlctl::test;
using namespace std::chrono_literals;
using std::chrono::microseconds;

/// The words of a command, one letter each, which next_word() explains. "?" is up to three of the
/// options, whose letters are words, too; "[…]" is once to three times what it encloses.
struct Shape {
  std::string_view name;
  std::string_view words = {};
  std::vector<std::string_view> options = {};
};

const Shape kShapes[] = {
    {"COPY", "kk?", {"REPLACE"}},
    {"DEL", "[k]"},
    {"EXISTS", "[k]"},
    {"EXPIRE", "kd?", {"NX", "XX", "GT", "LT", "nonsense"}},
    {"EXPIREAT", "kD?", {"NX", "XX", "GT", "LT"}},
    {"EXPIRETIME", "k"},
    {"PERSIST", "k"},
    {"PEXPIRE", "kt?", {"NX", "XX", "GT", "lt", "xx", "gt"}},
    {"PEXPIREAT", "kT?", {"NX", "XX", "GT", "LT"}},
    {"PEXPIRETIME", "k"},
    {"PTTL", "k"},
    {"PUBLISH", "kv"},
    {"RENAME", "kk"},
    {"RENAMENX", "kk"},
    {"TIME", ""},
    {"TOUCH", "[k]"},
    {"TTL", "k"},
    {"TYPE", "k"},
    {"UNLINK", "[k]"},
    {"APPEND", "1v"},
    {"DECR", "1"},
    {"DECRBY", "1i"},
    {"GET", "1"},
    {"GETDEL", "1"},
    {"GETEX", "1?", {"EX d", "PX t", "EXAT D", "PXAT T", "PERSIST"}},
    {"GETRANGE", "1ii"},
    {"GETSET", "1v"},
    {"INCR", "1"},
    {"INCRBY", "1i"},
    {"INCRBYFLOAT", "1f"},
    {"MGET", "[k]"},
    {"MSET", "[kv]"},
    {"MSETNX", "[kv]"},
    {"PSETEX", "1tv"},
    {"SET", "1v"},
    {"SET", "1v?", {"EX d", "PX t", "EXAT D", "PXAT T", "KEEPTTL", "NX", "XX", "GET"}},
    {"SETEX", "1dv"},
    {"SETNX", "1v"},
    {"SETRANGE", "1iv"},
    {"STRLEN", "1"},
    {"SUBSTR", "1ii"},
    {"BITCOUNT", "1"},
    {"BITCOUNT", "1ii?", {"BIT", "BYTE"}},
    {"BITFIELD",
     "k?",
     {"GET y o", "SET y o i", "INCRBY y o i", "OVERFLOW SAT", "OVERFLOW FAIL", "OVERFLOW WRAP",
      "OVERFLOW v"}},
    {"BITFIELD_RO", "1?", {"GET y o", "SET y o i"}},
    {"GETBIT", "1o"},
    {"SETBIT", "1oi"},
    {"HDEL", "3[m]"},
    {"HEXISTS", "3m"},
    {"HGET", "3m"},
    {"HGETALL", "3"},
    {"HINCRBY", "3mi"},
    {"HINCRBYFLOAT", "3mf"},
    {"HKEYS", "3"},
    {"HLEN", "3"},
    {"HMGET", "3[m]"},
    {"HMSET", "3[mv]"},
    {"HSET", "3[mv]"},
    {"HSETNX", "3mv"},
    {"HSTRLEN", "3m"},
    {"HVALS", "3"},
    {"LINDEX", "2i"},
    {"LINSERT", "2?mm", {"BEFORE", "AFTER"}},
    {"LLEN", "2"},
    {"LMOVE", "22??", {"LEFT", "RIGHT"}},
    {"LPOP", "2"},
    {"LPOP", "2i"},
    {"LPUSH", "2[m]"},
    {"LPUSHX", "2[m]"},
    {"LRANGE", "2ii"},
    {"LREM", "2im"},
    {"LSET", "2im"},
    {"LTRIM", "2ii"},
    {"RPOP", "2"},
    {"RPOP", "2i"},
    {"RPOPLPUSH", "22"},
    {"RPUSH", "2[m]"},
    {"RPUSHX", "2[m]"},
    {"SADD", "4[m]"},
    {"SCARD", "4"},
    {"SISMEMBER", "4m"},
    {"SMEMBERS", "4"},
    {"SMISMEMBER", "4[m]"},
    {"SMOVE", "44m"},
    {"SPOP", "4"},
    {"SPOP", "4i"},
    {"SRANDMEMBER", "4"},
    {"SRANDMEMBER", "4i"},
    {"SREM", "4[m]"},
    {"ZADD", "5[sm]"},
    {"ZADD", "5?[sm]", {"NX", "XX", "GT", "LT", "CH", "INCR"}},
    {"ZCARD", "5"},
    {"ZCOUNT", "5bb"},
    {"ZINCRBY", "5sm"},
    {"ZLEXCOUNT", "5ll"},
    {"ZMSCORE", "5[m]"},
    {"ZPOPMAX", "5"},
    {"ZPOPMAX", "5i"},
    {"ZPOPMIN", "5"},
    {"ZPOPMIN", "5i"},
    {"ZRANGE", "5ii?", {"REV", "WITHSCORES", "LIMIT i i"}},
    {"ZRANGE", "5bb?", {"BYSCORE", "REV", "WITHSCORES", "LIMIT i i"}},
    {"ZRANGE", "5ll?", {"BYLEX", "REV", "LIMIT i i"}},
    {"ZRANGEBYLEX", "5ll?", {"LIMIT i i"}},
    {"ZRANGEBYSCORE", "5bb?", {"WITHSCORES", "LIMIT i i"}},
    {"ZRANK", "5m"},
    {"ZREM", "5[m]"},
    {"ZREMRANGEBYLEX", "5ll"},
    {"ZREMRANGEBYRANK", "5ii"},
    {"ZREMRANGEBYSCORE", "5bb"},
    {"ZREVRANGE", "5ii?", {"WITHSCORES"}},
    {"ZREVRANGEBYLEX", "5ll?", {"LIMIT i i"}},
    {"ZREVRANGEBYSCORE", "5bb?", {"WITHSCORES", "LIMIT i i"}},
    {"ZREVRANK", "5m"},
    {"ZSCORE", "5m"},
};

constexpr std::string_view kKeys[] = {"string", "list", "hash", "set", "zset", "any"};
constexpr std::string_view kMembers[] = {"a", "b", "c", "d", "1", "2", "10", "-3", "", "A"};
constexpr std::string_view kIntegers[] = {"0",   "1", "-1", "2",    "-2", "3",  "5",  "-100", "7",
                                          "100", "1", "0",  "1000", "4",  "-4", "10", "15",   "8"};
constexpr std::string_view kOddIntegers[] = {"9223372036854775807",
                                             "-9223372036854775808",
                                             "9223372036854775808",
                                             "4611686018427387904",
                                             "1.5",
                                             "x",
                                             "",
                                             "01",
                                             "-0",
                                             "+1",
                                             " 1",
                                             "1 ",
                                             "1e3",
                                             "-",
                                             "99999999999999999999999"};
constexpr std::string_view kValues[] = {
    "v", "10", "-5", "", "3.25", "hello", "0", "x y", "1e2", "9223372036854775807", "0.1", "007"};
constexpr std::string_view kFloats[] = {"1",   "0.1",   "-0.1",    "3.0e3", "1e17",   "5e-5",
                                        "0.2", "-1e17", "10.5",    "0",     "1e-17",  ".5",
                                        "5.",  "+2",    "100.123", "0x10",  "3.14159"};
constexpr std::string_view kOddFloats[] = {"inf", "-inf",   "+inf", "nan",      "x", "",    " 1",
                                           "1 ",  "1e-400", "1e30", "Infinity", "-", "1,5", "-0"};
constexpr std::string_view kScores[] = {"0", "1", "2", "3", "-1", "1.5", "10", "1700000000123456",
                                        "0", "0"};
constexpr std::string_view kLongScores[] = {
    "0.1",  "1e20", "1e-7", "3.3333333333333335", "1e15", "1e16", "123456789012345678",
    "-0.7", "1e17", "2e22"};
constexpr std::string_view kLexBounds[] = {"-", "+", "[a", "(a", "[c", "(c", "[", "(", "[1", "(b"};
constexpr std::string_view kOddLexBounds[] = {"a", "", "-x", "++"};
constexpr std::string_view kTypes[] = {"u8", "i8", "u4", "i16", "u1", "i64", "u63", "i5", "u32"};
constexpr std::string_view kOddTypes[] = {"u64", "i65", "u0",  "x8", "u",
                                          "",    "8",   "i-1", "U8", "u08"};
constexpr std::string_view kOffsets[] = {"0", "1", "7", "8", "#0", "#1", "#3", "13", "100"};
constexpr std::string_view kOddOffsets[] = {
    "-1", "#-1", "x", "", "#", "4294967296", "99999999999999", "#99999999999", "1.5"};

class Calls {
 public:
  /// For the model, or for another server.
  Calls(Random& random, bool is_model) : random_(random), is_model_(is_model) {}

  std::vector<std::string> next(microseconds now) {
    now_ = now;
    const auto& shape = random_.one_of(kShapes);
    words_ = {std::string(shape.name)};
    if (random_.percent(5)) words_.front() = lower_case(shape.name);
    append(shape.words, shape);
    if (random_.percent(3)) words_.emplace_back(random_.one_of(kValues));
    if (words_.size() > 1 && random_.percent(2)) words_.pop_back();
    return words_;
  }

 private:
  void append(std::string_view letters, const Shape& shape) {
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (letters[i] == '[') {
        const auto end = letters.find(']', i);
        const auto group = letters.substr(i + 1, end - i - 1);
        for (auto times = random_.uniform(1, 3); times > 0; --times) append(group, shape);
        i = end;
      } else if (letters[i] == '?') {
        // One option in most calls, so that some are valid.
        for (auto n = random_.percent(30) ? random_.uniform(0, 3) : 1; n > 0; --n)
          append_option(shape);
      } else {
        words_.push_back(next_word(letters[i]));
      }
    }
  }
  void append_option(const Shape& shape) {
    auto option = random_.one_of(shape.options);
    while (!option.empty()) {
      const auto word = take_until(option, " ");
      const bool is_letter = word.size() == 1;
      words_.push_back(is_letter ? next_word(word.front()) : std::string(word));
    }
  }

  template <typename Common, typename Odd>
  std::string one_of(const Common& common, const Odd& odd, int percent_odd) {
    const bool is_odd = is_model_ && random_.percent(percent_odd);
    return std::string(is_odd ? random_.one_of(odd) : random_.one_of(common));
  }
  std::string score() {
    if (is_model_ && random_.percent(30)) return std::string(random_.one_of(kLongScores));
    if (is_model_ && random_.percent(2)) return "1e400";
    return one_of(kScores, kOddFloats, 5);
  }
  std::string next_word(char letter) {
    const auto seconds = now_.count() / 1'000'000, milliseconds = now_.count() / 1000;
    switch (letter) {
      case '1':  // a key that has mostly the first of the types, and so on
      case '2':
      case '3':
      case '4':
      case '5':
        if (random_.percent(85)) return std::string(kKeys[letter - '1']);
        return std::string(random_.one_of(kKeys));
      case 'k':  // any key
        return std::string(random_.one_of(kKeys));
      case 'v':  // a value
        return std::string(random_.one_of(kValues));
      case 'm':  // a member, field or element
        return std::string(random_.one_of(kMembers));
      case 'i':  // an integer
        return one_of(kIntegers, kOddIntegers, 10);
      case 'd':  // a time from now, in seconds
        return random_.percent(90) ? std::to_string(random_.uniform(-1, 4))
                                   : one_of(kIntegers, kOddIntegers, 70);
      case 't':  // in milliseconds
        return random_.percent(90) ? std::to_string(random_.log_uniform(1, 4000) - 2)
                                   : one_of(kIntegers, kOddIntegers, 70);
      case 'D':  // a time since 1970, in seconds
        return random_.percent(90) ? std::to_string(seconds + random_.uniform(-1, 4))
                                   : one_of(kIntegers, kOddIntegers, 70);
      case 'T':  // in milliseconds
        return random_.percent(90) ? std::to_string(milliseconds + random_.log_uniform(1, 2000) -
                                                    (is_model_ ? 3 : 0))
                                   : one_of(kIntegers, kOddIntegers, 70);
      case 'f':  // an increment
        return one_of(kFloats, kOddFloats, 15);
      case 's':
        return score();
      case 'b':  // a bound of a range of scores
        if (random_.percent(20)) return random_.percent(50) ? "-inf" : "+inf";
        return (random_.percent(30) ? "(" : "") + score();
      case 'l':  // a bound of a range of members
        return one_of(kLexBounds, kOddLexBounds, 8);
      case 'y':  // a type of BITFIELD
        return one_of(kTypes, kOddTypes, 8);
      case 'o':  // an offset of bits
        return one_of(kOffsets, kOddOffsets, 10);
      default:
        return "?";
    }
  }

  Random& random_;
  bool is_model_;
  microseconds now_{};
  std::vector<std::string> words_;
};

/// A call on one side.
std::string reply_of(lua::Commands& commands, const std::vector<std::string>& words) {
  const std::vector<std::string_view> views(words.begin(), words.end());
  std::string reply;
  commands.call(views, false, reply);
  return reply;
}

class Sides {
 public:
  Sides() : clock_(1'700'000'000'123'456us), server_(start(clock_)), keyspace_(clock_.now()) {
    connection_ = redis::Connection::open(server_.url(), 30s);
    forwarded_.emplace(*connection_);
    is_model_ = support::is_model(*connection_);
  }

  bool is_model() const { return is_model_; }
  microseconds now() const { return clock_.now(); }
  void set_time(microseconds now) {
    clock_.set(now);
    keyspace_.set_time(now);
  }
  keyspace::Keyspace& keyspace() { return keyspace_; }
  lua::Commands& server() { return *forwarded_; }
  redis::Connection& connection() { return *connection_; }
  void flush() {
    connection_->call({"FLUSHALL"});
    keyspace_ = keyspace::Keyspace(now());
  }

 private:
  static redis::PrivateServer start(const StandingClock& clock) {
    redis::PrivateServer::Options options;
    options.environment = clock.environment();
    return redis::PrivateServer(options);
  }

  StandingClock clock_;
  redis::PrivateServer server_;
  std::optional<redis::Connection> connection_;
  std::optional<ForwardedCommands> forwarded_;
  keyspace::Keyspace keyspace_;
  bool is_model_ = false;
};

/// The next time of a call: often the same, or around the expiry of a key.
microseconds next_time(Random& random, const keyspace::Keyspace& keyspace, bool is_model) {
  if (random.percent(50)) return keyspace.now();
  const auto keys = keyspace.keys();
  const auto* const key = keys.empty() ? nullptr : keyspace.find(random.one_of(keys));
  auto next = keyspace.now() + microseconds{random.log_uniform(1, 2'000'000)};
  const auto hour_later = std::chrono::floor<std::chrono::milliseconds>(keyspace.now()) + 1h;
  if (key != nullptr && key->expiry && *key->expiry < hour_later.count() && random.percent(60)) {
    constexpr std::int64_t kAround[] = {-1, 0, 999, 1000};
    const microseconds at{*key->expiry * 1000 + random.one_of(kAround)};
    if (at > keyspace.now()) next = at;
  }
  if (is_model) return next;
  // To the end of a millisecond in which no key expires.
  next = std::chrono::floor<std::chrono::milliseconds>(next) + 999us;
  const auto expires = [&](std::string_view name) {
    const auto& expiry = keyspace.find(name)->expiry;
    return expiry && *expiry == next.count() / 1000;
  };
  while (std::ranges::any_of(keys, expires)) next += 1ms;
  return next;
}

TEST_CASE("random calls have the same replies and effects as on a server") {
  Random random;
  Sides sides;
  Calls calls(random, sides.is_model());
  std::map<std::string, std::int64_t> refused;
  std::set<std::string> answered;
  const auto count = scaled(5'000, 100'000);
  for (std::int64_t i = 0; i < count; ++i) {
    if (i % 500 == 0) sides.flush();
    sides.set_time(next_time(random, sides.keyspace(), sides.is_model()));
    const auto words = calls.next(sides.now());
    CAPTURE(i);
    CAPTURE(fmt::format("{}", fmt::join(words, "' '")));
    std::string actual;
    try {
      actual = reply_of(sides.keyspace(), words);
    } catch (const keyspace::NotImplementedHere& error) {
      ++refused[error.what()];
      continue;
    }
    const auto expected = reply_of(sides.server(), words);
    if (!sides.is_model() && (actual.starts_with('-') || expected.starts_with('-'))) {
      if (actual.starts_with('-') != expected.starts_with('-')) sides.flush();
      continue;
    }
    if (!actual.starts_with('-')) answered.insert(lower_case(words.front()));
    const auto reply_here = sorted_if_set(words, actual);
    const auto reply_there = sorted_if_set(words, expected);
    CHECK(reply_here == reply_there);
    bool are_equal = reply_here == reply_there;
    for (const auto key : kKeys) {
      if (std::ranges::find(words, key) == words.end() && i % 10 != 0) continue;
      CAPTURE(key);
      const auto here = stored_contents(sides.keyspace(), key);
      const auto there = stored_contents(sides.server(), key);
      CHECK(here == there);
      are_equal = are_equal && here == there;
    }
    // A difference is reported once.
    if (!are_equal) sides.flush();
  }
  // Not only errors were compared.
  for (const auto& command : keyspace::Keyspace::commands()) {
    CAPTURE(command.name);
    if (count > 5'000 && sides.is_model()) CHECK(answered.contains(lower_case(command.name)));
  }
  CHECK(answered.size() > 90);
  for (const auto& [what, times] : refused) MESSAGE(times << " times: " << what);
}

TEST_CASE("large collections grow and shrink as on a server") {
  Random random;
  Sides sides;
  const auto compare = [&](const std::vector<std::string>& words) {
    CAPTURE(fmt::format("{}", fmt::join(words, "' '")));
    const auto here = reply_of(sides.keyspace(), words);
    const auto there = reply_of(sides.server(), words);
    if (!sides.is_model() && there.starts_with('-')) return;
    CHECK(sorted_if_set(words, here) == sorted_if_set(words, there));
  };
  const auto number = [&](std::int64_t most) { return std::to_string(random.uniform(0, most)); };
  const auto count = scaled(6'000, 26'000);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto member = "m" + number(2'500), score = number(500);
    if (random.percent(i < count / 2 ? 90 : 2)) {
      compare({"ZADD", "zset", score, member});
      compare({"HSET", "hash", member, score});
      compare({"SADD", "set", member});
    } else {
      compare({"ZREM", "zset", member});
      compare({"HDEL", "hash", member});
      compare({"SREM", "set", member});
    }
    const auto other = "m" + number(2'500);
    compare({"ZRANK", "zset", other});
    compare({"ZSCORE", "zset", other});
    compare({"ZCOUNT", "zset", "(" + number(500), number(500)});
    compare({"ZRANGE", "zset", number(500), number(500), "BYSCORE", "LIMIT", number(3), "5"});
    compare({"HGET", "hash", other});
    compare({"SISMEMBER", "set", other});
    if (i % 50 != 0) continue;
    compare({"ZREVRANGE", "zset", "-20", "-1", "WITHSCORES"});
    compare({"ZREMRANGEBYSCORE", "zset", score, score});
    compare({"ZREMRANGEBYRANK", "zset", "-2", "-1"});
    compare({"ZPOPMIN", "zset", "2"});
    compare({"HLEN", "hash"});
    compare({"SMEMBERS", "set"});
    compare({"ZRANGE", "zset", "0", "-1", "WITHSCORES"});
  }
  compare({"ZCARD", "zset"});
}

TEST_CASE("a command that is not in the table is refused, and a name of none is a server's error") {
  Sides sides;
  if (!sides.is_model()) return;
  std::set<std::string> names;
  const auto list = sides.connection().call({"COMMAND", "LIST"});
  for (std::size_t i = 0; i < list.size(); ++i) {
    const bool is_subcommand = list[i].text().find('|') != std::string_view::npos;
    if (!is_subcommand) names.emplace(list[i].text());
  }
  for (const auto& command : keyspace::Keyspace::commands()) {
    names.erase(lower_case(command.name));
  }
  CHECK(names.size() > 100);
  for (const auto& name : names) {
    CAPTURE(name);
    CHECK_THROWS_AS(reply_of(sides.keyspace(), {name, "x"}), keyspace::NotImplementedHere);
  }
  for (const std::string name : {"INCRR", "CONFIG SET", "", "CL.THROTTLE"}) {
    CAPTURE(name);
    const auto expected =
        sides.connection().call({"EVAL", "return redis.pcall(unpack(ARGV))", "0", name});
    REQUIRE(expected.is_error());
    CHECK(reply_of(sides.keyspace(), {name}) == fmt::format("-{}\r\n", expected.text()));
  }
}

TEST_CASE("the table of commands is that of a server") {
  Sides sides;
  std::size_t known = 0;
  for (const auto& command : keyspace::Keyspace::commands()) {
    CAPTURE(command.name);
    const auto reply = sides.connection().call({"COMMAND", "INFO", command.name});
    if (reply.size() != 1 || reply[0].size() < 3) continue;
    ++known;
    if (sides.is_model()) CHECK(reply[0][1].integer() == command.arity);
    // COMMAND does not show that Redis takes PUBLISH for a command that writes.
    bool writes = command.name == "PUBLISH";
    for (std::size_t i = 0; i < reply[0][2].size(); ++i) {
      if (reply[0][2][i].text() == "write") writes = true;
    }
    CHECK(writes == command.writes);
    constexpr std::array<std::string_view, 4> kWords{"a", "b", "c", "d"};
    const auto count = command.arity > 0 ? command.arity - 1 : 4;
    std::vector<std::string_view> words{command.name};
    words.insert(words.end(), kWords.begin(), kWords.begin() + count);
    auto question = words;
    question.insert(question.begin(), {"COMMAND", "GETKEYS"});
    const auto keys = sides.connection().call(redis::Arguments(question));
    if (keys.is_error() && !sides.is_model()) continue;  // older servers take fewer words
    std::vector<std::string_view> expected;
    for (std::size_t i = 0; i < keys.size(); ++i) expected.push_back(keys[i].text());
    CHECK(keyspace::keys_of(words) == expected);
    CHECK(keyspace::writes_keys(command.name) == (writes && !expected.empty()));
  }
  if (sides.is_model()) CHECK(known == keyspace::Keyspace::commands().size());
}

}  // namespace keyspace_differential_test
