#include "stored/inspection.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/time.h"
#include "limiter/check.h"
#include "redis/error.h"
#include "redis/server.h"
#include "stored/survey.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>

namespace rlctl::stored {

std::optional<std::int64_t> Inspection::capacity() const {
  if (!exists()) return remaining;
  if (!burst || !is_limiter()) return limit;
  const auto* algorithm = state.form->algorithm();
  const bool is_queue =
      (algorithm != nullptr && algorithm->has_delay) || (state.bucket && state.bucket->is_queue);
  return *burst + (is_queue ? 1 : 0);
}

std::int64_t Inspection::count(limiter::ReservationState reservation) const {
  return std::ranges::count(reservations, reservation, &InspectedReservation::state);
}

bool Inspection::is_closed_by_reservations() const {
  return holds >= static_cast<std::int64_t>(limiter::kMostReservations);
}

std::optional<double> Inspection::ratio() const {
  if (state.ban) return std::max(1.0, used_share().value_or(1));
  return used_share();
}

std::string Inspection::used_text() const {
  const bool is_whole = !state.fraction || !used_exact;
  return is_whole ? std::to_string(*used) : fmt::format("{:.12g}", *used_exact);
}

std::optional<double> Inspection::used_share() const {
  if (!used) return std::nullopt;
  if (*used == 0) return 0;
  const auto most = capacity();
  if (!most || *most == 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*most);
}

namespace {

/// How often a key is read if other clients keep writing to it.
constexpr int kAttempts = 5;
/// The page size for reading all entries: takes about a millisecond of the server's time.
constexpr std::int64_t kLargePage = 10'000;

/// The key changed since reading began: it is gone, has another type, or has fewer entries.
struct KeyChanged {};

/// Reads a reply; WRONGTYPE means that the key changed its type since it was read.
redis::Reply read_or_changed(redis::Connection& connection) {
  auto reply = connection.read();
  if (!reply.is_error()) return reply;
  if (redis::error_code(reply.text()) == "WRONGTYPE") throw KeyChanged();
  throw redis::to_error(reply);
}

/// One entry as it is stored.
struct StoredEntry {
  microseconds at{0};
  std::string member = {};  ///< of a set of leases
};

/// Lists the newest instants that have entries, in pages, since writes of others shift indices.
class Listing {
 public:
  Listing(redis::Connection& connection, Inspection& result, const InspectionRequest& request,
          const OnProgress& on_progress)
      : connection_(connection),
        result_(result),
        form_(*result.state.form),
        request_(request),
        on_progress_(on_progress) {}

  /// Throws KeyChanged and redis::Error.
  void run();

 private:
  bool is_list() const { return form_.layout == Layout::kTimes; }
  bool has_leases() const { return form_.layout == Layout::kLeases; }
  void append_range(std::int64_t first, std::int64_t last);
  std::vector<StoredEntry> read_range();
  std::int64_t ask_for_page_before(std::int64_t end);
  bool take_page(const std::vector<StoredEntry>& page);
  bool take(const StoredEntry& entry);

