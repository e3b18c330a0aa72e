#include "stored/inspection.h"

#include "base/error.h"
#include "base/text.h"
#include "redis/error.h"
#include "redis/server.h"

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
  const bool is_queue = algorithm != nullptr && algorithm->has_delay;
  return *burst + (is_queue ? 1 : 0);
}

std::optional<double> Inspection::ratio() const {
  if (!used) return std::nullopt;
  if (*used == 0) return 0;
  const auto most = capacity();
  if (!most || *most == 0) return std::nullopt;
  return static_cast<double>(*used) / static_cast<double>(*most);
}

namespace {

/// How often a key is read if other clients keep writing to it.
constexpr int kAttempts = 5;

/// Reads one key, once.
class Reading {
 public:
  Reading(redis::Connection& connection, const InspectionRequest& request, Inspection& result,
          const Entries::OnProgress& on_progress)
      : connection_(connection),
        request_(request),
        result_(result),
        interpreter_(request, result),
        on_progress_(on_progress) {}

  /// Throws KeyChanged if the parts that were read are inconsistent.
  void read();

 private:
  void read_header();
  EntryCounts count(Entries& entries);
  void fill_log(Entries& entries);
  void list(Entries& entries);
  void draw_bars(Entries& entries, microseconds time);

  redis::Connection& connection_;
  const InspectionRequest& request_;
  Inspection& result_;
  InspectionBuilder interpreter_;
  const Entries::OnProgress& on_progress_;
};

void Reading::read() {
  read_header();
  if (!result_.exists()) return interpreter_.fill_unused();
  if (!result_.is_limiter()) return;
  const auto& form = *result_.state.form;
  if (form.layout == Layout::kText) return interpreter_.fill_text();
  Entries entries(connection_, form, result_.key, on_progress_);
  entries.begin();
  result_.stored = entries.size();
  if (form.layout == Layout::kLeases) {
    interpreter_.fill_leases(count(entries));
  } else {
    fill_log(entries);
  }
  if (const auto n = interpreter_.freeing_entry()) {
    interpreter_.set_next_free(entries.at(entries.size() - *n));
  }
  list(entries);
}

/// Reads what every key has.
void Reading::read_header() {
  connection_.append({"TIME"});
  append_header(connection_, result_.key);
  const auto time = connection_.read();
  const auto ttl = connection_.read();
  const auto bytes = connection_.read();
  if (time.is_error()) throw redis::to_error(time);
  if (ttl.is_error()) throw redis::to_error(ttl);
  interpreter_.set_header(to_header(redis::server_time(time), ttl, bytes));
  interpreter_.set_content(read_contents(connection_, {&result_.key, 1}).front());
}

EntryCounts Reading::count(Entries& entries) {
  const auto first_live = interpreter_.first_live(entries.newest());
  return {.size = entries.size(),
          .expired = entries.count_before({&first_live, 1}).front(),
          .newest = entries.newest()};
}

void Reading::fill_log(Entries& entries) {
  result_.newest = entries.newest();
  if (!interpreter_.set_window(EntryTimes{entries.oldest(), entries.newest()})) return;
  interpreter_.fill_log(count(entries));
  draw_bars(entries, std::max(result_.now, entries.newest()));
}

void Reading::draw_bars(Entries& entries, microseconds time) {
  if (request_.bars <= 0) return;
  const auto window = *result_.window;
  const auto begin = time - window;
  std::vector<microseconds> edges;
  for (int i = 0; i <= request_.bars; ++i) {
    const auto part = static_cast<double>(window.count()) * i / request_.bars;
    edges.push_back(begin + microseconds{std::llround(part) + 1});
  }
  const auto before = entries.count_before(edges);
  for (std::size_t i = 1; i < before.size(); ++i) {
    result_.bars.push_back(before[i] - before[i - 1]);
  }
}

/// Lists the newest instants that have entries.
void Reading::list(Entries& entries) {
  auto& listed = result_.entries;
  const bool leases = result_.state.form->layout == Layout::kLeases;
  entries.visit_backwards([&](const StoredEntry& entry) {
    if (!leases && !listed.empty() && listed.back().at == entry.at) {
      ++listed.back().count;
      return true;
    }
    if (request_.entries && static_cast<std::int64_t>(listed.size()) >= *request_.entries) {
      return false;
    }
    listed.push_back({.at = entry.at});
    // A member that is not a lease of the script is shown unchanged.
    const bool is_lease = leases && entry.member.starts_with(kLeasePrefix);
    if (leases) listed.back().holder = entry.member.substr(is_lease ? kLeasePrefix.size() : 0);
    return true;
  });
  std::reverse(listed.begin(), listed.end());
}

/// Ends the WATCH. Returns false if another client wrote to the key meanwhile.
bool unchanged(redis::Connection& connection) {
  connection.append({"MULTI"});
  connection.append({"EXEC"});
  const auto multi = connection.read();
  const auto exec = connection.read();
  if (multi.is_error()) throw redis::to_error(multi);
  if (exec.is_error()) throw redis::to_error(exec);
  return !exec.is_nil();
}

/// Reads the key once; returns nothing if the key changed its type or shrank meanwhile.
std::optional<Inspection> attempt(redis::Connection& connection, const std::string& key,
                                  const InspectionRequest& request,
                                  const Entries::OnProgress& on_progress) {
  const auto watch = connection.call({"WATCH", key});
  if (watch.is_error()) throw redis::to_error(watch);
  Inspection result;
  result.key = key;
  try {
    Reading(connection, request, result, on_progress).read();
  } catch (const KeyChanged&) {
    while (connection.outstanding() > 0) static_cast<void>(connection.read());
    static_cast<void>(unchanged(connection));
    return std::nullopt;
  }
  result.changed_while_read = !unchanged(connection);
  return result;
}

}  // namespace

