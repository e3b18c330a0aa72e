#include "limiter/limit.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rlctl::limiter {
namespace {

constexpr std::int64_t kMaxLimit = 1'000'000'000;
constexpr microseconds kMaxWindow{100'000'000'000'000};
constexpr std::string_view kUnitNames = "us, ms, s, m, h or d";

struct Unit {
  std::string_view name;
  std::string_view also;  ///< a second spelling that people type
  std::string_view full;  ///< and the whole word
  microseconds length;
};

// Largest first: the order in which a duration may name them.
constexpr std::array kUnits{
    Unit{"d", "d", "day", std::chrono::days{1}},
    Unit{"h", "hr", "hour", std::chrono::hours{1}},
    Unit{"m", "min", "minute", std::chrono::minutes{1}},
    Unit{"s", "sec", "second", std::chrono::seconds{1}},
    Unit{"ms", "ms", "millisecond", std::chrono::milliseconds{1}},
    Unit{"us", "us", "microsecond", microseconds{1}},
};

const Unit* find_unit(std::string_view name) {
  const auto plural_of = [&](std::string_view word) {
    return name.size() == word.size() + 1 && name.starts_with(word) && name.ends_with('s');
  };
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
    return name == u.name || name == u.also || name == u.full || plural_of(u.full) ||
           (u.also != u.name && plural_of(u.also));
  });
  return unit == kUnits.end() ? nullptr : unit;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view take_digits(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

std::string_view take_word(std::string_view& text) {
  const auto* end = std::find_if(text.begin(), text.end(), is_digit);
  const auto word = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(word.size());
  return word;
}

/// The value of decimal digits, or `most` + 1 where that is less: never overflows. Octal is no
/// such thing here: 07 is 7.
std::int64_t bounded_value(std::string_view digits, std::int64_t most) {
  std::int64_t value = 0;
  for (const char c : digits) {
    if (value > (most - (c - '0')) / 10) return most + 1;
    value = value * 10 + (c - '0');
  }
  return value;
}

[[noreturn]] void unknown_unit(std::string_view whole, std::string_view unit) {
  if (unit.starts_with('.')) {
    throw UsageError(fmt::format("'{}' has a fraction; use whole numbers: 1h30m, 500ms", whole));
  }
  throw UsageError(fmt::format("'{}' has unknown unit '{}'; use {}", whole, unit, kUnitNames));
}

/// `whole` is what the user wrote, for the message; `text` is the duration in it.
microseconds parse_duration_in(std::string_view whole, std::string_view text) {
  microseconds sum{0};
  const Unit* last = nullptr;
  if (text.empty()) {
    throw UsageError(fmt::format("'{}' has no duration; write it like 60s or 1h30m", whole));
  }
  while (!text.empty()) {
    const auto digits = take_digits(text);
    const auto name = take_word(text);
    if (digits.empty()) {
      throw UsageError(
          fmt::format("'{}' has '{}' where a number belongs; use decimal digits and "
                      "a unit: 60s, 1h30m",
                      whole, name));
    }
    if (name.empty()) {
      throw UsageError(fmt::format("'{}' has no unit after {}; use {}", whole, digits, kUnitNames));
    }
    const Unit* unit = find_unit(name);
    if (unit == nullptr) unknown_unit(whole, name);
    if (last != nullptr && unit <= last) {
      throw UsageError(
          fmt::format("'{}' has its units out of order; largest first, each once", whole));
    }
    const auto most = (kMaxWindow - sum) / unit->length;
    const auto count = bounded_value(digits, most);
    if (count > most) {
      throw UsageError(fmt::format("'{}' is too long; at most 100000000s is accepted", whole));
    }
    sum += count * unit->length;
    last = unit;
  }
  return sum;
}

microseconds parse_window(std::string_view whole, std::string_view text) {
  if (!text.empty() && !is_digit(text.front())) {  // "10/s": one of it
    const Unit* unit = find_unit(text);
    if (unit == nullptr) unknown_unit(whole, text);
    return unit->length;
  }
  const auto window = parse_duration_in(whole, text);
  if (window == microseconds{0}) {
    throw UsageError(
        fmt::format("'{}' has an empty window; from 1us to 100000000s is accepted", whole));
  }
  return window;
}

std::int64_t parse_count(std::string_view whole, std::string_view text) {
  const auto count = text;
  const auto digits = take_digits(text);
  const std::int64_t scale = text == "k" ? 1'000 : text == "M" ? 1'000'000 : text.empty() ? 1 : 0;
  if (digits.empty() || scale == 0) {
    throw UsageError(
        fmt::format("'{}' has limit '{}'; use decimal digits, then perhaps k or M: 5/60s, 1M/30d",
                    whole, count));
  }
  const auto value = bounded_value(digits, kMaxLimit / scale) * scale;
  if (value < 1 || value > kMaxLimit) {
    throw UsageError(
        fmt::format("'{}' has limit {}; from 1 to {} is accepted", whole, count, kMaxLimit));
  }
  return value;
}

/// The largest unit in which `duration` is whole; the one after it where `skip` says so.
std::string in_unit(microseconds duration, std::string_view skip = {}) {
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& u) {
    return duration % u.length == microseconds{0} && u.name != skip;
  });
  return fmt::format("{}{}", duration / unit->length, unit->name);
}

}  // namespace

