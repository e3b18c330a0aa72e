#include "limiter/entries.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"

namespace rlctl::limiter {
namespace {

/// When all are asked for: the server needs about a millisecond for so many.
constexpr std::int64_t kLargePage = 10'000;

/// Its replies are known to be of the type that the key had.
redis::Reply read_or_changed(redis::Connection& connection) {
  auto reply = connection.read();
  if (!reply.is_error()) return reply;
  if (redis::error_code(reply.text()) == "WRONGTYPE") throw KeyChanged();
  throw redis::to_error(reply);
}

[[noreturn]] void not_a_time(std::string_view text) {
  throw redis::Error(redis::Failure::kRejected,
                     "an entry is not a time: '" + escape(text, 40) + "'", "WRONGTYPE");
}

/// Beyond any time of the contract, and of a lease's end: sums of such times are numbers still.
constexpr std::int64_t kMaxTime = 10'000'000'000'000'000;

microseconds parse_time(std::string_view text) {
  std::int64_t time = -1;
  const auto* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, time).ptr != end) not_a_time(text);
  if (time < 0 || time > kMaxTime) not_a_time(text);
  return microseconds{time};
}

microseconds parse_score(std::string_view text, std::int64_t us_per_score) {
  double score = 0;
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, score);
  score *= static_cast<double>(us_per_score);
  if (text.empty() || parsed.ptr != end || !(score >= 0 && score <= kMaxTime)) not_a_time(text);
  return microseconds{std::llround(score)};
}

/// The scores below that of an instant, as ZCOUNT's upper end.
std::string before(microseconds instant, std::int64_t us_per_score) {
  const auto whole = std::to_string(instant.count() / us_per_score);
  if (us_per_score == 1) return "(" + whole;
  const auto digits = std::to_string(us_per_score + instant.count() % us_per_score).substr(1);
  return "(" + whole + "." + digits;
}

}  // namespace

Entries::Entries(redis::Connection& connection, const StateForm& form, std::string key,
                 OnProgress on_progress)
    : connection_(connection),
      form_(form),
      key_(std::move(key)),
      on_progress_(std::move(on_progress)) {
  connection_.append({is_list() ? "LLEN" : "ZCARD", key_});
  append_range(0, 0);
  append_range(-kPage, -1);
}

bool Entries::is_list() const {
  return form_.keeping == Keeping::kTimes;
}

void Entries::begin() {
  size_ = read_or_changed(connection_).integer();
  const auto first = read_range();
  newest_ = read_range();
  if (size_ == 0 || first.empty() || newest_.empty()) throw KeyChanged();
  oldest_ = first.front().at;
}

void Entries::append_range(std::int64_t first, std::int64_t last) {
  const auto from = std::to_string(first);
  const auto to = std::to_string(last);
  if (is_list()) {
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
    for (std::size_t i = 0; i < entries.size(); ++i) entries[i].at = parse_time(reply[i].text());
    return entries;
  }
  entries.resize(reply.size() / 2);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].at = parse_score(reply[2 * i + 1].text(), form_.us_per_score);
    if (form_.keeping == Keeping::kLeases) entries[i].member = reply[2 * i].text();
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

/// All searches at once, a look of each in every round trip.
void Entries::bisect(std::span<Bounds> bounds) {
  const auto open = [](const Bounds& bound) { return bound.low < bound.high; };
  while (std::any_of(bounds.begin(), bounds.end(), open)) {
    for (const auto& bound : bounds) {
      if (open(bound)) connection_.append({"LINDEX", key_, std::to_string(bound.middle())});
    }
    for (auto& bound : bounds) {
      if (!open(bound)) continue;
      const auto reply = read_or_changed(connection_);
      if (reply.is_nil()) throw KeyChanged();
      if (parse_time(reply.text()) < bound.instant) {
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
    connection_.append({"ZCOUNT", key_, "-inf", before(bound.instant, form_.us_per_score)});
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
  microseconds last{0};   // visited
  std::size_t alike = 0;  // how many of its instant have been
  const auto visit_page = [&](const std::vector<StoredEntry>& page) {
    auto entry = page.rbegin();
    if (alike > 0 && entry != page.rend() && entry->at > last) {
      // The oldest were dropped meanwhile, and the page begins with what was visited already.
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
  // The next page is under way while this one is looked at.
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

/// Where it begins; nothing is asked for before the first entry.
std::int64_t Entries::ask_for_page_before(std::int64_t end) {
  const auto first = std::max<std::int64_t>(0, end - kLargePage);
  if (first < end) append_range(first, end - 1);
  return first;
}

}  // namespace rlctl::limiter
