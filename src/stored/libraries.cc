#include "stored/libraries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/table.h"
#include "base/text.h"
#include "base/time.h"
#include "embedded_libraries.h"
#include "limiter/model.h"

namespace rlctl::stored {
namespace {

using limiter::LibrarySection;
using Setting = LibrarySection::Setting;

/// TTLs in whole seconds, and reading the time and the TTL one after the other.
constexpr microseconds kTtlError = std::chrono::seconds{2};

// ---- Names ----

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
constexpr std::array kParts{
    PartName{"word", Part::kWord, 1, 1024},       PartName{"index", Part::kIndex, 1, 19},
    PartName{"start", Part::kStart, 9, 19},       PartName{"minute", Part::kMinute, 1, 2},
    PartName{"limit", Part::kLimit, 1, 10},       PartName{"window", Part::kWindow, 1, 10},
    PartName{"multiple", Part::kMultiple, 1, 10}, PartName{"period", Part::kPeriod, 1, 20},
    PartName{"number", Part::kNumber, 1, 40},     PartName{"hex", Part::kHex, 32, 64}};

/// µs in a unit of time.
double unit_of(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits{
      {{"s", 1e6}, {"ms", 1e3}, {"us", 1}, {"ns", 1e-3}}};
  for (const auto& [name, us] : kUnits) {
    if (name == text) return us;
  }
  throw UsageError(fmt::format("the unit must be s, ms, us or ns, not '{}'", text));
}

struct Piece {
  Part part = Part::kLiteral;
  std::string text;  ///< of a literal
  std::size_t least = 1, most = 0;
  double unit = 1e6;
};

constexpr std::size_t kMostPieces = 16;
/// What the pieces of a pattern are in a name.
using Pieces = std::array<std::string_view, kMostPieces>;

/// What a key's name is made of.
struct Pattern {
  std::string text;
  std::vector<Piece> pieces = {};
  std::size_t literals = 0;  ///< characters
};

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

/// A name that matches a pattern.
struct Name {
  std::string_view key;
  const Pattern* pattern = nullptr;
  Pieces parts = {};

  static std::optional<Name> match(const Pattern& pattern, std::string_view key) {
    Matching matching(pattern, key);
    if (!matching.match()) return std::nullopt;
    return Name{.key = key, .pattern = &pattern, .parts = matching.parts()};
  }
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

// ---- Rows ----

enum class Value { kCount, kRemaining, kTat, kLevel, kTokens, kTimes, kLeases };

struct ValueName {
  std::string_view name;
  Value value;
  std::string_view algorithm;
  std::string_view summary;
  std::string_view types;
  bool is_for_as;  ///< nothing else must be said
};
constexpr std::array kValues{
    ValueName{"count", Value::kCount, "fixed-window", "a count of what is used", "string hash",
              true},
    ValueName{"remaining", Value::kRemaining, "fixed-window", "what is left of the limit",
              "string hash list", true},
    ValueName{"tat", Value::kTat, "gcra", "a theoretical arrival time", "string hash", true},
    ValueName{"level", Value::kLevel, "leaky-bucket", "what is used, which leaves steadily",
              "string hash", false},
    ValueName{"tokens", Value::kTokens, "token-bucket", "what is left, which comes back steadily",
              "string hash", false},
    ValueName{"times", Value::kTimes, "sliding-window-log", "the times of requests", "list zset",
              true},
    ValueName{"leases", Value::kLeases, "concurrency", "leases, and when they end", "zset", true}};

/// Where a number or a time is told.
struct Place {
  OtherName key = {};   ///< empty: in the key itself
  bool is_ttl = false;  ///< when that key expires
  std::string field = {};
  double unit = 0;  ///< 0: the size of the number tells it
};

/// A duration that depends on the window.
struct Span {
  double windows = 0;
  microseconds more{0};