Inspection inspect(redis::Connection& connection, const std::string& key,
                   const InspectionRequest& request, const Entries::OnProgress& on_progress) {
  std::optional<Inspection> result;
  for (int i = 0; i < kAttempts; ++i) {
    auto one = attempt(connection, key, request, on_progress);
    if (!one) continue;
    result = std::move(one);
    // A full read of many pages is not repeated: a busy key would change again meanwhile.
    const bool takes_long = !request.entries && result->stored > Entries::kPage;
    if (!result->changed_while_read || takes_long) return *std::move(result);
  }
  if (result) return *std::move(result);
  throw redis::Error(redis::Failure::kNotNow,
                     "'" + escape(key) + "' changes faster than it can be read");
}

void append_header(redis::Connection& connection, const std::string& key) {
  connection.append({"PTTL", key});
  connection.append({"MEMORY", "USAGE", key});
}

KeyHeader to_header(microseconds server_now, const redis::Reply& ttl, const redis::Reply& bytes) {
  // Many users lack permission for MEMORY USAGE, and some servers do not have it.
  const bool has_bytes = bytes.type() == redis::ReplyType::kInteger;
  return {.server_now = server_now,
          .ttl_ms = ttl.integer(),
          .bytes = has_bytes ? std::optional(bytes.integer()) : std::nullopt};
}

void InspectionBuilder::set_header(const KeyHeader& header) {
  result_.server_now = header.server_now;
  result_.now = request_.now.value_or(header.server_now);
  if (header.ttl_ms >= 0) {
    result_.ttl = to_ttl(header.ttl_ms);
  }
  result_.bytes = header.bytes;
}

void InspectionBuilder::set_content(KeySample content) {
  result_.content = std::move(content);
  result_.state = decode(result_.key, result_.content);
}

void InspectionBuilder::set_limit(const limiter::Limit& limit) {
  result_.limit = limit.limit;
  result_.window = limit.window;
  // The stored state determines the algorithm. A foreign one has a burst only if the limit does.
  const auto* algorithm =
      result_.is_limiter() ? result_.state.form->algorithm() : request_.algorithm;
  result_.burst = algorithm != nullptr ? limiter::effective_burst(*algorithm, limit) : limit.burst;
}

