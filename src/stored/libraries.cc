#include "stored/libraries.h"

#include "base/text.h"
#include "limiter/limit.h"
#include "redis/scan.h"
#include "stored/forms.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace rlctl::stored {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// TTLs in whole seconds, and reading the time and the TTL one after the other.
constexpr microseconds kTolerance = seconds{2};

/// TTLs are in ms, rounded up and down.
constexpr microseconds kTtlError{2'000};

/// The possible windows.
struct WindowRange {
  microseconds least, most;
};

constexpr auto kSteps = [] {
  using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  using std::chrono::milliseconds;
  return std::array<microseconds, 32>{
      days{30},          days{7},           days{1},           hours{12},         hours{6},
      hours{2},          hours{1},          minutes{30},       minutes{15},       minutes{10},
      minutes{5},        minutes{2},        minutes{1},        seconds{30},       seconds{20},
      seconds{15},       seconds{10},       seconds{5},        seconds{2},        seconds{1},
      milliseconds{500}, milliseconds{250}, milliseconds{200}, milliseconds{100}, milliseconds{50},
      milliseconds{20},  milliseconds{10},  milliseconds{5},   milliseconds{1},   microseconds{100},
      microseconds{10},  microseconds{1}};
}();

/// The window in the range that a person would most likely choose.
microseconds roundest_window(const WindowRange& range) {
  for (const auto step : kSteps) {
    const auto multiple = range.most - range.most % step;
    if (multiple >= range.least - kTtlError && multiple.count() > 0) return multiple;
  }
  return range.most;
}

// ---- Parts of names and values ----

/// A count as INCRBY and DECRBY keep it; some libraries give units back before they were taken.
std::optional<std::int64_t> parse_count(std::string_view text) {
  constexpr std::int64_t kMax = 999'999'999'999'999;
  const bool negative = text.starts_with('-');
  const auto count = parse_number(text.substr(negative ? 1 : 0), kMax);
  if (!count || (negative && *count == 0)) return std::nullopt;
  return negative ? -*count : *count;
}

/// What precedes the suffix; none if the key does not end in it.
std::optional<std::string_view> without_suffix(std::string_view key, std::string_view suffix) {
  if (!key.ends_with(suffix)) return std::nullopt;
  return key.substr(0, key.size() - suffix.size());
}

microseconds to_us(double value, microseconds unit) {
  return microseconds{std::llround(value * static_cast<double>(unit.count()))};
}

/// The time, if it is a present one.
std::optional<microseconds> present_time(std::string_view text, microseconds unit) {
  const auto value = to_number<double>(text);
  if (!value || !is_of_today(*value * static_cast<double>(unit.count()))) return std::nullopt;
  return to_us(*value, unit);
}

bool is_about(const std::optional<microseconds>& one, microseconds other) {
  return one && std::chrono::abs(*one - other) <= kTolerance;
}

/// A state that only its form's library writes, if its key has the TTL that the library sets.
Decoded library_state(const KeySample& content) {
  return {.certain = content.expires};
}

// ---- Counters ----

/// After how many windows, counted from the beginning of its window, a counter expires.
struct Lifetime {
  int least = 1, most = 1;
};
/// A library may add this to a TTL.
constexpr microseconds kExtra = seconds{1};

/// A counter whose name has the number of its window since 1970. The window follows from this
/// number, 1 to kMaxWindows, and from the time at which the key expires.
std::optional<Decoded> read_numbered_counter(std::int64_t number, Lifetime lifetime,
                                             const KeySample& content) {
  const auto count = parse_count(content.text);
  if (!count || number == 0) return std::nullopt;
  auto state = library_state(content);
  state.counts = {{.units = *count}};
  if (content.until) {
    constexpr microseconds kLate = milliseconds{50};  // the time was read before the TTL
    state.window = roundest_window({.least = (*content.until - kExtra) / (number + lifetime.most),
                                    .most = (*content.until + kLate) / (number + lifetime.least)});
    state.counts.front().at = *state.window * number;
  }
  return state;
}

std::optional<Decoded> read_counter_under(std::string_view prefix, std::string_view key,
                                          const KeySample& content) {
  const auto count = parse_count(content.text);
  if (!key.starts_with(prefix) || key.size() == prefix.size() || !count) return std::nullopt;
  auto state = library_state(content);
  state.counts = {{.units = *count}};
  return state;
}

// ---- Theoretical arrival times ----

Decoded arrival_state(microseconds arrival, const KeySample& content) {
  return {.certain = is_about(content.until, arrival),
          .model = std::make_shared<limiter::GcraModel>(
              limiter::RationalTime{.parts = limiter::to_parts(arrival, 1), .per_us = 1}),
          .time = arrival};
}

/// Seconds with a fraction since the epoch, in seconds since 1970.
std::optional<Decoded> read_arrival_since(seconds epoch, const KeySample& content) {
  constexpr double kYear = 365.25 * 86400;
  const auto value = to_number<double>(content.text);
  if (!value || !(*value > 0 && *value < 30 * kYear)) return std::nullopt;
  return arrival_state(epoch + to_us(*value, seconds{1}), content);
}

/// redis_rate has one prefix, which others use too, but a time since 2017 is not an exchange rate.
std::optional<Decoded> read_redis_rate(std::string_view key, const KeySample& content) {
  constexpr seconds kEpoch{1'483'228'800};  // 2017
  constexpr std::string_view kPrefix = "rate:";
  constexpr microseconds kOldest = std::chrono::years{3};
  if (!key.starts_with(kPrefix)) return std::nullopt;
  auto state = read_arrival_since(kEpoch, content);
  if (!state || *state->time < kEpoch + kOldest) return std::nullopt;
  const bool has_fraction = content.text.find('.') != content.text.npos;
  return state->certain || has_fraction ? state : std::nullopt;
}

std::optional<Decoded> read_throttled_gcra(std::string_view key, const KeySample& content) {
  constexpr seconds kEpoch{1'735'660'800};  // 2025
  if (!key.starts_with("throttled:v1:gcra:")) return std::nullopt;
  return read_arrival_since(kEpoch, content);
}

/// Nanoseconds since 1970, under any name. Such a number may be an ID, but then the key would not
/// expire at that very time.
std::optional<Decoded> read_nanoseconds(std::string_view /*key*/, const KeySample& content) {
  const auto value = parse_number(content.text, INT64_MAX, 19);
  if (!value) return std::nullopt;
  const microseconds arrival{*value / 1000};
  if (!is_about(content.until, arrival)) return std::nullopt;
  return arrival_state(arrival, content);
}

// ---- limits (Python) ----

/// A name of limits: "LIMITS:LIMITER/ann/5/1/minute".
struct LimitsName {
  std::string_view name;  ///< without braces
  bool has_braces = false;
  bool is_previous = false;  ///< of the previous window
  std::optional<limiter::Limit> limit = {};
};

std::optional<microseconds> parse_granularity(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, seconds>, 6> kGranularities{{
      {"second", seconds{1}},
      {"minute", seconds{60}},
      {"hour", seconds{3600}},
      {"day", seconds{86'400}},
      {"month", seconds{30 * 86'400}},
      {"year", seconds{12 * 30 * 86'400}},
  }};
  for (const auto& [name, span] : kGranularities) {
    if (name == text) return span;
  }
  return std::nullopt;
}

/// Removes the text after the last slash and returns it.
std::string_view take_last(std::string_view& path) {
  const auto slash = path.rfind('/');
  if (slash == path.npos) return {};
  const auto last = path.substr(slash + 1);
  path = path.substr(0, slash);
  return last;
}

std::optional<LimitsName> parse_limits_name(std::string_view key) {
  constexpr std::string_view kPrefix = "LIMITS:";
  if (!key.starts_with(kPrefix)) return std::nullopt;
  LimitsName name{.name = key.substr(kPrefix.size())};
  if (name.name.starts_with('{')) {
    const auto close = name.name.rfind('}');
    if (close == key.npos) return std::nullopt;
    const auto rest = name.name.substr(close + 1);
    if (!rest.empty() && rest != "/-1") return std::nullopt;
    name.has_braces = true;
    name.is_previous = !rest.empty();
    name.name = name.name.substr(1, close - 1);
  }
  auto path = name.name;
  const auto granularity = parse_granularity(take_last(path));
  const auto multiples = parse_number(take_last(path), limiter::kLargestLimit);
  const auto amount = parse_number(take_last(path), limiter::kLargestLimit);
  if (!granularity || !multiples || !amount || path.find('/') == path.npos) return std::nullopt;
  if (*amount > 0 && *multiples > 0 && *multiples <= limiter::kLongestWindow / *granularity) {
    name.limit = limiter::Limit{.limit = *amount, .window = *granularity * *multiples};
  }
  return name;
}

std::optional<Decoded> read_limits_fixed(std::string_view key, const KeySample& content) {
  const auto name = parse_limits_name(key);
  const auto count = parse_count(content.text);
  if (!name || name->has_braces || !count) return std::nullopt;
  auto state = library_state(content);
  state.limit = name->limit;
  state.counts = {{.units = *count}};
  return state;
}

std::optional<Decoded> read_limits_moving(std::string_view key, const KeySample& content) {
  const auto name = parse_limits_name(key);
  const bool are_times = present_time(content.first.member, seconds{1}) &&
                         present_time(content.last.member, seconds{1});
  if (!name || name->has_braces || !are_times) return std::nullopt;
  auto state = library_state(content);
  state.limit = limit_in_name(key);
  return state;
}

/// A key expires two windows after the beginning of its window. It is renamed when it has become
/// the previous one.
std::optional<Decoded> read_limits_sliding(std::string_view key, const KeySample& content) {
  const auto name = parse_limits_name(key);
  const auto count = parse_count(content.text);
  if (!name || !name->has_braces || !count) return std::nullopt;
  auto state = library_state(content);
  state.limit = name->limit;
  const bool is_dated = content.until && name->limit;
  const auto begin = is_dated ? *content.until - 2 * name->limit->window : microseconds{0};
  state.counts = {{.at = begin, .units = *count}};
  state.partner = std::string("LIMITS:{").append(name->name).append("}");
  if (!name->is_previous) state.partner += "/-1";
  return state;
}

// ---- @upstash/ratelimit ----

constexpr std::string_view kUpstash = "@upstash/ratelimit:";

/// The fixed and the sliding window have the same names, but differ in their TTL: one window, and
/// two and a second, from the first request on.
std::optional<Decoded> read_upstash(std::string_view key, const KeySample& content, bool sliding) {
  const auto name = parse_numbered(key);
  if (!key.starts_with(kUpstash) || !name) return std::nullopt;
  auto state = read_numbered_counter(name->number, {.least = 1, .most = 3}, content);
  if (!state) return std::nullopt;
  const auto begin = state->counts.front().at;
  const auto longest_fixed = 2 * state->window.value_or(microseconds{0}) + kExtra / 2;
  const bool is_sliding = content.until && *content.until - begin > longest_fixed;
  if (is_sliding != sliding) return std::nullopt;
  if (sliding) {
    state->partner = std::string(name->name).append(":") + std::to_string(name->number - 1);
  }
  return state;
}

std::optional<Decoded> read_upstash_fixed(std::string_view key, const KeySample& content) {
  return read_upstash(key, content, false);
}

std::optional<Decoded> read_upstash_sliding(std::string_view key, const KeySample& content) {
  return read_upstash(key, content, true);
}

// ---- Buckets in hashes ----

std::optional<std::string_view> field(const KeySample& content, std::string_view name) {
  const auto found = content.fields.find(name);
  if (found == content.fields.end()) return std::nullopt;
  return found->second;
}

/// A hash with these two fields and no other.
std::optional<Decoded> read_bucket(const KeySample& content, std::string_view time_field,
                                   microseconds unit, RefilledBucket bucket) {
  const auto tokens = field(content, "tokens");
  const auto time = field(content, time_field);
  if (content.size != 2 || !tokens || !time) return std::nullopt;
  const auto number = to_number<double>(*tokens);
  const auto at = present_time(*time, unit);
  constexpr double kMax = 1e15;
  if (!number || !(std::abs(*number) <= kMax) || !at) return std::nullopt;
  bucket.tokens = *number;
  bucket.at = *at;
  auto state = library_state(content);
  state.time = at;
  state.bucket = bucket;
  return state;
}

std::optional<Decoded> read_upstash_bucket(std::string_view key, const KeySample& content) {
  if (!key.starts_with(kUpstash)) return std::nullopt;
  return read_bucket(content, "refilledAt", milliseconds{1}, {});
}

std::optional<Decoded> read_throttled_tokens(std::string_view key, const KeySample& content) {
  if (!key.starts_with("throttled:v1:token_bucket:")) return std::nullopt;
  return read_bucket(content, "last_refreshed", seconds{1}, {.step = seconds{1}, .whole = true});
}

std::optional<Decoded> read_throttled_leaking(std::string_view key, const KeySample& content) {
  if (!key.starts_with("throttled:v1:leaking_bucket:")) return std::nullopt;
  return read_bucket(content, "last_refreshed", seconds{1},
                     {.step = seconds{1}, .whole = true, .counts_used = true});
}

// ---- Spring Cloud Gateway ----

/// The name without the suffix: "request_rate_limiter.{ROUTE.ID}.".
std::optional<std::string_view> spring_name(std::string_view key, std::string_view suffix) {
  const auto name = without_suffix(key, suffix);
  const bool is_springs = name && name->starts_with("request_rate_limiter.{") &&
                          name->ends_with("}.") && name->size() > 24;
  return is_springs ? name : std::nullopt;
}

std::optional<Decoded> read_spring_tokens(std::string_view key, const KeySample& content) {
  const auto name = spring_name(key, "tokens");
  const auto tokens = to_number<double>(content.text);
  if (!name || !tokens || !(std::abs(*tokens) <= 1e15)) return std::nullopt;
  auto state = library_state(content);
  state.tokens = tokens;
  state.partner = std::string(*name) + "timestamp";
  return state;
}

std::optional<Decoded> read_spring_timestamp(std::string_view key, const KeySample& content) {
  const auto name = spring_name(key, "timestamp");
  const auto time = present_time(content.text, seconds{1});
  if (!name || !time) return std::nullopt;
  auto state = library_state(content);
  state.time = time;
  state.partner = std::string(*name) + "tokens";
  return state;
}

// ---- Others ----

std::optional<Decoded> read_flexible(std::string_view key, const KeySample& content) {
  return read_counter_under("rlflx:", key, content);
}

/// "throttled:v1:fixed_window:KEY:period:17".
std::optional<Decoded> read_throttled_window(std::string_view key, std::string_view prefix,
                                             Lifetime lifetime, const KeySample& content) {
  const auto name = parse_numbered(key);
  if (!key.starts_with(prefix) || !name || !name->name.ends_with(":period")) return std::nullopt;
  return read_numbered_counter(name->number, lifetime, content);
}

std::optional<Decoded> read_throttled_fixed(std::string_view key, const KeySample& content) {
  return read_throttled_window(key, "throttled:v1:fixed_window:", {.least = 1, .most = 2}, content);
}

std::optional<Decoded> read_throttled_sliding(std::string_view key, const KeySample& content) {
  auto state =
      read_throttled_window(key, "throttled:v1:sliding_window:", {.least = 3, .most = 4}, content);
  if (!state) return std::nullopt;
  const auto name = *parse_numbered(key);
  state->partner = std::string(name.name).append(":") + std::to_string(name.number - 1);
  return state;
}

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == text.npos;
}

/// A key of Laravel's throttle middleware: the cache's prefix, "laravel_cache_:" or
/// "laravel-cache-", and a hash, SHA-1 or for a named limiter MD5. A cache may hold a number under
/// such a name for another purpose.
bool is_laravel_name(std::string_view key) {
  constexpr std::size_t kSha1 = 40, kMd5 = 32;
  for (const auto digits : {kSha1, kMd5}) {
    if (key.size() <= digits || !is_hex(key.substr(key.size() - digits))) continue;
    auto prefix = key.substr(0, key.size() - digits);
    if (prefix.ends_with(':')) prefix.remove_suffix(1);
    return prefix.ends_with("_cache_") || prefix.ends_with("-cache-");
  }
  return false;
}

constexpr std::string_view kTimer = ":timer";

std::optional<Decoded> read_laravel_count(std::string_view key, const KeySample& content) {
  const auto count = parse_count(content.text);
  if (!is_laravel_name(key) || !count) return std::nullopt;
  return Decoded{.counts = {{.units = *count}}, .partner = std::string(key).append(kTimer)};
}

/// The time at which the counter of the same name starts again, which is when this key expires.
std::optional<Decoded> read_laravel_timer(std::string_view key, const KeySample& content) {
  const auto counter = without_suffix(key, kTimer);
  const auto end = parse_number(content.text, INT64_MAX, 10);
  if (!counter || counter->empty() || !end) return std::nullopt;
  if (!is_about(content.until, seconds{*end})) return std::nullopt;
  return Decoded{
      .certain = is_laravel_name(*counter), .end = seconds{*end}, .partner = std::string(*counter)};
}

/// "rack::attack:17:NAME", perhaps after the namespace of the cache, perhaps with the generation
/// that a reset begins: "rack::attack:g2:17:NAME".
std::optional<Decoded> read_rack_attack(std::string_view key, const KeySample& content) {
  constexpr std::string_view kMark = "rack::attack:";
  const auto at = key.find(kMark);
  if (at == key.npos || (at > 0 && key[at - 1] != ':')) return std::nullopt;
  auto rest = key.substr(at + kMark.size());
  const auto take = [&rest] {
    const auto part = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), part.size() + 1));
    return part;
  };
  auto part = take();
  if (part.starts_with('g') && parse_number(part.substr(1), INT64_MAX)) part = take();
  const auto number = parse_number(part, kMaxWindows);
  if (!number || rest.empty()) return std::nullopt;
  return read_numbered_counter(*number, {.least = 1, .most = 1}, content);
}

// ---- The table ----

// A library needs a row for each form, a test in libraries_test.cc, and a line in
// rlctl-inspect(1).
constexpr std::array kLibraryForms{
    Form{.name = "gcra",
         .type = "string",
         .library = "redis_rate",
         .summary = "a theoretical arrival time, in seconds since 2017",
         .read = read_redis_rate},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "limits",
         .summary = "a count; the key's name has the limit",
         .ends_by_ttl = true,
         .read = read_limits_fixed},
    Form{.name = "sliding-window-log",
         .type = "list",
         .library = "limits",
         .summary = "the times of requests; the key's name has the limit",
         .layout = Layout::kTimes,
         .us_per_score = 1'000'000,
         .newest_first = true,
         .read = read_limits_moving},
    Form{.name = "sliding-window-counter",
         .type = "string",
         .library = "limits",
         .summary = "the count of one of two windows; the key's name has the limit",
         .ends_by_ttl = true,
         .is_called_with_partner = true,
         .read = read_limits_sliding},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "upstash",
         .summary = "a count; the key's name has the number of its window",
         .read = read_upstash_fixed},
    Form{.name = "sliding-window-counter",
         .type = "string",
         .library = "upstash",
         .summary = "the count of one window; the key's name has its number",
         .is_called_with_partner = true,
         .read = read_upstash_sliding},
    Form{.name = "token-bucket",
         .type = "hash",
         .library = "upstash",
         .summary = "tokens, and when they were refilled; refilled once a window",
         .read = read_upstash_bucket},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "rate-limiter-flexible",
         .summary = "a count, or more than the limit while the key is blocked",
         .ends_by_ttl = true,
         .read = read_flexible},
    Form{.name = "token-bucket",
         .type = "string",
         .library = "spring-cloud-gateway",
         .summary = "the tokens at the time that another key has",
         .is_called_with_partner = true,
         .read = read_spring_tokens},
    Form{.name = "token-bucket",
         .type = "string",
         .library = "spring-cloud-gateway",
         .summary = "the time of the tokens that another key has",
         .is_called_with_partner = true,
         .read = read_spring_timestamp},
    Form{.name = "gcra",
         .type = "string",
         .library = "throttled-py",
         .summary = "a theoretical arrival time, in seconds since 2025",
         .read = read_throttled_gcra},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "throttled-py",
         .summary = "a count; the key's name has the number of its window",
         .read = read_throttled_fixed},
    Form{.name = "sliding-window-counter",
         .type = "string",
         .library = "throttled-py",
         .summary = "the count of one window; the key's name has its number",
         .is_called_with_partner = true,
         .read = read_throttled_sliding},
    Form{.name = "token-bucket",
         .type = "hash",
         .library = "throttled-py",
         .summary = "tokens, and when they were refilled; refilled once a second",
         .read = read_throttled_tokens},
    Form{.name = "leaky-bucket",
         .type = "hash",
         .library = "throttled-py",
         .summary = "the level, and when it was counted; it falls once a second",
         .read = read_throttled_leaking},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "rack-attack",
         .summary = "a count; the key's name has the number of its window",
         .read = read_rack_attack},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "laravel",
         .summary = "a count, which another key tells when to start again",
         .read = read_laravel_count},
    Form{.name = "fixed-window",
         .type = "string",
         .library = "laravel",
         .summary = "when the count in another key starts again",
         .read = read_laravel_timer},
    // Under any name.
    Form{.name = "gcra",
         .type = "string",
         .library = "redis-cell",
         .summary = "a theoretical arrival time in ns, of redis-cell, Dragonfly or throttled",
         .read = read_nanoseconds},
};

