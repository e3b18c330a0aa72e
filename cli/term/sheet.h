#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/term/terminal.h"

namespace rlctl::cli {

/// A table with a title above each column. Where it is wider than the terminal it becomes several,
/// one below the other, each of which begins with the first column. Texts may be toned(), and what
/// is data in them has been escaped.
class Sheet {
 public:
  struct Column {
    std::string title;
    std::vector<std::string> cells;  ///< as many in each column
  };

  /// The first column stands to the left, the others to the right.
  void add(std::string_view title, std::vector<std::string> cells) {
    columns_.push_back({std::string(title), std::move(cells)});
  }
  void append(std::string& out, const Look& look) const;

 private:
  std::vector<Column> columns_;
};

}  // namespace rlctl::cli
