#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::cli {

/// The row whose `name` is the first operand. Throws UsageError, with the hint `example` if the
/// operands are empty.
template <typename Row>
[[nodiscard]] const Row& find_subcommand(std::span<const Row> rows,
                                         std::span<const std::string> operands,
                                         std::string example) {
  std::vector<std::string_view> names;
  for (const auto& row : rows) {
    if (!operands.empty() && row.name == operands[0]) return row;
    names.push_back(row.name);
  }
  if (operands.empty()) {
    throw UsageError("no subcommand is given: use " + one_of(names), std::move(example));
  }
  const auto meant = did_you_mean(operands[0], names);
  throw UsageError("unknown subcommand " + in_quotes(operands[0]) +
                   (meant.empty() ? "; it is one of " + one_of(names) : meant));
}

}  // namespace rlctl::cli
