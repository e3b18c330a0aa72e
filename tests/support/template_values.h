#pragma once

#include <chrono>

#include "script/template.h"

namespace rlctl::test {

/// The values of a request, each of which is different: of ann, at a time that is whole in no unit
/// but µs.
inline script::TemplateValues template_values() {
  using namespace std::chrono_literals;
  return {.key = "ann",
          .limit = {5, 60s, {}},
          .cost = 3,
          .id = 17,
          .now = std::chrono::microseconds{1'767'225'660'001'999}};
}

}  // namespace rlctl::test
