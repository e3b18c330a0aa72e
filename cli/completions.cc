#include "cli/completions.h"

#include <chrono>
#include <iterator>
#include <set>
#include <utility>

#include "cli/term/terminal.h"
#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/scan.h"

namespace rlctl::cli {
namespace {

using namespace std::chrono_literals;

/// For the server's keys. After that, the shell's line editor would seem to hang.
constexpr auto kMostTime = 500ms;
constexpr std::size_t kMostKeys = 100;

Completion to_completion(const limiter::Algorithm& algorithm) {
  return {std::string(algorithm.name), std::string(algorithm.summary)};
}

/// Nothing if the configuration file has mistakes, so that what does not come from it is completed
/// nevertheless.
template <typename Complete>
Completions from_configuration(Complete complete) {
  try {
    return complete();
  } catch (const limiter::ConfigurationError&) {
    return {};
  }
}

}  // namespace

Completions joined(Completions completions, Completions others) {
  std::move(others.words.begin(), others.words.end(), std::back_inserter(completions.words));
  completions.files |= others.files;
  return completions;
}

Completions complete_file(const Typed& /*typed*/) {
  return {.files = true};
}

Completions complete_algorithm(const Typed& typed) {
  auto completions = complete_counting_algorithm(typed);
  for (const auto& algorithm : limiter::algorithms()) {
    if (!limiter::counts_requests(algorithm)) completions.words.push_back(to_completion(algorithm));
  }
  return completions;
}

Completions complete_counting_algorithm(const Typed& /*typed*/) {
  Completions completions;
  for (const auto& algorithm : limiter::algorithms()) {
    if (limiter::counts_requests(algorithm)) completions.words.push_back(to_completion(algorithm));
  }
  return completions;
}

Completions complete_policy(const Typed& typed) {
  return from_configuration([&] {
    Completions completions;
    for (const auto& policy : typed.configuration.policies().policies) {
      completions.words.push_back({policy.name, limiter::format_limits(policy.limits)});
    }
    return completions;
  });
}

Completions complete_script_name(const Typed& typed) {
  return from_configuration([&] {
    return to_completions(typed.configuration.scripts().scripts, &limiter::ScriptSection::name);
  });
}

Completions complete_script(const Typed& typed) {
  return joined(complete_script_name(typed), complete_file(typed));
}

Completions complete_limiter(const Typed& typed) {
  return joined(complete_algorithm(typed), complete_script(typed));
}

Completions complete_key(const Typed& typed) {
  if (environment("RLCTL_COMPLETE_KEYS") != "1") return {};
  if (typed.options.is_given("--policy") || typed.connection.askpass) return {};
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  Connector connector(typed.connection, typed.configuration, typed.interrupt);
  if (connector.is_private()) return {};
  auto connection = connector.open_with(typed.interrupt, kMostTime);
  redis::Scan scan(connection, redis::escape_glob(typed.word) + "*");
  std::set<std::string> keys;
  while (!scan.done() && keys.size() < kMostKeys && std::chrono::steady_clock::now() < end) {
    for (auto& key : scan.next()) keys.insert(std::move(key));
  }
  auto completions = to_completions(keys);
  if (completions.words.size() > kMostKeys) completions.words.resize(kMostKeys);
  return completions;
}

}  // namespace rlctl::cli
