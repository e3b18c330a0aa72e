#include "limiter/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "redis/cluster.h"

namespace rlctl::limiter {
namespace {

constexpr std::array<std::string_view, 4> kReservationStates{"unknown", "held", "lapsed",
                                                             "settled"};

microseconds parse_window(std::string_view whole, std::string_view text, microseconds shortest) {
  const auto window = parse_period(whole, text);
  if (window < shortest) {
    throw UsageError(fmt::format("'{}' has window {}; the scripts take windows from {} to {}",
                                 whole, window_suffix(window), window_suffix(shortest),
                                 window_suffix(kLongestWindow)));
  }
  return window;
}

std::int64_t parse_count(std::string_view whole, std::string_view text) {
  const auto count = text;
  const auto digits = take_digits(text);
  const std::int64_t scale = text == "k" ? 1'000 : text == "M" ? 1'000'000 : text.empty() ? 1 : 0;
  if (digits.empty() || scale == 0) {
    throw UsageError(fmt::format(
        "'{}' has limit '{}'; use decimal digits, then optionally k or M: 5/60s, 1M/30d", whole,
        count));
  }
  const auto value = bounded_value(digits, kLargestLimit / scale) * scale;
  if (value < 1 || value > kLargestLimit) {
    throw UsageError(
        fmt::format("'{}' has limit {}; it must be from 1 to {}", whole, count, kLargestLimit));
  }
  return value;
}

}  // namespace

Limit parse_limit(std::string_view text, microseconds shortest) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    throw UsageError(
        fmt::format("'{}' is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min", text));
  }
  Limit limit;
  limit.limit = parse_count(text, text.substr(0, slash));
  const auto window = text.substr(slash + 1);
  limit.calendar = find_calendar_window(text, window);
  limit.window =
      limit.calendar != nullptr ? limit.calendar->longest() : parse_window(text, window, shortest);
  return limit;
}

Period period_of(const Limit& limit, microseconds now) {
  if (limit.calendar != nullptr) return limit.calendar->period_at(now);
  const auto start = now - now % limit.window;
  return {.start = start, .end = start + limit.window};
}

std::string format_window(const Limit& limit) {
  return limit.calendar != nullptr ? limit.calendar->text() : format_duration(limit.window);
}

std::string window_text(const Limit& limit) {
  return limit.calendar != nullptr ? limit.calendar->text() : period_text(limit.window);
}

std::string format_limit(const Limit& limit) {
  const auto window = format_window(limit);
  if (limit.limit % 1'000'000 == 0) return fmt::format("{}M/{}", limit.limit / 1'000'000, window);
  return fmt::format("{}/{}", limit.limit, window);
}

std::string format_limits(std::span<const Limit> limits) {
  std::string text;
  for (const auto& limit : limits) text.append(text.empty() ? "" : ",").append(format_limit(limit));
  return text;
}

bool has_hash_tag(std::string_view key) {
  return redis::hashed_part(key).size() < key.size();
}

std::string window_suffix(microseconds window) {
  if (window % std::chrono::seconds{1} == microseconds{0}) {
    return fmt::format("{}s", window / std::chrono::seconds{1});
  }
  return format_duration(window);
}

std::string window_suffix(const Limit& limit) {
  return limit.calendar != nullptr ? limit.calendar->text() : window_suffix(limit.window);
}

bool can_carry_several_limits(std::string_view key) {
  // Otherwise "{" + key + "}" would begin with "{}", which is not a hash tag.
  return has_hash_tag(key) || (!key.empty() && key.front() != '}');
}

std::string family_prefix(std::string_view key) {
  if (!can_carry_several_limits(key)) {
    throw UsageError(fmt::format(
        "key '{}' cannot carry several limits, since no hash tag can be made of it; write a tag "
        "into it, such as '{{tag}}{}'",
        key, key));
  }
  return has_hash_tag(key) ? fmt::format("{}:", key) : fmt::format("{{{}}}:", key);
}

std::string leases_key(std::string_view key) {
  return family_prefix(key).append(kLeasesName);
}

std::vector<std::string> redis_keys(std::string_view key, std::span<const Limit> limits) {
  if (limits.size() <= 1) return std::vector<std::string>(limits.size(), std::string(key));
  const auto prefix = family_prefix(key);
  require_different_windows(limits);
  std::vector<std::string> keys;
  for (const Limit& limit : limits) {
    keys.push_back(prefix + window_suffix(limit));
  }
  return keys;
}

void require_different_windows(std::span<const Limit> limits) {
  for (std::size_t i = 1; i < limits.size(); ++i) {
    const auto same = [&](const Limit& limit) {
      return limit.window == limits[i].window && limit.calendar == limits[i].calendar;
    };
    if (std::ranges::none_of(limits.first(i), same)) continue;
    throw UsageError(fmt::format("two limits have the same window, {}; give each its own",
                                 format_window(limits[i])));
  }
}

std::vector<std::string_view> base_keys(std::string_view redis_key, const Limit& limit) {
  const auto suffix = std::string(":").append(window_suffix(limit));
  if (!redis_key.ends_with(suffix)) return {};
  const auto key = redis_key.substr(0, redis_key.size() - suffix.size());
  if (!has_hash_tag(key)) return {};
  std::vector<std::string_view> keys;
  if (key.starts_with('{') && key.ends_with('}')) {
    const auto inner = key.substr(1, key.size() - 2);
    if (!has_hash_tag(inner)) keys.push_back(inner);
  }
  keys.push_back(key);
  return keys;
}

std::string_view to_text(ReservationState state) {
  return kReservationStates.at(static_cast<std::size_t>(state));
}

std::optional<ReservationState> parse_reservation_state(std::string_view text) {
  const auto* const found = std::ranges::find(kReservationStates, text);
  if (found == kReservationStates.end()) return std::nullopt;
  return static_cast<ReservationState>(found - kReservationStates.begin());
}

}  // namespace rlctl::limiter
