#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace rlctl::test {

/// The fewest steps that still fail, found by omitting ever smaller runs of them.
template <typename Step, typename Fails>
std::vector<Step> shrink(std::vector<Step> steps, const Fails& fails) {
  for (std::size_t run = steps.size(); run > 0; run /= 2) {
    for (std::size_t at = 0; at < steps.size();) {
      auto fewer = steps;
      const auto first = fewer.begin() + static_cast<std::ptrdiff_t>(at);
      const auto size = std::min(run, steps.size() - at);
      fewer.erase(first, first + static_cast<std::ptrdiff_t>(size));
      if (fails(fewer)) {
        steps = std::move(fewer);
      } else {
        at += run;
      }
    }
  }
  return steps;
}

}  // namespace rlctl::test
