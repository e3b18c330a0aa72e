#include "keyspace/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "base/text.h"
#include "lua/reply_values.h"

namespace rlctl::keyspace {
namespace {

/// Reads a text with strtod() or strtold(); std::nullopt for NaN, and if it is not a number.
template <typename Number, typename Parse>
std::optional<Number> parse_whole_text(const std::string& text, Parse parse) {
  char* end = nullptr;
  errno = 0;
  const Number number = parse(text.c_str(), &end);
  if (end != text.c_str() + text.size() || std::isnan(number)) return {};
  return number;
}

template <typename Number, typename Parse>
std::optional<Number> parse_strictly(std::string_view text, Parse parse) {
  if (text.empty() || std::isspace(static_cast<unsigned char>(text.front())) != 0) return {};
  const auto number = parse_whole_text<Number>(std::string(text), parse);
  if (number && errno == ERANGE && (std::isinf(*number) || *number == 0)) return {};
  return number;
}

char upper_letter(char c) {
  return 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

/// No float of Redis is longer, as a text.
constexpr std::size_t kLongestFloat = 5 * 1024;

constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();

}  // namespace

Slice Slice::of(std::int64_t first, std::int64_t last, std::size_t size) {
  const auto length = static_cast<std::int64_t>(size);
  if (first < 0) first = std::max<std::int64_t>(first + length, 0);
  if (last < 0) last += length;
  last = std::min(last, length - 1);
  if (first > last) return {};
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

Slice Slice::of_text(std::int64_t first, std::int64_t last, std::size_t size) {
  if (first < 0 && last < 0 && first > last) return {};
  return of(first, last < -static_cast<std::int64_t>(size) ? 0 : last, size);
}

std::optional<std::int64_t> to_integer(std::string_view text) {
  const auto number = to_number<std::int64_t>(text);
  const auto digits = text.substr(text.starts_with('-') ? 1 : 0);
  const bool is_plain = text == "0" || (!digits.empty() && digits.front() != '0');
  return is_plain ? number : std::nullopt;
}

std::string upper_case(std::string_view text) {
  std::string upper(text);
  std::ranges::transform(text, upper.begin(), upper_letter);
  return upper;
}

bool is_word(std::string_view text, std::string_view upper) {
  return std::ranges::equal(text, upper, {}, upper_letter);
}

// ---- Words ----

std::int64_t Call::integer(std::size_t i, const char* error) const {
  if (const auto number = to_integer(words[i])) return *number;
  throw ErrorReply{error};
}

std::int64_t Call::count(std::size_t i) const {
  const auto number = integer(i, kNotPositive);
  if (number < 0) throw ErrorReply{kNotPositive};
  return number;
}

void Call::refuse_word_count() const {
  throw ErrorReply{
      fmt::format("ERR wrong number of arguments for '{}' command", lower_case(command))};
}

// ---- Keys ----

void Call::refuse_type() {
  throw ErrorReply{"WRONGTYPE Operation against a key holding the wrong kind of value"};
}

Keyspace::Keys::iterator Call::locate(std::string_view name) {
  const auto at = keyspace_.keys_.find(name);
  if (at == keyspace_.keys_.end() || !keyspace_.has_expired(at->second)) return at;
  keyspace_.keys_.erase(at);
  return keyspace_.keys_.end();
}

Keyspace::Keys::iterator Call::add(std::string_view name, Key key) {
  auto& keys = keyspace_.keys_;
  if (keys.size() >= keyspace_.sweep_at_) {
    keyspace_.remove_expired();
    keyspace_.sweep_at_ = 2 * keys.size() + 8;
  }
  return keys.emplace(name, std::move(key)).first;
}

Text& Call::edit_text(std::string_view name, std::size_t bytes) {
  const auto* const old = find<Text>(name);
  const auto size = old == nullptr ? 0 : old->size();
  if (bytes > size) keyspace_.reserve(bytes - size);
  auto& text = edit<Text>(name);
  if (bytes > size) text.resize(bytes);
  return text;
}

void Call::set(std::string_view name, Key key) {
  if (const auto at = locate(name); at != keyspace_.keys_.end()) {
    at->second = std::move(key);
  } else {
    add(name, std::move(key));
  }
}

void Call::set_text(std::string_view name, std::string_view text, Expiry expiry) {
  set(name, {std::make_shared<Value>(std::in_place_type<Text>, text), expiry});
}

bool Call::remove(std::string_view name) {
  const auto at = locate(name);
  if (at == keyspace_.keys_.end()) return false;
  keyspace_.keys_.erase(at);
  return true;
}

void Call::finish() {
  for (std::size_t i = 0; i < edited_count_; ++i) {
    const auto at = edited_[i];
    if (i > 0 && at == edited_[0]) continue;
    const bool is_empty = std::visit(
        [](const auto& value) {
          return !std::is_same_v<const Text&, decltype(value)> && value.empty();
        },
        *at->second.value);
    if (is_empty) keyspace_.keys_.erase(at);
  }
}

// ---- The reply ----

void Call::reply_line(char type, std::int64_t number) {
  reply_ += type;
  append_number(reply_, number);
  reply_ += "\r\n";
}

void Call::reply_text(std::string_view text) {
  reply_line('$', static_cast<std::int64_t>(text.size()));
  reply_ += text;
  reply_ += "\r\n";
}

void Call::reply_text_or_nil(const std::string* text) {
  if (text == nullptr) return reply_nil();
  reply_text(*text);
}

void Call::reply_score(double score) {
  std::string digits;
  lua::append_double(digits, score);
  reply_text(digits);
}

void Call::reply_status(std::string_view status) {
  reply_ += '+';
  reply_ += status;
  reply_ += "\r\n";
}

// ---- What tables share ----

std::optional<double> to_double(std::string_view text) {
  // What strtod() reads in such a text, which most are, is exact.
  constexpr std::size_t kWholeDigits = 15;
  if (text.size() <= kWholeDigits && std::ranges::all_of(text, is_digit)) {
    if (const auto whole = to_number<std::int64_t>(text)) return as_double(*whole);
  }
  return parse_strictly<double>(text, std::strtod);
}

std::optional<double> to_double_leniently(const std::string& text) {
  return parse_whole_text<double>(text, std::strtod);
}

long double to_increment(std::string_view text, const char* error) {
  const auto number =
      text.size() < kLongestFloat ? parse_strictly<long double>(text, std::strtold) : std::nullopt;
  if (!number) throw ErrorReply{error};
  return *number;
}

std::string float_sum(long double number, long double increment) {
  const long double sum = number + increment;
  if (!std::isfinite(sum)) throw ErrorReply{"ERR increment would produce NaN or Infinity"};
  std::array<char, kLongestFloat> digits{};
  const int size = std::snprintf(digits.data(), digits.size(), "%.17Lf", sum);
  std::string written(digits.data(), static_cast<std::size_t>(size));
  written.erase(written.find_last_not_of('0') + 1);
  if (written.ends_with('.')) written.pop_back();
  return written == "-0" ? "0" : written;
}

std::int64_t integer_sum(std::int64_t number, std::int64_t increment) {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(number, increment, &sum)) {
    throw ErrorReply{"ERR increment or decrement would overflow"};
  }
  return sum;
}

ErrorReply invalid_expiry(const Call& call) {
  return {fmt::format("ERR invalid expire time in '{}' command", lower_case(call.command))};
}

std::int64_t expiry_time(const Call& call, std::int64_t amount, TimeUnit unit) {
  if (unit.is_seconds) {
    if (amount > kMost / 1000 || amount < kLeast / 1000) throw invalid_expiry(call);
    amount *= 1000;
  }
  std::int64_t time = 0;
  if (__builtin_add_overflow(amount, call.base_of(unit), &time)) throw invalid_expiry(call);
  return time;
}

}  // namespace rlctl::keyspace
