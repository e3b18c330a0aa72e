#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "redis/error.h"

// Finds the keys that match a pattern, and removes keys. stored/ surveys the limiters of a server
// with a Scan; commands that take a pattern find its keys with one. `burst` and the adversary
// remove the keys of their runs with unlink_keys().

namespace rlctl::redis {

/// Finds all keys of a database that match a pattern, with SCAN: in portions, so that the server
/// can serve others between them; in a Cluster, one master after the other. A key that exists
/// throughout the scan is found, perhaps more than once; one that is created or deleted meanwhile,
/// or moved from one master to another, may be. If a master is lost, waits until it is back or a
/// replica has taken its place, at most for the connection's timeout, and scans that one from the
/// beginning; else scans the others, and then throws.
///
///     Scan scan(connection, "login:*");
///     while (!scan.done()) use(scan.next());
class Scan {
 public:
  /// The approximate number of keys that the server examines per call.
  static constexpr std::string_view kDefaultCount = "1000";
  /// The most calls for one server: of 1000 keys each, for more keys than any server holds.
  static constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 24U;

  /// Sends nothing. `pattern` is a Redis glob; see escape_glob().
  explicit Scan(Connection& connection, std::string pattern, std::string_view count = kDefaultCount)
      : connection_(connection), pattern_(std::move(pattern)), count_(count) {}

  /// The next keys, without duplicates among them; may be empty. Not after done(). Throws Error,
  /// also if the server refuses, or if its cursors never come to an end; see incomplete().
  std::vector<std::string> next();
  /// append() and take() are the two halves of next(), for a caller that sends other commands in
  /// the same write. At the first append(), no reply may be outstanding.
  void append();
  std::vector<std::string> take();

  bool done() const noexcept { return done_; }
  /// The error with the number of keys that next() had returned before its last call, if it is one
  /// of a server that is not there: "...; incomplete: 812 of about 1218 keys".
  Error incomplete(const Error& error) const;
  /// The fraction of the database scanned so far, 0 to 1; for a Cluster, the fraction of the
  /// masters that were scanned to the end. Never decreases.
  double share() const noexcept { return share_; }

 private:
  double scanned() const;
  void find_servers_again();

  Connection& connection_;
  std::string pattern_;
  std::string count_;
  std::string cursor_ = "0";
  std::vector<std::string> servers_;  ///< the servers to scan; empty before the first append()
  std::size_t server_ = 0;            ///< the index of the server that is being scanned
  std::uint64_t pages_ = 0;           ///< the number of replies of that server
  double share_ = 0;
  std::vector<std::string> lost_;               ///< the servers that do not answer
  std::optional<Error> failed_;                 ///< why the last lost one is
  std::uint64_t found_ = 0, found_before_ = 0;  ///< keys: all, and before the last next()
  std::uint64_t found_in_share_ = 0;            ///< found_ when share_ was reached
  bool done_ = false;
};

/// `work()`; once more if the connection to a node of a Cluster breaks meanwhile and may_repeat(),
/// when the node is back or a replica has taken its place, or the connection's timeout has passed.
template <typename Work, typename MayRepeat>
auto repeated_if_lost(Connection& connection, const Work& work, const MayRepeat& may_repeat) {
  try {
    return work();
  } catch (const Error& error) {
    const bool is_lost = connection.has_slots() && error.failure() == Failure::kUnreachable;
    if (!is_lost || !may_repeat()) throw;
  }
  while (connection.outstanding() > 0) static_cast<void>(connection.read());
  static_cast<void>(connection.servers());
  return work();
}
/// For work that only reads.
template <typename Work>
auto repeated_if_lost(Connection& connection, const Work& work) {
  return repeated_if_lost(connection, work, [] { return true; });
}

/// A pattern that matches exactly these bytes.
std::string escape_glob(std::string_view text);

/// The keys without repetitions, in the order of their first mention.
template <typename Keys>
std::vector<std::string> each_once(const Keys& keys) {
  std::vector<std::string> once;
  for (const auto& key : keys) {
    if (std::find(once.begin(), once.end(), key) == once.end()) once.emplace_back(key);
  }
  return once;
}

/// Removes keys of any type, a few hundred per command, so that none blocks the server for long.
/// They may be in different slots of a Cluster. Throws Error, also if the server refuses one.
void unlink_keys(Connection& connection, std::span<const std::string> keys);

}  // namespace rlctl::redis
