#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>

namespace rlctl {

/// The first row of a table that has this name; null if none has.
template <typename Table>
[[nodiscard]] constexpr auto find_by_name(const Table& table, std::string_view name)
    -> decltype(&*std::begin(table)) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& row) { return row.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

}  // namespace rlctl
