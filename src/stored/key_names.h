#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"

namespace rlctl::stored {

// Patterns of the names of keys, as libraries.toml describes them.

enum class Part {
  kLiteral,
  kText,
  kWord,
  kIndex,
  kStart,
  kMinute,
  kLimit,
  kWindow,
  kMultiple,
  kPeriod,
  kNumber,
  kHex
};

struct PartName {
  std::string_view name;
  Part part;
  std::size_t least, most;  ///< characters
};
inline constexpr std::array kParts{
    PartName{"word", Part::kWord, 1, 1024},       PartName{"index", Part::kIndex, 1, 19},
    PartName{"start", Part::kStart, 9, 19},       PartName{"minute", Part::kMinute, 1, 2},
    PartName{"limit", Part::kLimit, 1, 10},       PartName{"window", Part::kWindow, 1, 10},
    PartName{"multiple", Part::kMultiple, 1, 10}, PartName{"period", Part::kPeriod, 1, 20},
    PartName{"number", Part::kNumber, 1, 40},     PartName{"hex", Part::kHex, 32, 64}};

struct Piece {
  Part part = Part::kLiteral;
  std::string text;  ///< of a literal
  std::size_t least = 1, most = 0;
  double unit = 1e6;
};

inline constexpr std::size_t kMostPieces = 16;
/// What the pieces of a pattern are in a name.
using Pieces = std::array<std::string_view, kMostPieces>;

/// What a key's name is made of.
struct Pattern {
  std::string text;
  std::vector<Piece> pieces = {};
  std::size_t literals = 0;  ///< characters
};

/// Throws UsageError.
Pattern parse_pattern(const std::string& text);
/// µs in a unit of time. Throws UsageError.
double unit_of(std::string_view text);

/// A name that matches a pattern.
struct Name {
  std::string_view key;
  const Pattern* pattern = nullptr;
  Pieces parts = {};

  /// Nothing if the name does not match.
  static std::optional<Name> match(const Pattern& pattern, std::string_view key);
  const Piece* piece(Part part) const {
    for (const auto& piece : pattern->pieces) {
      if (piece.part == part) return &piece;
    }
    return nullptr;
  }
  std::optional<std::string_view> part(Part part) const {
    const auto* found = piece(part);
    if (found == nullptr) return std::nullopt;
    return parts[static_cast<std::size_t>(found - pattern->pieces.data())];
  }
  std::optional<std::int64_t> number(Part which) const {
    const auto text = part(which);
    return text ? to_number<std::int64_t>(*text) : std::nullopt;
  }
  /// This name made by another pattern of the same parts.
  std::string in(const Pattern& other) const {
    std::string out;
    std::array<bool, kMostPieces> taken = {};
    for (const auto& wanted : other.pieces) {
      if (wanted.part == Part::kLiteral) {
        out += wanted.text;
        continue;
      }
      for (std::size_t i = 0; i < pattern->pieces.size(); ++i) {
        if (taken[i] || pattern->pieces[i].part != wanted.part) continue;
        out += parts[i];
        taken[i] = true;
        break;
      }
    }
    return out;
  }
  /// The same name with the number before.
  std::string with_index_before() const {
    std::string out;
    for (std::size_t i = 0; i < pattern->pieces.size(); ++i) {
      const bool is_index = pattern->pieces[i].part == Part::kIndex;
      out += is_index ? std::to_string(*number(Part::kIndex) - 1) : std::string(parts[i]);
    }
    return out;
  }
};

/// The name of another key: "KEY:ts", "<index-1>" or a pattern of the same parts.
struct OtherName {
  std::string text = {};

  static constexpr std::string_view kKey = "KEY", kBefore = "<index-1>";
  bool empty() const { return text.empty(); }
  std::string of(const Name& name) const {
    if (text == kBefore) return name.with_index_before();
    if (text.starts_with(kKey)) return std::string(name.key) + text.substr(kKey.size());
    return name.in(parse_pattern(text));
  }
  /// The pattern of these names, if that of the keys is `key`.
  std::string pattern(const Pattern& key) const {
    return text.starts_with(kKey) ? key.text + text.substr(kKey.size()) : text;
  }
};

}  // namespace rlctl::stored
