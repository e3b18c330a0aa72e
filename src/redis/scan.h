#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"

namespace rlctl::redis {

/// All keys of a database that match a pattern, by SCAN: some at a time, so that the server stays
/// free for others. A key that is there from the beginning to the end is found, perhaps more than
/// once; one that comes or goes meanwhile may be.
///
///     Scan scan(connection, "login:*");
///     while (!scan.done()) use(scan.next());
class Scan {
 public:
  /// How many keys the server looks at in one call, about.
  static constexpr std::string_view kDefaultCount = "1000";

  /// Sends nothing. `pattern` is Redis's glob; see escape_glob().
  explicit Scan(Connection& connection, std::string pattern, std::string_view count = kDefaultCount)
      : connection_(connection), pattern_(std::move(pattern)), count_(count) {}

  /// The next keys, none twice among them, perhaps none at all. Not once done(). Throws Error, also
  /// where the server refuses.
  [[nodiscard]] std::vector<std::string> next() {
    append();
    return take();
  }
  /// next() in two halves, for a caller that has other commands to send in the same write.
  void append();
  [[nodiscard]] std::vector<std::string> take();

  [[nodiscard]] bool done() const noexcept { return done_; }
  /// How much of the database has been looked at, 0 to 1. Never less than before.
  [[nodiscard]] double share() const noexcept { return share_; }

 private:
  Connection& connection_;
  std::string pattern_;
  std::string count_;
  std::string cursor_ = "0";
  double share_ = 0;
  bool done_ = false;
};

/// A pattern that matches these bytes and nothing else.
[[nodiscard]] std::string escape_glob(std::string_view text);

/// Removes keys, whatever they hold, some hundred by one command, so that none blocks the server
/// for long. Throws Error, also where the server refuses one.
void unlink_keys(Connection& connection, std::span<const std::string> keys);

}  // namespace rlctl::redis
