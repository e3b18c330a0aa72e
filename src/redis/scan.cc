#include "redis/scan.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "base/text.h"
#include "redis/slots.h"

namespace rlctl::redis {
namespace {

/// A cursor counts with its bits reversed, so that a table may grow or shrink during a scan: the
/// lowest bit is the most significant. As a binary fraction it is the progress of the scan,
/// whatever the size of the table.
double share_of(std::uint64_t bits) {
  double share = 0;
  for (double weight = 0.5; bits != 0; bits >>= 1U, weight /= 2) {
    if ((bits & 1U) != 0) share += weight;
  }
  return share;
}

/// Newer servers of a Cluster have a table for each slot: the cursor's lowest bits are the slot,
/// those above it count in the table. The progress through all slots.
double share_of_slots(std::uint64_t bits) {
  const auto slot = static_cast<double>(bits % kSlots);
  return (slot + share_of(bits / kSlots)) / kSlots;
}

/// Returns false, and has removed nothing, if the keys are in different slots.
bool unlink_together(Connection& connection, std::span<const std::string> keys) {
  std::vector<std::string_view> arguments{"UNLINK"};
  arguments.insert(arguments.end(), keys.begin(), keys.end());
  const auto reply = connection.call(arguments);
  if (!reply.is_error()) return true;
  if (error_code(reply.text()) != "CROSSSLOT") throw to_error(reply);
  return false;
}

void unlink_one_by_one(Connection& connection, std::span<const std::string> keys) {
  for (const auto& key : keys) connection.append({"UNLINK", key});
  std::optional<Error> failed;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto reply = connection.read();
    if (reply.is_error() && !failed) failed = to_error(reply);
  }
  if (failed) throw Error(*failed);
}

}  // namespace

void Scan::append() {
  if (servers_.empty()) servers_ = connection_.servers();
  const std::array<std::string_view, 6> command{"SCAN",   cursor_, "MATCH",
                                                pattern_, "COUNT", count_};
  connection_.append_to(servers_[server_], command);
}

/// Finds a circle of cursors as Brent does: one of them is kept, a later one whenever the number of
/// pages has doubled, and in a circle it comes again.
void Scan::require_progress(ReplyView reply) {
  const bool comes_again = pages_ > 0 && cursor_ == kept_cursor_;
  if (comes_again || pages_ == kMaxPages) {
    throw error_about(reply, {Failure::kProtocol, "the server's SCAN never ends"});
  }
  if (std::has_single_bit(++pages_)) kept_cursor_ = cursor_;
}

/// A Cluster's cursor has one of two forms. Read in the wrong one, the progress decreases sooner or
/// later, which rules that form out. Until then, the smaller progress counts.
double Scan::scanned() {
  const auto count = static_cast<double>(servers_.size());
  const auto server = static_cast<double>(server_);
  const auto bits = to_number<std::uint64_t>(cursor_).value_or(0);
  const auto by_table = server + share_of(bits);
  if (!connection_.has_slots()) return by_table / count;
  // Mostly, the servers have the slots in order and in equal parts.
  const auto by_slots = std::clamp(share_of_slots(bits) * count, server, server + 1);
  is_by_table_ = is_by_table_ && by_table >= by_table_;
  is_by_slots_ = is_by_slots_ && by_slots >= by_slots_;
  by_table_ = by_table;
  by_slots_ = by_slots;
  if (is_by_table_ != is_by_slots_) return (is_by_table_ ? by_table : by_slots) / count;
  return std::min(by_table, by_slots) / count;
}

std::vector<std::string> Scan::take() {
  const auto reply = connection_.read();
  if (reply.is_error()) throw to_error(reply);
  cursor_ = reply[0].text();
  if (cursor_ != "0") {
    require_progress(reply);
  } else {
    ++server_;
    pages_ = 0;
  }
  done_ = server_ == servers_.size();
  share_ = std::max(share_, scanned());
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
    if (connection.has_slots() || !unlink_together(connection, some)) {
      unlink_one_by_one(connection, some);
    }
    keys = keys.subspan(some.size());
  }
}

}  // namespace rlctl::redis
