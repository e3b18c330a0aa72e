#include "traffic/reply_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <vector>

#include "base/text.h"
#include "limiter/contract.h"
#include "limiter/limit.h"
#include "redis/error.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;
using redis::ReplyType;
using std::chrono::microseconds;

constexpr std::array kRows{
    AllowedWhenRow{AllowedWhen::kNonzero, "nonzero", "a number, or true or false"},
    AllowedWhenRow{AllowedWhen::kZero, "zero", "a number, or true or false"},
    AllowedWhenRow{AllowedWhen::kNil, "nil", "nil or anything else"},
    AllowedWhenRow{AllowedWhen::kAtMostLimit, "<=limit", "a count"},
    AllowedWhenRow{AllowedWhen::kAlways, "always", "a wait of 0 or more"},
};

constexpr auto kLongestWait = static_cast<double>(limiter::kLongestRefill.count());  // µs
constexpr std::size_t kMostElements = 8;
constexpr std::size_t kMostBytes = 60;

const AllowedWhenRow& row_of(AllowedWhen value) {
  return *std::find_if(kRows.begin(), kRows.end(),
                       [value](const auto& row) { return row.value == value; });
}

/// A reply that is not what it should be.
class Unreadable {};

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

double number_of(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return static_cast<double>(reply.integer());
    case ReplyType::kNil:
      return 0;
    case ReplyType::kString:
    case ReplyType::kStatus:
      if (const auto number = parse_number(reply.text())) return *number;
      throw Unreadable();
    default:
      throw Unreadable();
  }
}

redis::ReplyView first_of(redis::ReplyView reply) {
  if (reply.type() != ReplyType::kArray) return reply;
  if (reply.size() == 0) throw Unreadable();
  return reply[0];
}

microseconds wait_of(redis::ReplyView reply, microseconds unit) {
  const auto wait = number_of(reply) * static_cast<double>(unit.count());
  if (!(wait >= 0 && wait <= kLongestWait)) throw Unreadable();
  return microseconds(std::llround(wait));
}

bool allows(redis::ReplyView reply, AllowedWhen when, std::int64_t limit) {
  switch (when) {
    case AllowedWhen::kNonzero:
      return number_of(reply) != 0;
    case AllowedWhen::kZero:
      return number_of(reply) == 0;
    case AllowedWhen::kNil:
      return reply.is_nil();
    case AllowedWhen::kAtMostLimit:
      // A count is never nil: it would read as 0, and allow whatever comes.
      if (reply.is_nil()) throw Unreadable();
      return number_of(reply) <= static_cast<double>(limit);
    default:
      return true;
  }
}

Decision decision_of(redis::ReplyView reply, const ReplyReading& reading, std::int64_t limit) {
  const auto& unit = reading.delay_unit;
  Decision decision{.allowed = true, .remaining = limiter::kNotTold};
  // Without a unit nothing is read of a reply that changes nothing.
  if (reading.allowed_when == AllowedWhen::kAlways && !unit) return decision;
  const auto value = first_of(reply);
  decision.allowed = allows(value, reading.allowed_when, limit);
  if (!decision.allowed) {
    decision.retry_after = unit ? wait_of(value, *unit) : limiter::kNever;
  } else if (reading.allowed_when == AllowedWhen::kAlways) {
    decision.delay = wait_of(value, *unit);
  }
  return decision;
}

redis::Error unreadable(redis::ReplyView reply, const ReplyReading& reading,
                        std::string_view script) {
  const auto& row = row_of(reading.allowed_when);
  // A denial that is not a wait is no fault of what is expected of all replies.
  const auto expected = reading.delay_unit ? row_of(AllowedWhen::kAlways).expected : row.expected;
  return {
      redis::Failure::kRejected,
      fmt::format("{} replied {}, but --allowed-when '{}'{} reads {}", script, reply_text(reply),
                  row.name, reading.delay_unit ? " with --delay-unit" : "", expected),
      {},
      "it reads a reply or the first element of an array; choose what fits the script"};
}

}  // namespace

std::span<const AllowedWhenRow> allowed_when_rows() {
  return kRows;
}

AllowedWhen parse_allowed_when(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& row : kRows) {
    if (row.name == name) return row.value;
    names.push_back(row.name);
  }
  throw UsageError(fmt::format("a script allows when its reply is {}, not '{}'{}", one_of(names),
                               escape(name), did_you_mean(name, names)));
}

microseconds parse_delay_unit(std::string_view name) {
  if (name == "s") return std::chrono::seconds(1);
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "us") return microseconds(1);
  throw UsageError(fmt::format("the unit of a wait is s, ms or us, not '{}'", escape(name)));
}

void require_usable(const ReplyReading& reading) {
  if (!reading.delay_unit) return;
  switch (reading.allowed_when) {
    case AllowedWhen::kNonzero:
    case AllowedWhen::kAtMostLimit:
      throw UsageError(
          fmt::format("a reply that allows when it is {} cannot be a wait; one that allows when it "
                      "is zero, nil "
                      "or always can be",
                      row_of(reading.allowed_when).name));
    default:
      return;
  }
}

Decision read_reply(redis::ReplyView reply, const ReplyReading& reading, std::int64_t limit,
                    std::string_view script) {
  try {
    return decision_of(reply, reading, limit);
  } catch (const Unreadable&) {
    throw unreadable(reply, reading, script);
  }
}

std::string reply_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return fmt::to_string(reply.integer());
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kArray: {
      std::string out = "[";
      for (std::size_t i = 0; i < std::min(reply.size(), kMostElements); ++i) {
        if (i > 0) out += ", ";
        out += reply[i].type() == ReplyType::kArray ? "[...]" : reply_text(reply[i]);
      }
      return out + (reply.size() > kMostElements ? ", ...]" : "]");
    }
    default:
      return "'" + escape(reply.text(), kMostBytes) + "'";
  }
}

}  // namespace rlctl::traffic
