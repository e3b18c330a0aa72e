#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "limiter/decision.h"
#include "redis/reply.h"

namespace rlctl::traffic {

/// What a script's reply says when it allows.
///
/// Of an array its first element counts. A number may come as text. true is 1; false, which comes
/// as nil, is 0.
enum class AllowedWhen {
  kNonzero,
  kZero,
  kNil,          ///< whatever else comes denies
  kAtMostLimit,  ///< the reply is a count that has this request in it
  kAlways,
};

struct AllowedWhenRow {
  AllowedWhen value;
  std::string_view name;      ///< as it is typed
  std::string_view expected;  ///< what is read: the end of a sentence
};

/// Every one, the default first.
[[nodiscard]] std::span<const AllowedWhenRow> allowed_when_rows();
/// Throws UsageError.
[[nodiscard]] AllowedWhen parse_allowed_when(std::string_view name);
/// "s", "ms" or "us". Throws UsageError.
[[nodiscard]] std::chrono::microseconds parse_delay_unit(std::string_view name);

/// How someone's reply becomes a decision.
struct ReplyReading {
  AllowedWhen allowed_when = AllowedWhen::kNonzero;
  /// Where the reply is a wait, what it is counted in: of one that allows always, the delay before
  /// the request goes on; of one that denies (by kZero or kNil), until it would be allowed.
  std::optional<std::chrono::microseconds> delay_unit = {};
};

/// Throws UsageError where a reply so read cannot be a wait.
void require_usable(const ReplyReading& reading);

/// What a reply, no error, says of a request under this limit. `remaining` is
/// kNotTold, and so is the retry_after of a denial that is no wait: kNever, which promises nothing.
/// Throws redis::Error (kRejected), which begins with `script`, for a reply that cannot be so read.
[[nodiscard]] limiter::Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                                           std::int64_t limit, std::string_view script);

/// A reply in one line, for a message: 7, 'OK', nil, [1, 'x'].
[[nodiscard]] std::string reply_text(redis::ReplyView reply);

}  // namespace rlctl::traffic
