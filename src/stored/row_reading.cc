#include "stored/library_row.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "base/text.h"
#include "limiter/model.h"

namespace rlctl::stored {
namespace {

/// TTLs in whole seconds, and reading the time and the TTL one after the other.
constexpr microseconds kTtlError = std::chrono::seconds{2};
/// Larger numbers are neither units nor spans of time.
constexpr double kMost = 1e15;

/// A time of today. Without a unit, the size of the number tells it.
std::optional<microseconds> time_of(double value, double unit, std::int64_t epoch = 0) {
  constexpr std::array kUnits{1e6, 1e3, 1.0, 1e-3};
  constexpr double kFirstSinceEpoch = 1'577'836'800e6;  // 2020: a small number is none
  for (const auto each : kUnits) {
    if (unit != 0 && each != unit) continue;
    const auto us = static_cast<double>(epoch) * 1e6 + value * each;
    if (value <= 0 || !is_of_today(us) || (epoch != 0 && us < kFirstSinceEpoch)) continue;
    return microseconds{std::llround(us)};
  }
  return std::nullopt;
}

/// The text of a field, or of a string.
std::optional<std::string_view> text_at(const KeySample& content, std::string_view field) {
  if (field.empty()) {
    if (content.type != "string") return std::nullopt;
    return content.text;
  }
  const auto found = content.fields.find(field);
  if (found == content.fields.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  const auto number = to_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> count_in(std::string_view text) {
  const auto number = number_in(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) >= kMost) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<microseconds> time_in(std::string_view text, double unit, std::int64_t epoch) {
  const auto number = number_in(text);
  return number ? time_of(*number, unit, epoch) : std::nullopt;
}

namespace {

// ---- Reading a key by a row ----

class RowReading {
 public:
  RowReading(const Row& row, const Name& name, const Question& question, const Siblings& siblings)
      : row_(row),
        name_(name),
        question_(question),
        content_(*question.content),
        siblings_(siblings),
        now_(content_.read_at),
        until_(content_.until) {}

  /// Nothing if the content is not what the row says.
  std::optional<Fitting> read();

 private:
  const KeySample* sibling(const OtherName& name) const;
  std::optional<std::string_view> told(const Place& place) const;
  std::optional<microseconds> time_at(const Place& place) const;
  std::optional<std::int64_t> number_at(const Place& place) const;
  std::optional<microseconds> span_at(const Place& place) const;
  double units_in(double number) const;
  bool has_proof() const;
  bool is_hash_of_row() const;
  bool tells_limit();
  std::string missing(const Place& place) const;
  void set_unknown(std::string why) { state_.unknown = std::move(why); }
  bool read_value();
  bool read_count(std::int64_t value);
  void read_end();
  void read_previous();
  bool read_tat(double value);
  bool read_bucket(double value);
  bool read_entries();
  double off(microseconds begin, microseconds window) const;
  bool agrees_with_ttl(microseconds begin, microseconds window) const;
  bool is_asked(microseconds begin) const;
  bool lacks_ttl() const { return row_.has_ttl && !until_; }
  bool read_window();
  bool read_index(std::int64_t index);
  std::string why_unknown() const;
  void set_form(std::size_t unit, bool newest_first) {
    state_.form = &row_.forms[unit * 2 + (newest_first ? 1 : 0)];
  }
  void read_ban();

  const Row& row_;
  const Name& name_;
  const Question& question_;
  const KeySample& content_;
  const Siblings& siblings_;
  microseconds now_;
  std::optional<microseconds> until_;
  Decoded state_;
  std::optional<microseconds> begin_ = {};  ///< when the window of a count began
  double off_ = 0;
};

/// Null if it could not be read.
const KeySample* RowReading::sibling(const OtherName& name) const {
  const auto found = siblings_.find(name.of(name_));
  return found == siblings_.end() ? nullptr : &found->second;
}

std::optional<std::string_view> RowReading::told(const Place& place) const {
  const auto* where = place.key.empty() ? &content_ : sibling(place.key);
  return where == nullptr ? std::nullopt : text_at(*where, place.field);
}

std::optional<microseconds> RowReading::time_at(const Place& place) const {
  if (place.is_ttl) {
    const auto* where = sibling(place.key);
    return where == nullptr ? std::nullopt : where->until;
  }
  const auto text = told(place);
  return text ? time_in(*text, place.unit) : std::nullopt;
}

std::optional<std::int64_t> RowReading::number_at(const Place& place) const {
  const auto text = told(place);
  return text ? count_in(*text) : std::nullopt;
}

/// A length of time; nothing if it is not a plausible one.
std::optional<microseconds> span_of(std::optional<std::int64_t> number, double unit) {
  if (!number || *number < 1 || static_cast<double>(*number) * unit > kMost) return std::nullopt;
  return microseconds{std::llround(static_cast<double>(*number) * unit)};
}

std::optional<microseconds> RowReading::span_at(const Place& place) const {
  return span_of(number_at(place), place.unit == 0 ? 1e6 : place.unit);
}

/// The units for which a stored number stands; they need not be whole.
double RowReading::units_in(double number) const {
  return (number - static_cast<double>(row_.zero)) / static_cast<double>(row_.scale);
}

/// Whether the other keys that the row reads hold what it says.
bool RowReading::has_proof() const {
  for (const auto* place : {&row_.at, &row_.start, &row_.ends}) {
    if (*place && !time_at(**place)) return false;
  }
  return (!row_.limit_at || number_at(*row_.limit_at)) &&
         (!row_.window_at || span_at(*row_.window_at));
}

/// Whether the hash has exactly the row's fields.
bool RowReading::is_hash_of_row() const {
  std::vector<std::string_view> fields{row_.field};
  for (const auto* place : {&row_.at, &row_.start, &row_.ends, &row_.limit_at, &row_.window_at}) {
    if (!*place || !(*place)->key.empty()) continue;
    if (std::ranges::find(fields, (*place)->field) == fields.end()) {
      fields.push_back((*place)->field);
    }
  }
  return content_.size == std::ssize(fields) && std::ranges::all_of(fields, [&](auto field) {
           return content_.fields.find(field) != content_.fields.end();
         });
}

/// Sets the limit and the window that the row and the key's name tell. Returns false if the name
/// has a word that is no period.
bool RowReading::tells_limit() {
  state_.units = row_.units;
  if (row_.limit_at) state_.units = number_at(*row_.limit_at);
  if (const auto limit = name_.number(Part::kLimit)) state_.units = limit;
  state_.window = row_.window;
  if (row_.window_at) state_.window = span_at(*row_.window_at);
  if (const auto window = name_.number(Part::kWindow)) {
    state_.window = span_of(window, name_.piece(Part::kWindow)->unit);
  }
  if (const auto period = name_.part(Part::kPeriod)) {
    const auto known =
        std::ranges::find(row_.periods, *period, [](const auto& each) { return each.first; });
    if (known == row_.periods.end()) return false;
    const auto multiple = name_.number(Part::kMultiple).value_or(1);
    if (multiple >= 1 && multiple <= limiter::kLongestWindow / known->second) {
      state_.window = known->second * multiple;
    }
  }
  const auto is_limit = [](std::int64_t units) {
    return units >= 1 && units <= limiter::kLargestLimit;
  };
  if (state_.units && !is_limit(*state_.units)) state_.units.reset();
  if (state_.window && (state_.window->count() < 1 || *state_.window > limiter::kLongestWindow)) {
    state_.window.reset();
  }
  return true;
}

/// Why the place tells nothing.
std::string RowReading::missing(const Place& place) const {
  const auto name = "'" + escape(place.key.of(name_)) + "'";
  const auto* found = sibling(place.key);
  if (found == nullptr) return name + ", which holds a part, cannot be read";
  return name + (found->type == "none" ? ", which holds a part, is not there"
                                       : ", which should hold a part, holds something else");
}

std::optional<Fitting> RowReading::read() {
  set_form(2, false);
  state_.certain = true;
  if (!row_.mistake.empty()) {
    set_unknown(row_.mistake_text());
    return Fitting{std::move(state_)};
  }
  if (row_.needs_ttl && !until_) return std::nullopt;
  if (row_.needs_siblings && !has_proof()) return std::nullopt;
  if (row_.type == "hash" && !is_hash_of_row()) return std::nullopt;
  if (!tells_limit()) return std::nullopt;
  if (row_.value->value == Value::kNone) return Fitting{};
  if (!row_.unless.empty()) {
    const auto* instead = sibling(row_.unless);
    if (instead == nullptr || instead->type != "none") {
      state_.part_of = row_.unless.of(name_);
      return Fitting{std::move(state_)};
    }
  }
  if (!read_value()) return std::nullopt;
  for (const auto& [name, role] : row_.beside) {
    if (state_.partner.empty()) state_.partner = name.of(name_);
  }
  read_ban();
  if (state_.units && state_.window) {
    state_.limit = limiter::Limit{.limit = *state_.units, .window = *state_.window};
  }
  return Fitting{.state = std::move(state_), .off = off_};
}

bool RowReading::read_value() {
  if (content_.type == "zset" || content_.type == "list") return read_entries();
  const auto text = text_at(content_, row_.field);
  const auto number = text ? number_in(*text) : std::nullopt;
  if (!number) return false;
  switch (row_.value->value) {
    case Value::kTat:
      return read_tat(*number);
    case Value::kLevel:
    case Value::kTokens:
      return read_bucket(*number);
    default:
      break;
  }
  if (std::abs(*number) >= kMost) return false;
  // A row that is proven by the TTL alone reads whole numbers only.
  if (row_.needs_ttl && *number != std::floor(*number)) return false;
  const auto units = units_in(*number);
  const auto whole = row_.value->value == Value::kRemaining ? std::floor(units) : std::ceil(units);
  if (whole != units) state_.fraction = units;
  return read_count(static_cast<std::int64_t>(whole));
}

double RowReading::off(microseconds begin, microseconds window) const {
  if (!row_.has_ttl || !until_) return 0;
  const auto us = as_double(window), ttl = as_double(*until_ - begin);
  return std::max({0.0, row_.least_ttl.us(us) - ttl, ttl - row_.most_ttl.us(us)});
}

bool RowReading::agrees_with_ttl(microseconds begin, microseconds window) const {
  return off(begin, window) <= as_double(kTtlError);
}

/// Whether a window as long as that of the limit that applies began then, as far as the row tells.
/// If nothing but the name proves that it did, a time that lies ahead may be that of its end.
bool RowReading::is_asked(microseconds begin) const {
  const microseconds most_ahead = row_.needs_ttl ? microseconds{0} : kClockError;
  const auto window = question_.asked->window;
  return begin % window == microseconds{0} && begin <= now_ + most_ahead && !lacks_ttl() &&
         agrees_with_ttl(begin, window);
}

void RowReading::read_end() {
  if (!row_.ends) return;
  state_.end = time_at(*row_.ends);
  if (state_.end || row_.ends->key.empty() || row_.ends->is_ttl) return;
  set_unknown(missing(*row_.ends));
  state_.is_incomplete = true;
}

/// The count of the window before, of which a part of a unit counts as a whole one.
void RowReading::read_previous() {
  if (row_.previous.empty()) return;
  const auto* before = sibling(row_.previous);
  const auto count = before != nullptr ? number_in(before->text) : std::nullopt;
  if (before != nullptr && before->type == "none") {
    state_.before = 0;
  } else if (count && std::abs(*count) < kMost) {
    state_.before = static_cast<std::int64_t>(std::ceil(units_in(*count)));
  } else {
    set_unknown(missing({.key = row_.previous}));
  }
}

/// Sets when the window of this number since 1970 began, if it is known how long it is.
bool RowReading::read_index(std::int64_t index) {
  auto& window = state_.window;
  state_.next_is_elsewhere = true;
  const auto begin_of = [&](microseconds length) -> std::optional<microseconds> {
    const auto us = static_cast<double>(index) * as_double(length);
    return is_of_today(us) ? std::optional(length * index) : std::nullopt;
  };
  if (index == 0 || (window && !begin_of(*window))) return false;
  if (!window && question_.asked) {
    const auto begin = begin_of(question_.asked->window);
    if (begin && is_asked(*begin)) window = question_.asked->window;
  }
  if (window) begin_ = begin_of(*window);
  return true;
}

/// Sets when the window of a count began, and how long it is. The row, the name or the content
/// tells that; otherwise it is as long as that of the limit that applies, if the name and the TTL
/// agree, or its length is not known. Returns false if the key is not the row's.
bool RowReading::read_window() {
  auto& window = state_.window;
  const auto start = name_.part(Part::kStart);
  if (start) {
    begin_ = time_in(*start, name_.piece(Part::kStart)->unit);
    if (!begin_) return false;
  }
  if (row_.start) begin_ = time_at(*row_.start);
  if (begin_ && state_.end && !row_.ends->is_ttl) {
    window = std::chrono::round<std::chrono::seconds>(*state_.end - *begin_);
  }
  if (const auto index = name_.number(Part::kIndex)) {
    if (!read_index(*index)) return false;
  } else if (start && !window && question_.asked && is_asked(*begin_)) {
    window = question_.asked->window;
  }
  const bool is_exact = row_.has_ttl && row_.least_ttl == row_.most_ttl;
  if (!begin_ && window && is_exact && until_) {
    begin_ = *until_ - microseconds{std::llround(row_.least_ttl.us(as_double(*window)))};
  }
  if (window && begin_) {
    off_ = off(*begin_, *window);
  } else if (row_.has_ttl && !window) {
    off_ = Fitting::kNotKnown;
  }
  if (!row_.needs_ttl) return true;
  return window && begin_ && *begin_ <= now_ + kClockError && agrees_with_ttl(*begin_, *window);
}

/// Why it is not known when the window of a count began, or how long it is.
std::string RowReading::why_unknown() const {
  if (state_.window) return "when its window began is not known";
  if (!question_.asked) return "how long its window is is not known without a limit";
  if (lacks_ttl()) return "without a TTL, whether its window is the limit's is not known";
  return "its name tells when a window began, but of no window as long as the limit's";
}

bool RowReading::read_count(std::int64_t value) {
  read_end();
  if (!read_window()) return false;
  const bool tells_window =
      row_.start || name_.part(Part::kStart) || name_.part(Part::kIndex) || !row_.previous.empty();
  if (tells_window && begin_ && state_.window && !state_.end && row_.previous.empty()) {
    state_.end = *begin_ + *state_.window;
  } else if (!tells_window && !row_.ends && !row_.ends_unknown) {
    state_.end = until_;
    state_.never_ends = !until_;
  }
  if (row_.value->value == Value::kRemaining) {
    state_.left = value;
  } else {
    state_.counts = {{.at = begin_.value_or(microseconds{0}), .units = value}};
  }
  read_previous();
  const bool is_known = state_.end || state_.never_ends || (begin_ && state_.window);
  if (state_.unknown.empty() && tells_window && !is_known) set_unknown(why_unknown());
  return true;
}

bool RowReading::read_tat(double value) {
  const auto arrival = time_of(value, row_.unit, row_.epoch);
  if (!arrival) return false;
  const bool is_healthy = until_ && std::chrono::abs(*until_ - *arrival) <= kTtlError;
  if (row_.needs_ttl && !is_healthy) return false;
  state_.time = arrival;
  state_.model = std::make_shared<limiter::GcraModel>(
      limiter::ArrivalTime{.time = {.parts = limiter::to_parts(*arrival, 1), .per_us = 1}});
  return true;
}

bool RowReading::read_bucket(double value) {
  if (!(std::abs(value) <= kMost)) return false;
  value = units_in(value);
  const auto at = time_at(*row_.at);
  if (!at && row_.at->key.empty()) return false;
  state_.bucket = RefilledBucket{.tokens = value,
                                 .step = row_.refill,
                                 .whole = row_.refills_whole,
                                 .counts_used = row_.value->value == Value::kLevel,
                                 .is_queue = row_.is_queue};
  if (!at) {
    set_unknown(missing(*row_.at));
    state_.is_incomplete = true;
    return true;
  }
  state_.time = at;
  state_.bucket->at = *at;
  return true;
}

bool RowReading::read_entries() {
  const bool is_list = content_.type == "list";
  if (row_.value->value == Value::kRemaining) {
    constexpr std::size_t kLongest = 36;  // a UUID
    for (const auto* edge : {&content_.first, &content_.last}) {
      const bool is_token = !edge->member.empty() && edge->member.size() <= kLongest &&
                            !edge->member.starts_with('{');
      if (!is_token) return false;
    }
    return true;
  }
  const auto& first = is_list ? content_.first.member : content_.first.score;
  const auto& last = is_list ? content_.last.member : content_.last.score;
  constexpr std::array kUnits{1e6, 1e3, 1.0, 1e-3};
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    if (row_.unit != 0 && row_.unit != kUnits[i]) continue;
    const auto one = time_in(first, kUnits[i]), other = time_in(last, kUnits[i]);
    if (!one || !other) continue;
    set_form(i, is_list && *one > *other);
    const auto newest = std::max(*one, *other) + row_.held;
    const bool is_ahead = newest > now_ + kClockError;
    const bool is_json =
        content_.first.member.starts_with('{') || content_.last.member.starts_with('{');
    if (row_.value->value == Value::kTimes) return !(row_.needs_ttl && (is_ahead || is_json));
    if (!row_.needs_ttl) return true;
    return is_ahead && !is_json && *until_ >= newest - kTtlError;
  }
  return false;
}

void RowReading::read_ban() {
  if (row_.ban.empty()) return;
  const auto* ban = sibling(row_.ban);
  const auto name = row_.ban.of(name_);
  if (ban == nullptr) return set_unknown("'" + escape(name) + "', a ban, cannot be read");
  if (ban->type != "none") state_.ban = Ban{.key = name, .until = ban->until};
}

}  // namespace

std::optional<Fitting> read_by_row(const Row& row, const Name& name, const Question& question,
                                   const Siblings& siblings) {
  return RowReading(row, name, question, siblings).read();
}

}  // namespace rlctl::stored
