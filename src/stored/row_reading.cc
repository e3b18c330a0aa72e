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

constexpr auto kSteps = [] {
  using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
  using std::chrono::milliseconds;
  return std::array<microseconds, 29>{
      days{30},          days{7},           days{1},           hours{12},        hours{6},
      hours{2},          hours{1},          minutes{30},       minutes{15},      minutes{10},
      minutes{5},        minutes{2},        minutes{1},        seconds{30},      seconds{20},
      seconds{15},       seconds{10},       seconds{5},        seconds{2},       seconds{1},
      milliseconds{500}, milliseconds{200}, milliseconds{100}, milliseconds{50}, milliseconds{20},
      milliseconds{10},  milliseconds{5},   milliseconds{2},   milliseconds{1}};
}();

}  // namespace

std::optional<double> number_in(std::string_view text) {
  if (text.empty() || (text[0] != '-' && (text[0] < '0' || text[0] > '9'))) return std::nullopt;
  const auto number = to_number<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::optional<std::int64_t> count_in(std::string_view text) {
  constexpr double kMost = 1e15;
  const auto number = number_in(text);
  if (!number || *number != std::floor(*number) || std::abs(*number) >= kMost) return std::nullopt;
  return static_cast<std::int64_t>(*number);
}

std::optional<microseconds> time_in(std::string_view text, double unit, std::int64_t epoch) {
  const auto number = number_in(text);
  return number ? time_of(*number, unit, epoch) : std::nullopt;
}

microseconds roundness(const std::optional<microseconds>& window) {
  if (!window) return microseconds{0};
  for (const auto step : kSteps) {
    if (*window % step == microseconds{0}) return step;
  }
  return microseconds{0};
}

namespace {

/// The first instant of the month, or of the year, after that of `begin`, in UTC.
microseconds calendar_end(microseconds begin, bool is_year) {
  using namespace std::chrono;
  const year_month_day day{floor<days>(sys_time<microseconds>{begin})};
  const auto next =
      is_year ? (day.year() + years{1}) / January / 1 : day.year() / day.month() / 1 + months{1};
  return sys_days{next}.time_since_epoch();
}

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
  bool has_proof() const;
  bool is_hash_of_row() const;
  bool tells_limit();
  std::string missing(const Place& place) const;
  void set_unknown(std::string why) { state_.unknown = std::move(why); }
  bool read_value();
  bool read_count(std::int64_t value);
  bool read_tat(double value);
  bool read_bucket(double value);
  bool read_entries();
  bool fits(microseconds begin, microseconds window) const;
  double off(microseconds begin, microseconds window) const;
  std::optional<microseconds> window_of(std::int64_t index) const;
  void set_form(std::size_t unit, bool newest_first) {
    state_.form = &row_.forms[unit * 2 + (newest_first ? 1 : 0)];
  }
  void read_ban();
  /// How far in the future a window in the key's name may begin. If nothing but the name proves
  /// that it is one, the time may be that of its end.
  microseconds most_ahead() const { return row_.needs_ttl ? microseconds{0} : kClockError; }
  bool is_calendar_period() const { return period_ == "month" || period_ == "year"; }

  const Row& row_;
  const Name& name_;
  const Question& question_;
  const KeySample& content_;
  const Siblings& siblings_;
  microseconds now_;
  std::optional<microseconds> until_;
  Decoded state_;
  double off_ = 0;
  std::string_view period_ = {};  ///< the length of the period in the name
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

std::optional<microseconds> RowReading::span_at(const Place& place) const {
  const auto number = number_at(place);
  const auto unit = place.unit == 0 ? 1e6 : place.unit;
  if (!number || *number < 1 || static_cast<double>(*number) * unit > 1e15) return std::nullopt;
  return microseconds{std::llround(static_cast<double>(*number) * unit)};
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
  if (row_.windows.size() == 1) state_.window = row_.windows.front();
  if (row_.window_at) state_.window = span_at(*row_.window_at);
  if (const auto window = name_.number(Part::kWindow)) {
    const auto us = static_cast<double>(*window) * name_.piece(Part::kWindow)->unit;
    state_.window = microseconds{std::llround(us)};
  }
  if (const auto period = name_.part(Part::kPeriod)) {
    const auto known =
        std::ranges::find(row_.periods, *period, [](const auto& each) { return each.first; });
    if (known == row_.periods.end()) return false;
    period_ = known->second;
    if (!is_calendar_period()) {
      const auto multiple = name_.number(Part::kMultiple).value_or(1);
      const auto length = parse_duration(period_);
      if (multiple >= 1 && multiple <= limiter::kLongestWindow / length) {
        state_.window = length * multiple;
      }
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
    set_unknown("the row that says how to read it has a mistake: " + row_.mistake);
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
  return Fitting{std::move(state_), off_};
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
  constexpr double kMost = 1e15;
  if (std::abs(*number) >= kMost) return false;
  const bool is_rest = row_.value->value == Value::kRemaining;
  const auto whole = is_rest ? std::floor(*number) : std::ceil(*number);
  if (whole != *number) {
    // What has no other proof than its number is something else.
    if (row_.needs_ttl) return false;
    state_.fraction = *number - static_cast<double>(row_.zero);
  }
  return read_count(static_cast<std::int64_t>(whole) - row_.zero);
}

double RowReading::off(microseconds begin, microseconds window) const {
  if (!row_.has_ttl || !until_) return 0;
  const auto us = static_cast<double>(window.count());
  const auto ttl = static_cast<double>((*until_ - begin).count());
  return std::max({0.0, row_.least_ttl.us(us) - ttl, ttl - row_.most_ttl.us(us)});
}

bool RowReading::fits(microseconds begin, microseconds window) const {
  return off(begin, window) <= static_cast<double>(kTtlError.count());
}

/// The window of which this is the number since 1970: the roundest one that the TTL allows. In a
/// name that proves nothing else, it must be a usual one.
std::optional<microseconds> RowReading::window_of(std::int64_t index) const {
  constexpr std::int64_t kLeast = 150'000, kMost = 1'262'304'000;  // three hours; a time in seconds
  const bool must_be_usual = row_.needs_ttl;
  if (must_be_usual && (index < kLeast || index >= kMost)) return std::nullopt;
  const auto is_possible = [&](microseconds window) {
    const auto begin = static_cast<double>(index) * static_cast<double>(window.count());
    return begin <= static_cast<double>((now_ + most_ahead()).count()) &&
           fits(microseconds{std::llround(begin)}, window);
  };
  const auto& asked = question_.asked;
  if (asked &&
      is_of_today(static_cast<double>(index) * static_cast<double>(asked->window.count())) &&
      is_possible(asked->window)) {
    return asked->window;
  }
  if (!until_) return std::nullopt;
  const auto end = static_cast<double>(until_->count()), number = static_cast<double>(index);
  const auto low =
      (end - static_cast<double>(row_.most_ttl.more.count())) / (number + row_.most_ttl.windows);
  const auto high =
      (end - static_cast<double>(row_.least_ttl.more.count())) / (number + row_.least_ttl.windows);
  constexpr double kError = 2000;  // TTLs are in ms
  for (const auto step : kSteps) {
    const auto us = static_cast<double>(step.count());
    const auto window = std::floor((high + kError / number + 1e-3) / us) * us;
    if (window <= 0 || window < low - kError) continue;
    const microseconds found{std::llround(window)};
    if (!is_possible(found)) continue;
    constexpr microseconds kHour = std::chrono::hours{1};
    const bool is_usual = kHour % found == microseconds{0} || found % kHour == microseconds{0};
    return must_be_usual && !is_usual ? std::nullopt : std::optional(found);
  }
  return std::nullopt;
}

bool RowReading::read_count(std::int64_t value) {
  auto& window = state_.window;
  const bool is_weak = row_.needs_ttl;
  std::optional<microseconds> begin;
  if (const auto start = name_.part(Part::kStart)) {
    begin = time_in(*start, name_.piece(Part::kStart)->unit);
    if (!begin) return false;
  }
  if (row_.start) begin = time_at(*row_.start);
  if (const auto minute = name_.number(Part::kMinute)) {
    constexpr microseconds kHour = std::chrono::hours{1};
    if (*minute > 59) return false;
    begin = now_ - now_ % kHour + std::chrono::minutes{*minute};
    if (*begin > now_) *begin -= kHour;
  }
  const auto index = name_.number(Part::kIndex);
  const bool tells_window = begin || index || !row_.previous.empty();
  const bool is_up_to_ttl = !tells_window && !row_.ends && !row_.ends_unknown;
  if (is_up_to_ttl) {
    state_.end = until_;
    state_.never_ends = !until_;
  }
  if (row_.ends) {
    state_.end = time_at(*row_.ends);
    if (!state_.end && !row_.ends->key.empty() && !row_.ends->is_ttl) {
      set_unknown(missing(*row_.ends));
      state_.is_incomplete = true;
    }
    if (begin && state_.end && row_.ends->is_ttl) {
      // The TTL began up to a second after a start in whole seconds, which the library compares.
      constexpr auto kLate = std::chrono::milliseconds{10};
      window = std::chrono::floor<std::chrono::seconds>(*state_.end + kLate - *begin);
      state_.end = *begin + *window;
    } else if (begin && state_.end) {
      window = std::chrono::round<std::chrono::seconds>(*state_.end - *begin);
    }
  }
  if (begin && is_calendar_period()) {
    state_.end = calendar_end(*begin, period_ == "year");
    window = *state_.end - *begin;
  }
  if (index) {
    if (*index == 0) return false;
    if (!window) window = window_of(*index);
    if (!window && is_weak) return false;
    state_.window_is_inferred = window.has_value();
    if (window) {
      const auto us = static_cast<double>(*index) * static_cast<double>(window->count());
      if (!is_of_today(us)) return false;
      begin = *window * *index;
    }
  }
  const auto& asked = question_.asked;
  if (begin && row_.windows.size() > 1) {
    std::vector<microseconds> fitting;
    for (const auto each : row_.windows) {
      if (*begin % each == microseconds{0} && fits(*begin, each)) fitting.push_back(each);
    }
    if (fitting.empty()) return false;
    const bool has_asked = asked && std::ranges::find(fitting, asked->window) != fitting.end();
    if (has_asked) window = asked->window;
    if (!has_asked && fitting.size() == 1) window = fitting.front();
  } else if (begin && !window && asked) {
    if (*begin % asked->window == microseconds{0} && fits(*begin, asked->window)) {
      window = asked->window;
    }
  }
  if (is_weak) {
    constexpr microseconds kLongest = std::chrono::days{62} + std::chrono::minutes{5};
    if (!begin && !row_.ends) return false;
    if (begin && *begin > now_ + (row_.start ? kClockError : most_ahead())) return false;
    if (begin && !window && *until_ - *begin > kLongest) return false;
    if (begin && *until_ < *begin) return false;
  }
  const bool is_exact = row_.has_ttl && row_.least_ttl == row_.most_ttl;
  if (!begin && window && is_exact && until_) {
    const auto ttl = row_.least_ttl.us(static_cast<double>(window->count()));
    begin = *until_ - microseconds{std::llround(ttl)};
  }
  if (row_.has_ttl && !window) off_ = 1e18;
  if (window && begin) {
    off_ = off(*begin, *window);
    if (is_weak && off_ > static_cast<double>(kTtlError.count())) return false;
    if (!state_.end && row_.previous.empty()) state_.end = *begin + *window;
  }
  if (row_.value->value == Value::kRemaining) {
    state_.left = value;
  } else {
    state_.counts = {{.at = begin.value_or(microseconds{0}), .units = value}};
  }
  if (!row_.previous.empty()) {
    const auto* before = sibling(row_.previous);
    state_.before = 0;
    if (before == nullptr) {
      set_unknown("'" + escape(row_.previous.of(name_)) +
                  "', the count of the window before, cannot be read");
    } else if (before->type != "none") {
      // A part of a unit counts as a whole one.
      const auto count = number_in(before->text);
      constexpr double kMost = 1e15;
      const bool is_count = count && std::abs(*count) < kMost;
      state_.before = is_count ? static_cast<std::int64_t>(std::ceil(*count)) : 0;
    }
  }
  const bool knows_end = state_.end || state_.never_ends;
  if (state_.unknown.empty() && tells_window && !knows_end && (!begin || !window)) {
    set_unknown(window ? "when its window began is not known"
                : question_.asked
                    ? "its name tells when a window began, but of no window as long as "
                      "the limit's"
                    : "how long its window is is not known");
  }
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
  constexpr double kMost = 1e15;
  if (!(std::abs(value) <= kMost)) return false;
  value /= static_cast<double>(row_.scale);
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