  redis::Connection& connection_;
  Inspection& result_;
  const Form& form_;
  const InspectionRequest& request_;
  const OnProgress& on_progress_;
  microseconds last_{0};   ///< the time of the last entry that was taken
  std::size_t alike_ = 0;  ///< how many had that time
};

void Listing::append_range(std::int64_t first, std::int64_t last) {
  const auto& key = result_.key;
  if (is_list() && form_.newest_first) {
    connection_.append({"LRANGE", key, std::to_string(-(last + 1)), std::to_string(-(first + 1))});
  } else if (is_list()) {
    connection_.append({"LRANGE", key, std::to_string(first), std::to_string(last)});
  } else {
    connection_.append({"ZRANGE", key, std::to_string(first), std::to_string(last), "WITHSCORES"});
  }
}

std::vector<StoredEntry> Listing::read_range() {
  const auto reply = read_or_changed(connection_);
  std::vector<StoredEntry> entries;
  if (is_list()) {
    for (std::size_t i = 0; i < reply.size(); ++i) {
      entries.push_back({.at = entry_time(form_, reply[i].text())});
    }
    if (form_.newest_first) std::reverse(entries.begin(), entries.end());
    return entries;
  }
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    // The limit is stored as the first member of a set of leases.
    if (has_leases() && leases_limit(reply[i].text(), reply[i + 1].text())) continue;
    auto& entry = entries.emplace_back();
    entry.at = entry_time(form_, reply[i + 1].text());
    if (has_leases()) entry.member = reply[i].text();
  }
  return entries;
}

void Listing::run() {
  connection_.append({is_list() ? "LLEN" : "ZCARD", result_.key});
  append_range(-kPage, -1);
  const auto size = redis::number_in(read_or_changed(connection_));
  const auto newest = read_range();
  if (newest.empty()) throw KeyChanged();
  auto end = std::max<std::int64_t>(0, size - kPage);
  if (take_page(newest)) {
    // Requests the next page before taking this one.
    auto asked = ask_for_page_before(end);
    while (end > 0) {
      const auto ahead = ask_for_page_before(asked);
      connection_.flush();
      const bool more = take_page(read_range());
      if (on_progress_) on_progress_(size - asked, size);
      end = more ? asked : 0;
      asked = ahead;
    }
    while (connection_.outstanding() > 0) static_cast<void>(connection_.read());
  }
  std::reverse(result_.entries.begin(), result_.entries.end());
}

/// Returns the index at which the page begins; requests nothing before the first entry.
std::int64_t Listing::ask_for_page_before(std::int64_t end) {
  const auto first = std::max<std::int64_t>(0, end - kLargePage);
  if (first < end) append_range(first, end - 1);
  return first;
}

/// Takes the entries from the newest to the oldest. Returns false if no more are wanted or there.
bool Listing::take_page(const std::vector<StoredEntry>& page) {
  auto entry = page.rbegin();
  if (alike_ > 0 && entry != page.rend() && entry->at > last_) {
    // The oldest entries were pruned meanwhile, so the page begins with entries taken before.
    entry = std::find_if(entry, page.rend(), [&](const auto& each) { return each.at <= last_; });
    entry += std::min<std::ptrdiff_t>(page.rend() - entry, static_cast<std::ptrdiff_t>(alike_));
  }
  for (; entry != page.rend(); ++entry) {
    alike_ = entry->at == last_ ? alike_ + 1 : 1;
    last_ = entry->at;
    if (!take(*entry)) return false;
  }
  return !page.empty();
}

bool Listing::take(const StoredEntry& entry) {
  auto& listed = result_.entries;
  if (!has_leases() && !listed.empty() && listed.back().at == entry.at) {
    ++listed.back().count;
    return true;
  }
  if (request_.entries && static_cast<std::int64_t>(listed.size()) >= *request_.entries) {
    return false;
  }
  listed.push_back({.at = entry.at});
  // A member that is not a lease of the script is shown unchanged.
  const bool is_lease = has_leases() && entry.member.starts_with(limiter::kLeasePrefix);
  if (has_leases())
    listed.back().holder = entry.member.substr(is_lease ? limiter::kLeasePrefix.size() : 0);
  return true;
}

/// Ends the WATCH. Returns false if another client wrote to the key meanwhile.
bool unchanged(redis::Connection& connection) {
  connection.append({"MULTI"});
  connection.append({"EXEC"});
  const auto multi = connection.read();
  const auto exec = connection.read();
  if (multi.is_error()) throw redis::to_error(multi);
  if (exec.is_error()) throw redis::to_error(exec);
  if (exec.is_nil()) return false;
  redis::require_type(exec, redis::ReplyType::kArray);
  return true;
}

bool has_entries(const Form& form) {
  return form.layout != Layout::kText && form.layout != Layout::kElements &&
         form.layout != Layout::kBudget;
}

template <typename T>
void keep_last(std::vector<T>& all, std::int64_t most) {
  all.erase(all.begin(), all.end() - std::min<std::ptrdiff_t>(most, std::ssize(all)));
}

/// Reads the key once; returns nothing if the key changed its type or shrank meanwhile.
std::optional<Inspection> attempt(redis::Connection& connection, const InspectedKey& asked,
                                  const Libraries& libraries, const OnProgress& on_progress) {
  const auto watch = connection.call({"WATCH", asked.key});
  if (watch.is_error()) throw redis::to_error(watch);
  auto surveyed = std::move(survey(connection, {&asked, 1}, libraries).front());
  if (surveyed.error) std::rethrow_exception(surveyed.error);
  auto& result = surveyed.inspection;
  try {
    if (result.is_limiter() && result.state.part_of.empty() && has_entries(*result.state.form)) {
      Listing(connection, result, asked.request, on_progress).run();
    }
  } catch (const KeyChanged&) {
    while (connection.outstanding() > 0) static_cast<void>(connection.read());
    static_cast<void>(unchanged(connection));
    return std::nullopt;
  }
  result.changed_while_read = !unchanged(connection);
  if (asked.request.entries) keep_last(result.reservations, *asked.request.entries);
  return std::move(result);
}

}  // namespace

