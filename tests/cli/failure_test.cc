#include "cli/failure.h"

#include <doctest/doctest.h>

#include <stdexcept>
#include <string>

#include "base/error.h"
#include "redis/error.h"

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
  CHECK(render(problem, "check", true) ==
        "{\"error\":{\"code\":\"usage\",\"message\":\"no\\nkey\",\"hint\":\"give one\"}}\n");
}

TEST_CASE("problem: passwords of URLs are masked") {
  CHECK(masked("redis://:secret@h/1") == "redis://*******@h/1");
  CHECK(masked("redis://bob:s@c:t@h") == "redis://*********@h");
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
  CHECK(in_quotes("redis://:a'b@h") == "'redis://****@h'");
}

TEST_CASE("problem: the message of an exception is masked for every use") {
  CHECK(describe(UsageError("what is 'redis://:a'b c@h'?")).message ==
        "what is 'redis://******@h'?");
}

}  // namespace rlctl::cli::failure_test
