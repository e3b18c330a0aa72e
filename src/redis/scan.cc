#include "redis/scan.h"

#include <algorithm>
#include <charconv>
#include <cstdint>

namespace rlctl::redis {
namespace {

/// A cursor counts with its bits reversed, so that a table may grow or shrink during a scan: the
/// lowest bit is the most significant. As a binary fraction it is the progress of the scan,
/// whatever the size of the table.
double share_of(std::string_view cursor) {
  std::uint64_t bits = 0;
  std::from_chars(cursor.data(), cursor.data() + cursor.size(), bits);
  double share = 0;
  for (double weight = 0.5; bits != 0; bits >>= 1U, weight /= 2) {
    if ((bits & 1U) != 0) share += weight;
  }
  return share;
}

}  // namespace

void Scan::append() {
  connection_.append({"SCAN", cursor_, "MATCH", pattern_, "COUNT", count_});
}

std::vector<std::string> Scan::take() {
  const auto reply = connection_.read();
  if (reply.is_error()) throw to_error(reply);
  cursor_ = reply[0].text();
  done_ = cursor_ == "0";
  share_ = done_ ? 1 : std::max(share_, share_of(cursor_));
  const auto found = reply[1];
  std::vector<std::string> keys;
  keys.reserve(found.size());
  for (std::size_t i = 0; i < found.size(); ++i) keys.emplace_back(found[i].text());
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

std::string escape_glob(std::string_view text) {
  std::string pattern;
  pattern.reserve(text.size());
  for (const char c : text) {
    if (std::string_view("*?[]\\").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

void unlink_keys(Connection& connection, std::span<const std::string> keys) {
  constexpr std::size_t kAtOnce = 500;
  while (!keys.empty()) {
    const auto some = keys.first(std::min(keys.size(), kAtOnce));
    std::vector<std::string_view> arguments{"UNLINK"};
    arguments.insert(arguments.end(), some.begin(), some.end());
    const auto reply = connection.call(arguments);
    if (reply.is_error()) throw to_error(reply);
    keys = keys.subspan(some.size());
  }
}

}  // namespace rlctl::redis