  double us(double window) const { return windows * window + static_cast<double>(more.count()); }
};

/// What a key beside another holds.
enum class Role { kTime, kNumber, kHash, kBan, kOther };

enum class Proof { kName, kTtl, kSiblings };
enum class Ttl { kAny, kNone, kValue, kSpan };

}  // namespace

struct Row {
  std::string id, name;
  std::vector<Pattern> keys = {};
  std::string type = {};
  const ValueName* value = nullptr;
  Proof proof = Proof::kName;
  std::string field = {};
  double unit = 0;
  std::int64_t epoch = 0, scale = 1, zero = 0;
  bool is_weighted = false, is_queue = false, is_by_client = false;
  microseconds held{0}, refill{1};
  bool refills_whole = false;
  std::optional<Place> at = {}, start = {}, ends = {}, limit_at = {}, window_at = {};
  bool ends_unknown = false;
  std::optional<std::int64_t> units = {};
  std::vector<microseconds> windows = {};
  OtherName previous = {}, ban = {}, unless = {};
  std::vector<OtherName> others = {};
  std::vector<std::pair<std::string, std::string>> periods = {};
  Ttl ttl = Ttl::kAny;
  Span least_ttl = {}, most_ttl = {};
  /// The other keys that the row names.
  std::vector<std::pair<OtherName, Role>> beside = {};
  std::string mistake = {};  ///< what makes the row useless
  /// By unit, s, ms and us, and for lists whose newest entry is the first.
  std::array<Form, 6> forms = {};
};

namespace {

// ---- Reading rows ----

const std::string& text_of(const Setting& setting) {
  if (setting.values.size() != 1) throw UsageError("takes one text");
  return setting.values.front();
}

std::int64_t whole_number(const Setting& setting) {
  return parse_whole(text_of(setting), setting.name);
}

bool truth(const Setting& setting) {
  const auto& text = text_of(setting);
  if (text != "true" && text != "false") throw UsageError("must be true or false");
  return text == "true";
}

Span parse_span(std::string_view text) {
  Span span;
  while (!text.empty()) {
    const auto end = std::min(text.find('+'), text.size());
    const auto term = text.substr(0, end);
    constexpr std::string_view kWindow = "window";
    if (term == kWindow) {
      span.windows += 1;
    } else if (term.ends_with("*window")) {
      span.windows +=
          static_cast<double>(parse_whole(term.substr(0, term.find('*')), "the factor"));
    } else {
      span.more += parse_duration(term);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return span;
}

void read_ttl(Row& row, const Setting& setting) {
  const auto& text = text_of(setting);
  if (text == "none" || text == "value") {
    row.ttl = text == "none" ? Ttl::kNone : Ttl::kValue;
    return;
  }
  row.ttl = Ttl::kSpan;
  const auto dots = text.find("..");
  row.least_ttl = parse_span(text.substr(0, dots));
  row.most_ttl = dots == text.npos ? row.least_ttl : parse_span(text.substr(dots + 2));
}

void read_limit_text(Row& row, const Setting& setting) {
  const auto& text = text_of(setting);
  if (text.find('/') == text.npos) {
    row.units = parse_whole(text, "the limit");
    return;
  }
  const auto limit = limiter::parse_limit(text);
  row.units = limit.limit;
  row.windows = {limit.window};
}

void read_refill(Row& row, const Setting& setting) {
  std::string_view text = text_of(setting);
  if (text == "window") {
    row.refill = microseconds{0};
    return;
  }
  constexpr std::string_view kWhole = " whole";
  row.refills_whole = text.ends_with(kWhole);
  if (row.refills_whole) text.remove_suffix(kWhole.size());
  row.refill = parse_duration(text);
}

struct RowSetting {
  std::string_view name;
  void (*read)(Row& row, const Setting& setting);
};

constexpr std::array kRowSettings{
    RowSetting{"key",
               [](Row& row, const Setting& setting) {
                 for (const auto& key : setting.values) row.keys.push_back(parse_pattern(key));
               }},
    RowSetting{"type",
               [](Row& row, const Setting& setting) {
                 row.type = text_of(setting);
                 constexpr std::array<std::string_view, 4> kTypes{"string", "list", "hash", "zset"};
                 if (std::ranges::find(kTypes, row.type) == kTypes.end()) {
                   throw UsageError(
                       fmt::format("must be one of: {}, not '{}'", one_of(kTypes), row.type));
                 }
               }},
    RowSetting{"name", [](Row& row, const Setting& setting) { row.name = text_of(setting); }},
    RowSetting{"value",
               [](Row& row, const Setting& setting) {
                 row.value = find_by_name(kValues, text_of(setting));
                 if (row.value == nullptr) {
                   throw UsageError(fmt::format("must be one of: {}, not '{}'",
                                                one_of(names_of(kValues)), text_of(setting)));
                 }
               }},
    RowSetting{"proof",
               [](Row& row, const Setting& setting) {
                 const auto& text = text_of(setting);
                 if (text != "ttl" && text != "siblings") {
                   throw UsageError("must be ttl or siblings");
                 }
                 row.proof = text == "ttl" ? Proof::kTtl : Proof::kSiblings;
               }},
    RowSetting{"field", [](Row& row, const Setting& setting) { row.field = text_of(setting); }},
    RowSetting{"unit",
               [](Row& row, const Setting& setting) { row.unit = unit_of(text_of(setting)); }},
    RowSetting{"epoch",
               [](Row& row, const Setting& setting) { row.epoch = whole_number(setting); }},
    RowSetting{"scale",
               [](Row& row, const Setting& setting) {
                 row.scale = whole_number(setting);
                 if (row.scale < 1) throw UsageError("must be at least 1");
               }},
    RowSetting{"zero", [](Row& row, const Setting& setting) { row.zero = whole_number(setting); }},
    RowSetting{"weight",
               [](Row& row, const Setting& setting) {
                 if (text_of(setting) != "u32le") throw UsageError("must be u32le");
                 row.is_weighted = true;
               }},
    RowSetting{"held", [](Row& row,
                          const Setting& setting) { row.held = parse_duration(text_of(setting)); }},
    RowSetting{"queue", [](Row& row, const Setting& setting) { row.is_queue = truth(setting); }},
    RowSetting{"refill", read_refill},
    RowSetting{"limit", read_limit_text},
    RowSetting{"window",
               [](Row& row, const Setting& setting) {
                 for (const auto& text : setting.values) {
                   row.windows.push_back(parse_duration(text));
                 }
               }},
    RowSetting{"ends",
               [](Row& row, const Setting& setting) {
                 if (text_of(setting) != "unknown") throw UsageError("must be a place, or unknown");
                 row.ends_unknown = true;
               }},
    RowSetting{"previous",
               [](Row& row, const Setting& setting) { row.previous = {text_of(setting)}; }},
    RowSetting{"ban", [](Row& row, const Setting& setting) { row.ban = {text_of(setting)}; }},
    RowSetting{"unless", [](Row& row, const Setting& setting) { row.unless = {text_of(setting)}; }},
    RowSetting{"others",
               [](Row& row, const Setting& setting) {
                 for (const auto& text : setting.values) row.others.push_back({text});
               }},
    RowSetting{"clock",
               [](Row& row, const Setting& setting) {
                 const auto& text = text_of(setting);
                 if (text != "server" && text != "client")
                   throw UsageError("must be server or client");
                 row.is_by_client = text == "client";
               }},
    RowSetting{"ttl", read_ttl},
    RowSetting{"source", [](Row& /*row*/, const Setting& /*setting*/) {}},
    // Tables.
    RowSetting{"at", nullptr},
    RowSetting{"start", nullptr},
    RowSetting{"periods", nullptr},
};

std::optional<Place>* place_of(Row& row, std::string_view name) {
  if (name == "at") return &row.at;
  if (name == "start") return &row.start;
  if (name == "ends") return &row.ends;
  if (name == "limit") return &row.limit_at;
  return name == "window" ? &row.window_at : nullptr;
}

void read_place(Place& place, std::string_view part, const Setting& setting) {
  const auto& text = text_of(setting);
  if (part == "key" || part == "ttl") {
    place.key = {text};
    place.is_ttl = part == "ttl";
  } else if (part == "field") {
    place.field = text;
  } else if (part == "unit") {
    place.unit = unit_of(text);
  } else {
    throw UsageError("a place has key, field, unit and ttl");
  }
}

void read_setting(Row& row, const Setting& setting) {
  const std::string_view name = setting.name;
  const auto dot = name.find('.');
  const auto* known = find_by_name(kRowSettings, name.substr(0, dot));
  if (known == nullptr) {
    throw UsageError("unknown key" + did_you_mean_or_all(name, names_of(kRowSettings)));
  }
  if (dot == name.npos) {
    if (known->read == nullptr) throw UsageError("must be a table");
    return known->read(row, setting);
  }
  if (known->name == "periods") {
    const auto& length = text_of(setting);
    if (length != "month" && length != "year") (void)parse_duration(length);
    row.periods.emplace_back(name.substr(dot + 1), length);
    return;
  }
  auto* place = place_of(row, known->name);
  if (place == nullptr) throw UsageError("is no table");
  if (!*place) place->emplace();
  read_place(**place, name.substr(dot + 1), setting);
}

void make_forms(Row& row) {
  const auto value = row.value->value;
  const bool is_zset = row.type == "zset", is_list = row.type == "list";
  const bool tells_window = row.start || row.ends || row.ends_unknown || !row.previous.empty() ||
                            std::ranges::any_of(row.keys, [](const Pattern& key) {
                              return std::ranges::any_of(key.pieces, [](const Piece& piece) {
                                return piece.part == Part::kIndex || piece.part == Part::kStart ||
                                       piece.part == Part::kMinute;
                              });
                            });
  Form form{.name = row.value->algorithm,
            .type = row.type,
            .library = row.name,
            .summary = row.value->summary,
            .held = row.held,
            .is_weighted = row.is_weighted,
            .clock_is_callers = row.is_by_client,
            .never_expires = row.ttl == Ttl::kNone};
  if (value == Value::kTimes) form.layout = is_list ? Layout::kTimes : Layout::kScores;
  if (value == Value::kTimes && is_zset) form.name = "sliding-window-zset";
  if (value == Value::kLeases) form.layout = Layout::kLeases;
  if (value == Value::kRemaining && is_list) form.layout = Layout::kElements;
  if (value == Value::kRemaining && is_list) form.name = "token-bucket";
  if (!row.previous.empty()) form.name = "sliding-window-counter";
  form.is_called_with_partner = !row.previous.empty();
  form.ends_by_ttl = (value == Value::kCount || value == Value::kRemaining) && !tells_window;
  constexpr std::array<std::int64_t, 3> kUnits{1'000'000, 1000, 1};
  for (std::size_t i = 0; i < row.forms.size(); ++i) {
    form.us_per_score = kUnits[i / 2];
    form.newest_first = i % 2 == 1;
    row.forms[i] = form;
  }
}

std::vector<std::pair<OtherName, Role>> other_names(const Row& row) {
  std::vector<std::pair<OtherName, Role>> names;
  const auto add_place = [&](const std::optional<Place>& place, Role role) {
    if (!place || place->key.empty() || place->is_ttl) return;
    names.emplace_back(place->key, place->field.empty() ? role : Role::kHash);
  };
  add_place(row.at, Role::kTime);
  add_place(row.start, Role::kTime);
  add_place(row.ends, Role::kTime);
  add_place(row.limit_at, Role::kNumber);
  add_place(row.window_at, Role::kNumber);
  if (!row.previous.empty()) names.emplace_back(row.previous, Role::kNumber);
  if (!row.ban.empty()) names.emplace_back(row.ban, Role::kBan);
  for (const auto& other : row.others) names.emplace_back(other, Role::kOther);
  return names;
}

/// Throws UsageError, for the first mistake that concerns the whole row.
void require_whole(const Row& row) {
  if (row.keys.empty()) throw UsageError("key is missing; write key = \"acme:left:*\"");
  if (row.type.empty()) throw UsageError("type is missing; write type = \"string\"");
  if (row.value == nullptr) throw UsageError("value is missing; write value = \"count\"");
  if (row.value->types.find(row.type) == std::string_view::npos) {
    throw UsageError(fmt::format("value = \"{}\" is for the types {}, not {}", row.value->name,
                                 row.value->types, row.type));
  }
  if (row.type == "hash" && row.field.empty()) throw UsageError("a hash needs a field");
  const bool is_bucket = row.value->value == Value::kLevel || row.value->value == Value::kTokens;
  if (is_bucket && !row.at) {
    throw UsageError(
        fmt::format("value = \"{}\" needs at, the place of the time for which it was "
                    "counted",
                    row.value->name));
  }
}

/// A mistake in a row, and where.
struct RowMistake {
  std::size_t line;
  std::string message;
};

/// Reads the row as far as it can.
std::vector<RowMistake> read_row(const LibrarySection& section, Row& row) {
  std::vector<RowMistake> mistakes;
  row.id = row.name = section.name;
  for (const auto& setting : section.settings) {
    try {
      read_setting(row, setting);
    } catch (const UsageError& error) {
      mistakes.push_back({setting.line, fmt::format("library '{}': {}: {}", section.name,
                                                    setting.name, error.what())});
    }
  }
  row.beside = other_names(row);
  if (mistakes.empty()) {
    try {
      require_whole(row);
    } catch (const UsageError& error) {
      mistakes.push_back(
          {section.line, fmt::format("library '{}': {}", section.name, error.what())});
    }
  }
  if (!mistakes.empty()) row.mistake = mistakes.front().message;
  if (row.value == nullptr) row.value = &kValues.front();
  make_forms(row);
  return mistakes;
}

// ---- Finding rows ----

/// A pattern of keys, and a row that reads them or belongs to them.
struct Entry {
  Pattern pattern;
  const Row* row = nullptr;
  Role role = Role::kOther;
  const Pattern* key = nullptr;    ///< of the key beside which these are
  char first = '\0', last = '\0';  ///< bytes of the name, if the pattern has them
  bool ends_in_digit = false;

  Entry(Pattern name, const Row& by, Role what, const Pattern& beside)
      : pattern(std::move(name)), row(&by), role(what), key(&beside) {
    const auto& front = pattern.pieces.front();
    const auto& back = pattern.pieces.back();
    if (front.part == Part::kLiteral) first = front.text.front();
    if (back.part == Part::kLiteral) last = back.text.back();
    ends_in_digit = back.part == Part::kIndex || back.part == Part::kStart ||
                    back.part == Part::kMinute || back.part == Part::kNumber;
  }
  /// Most names of keys fail here, so that a database of millions is read quickly.
  bool may_match(std::string_view name) const {
    if (name.empty() || (first != '\0' && name.front() != first)) return false;
    if (last != '\0' && name.back() != last) return false;
    return !ends_in_digit || (name.back() >= '0' && name.back() <= '9');
  }
};

/// Rows in the order in which they are tried.
struct Index {
  /// By type; for keys that are not there, those that have a ban. The more literal ones first.
  std::map<std::string, std::vector<Entry>, std::less<>> keys = {};
  std::vector<Entry> parts = {};  ///< keys beside others

  std::span<const Entry> keys_of(std::string_view type) const {
    const auto found = keys.find(type);
    return found == keys.end() ? std::span<const Entry>() : found->second;
  }
};

Index index_of(const std::deque<Row>& rows) {
  Index index;
  for (const auto& row : rows) {
    for (const auto& key : row.keys) {
      const Entry entry(key, row, Role::kOther, key);
      index.keys[row.type].push_back(entry);
      if (!row.ban.empty()) index.keys["none"].push_back(entry);
      if (!row.mistake.empty()) continue;
      for (const auto& [name, role] : row.beside) {
        if (name.text == OtherName::kBefore) continue;
        auto pattern = parse_pattern(name.pattern(key));
        const bool is_any = pattern.literals == 0;
        if (is_any && role != Role::kHash) continue;
        index.parts.emplace_back(std::move(pattern), row, role, key);
      }
    }
  }
  for (auto& [type, entries] : index.keys) {
    std::ranges::stable_sort(entries, std::greater<>{},
                             [](const Entry& entry) { return entry.pattern.literals; });
  }
  return index;
}

// ---- Numbers and times ----

std::optional<double> number_in(std::string_view text) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  const auto number = to_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> count_in(std::string_view text) {
  constexpr double kMost = 1e15;
  const auto number = number_in(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) >= kMost) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

/// A time of today. Without a unit, the size of the number tells it.
std::optional<microseconds> time_of(double value, double unit, std::int64_t epoch = 0) {
  constexpr std::array kUnits{1e6, 1e3, 1.0, 1e-3};
  constexpr double kFirstSinceEpoch = 1'577'836'800e6;  // 2020: a small number is none
  for (const auto each : kUnits) {
    if (unit != 0 && each != unit) continue;
    const auto us = static_cast<double>(epoch) * 1e6 + value * each;
    if (value <= 0 || !is_of_today(us) || (epoch != 0 && us < kFirstSinceEpoch)) continue;
    return microseconds{std::llround(us)};
  }
  return std::nullopt;
}

std::optional<microseconds> time_in(std::string_view text, double unit, std::int64_t epoch = 0) {
  const auto number = number_in(text);
  return number ? time_of(*number, unit, epoch) : std::nullopt;
}

/// The text of a field, or of a string.
std::optional<std::string_view> text_at(const KeySample& content, const std::string& field) {
  if (field.empty()) {
    if (content.type != "string") return std::nullopt;
    return content.text;
  }
  const auto found = content.fields.find(field);
  if (found == content.fields.end()) return std::nullopt;
  return found->second;
}

// ---- Windows ----

constexpr auto kSteps = [] {
  using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  using std::chrono::milliseconds;
  return std::array<microseconds, 29>{
      days{30},          days{7},           days{1},           hours{12},        hours{6},
      hours{2},          hours{1},          minutes{30},       minutes{15},      minutes{10},
      minutes{5},        minutes{2},        minutes{1},        seconds{30},      seconds{20},
      seconds{15},       seconds{10},       seconds{5},        seconds{2},       seconds{1},
      milliseconds{500}, milliseconds{200}, milliseconds{100}, milliseconds{50}, milliseconds{20},
      milliseconds{10},  milliseconds{5},   milliseconds{2},   milliseconds{1}};
}();

/// The largest usual step of which the window is a multiple.
microseconds roundness(const std::optional<microseconds>& window) {
  if (!window) return microseconds{0};
  for (const auto step : kSteps) {
    if (*window % step == microseconds{0}) return step;
  }
  return microseconds{0};
}

/// The first instant of the month, or of the year, after that of `begin`, in UTC.
microseconds calendar_end(microseconds begin, bool is_year) {
  using namespace std::chrono;
  const year_month_day day{floor<days>(sys_time<microseconds>{begin})};
  const auto next =
      is_year ? (day.year() + years{1}) / January / 1 : day.year() / day.month() / 1 + months{1};
  return sys_days{next}.time_since_epoch();
}

// ---- Reading a key by a row ----

/// How well a row fits.
struct Fitting {
  Decoded state;
  double off = 0;  ///< by how many µs the TTL is not what the row says
};

class RowReading {
 public:
  RowReading(const Row& row, Name name, const Question& question, const Siblings& siblings)
      : row_(row),
        name_(name),
        question_(question),
        content_(*question.content),
        siblings_(siblings),
        now_(content_.read_at),
        until_(content_.until) {}

  /// Nothing if the content is not what the row says.
  std::optional<Fitting> read();

 private:
  const KeySample* sibling(const OtherName& name) const;
  std::optional<std::string_view> told(const Place& place) const;
  std::optional<microseconds> time_at(const Place& place) const;
  std::optional<std::int64_t> number_at(const Place& place) const;
  std::optional<microseconds> span_at(const Place& place) const;
  bool has_proof() const;
  bool is_hash_of_row() const;
  bool tells_limit();
  std::string missing(const Place& place) const;
  void set_unknown(std::string why) { state_.unknown = std::move(why); }
  bool read_value();
  bool read_count(std::int64_t value);
  bool read_tat(double value);
  bool read_bucket(double value);
  bool read_entries();
  bool fits(microseconds begin, microseconds window) const;
  double off(microseconds begin, microseconds window) const;
  std::optional<microseconds> window_of(std::int64_t index) const;
  void set_form(std::size_t unit, bool newest_first) {
    state_.form = &row_.forms[unit * 2 + (newest_first ? 1 : 0)];
  }
  void read_ban();

  const Row& row_;
  Name name_;
  const Question& question_;
  const KeySample& content_;
  const Siblings& siblings_;
  microseconds now_;
  std::optional<microseconds> until_;
  Decoded state_;
  double off_ = 0;
};

/// Null if it could not be read.
const KeySample* RowReading::sibling(const OtherName& name) const {
  const auto found = siblings_.find(name.of(name_));
  return found == siblings_.end() ? nullptr : &found->second;
}

std::optional<std::string_view> RowReading::told(const Place& place) const {
  const auto* where = place.key.empty() ? &content_ : sibling(place.key);
  return where == nullptr ? std::nullopt : text_at(*where, place.field);
}

std::optional<microseconds> RowReading::time_at(const Place& place) const {
  if (place.is_ttl) {
    const auto* where = sibling(place.key);
    return where == nullptr ? std::nullopt : where->until;
  }
  const auto text = told(place);
  return text ? time_in(*text, place.unit) : std::nullopt;
}

std::optional<std::int64_t> RowReading::number_at(const Place& place) const {
  const auto text = told(place);
  return text ? count_in(*text) : std::nullopt;
}

std::optional<microseconds> RowReading::span_at(const Place& place) const {
  const auto number = number_at(place);
  const auto unit = place.unit == 0 ? 1e6 : place.unit;
  if (!number || *number < 1 || static_cast<double>(*number) * unit > 1e15) return std::nullopt;
  return microseconds{std::llround(static_cast<double>(*number) * unit)};
}

/// Whether the other keys that the row reads hold what it says.
bool RowReading::has_proof() const {
  const auto is_there = [](const auto& place, const auto& value) { return !place || value; };
  return is_there(row_.at, row_.at ? time_at(*row_.at) : std::nullopt) &&
         is_there(row_.start, row_.start ? time_at(*row_.start) : std::nullopt) &&
         is_there(row_.ends, row_.ends ? time_at(*row_.ends) : std::nullopt) &&
         is_there(row_.limit_at, row_.limit_at ? number_at(*row_.limit_at) : std::nullopt) &&
         is_there(row_.window_at, row_.window_at ? span_at(*row_.window_at) : std::nullopt);
}

/// Whether the hash has exactly the row's fields.
bool RowReading::is_hash_of_row() const {
  std::vector<std::string_view> fields{row_.field};
  for (const auto* place : {&row_.at, &row_.start, &row_.ends, &row_.limit_at, &row_.window_at}) {
    if (!*place || !(*place)->key.empty()) continue;
    if (std::ranges::find(fields, (*place)->field) == fields.end()) {
      fields.push_back((*place)->field);
    }
  }
  return content_.size == std::ssize(fields) && std::ranges::all_of(fields, [&](auto field) {
           return content_.fields.find(field) != content_.fields.end();
         });
}

/// Sets the limit and the window that the row and the key's name tell. Returns false if the name
/// has a word that is no period.
bool RowReading::tells_limit() {
  state_.units = row_.units;
  if (row_.limit_at) state_.units = number_at(*row_.limit_at);
  if (const auto limit = name_.number(Part::kLimit)) state_.units = limit;
  if (row_.windows.size() == 1) state_.window = row_.windows.front();
  if (row_.window_at) state_.window = span_at(*row_.window_at);
  if (const auto window = name_.number(Part::kWindow)) {
    const auto us = static_cast<double>(*window) * name_.piece(Part::kWindow)->unit;
    state_.window = microseconds{std::llround(us)};
  }
  if (const auto period = name_.part(Part::kPeriod)) {
    const auto known =
        std::ranges::find(row_.periods, *period, [](const auto& each) { return each.first; });
    if (known == row_.periods.end()) return false;
    if (known->second != "month" && known->second != "year") {
      const auto multiple = name_.number(Part::kMultiple).value_or(1);
      const auto length = parse_duration(known->second);
      if (multiple >= 1 && multiple <= limiter::kLongestWindow / length) {
        state_.window = length * multiple;
      }
    }
  }
  const auto is_limit = [](std::int64_t units) {
    return units >= 1 && units <= limiter::kLargestLimit;
  };
  if (state_.units && !is_limit(*state_.units)) state_.units.reset();
  if (state_.window && (state_.window->count() < 1 || *state_.window > limiter::kLongestWindow)) {
    state_.window.reset();
  }
  return true;
}

/// Why the place tells nothing.
std::string RowReading::missing(const Place& place) const {
  const auto name = "'" + escape(place.key.of(name_)) + "'";
  const auto* found = sibling(place.key);
  if (found == nullptr) return name + ", which holds a part, cannot be read";
  return name + (found->type == "none" ? ", which holds a part, is not there"
                                       : ", which should hold a part, holds something else");
}

std::optional<Fitting> RowReading::read() {
  set_form(2, false);
  state_.certain = true;
  if (!row_.mistake.empty()) {
    set_unknown("the row that says how to read it has a mistake: " + row_.mistake);
    return Fitting{std::move(state_)};
  }
  if (row_.proof == Proof::kTtl && !until_) return std::nullopt;
  if (row_.proof == Proof::kSiblings && !has_proof()) return std::nullopt;
  if (row_.type == "hash" && !is_hash_of_row()) return std::nullopt;
  if (!tells_limit()) return std::nullopt;
  if (!row_.unless.empty()) {
    const auto* instead = sibling(row_.unless);
    if (instead == nullptr || instead->type != "none") {
      state_.part_of = row_.unless.of(name_);
      return Fitting{std::move(state_)};
    }
  }
  if (!read_value()) return std::nullopt;
  for (const auto& [name, role] : row_.beside) {
    if (state_.partner.empty()) state_.partner = name.of(name_);
  }
  read_ban();
  if (state_.units && state_.window) {
    state_.limit = limiter::Limit{.limit = *state_.units, .window = *state_.window};
  }
  return Fitting{std::move(state_), off_};
}

bool RowReading::read_value() {
  if (content_.type == "zset" || content_.type == "list") return read_entries();
  const auto text = text_at(content_, row_.field);
  const auto number = text ? number_in(*text) : std::nullopt;
  if (!number) return false;
  switch (row_.value->value) {
    case Value::kTat:
      return read_tat(*number);
    case Value::kLevel:
    case Value::kTokens:
      return read_bucket(*number);
    default:
      break;
  }
  const auto count = count_in(*text);
  return count && read_count(*count - row_.zero);
}

double RowReading::off(microseconds begin, microseconds window) const {
  if (row_.ttl != Ttl::kSpan || !until_) return 0;
  const auto us = static_cast<double>(window.count());
  const auto ttl = static_cast<double>((*until_ - begin).count());
  return std::max({0.0, row_.least_ttl.us(us) - ttl, ttl - row_.most_ttl.us(us)});
}

bool RowReading::fits(microseconds begin, microseconds window) const {
  return off(begin, window) <= static_cast<double>(kTtlError.count());
}

/// The window of which this is the number since 1970: the roundest one that the TTL allows. In a
/// name that proves nothing else, it must be a usual one.
std::optional<microseconds> RowReading::window_of(std::int64_t index) const {
  constexpr std::int64_t kLeast = 150'000, kMost = 1'262'304'000;  // three hours; a time in seconds
  const bool must_be_usual = row_.proof == Proof::kTtl;
  if (must_be_usual && (index < kLeast || index >= kMost)) return std::nullopt;
  const auto is_possible = [&](microseconds window) {
    const auto begin = static_cast<double>(index) * static_cast<double>(window.count());
    return begin <= static_cast<double>((now_ + kClockError).count()) &&
           fits(microseconds{std::llround(begin)}, window);
  };
  const auto& asked = question_.asked;
  if (asked &&
      is_of_today(static_cast<double>(index) * static_cast<double>(asked->window.count())) &&
      is_possible(asked->window)) {
    return asked->window;
  }
  if (!until_) return std::nullopt;
  const auto end = static_cast<double>(until_->count()), number = static_cast<double>(index);
  const auto low =
      (end - static_cast<double>(row_.most_ttl.more.count())) / (number + row_.most_ttl.windows);
  const auto high =
      (end - static_cast<double>(row_.least_ttl.more.count())) / (number + row_.least_ttl.windows);
  constexpr double kError = 2000;  // TTLs are in ms
  for (const auto step : kSteps) {
    const auto us = static_cast<double>(step.count());
    const auto window = std::floor((high + kError / number + 1e-3) / us) * us;
    if (window <= 0 || window < low - kError) continue;
    const microseconds found{std::llround(window)};
    if (!is_possible(found)) continue;
    constexpr microseconds kHour = std::chrono::hours{1};
    const bool is_usual = kHour % found == microseconds{0} || found % kHour == microseconds{0};
    return must_be_usual && !is_usual ? std::nullopt : std::optional(found);
  }
  return std::nullopt;
}

bool RowReading::read_count(std::int64_t value) {
  auto& window = state_.window;
  const bool is_weak = row_.proof == Proof::kTtl;
  std::optional<microseconds> begin;
  if (const auto start = name_.part(Part::kStart)) {
    begin = time_in(*start, name_.piece(Part::kStart)->unit);
    if (!begin) return false;
  }
  if (row_.start) begin = time_at(*row_.start);
  if (const auto minute = name_.number(Part::kMinute)) {
    constexpr microseconds kHour = std::chrono::hours{1};
    if (*minute > 59) return false;
    begin = now_ - now_ % kHour + std::chrono::minutes{*minute};
    if (*begin > now_) *begin -= kHour;
  }
  const auto index = name_.number(Part::kIndex);
  const bool tells_window = begin || index || !row_.previous.empty();
  const bool is_up_to_ttl = !tells_window && !row_.ends && !row_.ends_unknown;
  if (is_up_to_ttl) {
    state_.end = until_;
    state_.never_ends = !until_;
  }
  if (row_.ends) {
    state_.end = time_at(*row_.ends);
    if (!state_.end && !row_.ends->key.empty() && !row_.ends->is_ttl) {
      set_unknown(missing(*row_.ends));
      state_.is_incomplete = true;
    }
    if (begin && state_.end)
      window = std::chrono::round<std::chrono::seconds>(*state_.end - *begin);
  }
  if (const auto period = name_.part(Part::kPeriod); period && begin) {
    const auto known =
        std::ranges::find(row_.periods, *period, [](const auto& each) { return each.first; });
    if (known->second == "month" || known->second == "year") {
      state_.end = calendar_end(*begin, known->second == "year");
      window = *state_.end - *begin;
    }
  }
  if (index) {
    if (*index == 0) return false;
    if (!window) window = window_of(*index);
    if (!window && is_weak) return false;
    state_.window_is_inferred = window.has_value();
    if (window) begin = *window * *index;
  }
  const auto& asked = question_.asked;
  if (begin && row_.windows.size() > 1) {
    std::vector<microseconds> fitting;
    for (const auto each : row_.windows) {
      if (*begin % each == microseconds{0} && fits(*begin, each)) fitting.push_back(each);
    }
    if (fitting.empty()) return false;
    const bool has_asked = asked && std::ranges::find(fitting, asked->window) != fitting.end();
    if (has_asked) window = asked->window;
    if (!has_asked && fitting.size() == 1) window = fitting.front();
  } else if (begin && !window && asked) {
    if (*begin % asked->window == microseconds{0} && fits(*begin, asked->window)) {
      window = asked->window;
    }
  }
  if (is_weak) {
    constexpr microseconds kLongest = std::chrono::days{62} + std::chrono::minutes{5};
    if (!begin && !row_.ends) return false;
    if (begin && *begin > now_ + kClockError) return false;
    if (begin && !window && *until_ - *begin > kLongest) return false;
    if (begin && *until_ < *begin) return false;
  }
  const bool is_exact = row_.ttl == Ttl::kSpan && row_.least_ttl.windows == row_.most_ttl.windows &&
                        row_.least_ttl.more == row_.most_ttl.more;
  if (!begin && window && is_exact && until_) {
    begin = *until_ -
            microseconds{std::llround(row_.least_ttl.us(static_cast<double>(window->count())))};
  }
  if (row_.ttl == Ttl::kSpan && !window) off_ = 1e18;
  if (window && begin) {
    off_ = off(*begin, *window);
    if (is_weak && off_ > static_cast<double>(kTtlError.count())) return false;
    if (!state_.end && row_.previous.empty()) state_.end = *begin + *window;
  }
  if (row_.value->value == Value::kRemaining) {
    state_.left = value;
  } else {
    state_.counts = {{.at = begin.value_or(microseconds{0}), .units = value}};
  }
  if (!row_.previous.empty()) {
    const auto* before = sibling(row_.previous);
    state_.before = 0;
    if (before == nullptr) {
      set_unknown("'" + escape(row_.previous.of(name_)) +
                  "', the count of the window before, cannot be read");
    } else if (before->type != "none") {
      state_.before = count_in(before->text).value_or(0);
    }
  }
  const bool knows_end = state_.end || state_.never_ends;
  if (state_.unknown.empty() && tells_window && !knows_end && (!begin || !window)) {
    set_unknown(question_.asked ? "its name tells when a window began, but of no window as long as "
                                  "the limit's"
                                : "how long its window is is not known");
  }
  return true;
}

bool RowReading::read_tat(double value) {
  const auto arrival = time_of(value, row_.unit, row_.epoch);
  if (!arrival) return false;
  const bool is_healthy = until_ && std::chrono::abs(*until_ - *arrival) <= kTtlError;
  if (row_.proof == Proof::kTtl && !is_healthy) return false;
  state_.time = arrival;
  state_.model = std::make_shared<limiter::GcraModel>(
      limiter::RationalTime{.parts = limiter::to_parts(*arrival, 1), .per_us = 1});
  return true;
}

bool RowReading::read_bucket(double value) {
  constexpr double kMost = 1e15;
  if (!(std::abs(value) <= kMost)) return false;
  value /= static_cast<double>(row_.scale);
  const auto at = time_at(*row_.at);
  if (!at && row_.at->key.empty()) return false;
  state_.bucket = RefilledBucket{.tokens = value,
                                 .step = row_.refill,
                                 .whole = row_.refills_whole,
                                 .counts_used = row_.value->value == Value::kLevel,
                                 .is_queue = row_.is_queue};
  if (!at) {
    set_unknown(missing(*row_.at));
    state_.is_incomplete = true;
    return true;
  }
  state_.time = at;
  state_.bucket->at = *at;
  return true;
}

bool RowReading::read_entries() {
  const bool is_list = content_.type == "list";
  if (row_.value->value == Value::kRemaining) {
    constexpr std::size_t kLongest = 36;  // a UUID
    for (const auto* edge : {&content_.first, &content_.last}) {
      const bool is_token = !edge->member.empty() && edge->member.size() <= kLongest &&
                            !edge->member.starts_with('{');
      if (!is_token) return false;
    }
    return true;
  }
  const auto& first = is_list ? content_.first.member : content_.first.score;
  const auto& last = is_list ? content_.last.member : content_.last.score;
  constexpr std::array kUnits{1e6, 1e3, 1.0};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (row_.unit != 0 && row_.unit != kUnits[i]) continue;
    const auto one = time_in(first, kUnits[i]), other = time_in(last, kUnits[i]);
    if (!one || !other) continue;
    set_form(i, is_list && *one > *other);
    const auto newest = std::max(*one, *other) + row_.held;
    const bool is_ahead = newest > now_ + kClockError;
    const bool is_json =
        content_.first.member.starts_with('{') || content_.last.member.starts_with('{');
    if (row_.value->value == Value::kTimes)
      return !(row_.proof == Proof::kTtl && (is_ahead || is_json));
    if (row_.proof != Proof::kTtl) return true;
    return is_ahead && !is_json && *until_ >= newest - kTtlError;
  }
  return false;
}

void RowReading::read_ban() {
  if (row_.ban.empty()) return;
  const auto* ban = sibling(row_.ban);
  const auto name = row_.ban.of(name_);
  if (ban == nullptr) return set_unknown("'" + escape(name) + "', a ban, cannot be read");
  if (ban->type != "none") state_.ban = Ban{.key = name, .until = ban->until};
}

/// The ban of a key that is not there.
std::optional<Ban> ban_of(const Row& row, const Name& name, const Siblings& siblings) {
  if (row.ban.empty()) return std::nullopt;
  auto key = row.ban.of(name);
  const auto found = siblings.find(key);
  if (found == siblings.end() || found->second.type == "none") return std::nullopt;
  return Ban{.key = std::move(key), .until = found->second.until};
}

/// Whether the content of a key beside another is what the row says.
bool is_part(const Entry& entry, const KeySample& content) {
  switch (entry.role) {
    case Role::kTime:
      return content.type == "string" && time_in(content.text, 0).has_value();
    case Role::kNumber:
      return content.type == "string" && count_in(content.text).has_value();
    case Role::kHash:
      for (const auto* place : {&entry.row->limit_at, &entry.row->window_at}) {
        if (!*place || content.fields.find((*place)->field) == content.fields.end()) return false;
      }
      return true;
    case Role::kBan:
    case Role::kOther:
      break;
  }
  return true;
}

std::optional<Decoded> decode_part(const Index& index, const Question& question) {
  for (const auto& entry : index.parts) {
    if (!entry.may_match(question.key)) continue;
    const auto name = Name::match(entry.pattern, question.key);
    if (!name || !is_part(entry, *question.content)) continue;
    return Decoded{.form = &entry.row->forms.back(),
                   .certain = true,
                   .part_of = name->in(*entry.key),
                   .is_ban = entry.role == Role::kBan};
  }
  return std::nullopt;
}

std::optional<Decoded> decode_rows(const Index& index, const Question& question,
                                   const Siblings& siblings) {
  std::optional<Fitting> best;
  std::size_t literals = 0;
  for (const auto& entry : index.keys_of(question.content->type)) {
    if (best && entry.pattern.literals < literals) break;
    if (!entry.may_match(question.key)) continue;
    auto name = Name::match(entry.pattern, question.key);
    if (!name) continue;
    if (question.content->type == "none") {
      if (auto ban = ban_of(*entry.row, *name, siblings)) return Decoded{.ban = std::move(ban)};
      continue;
    }
    auto fitting = RowReading(*entry.row, *name, question, siblings).read();
    if (!fitting) continue;
    // Of equal ones, the one whose window the TTL fits best, and then that of the roundest window.
    const auto rank = [](const Fitting& each) {
      constexpr double kClose = 5e5;
      return std::pair(each.off > kClose ? each.off : 0, -roundness(each.state.window));
    };
    if (!best || rank(*fitting) < rank(*best)) best = std::move(fitting);
    literals = entry.pattern.literals;
  }
  if (!best) return std::nullopt;
  return std::move(best->state);
}

void add_siblings(const Index& index, const Question& question, std::vector<std::string>& names) {
  const auto& content = *question.content;
  for (const auto& entry : index.keys_of(content.type)) {
    const auto& row = *entry.row;
    const bool needs = !row.beside.empty() || !row.unless.empty();
    if (!needs || !entry.may_match(question.key) || !row.mistake.empty()) continue;
    const auto name = Name::match(entry.pattern, question.key);
    if (!name || (content.type == "string" && !number_in(content.text))) continue;
    for (const auto& [other, role] : row.beside) {
      const bool is_only_ban = content.type == "none" && role != Role::kBan;
      if (role != Role::kOther && !is_only_ban) names.push_back(other.of(*name));
    }
    if (row.ends && row.ends->is_ttl) names.push_back(row.ends->key.of(*name));
    if (!row.unless.empty()) names.push_back(row.unless.of(*name));
  }
}

void add_fields(const std::deque<Row>& rows, std::vector<std::string>& fields) {
  const auto add = [&](const std::string& field) {
    if (!field.empty() && std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
  };
  for (const auto& row : rows) {
    add(row.field);
    for (const auto* place : {&row.at, &row.start, &row.ends, &row.limit_at, &row.window_at}) {
      if (*place) add((*place)->field);
    }
  }
}

LibrarySection section_for(std::string_view value, std::string_view type) {
  return {.name = "--as",
          .settings = {{.name = "key", .values = {"*"}},
                       {.name = "type", .values = {std::string(type)}},
                       {.name = "value", .values = {std::string(value)}}}};
}

}  // namespace

// ---- Libraries ----

struct RowTable {
  std::deque<Row> rows = {};
  Index index = {};
  std::vector<std::string> fields = {};

  void add(const LibrarySection& section) { read_row(section, rows.emplace_back()); }
  void finish() {
    index = index_of(rows);
    add_fields(rows, fields);
  }
};

namespace {

/// Reads libraries.toml, which uses little of TOML, in a tenth of the time that a parser takes. A
/// test compares the two.
class BuiltInText {
 public:
  explicit BuiltInText(std::string_view text) : rest_(text) {}

  std::vector<LibrarySection> read() {
    std::vector<LibrarySection> sections;
    for (skip(); !rest_.empty(); skip()) {
      constexpr std::string_view kHeader = "[library.";
      if (rest_.starts_with(kHeader)) {
        rest_.remove_prefix(kHeader.size());
        sections.push_back({.name = std::string(take_word())});
        rest_.remove_prefix(1);
      } else {
        read_setting(sections.back(), {});
      }
    }
    return sections;
  }

 private:
  /// Skips blanks, ends of lines, commas, equals signs and comments.
  void skip() {
    while (!rest_.empty()) {
      if (rest_[0] == '#') {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (std::string_view(" \n,=").find(rest_[0]) != std::string_view::npos) {
        rest_.remove_prefix(1);
      } else {
        return;
      }
    }
  }
  std::string_view take_word() {
    const auto word = rest_.substr(0, rest_.find_first_of(" ]},\n"));
    rest_.remove_prefix(word.size());
    return word;
  }
  std::string take_text() {
    const auto quote = rest_[0];
    if (quote != '"' && quote != '\'') return std::string(take_word());
    const auto end = rest_.find(quote, 1);
    const std::string text(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return text;
  }
  void read_setting(LibrarySection& section, const std::string& prefix) {
    Setting setting{.name = prefix + std::string(take_word())};
    skip();
    const auto open = rest_[0];
    if (open != '[' && open != '{') {
      setting.values.push_back(take_text());
      section.settings.push_back(std::move(setting));
      return;
    }
    rest_.remove_prefix(1);
    for (skip(); rest_[0] != ']' && rest_[0] != '}'; skip()) {
      if (open == '{') {
        read_setting(section, setting.name + ".");
      } else {
        setting.values.push_back(take_text());
      }
    }
    rest_.remove_prefix(1);
    if (open == '[') section.settings.push_back(std::move(setting));
  }

  std::string_view rest_;
};

}  // namespace

std::vector<LibrarySection> built_in_sections() {
  return BuiltInText(built_in_text()).read();
}

std::string_view built_in_text() {
  return embedded::k_libraries_toml.text;
}

namespace {

RowTable make_table(std::span<const LibrarySection> sections) {
  RowTable table;
  for (const auto& section : sections) table.add(section);
  table.finish();
  return table;
}

/// The tables that have a ban, in the text.
std::vector<LibrarySection> sections_with_ban() {
  constexpr std::string_view kHeader = "[library.";
  const auto text = built_in_text();
  std::vector<LibrarySection> sections;
  for (auto ban = text.find("\nban = "); ban != text.npos; ban = text.find("\nban = ", ban + 1)) {
    const auto begin = text.rfind(kHeader, ban);
    auto found = BuiltInText(text.substr(begin, text.find(kHeader, ban) - begin)).read();
    std::ranges::move(found, std::back_inserter(sections));
  }
  return sections;
}

/// For keys that are not there, which most keys of this project are at some time: only a ban says
/// anything of them, and the others need not be read.
const RowTable& built_in_bans() {
  static const RowTable kTable = make_table(sections_with_ban());
  return kTable;
}

const RowTable& built_in() {
  static const RowTable kTable = make_table(built_in_sections());
  return kTable;
}

}  // namespace

Libraries::Libraries() = default;
Libraries::~Libraries() = default;
Libraries::Libraries(Libraries&&) noexcept = default;
Libraries& Libraries::operator=(Libraries&&) noexcept = default;

Libraries::Libraries(std::span<const LibrarySection> own, const std::optional<std::string>& as) {
  if (own.empty() && !as) return;
  own_ = std::make_unique<RowTable>();
  if (as) {
    const auto* value = find_by_name(kValues, *as);
    if (value == nullptr || !value->is_for_as) {
      throw UsageError(fmt::format("--as: unknown value {}{}", quoted_and_masked(*as),
                                   did_you_mean_or_all(*as, as_values())));
    }
    for (const std::string_view type : {"string", "list", "zset"}) {
      if (value->types.find(type) != std::string_view::npos) {
        own_->add(section_for(value->name, type));
      }
    }
  }
  for (const auto& section : own) own_->add(section);
  own_->finish();
}

std::vector<std::string> Libraries::siblings(const Question& question) const {
  std::vector<std::string> names;
  if (own_) add_siblings(own_->index, question, names);
  const auto& content = *question.content;
  const auto& table = content.type == "none" ? built_in_bans() : built_in();
  add_siblings(table.index, question, names);
  return names;
}

Decoded Libraries::decode(const Question& question, const Siblings& siblings) const {
  const auto& content = *question.content;
  if (own_) {
    if (auto state = decode_rows(own_->index, question, siblings)) return *std::move(state);
    if (content.type != "none") {
      if (auto state = decode_part(own_->index, question)) return *std::move(state);
    }
  }
  if (content.type == "none") {
    return decode_rows(built_in_bans().index, question, siblings).value_or(Decoded{});
  }
  auto ours = decode_ours(content);
  if (ours.certain) return ours;
  const auto& index = built_in().index;
  if (auto state = decode_part(index, question)) return *std::move(state);
  if (auto state = decode_rows(index, question, siblings)) return *std::move(state);
  if (ours.form != nullptr) return ours;
  return decode_shape(content);
}

std::span<const std::string> Libraries::hash_fields() const {
  if (!own_) return built_in().fields;
  if (fields_.empty()) {
    fields_ = built_in().fields;
    add_fields(own_->rows, fields_);
  }
  return fields_;
}

const Libraries& built_in_libraries() {
  static const Libraries kNone;
  return kNone;
}

std::vector<limiter::ConfigurationMistake> library_mistakes(
    const limiter::Configuration& configuration) {
  std::vector<limiter::ConfigurationMistake> mistakes;
  for (const auto& section : configuration.libraries) {
    Row row;
    for (const auto& [line, message] : read_row(section, row)) {
      mistakes.push_back(
          limiter::mistake_at(configuration.file, line, message, "library." + section.name));
    }
  }
  return mistakes;
}

std::span<const std::string_view> as_values() {
  static const auto kNames = [] {
    std::vector<std::string_view> names;
    for (const auto& value : kValues) {
      if (value.is_for_as) names.push_back(value.name);
    }
    return names;
  }();
  return kNames;
}

void decode_all(redis::Connection& connection, std::span<const Question> questions,
                const Libraries& libraries,
                const std::function<void(std::size_t, Decoded&&)>& on_decoded) {
  std::vector<std::string> names;
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    auto ours = libraries.has_own() ? Decoded{} : decode_ours(*questions[i].content);
    if (ours.certain) {
      on_decoded(i, std::move(ours));
      continue;
    }
    open.push_back(i);
    std::ranges::move(libraries.siblings(questions[i]), std::back_inserter(names));
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  Siblings siblings;
  if (!names.empty()) {
    const auto readable = readable_keys(connection, names);
    auto contents = read_contents(connection, readable, libraries, Parts::kCut);
    for (std::size_t i = 0; i < contents.size(); ++i) {
      siblings.emplace(readable.keys[i], std::move(contents[i]));
    }
    for (auto& name : names) {
      const bool is_refused = std::ranges::find(readable.refused, name) != readable.refused.end();
      if (!is_refused) siblings.emplace(std::move(name), KeySample{.type = "none"});
    }
  }
  for (const auto i : open) on_decoded(i, libraries.decode(questions[i], siblings));
}

std::vector<std::string> suggested_row(std::string_view key, std::string_view type) {
  const auto end = key.find_first_of(":/_.-{");
  const auto name = key.substr(0, std::min(end, key.size()));
  const auto pattern =
      end == key.npos ? std::string(key) : std::string(key.substr(0, end + 1)).append("*");
  const auto is_bare = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  };
  const bool has_name = !name.empty() && std::ranges::all_of(name, is_bare);
  const bool is_text = is_utf8(pattern) && pattern.find_first_of("'\n") == pattern.npos;
  return {fmt::format("[library.{}]", has_name ? name : "NAME"),
          fmt::format("key = '{}'", is_text ? pattern : "PATTERN"),
          fmt::format("type = \"{}\"", type),
          type == "zset" ? "value = \"times\"  # or leases" : "value = \"count\"  # or remaining"};
}

}  // namespace rlctl::stored
