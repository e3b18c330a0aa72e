// A configuration that can be read has policies that keep every rule of the command line; a
// mistake names its line; each policy's keys belong to it.
#include "limiter/configuration.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/error.h"
#include "night/fuzz/fuzz.h"
#include "redis/error.h"
#include "redis/url.h"

namespace fuzz::policies {

using rlctl::UsageError;
using namespace rlctl::limiter;

void require_correct_policy(const Configuration& configuration, const Policy& policy) {
  require(!policy.name.empty(), "a policy has a name");
  require(policy.algorithm != nullptr && !policy.limits.empty(), "a policy has limits");
  require(find_policy(configuration, policy.name) == &policy, "it is found by its name");
  for (const auto& limit : policy.limits) {
    require(limit.limit >= 1 && limit.limit <= kLargestLimit, "a limit is within bounds");
    require(limit.window.count() >= 1 && limit.window <= kLongestWindow, "so is its window");
    const auto is_usable = accepted<UsageError>(
        [&] { return (require_usable(*policy.algorithm, limit), true); }, 1000);
    require(is_usable.has_value(), "the algorithm supports it");
  }
  const std::vector<std::string> arguments(argument_count(policy), "2001:db8::1");
  const auto key = fill(policy, arguments);
  require(fits(policy, key), "a key of it fits", key);
  const auto keys = accepted<UsageError>([&] { return redis_keys(key, policy.limits); }, 100'000);
  require(keys.has_value(), "it can carry the limits", key);
  for (const auto& stored : *keys) {
    require(match_policy(configuration, stored).has_value(), "what it stores is a policy's",
            stored);
  }
}

void test(std::string_view input) {
  const std::string file = "/etc/rlctl.toml";
  const auto longest = 4 * input.size() + 2000;
  const auto configuration =
      accepted<ConfigurationError>([&] { return parse_configuration(input, file); }, longest);
  if (!configuration) return;
  for (const auto& mistake : configuration->mistakes) {
    require(!mistake.message.empty() && mistake.message.size() <= longest,
            "a mistake's message is bounded", mistake.message);
    require(mistake.message.starts_with(file + ":"), "it names the file", mistake.message);
    const auto place = mistake.message.substr(file.size() + 1);
    const auto line = std::atoll(place.c_str());
    require(place.starts_with(std::to_string(line) + ": "), "and the line", mistake.message);
    require(line >= 1 && line <= 1 + std::count(input.begin(), input.end(), '\n'),
            "a line is one of the file", mistake.message);
  }
  for (const auto& policy : configuration->policies) require_correct_policy(*configuration, policy);
  for (const auto& script : configuration->scripts) {
    require(!script.name.empty(), "a script has a name");
  }
  if (configuration->url) {
    const auto url = accepted<rlctl::redis::Error>(
        [&] { return rlctl::redis::parse_url(*configuration->url); }, 1000);
    require(url.has_value(), "its URL is one");
  }
  (void)match_policy(*configuration, input);
}

const Target kTarget("policies", test);

}  // namespace fuzz::policies
