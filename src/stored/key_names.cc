#include "stored/key_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"

namespace rlctl::stored {
namespace {

struct PartName {
  std::string_view name;
  Part part;
  std::size_t least, most;  ///< characters
};
constexpr std::array kParts{
    PartName{"word", Part::kWord, 1, 1024},   PartName{"index", Part::kIndex, 1, 18},
    PartName{"start", Part::kStart, 9, 19},   PartName{"limit", Part::kLimit, 1, 10},
    PartName{"window", Part::kWindow, 1, 18}, PartName{"multiple", Part::kMultiple, 1, 10},
    PartName{"period", Part::kPeriod, 1, 20}, PartName{"number", Part::kNumber, 1, 40},
    PartName{"hex", Part::kHex, 32, 64}};

Piece parse_part(std::string_view text) {
  const auto blank = text.find(' ');
  const auto* part = find_by_name(kParts, text.substr(0, blank));
  if (part == nullptr) {
    throw UsageError(fmt::format("the key has '<', but not one of: {}", one_of(names_of(kParts))));
  }
  Piece piece{.part = part->part, .least = part->least, .most = part->most};
  if (blank != text.npos) piece.unit = unit_of(text.substr(blank + 1));
  return piece;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
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
    const auto size = run([](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); });
    return size == 32 || size == 40 || size == 64 ? size : 0;
  }
  const auto size = run(is_digit);
  const bool has_zeros = size > 1 && text[0] == '0' && piece.part != Part::kNumber;
  return has_zeros ? 0 : size;
}

/// Finds out what the pieces of name.pattern are in name.key.
class Matching {
 public:
  explicit Matching(Name& name) : name_(name), pieces_(*name.pattern) {}

  /// Fills name.parts; false if the name does not match.
  bool match() { return has_literals() && match_from(0, name_.key); }

 private:
  /// Most names that pass a NameFilter fail here.
  bool has_literals() const {
    if (pieces_.empty()) return false;
    auto rest = name_.key;
    for (const auto& piece : pieces_) {
      if (piece.part != Part::kLiteral) continue;
      const auto at = &piece == &pieces_.front() ? (rest.starts_with(piece.text) ? 0 : rest.npos)
                                                 : rest.find(piece.text);
      if (at == rest.npos) return false;
      rest.remove_prefix(at + piece.text.size());
    }
    const auto& last = pieces_.back();
    return last.part != Part::kLiteral || name_.key.ends_with(last.text);
  }
  bool match_from(std::size_t index, std::string_view rest) {
    if (index == pieces_.size()) return rest.empty();
    if (--steps_ <= 0) return false;
    const auto& piece = pieces_[index];
    const auto take = [&](std::size_t size) {
      name_.parts[index] = rest.substr(0, size);
      return match_from(index + 1, rest.substr(size));
    };
    if (piece.part == Part::kLiteral)
      return rest.starts_with(piece.text) && take(piece.text.size());
    if (piece.part != Part::kText) {
      const auto size = size_of_part(piece, rest);
      return size >= piece.least && size <= piece.most && take(size);
    }
    if (index + 1 == pieces_.size()) return !rest.empty() && take(rest.size());
    const auto& next = pieces_[index + 1];
    for (std::size_t size = 1; size < rest.size() && steps_ > 0; ++size) {
      if (next.part == Part::kLiteral) {
        size = rest.find(next.text, size);
        if (size == rest.npos) return false;
      }
      if (take(size)) return true;
    }
    return false;
  }

  Name& name_;
  const Pattern& pieces_;
  int steps_ = 2000;  ///< names of many equal characters would take much longer
};

}  // namespace

double unit_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"ns", 1e-3}}};
  for (const auto& [name, us] : kUnits) {
    if (name == text) return us;
  }
  throw UsageError(fmt::format("the unit must be s, ms, us or ns, not '{}'", text));
}

