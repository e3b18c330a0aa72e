#pragma once

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

// Many things in rlctl are rows of a table, with a member `name`: options, algorithms, URL schemes,
// log formats, patterns, measures. These two functions find a row, and list the names for messages
// and completions.

namespace rlctl {

/// The first row of a table that has this name; null if none has.
template <typename Table>
constexpr auto find_by_name(const Table& table, std::string_view name)
    -> decltype(&*std::begin(table)) {
  const auto found = std::find_if(std::begin(table), std::end(table),
                                  [&](const auto& row) { return row.name == name; });
  return found == std::end(table) ? nullptr : &*found;
}

/// The names of all rows.
template <typename Table>
std::vector<std::string_view> names_of(const Table& table) {
  std::vector<std::string_view> names;
  for (const auto& row : table) names.push_back(row.name);
  return names;
}

}  // namespace rlctl
