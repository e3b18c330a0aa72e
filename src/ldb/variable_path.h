#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ldb/value.h"

namespace rlctl::ldb {

/// A variable, or what is in it: t.a[2]["b c"][i].
struct VariablePath {
  struct Step {
    Value key = {};
    std::string variable = {};  ///< whose value is the key; empty: `key` is
  };
  std::string root = {};
  std::vector<Step> steps = {};
};

/// None where an expression is something else.
[[nodiscard]] std::optional<VariablePath> parse_path(std::string_view expression);

/// The field of a table by its key: nil where there is none. None where that is not known: of what
/// is no table, or one that is cut.
[[nodiscard]] std::optional<Value> field_of(const Value& table, const Value& key);

}  // namespace rlctl::ldb
