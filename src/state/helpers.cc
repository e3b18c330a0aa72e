#include "state/helpers.h"

#include <array>

#include "base/embedded_script.h"
#include "embedded_reset.h"
#include "embedded_restore.h"
#include "embedded_save.h"
#include "embedded_usage.h"

namespace rlctl::state {
namespace {

Helper helper(std::string_view name, std::string_view summary, const EmbeddedScript& script,
              std::string_view keys, std::string_view arguments) {
  return {.name = name,
          .summary = summary,
          .text = script.text,
          .sha1 = script.sha1,
          .keys = keys,
          .arguments = arguments};
}

}  // namespace

std::span<const Helper> helpers() {
  static const std::array kHelpers{
      helper("reset", "reset: removes a key that has not changed", embedded::k_reset, "1",
             "type sha1 expires contents"),
      helper("save", "reset --save: reads a whole key", embedded::k_save, "1",
             "type longest most size command"),
      helper("restore", "reset --restore: creates a key", embedded::k_restore, "1",
             "mode present expires dump commands"),
      helper("usage", "quota: reads how much is used", embedded::k_usage, "0 or more",
             "each key: window; now")};
  return kHelpers;
}

}  // namespace rlctl::state
