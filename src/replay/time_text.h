#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rlctl::replay {

using std::chrono::microseconds;

/// The unit of a time that is written as a number.
enum class EpochUnit {
  kByMagnitude,  ///< below 1e11 seconds, below 1e14 ms, below 1e17 us, else ns
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
};

/// The unit that a field's name ends in: _ms, _us or _ns.
[[nodiscard]] EpochUnit epoch_unit_of(std::string_view field) noexcept;

/// Instants as logs write them, in µs since 1970; what is finer is cut off. An instant that does
/// not fit is the largest or smallest of the type. These are read:
///
/// - `10/Oct/2000:13:55:36 -0700`, also with a fraction
/// - ISO 8601 and RFC 3339: `2000-10-10T13:55:36.123-07:00`, the T also a blank, the point a comma,
/// the
///   zone Z, UTC, GMT, ±hh:mm, ±hhmm or ±hh, with a blank before it or not; seconds may be left
///   out; slashes in the date, or all without separators: `20001010T135536Z`
/// - numbers, digit by digit, with a fraction or not
///
/// A time without a zone is UTC. A leap second is the second after it.
class TimeReader {
 public:
  explicit TimeReader(EpochUnit unit = EpochUnit::kByMagnitude) : unit_(unit) {}

  /// None if the text is not a time.
  [[nodiscard]] std::optional<microseconds> read(std::string_view text);

 private:
  static constexpr std::size_t kCommonSize = sizeof("10/Oct/2000:13:55:36 -0700") - 1;

  [[nodiscard]] bool has_same_minute(std::string_view text) const noexcept;

  EpochUnit unit_;
  /// The time read last, if it was of that size: most lines of a log differ from it in their
  /// seconds alone.
  std::array<char, kCommonSize> last_{};
  microseconds last_minute_{0};
};

}  // namespace rlctl::replay
