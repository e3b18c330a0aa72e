#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "cli/commands/list/listing.h"
#include "cli/terminal/terminal.h"

namespace rlctl::cli {

/// How to write rows to this descriptor: only a terminal may be too narrow for some columns.
[[nodiscard]] Look look_of_list(int fd);

/// The line with the columns' titles. Keys come last, since they may be of any width.
void append_list_titles(std::string& out, const Look& look);
/// How to show a key for which a terminal has no room in the row's line.
enum class LongKey { kWhole, kWithoutMiddle };
/// A line for a row.
void append_list_row(std::string& out, const ListRow& row, const Look& look,
                     LongKey long_key = LongKey::kWhole);
/// One JSON object and a line end.
void append_list_json(std::string& out, const ListRow& row);

/// Sums by algorithm and by policy.
class ListTotals {
 public:
  void add(const ListRow& row);
  [[nodiscard]] std::int64_t keys() const noexcept { return all_.keys; }
  void append_text(std::string& out, const Look& look) const;
  /// An object and a line end for each algorithm, then for each policy.
  void append_json(std::string& out) const;

 private:
  struct Sum {
    std::int64_t keys = 0, full = 0, without_ttl = 0;
    std::optional<std::int64_t> bytes = 0;

    void add(const ListRow& row);
  };
  Sum all_;
  std::map<std::pair<std::string_view, std::string_view>, Sum> algorithms_;  ///< with the library
  std::map<std::string_view, Sum> policies_;
};

}  // namespace rlctl::cli
