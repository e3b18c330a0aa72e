#include "cli/duration_text.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "limiter/limit.h"

namespace rlctl::cli {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr milliseconds kAllDigitsBelow{10};
constexpr minutes kSecondsBelow{10};
constexpr seconds kMinutesFrom = std::chrono::days{1};

/// 600 s and more.
std::string long_text(seconds duration) {
  const auto total = duration.count();
  const auto minute = total / 60 % 60;
  const auto hour = total / 3600 % 24;
  if (duration >= kMinutesFrom) return fmt::format("{}d{}h{}m", total / 86400, hour, minute);
  if (hour > 0) return fmt::format("{}h{}m{}s", hour, minute, total % 60);
  return fmt::format("{}m{}s", minute, total % 60);
}

std::string thousandths(std::int64_t thousandths, std::string_view unit) {
  return fmt::format("{}.{:03} {}", thousandths / 1000, thousandths % 1000, unit);
}

}  // namespace

std::string wait_text(microseconds duration) {
  if (duration.count() > 0 && duration < kAllDigitsBelow) {
    return thousandths(duration.count(), "ms");
  }
  const auto rounded = std::chrono::ceil<milliseconds>(duration);
  if (rounded < kSecondsBelow) return thousandths(rounded.count(), "s");
  const auto whole = std::chrono::ceil<seconds>(duration);
  return long_text(whole < kMinutesFrom ? whole : std::chrono::ceil<minutes>(duration));
}

std::string age_text(microseconds duration) {
  if (duration.count() > 0 && duration < kAllDigitsBelow) {
    return thousandths(duration.count(), "ms");
  }
  if (duration < kSecondsBelow) {
    return thousandths(std::chrono::floor<milliseconds>(duration).count(), "s");
  }
  return long_text(std::chrono::floor<seconds>(duration));
}

std::string when_text(microseconds instant, microseconds now) {
  if (instant == now) return "now";
  return instant > now ? "in " + wait_text(instant - now) : age_text(now - instant) + " ago";
}

std::string ttl_text(microseconds ttl) {
  const auto tenths = std::chrono::ceil<milliseconds>(ttl).count() / 100;
  if (tenths >= seconds(kSecondsBelow).count() * 10) return wait_text(ttl);
  return fmt::format("{}.{} s", tenths / 10, tenths % 10);
}

std::string period_text(microseconds period) {
  std::string text = limiter::format_duration(period);
  const auto unit = text.find_first_not_of("0123456789");
  if (unit == text.npos) return text;
  if (text.compare(unit, text.npos, "m") == 0) text += "in";
  return text.insert(unit, 1, ' ');
}

std::string span_text(microseconds span) {
  const auto count = static_cast<double>(span.count());
  if (span < milliseconds{1}) return fmt::format("{} us", span.count());
  if (span < seconds{1}) return fmt::format("{:.4g} ms", count / 1e3);
  if (span < kSecondsBelow) return fmt::format("{:.4g} s", count / 1e6);
  return long_text(std::chrono::round<seconds>(span));
}

std::string latency_text(std::chrono::nanoseconds duration) {
  const auto three_digits = [](double value, std::string_view unit) {
    const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
    return fmt::format("{:.{}f} {}", value, decimals, unit);
  };
  const auto us = static_cast<double>(duration.count()) / 1e3;
  if (us < 999.5) return three_digits(us, "us");
  if (us < 999.5e3) return three_digits(us / 1e3, "ms");
  return three_digits(us / 1e6, "s");
}

std::string offset_text(microseconds offset) {
  if (offset.count() == 0) return "0";
  return (offset.count() < 0 ? "-" : "+") + span_text(std::chrono::abs(offset));
}

std::string instant_text(microseconds instant) {
  constexpr std::string_view kNoDecimals = ".000000Z";
  std::string text = limiter::format_instant(instant);
  if (text.ends_with(kNoDecimals)) text.replace(text.size() - kNoDecimals.size(), text.npos, "Z");
  return text;
}

}  // namespace rlctl::cli
