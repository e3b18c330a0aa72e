#include "redis/reply.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "redis/connection.h"
#include "support/failure.h"
#include "support/fake_transport.h"

namespace rlctl::redis::reply_test {

using support::error_of;

namespace {

// The reply to PING that a connection reads from `bytes`; its first may have another meaning.
Reply reply_from(std::string_view bytes) {
  support::Wire wire{.to_read = {"+PONG\r\n", std::string(bytes)}};
  auto connection = support::over(wire);
  (void)connection.call({"PING"});
  return connection.call({"PING"});
}

constexpr std::string_view kWrongType =
    "WRONGTYPE Operation against a key holding the wrong kind of value";
constexpr std::string_view kOom = "OOM command not allowed when used memory > 'maxmemory'.";

}  // namespace

TEST_CASE("a reply that never ends is refused once it exceeds a bound") {
  constexpr ReplyBounds kBounds{.bytes = std::size_t{1} << 20, .elements = 10'000, .line = 2048};
  constexpr const char *kBytes = "is larger than 1 MiB", *kLine = "has a line of more than 2 KiB",
                       *kElements = "has more than 10000 elements";
  struct Endless {
    std::string_view first, rest;  ///< how it begins, and what follows again and again
    const char* refusal;
  };
  constexpr Endless kEndless[] = {{"$1000000000\r\n", "xxxxxxxx", kBytes},
                                  {"+", "xxxxxxxx", kLine},
                                  {"-", "xxxxxxxx", kLine},
                                  {"$", "11111111", kLine},
                                  {"*", "11111111", kLine},
                                  {"", "xxxxxxxx", nullptr},
                                  {"*1000000000\r\n", ":1\r\n", kElements},
                                  {"*1000000000\r\n", "*0\r\n", kElements},
                                  {"*1000000000\r\n*1\r\n", "$-1\r\n*1\r\n", kElements},
                                  {"*2\r\n:1\r\n", "*1\r\n", "has more than 7 levels of arrays"},
                                  {"*9\r\n*9\r\n*1000000000\r\n", "+\r\n", kElements},
                                  {"*1000000000\r\n", "$4\r\nabcd\r\n", kElements}};
  for (const auto& row : kEndless) {
    const auto& [first, rest, refusal] = row;
    CAPTURE(row.first);
    CAPTURE(row.rest);
    ReplyReader reader;
    std::size_t fed = 0;
    bool is_whole = false;
    const auto feed = [&](std::string_view bytes) {
      fed += bytes.size();
      reader.feed(bytes);
      is_whole = is_whole || reader.next(kBounds);
    };
    std::string often;
    for (int i = 0; i < 500; ++i) often += rest;
    const auto error = error_of([&] {
      feed(row.first);
      while (fed <= 2 * kBounds.bytes) feed(often);
    });
    CHECK_FALSE(is_whole);
    CHECK(error.failure() == Failure::kProtocol);
    if (refusal != nullptr) CHECK(std::string_view(error.what()) == refusal);
    CHECK(fed <= kBounds.bytes + first.size() + often.size());
  }
}

TEST_CASE(
    "each reply is charged with its own bytes, and the bound holds for one that is complete") {
  constexpr ReplyBounds kBounds{.bytes = 1000, .elements = 3};
  const std::string large = "$900\r\n" + std::string(900, 'x') + "\r\n";
  ReplyReader reader;
  reader.feed(large + large + "*3\r\n:1\r\n:2\r\n");
  CHECK(reader.next(kBounds));
  CHECK(reader.next(kBounds));
  CHECK_FALSE(reader.next(kBounds));
  const auto error = error_of([&] {
    reader.feed(":3\r\n");
    (void)reader.next(kBounds);
  });
  CHECK(std::string_view(error.what()) == "has more than 3 elements");
  ReplyReader other;
  other.feed("$1000\r\n" + std::string(1000, 'x') + "\r\n" + large);
  CHECK(error_of([&] { (void)other.next({.bytes = 1008}); }).failure() == Failure::kProtocol);
}

// Some versions of hiredis read more than RESP2.
TEST_CASE(
    "an impossible length, a type of RESP3, a text longer than its length and a line break in a "
    "line are refused") {
  std::vector<std::string> objects{"=5\r\ntxt:x", "$3\r\nabcdef", "$0\r\n:1", "+a\nb", "-ERR a\rb"};
  std::string_view lines =
      "*2147483648 *99999999999999999999 *-2 $-2 $99999999999999999999 *x :1x :+1 :01 $? _ % %0 %1 "
      "%-1 ,1.5 #t ~0 ~1 ~-1 (1 >0 >1 |0 |1 =-1";
  while (!lines.empty()) objects.emplace_back(take_until(lines, " "));
  for (const auto& object : objects) {
    for (const std::string before : {"", "*1\r\n", "*2\r\n$-1\r\n"}) {
      CAPTURE(before + object);
      ReplyReader reader;
      reader.feed(before + object + "\r\n");
      const auto error = error_of([&] { (void)reader.next(); });
      CHECK(error.failure() == Failure::kProtocol);
      CHECK_FALSE(support::contains(error.what(), "memory"));
    }
  }
}

TEST_CASE("each type of reply has its own value and none of the others") {
  struct Case {
    const char* bytes;
    ReplyType type;
    const char* text = "";
    std::int64_t integer = 0;
  };
  constexpr Case kCases[] = {
      {"$5\r\nhe\r\no\r\n", ReplyType::kString, "he\r\no"},
      {"$0\r\n\r\n", ReplyType::kString},
      {"+PONG\r\n", ReplyType::kStatus, "PONG"},
      {":-9223372036854775808\r\n", ReplyType::kInteger, "", INT64_MIN},
      {"-ERR no\r\n", ReplyType::kError, "ERR no"},
      {"$-1\r\n", ReplyType::kNil},
      {"*-1\r\n", ReplyType::kNil},
  };
  for (const auto& row : kCases) {
    CAPTURE(row.bytes);
    const auto reply = reply_from(row.bytes);
    CHECK(reply.type() == row.type);
    CHECK(reply.text() == row.text);
    CHECK(reply.integer() == row.integer);
    CHECK(reply.size() == 0);
  }
}

TEST_CASE("an array's elements can be accessed, and an index out of range is an error") {
  const auto array = reply_from("*3\r\n:1\r\n*1\r\n$1\r\nx\r\n$-1\r\n");
  REQUIRE(array.size() == 3);
  CHECK(array[0].integer() == 1);
  CHECK(array[1][0].text() == "x");
  CHECK(array[2].is_nil());
  CHECK(error_of([&] { (void)array[3]; }).failure() == Failure::kProtocol);
  CHECK(error_of([&] { (void)array[0][0]; }).failure() == Failure::kProtocol);
}

// As Redis 6.0.16, 7.0.15, 8.0.2, 8.6.3, Valkey 8.0.1, 8.1.1, 9.1.2 and Redict 7.3.6 write them;
// the SHA1s are those of the scripts that were run.
TEST_CASE("an error reply is classified by its code, whatever the server") {
  const std::pair<Failure, std::vector<std::string>> kinds[] = {
      {Failure::kRejected,
       {std::string(kWrongType), "NOSCRIPT No matching script. Please use EVAL.",
        "NOSCRIPT No matching script.", "ERR DB index is out of range",
        "ERR unknown command 'NOSUCH', with args beginning with: 'a' ",
        "READONLY You can't write against a read only replica.",
        "NOREPLICAS Not enough good replicas to write.",
        "CROSSSLOT Keys in request don't hash to the same slot", "MOVED 866 127.0.0.1:7001",
        "EXECABORT Transaction discarded because of previous errors.", "MYCODE my words",
        "MISCONF"}},
      {Failure::kNotNow,
       {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
        "LOADING Redis is loading the dataset in memory",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "CLUSTERDOWN Hash slot not served",
        "TRYAGAIN Multiple keys request during rehashing of slot", "ASK 866 127.0.0.1:7001",
        "ERR max number of clients reached"}},
      {Failure::kRefused,
       {"NOAUTH Authentication required.", "WRONGPASS invalid username-password pair",
        "WRONGPASS invalid username-password pair or user is disabled.",
        "NOPERM this user has no permissions to run the 'set' command or its subcommand",
        "NOPERM No permissions to access a key", "DENIED Redis is running in protected mode",
        ("ERR AUTH <password> called without any password configured for the default user. Are you "
         "sure your configuration is correct?")}},
  };
  for (const auto& kind : kinds) {
    for (const auto& text : kind.second) {
      CAPTURE(text);
      const auto code = text.substr(0, text.find(' '));
      CHECK(error_code(text) == code);
      const auto error = to_error(reply_from("-" + text + "\r\n"));
      CHECK(error.failure() == kind.first);
      CHECK(error.code() == code);
      CHECK(error.what() == (code == "ERR" ? text.substr(4) : text));
    }
  }
}

TEST_CASE("a command that a server does not read without a password is refused for that") {
  const auto error =
      to_error(reply_from("-ERR Protocol error: unauthenticated multibulk length\r\n"));
  CHECK(error.code() == "NOAUTH");
  CHECK(error.failure() == Failure::kRefused);
  CHECK(error.what() == std::string("NOAUTH Protocol error: unauthenticated multibulk length"));
}

TEST_CASE("an error without a code has none") {
  for (const std::string text :
       {"my words", "a\tb\x1b[31m", "A sentence", "", "@", "@user_script:", "@user_script:1:"}) {
    CAPTURE(text);
    const auto error = to_error(reply_from("-" + text + "\r\n"));
    CHECK(error.failure() == Failure::kRejected);
    CHECK(error_code(text).empty());
    CHECK(error.code().empty());
    CHECK(error.what() == escaped_message(text));
  }
}

TEST_CASE("an error inside a script is the inner error, wherever the server puts its position") {
  const std::string call =
      "ERR Error running script (call to f_a94ea23bc16bbab0a3643fd91cb7769443713c02): ";
  const std::string sha1 = " script: a94ea23bc16bbab0a3643fd91cb7769443713c02, on @user_script:1.";
  const std::string no_sha1 = " script: on @user_script:1.", inner = "@user_script:1: ";
  const std::string wrong_type(kWrongType), oom(kOom);
  const std::string read_only = "READONLY You can't write against a read only replica.";
  const std::string no_integer = "value is not an integer or out of range";
  const std::string may_not = "The user executing the script can't run this command or subcommand";
  const std::string no_key =
      "The user executing the script can't access at least one of the keys mentioned in the "
      "command arguments";
  const std::string acl =
      "ACL failure in script: User bob has no permissions to run the 'set' command";
  const std::string words = "user_script:1: my words";
  const std::string global =
      "user_script:1: Script attempted to access nonexistent global variable 'nosuch'";
  const std::string killed = "Script killed by user with SCRIPT KILL...";
  const std::string no_perm = "NOPERM this user has no permissions to run the 'exec' command";
  struct Case {
    std::string text, message;
    Failure failure = Failure::kRejected;
    std::string code = "ERR";
  };
  const std::vector<Case> cases{
      {call + inner + wrong_type, wrong_type, Failure::kRejected, "WRONGTYPE"},
      {wrong_type + sha1, wrong_type, Failure::kRejected, "WRONGTYPE"},
      {wrong_type + no_sha1, wrong_type, Failure::kRejected, "WRONGTYPE"},
      {call + "@user_script:12: ERR " + no_integer, no_integer},
      {call + inner + "@user_script: 1: -" + oom, oom, Failure::kRejected, "OOM"},
      {oom + sha1, oom, Failure::kRejected, "OOM"},
      {call + inner + "@user_script: 1: -" + read_only, read_only, Failure::kRejected, "READONLY"},
      {call + inner + "@user_script: 1: " + may_not, may_not, Failure::kRefused},
      {"@user_script: 1: " + may_not, may_not, Failure::kRefused, ""},
      {call + inner + "@user_script: 1: " + no_key, no_key, Failure::kRefused},
      {"ERR " + may_not + sha1, may_not, Failure::kRefused},
      {"ERR " + may_not, may_not, Failure::kRefused},
      {"ERR " + acl + sha1, acl, Failure::kRefused},
      {"ERR " + acl + no_sha1, acl, Failure::kRefused},
      {"ERR " + acl, acl, Failure::kRefused},
      {call + inner + words, words},
      {"ERR " + words + sha1, words},
      {"ERR " + words + no_sha1, words},
      {call + "@enable_strict_lua:15: " + global, global},
      {call + inner + killed, killed},
      {"ERR Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'",
       "Error compiling script (new function): user_script:1: unexpected symbol near '<eof>'"},
      {"ERR Error running script (call to f_", "Error running script (call to f_"},
      {"MYCODE a script: of mine", "MYCODE a script: of mine", Failure::kRejected, "MYCODE"},
      {"EXECABORT Transaction discarded because of: " + no_perm, no_perm, Failure::kRefused,
       "NOPERM"},
  };
  for (const auto& row : cases) {
    CAPTURE(row.text);
    CHECK(error_code(row.text) == row.code);
    const auto error = to_error(reply_from("-" + row.text + "\r\n"));
    CHECK(error.failure() == row.failure);
    CHECK(error.what() == row.message);
  }
}

TEST_CASE("the line at which a script raised an error is found in the messages of every version") {
  const std::string failed = "ERR Error running script (call to f_47e30a5d): ";
  CHECK(script_line("ERR user_script:12: boom script: 47e30a5d, on @user_script:12.") == 12);
  CHECK(script_line("OOM no memory script: on @user_script:7.") == 7);
  CHECK(script_line(failed + "@user_script:2: ERR no integer") == 2);
  CHECK(script_line(failed + "@user_script: 3: boom") == 3);
  CHECK(script_line(failed + "@enable_strict_lua:15: user_script:4: nonexistent global") == 4);
  CHECK(script_line("ERR Error compiling script (new function): user_script:2: unexpected") == 2);
  CHECK(script_line("ERR saw @user_script:99: script: x, on @user_script:5.") == 5);
  CHECK_FALSE(script_line("ERR value is not an integer or out of range"));
  CHECK_FALSE(script_line("ERR user_script:x"));
  CHECK_FALSE(script_line(""));
}

TEST_CASE("a script's source tells which command an ACL refused, where the server does not") {
  const std::string script =
      "local a = redis.pcall('GET', KEYS[1])\n"
      "if a.err then return a end\n"
      "return redis.call('SETRANGE', KEYS[1], 0, 'x')";
  const std::string may_not = "The user executing the script can't run this command or subcommand";
  const std::string sha1 = "a94ea23bc16bbab0a3643fd91cb7769443713c02";
  const std::string by_acl = "ACL failure in script: User bob has no permissions to run 'set'";
  const std::string no_perm = "NOPERM this user has no permissions to run the 'evalsha' command";
  const std::string failed = "ERR Error running script (call to f_" + sha1 + "): ";
  struct Case {
    std::string text, message, command;
  };
  const Case cases[] = {
      // Redis 7.0 and 6.0, raised in line 3, and returned from line 1
      {"ERR " + may_not + " script: " + sha1 + ", on @user_script:3.", may_not + ": 'setrange'",
       "SETRANGE"},
      {failed + "@user_script:3: @user_script: 3: " + may_not, may_not + ": 'setrange'",
       "SETRANGE"},
      {"ERR " + may_not, may_not + ": 'get'", "GET"},
      {"@user_script: 1: " + may_not, may_not + ": 'get'", "GET"},
      // from a line that calls nothing, and named by the server: PING is what was sent
      {"ERR " + may_not + " script: " + sha1 + ", on @user_script:2.", may_not, "PING"},
      {"ERR " + by_acl, by_acl, "PING"},
      {no_perm, no_perm, "PING"},
  };
  for (const auto& row : cases) {
    CAPTURE(row.text);
    const auto error = to_error(reply_from("-" + row.text + "\r\n"), script);
    CHECK(std::string(error.what()) == row.message);
    CHECK(error.command() == row.command);
    CHECK(error.failure() == Failure::kRefused);
  }
}

}  // namespace rlctl::redis::reply_test
