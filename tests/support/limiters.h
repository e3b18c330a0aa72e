#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/budget_model.h"
#include "limiter/check.h"
#include "redis/connection.h"
#include "redis/server.h"

namespace rlctl::test {

using limiter::Algorithm;
using limiter::Decision;
using limiter::Limit;
using limiter::Request;
using std::chrono::microseconds;

/// Something that decides, and about which properties are stated. A key exists once it has been
/// used.
class Limiter {
 public:
  virtual ~Limiter() = default;
  virtual Decision ask(const Request& request) = 0;

  Decision ask(const std::string& key, const Limit& limit, std::int64_t cost, microseconds now) {
    return ask(Request{{key}, {limit}, cost, now});
  }
};

/// An algorithm's model in C++.
class ModelLimiter final : public Limiter {
 public:
  explicit ModelLimiter(const Algorithm& algorithm) : algorithm_(algorithm) {}
  using Limiter::ask;
  Decision ask(const Request& request) override;
  /// Whether the key would exist in Redis.
  bool exists(const std::string& key) const;
  /// The key's model; null if it has not been used, or if the algorithm has no reservations.
  const limiter::BudgetModel* budget(const std::string& key) const;

 private:
  const Algorithm& algorithm_;
  std::map<std::string, std::unique_ptr<limiter::KeyModel>> keys_;
  std::vector<limiter::KeyAndLimit> asked_;
};

/// A server for this test, and a connection to it.
class TestServer {
 public:
  TestServer();
  redis::Connection& connection() { return connection_; }
  pid_t pid() const { return server_.pid(); }
  redis::PrivateServer& server() { return server_; }

  redis::Reply call(std::initializer_list<std::string_view> arguments) {
    return connection_.call(arguments);
  }
  redis::Reply call(const std::vector<std::string>& arguments);
  /// EVALSHA, or EVAL if the server does not have the script.
  redis::Reply eval(std::string_view script, const std::vector<std::string>& keys,
                    const std::vector<std::string>& arguments);
  /// Identifies a key's type and contents; empty if there is no key.
  std::string dump(std::string_view key);
  /// In ms; -1 without a TTL, -2 without the key.
  std::int64_t pttl(std::string_view key);

 private:
  redis::PrivateServer server_;
  redis::Connection connection_;
};

/// An algorithm's script on a server.
class ScriptLimiter final : public Limiter {
 public:
  ScriptLimiter(TestServer& server, const Algorithm& algorithm)
      : checker_(server.connection(), algorithm) {}
  using Limiter::ask;
  Decision ask(const Request& request) override { return checker_.check(request); }

 private:
  limiter::Checker checker_;
};

/// The row of an existing algorithm.
const Algorithm& algorithm(std::string_view name);

/// {1, 4, 0, 60000000, 0, 0}
std::string to_text(const Decision& decision);
/// The request as typed by hand: redis-cli --eval lua/NAME.lua KEYS , ARGUMENTS
std::string to_command(const Algorithm& algorithm, const Request& request);

}  // namespace rlctl::test

namespace rlctl::limiter {
/// For doctest's messages.
std::ostream& operator<<(std::ostream& out, const Decision& decision);
}  // namespace rlctl::limiter