Inspection inspect(redis::Connection& connection, const std::string& key,
                   const InspectionRequest& request, const Libraries& libraries,
                   const OnProgress& on_progress) {
  InspectedKey asked{.key = key, .request = request};
  asked.request.reservations = true;
  std::optional<Inspection> result;
  for (int i = 0; i < kAttempts; ++i) {
    auto one = attempt(connection, asked, libraries, on_progress);
    if (!one) continue;
    result = std::move(one);
    // A full read of many pages is not repeated: a busy key would change again meanwhile.
    const bool takes_long = !request.entries && result->stored > kPage;
    if (!result->changed_while_read || takes_long) return *std::move(result);
  }
  if (result) return *std::move(result);
  throw redis::Error(redis::Failure::kNotNow,
                     "'" + escape(key) + "' changes faster than it can be read");
}

void InspectionBuilder::set_header(const KeyHeader& header) {
  result_.server_now = header.server_now;
  result_.now = request_.now.value_or(header.server_now);
  if (header.ttl_ms >= 0) {
    result_.ttl = to_ttl(header.ttl_ms);
  }
  result_.bytes = header.bytes;
}

void InspectionBuilder::set_content(KeySample&& content, Decoded&& state) {
  result_.content = std::move(content);
  result_.state = std::move(state);
}

void InspectionBuilder::set_limit(const limiter::Limit& limit) {
  result_.limit = limit.limit;
  result_.calendar = limit.calendar;
  result_.window =
      limit.calendar == nullptr ? limit.window : period_of(limit, result_.now).length();
  // The stored state determines the algorithm. A foreign one has a burst only if the limit does.
  const auto* algorithm =
      result_.is_limiter() ? result_.state.form->algorithm() : request_.algorithm;
  result_.burst = algorithm != nullptr ? limiter::effective_burst(*algorithm, limit) : limit.burst;
}

void InspectionBuilder::fill_unused() {
  if (limit_) set_limit(*limit_);
  // A policy tells that the key is not another program's.
  if (request_.algorithm != nullptr) result_.state.unknown.clear();
  if (result_.state.ban || !result_.state.unknown.empty()) return;
  result_.used = 0;
  result_.next_free = result_.reset_after = microseconds{0};
  if (!limit_) return;
  result_.remaining = limit_->burst_or_limit();
  if (request_.algorithm == nullptr || request_.algorithm->make_model == nullptr) return;
  result_.remaining = request_.algorithm->make_model()->peek(*limit_, 0, result_.now).remaining;
}

void InspectionBuilder::fill_text() {
  result_.state.form->is_foreign() ? fill_foreign() : fill_ours();
}

void InspectionBuilder::apply_ban() {
  const auto& ban = result_.state.ban;
  if (!ban) return;
  result_.remaining = 0;
  result_.next_free =
      ban->until ? std::max(microseconds{0}, *ban->until - result_.now) : limiter::kNever;
}

