#include "cli/options/completions.h"

#include <iterator>
#include <utility>

#include "limiter/algorithm.h"
#include "limiter/calendar.h"
#include "limiter/limit.h"

namespace rlctl::cli {
namespace {

/// The algorithms that count requests, or the others.
Completions algorithms(bool count_requests) {
  Completions completions;
  for (const auto& algorithm : limiter::algorithms()) {
    if (limiter::counts_requests(algorithm) != count_requests) continue;
    completions.words.push_back({std::string(algorithm.name), std::string(algorithm.summary)});
  }
  return completions;
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

Completions complete_file(const CompletionContext& /*typed*/) {
  return {.files = true};
}

Completions complete_counting_algorithm(const CompletionContext& /*typed*/) {
  return algorithms(true);
}

Completions complete_limit(const CompletionContext& typed) {
  const auto at = typed.word.rfind('@');
  if (at == typed.word.npos) return {};
  Completions completions;
  for (const auto& zone : limiter::time_zones()) {
    completions.words.push_back({std::string(typed.word.substr(0, at + 1)) + zone});
  }
  return completions;
}

Completions complete_policy(const CompletionContext& typed) {
  return from_configuration([&] {
    Completions completions;
    for (const auto& policy : typed.configuration.policies().policies) {
      completions.words.push_back({policy.name, limiter::format_limits(policy.limits)});
    }
    return completions;
  });
}

Completions complete_script_name(const CompletionContext& typed) {
  return from_configuration([&] {
    return to_completions(typed.configuration.scripts().scripts, &limiter::ScriptSection::name);
  });
}

Completions complete_script(const CompletionContext& typed) {
  return joined(complete_script_name(typed), complete_file(typed));
}

Completions complete_limiter(const CompletionContext& typed) {
  return joined(joined(algorithms(true), algorithms(false)), complete_script(typed));
}

}  // namespace rlctl::cli