Limit parse_limit(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos) {
    throw UsageError(
        fmt::format("'{}' is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min", text));
  }
  Limit limit;
  limit.limit = parse_count(text, text.substr(0, slash));
  limit.window = parse_window(text, text.substr(slash + 1));
  return limit;
}

std::string format_limit(const Limit& limit) {
  const auto window = format_duration(limit.window);
  if (limit.limit % 1'000'000 == 0) return fmt::format("{}M/{}", limit.limit / 1'000'000, window);
  return fmt::format("{}/{}", limit.limit, window);
}

microseconds parse_duration(std::string_view text) {
  return parse_duration_in(text, text);
}

std::string format_duration(microseconds duration) {
  if (duration == microseconds{0}) return "0s";
  // A minute keeps the name under which its key is stored.
  return in_unit(duration, duration == std::chrono::minutes{1} ? "m" : "");
}

std::int64_t parse_whole(std::string_view text, std::string_view what) {
  constexpr std::int64_t kMost = INT64_MAX - 1;
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const auto digits = take_digits(rest);
  if (digits.empty() || !rest.empty()) {
    throw UsageError(
        fmt::format("{} must be a whole number in decimal digits, not '{}'", what, text));
  }
  const auto value = bounded_value(digits, kMost);
  if (value > kMost) throw UsageError(fmt::format("{} is out of range: '{}'", what, text));
  return negative ? -value : value;
}

bool has_hash_tag(std::string_view key) {
  const auto open = key.find('{');
  if (open == std::string_view::npos) return false;
  const auto close = key.find('}', open);
  return close != std::string_view::npos && close > open + 1;
}

std::string window_suffix(microseconds window) {
  if (window % std::chrono::seconds{1} == microseconds{0}) {
    return fmt::format("{}s", window / std::chrono::seconds{1});
  }
  return in_unit(window);
}

bool can_carry_several_limits(std::string_view key) {
  // "{" + key + "}" would begin with "{}" else, which is no tag.
  return has_hash_tag(key) || (!key.empty() && key.front() != '}');
}

std::vector<std::string> redis_keys(std::string_view key, std::span<const Limit> limits) {
  if (limits.size() <= 1) return std::vector<std::string>(limits.size(), std::string(key));
  if (!can_carry_several_limits(key)) {
    throw UsageError(fmt::format(
        "key '{}' cannot carry several limits, since no hash tag can be made of it; write a tag "
        "into it, such as '{{tag}}{}'",
        key, key));
  }
  const bool tagged = has_hash_tag(key);
  std::vector<std::string> keys;
  for (const Limit& limit : limits) {
    const auto suffix = window_suffix(limit.window);
    auto name = tagged ? fmt::format("{}:{}", key, suffix) : fmt::format("{{{}}}:{}", key, suffix);
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) {
      throw UsageError(fmt::format("two limits have the same window, {}; give each its own",
                                   format_duration(limit.window)));
    }
    keys.push_back(std::move(name));
  }
  return keys;
}

std::vector<std::string_view> base_keys(std::string_view redis_key, const Limit& limit) {
  const auto suffix = std::string(":").append(window_suffix(limit.window));
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

}  // namespace rlctl::limiter
