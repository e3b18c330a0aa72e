#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "redis/server_info.h"
#include "state/saved_key.h"

namespace rlctl::state {

// The file of `reset --save`, which rlctl-reset(1) documents: JSON lines, the first of which says
// what it is. A line for each key, and one for each key that was saved but then not removed, since
// it had changed.

/// Writes a file of saved keys.
class SaveFile {
 public:
  /// Creates the file. Throws UsageError if it exists, OutputError if it cannot be created.
  explicit SaveFile(const std::string& path) : path_(path), file_("--save", path) {}

  /// Writes the first line. Call it before the others. `server` is the version, if it is known.
  void begin(const std::optional<redis::ServerVersion>& server);
  /// Adds a key, of which nothing may be removed before sync(). Throws OutputError, and then the
  /// file is as before.
  void add(const SavedKey& key);
  /// Adds that the key was not removed after it was saved last.
  void add_not_removed(std::string_view key);
  /// Returns once the keys are on the disk. Throws OutputError.
  void sync();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// The number of keys that may have been removed.
  [[nodiscard]] std::size_t keys() const noexcept { return keys_; }

  /// Removes the file if no key was removed.
  ~SaveFile();
  SaveFile(const SaveFile&) = delete;
  SaveFile& operator=(const SaveFile&) = delete;

 private:
  std::string path_;
  NewFile file_;
  std::size_t keys_ = 0, added_ = 0;  ///< on the disk; not yet
};

/// Reads a file of saved keys, one key after the other.
class SaveFileReader {
 public:
  /// Reads the whole file once, so that a mistake is found before anything is restored. Throws
  /// InputError, with the number of the line, if it cannot be read or a line is damaged.
  explicit SaveFileReader(const std::string& path);

  /// The next key; none at the end. Throws InputError.
  [[nodiscard]] std::optional<SavedKey> next();

  /// Whether the last line was damaged because it was not written to its end. Its key was not
  /// removed.
  [[nodiscard]] bool is_cut() const noexcept { return is_cut_; }
  /// The fraction of the file that next() has read.
  [[nodiscard]] double share() const noexcept;

 private:
  [[nodiscard]] std::optional<LineReader::Line> read_line();

  std::string path_;
  std::optional<LineReader> lines_;
  std::size_t keys_until_ = 0;                                   ///< the last line
  std::map<std::string, std::size_t, std::less<>> not_removed_;  ///< the last line that says so
  bool is_cut_ = false;
};

}  // namespace rlctl::state
