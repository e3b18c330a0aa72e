#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rlctl::replay {

using std::chrono::microseconds;

/// The unit of a time written as a number.
enum class EpochUnit {
  kByMagnitude,  ///< below 1e11 seconds, below 1e14 ms, below 1e17 us, else ns
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
};

/// The unit that a field's name ends with: _ms, _us or _ns.
EpochUnit epoch_unit_of(std::string_view field) noexcept;

/// Parses instants as logs write them, into µs since 1970; finer digits are cut off. An instant out
/// of range becomes the type's largest or smallest value. It reads:
///
/// - `10/Oct/2000:13:55:36 -0700`, with or without a fraction, and with blanks for / and :
/// - ISO 8601; see read_iso()
/// - numbers, digit by digit, with or without a fraction
///
/// A time without a zone is UTC. A leap second is the following second.
class TimeReader {
 public:
  explicit TimeReader(EpochUnit unit = EpochUnit::kByMagnitude) : unit_(unit) {}

  /// None if the text is not a time.
  std::optional<microseconds> read(std::string_view text);

 private:
  static constexpr std::size_t kCommonSize = sizeof("10/Oct/2000:13:55:36 -0700") - 1;

  bool has_same_minute(std::string_view text) const noexcept;

  EpochUnit unit_;
  /// The last time read, if it had that size: most lines of a log differ from the previous one only
  /// in the seconds.
  std::array<char, kCommonSize> last_{};
  microseconds last_minute_{0};
};

}  // namespace rlctl::replay
