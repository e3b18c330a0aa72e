#include "stored/key_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/table.h"

namespace rlctl::stored {

double unit_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"ns", 1e-3}}};
  for (const auto& [name, us] : kUnits) {
    if (name == text) return us;
  }
  throw UsageError(fmt::format("the unit must be s, ms, us or ns, not '{}'", text));
}

Pattern parse_pattern(const std::string& text) {
  Pattern pattern{.text = text};
  std::string literal;
  const auto end_literal = [&] {
    if (literal.empty()) return;
    pattern.literals += literal.size();
    pattern.pieces.push_back({.text = std::exchange(literal, {})});
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '*') {
      end_literal();
      pattern.pieces.push_back({.part = Part::kText, .text = {}});
    } else if (text[i] == '<') {
      end_literal();
      const auto end = text.find('>', i);
      const auto inner = std::string_view(text).substr(i + 1, end - i - 1);
      const auto* part = find_by_name(kParts, inner.substr(0, inner.find(' ')));
      if (end == text.npos || part == nullptr) {
        throw UsageError(
            fmt::format("the key has '<', but not one of: {}", one_of(names_of(kParts))));
      }
      Piece piece{.part = part->part, .text = {}, .least = part->least, .most = part->most};
      if (inner.find(' ') != inner.npos) piece.unit = unit_of(inner.substr(inner.find(' ') + 1));
      pattern.pieces.push_back(std::move(piece));
      i = end;
    } else {
      literal += text[i];
    }
  }
  end_literal();
  if (pattern.pieces.empty()) throw UsageError("the key is empty");
  if (pattern.pieces.size() > kMostPieces) throw UsageError("the key has too many parts");
  return pattern;
}

namespace {

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/// How much of the beginning of the text is this part, which is no literal and no free text.
std::size_t size_of_part(const Piece& piece, std::string_view text) {
  const auto run = [&](auto is_one) {
    const auto end = std::find_if_not(text.begin(), text.end(), is_one);
    return static_cast<std::size_t>(end - text.begin());
  };
  if (piece.part == Part::kWord) return run([](char c) { return c != ':'; });
  if (piece.part == Part::kPeriod) return run([](char c) { return c >= 'a' && c <= 'z'; });
  if (piece.part == Part::kHex) {
    const auto size = run(is_hex);
    return size == 32 || size == 40 || size == 64 ? size : 0;
  }
  const auto size = run([](char c) { return c >= '0' && c <= '9'; });
  const bool has_zeros = size > 1 && text[0] == '0' && piece.part != Part::kNumber;
  return has_zeros ? 0 : size;
}

/// Finds out what the parts of a pattern are in a name.
class Matching {
 public:
  Matching(const Pattern& pattern, std::string_view key) : pattern_(pattern), key_(key) {}

  /// Fills parts(); false if the name does not match.
  bool match() { return may_match() && match_from(0, key_); }
  const Pieces& parts() const { return parts_; }

 private:
  /// Most names fail here.
  bool may_match() const {
    const auto& first = pattern_.pieces.front();
    const auto& last = pattern_.pieces.back();
    if (first.part == Part::kLiteral && !key_.starts_with(first.text)) return false;
    if (last.part == Part::kLiteral && !key_.ends_with(last.text)) return false;
    if (key_.size() < pattern_.literals) return false;
    return true;
  }
  bool match_from(std::size_t index, std::string_view rest) {
    if (index == pattern_.pieces.size()) return rest.empty();
    if (--steps_ <= 0) return false;
    const auto& piece = pattern_.pieces[index];
    const auto take = [&](std::size_t size) {
      parts_[index] = rest.substr(0, size);
      return match_from(index + 1, rest.substr(size));
    };
    if (piece.part == Part::kLiteral)
      return rest.starts_with(piece.text) && take(piece.text.size());
    if (piece.part != Part::kText) {
      const auto size = size_of_part(piece, rest);
      return size >= piece.least && size <= piece.most && take(size);
    }
    if (index + 1 == pattern_.pieces.size()) return !rest.empty() && take(rest.size());
    const auto& next = pattern_.pieces[index + 1];
    for (std::size_t size = 1; size < rest.size() && steps_ > 0; ++size) {
      if (next.part == Part::kLiteral) {
        size = rest.find(next.text, size);
        if (size == rest.npos) return false;
      }
      if (take(size)) return true;
    }
    return false;
  }

  const Pattern& pattern_;
  std::string_view key_;
  Pieces parts_ = {};
  int steps_ = 2000;  ///< names of many equal characters would take much longer
};

}  // namespace

std::optional<Name> Name::match(const Pattern& pattern, std::string_view key) {
  Matching matching(pattern, key);
  if (!matching.match()) return std::nullopt;
  return Name{.key = key, .pattern = &pattern, .parts = matching.parts()};
}

}  // namespace rlctl::stored