constexpr std::array<std::string_view, 3> kHashFields{"tokens", "refilledAt", "last_refreshed"};

}  // namespace

std::span<const Form> library_forms() {
  return kLibraryForms;
}

std::optional<limiter::Limit> limit_in_name(std::string_view log) {
  const auto name = parse_limits_name(log);
  return name && !name->has_braces ? name->limit : std::nullopt;
}

std::span<const std::string_view> hash_fields() {
  return kHashFields;
}

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

std::optional<Decoded> count_state(const KeySample& content) {
  constexpr std::int64_t kMax = 999'999'999;  // a longer number is an ID or a time
  const auto count = parse_number(content.text, kMax);
  if (!count) return std::nullopt;
  return Decoded{.certain = content.expires, .counts = {{.units = *count}}};
}

std::optional<Decoded> read_counter_by_name(std::string_view key, const KeySample& content) {
  return has_prefix(key, kCounterPrefixes) ? count_state(content) : std::nullopt;
}

/// The number after the last colon, which is not the first character.
std::optional<std::int64_t> last_number(std::string_view key) {
  const auto name = parse_numbered(key);
  return name && !name->name.empty() ? std::optional(name->number) : std::nullopt;
}

/// "USER:MINUTE", the minute of the hour, with no other colon: it expires within the next one.
std::optional<Decoded> read_minute_counter(std::string_view key, const KeySample& content) {
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
std::optional<Decoded> read_indexed_counter(std::string_view key, const KeySample& content) {
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
std::optional<Decoded> read_set_by_name(std::string_view key, const KeySample& content) {
  const auto is_present = [](const KeySample::Edge& edge) {
    const auto score = to_number<double>(edge.score);
    return score && is_of_today(*score * kUsPerScore);
  };
  if (!has_prefix(key, kSetPrefixes)) return std::nullopt;
  if (!is_present(content.first) || !is_present(content.last)) return std::nullopt;
  return Decoded{.certain = content.expires};
}

/// A list from which each request takes an element: as many tokens are left as it is long.
std::optional<Decoded> read_token_list(std::string_view key, const KeySample& content) {
  constexpr std::size_t kLongest = 36;  // a UUID
  const auto is_token = [](const KeySample::Edge& edge) {
    return !edge.member.empty() && edge.member.size() <= kLongest && !edge.member.starts_with('{');
  };
  if (!has_prefix(key, kTokenPrefixes)) return std::nullopt;
  if (!is_token(content.first) || !is_token(content.last)) return std::nullopt;
  return Decoded{.certain = true};
}

constexpr Form set_form(std::int64_t us_per_score, std::string_view summary,
                        std::optional<Decoded> (*read)(std::string_view, const KeySample&)) {
  return {.name = "sliding-window-zset",
          .type = "zset",
          .library = kArticleLibrary,
          .summary = summary,
          .layout = Layout::kScores,
          .us_per_score = us_per_score,
          .read = read};
}

constexpr std::array kForms{
    Form{.name = "fixed-window",
         .type = "string",
         .library = kArticleLibrary,
         .summary = "a count under a name such as rate:ACTION:USER",
         .ends_by_ttl = true,
         .read = read_counter_by_name},
    Form{.name = "fixed-window",
         .type = "string",
         .library = kArticleLibrary,
         .summary = "a count; the key's name ends in the minute of the hour",
         .read = read_minute_counter},
    Form{.name = "fixed-window",
         .type = "string",
         .library = kArticleLibrary,
         .summary = "a count; the key's name ends in the number of its window",
         .read = read_indexed_counter},
    set_form(1000, "the times of requests in milliseconds", read_set_by_name<1000>),
    set_form(1'000'000, "the times of requests in seconds", read_set_by_name<1'000'000>),
    set_form(1, "the times of requests in microseconds", read_set_by_name<1>),
    Form{.name = "token-bucket",
         .type = "list",
         .library = kArticleLibrary,
         .summary = "a token in each element",
         .never_expires = true,
         .read = read_token_list},
};

}  // namespace

std::span<const Form> article_forms() {
  return kForms;
}

namespace {

using Families = std::vector<std::vector<std::string>>;

struct Suffix {
  std::string_view unit;
  microseconds length;
};
// "us" and "ms" must precede "s", which is their last letter.
constexpr std::array kSuffixes{Suffix{"us", microseconds{1}},
                               Suffix{"ms", std::chrono::milliseconds{1}},
                               Suffix{"s", std::chrono::seconds{1}}};

std::optional<microseconds> parse_suffix(std::string_view text) {
  for (const auto& [unit, length] : kSuffixes) {
    if (!text.ends_with(unit)) continue;
    const auto count = to_number<std::int64_t>(text.substr(0, text.size() - unit.size()));
    if (!count || *count < 1 || *count > limiter::kLongestWindow / length) return std::nullopt;
    return *count * length;
  }
  return std::nullopt;
}

/// Whether redis_keys() or leases_key() would make this name, which is known to contain a hash tag.
bool is_family_name(std::string_view name) {
  return window_in_name(name).has_value() ||
         name.substr(name.rfind(':') + 1) == limiter::kLeasesName;
}

/// Assigns scanned names to the families of some keys.
class FamilyNames {
 public:
  explicit FamilyNames(std::span<const std::string> keys) : families_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (limiter::can_carry_several_limits(keys[i]))
        keys_of_[limiter::family_prefix(keys[i])].push_back(i);
    }
  }

  bool empty() const noexcept { return keys_of_.empty(); }
  /// A glob that matches every name that may be in a family.
  std::string pattern() const {
    return keys_of_.size() == 1 ? redis::escape_glob(keys_of_.begin()->first) + "[1-9l]*s"
                                : "*{?*}*:[1-9l]*s";
  }
  void add(const std::vector<std::string>& names) {
    for (const auto& name : names) {
      const auto found = keys_of_.find(name.substr(0, name.rfind(':') + 1));
      if (found == keys_of_.end() || !is_family_name(name)) continue;
      for (const auto key : found->second) families_[key].push_back(name);
    }
  }
  Families take() { return std::move(families_); }

 private:
  /// Indexed by prefix, which "a" and "{a}" share.
  std::unordered_map<std::string, std::vector<std::size_t>> keys_of_;
  Families families_;
};