void InspectionBuilder::fill_unused() {
  result_.used = 0;
  result_.next_free = result_.reset_after = microseconds{0};
  if (!limit_) return;
  set_limit(*limit_);
  result_.remaining = limit_->burst_or_limit();
  if (request_.algorithm == nullptr || request_.algorithm->make_model == nullptr) return;
  result_.remaining = request_.algorithm->make_model()->peek(*limit_, 0, result_.now).remaining;
}

void InspectionBuilder::fill_text() {
  result_.state.form->is_foreign() ? fill_foreign() : fill_ours();
}

void InspectionBuilder::fill_ours() {
  const auto& state = result_.state;
  auto limit = request_.limit.value_or(*state.limit);
  const bool is_stored = limit.limit == state.limit->limit && limit.window == state.limit->window;
  if (is_stored && !limit.burst) limit.burst = state.limit->burst;
  if (!state.form->algorithm()->has_burst) limit.burst.reset();
  limiter::require_usable(*state.form->algorithm(), limit, 0);
  fill_model(limit);
  for (const auto& count : state.counts) {
    if (count.units > 0) result_.entries.push_back({.at = count.at, .count = count.units});
  }
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
  const auto size = static_cast<double>(limit.burst_or_limit());
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

/// For the state of another library, or of a shape that only looks like a limiter's.
void InspectionBuilder::fill_foreign() {
  const auto& state = result_.state;
  auto limit = applicable_limit();
  if (!state.counts.empty()) return fill_counter();
  if (state.end) result_.reset_after = std::max(microseconds{0}, *state.end - result_.now);
  if (!limit) return;
  if (!state.model && !state.bucket) return set_limit(*limit);
  limit->burst = limit->burst_or_limit();
  if (state.bucket) return fill_bucket(*limit);
  try {
    limiter::require_usable(*limiter::find_algorithm(state.form->name), *limit, 0);
  } catch (const UsageError&) {
    return;  // another algorithm's limit, such as a policy's
  }
  fill_model(*limit);
}

/// The TTL determines the end of a window whose beginning is not known.
void InspectionBuilder::fill_counter() {
  const auto& state = result_.state;
  const auto count = state.counts.front();
  if (const auto limit = applicable_limit()) set_limit(*limit);
  if (state.window && !result_.window) {
    result_.window = state.window;
    result_.window_is_inferred = true;
  }
  if (count.at.count() > 0) result_.entries.push_back({.at = count.at, .count = count.units});
  // What counts also depends on the other window, which is in another key.
  if (state.form->name == "sliding-window-counter") return;
  auto left = result_.ttl;
  if (count.at.count() > 0 && state.window) {
    left = std::max(microseconds{0}, count.at + *state.window - result_.now);
  }
  const bool has_ended = left && left->count() == 0;
  result_.reset_after = left;
  set_room(has_ended ? 0 : count.units);
  if (result_.remaining == 0) result_.next_free = left.value_or(limiter::kNever);
}

/// Sets `used`, and if a limit is known, remaining and the next_free of a key that has room.
void InspectionBuilder::set_room(std::int64_t used) {
  used = std::max<std::int64_t>(0, used);  // libraries refund more than was taken
  result_.used = used;
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

bool InspectionBuilder::set_window(const std::optional<EntryTimes>& entries) {
  const auto limit = applicable_limit();
  if (limit) set_limit(*limit);
  if (!limit) result_.window = request_.window_in_name;
  if (limit && entries && result_.ttl) {
    result_.longer_window = longer_window(*result_.state.form, *entries, result_.server_now,
                                          *result_.ttl, limit->window);
  }
  if (!result_.window && entries && result_.ttl) {
    result_.window = infer_window(*result_.state.form, *entries, result_.server_now, *result_.ttl);
  }
  result_.window_is_inferred = result_.window && !limit;
  return result_.window.has_value();
}

microseconds InspectionBuilder::first_live(microseconds newest) const {
  if (result_.state.form->layout == Layout::kLeases) return result_.now + microseconds{1};
  return std::max(result_.now, newest) - *result_.window + microseconds{1};
}

void InspectionBuilder::fill_log(const EntryCounts& entries) {
  const auto used = entries.size - entries.expired;
  result_.stored = entries.size;
  result_.expired = entries.expired;
  result_.reset_after = used > 0 ? entries.newest + *result_.window - result_.now : microseconds{0};
  set_room(used);
}

void InspectionBuilder::fill_leases(const EntryCounts& entries) {
  result_.limit = result_.state.most_leases;
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

microseconds rounded_time(std::string_view text, std::int64_t us_per_score) {
  const auto number = to_number<double>(text);
  const auto time = number.value_or(-1) * static_cast<double>(us_per_score);
  if (!(time >= 0 && time <= kMaxTime)) not_a_time(text);
  return microseconds{std::llround(time)};
}

/// The page size for reading all entries: takes about a millisecond of the server's time.
constexpr std::int64_t kLargePage = 10'000;

/// Reads a reply; WRONGTYPE means that the key changed its type since it was read.
redis::Reply read_or_changed(redis::Connection& connection) {
  auto reply = connection.read();
  if (!reply.is_error()) return reply;
  if (redis::error_code(reply.text()) == "WRONGTYPE") throw KeyChanged();
  throw redis::to_error(reply);
}

}  // namespace

microseconds entry_time(const Form& form, std::string_view text) {
  const bool is_exact = form.layout == Layout::kTimes && form.us_per_score == 1;
  return is_exact ? exact_time(text) : rounded_time(text, form.us_per_score);
}

std::string score_before(const Form& form, microseconds instant) {
  const auto us_per_score = form.us_per_score;
  const auto whole = std::to_string(instant.count() / us_per_score);
  if (us_per_score == 1) return "(" + whole;
  const auto digits = std::to_string(us_per_score + instant.count() % us_per_score).substr(1);
  return "(" + whole + "." + digits;
}

Entries::Entries(redis::Connection& connection, const Form& form, std::string key,
                 OnProgress on_progress)
    : connection_(connection),
      form_(form),
      key_(std::move(key)),
      on_progress_(std::move(on_progress)) {
  connection_.append({is_list() ? "LLEN" : "ZCARD", key_});
  append_range(0, 1);  // the oldest is the second if a limit is stored
  append_range(-kPage, -1);
}

bool Entries::is_list() const {
  return form_.layout == Layout::kTimes;
}

void Entries::begin() {
  size_ = read_or_changed(connection_).integer();
  const auto first = read_range();
  newest_ = read_range();
  size_ -= others_;
  if (size_ == 0 || first.empty() || newest_.empty()) throw KeyChanged();
  oldest_ = first.front().at;
}

void Entries::append_range(std::int64_t first, std::int64_t last) {
  const auto from = std::to_string(first < 0 ? first : first + others_);
  const auto to = std::to_string(last < 0 ? last : last + others_);
  if (is_list() && form_.newest_first) {
    connection_.append({"LRANGE", key_, std::to_string(-(last + 1)), std::to_string(-(first + 1))});
  } else if (is_list()) {
    connection_.append({"LRANGE", key_, from, to});
  } else {
    connection_.append({"ZRANGE", key_, from, to, "WITHSCORES"});
  }
}

std::vector<StoredEntry> Entries::read_range() {
  const auto reply = read_or_changed(connection_);
  std::vector<StoredEntry> entries;
  if (is_list()) {
    entries.resize(reply.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      entries[i].at = entry_time(form_, reply[i].text());
    }
    if (form_.newest_first) std::reverse(entries.begin(), entries.end());
    return entries;
  }
  const bool leases = form_.layout == Layout::kLeases;
  for (std::size_t i = 0; i + 1 < reply.size(); i += 2) {
    if (leases && leases_limit(reply[i].text(), reply[i + 1].text())) {
      others_ = 1;
      continue;
    }
    auto& entry = entries.emplace_back();
    entry.at = entry_time(form_, reply[i + 1].text());
    if (leases) entry.member = reply[i].text();
  }
  return entries;
}

std::vector<std::int64_t> Entries::count_before(std::span<const microseconds> instants) {
  std::vector<Bounds> bounds;
  bounds.reserve(instants.size());
  const auto unread = size_ - static_cast<std::int64_t>(newest_.size());
  for (const auto instant : instants) {
    if (unread > 0 && instant <= newest_.front().at) {
      bounds.push_back({instant, 0, instant <= oldest_ ? 0 : unread});
      continue;
    }
    const auto found = std::lower_bound(
        newest_.begin(), newest_.end(), instant,
        [](const StoredEntry& entry, microseconds time) { return entry.at < time; });
    const auto index = unread + (found - newest_.begin());
    bounds.push_back({instant, index, index});
  }
  if (is_list()) {
    bisect(bounds);
  } else {
    count_by_score(bounds);
  }
  std::vector<std::int64_t> counts;
  counts.reserve(bounds.size());
  for (const auto& bound : bounds) counts.push_back(bound.low);
  return counts;
}

/// Advances all searches together, one LINDEX for each per round trip.
void Entries::bisect(std::span<Bounds> bounds) {
  const auto open = [](const Bounds& bound) { return bound.low < bound.high; };
  while (std::any_of(bounds.begin(), bounds.end(), open)) {
    for (const auto& bound : bounds) {
      if (!open(bound)) continue;
      const auto index = form_.newest_first ? -(bound.middle() + 1) : bound.middle();
      connection_.append({"LINDEX", key_, std::to_string(index)});
    }
    for (auto& bound : bounds) {
      if (!open(bound)) continue;
      const auto reply = read_or_changed(connection_);
      if (reply.is_nil()) throw KeyChanged();
      if (entry_time(form_, reply.text()) < bound.instant) {
        bound.low = bound.middle() + 1;
      } else {
        bound.high = bound.middle();
      }
    }
  }
}

void Entries::count_by_score(std::span<Bounds> bounds) {
  const auto open = [](const Bounds& bound) { return bound.low < bound.high; };
  for (const auto& bound : bounds) {
    if (!open(bound)) continue;
    connection_.append({"ZCOUNT", key_, "0", score_before(form_, bound.instant)});
  }
  for (auto& bound : bounds) {
    if (open(bound)) bound.low = bound.high = read_or_changed(connection_).integer();
  }
}

microseconds Entries::at(std::int64_t index) {
  const auto unread = size_ - static_cast<std::int64_t>(newest_.size());
  if (index >= unread) return newest_[static_cast<std::size_t>(index - unread)].at;
  append_range(index, index);
  const auto entries = read_range();
  if (entries.empty()) throw KeyChanged();
  return entries.front().at;
}

void Entries::visit_backwards(const std::function<bool(const StoredEntry&)>& visit) {
  microseconds last{0};   // time of the last visited entry
  std::size_t alike = 0;  // visited entries with that time
  const auto visit_page = [&](const std::vector<StoredEntry>& page) {
    auto entry = page.rbegin();
    if (alike > 0 && entry != page.rend() && entry->at > last) {
      // The oldest entries were pruned meanwhile, so the page begins with entries visited before.
      entry = std::find_if(entry, page.rend(), [&](const auto& e) { return e.at <= last; });
      entry += std::min<std::ptrdiff_t>(page.rend() - entry, static_cast<std::ptrdiff_t>(alike));
    }
    for (; entry != page.rend(); ++entry) {
      alike = entry->at == last ? alike + 1 : 1;
      last = entry->at;
      if (!visit(*entry)) return false;
    }
    return !page.empty();
  };
  auto end = size_ - static_cast<std::int64_t>(newest_.size());
  if (!visit_page(newest_)) return;
  // Requests the next page before visiting this one.
  auto asked = ask_for_page_before(end);
  while (end > 0) {
    const auto ahead = ask_for_page_before(asked);
    connection_.flush();
    const bool more = visit_page(read_range());
    if (on_progress_) on_progress_(size_ - asked, size_);
    end = more ? asked : 0;
    asked = ahead;
  }
  while (connection_.outstanding() > 0) static_cast<void>(connection_.read());
}

/// Returns the index at which the page begins; requests nothing before the first entry.
std::int64_t Entries::ask_for_page_before(std::int64_t end) {
  const auto first = std::max<std::int64_t>(0, end - kLargePage);
  if (first < end) append_range(first, end - 1);
  return first;
}

}  // namespace rlctl::stored
