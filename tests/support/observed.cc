#include "support/observed.h"

#include <fmt/format.h>

namespace rlctl::test {
namespace {

constexpr const char* kSet = "ttls set";  // the list of them

/// Stands before the script, on its first line.
constexpr const char* kSubstitute =
    "local real = redis; local redis = setmetatable({{call = function(command, key, ...) "
    "if command == 'TIME' then return {{'{}', '{}'}} end "
    "local left = {}; if command == 'PTTL' and left then return left end "
    "local word, option, set = ...; "
    "if command == 'PEXPIRE' then set = word elseif option ~= 'PX' then set = nil end "
    "if set then real.call('RPUSH', '{}', key .. ' ' .. set) end "
    "return real.call(command, key, ...) end}}, {{__index = real}}) ";

}  // namespace

redis::Reply ObservedScript::eval(const std::vector<std::string>& keys,
                                  const std::vector<std::string>& arguments) {
  constexpr std::int64_t kSecond = 1'000'000;
  const auto substitute =
      fmt::format(kSubstitute, servers_clock.count() / kSecond, servers_clock.count() % kSecond,
                  left_ms ? std::to_string(*left_ms) : "nil", kSet);
  return server_.eval(substitute + std::string(algorithm_.script), keys, arguments);
}

std::vector<std::string> ObservedScript::ttls_set() {
  std::vector<std::string> lines;
  const auto reply = server_.call({"LRANGE", kSet, "0", "-1"});
  for (std::size_t i = 0; i < reply.size(); ++i) lines.emplace_back(reply[i].text());
  (void)server_.call({"DEL", kSet});
  return lines;
}

}  // namespace rlctl::test
