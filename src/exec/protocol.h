#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "limiter/limit.h"

// The lines that rlctl and a program exchange, which rlctl-exec(7) describes and
// schema/exec.schema.json defines.

namespace rlctl::exec {

/// The line that makes a program forget everything; it is not answered.
inline constexpr std::string_view kResetLine = "{\"reset\":true}\n";
/// The longest line that a program may write, without its newline.
inline constexpr std::size_t kLongestAnswer = 65'536;
/// The most requests in flight that a program may ask for.
inline constexpr std::int64_t kLargestPipeline = 4'096;

/// What differs between two requests of a run.
struct RequestLine {
  std::chrono::microseconds now{0};  ///< since 1970
  std::string_view key = {};         ///< any bytes
  std::int64_t cost = 1;
  std::int64_t id = 1;           ///< its number since the program last forgot everything, from 1
  std::string_view event = {};   ///< see traffic::event_name()
  std::string_view holder = {};  ///< who holds or wants a lease; empty: not about leases
  /// The ID of a reservation of `cost` units, and what else is about it; empty: not about one.
  std::string_view reservation = {};
  std::optional<std::int64_t> actual = {};  ///< what a settled reservation has cost
  std::chrono::microseconds hold{0};        ///< of a reserve
};

/// Writes requests.
class RequestWriter {
 public:
  explicit RequestWriter(const limiter::Limit& limit);
  /// Appends the request and a newline.
  void append(std::string& out, const RequestLine& request) const;

 private:
  /// The members that are equal in all requests, or in all about leases, and the end of the line.
  std::string limit_, lease_;
};

/// A line that a program wrote.
struct Answer {
  /// Requests in flight, if the line is a "hello", which answers nothing.
  std::optional<std::int64_t> pipeline = {};
  limiter::Decision decision = {};
  std::optional<std::int64_t> id = {};  ///< of the request, if it says
};

/// Parses a line, without its newline, that answers a request at `now`. Throws UsageError, which
/// says what is wrong with it.
Answer read_answer(std::string_view line, std::chrono::microseconds now);

}  // namespace rlctl::exec
