#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "redis/connection.h"

namespace rlctl::state {

/// Everything about a key, so that it can be created again.
struct SavedKey {
  std::string key;
  std::string type;                          ///< as TYPE prints it
  std::string library = {}, algorithm = {};  ///< those of its StateForm; empty if none
  /// By the server's clock, since 1970; none: never. Not the time left: a limiter's time goes on
  /// while its key is away.
  std::optional<std::chrono::milliseconds> expires_at = {};
  std::string dump = {};  ///< the argument of RESTORE; empty if it is too long to be read
  std::string sha1 = {};  ///< of the dump, in hex
  /// The reply to redis::command_to_read(), for a server that does not understand the dump; none
  /// for another type and if there is more than kLongestReadable or kMaxReadable.
  std::optional<std::vector<std::string>> contents = {};
};

/// Reading the contents of more takes a server longer than a DUMP should. The first is in bytes, of
/// a dump and of a string; the second is in elements.
inline constexpr std::size_t kLongestReadable = std::size_t{1} << 20, kMaxReadable = 100'000;

/// A longer dump could not be restored: RESTORE takes one argument, which has at most 512 MB unless
/// proto-max-bulk-len is set, and the server would be busy with it for too long.
inline constexpr std::size_t kLongestDump = std::size_t{64} << 20;

/// A key that is to be read, if it still is of this type.
struct TypedKey {
  std::string_view key, type;
};

/// Reads keys, each at one instant, with save.lua; calls `use` for each, in order, with none for a
/// key that does not exist or is of another type. A dump longer than `longest` is not read. Writes
/// nothing. The keys may be in any slots of a Cluster. Reads some keys at a time, since they may be
/// large. Throws redis::Error.
void read_saved(redis::Connection& connection, std::span<const TypedKey> keys,
                const std::function<void(std::optional<SavedKey>)>& use,
                std::size_t longest = kLongestDump);

enum class RestoreResult {
  kRestored,
  kWouldRestore,  ///< a dry run
  kIdentical,     ///< the key exists with the same contents and expiry, and was left
  kExists,        ///< the key exists with others, and was left
  kExpired,       ///< its TTL has run out
  kForeign,       ///< the server does not understand the dump, and the contents were not saved
};

struct RestoreOptions {
  bool replace = false;  ///< replace keys that exist
  bool dry_run = false;  ///< write nothing
};

/// Creates saved keys again, with restore.lua: each as a whole or not at all, by RESTORE or, if the
/// server does not understand the dump, by writing the contents. The keys may be in any slots of a
/// Cluster. Throws redis::Error, also if the server refuses a command.
class Restorer {
 public:
  /// Called for each key, in order.
  using Report = std::function<void(const SavedKey&, RestoreResult)>;

  Restorer(redis::Connection& connection, RestoreOptions options, Report report)
      : connection_(connection), options_(options), report_(std::move(report)) {}

  /// Sends all of them in one round trip. Keys that were created before an exception have been
  /// reported.
  void restore(std::span<const SavedKey> keys);

 private:
  using Results = std::vector<std::optional<RestoreResult>>;

  [[nodiscard]] bool restore(std::span<const SavedKey> keys, Results& results);
  void send(const SavedKey& saved, bool by_dump);
  void find_identical(std::span<const SavedKey> keys, Results& results);

  redis::Connection& connection_;
  RestoreOptions options_;
  Report report_;
  bool is_loaded_ = false;
  int loads_ = 0;                  ///< in vain, in a row
  bool understands_dumps_ = true;  ///< as far as is known
};

}  // namespace rlctl::state
