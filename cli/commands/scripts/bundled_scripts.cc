#include "cli/commands/scripts/bundled_scripts.h"

#include <vector>

#include "limiter/algorithm.h"
#include "state/helpers.h"

namespace rlctl::cli::scripts {
namespace {

BundledScript script_of(const limiter::Algorithm& algorithm) {
  const bool counts = limiter::counts_requests(algorithm);
  return {
      .name = algorithm.name,
      .summary = algorithm.summary,
      .text = algorithm.script,
      .sha1 = algorithm.sha1,
      .keys = counts ? "1 or more" : "1",
      .arguments = counts ? "each key: limit window burst; cost now" : "limit lease action id now",
      .is_algorithm = true};
}

BundledScript script_of(const state::Helper& helper) {
  return {.name = helper.name,
          .summary = helper.summary,
          .text = helper.text,
          .sha1 = helper.sha1,
          .keys = helper.keys,
          .arguments = helper.arguments};
}

}  // namespace

std::span<const BundledScript> bundled_scripts() {
  static const std::vector<BundledScript> kScripts = [] {
    std::vector<BundledScript> all;
    for (const auto& algorithm : limiter::algorithms()) all.push_back(script_of(algorithm));
    for (const auto& helper : state::helpers()) all.push_back(script_of(helper));
    return all;
  }();
  return kScripts;
}

}  // namespace rlctl::cli::scripts
