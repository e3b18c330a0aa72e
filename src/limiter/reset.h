#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/state.h"
#include "redis/connection.h"

namespace rlctl::limiter {

/// The fate of a key.
enum class ResetResult {
  kRemoved,
  kWouldRemove,  ///< a dry run
  kLeft,         ///< see LeftReason
  kNone,         ///< it does not exist, or expired meanwhile
};

/// Why a key was left.
enum class LeftReason {
  kNoLimiterState,
  kForeign,    ///< a form that other programs write, limiters or not
  kUncertain,  ///< a form of this project's that other programs might write as well
  kChanging,   ///< other clients wrote to it before each attempt to remove it
  kChanged,    ///< its type or form is not what the caller saw
};

/// A key, and what it held when the caller saw it.
struct SeenKey {
  std::string key;
  std::string type = {};  ///< TYPE's word; empty if the caller has not seen it
  const StateForm* form = nullptr;
};

struct ResetOutcome {
  std::string_view key;
  ResetResult result = ResetResult::kNone;
  std::string_view type = {};  ///< TYPE's word; "none" if it does not exist
  /// What it holds; null if that is not known limiter state.
  const StateForm* form = nullptr;
  std::optional<LeftReason> reason = {};  ///< of kLeft
};

struct ResetOptions {
  bool force = false;    ///< whatever it holds
  bool dry_run = false;  ///< reports what would be removed, and writes nothing
  /// How often a key is tried, by itself, that other clients write: a look and a removal, two round
  /// trips apart.
  int tries = 100;
  /// Called after each look, before what was looked at is removed. May be empty.
  std::function<void()> on_looked = {};
};

/// Removes limiter state, and nothing else. A key is removed only as it was when it was read: one
/// that another client writes meanwhile is read again.
///
/// Some keys at a time: WATCH and a look at each, then MULTI, UNLINK of each, EXEC. If EXEC reports
/// that one was written, nothing was removed, and they are tried again in halves, down to single
/// keys. The connection has nothing outstanding before and after. Throws redis::Error, also if the
/// server refuses a command; what had already been removed has been reported by then.
class Resetter {
 public:
  /// Called for each key, in the order asked. Its argument is valid until it returns.
  using Report = std::function<void(const ResetOutcome&)>;

  Resetter(redis::Connection& connection, ResetOptions options, Report report)
      : connection_(connection), options_(std::move(options)), report_(std::move(report)) {}

  /// `keys` has none twice.
  void reset(std::span<const std::string> keys);
  /// The same for keys that the caller has seen: those that exist and have another type or form now
  /// are left, also with `force`.
  void reset(std::span<const SeenKey> keys);

  /// After an exception: the keys that were sent to be removed, and whose answer did not come.
  [[nodiscard]] std::span<const std::string> in_doubt() const noexcept { return in_doubt_; }

 private:
  struct Look;
  using Looks = std::vector<Look>;
  using Indices = std::vector<std::size_t>;

  void settle(Looks& looks);
  void report(const Looks& looks) const;
  void decide(Look& look, const Content& content) const;
  [[nodiscard]] Indices attempt(Looks& looks, const Indices& which);
  [[nodiscard]] std::vector<Content> look_at(std::span<const std::string> keys);
  [[nodiscard]] bool remove(Looks& looks, const Indices& which);

  redis::Connection& connection_;
  ResetOptions options_;
  Report report_;
  bool may_transact_ = false;  ///< the server has taken a MULTI of this user
  std::vector<std::string> in_doubt_;
};

}  // namespace rlctl::limiter