/// Whether the stored limit is this one, of the calendar, in one of its periods: only the period is
/// stored.
static bool is_in_period_of(const limiter::Limit& limit, const Decoded& state) {
  if (limit.calendar == nullptr || state.counts.size() != 1) return false;
  const auto start = state.counts.front().at;
  const auto period = period_of(limit, start);
  return period.start == start && period.length() == state.limit->window &&
         limit.limit == state.limit->limit;
}

/// Says which limit is stored, and which one the request has, if they are not the same.
void InspectionBuilder::compare_limits() {
  const auto& state = result_.state;
  if (!limit_ || is_in_period_of(*limit_, state)) return;
  const auto& algorithm = *state.form->algorithm();
  const auto stored_burst = limiter::effective_burst(algorithm, *state.limit);
  auto burst = limiter::effective_burst(algorithm, *limit_);
  const bool is_same = limit_->limit == state.limit->limit && limit_->calendar == nullptr &&
                       limit_->window == state.limit->window;
  // Without a burst, a limit that was given has the stored one.
  if (is_same && request_.limit && !limit_->burst) burst = stored_burst;
  if (is_same && burst == stored_burst) return;
  const auto text = [&](const limiter::Limit& limit, std::optional<std::int64_t> its_burst) {
    const bool tells_burst = its_burst && (is_same || its_burst != limit.limit);
    return limiter::format_limit(limit) +
           (tells_burst ? fmt::format(" burst {}", *its_burst) : std::string());
  };
  result_.limits_differ = fmt::format("stored {}, {} {}", text(*state.limit, stored_burst),
                                      request_.limit_name, text(*limit_, burst));
}

void InspectionBuilder::fill_ours() {
  const auto& state = result_.state;
  const bool is_usual = limit_ && is_in_period_of(*limit_, state);
  auto limit = request_.limit.value_or(is_usual ? *limit_ : *state.limit);
  const bool is_stored = limit.limit == state.limit->limit && limit.window == state.limit->window;
  if (is_stored && !limit.burst) limit.burst = state.limit->burst;
  if (!state.form->algorithm()->has_burst) limit.burst.reset();
  if (limit.calendar != nullptr && !state.form->algorithm()->has_periods) {
    throw UsageError(
        fmt::format("the key holds {}, which has no windows of the calendar, such as {}",
                    describe_form(*state.form), limit.calendar->text()),
        fmt::format("pass a limit of a fixed length, such as {}",
                    limiter::format_limit({.limit = limit.limit, .window = limit.window})));
  }
  limiter::require_usable(*state.form->algorithm(), limit, 0);
  fill_model(limit);
  compare_limits();
  for (const auto& count : state.counts) {
    if (count.units > 0) result_.entries.push_back({.at = count.at, .count = count.units});
  }
  if (state.budget) fill_budget();
}

void InspectionBuilder::fill_budget() {
  const auto& state = result_.state;
  // A clock that steps back revives nothing.
  const auto at = std::max(result_.now, *state.time);
  const auto& count = state.counts.front();
  result_.spent = at < count.at + state.limit->window ? count.units : 0;
  result_.held = *result_.used - *result_.spent;
  result_.stored = state.budget->remembered;
  if (!state.budget->whole) return;
  auto& listed = result_.reservations;
  for (const auto& [id, stored] : state.budget->whole->reservations) {
    const auto its = stored.state_at(at);
    if (its == limiter::ReservationState::kUnknown) continue;
    listed.push_back({.id = id, .stored = stored, .state = its});
  }
  std::ranges::stable_sort(listed, {}, [](const auto& each) { return each.stored.held_until; });
  result_.stored = std::ssize(listed);
  result_.holds = result_.count(limiter::ReservationState::kHeld);
}

