#pragma once

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace rlctl::test {

/// Texts, and what is said of each.
using Cases = std::vector<std::pair<std::string, std::string>>;

/// Checks what `result_of` says about the first of each pair.
template <typename ResultOf>
void check_each(const Cases& cases, ResultOf result_of) {
  for (const auto& each : cases) {
    CAPTURE(each.first);
    CHECK(result_of(each.first) == each.second);
  }
}

}  // namespace rlctl::test
