#include "support/limiters.h"

#include <doctest/doctest.h>

#include <ostream>

namespace rlctl::test {

using namespace std::chrono_literals;

Decision ModelLimiter::ask(const Request& request) {
  const auto& reservation = request.reservation;
  asked_.clear();
  for (std::size_t i = 0; i < request.keys.size(); ++i) {
    auto& key = keys_[request.keys[i]];
    if (!key) key = algorithm_.make_model();
    asked_.push_back({key.get(), request.limits[i]});
  }
  const auto now = request.now.value();
  if (!reservation) return limiter::decide(asked_, request.cost, now);
  std::vector<limiter::BudgetAndLimit> budgets;
  for (const auto& [key, limit] : asked_) {
    budgets.push_back({dynamic_cast<limiter::BudgetModel*>(key), limit});
  }
  const auto& [settles, id, hold] = *reservation;
  return settles ? limiter::settle(budgets, id, request.cost, now)
                 : limiter::reserve(budgets, id, request.cost, hold, now);
}

bool ModelLimiter::exists(const std::string& key) const {
  const auto found = keys_.find(key);
  return found != keys_.end() && !found->second->empty();
}

const limiter::BudgetModel* ModelLimiter::budget(const std::string& key) const {
  const auto found = keys_.find(key);
  if (found == keys_.end()) return nullptr;
  return dynamic_cast<const limiter::BudgetModel*>(found->second.get());
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
  text += ", " + std::to_string(decision.denied_by);
  if (decision.reservation) {
    text += ", " + std::string(to_text(*decision.reservation)) + ", " +
            std::to_string(decision.units) + ", " + std::to_string(decision.hold.count());
  }
  return text + "}";
}

std::string to_command(const Algorithm& algorithm, const Request& request) {
  std::string text = "redis-cli --eval lua/" + std::string(algorithm.name) + ".lua";
  for (const auto& key : request.keys) text += " " + key;
  text += " ,";
  limiter::CheckCommand command(algorithm);
  for (const auto argument : command.of(request).arguments) {
    text += argument.empty() ? " ''" : " " + std::string(argument);
  }
  return text;
}

}  // namespace rlctl::test

namespace rlctl::limiter {
std::ostream& operator<<(std::ostream& out, const Decision& decision) {
  return out << test::to_text(decision);
}
}  // namespace rlctl::limiter
