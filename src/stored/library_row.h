#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "limiter/configuration.h"
#include "stored/forms.h"
#include "stored/key_names.h"
#include "stored/libraries.h"

namespace rlctl::stored {

// ---- The text of a row ----

/// A setting of a table [library.NAME]. Its texts live elsewhere.
struct Setting {
  std::string_view name = {}, part = {};  ///< "at" and "field" of at = { field = "..." }
  std::string_view value = {};
  std::vector<std::string_view> more = {};  ///< the other values of a list
  std::size_t line = 0;

  void add(std::string_view text) {
    if (value.data() == nullptr) {
      value = text;
    } else {
      more.push_back(text);
    }
  }
};

struct RowText {
  std::string_view name = {};
  std::vector<Setting> settings = {};
  std::size_t line = 0;
};

/// The section must outlive what is returned.
RowText row_text(const limiter::LibrarySection& section);

// ---- Rows ----

enum class Value { kCount, kRemaining, kTat, kLevel, kTokens, kTimes, kLeases, kNone };

struct ValueName {
  std::string_view name;
  Value value;
  std::string_view algorithm;
  std::string_view summary;
  std::string_view types;
  bool is_for_as;  ///< nothing else must be said
};
inline constexpr std::array kValues{
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
    ValueName{"leases", Value::kLeases, "concurrency", "leases, and when they end", "zset", true},
    ValueName{"none", Value::kNone, "", "", "string list zset", false}};

/// Where a number or a time is told.
struct Place {
  OtherName key = {};   ///< empty: in the key itself
  bool is_ttl = false;  ///< when that key expires
  std::string_view field = {};
  double unit = 0;  ///< 0: the size of the number tells it
};

/// A duration that depends on the window.
struct Span {
  double windows = 0;
  microseconds more{0};

  double us(double window) const { return windows * window + static_cast<double>(more.count()); }
  bool operator==(const Span&) const = default;
};

/// What a key beside another holds.
enum class Role { kTime, kNumber, kHash, kBan, kOther };

/// A row as libraries.toml describes it. Its texts are those of the RowText.
struct Row {
  std::string_view name = {};
  std::vector<Pattern> keys = {};
  std::string_view type = {};
  const ValueName* value = nullptr;
  bool needs_ttl = false, needs_siblings = false;  ///< the proof
  std::string_view field = {};
  double unit = 0;
  std::int64_t epoch = 0, scale = 1, zero = 0;
  bool is_weighted = false, is_queue = false, is_by_client = false, blocks = false;
  microseconds held{0}, refill{1};
  bool refills_whole = false;
  std::optional<Place> at = {}, start = {}, ends = {}, limit_at = {}, window_at = {};
  bool ends_unknown = false;
  std::optional<std::int64_t> units = {};
  std::optional<microseconds> window = {};
  OtherName previous = {}, ban = {}, unless = {};
  std::vector<OtherName> others = {};
  std::vector<std::pair<std::string_view, microseconds>> periods = {};
  bool has_ttl = false, has_no_ttl = false;  ///< a known one; possibly never one
  Span least_ttl = {}, most_ttl = {};
  /// The other keys that the row names.
  std::vector<std::pair<OtherName, Role>> beside = {};
  std::string mistake = {};  ///< what makes the row useless
  /// By unit, s, ms, us and ns, and for lists whose newest entry is the first.
  std::array<Form, 8> forms = {};
  /// The form of a key that may also be another row's: without the name of an algorithm.
  Form form_of_several = {};

  /// Why a key that it matches is unknown if it has a mistake.
  std::string mistake_text() const {
    return "the row that says how to read it has a mistake: " + mistake;
  }
  /// Whether it reads lists with an element for each unit that is left.
  bool counts_elements() const { return type == "list" && value->value == Value::kRemaining; }
};

/// A mistake in a row, and where.
struct RowMistake {
  std::size_t line;
  std::string message;
};

/// Reads the row as far as it can. The texts must outlive it.
std::vector<RowMistake> read_row(const RowText& text, Row& row);

// ---- Reading a key by a row ----

/// A finite number.
std::optional<double> number_in(std::string_view text);
std::optional<std::int64_t> count_in(std::string_view text);
/// A time of today; without a unit, the size of the number tells it.
std::optional<microseconds> time_in(std::string_view text, double unit, std::int64_t epoch = 0);
/// How well a row fits.
struct Fitting {
  static constexpr double kNotKnown = 1e18;  ///< the row tells a TTL, but the window is not known

  Decoded state;
  double off = 0;  ///< by how many µs the TTL is not what the row says
};

/// What a key means by a row; nothing if the content is not what the row says.
std::optional<Fitting> read_by_row(const Row& row, const Name& name, const Question& question,
                                   const Siblings& siblings);

}  // namespace rlctl::stored
