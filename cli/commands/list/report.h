#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_object.h"
#include "cli/commands/list/listing.h"
#include "cli/report/text.h"
#include "cli/terminal/output.h"

namespace rlctl::cli::list {

/// How to write to this descriptor: only a terminal may be too narrow for some columns.
Look look_of_table(const Output& out);
/// A table of keys, which come last, since they may be of any width.
report::GrowingTable make_table(const Look& look);
std::vector<report::Row> rows_of(std::span<const KeyState> keys, const Look& look);

extern const JsonOutput kJson;
/// One JSON object and a line end.
void append_json(std::string& out, const KeyState& key);

/// Sums by algorithm and by policy.
class Totals {
 public:
  struct Sum {
    std::int64_t keys = 0, full = 0, without_ttl = 0;
    std::optional<std::int64_t> bytes = 0;
    std::int64_t without_limit = 0, differing = 0;  ///< that do not store it, or another one
    std::string first_difference = {};

    void add(const KeyState& key);
  };
  /// The sum of an algorithm of a library, or of a policy; other names are empty.
  struct Line {
    std::string_view library, algorithm, policy;
    const Sum& sum;
  };

  void add(const KeyState& key);
  const Sum& all() const noexcept { return all_; }
  void append_text(std::string& out, const Look& look) const;
  /// An object and a line end for each algorithm, then for each policy.
  void append_json(std::string& out) const;

 private:
  Sum all_;
  std::map<std::pair<std::string_view, std::string_view>, Sum> algorithms_;  ///< with the library
  std::map<std::string_view, Sum> policies_;
};

}  // namespace rlctl::cli::list
