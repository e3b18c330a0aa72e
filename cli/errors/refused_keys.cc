#include "cli/errors/refused_keys.h"

#include <cstdint>
#include <functional>

#include "base/text.h"

namespace rlctl::cli {

void RefusedKeys::add(std::string_view key, const redis::Error& why) {
  keys_.insert(std::hash<std::string_view>{}(key));
  if (!why_) why_ = why;
}

void RefusedKeys::add(const state::ReadableKeys& found) {
  for (const auto& key : found.refused) add(key, *found.why);
  if (!found.keys.empty()) found_readable();
}

std::string RefusedKeys::text() const {
  return counted(static_cast<std::int64_t>(count()), "key") + " that this user may not read";
}

void RefusedKeys::require_readable() const {
  if (why_ && !could_read_) throw *why_;
}

}  // namespace rlctl::cli
