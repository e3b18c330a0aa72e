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

/// The outcome for a key.
enum class ResetResult {
  kRemoved,
  kWouldRemove,  ///< a dry run
  kLeft,         ///< see LeftReason
  kNone,         ///< the key does not exist, or expired meanwhile
};

/// Why a key was not removed.
enum class LeftReason {
  kNoLimiterState,
  kForeign,    ///< a form that other programs write, limiters or not
  kUncertain,  ///< a form of this project that other programs may write as well
  kChanging,   ///< other clients wrote to it before each attempt to remove it
  kChanged,    ///< its type or form differs from what the caller saw
};

/// A key, and what it held when the caller saw it.
struct SeenKey {
  std::string key;
  std::string type = {};  ///< as TYPE prints it; empty if the caller has not seen it
  const StateForm* form = nullptr;
};

struct ResetOutcome {
  std::string_view key;
  ResetResult result = ResetResult::kNone;
  std::string_view type = {};  ///< as TYPE prints it; "none" if the key does not exist
  /// The form of its content; null if that is not known limiter state.
  const StateForm* form = nullptr;
  std::optional<LeftReason> reason = {};  ///< for kLeft
};

struct ResetOptions {
  bool force = false;    ///< remove a key whatever it holds
  bool dry_run = false;  ///< report what would be removed, and write nothing
  /// How often to try a key that other clients write: a look and a removal, two round trips apart.
  int tries = 100;
  /// Called after each look, before the removal. May be empty.
  std::function<void()> on_looked = {};
};

/// Removes limiter state, and nothing else. Never removes a key that another client wrote after it
/// was read; such a key is read again.
///
/// Handles some keys at a time: WATCH and a look at each, then MULTI, UNLINK of each, EXEC. If EXEC
/// reports that one was written, nothing was removed, and the keys are tried again in halves, down
/// to single keys. The connection has nothing outstanding before and after. Throws redis::Error,
/// also if the server refuses a command; keys removed before that have been reported.
class Resetter {
 public:
  /// Called for each key, in the order given. The outcome is valid during the call.
  using Report = std::function<void(const ResetOutcome&)>;

  Resetter(redis::Connection& connection, ResetOptions options, Report report)
      : connection_(connection), options_(std::move(options)), report_(std::move(report)) {}

  /// `keys` must not contain duplicates.
  void reset(std::span<const std::string> keys);
  /// The same for keys that the caller has seen: leaves those with another type or form now, even
  /// with `force`.
  void reset(std::span<const SeenKey> keys);

  /// After an exception: the keys whose removal was sent but not answered.
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
  bool may_transact_ = false;  ///< the server has accepted a MULTI from this user
  std::vector<std::string> in_doubt_;
};

}  // namespace rlctl::limiter
