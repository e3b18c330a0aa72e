#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>

#include "redis/error.h"
#include "state/state.h"

namespace rlctl::cli {

/// Of the keys that a command finds by a pattern, those that this user may not read: they are
/// passed over and counted, but if the user may read none at all, that is an error.
class RefusedKeys {
 public:
  void add(std::string_view key, const redis::Error& why);
  void add(const state::ReadableKeys& found);
  /// Call this if a key could be read.
  void found_readable() noexcept { could_read_ = true; }

  /// Each key once, although SCAN may return it twice.
  [[nodiscard]] std::size_t count() const noexcept { return keys_.size(); }
  /// "3 keys that this user may not read"
  [[nodiscard]] std::string text() const;
  /// Throws the error for the first of them if no key could be read.
  void require_readable() const;

 private:
  std::unordered_set<std::size_t> keys_;  ///< hashes, since there may be many keys
  std::optional<redis::Error> why_;
  bool could_read_ = false;
};

}  // namespace rlctl::cli