bool InspectionBuilder::needs_reservations() const {
  const auto& state = result_.state;
  if (!state.budget || state.budget->whole) return false;
  if (request_.reservations) return true;
  if (state.budget->held == 0) return false;
  if (state.budget->remembered >= static_cast<std::int64_t>(limiter::kManyReservations))
    return true;
  // Without room, it depends on each hold when there is some.
  return state.budget->next_lapse <= std::max(result_.now, *state.time) || result_.remaining == 0;
}

void InspectionBuilder::fill_model(const limiter::Limit& limit) {
  set_limit(limit);
  const auto& model = *result_.state.model;
  const auto usage = model.usage(limit, result_.now);
  const auto look = model.peek(limit, 1, result_.now);
  result_.used = usage.units;
  result_.used_exact = usage.exact;
  result_.remaining = look.remaining;
  result_.next_free = look.retry_after;
  result_.reset_after = look.reset_after;
}

void InspectionBuilder::fill_bucket(const limiter::Limit& limit) {
  set_limit(limit);
  const auto& bucket = *result_.state.bucket;
  const auto size = bucket.size(limit);
  const auto left = bucket.left_at(limit, result_.now);
  const auto wait = [&](double tokens) {
    return std::max(microseconds{0}, bucket.first_with(limit, tokens) - result_.now);
  };
  result_.used_exact = size - left;
  result_.used = static_cast<std::int64_t>(std::ceil(size - left));
  result_.remaining = std::max<std::int64_t>(0, static_cast<std::int64_t>(std::floor(left)));
  result_.next_free = left >= 1 ? microseconds{0} : wait(1);
  result_.reset_after = left >= size ? microseconds{0} : wait(size);
}

std::optional<limiter::Limit> InspectionBuilder::applicable_limit() const {
  if (!request_.limit && result_.state.limit) return result_.state.limit;
  return limit_;
}

/// Sets the limit that applies, and the window that a row tells.
void InspectionBuilder::set_told_limit() {
  const auto& state = result_.state;
  if (const auto limit = applicable_limit()) set_limit(*limit);
  if (!request_.limit && state.units) result_.limit = state.units;
  if (state.window) result_.window = state.window;
  const bool is_count = !state.counts.empty() || state.left;
  if (!limit_ || !state.window || !is_count || state.limit == limit_) return;
  // Months and years are not always of the same length.
  const auto ratio = as_double(limit_->window) / as_double(*state.window);
  if (ratio > 0.9 && ratio < 1.1) return;
  if (request_.limit) {
    result_.state.unknown = fmt::format("it counts in a window of {}, which is not the limit's",
                                        format_duration(*state.window));
  } else if (!state.limit) {
    result_.limit = state.units;
    result_.burst.reset();
  }
}

/// Why a key that does not tell its limit, or not all of it, cannot have this one; empty if it may.
std::string InspectionBuilder::contradiction(const limiter::Limit& limit) const {
  const auto& state = result_.state;
  const auto most = as_double(limit.window) * 1.1 + as_double(microseconds{kClockError});
  const auto units = state.counts.empty() ? 0 : state.counts.front().units;
  const bool is_blocked = state.form->blocks && units > limit.burst_or_limit();
  const bool is_late = state.end && as_double(*state.end - result_.server_now) > most;
  if (is_late && !state.window && !is_blocked) {
    return "its window ends later than one of the limit's length";
  }
  constexpr std::int64_t kTooOften = 100;
  if (units / kTooOften > limit.burst_or_limit() && may_be_time(as_double(units))) {
    return "its number is more likely a time than a count";
  }
  const auto left = state.bucket && !state.bucket->counts_used ? state.bucket->tokens
                                                               : as_double(state.left.value_or(0));
  if (left > as_double(limit.burst_or_limit())) return "more is left than the limit allows";
  return {};
}