/// The order of a family: by window, then the leases.
microseconds place_in_family(std::string_view name) {
  return window_in_name(name).value_or(microseconds::max());
}

bool is_wanted(const std::string& name, const KeySample& content, FamilyKeys which) {
  return which == FamilyKeys::kAll ? content.type != "none" : decode(name, content).is_ours();
}

/// Sorts the names by window, and removes duplicates and names of other keys.
void keep_family(redis::Connection& connection, std::vector<std::string>& names, FamilyKeys which) {
  std::sort(names.begin(), names.end(),
            [](const auto& a, const auto& b) { return place_in_family(a) < place_in_family(b); });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  const auto contents = read_contents(connection, names);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (is_wanted(names[i], contents[i], which)) std::swap(names[kept++], names[i]);
  }
  names.resize(kept);
}

}  // namespace

std::optional<microseconds> window_in_name(std::string_view redis_key) {
  const auto colon = redis_key.rfind(':');
  if (colon == redis_key.npos || !limiter::has_hash_tag(redis_key.substr(0, colon)))
    return std::nullopt;
  const auto suffix = redis_key.substr(colon + 1);
  const auto window = parse_suffix(suffix);
  return window && limiter::window_suffix(*window) == suffix ? window : std::nullopt;
}

std::vector<std::string> usual_family_names(std::string_view key) {
  using namespace std::chrono_literals;
  constexpr std::array<microseconds, 22> kWindows{100ms,
                                                  1s,
                                                  2s,
                                                  5s,
                                                  10s,
                                                  15s,
                                                  20s,
                                                  30s,
                                                  1min,
                                                  2min,
                                                  5min,
                                                  10min,
                                                  15min,
                                                  30min,
                                                  1h,
                                                  2h,
                                                  6h,
                                                  12h,
                                                  std::chrono::days{1},
                                                  std::chrono::days{7},
                                                  std::chrono::days{30},
                                                  std::chrono::days{31}};
  if (!limiter::can_carry_several_limits(key)) return {};
  std::vector<limiter::Limit> limits;
  for (const auto window : kWindows) limits.push_back({.limit = 1, .window = window});
  return limiter::redis_keys(key, limits);
}

ReadableKeys find_usual_family(redis::Connection& connection, std::string_view key,
                               FamilyKeys which) {
  auto names = usual_family_names(key);
  if (names.empty()) return {};
  names.push_back(limiter::leases_key(key));
  auto readable = readable_keys(connection, names);
  const auto contents = read_contents(connection, readable);
  ReadableKeys family{.refused = std::move(readable.refused), .why = readable.why};
  for (std::size_t i = 0; i < contents.size(); ++i) {
    if (!is_wanted(readable.keys[i], contents[i], which)) continue;
    family.keys.push_back(std::move(readable.keys[i]));
    family.types.push_back(contents[i].type);
  }
  return family;
}

Families find_families(redis::Connection& connection, std::span<const std::string> keys,
                       FamilyKeys which, const OnScanned& on_scanned) {
  FamilyNames names(keys);
  if (names.empty()) return names.take();
  redis::Scan scan(connection, names.pattern());
  while (!scan.done()) {
    names.add(scan.next());
    if (on_scanned) on_scanned(scan.share());
  }
  auto families = names.take();
  for (auto& family : families) keep_family(connection, family, which);
  return families;
}

}  // namespace rlctl::stored
