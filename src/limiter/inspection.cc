#include "limiter/inspection.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "limiter/contents.h"
#include "limiter/inferred_window.h"

namespace rlctl::limiter {
namespace {

/// So often is a key read again that somebody writes to.
constexpr int kAttempts = 5;
constexpr std::string_view kLeasePrefix = "lease:";
/// Longer TTLs, of 285 years, are told as that.
constexpr std::int64_t kMaxTtlMs = 9'000'000'000'000;

/// Reads one key, once.
class Reading {
 public:
  Reading(redis::Connection& connection, const InspectionRequest& request, Inspection& result,
          const Entries::OnProgress& on_progress)
      : connection_(connection),
        request_(request),
        limit_(request.limit ? request.limit : request.usual_limit),
        result_(result),
        on_progress_(on_progress) {}

  /// Throws KeyChanged where what was read does not fit together.
  void read();

 private:
  void read_frame();
  void tell_nothing();
  void tell_text();
  void tell_counter();
  void tell_log(Entries& entries);
  void tell_leases(Entries& entries);
  void set_limit(const Limit& limit);
  void set_room(std::int64_t used, const std::function<microseconds(std::int64_t)>& frees);
  void list(Entries& entries);
  void draw_bars(Entries& entries, microseconds time);

  redis::Connection& connection_;
  const InspectionRequest& request_;
  const std::optional<Limit>& limit_;  ///< of a key that says none itself
  Inspection& result_;
  const Entries::OnProgress& on_progress_;
};

void Reading::read() {
  read_frame();
  if (!result_.exists()) return tell_nothing();
  if (!result_.is_limiter()) return;
  const auto& form = *result_.state.form;
  if (form.keeping == Keeping::kText) return form.is_foreign() ? tell_counter() : tell_text();
  Entries entries(connection_, form, result_.key, on_progress_);
  entries.begin();
  result_.stored = entries.size();
  if (form.keeping == Keeping::kLeases) {
    tell_leases(entries);
  } else {
    tell_log(entries);
  }
  list(entries);
}

/// What every key has.
void Reading::read_frame() {
  connection_.append({"TIME"});
  connection_.append({"PTTL", result_.key});
  connection_.append({"MEMORY", "USAGE", result_.key});
  const auto time = connection_.read();
  const auto ttl = connection_.read();
  const auto bytes = connection_.read();
  if (time.is_error()) throw redis::to_error(time);
  if (ttl.is_error()) throw redis::to_error(ttl);
  result_.server_now = std::chrono::seconds{parse_whole(time[0].text(), "TIME")} +
                       microseconds{parse_whole(time[1].text(), "TIME")};
  result_.now = request_.now.value_or(result_.server_now);
  if (ttl.integer() >= 0) {
    result_.ttl = std::chrono::milliseconds{std::min(ttl.integer(), kMaxTtlMs)};
  }
  // Many users may not ask for it, and some servers have no such command.
  if (bytes.type() == redis::ReplyType::kInteger) result_.bytes = bytes.integer();
  result_.content = read_contents(connection_, {&result_.key, 1}).front();
  result_.state = decode(result_.content);
}

void Reading::set_limit(const Limit& limit) {
  result_.limit = limit.limit;
  result_.window = limit.window;
  // A key says whose it is.
  const auto* algorithm =
      result_.is_limiter() ? result_.state.form->algorithm() : request_.algorithm;
  if (algorithm != nullptr) result_.burst = effective_burst(*algorithm, limit);
}

void Reading::tell_nothing() {
  result_.used = 0;
  result_.next_free = result_.reset_after = microseconds{0};
  if (!limit_) return;
  set_limit(*limit_);
  result_.remaining = limit_->limit;
  if (request_.algorithm == nullptr || request_.algorithm->make_model == nullptr) return;
  result_.remaining = request_.algorithm->make_model()->look(*limit_, 0, result_.now).remaining;
}

void Reading::tell_text() {
  const auto& state = result_.state;
  auto limit = request_.limit.value_or(*state.limit);
  if (!state.form->algorithm()->has_burst) limit.burst.reset();
  require_usable(*state.form->algorithm(), limit, 0);
  set_limit(limit);
  const auto usage = state.model->usage(limit, result_.now);
  const auto look = state.model->look(limit, 1, result_.now);
  result_.used = usage.units;
  result_.used_exact = usage.exact;
  result_.remaining = look.remaining;
  result_.next_free = look.retry_after;
  result_.reset_after = look.reset_after;
  for (const auto& count : state.counts) {
    if (count.units > 0) result_.entries.push_back({.at = count.at, .count = count.units});
  }
}

/// Of a window of which only the TTL says when it ends.
void Reading::tell_counter() {
  if (limit_) set_limit(*limit_);
  result_.used = result_.state.counts.front().units;
  result_.reset_after = result_.ttl;
  set_room(*result_.used, [&](std::int64_t) { return result_.ttl.value_or(kNever); });
}

/// remaining and next_free, where a limit is known. `frees` tells when the oldest of so many that
/// are one too many, counted from the newest, will count no more.
void Reading::set_room(std::int64_t used, const std::function<microseconds(std::int64_t)>& frees) {
  result_.used = used;
  if (!result_.limit) return;
  const auto limit = *result_.limit;
  result_.remaining = std::max<std::int64_t>(0, limit - used);
  result_.next_free = used < limit ? microseconds{0} : frees(limit);
}

void Reading::tell_log(Entries& entries) {
  const auto& form = *result_.state.form;
  if (limit_) {
    set_limit(*limit_);
  } else {
    result_.window = request_.window_in_name;
    if (!result_.window && result_.ttl) {
      result_.window = infer_window(form, {entries.oldest(), entries.newest()}, result_.server_now,
                                    *result_.ttl);
    }
    result_.window_is_inferred = result_.window.has_value();
  }
  if (!result_.window) return;
  const auto window = *result_.window;
  const auto time = std::max(result_.now, entries.newest());
  const microseconds first_live{time - window + microseconds{1}};
  result_.expired = entries.count_before({&first_live, 1}).front();
  const auto used = entries.size() - result_.expired;
  result_.reset_after = used > 0 ? entries.newest() + window - result_.now : microseconds{0};
  set_room(used, [&](std::int64_t limit) {
    return entries.at(entries.size() - limit) + window - result_.now;
  });
  draw_bars(entries, time);
}

void Reading::tell_leases(Entries& entries) {
  if (limit_) result_.limit = limit_->limit;
  const microseconds after_now{result_.now + microseconds{1}};
  result_.expired = entries.count_before({&after_now, 1}).front();
  result_.reset_after = std::max(microseconds{0}, entries.newest() - result_.now);
  set_room(entries.size() - result_.expired,
           [&](std::int64_t limit) { return entries.at(entries.size() - limit) - result_.now; });
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

/// The newest instants at which there are entries.
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
    // A member among leases that is none of the script's is shown as it is.
    const bool is_lease = leases && entry.member.starts_with(kLeasePrefix);
    if (leases) listed.back().holder = entry.member.substr(is_lease ? kLeasePrefix.size() : 0);
    return true;
  });
  std::reverse(listed.begin(), listed.end());
}

/// Ends what WATCH began. False where somebody wrote to the key meanwhile.
bool unchanged(redis::Connection& connection) {
  connection.append({"MULTI"});
  connection.append({"EXEC"});
  const auto multi = connection.read();
  const auto exec = connection.read();
  if (multi.is_error()) throw redis::to_error(multi);
  if (exec.is_error()) throw redis::to_error(exec);
  return !exec.is_nil();
}

/// One attempt; none where the key was not one thing from beginning to end.
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
    // All of many pages are not read again: meanwhile a busy key would change as often.
    const bool takes_long = !request.entries && result->stored > Entries::kPage;
    if (!result->changed_while_read || takes_long) return *std::move(result);
  }
  if (result) return *std::move(result);
  throw redis::Error(redis::Failure::kNotNow,
                     "'" + escape(key) + "' changes faster than it can be read");
}

}  // namespace rlctl::limiter
