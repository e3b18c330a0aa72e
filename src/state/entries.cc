#include "state/entries.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/text.h"
#include "redis/error.h"

namespace rlctl::state {
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

microseconds entry_time(const StateForm& form, std::string_view text) {
  const bool is_exact = form.keeping == Keeping::kTimes && form.us_per_score == 1;
  return is_exact ? exact_time(text) : rounded_time(text, form.us_per_score);
}

std::string score_before(const StateForm& form, microseconds instant) {
  const auto us_per_score = form.us_per_score;
  const auto whole = std::to_string(instant.count() / us_per_score);
  if (us_per_score == 1) return "(" + whole;
  const auto digits = std::to_string(us_per_score + instant.count() % us_per_score).substr(1);
  return "(" + whole + "." + digits;
}

Entries::Entries(redis::Connection& connection, const StateForm& form, std::string key,
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
  return form_.keeping == Keeping::kTimes;
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
  const bool leases = form_.keeping == Keeping::kLeases;
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

}  // namespace rlctl::state
