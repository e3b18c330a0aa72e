#include "state/script.h"

#include <algorithm>
#include <vector>

#include "embedded_reset.h"
#include "embedded_restore.h"
#include "embedded_save.h"
#include "embedded_usage.h"
#include "limiter/algorithm.h"

namespace rlctl::state {
namespace {

Script script_of(const limiter::Algorithm& algorithm) {
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

Script helper(std::string_view name, std::string_view summary, const EmbeddedScript& script,
              std::string_view keys, std::string_view arguments) {
  return {.name = name,
          .summary = summary,
          .text = script.text,
          .sha1 = script.sha1,
          .keys = keys,
          .arguments = arguments};
}

}  // namespace

std::span<const Script> scripts() {
  static const std::vector<Script> kScripts = [] {
    std::vector<Script> all;
    for (const auto& algorithm : limiter::algorithms()) all.push_back(script_of(algorithm));
    all.push_back(helper("reset", "reset: removes a key that has not changed", embedded::k_reset,
                         "1", "type sha1 expires contents"));
    all.push_back(helper("save", "reset --save: reads a whole key", embedded::k_save, "1",
                         "type longest most size command"));
    all.push_back(helper("restore", "reset --restore: creates a key", embedded::k_restore, "1",
                         "mode present expires dump commands"));
    all.push_back(helper("usage", "quota: reads how much is used", embedded::k_usage, "0 or more",
                         "each key: window; now"));
    return all;
  }();
  return kScripts;
}

const Script* find_script(std::string_view name) {
  const auto all = scripts();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const Script& script) { return script.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace rlctl::state
