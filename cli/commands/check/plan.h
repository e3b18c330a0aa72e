#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/app/command.h"
#include "cli/errors/failure.h"
#include "cli/options/limits.h"
#include "cli/server/answer.h"
#include "cli/server/asker.h"
#include "limiter/check.h"
#include "limiter/limit.h"

namespace rlctl::cli::check {

/// The options of `check`, which hold for one key or for each line of a batch.
struct Plan {
  LimitOptions limit = {};
  Limiter limiter = {};  ///< the meaning of `limit`
  std::int64_t cost = 1;
  /// Of reservations: in a batch, `reserve` are the units of lines that do not state them.
  std::optional<std::int64_t> reserve = {};
  std::optional<std::chrono::microseconds> hold = {};  ///< set: ask for reservations
  std::optional<std::string> id = {};
  std::optional<std::chrono::microseconds> now = {};
  bool peek = false;
  bool wait = false;
  std::optional<std::chrono::microseconds> wait_at_most = {};  ///< none: no limit
  bool shadow = false;
  bool headers = false;
  bool quiet = false;
  OnError on_error = {};
  std::optional<std::string> textfile = {};
  bool is_batch = false;
  std::optional<std::string> batch_file = {};
  bool refunds = false;  ///< a line of a batch may have a cost below 0
};

/// Appends HTTP header fields, a line each: RateLimit-Policy, RateLimit and Retry-After, as in
/// draft-ietf-httpapi-ratelimit-headers-11. `states` are looks at the keys after the request, one
/// for each limit; empty if they are not known. `now` is the time of the request, for windows of
/// the calendar.
void append_headers(std::string& out, const Limiter& limiter, const Answer& answer,
                    std::span<const limiter::Decision> states, std::chrono::microseconds now);

/// The reservation that a request asks for, with this ID or else a new one: 16 random hexadecimal
/// digits. std::nullopt without --hold.
std::optional<limiter::ReservationCall> reservation_of(const Plan& plan,
                                                       const std::optional<std::string>& id);

/// Answers the lines of `file` ("-": standard input) in order, each as soon as possible. A line is
/// KEY or KEY<TAB>COST, or for reservations KEY<TAB>UNITS<TAB>ID; blank lines and those that begin
/// with # are skipped, and an invalid line gets an error in its place. Returns the worst status of
/// any line. Throws InputError, OutputError and Interrupted.
ExitStatus run_batch(const Plan& plan, const std::string& file, Invocation& invocation);

}  // namespace rlctl::cli::check
