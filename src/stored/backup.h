#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "redis/connection.h"
#include "redis/server.h"

namespace rlctl::stored {

// Keeps keys as DUMP returns them and puts them back with RESTORE: in memory, as `rlctl debug` does
// for the keys of a script, or in the file of `reset --save`.

/// A key with everything that is needed to create it again.
struct SavedKey {
  std::string key = {};
  std::string type = "none";                 ///< TYPE's word; "none": the key did not exist
  std::string library = {}, algorithm = {};  ///< those of its Form; empty if it has none
  /// By the server's clock, since 1970; std::nullopt: never. Not the time left: a limiter's time
  /// goes on while its key is away.
  std::optional<std::chrono::milliseconds> expires_at = {};
  std::chrono::milliseconds saved_at = {};  ///< by the same clock; not in a file
  std::string dump = {};     ///< the argument of RESTORE; empty if it was too long to be read
  std::string sha1 = {};     ///< of the dump, in hex
  bool saved_again = false;  ///< it changed after it was saved: what the file had of it is void

  bool exists() const noexcept { return type != "none"; }
};

/// A longer dump could not be restored: RESTORE takes one argument, which has at most 512 MB unless
/// proto-max-bulk-len is set, and the server would be busy with it for too long.
inline constexpr std::size_t kLongestDump = std::size_t{64} << 20;

/// Reads keys at one instant, with save.lua, and writes nothing; in a Cluster, keys of several
/// slots one after the other. Returns them in this order. `keys` may be empty. Throws redis::Error,
/// also if the server refuses DUMP or has none.
std::vector<SavedKey> save_keys(redis::Connection& connection, std::span<const std::string> keys);

/// Reads each key at an instant of its own, with save.lua; calls `use` with its index. The keys may
/// be in any slots of a Cluster. Reads some keys at a time, since they may be large; does not read
/// a dump that is longer than `longest`. Throws redis::Error, as save_keys() does.
void save_each(redis::Connection& connection, std::span<const std::string_view> keys,
               std::size_t longest, const std::function<void(std::size_t, SavedKey)>& use);

enum class RestoreResult {
  kRestored,
  kWouldRestore,  ///< a dry run
  kIdentical,     ///< the key exists with the same dump and expiry, and was left
  kExists,        ///< the key exists with another dump or expiry, and was left
  kExpired,       ///< its TTL has run out
  kForeign,       ///< the server does not understand the dump
};

struct RestoreOptions {
  bool replace = false;  ///< replace keys that exist
  bool dry_run = false;  ///< write nothing
};

/// Creates saved keys again in one round trip, with restore.lua: each as a whole or not at all. The
/// keys may be in any slots of a Cluster. Then calls `report` for each key, in order. Throws
/// redis::Error, also if the server refuses RESTORE or has none: that of the first such key. Keys
/// that were created have been reported.
void restore_keys(redis::Connection& connection, std::span<const SavedKey> keys,
                  RestoreOptions options,
                  const std::function<void(const SavedKey&, RestoreResult)>& report);

/// Creates keys, except those that did not exist, on a server that has none of them, with the TTLs
/// that they had when they were saved. Throws redis::Error: kUnsupported if the server does not
/// understand a dump; some keys may then exist.
void copy_to(redis::Connection& connection, std::vector<SavedKey> keys);

// ---- The file of `reset --save`, which rlctl-reset(1) documents ----

/// Writes a file of saved keys: JSON lines, the first of which says what it is.
class SaveFile {
 public:
  /// Creates the file. Throws UsageError if it exists, OutputError if it cannot be created.
  explicit SaveFile(const std::string& path) : path_(path), file_("--save", path) {}

  /// Writes the first line. Call it before the others. `server` is the version, if it is known.
  void begin(const std::optional<redis::ServerVersion>& server);
  /// Adds a key, which must not be removed before sync(). Throws OutputError, and then the file is
  /// as before.
  void add(const SavedKey& key);
  /// Returns once the keys are on the disk. Throws OutputError.
  void sync() { file_.sync(); }

  /// Keeps the file: a key that is in it was removed, or may have been. Without this, the
  /// destructor removes it.
  void keep() noexcept {
    file_.keep();
    is_kept_ = true;
  }
  bool is_kept() const noexcept { return is_kept_; }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  NewFile file_;
  bool is_kept_ = false;
};

/// Reads a file of saved keys, one key after the other.
class SaveFileReader {
 public:
  /// Reads the whole file once, so that a mistake is found before anything is restored. Throws
  /// InputError, with the number of the line, if it cannot be read or a line is damaged.
  explicit SaveFileReader(const std::string& path);

  /// The next key; std::nullopt at the end. Throws InputError.
  std::optional<SavedKey> next();

  /// Whether the last line was damaged because it was not written to its end. Its key was not
  /// removed.
  bool is_cut() const noexcept { return is_cut_; }
  /// The fraction of the file that next() has read.
  double share() const noexcept;

 private:
  std::optional<LineReader::Line> read_line();

  std::string path_;
  std::optional<LineReader> lines_;
  std::size_t keys_until_ = 0;  ///< the last line
  /// The line before which all lines of a key are void.
  std::map<std::string, std::size_t, std::less<>> void_before_;
  bool is_cut_ = false;
};

}  // namespace rlctl::stored
