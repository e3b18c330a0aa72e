#include "cli/errors/failure.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <string>

#include "base/error.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "redis/url.h"
#include "support/json_record.h"

namespace rlctl::cli::failure_test {

TEST_CASE("problem: each failure has its exit status") {
  using redis::Failure;
  const auto status = [](Failure failure) { return describe(redis::Error(failure, "x")).status; };
  CHECK(status(Failure::kUsage) == ExitStatus::kUsage);
  CHECK(status(Failure::kUnsupported) == ExitStatus::kUsage);
  CHECK(status(Failure::kUnreachable) == ExitStatus::kUnreachable);
  CHECK(status(Failure::kTimeout) == ExitStatus::kUnreachable);
  CHECK(status(Failure::kNotNow) == ExitStatus::kUnreachable);
  CHECK(status(Failure::kProtocol) == ExitStatus::kUnreachable);
  CHECK(status(Failure::kRefused) == ExitStatus::kRefused);
  CHECK(status(Failure::kRejected) == ExitStatus::kRejected);
  CHECK(describe(UsageError("x")).status == ExitStatus::kUsage);
  CHECK(describe(std::runtime_error("x")).code == "internal");
}

TEST_CASE("problem: the server's own code is used as the code") {
  CHECK(describe(redis::Error(redis::Failure::kRejected, "x", "OOM")).code == "OOM");
  CHECK(describe(redis::Error(redis::Failure::kTimeout, "x")).code == "timeout");
}

TEST_CASE("problem: an error whose code says nothing has the code of its class") {
  const auto code = [](redis::Failure failure, const char* command) {
    return describe(redis::Error(failure, "x", "ERR").from(nullptr, command)).code;
  };
  CHECK(code(redis::Failure::kNotNow, "EVALSHA") == "not_now");
  CHECK(code(redis::Failure::kRefused, "EVALSHA") == "NOPERM");  // in a script
  CHECK(code(redis::Failure::kRefused, "AUTH") == "refused");
  CHECK(code(redis::Failure::kRejected, "EVALSHA") == "ERR");
}

TEST_CASE("problem: a message has no full stop, and keeps an ellipsis") {
  const auto message = [](const char* text) {
    return describe(redis::Error(redis::Failure::kRejected, text, "OOM")).message;
  };
  CHECK(message("OOM used memory > 'maxmemory'.") == "OOM used memory > 'maxmemory'");
  CHECK(message("OOM used memory...") == "OOM used memory...");
}

TEST_CASE("problem: a NUL does not end a message") {
  using namespace std::string_literals;
  constexpr std::string_view kWhole = "a\\x00b\\x00";
  CHECK(describe(UsageError("a\0b\0"s)).message == kWhole);
  CHECK(describe(OutputError("a\0b\0"s)).message == kWhole);
  CHECK(describe(redis::Error(redis::Failure::kProtocol, "a\0b\0"s)).message == kWhole);
}

TEST_CASE("problem: an unreadable input is not reported as wrong usage") {
  const Problem problem = describe(InputError("access.log:3: no time", "--format names it"));
  CHECK(problem.status == ExitStatus::kUsage);
  CHECK(problem.code == "input");
  CHECK(render(problem, "burst", false) ==
        "rlctl: burst: access.log:3: no time\n  hint: --format names it\n");
}

TEST_CASE("problem: text has a line for the error and one for the hint or, without one, the help") {
  const Problem without_hint = describe(UsageError("no\nkey"));
  CHECK(render(without_hint, "check", false) ==
        "rlctl: check: no\\nkey\nTry 'rlctl check --help'.\n");
  CHECK(render(without_hint, "", false) == "rlctl: no\\nkey\nTry 'rlctl --help'.\n");
  const Problem problem = describe(UsageError("no\nkey", "give one"));
  CHECK(render(problem, "check", false) == "rlctl: check: no\\nkey\n  hint: give one\n");
  CHECK(recorded("check", render(problem, "check", true)) ==
        "{\"error\":{\"code\":\"usage\",\"message\":\"no\\nkey\",\"hint\":\"give one\"}}\n");
}

TEST_CASE("problem: passwords of URLs are masked") {
  CHECK(masked("redis://:secret@h/1") == "redis://*******@h/1");
  CHECK(masked("redis://bob:s@c:t@h") == "redis://*********@h");
  CHECK(masked("redis://bob:***@h") == "redis://bob:***@h");  // as display() writes it
  CHECK(masked("redis://bob:s:***@h") == "redis://*********@h");
  CHECK(masked("--url=redis://secret@h") == "--url=redis://******@h");
  CHECK(masked("redis://h:6379/0") == "redis://h:6379/0");
  CHECK(masked("login:ann") == "login:ann");
  CHECK(masked("login:ann@h") == "login:ann@h");
}

TEST_CASE("problem: no character ends a password, and unix: needs no slashes") {
  CHECK(masked("redis://:a'b c\td\n@e@h") == "redis://***********@h");
  CHECK(masked("unix:ann:secret@/path") == "unix:**********@/path");
  CHECK(masked("-uUnix:secret@/path") == "-uUnix:******@/path");
  CHECK(masked("unix://:secret@/path") == "unix://*******@/path");
  CHECK(masked("unix:///path") == "unix:///path");
  CHECK(masked("unix://@") == "unix://@");
  CHECK(masked("redis://h unix:a:b@/path") == "redis://**********@/path");
  CHECK(masked("://") == "://");
  CHECK(masked("") == "");
  CHECK(quoted_and_masked("redis://:a'b@h") == "'redis://****@h'");
}

TEST_CASE("problem: the server's name comes first and keeps its user, whatever follows") {
  auto server = std::make_shared<redis::Endpoint>();
  server->url = redis::parse_url("redis://ann:secret@h/1");
  const auto error = redis::Error(redis::Failure::kRejected, "no 'login:ann@h'", "ERR");
  const Problem problem = describe(error.from(server, "EVALSHA"));
  CHECK(problem.message == "redis://ann:***@h:6379/1: no 'login:ann@h'");
  CHECK(render(problem, "check", false) == "rlctl: check: " + problem.message + "\n");
  CHECK(describe(ProblemError(problem)) == problem);
  // A message that names it already, and a password that comes after it.
  CHECK(describe(
            redis::Error(redis::Failure::kTimeout, "no answer from " + problem.server).from(server))
            .message == "no answer from redis://ann:***@h:6379/1");
  CHECK(describe(redis::Error(redis::Failure::kRejected, "bad 'redis://bob:pw@h'").from(server))
            .message == "redis://ann:***@h:6379/1: bad 'redis://******@h'");
  CHECK(describe(error).message == "no 'login:ann@h'");
}

TEST_CASE("problem: an error of the server has a hint at what to do") {
  auto server = std::make_shared<redis::Endpoint>();
  server->url.user = "ann";
  const auto hint = [&](const char* code, const char* text, const char* command,
                        redis::Failure failure = redis::Failure::kRejected) {
    return describe(redis::Error(failure, text, code).from(server, command)).hint;
  };
  constexpr auto kRefused = redis::Failure::kRefused;
  // As Redis 6 to 8 and Valkey 8 and 9 write them.
  CHECK(hint("NOPERM",
             "NOPERM this user has no permissions to run the 'evalsha' command or its subcommand",
             "EVALSHA", kRefused) == "grant it: ACL SETUSER ann +evalsha");
  CHECK(hint("NOPERM", "NOPERM User ann has no permissions to run the 'script|load' command",
             "SCRIPT LOAD", kRefused) == "grant it: ACL SETUSER ann '+script|load'");
  for (const char* text :
       {"NOPERM this user has no permissions to access one of the keys used as arguments",
        "NOPERM No permissions to access a key",
        "NOPERM User ann has no permissions to access the 'k' key"}) {
    CHECK(hint("NOPERM", text, "EVALSHA", kRefused) ==
          "grant it: ACL SETUSER ann '~PATTERN', with a pattern that matches the key");
  }
  CHECK(hint("ERR", "ACL failure in script: User ann has no permissions to run the 'rpush' command",
             "EVALSHA", kRefused) ==
        "grant it: ACL SETUSER ann +rpush; rlctl-acl(7) lists all that the script needs");
  CHECK(hint("ERR", "The user executing the script can't run this command or subcommand", "EVALSHA",
             kRefused) ==
        "user 'ann' may not call one of the script's commands; rlctl-acl(7) lists them");
  // With all that the command needs, whichever is refused first.
  redis::Needs needs{.of = "inspect", .commands = {"TIME", "SCRIPT LOAD"}};
  server->needs = [&needs] { return needs; };
  constexpr std::string_view kAll =
      "grant what inspect needs, besides access to its keys: ACL SETUSER ann +time '+script|load'";
  for (const char* command : {"TIME", "SCRIPT LOAD"}) {
    CHECK(hint("NOPERM", "NOPERM this user has no permissions", command, kRefused) == kAll);
  }
  CHECK(hint("ERR", "The user executing the script can't run this command or subcommand", "EVALSHA",
             kRefused) == kAll);
  CHECK(hint("ERR", "ACL failure in script: User ann has no permissions to run the 'time' command",
             "EVALSHA", kRefused) == kAll);
  CHECK(hint("NOPERM", "NOPERM this user has no permissions", "SELECT", kRefused) ==
        std::string(kAll) + " +select");
  CHECK(hint("NOPERM", "NOPERM this user has no permissions", "CLUSTER SLOTS", kRefused) ==
        "grant what inspect needs, besides access to its keys, on each node: ACL SETUSER ann +time "
        "'+script|load' '+cluster|slots' +asking");
  CHECK(hint("NOPERM", "NOPERM User ann has no permissions to access the 'k' key", "EVALSHA",
             kRefused) ==
        "grant it: ACL SETUSER ann '~PATTERN', with a pattern that matches the key");
  CHECK(hint("NOPERM", "NOPERM no permissions to run the 'sentinel|masters' command", "",
             kRefused) == "grant it: ACL SETUSER ann '+sentinel|masters'");
  needs = {.of = "scripts load", .commands = {"SCRIPT LOAD"}, .keys = ""};
  CHECK(hint("NOPERM", "NOPERM this user has no permissions", "SCRIPT LOAD", kRefused) ==
        "grant it: ACL SETUSER ann '+script|load'");
  server->needs = {};
  CHECK(hint("MOVED", "MOVED 866 127.0.0.1:7001", "EVALSHA") ==
        "the key belongs to another node of the cluster; name it instead: --url "
        "redis://127.0.0.1:7001");
  CHECK(hint("MOVED", "MOVED 866 a\\x1bb:7001", "EVALSHA") ==
        "the key belongs to another node of the cluster");
  CHECK(hint("WRONGPASS", "WRONGPASS invalid", "AUTH", kRefused) ==
        "no password was given for user 'ann'; use --askpass, --password-file or the variable "
        "REDISCLI_AUTH");
  server->url.password = "secret";
  CHECK(hint("WRONGPASS", "WRONGPASS invalid", "AUTH", kRefused) ==
        "user 'ann' is unknown or disabled, or has another password");
  server->url.user.clear();
  CHECK(hint("ERR", "AUTH <password> called without any password", "AUTH", kRefused) ==
        "user 'default' has no password on this server; name another with --user, or give no "
        "password");
  CHECK(hint("ERR", "max number of clients reached", "", redis::Failure::kNotNow) ==
        "try again, or raise the server's maxclients");
  for (const char* code : {"LOADING", "BUSY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "NOAUTH",
                           "DENIED", "OOM", "MISCONF", "NOREPLICAS", "ASK", "CROSSSLOT"}) {
    CHECK_FALSE(hint(code, code, "EVALSHA").empty());
  }
  CHECK(hint("ERR", "any other", "EVALSHA").empty());
  // A private server is the user's script's alone.
  CHECK(describe(redis::Error(redis::Failure::kRejected, "OOM", "OOM")).hint.empty());
}

TEST_CASE("problem: the message of an exception is masked for every use") {
  CHECK(describe(UsageError("what is 'redis://:a'b c@h'?")).message ==
        "what is 'redis://******@h'?");
}

}  // namespace rlctl::cli::failure_test
