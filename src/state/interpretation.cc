#include "state/interpretation.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace rlctl::state {

void append_frame(redis::Connection& connection, const std::string& key) {
  connection.append({"PTTL", key});
  connection.append({"MEMORY", "USAGE", key});
}

Frame to_frame(microseconds server_now, const redis::Reply& ttl, const redis::Reply& bytes) {
  // Many users lack permission for MEMORY USAGE, and some servers do not have it.
  const bool has_bytes = bytes.type() == redis::ReplyType::kInteger;
  return {.server_now = server_now,
          .ttl_ms = ttl.integer(),
          .bytes = has_bytes ? std::optional(bytes.integer()) : std::nullopt};
}

void Interpreter::set_frame(const Frame& frame) {
  result_.server_now = frame.server_now;
  result_.now = request_.now.value_or(frame.server_now);
  if (frame.ttl_ms >= 0) {
    result_.ttl = to_ttl(frame.ttl_ms);
  }
  result_.bytes = frame.bytes;
}

void Interpreter::set_content(Content content) {
  result_.content = std::move(content);
  result_.state = decode(result_.key, result_.content);
}

void Interpreter::set_limit(const limiter::Limit& limit) {
  result_.limit = limit.limit;
  result_.window = limit.window;
  // The stored state determines the algorithm. A foreign one has a burst only if the limit does.
  const auto* algorithm =
      result_.is_limiter() ? result_.state.form->algorithm() : request_.algorithm;
  result_.burst = algorithm != nullptr ? limiter::effective_burst(*algorithm, limit) : limit.burst;
}

void Interpreter::fill_unused() {
  result_.used = 0;
  result_.next_free = result_.reset_after = microseconds{0};
  if (!limit_) return;
  set_limit(*limit_);
  result_.remaining = limit_->burst_or_limit();
  if (request_.algorithm == nullptr || request_.algorithm->make_model == nullptr) return;
  result_.remaining = request_.algorithm->make_model()->look(*limit_, 0, result_.now).remaining;
}

void Interpreter::fill_text() {
  result_.state.form->is_foreign() ? fill_foreign() : fill_ours();
}

void Interpreter::fill_ours() {
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

void Interpreter::fill_model(const limiter::Limit& limit) {
  set_limit(limit);
  const auto& model = *result_.state.model;
  const auto usage = model.usage(limit, result_.now);
  const auto look = model.look(limit, 1, result_.now);
  result_.used = usage.units;
  result_.used_exact = usage.exact;
  result_.remaining = look.remaining;
  result_.next_free = look.retry_after;
  result_.reset_after = look.reset_after;
}

void Interpreter::fill_bucket(const limiter::Limit& limit) {
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

std::optional<limiter::Limit> Interpreter::applicable_limit() const {
  if (!request_.limit && result_.state.limit) return result_.state.limit;
  return limit_;
}

/// For the state of another library, or of a shape that only looks like a limiter's.
void Interpreter::fill_foreign() {
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
void Interpreter::fill_counter() {
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
void Interpreter::set_room(std::int64_t used) {
  used = std::max<std::int64_t>(0, used);  // libraries refund more than was taken
  result_.used = used;
  if (!result_.limit) return;
  const auto limit = *result_.limit;
  result_.remaining = std::max<std::int64_t>(0, limit - used);
  if (used < limit) result_.next_free = microseconds{0};
}

std::optional<std::int64_t> Interpreter::freeing_entry() const {
  return result_.remaining == 0 ? result_.limit : std::nullopt;
}

void Interpreter::set_next_free(microseconds freeing_entry) {
  // A lease is stored with the time at which it ends.
  const bool is_leases = result_.state.form->keeping == Keeping::kLeases;
  const auto end = is_leases ? freeing_entry : freeing_entry + *result_.window;
  result_.next_free = end - result_.now;
}

bool Interpreter::set_window(const std::optional<EntryTimes>& entries) {
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

microseconds Interpreter::first_live(microseconds newest) const {
  if (result_.state.form->keeping == Keeping::kLeases) return result_.now + microseconds{1};
  return std::max(result_.now, newest) - *result_.window + microseconds{1};
}

void Interpreter::fill_log(const EntryCounts& entries) {
  const auto used = entries.size - entries.expired;
  result_.stored = entries.size;
  result_.expired = entries.expired;
  result_.reset_after = used > 0 ? entries.newest + *result_.window - result_.now : microseconds{0};
  set_room(used);
}

void Interpreter::fill_leases(const EntryCounts& entries) {
  result_.limit = result_.state.most_leases;
  if (request_.limit || (limit_ && !result_.limit)) result_.limit = limit_->limit;
  result_.stored = entries.size;
  result_.expired = entries.expired;
  result_.reset_after = std::max(microseconds{0}, entries.newest - result_.now);
  set_room(entries.size - entries.expired);
}

}  // namespace rlctl::state
