#include "ldb/source_lines.h"

#include <algorithm>
#include <cstddef>

namespace rlctl::ldb {

std::vector<std::string_view> source_lines(std::string_view source) {
  std::vector<std::string_view> lines;
  while (!source.empty()) {
    const auto end = std::min(source.find_first_of("\r\n"), source.size());
    lines.push_back(source.substr(0, end));
    source.remove_prefix(end);
    if (source.empty()) break;
    const bool is_pair =
        source.size() > 1 && (source[1] == '\r' || source[1] == '\n') && source[1] != source[0];
    source.remove_prefix(is_pair ? 2 : 1);
  }
  return lines;
}

}  // namespace rlctl::ldb