/// By the row of a library; what only has the shape of a limiter's state has no figures.
void InspectionBuilder::fill_foreign() {
  const auto& state = result_.state;
  if (state.form->library.empty() || !state.part_of.empty()) return;
  set_told_limit();
  const auto limit = applicable_limit();
  if (limit && state.unknown.empty()) result_.state.unknown = contradiction(*limit);
  if (!state.unknown.empty()) return;
  if (state.before) {
    fill_two_windows();
  } else if (!state.counts.empty() || state.left) {
    fill_count();
  } else if (result_.limit && result_.window) {
    limiter::Limit whole{
        .limit = *result_.limit, .window = *result_.window, .burst = result_.burst};
    whole.burst = whole.burst_or_limit();
    if (state.bucket) fill_bucket(whole);
    try {
      if (state.model) {
        limiter::require_usable(*limiter::find_algorithm(state.form->name), whole, 0);
        fill_model(whole);
      }
    } catch (const UsageError&) {
      return;  // another algorithm's limit, such as a policy's
    }
  }
}

/// A count of one window, or what is left in it.
void InspectionBuilder::fill_count() {
  const auto& state = result_.state;
  if (!state.counts.empty()) {
    const auto& count = state.counts.front();
    if (count.at.count() > 0) result_.entries.push_back({.at = count.at, .count = count.units});
  }
  std::optional<microseconds> left;
  if (state.end) left = std::max(microseconds{0}, *state.end - result_.now);
  if (state.form->ends_by_ttl) left = result_.ttl;
  const bool is_over = left && left->count() == 0;
  result_.reset_after = left;
  if (is_over) {
    set_room(0);
  } else if (state.left && result_.limit) {
    set_room(*result_.limit - std::max<std::int64_t>(0, *state.left));
  } else if (state.left) {
    result_.remaining = std::max<std::int64_t>(0, *state.left);
    if (*result_.remaining > 0) result_.next_free = microseconds{0};
  } else {
    set_room(state.counts.front().units);
  }
  if (state.fraction && !is_over && result_.used) {
    result_.used_exact = state.left ? as_double(*result_.limit) - *state.fraction : *state.fraction;
  }
  if (result_.remaining != 0) return;
  if (left) result_.next_free = left;
  if (state.never_ends) result_.next_free = limiter::kNever;
}

/// Of the window before, the part counts that a window of the same length still covers.
void InspectionBuilder::fill_two_windows() {
  const auto& state = result_.state;
  const auto& count = state.counts.front();
  const auto begin = count.at;
  if (begin.count() == 0 || !state.window) return;
  result_.entries.push_back({.at = begin, .count = count.units});
  const auto elapsed = as_double(result_.now - begin) / as_double(*state.window);
  const auto part_of = [](std::int64_t units, double share) {
    return static_cast<std::int64_t>(std::floor(static_cast<double>(units) * share));
  };
  if (elapsed < 1) {
    set_room(count.units + part_of(*state.before, 1 - std::max(0.0, elapsed)));
  } else if (state.next_is_elsewhere) {
    result_.state.unknown =
        "it is of a window that is over; the count of this one is in another key";
    return;
  } else {
    set_room(elapsed < 2 ? part_of(count.units, 2 - elapsed) : 0);
  }
  result_.reset_after = std::max(microseconds{0}, begin + 2 * *state.window - result_.now);
}

void InspectionBuilder::fill_elements(std::int64_t size) {
  result_.stored = size;
  result_.state.left = size;
  fill_foreign();
}

/// Sets `used`, and if a limit is known, remaining and the next_free of a key that has room. A
/// count below 0, after a library gave back more than was taken, leaves more than the limit.
void InspectionBuilder::set_room(std::int64_t used) {
  result_.used = std::max<std::int64_t>(0, used);
  if (!result_.limit) return;
  const auto limit = *result_.limit;
  result_.remaining = std::max<std::int64_t>(0, limit - used);
  if (used < limit) result_.next_free = microseconds{0};
}

std::optional<std::int64_t> InspectionBuilder::freeing_entry() const {
  return result_.remaining == 0 ? result_.limit : std::nullopt;
}

void InspectionBuilder::set_next_free(microseconds freeing_entry) {
  // A lease is stored with the time at which it ends.
  const bool is_leases = result_.state.form->layout == Layout::kLeases;
  const auto end = is_leases ? freeing_entry : freeing_entry + *result_.window;
  result_.next_free = end - result_.now;
}

