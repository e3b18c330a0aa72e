#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/configuration.h"
#include "limiter/limit.h"
#include "redis/connection.h"
#include "stored/forms.h"

namespace rlctl::stored {

// How the keys of other limiters are read: rows of data, which libraries.toml describes. What has
// no row is unknown, and what a row does not tell is unknown too.

/// A key, what it holds, and the limit that applies to it if the key tells none: where several
/// windows fit a name, it decides.
struct Question {
  std::string_view key;
  const KeySample* content = nullptr;
  std::optional<limiter::Limit> asked = {};
};

/// The contents of keys beside a key, by name. A key that may not be read is not in it.
using Siblings = std::map<std::string, KeySample, std::less<>>;

class RowTable;

/// The rows of a user, then the built-in ones, then --read-as: a key is read by the first that
/// fits.
class Libraries {
 public:
  /// The built-in rows alone.
  Libraries();
  /// `as` is how the user reads keys that no row describes: a value of --read-as. A row with
  /// mistakes makes the keys that it matches unknown. Throws UsageError if `as` is not one of
  /// as_values().
  explicit Libraries(std::span<const limiter::LibrarySection> own,
                     const std::optional<std::string>& as = {});
  ~Libraries();
  Libraries(Libraries&&) noexcept;
  Libraries& operator=(Libraries&&) noexcept;

  /// Whether the user has rows, which apply even to keys that look like rlctl's.
  bool has_own() const { return own_ != nullptr; }
  /// The names of the keys that must be read before the key can be decoded, if it is not certainly
  /// one of this project.
  std::vector<std::string> siblings(const Question& question) const;
  /// The names of the keys that may keep a user out although `key` is gone: bans, and the counts of
  /// the window before, as all rows derive them from its name.
  std::vector<std::string> lasting_siblings(std::string_view key) const;
  /// What the key means; the form lives as long as this. Null also if a row says that it is not a
  /// limiter's.
  Decoded decode(const Question& question, const Siblings& siblings) const;
  /// The fields that must be read of the key if it is a hash; maybe none.
  std::vector<std::string_view> hash_fields(std::string_view key) const;

 private:
  std::unique_ptr<RowTable> own_;  ///< null if the user has none
  std::unique_ptr<RowTable> as_;   ///< the rows of --read-as; null without it
};

/// The built-in rows, each of which is read when the first key is met whose name it matches.
const Libraries& built_in_libraries();

/// The mistakes in rows of a configuration file.
std::vector<limiter::ConfigurationMistake> library_mistakes(
    const limiter::Configuration& configuration);

/// The values that --read-as takes.
std::span<const std::string_view> as_values();

/// Reads the keys beside these, and decodes all: calls `on_decoded` for each, with its index.
/// Throws redis::Error, but not for a key beside these that is refused to the user.
void decode_all(redis::Connection& connection, std::span<const Question> questions,
                const Libraries& libraries,
                const std::function<void(std::size_t, Decoded&&)>& on_decoded);

/// The row to write for a key that nobody knows: lines of TOML.
std::vector<std::string> suggested_row(std::string_view key, std::string_view type);

}  // namespace rlctl::stored
