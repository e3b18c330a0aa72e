#include "state/articles.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

#include "base/text.h"
#include "state/round_window.h"
#include "state/stored_number.h"

namespace rlctl::state {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// How the names of counters begin: "rate:ACTION:USER".
constexpr std::array<std::string_view, 9> kCounterPrefixes{
    "rate:",        "ratelimit:", "rate_limit:", "rate-limit:", "rate_limiter:",
    "ratelimiter:", "limit:",     "throttle:",   "rl:"};
/// How the names of sorted sets begin: "hist:USER:ACTION".
constexpr std::array<std::string_view, 3> kSetPrefixes{"limit:", "hist:", "swrl:"};
/// How the names of lists of tokens begin.
constexpr std::array<std::string_view, 4> kTokenPrefixes{
    "tokens:", "token_bucket:", "token-bucket:", "bucket:"};

bool has_prefix(std::string_view key, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [key](std::string_view prefix) {
    return key.size() > prefix.size() && key.starts_with(prefix);
  });
}

std::optional<State> count_state(const Content& content) {
  constexpr std::int64_t kMax = 999'999'999;  // a longer number is an ID or a time
  const auto count = parse_number(content.text, kMax);
  if (!count) return std::nullopt;
  return State{.certain = content.expires, .counts = {{.units = *count}}};
}

std::optional<State> read_counter_by_name(std::string_view key, const Content& content) {
  return has_prefix(key, kCounterPrefixes) ? count_state(content) : std::nullopt;
}

/// The number after the last colon, which is not the first character.
std::optional<std::int64_t> last_number(std::string_view key) {
  const auto name = parse_numbered(key);
  return name && !name->name.empty() ? std::optional(name->number) : std::nullopt;
}

/// "USER:MINUTE", the minute of the hour, with no other colon: it expires within the next one.
std::optional<State> read_minute_counter(std::string_view key, const Content& content) {
  const auto minute = last_number(key);
  if (!minute || *minute > 59 || !content.until) return std::nullopt;
  if (std::ranges::count(key, ':') != 1) return std::nullopt;
  constexpr seconds kMinute{60};
  const auto now = std::chrono::duration_cast<seconds>(content.read_at) % (60 * kMinute);
  const auto of_clock = std::chrono::duration_cast<std::chrono::minutes>(now).count();
  const bool is_now = (of_clock - *minute + 60) % 60 <= 1;
  if (!is_now || *content.until - content.read_at > kMinute) return std::nullopt;
  auto state = count_state(content);
  if (state) state->window = kMinute;
  return state;
}

/// "KEY:NOW/5000": the number of windows since 1970, which fits the time at which it expires.
std::optional<State> read_indexed_counter(std::string_view key, const Content& content) {
  // Of windows of three hours and less, the number tells the length to a tenth of a second. A
  // length that is not round is that of some other number, such as an ID.
  constexpr std::int64_t kMin = 150'000;
  const auto number = last_number(key);
  if (!number || *number < kMin || !content.until) return std::nullopt;
  const auto window = roundest_window(
      {.least = content.read_at / (*number + 1), .most = content.read_at / *number});
  const auto begin = window * *number;
  const bool is_now = begin <= content.read_at && content.read_at < begin + window;
  const auto ttl = *content.until - content.read_at;
  constexpr microseconds kHour = std::chrono::hours{1};
  const bool is_round = window >= milliseconds{1} &&
                        (kHour % window == microseconds{0} || window % kHour == microseconds{0});
  if (!is_round || !is_now || ttl > 2 * window + seconds{1}) return std::nullopt;
  auto state = count_state(content);
  if (!state) return state;
  state->window = window;
  state->counts.front().at = begin;
  return state;
}

template <std::int64_t kUsPerScore>
std::optional<State> read_set_by_name(std::string_view key, const Content& content) {
  const auto is_present = [](const Content::Edge& edge) {
    const auto score = to_number<double>(edge.score);
    return score && is_of_today(*score * kUsPerScore);
  };
  if (!has_prefix(key, kSetPrefixes)) return std::nullopt;
  if (!is_present(content.first) || !is_present(content.last)) return std::nullopt;
  return State{.certain = content.expires};
}

/// A list from which each request takes an element: as many tokens are left as it is long.
std::optional<State> read_token_list(std::string_view key, const Content& content) {
  constexpr std::size_t kLongest = 36;  // a UUID
  const auto is_token = [](const Content::Edge& edge) {
    return !edge.member.empty() && edge.member.size() <= kLongest && !edge.member.starts_with('{');
  };
  if (!has_prefix(key, kTokenPrefixes)) return std::nullopt;
  if (!is_token(content.first) || !is_token(content.last)) return std::nullopt;
  return State{.certain = true};
}

constexpr StateForm set_form(std::int64_t us_per_score, std::string_view summary,
                             std::optional<State> (*read)(std::string_view, const Content&)) {
  return {.name = "sliding-window-zset",
          .type = "zset",
          .library = kArticleLibrary,
          .summary = summary,
          .keeping = Keeping::kScores,
          .us_per_score = us_per_score,
          .ttl_over = milliseconds{1100},
          .read = read};
}

constexpr std::array kForms{
    StateForm{.name = "fixed-window",
              .type = "string",
              .library = kArticleLibrary,
              .summary = "a count under a name such as rate:ACTION:USER",
              .ends_by_ttl = true,
              .read = read_counter_by_name},
    StateForm{.name = "fixed-window",
              .type = "string",
              .library = kArticleLibrary,
              .summary = "a count; the key's name ends in the minute of the hour",
              .read = read_minute_counter},
    StateForm{.name = "fixed-window",
              .type = "string",
              .library = kArticleLibrary,
              .summary = "a count; the key's name ends in the number of its window",
              .read = read_indexed_counter},
    set_form(1000, "the times of requests in milliseconds", read_set_by_name<1000>),
    set_form(1'000'000, "the times of requests in seconds", read_set_by_name<1'000'000>),
    set_form(1, "the times of requests in microseconds", read_set_by_name<1>),
    StateForm{.name = "token-bucket",
              .type = "list",
              .library = kArticleLibrary,
              .summary = "a token in each element",
              .never_expires = true,
              .read = read_token_list},
};

}  // namespace

std::span<const StateForm> article_forms() {
  return kForms;
}

}  // namespace rlctl::state
