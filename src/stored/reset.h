#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"
#include "stored/backup.h"
#include "stored/forms.h"
#include "stored/libraries.h"

namespace rlctl::stored {

/// The outcome for a key.
enum class ResetResult {
  kRemoved,
  kWouldRemove,  ///< a dry run
  kKept,         ///< see KeptReason
  kNone,         ///< the key does not exist, or expired meanwhile
};

/// Why a key was not removed.
enum class KeptReason {
  kNoLimiterState,
  kForeign,    ///< a form that other programs write, limiters or not
  kUncertain,  ///< a form of this project that other programs may write as well
  kPart,       ///< a part of the state of another key; see ResetOutcome::part_of
  kChanging,   ///< other clients changed it before each attempt to remove it
  kChanged,    ///< its type or form differs from what the caller saw
  kTooLarge,   ///< its dump is too long to be saved
};

/// A key, and what it held when the caller saw it.
struct SeenKey {
  std::string key;
  std::string type = {};  ///< as TYPE prints it; empty if the caller has not seen it
  const Form* form = nullptr;
};

struct ResetOutcome {
  std::string_view key;
  ResetResult result = ResetResult::kNone;
  std::string_view type = {};  ///< as TYPE prints it; "none" if the key does not exist
  /// The form of its content; null if that is not known limiter state.
  const Form* form = nullptr;
  std::optional<KeptReason> reason = {};  ///< for kKept
  std::string_view part_of = {};          ///< see Decoded::part_of
};

struct ResetOptions {
  bool force = false;    ///< remove a key whatever it holds
  bool dry_run = false;  ///< report what would be removed, and write nothing
  /// How often to try a key that other clients change: a look and a removal, a round trip apart.
  int tries = 100;
  /// Called after each look, before the removal of so many keys. May be empty.
  std::function<void(std::size_t removable)> on_looked = {};
  /// Keys are saved here before they are removed; null: they are not saved.
  SaveFile* save_to = nullptr;
  const Libraries* libraries = &built_in_libraries();  ///< how other limiters' keys are read
  std::size_t longest_dump = kLongestDump;  ///< a key with a longer one is not saved, but left
};

/// Removes limiter state, and nothing else. Looks at some keys at a time, and then removes each
/// with a call of reset.lua, which does so only if the key still has the KeySample that was read: a
/// key whose type or ends another client changed meanwhile is looked at again. The calls share a
/// round trip but not a transaction, so that the keys may be in any Cluster slots, and a server
/// whose memory is full accepts them. Keys that are saved are read completely after the look; they
/// are removed once they are on the disk, and only if they still are as they were saved; those that
/// are too large to be saved are left.
///
/// The connection has nothing outstanding before and after. Throws redis::Error, also if the server
/// refuses a command, and OutputError if keys cannot be saved; keys removed before that have been
/// reported.
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

  /// After an exception: the keys whose removal was sent, and of which no server's answer is known.
  std::vector<std::string> in_doubt() const;

 private:
  struct Look;
  using Looks = std::vector<Look>;
  using Indices = std::vector<std::size_t>;

  void apply(Looks& looks);
  void report(const Looks& looks) const;
  void decide(Look& look, KeySample content, const Decoded& state) const;
  Indices attempt(Looks& looks, const Indices& which);
  Indices save(Looks& looks, Indices& which) const;
  Indices remove(Looks& looks, const Indices& which);
  void load_script();

  redis::Connection& connection_;
  ResetOptions options_;
  Report report_;
  bool script_is_loaded_ = false;
  std::vector<std::string> sent_;  ///< the keys of the last removals
  std::size_t answered_ = 0;       ///< how many of them have been answered
  std::vector<std::string> lost_;  ///< those of them that a server of several did not answer for
};

}  // namespace rlctl::stored
