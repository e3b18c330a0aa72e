#include "limiter/inspection.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/text.h"
#include "limiter/interpretation.h"
#include "limiter/round_window.h"

namespace rlctl::limiter {

// ---- Entries ----

namespace {

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
      entries[i].at = list_time(reply[i].text(), form_.us_per_score);
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
    entry.at = entry_time(reply[i + 1].text(), form_.us_per_score);
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
      if (list_time(reply.text(), form_.us_per_score) < bound.instant) {
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
    connection_.append({"ZCOUNT", key_, "0", score_before(bound.instant, form_.us_per_score)});
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

// ---- The window of a log ----

namespace {

/// The scripts add this to the TTL of a log written with a caller's clock.
constexpr std::chrono::hours kCallersClock{1};

/// The window if the newest entry set the TTL: the shortest possible one within a few ms, and very
/// likely a number of seconds that people choose.
std::optional<microseconds> set_by_newest(const WindowRange& range) {
  using std::chrono::seconds;
  const microseconds whole = std::chrono::round<seconds>(range.least);
  if (whole.count() <= 0 || std::chrono::abs(range.least - whole) > kTtlError) return std::nullopt;
  const bool is_chosen = whole < seconds{10} || whole % seconds{10} == microseconds{0};
  return is_chosen ? std::optional(whole) : std::nullopt;
}

}  // namespace

std::optional<microseconds> infer_window(const StateForm& form, const EntryTimes& entries,
                                         microseconds server_now, microseconds ttl) {
  if (form.ttl_percent_over == 0 && form.ttl_over.count() == 0) return std::nullopt;
  const auto lasts = server_now + ttl - entries.newest;
  if (lasts.count() <= 0) return std::nullopt;
  const auto span = entries.newest - entries.oldest;
  const bool is_ours = !form.is_foreign();
  const WindowRange servers{
      std::max((lasts - form.ttl_over) / (100 + form.ttl_percent_over) * 100, span),
      std::max(lasts, span)};
  const auto exact = is_ours ? set_by_newest(servers) : std::nullopt;
  if (!is_ours || lasts - kCallersClock <= span) return exact.value_or(roundest_window(servers));
  const WindowRange callers{
      std::max((lasts - kCallersClock) / (100 + form.ttl_percent_over) * 100, span),
      lasts - kCallersClock};
  if (exact) {
    // A window of an hour and a minute is unlikely.
    const bool is_round = *exact % std::chrono::minutes{30} == microseconds{0};
    return is_round ? exact : set_by_newest(callers);
  }
  const auto window = roundest_window(servers);
  return window == roundest_window(callers) ? std::optional(window) : std::nullopt;
}

// ---- A key ----

namespace {

/// How often a key is read if other clients keep writing to it.
constexpr int kAttempts = 5;
constexpr std::string_view kLeasePrefix = "lease:";

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
  void read_frame();
  void fill_log(Entries& entries);
  void fill_leases(Entries& entries);
  void list(Entries& entries);
  void draw_bars(Entries& entries, microseconds time);

  redis::Connection& connection_;
  const InspectionRequest& request_;
  Inspection& result_;
  Interpreter interpreter_;
  const Entries::OnProgress& on_progress_;
};

void Reading::read() {
  read_frame();
  if (!result_.exists()) return interpreter_.fill_unused();
  if (!result_.is_limiter()) return;
  const auto& form = *result_.state.form;
  if (form.keeping == Keeping::kText) {
    return form.is_foreign() ? interpreter_.fill_foreign() : interpreter_.fill_text();
  }
  Entries entries(connection_, form, result_.key, on_progress_);
  entries.begin();
  result_.stored = entries.size();
  if (form.keeping == Keeping::kLeases) {
    fill_leases(entries);
  } else {
    fill_log(entries);
  }
  list(entries);
}

/// Reads what every key has.
void Reading::read_frame() {
  connection_.append({"TIME"});
  connection_.append({"PTTL", result_.key});
  connection_.append({"MEMORY", "USAGE", result_.key});
  const auto time = connection_.read();
  const auto ttl = connection_.read();
  const auto bytes = connection_.read();
  if (time.is_error()) throw redis::to_error(time);
  if (ttl.is_error()) throw redis::to_error(ttl);
  // Many users lack permission for MEMORY USAGE, and some servers do not have it.
  const bool has_bytes = bytes.type() == redis::ReplyType::kInteger;
  interpreter_.set_frame({.server_now = server_time(time, 0),
                          .ttl_ms = ttl.integer(),
                          .bytes = has_bytes ? std::optional(bytes.integer()) : std::nullopt});
  interpreter_.set_content(read_contents(connection_, {&result_.key, 1}).front());
}

void Reading::fill_log(Entries& entries) {
  result_.newest = entries.newest();
  const auto infer = [&]() -> std::optional<microseconds> {
    if (!result_.ttl) return std::nullopt;
    return infer_window(*result_.state.form, {entries.oldest(), entries.newest()},
                        result_.server_now, *result_.ttl);
  };
  if (!interpreter_.set_window(infer)) return;
  const auto first_live = interpreter_.first_live(entries.newest());
  interpreter_.fill_log({.size = entries.size(),
                         .expired = entries.count_before({&first_live, 1}).front(),
                         .newest = entries.newest()},
                        [&](std::int64_t n) { return entries.at(entries.size() - n); });
  draw_bars(entries, std::max(result_.now, entries.newest()));
}

void Reading::fill_leases(Entries& entries) {
  const microseconds after_now{result_.now + microseconds{1}};
  interpreter_.fill_leases({.size = entries.size(),
                            .expired = entries.count_before({&after_now, 1}).front(),
                            .newest = entries.newest()},
                           [&](std::int64_t n) { return entries.at(entries.size() - n); });
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
  const bool leases = result_.state.form->keeping == Keeping::kLeases;
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

}  // namespace rlctl::limiter
