#include "cli/inspect_hint.h"

#include <algorithm>

namespace rlctl::cli {

std::string inspect_hint(std::string_view key) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:_./@%+=,-";
  const auto needs_more = [](char byte) { return byte < ' ' || byte == '\'' || byte == '\x7f'; };
  std::string command = key.starts_with('-') ? "rlctl inspect -- " : "rlctl inspect ";
  if (key.find_first_not_of(kPlain) == key.npos) {
    command += key;
  } else if (std::none_of(key.begin(), key.end(), needs_more)) {
    command.append("'").append(key).append("'");
  } else {
    command += "KEY";
  }
  return command + " shows what it holds";
}

}  // namespace rlctl::cli
