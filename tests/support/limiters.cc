#include "support/limiters.h"

#include <doctest/doctest.h>

#include <ostream>

namespace rlctl::test {

using namespace std::chrono_literals;

Decision ModelLimiter::ask(const Request& request) {
  asked_.clear();
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    auto& key = keys_[request.keys[i]];
    if (!key) key = algorithm_.make_model();
    asked_.push_back({key.get(), request.limits[i]});
  }
  return limiter::decide(asked_, request.cost, request.now.value());
}

bool ModelLimiter::exists(const std::string& key) const {
  const auto found = keys_.find(key);
  return found != keys_.end() && !found->second->empty();
}

TestServer::TestServer() : connection_(redis::Connection::open(server_.url(), 60s)) {}

redis::Reply TestServer::call(const std::vector<std::string>& arguments) {
  const std::vector<std::string_view> views(arguments.begin(), arguments.end());
  return connection_.call(views);
}

redis::Reply TestServer::eval(std::string_view script, const std::vector<std::string>& keys,
                              const std::vector<std::string>& arguments) {
  const auto count = std::to_string(keys.size());
  std::vector<std::string_view> command{"EVAL", script, count};
  command.insert(command.end(), keys.begin(), keys.end());
  command.insert(command.end(), arguments.begin(), arguments.end());
  return connection_.call(command);
}

std::string TestServer::dump(std::string_view key) {
  return std::string(call({"DUMP", key}).text());
}

std::int64_t TestServer::pttl(std::string_view key) {
  return call({"PTTL", key}).integer();
}

const Algorithm& algorithm(std::string_view name) {
  const auto* found = limiter::find_algorithm(name);
  REQUIRE_MESSAGE(found != nullptr, "no algorithm ", std::string(name));
  return *found;
}

std::string to_text(const Decision& decision) {
  std::string text = "{";
  text += std::to_string(decision.allowed ? 1 : 0);
  for (const auto number : {decision.remaining, decision.retry_after.count(),
                            decision.reset_after.count(), decision.delay.count()}) {
    text += ", " + std::to_string(number);
  }
  return text + ", " + std::to_string(decision.denied_by) + "}";
}

std::string to_command(const Algorithm& algorithm, const Request& request) {
  std::string text = "redis-cli --eval lua/" + std::string(algorithm.name) + ".lua";
  for (const auto& key : request.keys) text += " " + key;
  text += " ,";
  for (const auto& limit : request.limits) {
    text += " " + std::to_string(limit.limit) + " " + std::to_string(limit.window.count()) + " ";
    text += limit.burst ? std::to_string(*limit.burst) : "''";
  }
  text += " " + std::to_string(request.cost);
  if (request.now) text += " " + std::to_string(request.now->count());
  return text;
}

}  // namespace rlctl::test

namespace rlctl::limiter {
std::ostream& operator<<(std::ostream& out, const Decision& decision) {
  return out << test::to_text(decision);
}
}  // namespace rlctl::limiter
