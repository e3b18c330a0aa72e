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

namespace rlctl::stored {

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

/// A mistake in a row, and where.
struct RowMistake {
  std::size_t line;
  std::string message;
};

/// Reads the row as far as it can.
std::vector<RowMistake> read_row(const limiter::LibrarySection& section, Row& row);

}  // namespace rlctl::stored
