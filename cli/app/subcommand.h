#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli {

/// The row whose `name` is the first operand; null if there is none.
template <typename Row>
[[nodiscard]] const Row* subcommand_of(std::span<const Row> rows,
                                       std::span<const std::string> operands) {
  if (operands.empty()) return nullptr;
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& row) { return row.name == operands[0]; });
  return found == rows.end() ? nullptr : &*found;
}

/// The row whose `name` is the first operand. Throws UsageError, with the hint `example` if the
/// operands are empty.
template <typename Row>
[[nodiscard]] const Row& find_subcommand(std::span<const Row> rows,
                                         std::span<const std::string> operands,
                                         std::string example) {
  if (const auto* row = subcommand_of(rows, operands)) return *row;
  std::vector<std::string_view> names;
  for (const auto& row : rows) names.push_back(row.name);
  if (operands.empty()) {
    throw UsageError("no subcommand given: use " + one_of(names), std::move(example));
  }
  throw UsageError("unknown subcommand " + in_quotes(operands[0]) +
                   did_you_mean_or_all(operands[0], names));
}

}  // namespace rlctl::cli
