#include "cli/completions.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "redis/scan.h"

namespace rlctl::cli {
namespace {

using namespace std::chrono_literals;

/// Somebody waits for these.
constexpr auto kMostTime = 500ms;
constexpr std::size_t kMostKeys = 100;
constexpr int kMostPortions = 20;

}  // namespace

Completions joined(Completions completions, Completions others) {
  std::move(others.words.begin(), others.words.end(), std::back_inserter(completions.words));
  completions.files |= others.files;
  return completions;
}

Completions complete_file(const Typed& /*typed*/) {
  return {.files = true};
}

Completions complete_algorithm(const Typed& /*typed*/) {
  Completions completions;
  for (const auto& algorithm : limiter::algorithms()) {
    completions.words.push_back({std::string(algorithm.name), std::string(algorithm.summary)});
  }
  return completions;
}

Completions complete_policy(const Typed& typed) {
  Completions completions;
  for (const auto& policy : typed.configuration.policies().policies) {
    std::string limits;
    for (const auto& limit : policy.limits) {
      limits.append(limits.empty() ? "" : ",").append(limiter::format_limit(limit));
    }
    completions.words.push_back({policy.name, std::move(limits)});
  }
  return completions;
}

Completions complete_script(const Typed& typed) {
  auto completions =
      to_completions(typed.configuration.scripts().scripts, &limiter::ScriptSection::name);
  completions.files = true;
  return completions;
}

Completions complete_limiter(const Typed& typed) {
  return joined(complete_algorithm(typed), complete_script(typed));
}

Completions complete_key(const Typed& typed) {
  const char* wanted = std::getenv("RLCTL_COMPLETE_KEYS");
  if (wanted == nullptr || std::string_view(wanted) != "1") return {};
  if (typed.options.is_given("--policy") || typed.connection.askpass) return {};
  Connector connector(typed.connection, typed.configuration, typed.interrupt);
  if (connector.is_private()) return {};
  auto connection = connector.open_with(typed.interrupt, kMostTime);
  redis::Scan scan(connection, redis::escape_glob(typed.word) + "*");
  Completions completions;
  const auto end = std::chrono::steady_clock::now() + kMostTime;
  for (int i = 0; i < kMostPortions && !scan.done(); ++i) {
    completions = joined(std::move(completions), to_completions(scan.next()));
    if (completions.words.size() >= kMostKeys || std::chrono::steady_clock::now() >= end) break;
  }
  std::ranges::sort(completions.words, {}, &Completion::word);
  if (completions.words.size() > kMostKeys) completions.words.resize(kMostKeys);
  return completions;
}

}  // namespace rlctl::cli
