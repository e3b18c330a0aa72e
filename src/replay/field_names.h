#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/log_format.h"

namespace rlctl::replay {

/// Which of a log's fields hold something.
class FieldNames {
 public:
  /// This one alone, spelled so; empty: none.
  explicit FieldNames(std::string_view chosen);
  /// Any of these, upper or lower case, the earlier ones rather.
  explicit FieldNames(std::vector<std::string_view> usual);

  /// How well a field fits: 0 best; none where it is another one.
  [[nodiscard]] std::optional<std::size_t> rank(std::string_view field) const;
  /// From now on only this one: a log does not change its fields.
  void settle(std::string_view field);
  [[nodiscard]] bool settled() const noexcept { return exact_; }
  [[nodiscard]] bool none() const noexcept { return names_.empty(); }
  /// "'ts'", where there is one; else `usual`.
  [[nodiscard]] std::string describe(std::string_view usual) const;

 private:
  std::vector<std::string> names_;
  bool exact_ = false;
};

/// What was chosen, else the usual names; a dotted path is a field within another.
struct LogFields {
  FieldNames time, key, cost;

  explicit LogFields(const FieldOptions& options);
};

}  // namespace rlctl::replay