bool InspectionBuilder::set_window() {
  const auto& state = result_.state;
  const auto limit = applicable_limit();
  if (limit) set_limit(*limit);
  if (!request_.limit && state.units) result_.limit = state.units;
  if (!request_.limit && state.window) result_.window = state.window;
  if (!result_.window) result_.window = request_.window_in_name;
  result_.window_is_inferred = result_.window && !limit && !state.window;
  return result_.window.has_value();
}

microseconds InspectionBuilder::first_live(microseconds newest) const {
  const auto& form = *result_.state.form;
  if (form.layout == Layout::kLeases) return result_.now + microseconds{1};
  // Other libraries remove what is older than a window by their clock, and count the rest.
  const auto now = form.is_foreign() ? result_.now : std::max(result_.now, newest);
  return now - *result_.window + microseconds{1};
}

void InspectionBuilder::fill_log(const EntryCounts& entries) {
  const auto used = entries.size - entries.expired;
  result_.stored = entries.size;
  result_.expired = entries.expired;
  result_.reset_after = used > 0 ? entries.newest + *result_.window - result_.now : microseconds{0};
  set_room(used);
}

void InspectionBuilder::fill_weighted(std::span<const Count> live, std::int64_t size) {
  std::int64_t used = 0;
  for (const auto& [at, units] : live) used += units;
  result_.stored = size;
  result_.expired = size - std::ssize(live);
  result_.reset_after =
      live.empty() ? microseconds{0} : live.back().at + *result_.window - result_.now;
  set_room(used);
  if (result_.remaining != 0) return;
  auto too_many = used - *result_.limit + 1;
  for (const auto& [at, units] : live) {
    too_many -= units;
    result_.next_free = at + *result_.window - result_.now;
    if (too_many <= 0) return;
  }
}

void InspectionBuilder::fill_leases(const EntryCounts& entries) {
  result_.limit = result_.state.most_leases ? result_.state.most_leases : result_.state.units;
  if (request_.limit || (limit_ && !result_.limit)) result_.limit = limit_->limit;
  result_.stored = entries.size;
  result_.expired = entries.expired;
  result_.reset_after = std::max(microseconds{0}, entries.newest - result_.now);
  set_room(entries.size - entries.expired);
}

namespace {

constexpr auto kMaxTime = limiter::kLatestComputed.count();

[[noreturn]] void not_a_time(std::string_view text) {
  throw redis::Error(redis::Failure::kRejected,
                     "an entry is not a time: '" + escape(text, 40) + "'", "WRONGTYPE");
}

/// Whole µs.
microseconds exact_time(std::string_view text) {
  const auto time = to_number<std::int64_t>(text);
  if (!time || *time < 0 || *time > kMaxTime) not_a_time(text);
  return microseconds{*time};
}

microseconds rounded_time(std::string_view text, std::int64_t ns_per_score) {
  const auto number = to_number<double>(text);
  const auto time = number.value_or(-1) * (static_cast<double>(ns_per_score) / 1000);
  if (!(time >= 0 && time <= kMaxTime)) not_a_time(text);
  return microseconds{std::llround(time)};
}

}  // namespace

microseconds entry_time(const Form& form, std::string_view text) {
  const bool is_exact = form.layout == Layout::kTimes && form.ns_per_score == 1000;
  return is_exact ? exact_time(text) : rounded_time(text, form.ns_per_score) + form.held;
}

std::string score_before(const Form& form, microseconds instant) {
  const auto unit = form.ns_per_score;
  const auto ns = 1000 * std::max(microseconds{0}, instant - form.held).count();
  const auto whole = std::to_string(ns / unit);
  if (unit <= 1000) return "(" + whole;
  const auto us = (unit + ns % unit) / 1000;
  return "(" + whole + "." + std::to_string(us).substr(1);
}

}  // namespace rlctl::stored
