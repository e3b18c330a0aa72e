#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rlctl::stored {

// Patterns of the names of keys, as libraries.toml describes them.

/// What a piece of a pattern stands for.
enum class Part {
  kLiteral,
  kText,
  kWord,
  kIndex,
  kStart,
  kLimit,
  kWindow,
  kMultiple,
  kPeriod,
  kNumber,
  kHex
};

struct Piece {
  Part part = Part::kLiteral;
  std::string_view text = {};       ///< as the pattern has it
  std::size_t least = 1, most = 0;  ///< characters, of what is neither a literal nor any text
  double unit = 1e6;                ///< µs
};

/// The text of which it is made must outlive a pattern.
using Pattern = std::vector<Piece>;
inline constexpr std::size_t kMostPieces = 16;

/// Throws UsageError.
Pattern parse_pattern(std::string_view text);
/// The characters of a pattern that stand for themselves.
std::size_t literals_of(const Pattern& pattern);
/// µs in a unit of time. Throws UsageError.
double unit_of(std::string_view text);

/// A name that matches a pattern. Both must outlive it.
struct Name {
  std::string_view key;
  const Pattern* pattern = nullptr;
  std::array<std::string_view, kMostPieces> parts = {};  ///< what the pieces are in the name

  /// Sets all; false if the name does not match.
  bool match(const Pattern& by, std::string_view name);

  const Piece* piece(Part part) const;
  std::optional<std::string_view> part(Part part) const;
  std::optional<std::int64_t> number(Part part) const;
  /// This name made by another pattern of the same parts.
  std::string in(const Pattern& other) const;
  /// The same name with the number before.
  std::string with_index_before() const;
};

/// The name of another key: "KEY:ts", "<index-1>" or a pattern of the same parts.
struct OtherName {
  std::string_view text = {};

  static constexpr std::string_view kKey = "KEY", kBefore = "<index-1>";
  bool empty() const { return text.empty(); }
  std::string of(const Name& name) const;
  /// The pattern of these names, if that of the keys is `key`; empty if these are keys too.
  std::string pattern(std::string_view key) const;
};

/// The bytes of a name by which it is told from most patterns.
struct NameEnds {
  char first = '\0', last = '\0';
  char before_digits = '\0';  ///< before the digits at the end, if there are any

  explicit NameEnds(std::string_view name);
};

/// What a pattern requires of the ends of a name: most names of a database fail here.
class NameFilter {
 public:
  explicit NameFilter(std::string_view pattern);

  bool passes(const NameEnds& name) const {
    if (first_ != '\0' && name.first != first_) return false;
    if (!ends_in_number_) return last_ == '\0' || name.last == last_;
    return name.last >= '0' && name.last <= '9' && (last_ == '\0' || name.before_digits == last_);
  }

 private:
  char first_ = '\0', last_ = '\0';  ///< '\0': any
  bool ends_in_number_ = false;      ///< `last_` is the character before the number
};

}  // namespace rlctl::stored
