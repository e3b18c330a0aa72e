#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "redis/connection.h"
#include "redis/error.h"
#include "redis/reply.h"
#include "redis/server.h"
#include "redis/url.h"
#include "stored/reset.h"
#include "support/limiters.h"

namespace rlctl::test::reset {

using namespace std::chrono_literals;
using namespace rlctl::stored;
using redis::Connection;
using redis::Reply;

using Names = std::vector<std::string>;

/// The outcomes as a test sees them: "removed gcra", "left hash no-limiter-state".
using Outcomes = std::vector<std::pair<std::string, std::string>>;

inline std::string describe(const ResetOutcome& outcome) {
  constexpr const char* kResults[] = {"removed", "would remove", "left", "none"};
  constexpr const char* kReasons[] = {" no-limiter-state", " foreign", " uncertain", " part",
                                      " changing",         " changed", " too-large"};
  std::string text = kResults[static_cast<int>(outcome.result)];
  if (outcome.result == ResetResult::kNone) return text;
  text += " " + std::string(outcome.form != nullptr ? outcome.form->name : outcome.type);
  if (outcome.reason) text += kReasons[static_cast<int>(*outcome.reason)];
  return text;
}

/// A server, the connection that resets keys, and one of another client.
class Arena {
 public:
  Arena() : Arena(redis::PrivateServer()) {}
  explicit Arena(const redis::Url& url) : url_(url) {}

  const redis::Url& url() const { return url_; }
  pid_t pid() const { return server_->pid(); }
  Connection connect() const { return Connection::open(url_, 120s); }
  Connection& connection() { return connection_; }
  Reply call(const std::vector<std::string_view>& words) { return other_.call(words); }
  std::string dump(std::string_view key) { return std::string(call({"DUMP", key}).text()); }

  /// Creates a limiter's state, which lasts: a window of the clock ends within it only at midnight.
  void ask(const std::string& key, std::string_view algorithm) {
    constexpr std::string_view kDay = "86400000000";
    std::vector<std::string_view> command{"EVAL", test::algorithm(algorithm).script, "1", key, "5",
                                          kDay};
    if (algorithm == "concurrency") command.insert(command.end(), {"acquire", "me"});
    (void)other_.call(command);
    REQUIRE(call({"EXISTS", key}).integer() == 1);
  }
  /// The same for this many keys, "0" and up.
  Names ask_for(int count, std::string_view algorithm) {
    Names keys;
    for (int i = 0; i < count; ++i) {
      keys.push_back(std::to_string(i));
      ask(keys.back(), algorithm);
    }
    return keys;
  }

  template <typename Keys = Names>
  Outcomes reset(const Keys& keys, ResetOptions options = {}) {
    Outcomes outcomes;
    Resetter resetter(connection_, std::move(options), [&](const ResetOutcome& outcome) {
      outcomes.emplace_back(outcome.key, describe(outcome));
    });
    resetter.reset(keys);
    CHECK(resetter.in_doubt().empty());
    CHECK(connection_.outstanding() == 0);
    return outcomes;
  }

  /// The error of a reset, and the outcomes reported before it.
  struct Failed {
    std::string code;
    redis::Failure failure = {};
    Outcomes outcomes;
    Names in_doubt;
  };
  Failed fail_to_reset(const Names& keys, ResetOptions options = {}) {
    Failed failed;
    Resetter resetter(connection_, std::move(options), [&](const ResetOutcome& outcome) {
      failed.outcomes.emplace_back(outcome.key, describe(outcome));
    });
    try {
      resetter.reset(keys);
      FAIL("no error");
    } catch (const redis::Error& error) {
      failed.code = error.code();
      failed.failure = error.failure();
    }
    failed.in_doubt = resetter.in_doubt();
    return failed;
  }

 private:
  explicit Arena(redis::PrivateServer server) : Arena(server.url()) { server_ = std::move(server); }

  redis::Url url_;
  std::optional<redis::PrivateServer> server_;
  Connection connection_ = connect();
  Connection other_ = connect();
};

}  // namespace rlctl::test::reset