Pattern parse_pattern(std::string_view text) {
  Pattern pattern;
  while (!text.empty()) {
    auto size = text.find_first_of("*<");
    if (size == 0 && text[0] == '*') {
      size = 1;
      pattern.push_back({.part = Part::kText});
    } else if (size == 0) {
      const auto end = text.find('>');
      pattern.push_back(parse_part(end == text.npos ? "" : text.substr(1, end - 1)));
      size = end + 1;
    } else {
      pattern.push_back({});
    }
    pattern.back().text = text.substr(0, size);
    text.remove_prefix(std::min(size, text.size()));
  }
  if (pattern.empty()) throw UsageError("the key is empty");
  if (pattern.size() > kMostPieces) throw UsageError("the key has too many parts");
  return pattern;
}

std::size_t literals_of(const Pattern& pattern) {
  std::size_t literals = 0;
  for (const auto& piece : pattern) {
    if (piece.part == Part::kLiteral) literals += piece.text.size();
  }
  return literals;
}

bool Name::match(const Pattern& by, std::string_view name) {
  key = name;
  pattern = &by;
  return Matching(*this).match();
}

const Piece* Name::piece(Part part) const {
  const auto found = std::ranges::find(*pattern, part, &Piece::part);
  return found == pattern->end() ? nullptr : &*found;
}

std::optional<std::string_view> Name::part(Part part) const {
  const auto* found = piece(part);
  if (found == nullptr) return std::nullopt;
  return parts[static_cast<std::size_t>(found - pattern->data())];
}

std::optional<std::int64_t> Name::number(Part part) const {
  const auto text = this->part(part);
  return text ? to_number<std::int64_t>(*text) : std::nullopt;
}

std::string Name::in(const Pattern& other) const {
  std::string out;
  std::array<bool, kMostPieces> taken = {};
  for (const auto& wanted : other) {
    auto text = wanted.text;
    for (std::size_t i = 0; i < pattern->size() && wanted.part != Part::kLiteral; ++i) {
      if (taken[i] || (*pattern)[i].part != wanted.part) continue;
      text = parts[i];
      taken[i] = true;
      break;
    }
    out += text;
  }
  return out;
}

std::string Name::with_index_before() const {
  std::string out;
  for (std::size_t i = 0; i < pattern->size(); ++i) {
    const bool is_index = (*pattern)[i].part == Part::kIndex;
    out += is_index ? std::to_string(*number(Part::kIndex) - 1) : std::string(parts[i]);
  }
  return out;
}

std::string OtherName::of(const Name& name) const {
  if (text == kBefore) return name.with_index_before();
  if (text.starts_with(kKey)) return std::string(name.key).append(text.substr(kKey.size()));
  return name.in(parse_pattern(text));
}

std::string OtherName::pattern(std::string_view key) const {
  if (text == kBefore) return {};
  if (text.starts_with(kKey)) return std::string(key).append(text.substr(kKey.size()));
  return std::string(text);
}

NameEnds::NameEnds(std::string_view name) {
  if (name.empty()) return;
  first = name.front();
  last = name.back();
  while (!name.empty() && is_digit(name.back())) name.remove_suffix(1);
  if (!name.empty()) before_digits = name.back();
}

NameFilter::NameFilter(std::string_view pattern) {
  if (pattern.empty()) return;
  const auto literal = [](char c) { return c == '*' || c == '<' || c == '>' ? '\0' : c; };
  first_ = literal(pattern.front());
  last_ = literal(pattern.back());
  if (pattern.back() != '>') return;
  const auto begin = std::min(pattern.rfind('<'), pattern.size());
  for (const std::string_view number : {"<index", "<start", "<number"}) {
    ends_in_number_ = ends_in_number_ || pattern.substr(begin).starts_with(number);
  }
  const bool has_literal = ends_in_number_ && begin > 0 && !is_digit(pattern[begin - 1]);
  last_ = has_literal ? literal(pattern[begin - 1]) : '\0';
}

}  // namespace rlctl::stored
