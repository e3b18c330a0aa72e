#include "limiter/reset.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace rlctl::limiter {

/// A key, and what is known about it so far.
struct Resetter::Look {
  std::string_view key;
  const SeenKey* seen;
  std::string type = {};
  const StateForm* form = nullptr;
  std::optional<ResetResult> result = {};  ///< none: not decided yet
  std::optional<LeftReason> reason = {};

  [[nodiscard]] bool has_changed() const {
    return !seen->type.empty() && (type != seen->type || form != seen->form);
  }
  void settle(ResetResult settled) { result = settled; }
  void leave(LeftReason why) {
    result = ResetResult::kLeft;
    reason = why;
  }
};

namespace {

/// Up to Redis 7.0, WATCH compares each key with all watched keys, so the work is quadratic.
constexpr std::size_t kMostWatched = 200;
/// Without WATCH, only memory limits the number.
constexpr std::size_t kMostLookedAt = 1000;

std::optional<LeftReason> reason_to_leave(const State& state) {
  if (state.form == nullptr) return LeftReason::kNoLimiterState;
  if (state.form->is_foreign()) return LeftReason::kForeign;
  if (!state.certain) return LeftReason::kUncertain;
  return std::nullopt;
}

void require_no_error(redis::ReplyView reply) {
  if (reply.is_error()) throw redis::to_error(reply);
}

}  // namespace

void Resetter::reset(std::span<const std::string> keys) {
  std::vector<SeenKey> unseen;
  unseen.reserve(keys.size());
  for (const auto& key : keys) unseen.push_back({.key = key});
  reset(unseen);
}

void Resetter::reset(std::span<const SeenKey> keys) {
  const std::size_t most = options_.dry_run ? kMostLookedAt : kMostWatched;
  while (!keys.empty()) {
    const auto some = keys.first(std::min(most, keys.size()));
    Looks looks;
    looks.reserve(some.size());
    for (const auto& key : some) looks.push_back({.key = key.key, .seen = &key});
    try {
      settle(looks);
    } catch (...) {
      report(looks);
      throw;
    }
    report(looks);
    keys = keys.subspan(some.size());
  }
}

void Resetter::report(const Looks& looks) const {
  for (const auto& look : looks) {
    if (!look.result) continue;
    report_({.key = look.key,
             .result = *look.result,
             .type = look.type,
             .form = look.form,
             .reason = look.reason});
  }
}

void Resetter::settle(Looks& looks) {
  Indices all(looks.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Indices> open{std::move(all)};
  int tries = 0;  // for the one key that is tried alone
  while (!open.empty()) {
    const auto which = std::move(open.back());
    open.pop_back();
    auto again = attempt(looks, which);
    tries = which.size() == 1 && !again.empty() ? tries + 1 : 0;
    if (again.empty()) continue;
    if (tries >= options_.tries) {
      looks[again.front()].leave(LeftReason::kChanging);
      tries = 0;
      continue;
    }
    const auto half = again.begin() + static_cast<std::ptrdiff_t>(again.size() / 2);
    if (half != again.begin()) {
      open.emplace_back(half, again.end());
      again.erase(half, again.end());
    }
    open.push_back(std::move(again));
  }
}

/// Settles the key, unless it must be removed.
void Resetter::decide(Look& look, const Content& content) const {
  const State state = decode(content);
  look.type = content.type;
  look.form = state.form;
  const auto reason = options_.force ? std::nullopt : reason_to_leave(state);
  if (look.type == "none") {
    look.settle(ResetResult::kNone);
  } else if (look.has_changed()) {
    look.leave(LeftReason::kChanged);
  } else if (reason) {
    look.leave(*reason);
  } else if (options_.dry_run) {
    look.settle(ResetResult::kWouldRemove);
  }
}

/// Looks at some keys and removes those that are to be removed. Returns these keys, still
/// unsettled, if another client wrote one of them.
Resetter::Indices Resetter::attempt(Looks& looks, const Indices& which) {
  std::vector<std::string> keys;
  keys.reserve(which.size());
  for (const auto index : which) keys.emplace_back(looks[index].key);
  const auto contents = look_at(keys);
  Indices removable;
  for (std::size_t i = 0; i < which.size(); ++i) {
    Look& look = looks[which[i]];
    decide(look, contents[i]);
    if (!look.result) removable.push_back(which[i]);
  }
  if (options_.on_looked) options_.on_looked();
  if (removable.empty() || remove(looks, removable)) return {};
  return removable;
}

/// Reads the keys. Except in a dry run, watches them first, and no others.
std::vector<Content> Resetter::look_at(std::span<const std::string> keys) {
  if (options_.dry_run) return read_contents(connection_, keys);
  // If the user may not call MULTI, the server would execute the commands after it in the same
  // write at once, so check this first.
  const bool ask = !may_transact_;
  if (ask) {
    connection_.append({"MULTI"});
    connection_.append({"DISCARD"});
  } else {
    connection_.append({"UNWATCH"});
  }
  std::vector<std::string_view> watch{"WATCH"};
  watch.insert(watch.end(), keys.begin(), keys.end());
  connection_.append(watch);
  append_types(connection_, keys);
  for (int replies = ask ? 3 : 2; replies > 0; --replies) require_no_error(connection_.read());
  may_transact_ = true;
  return take_contents(connection_, keys);
}

/// Returns false if one of the keys was written since the look; then nothing was removed.
bool Resetter::remove(Looks& looks, const Indices& which) {
  in_doubt_.clear();
  for (const auto index : which) in_doubt_.emplace_back(looks[index].key);
  connection_.append({"MULTI"});
  for (const auto& key : in_doubt_) connection_.append({"UNLINK", key});
  connection_.append({"EXEC"});
  std::optional<redis::Error> refused;
  bool in_transaction = true;
  for (std::size_t i = 0; i <= which.size(); ++i) {
    const auto queued = connection_.read();
    if (i == 0) in_transaction = !queued.is_error();
    if (queued.is_error() && !refused) refused = redis::to_error(queued);
  }
  const auto done = connection_.read();
  if (!in_transaction) throw redis::Error(*refused);
  in_doubt_.clear();
  // If the server refused a command, EXEC only reports that.
  if (refused) throw redis::Error(*refused);
  require_no_error(done);
  if (done.is_nil()) return false;
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto removed = done[i];
    if (removed.is_error()) {
      if (!refused) refused = redis::to_error(removed);
    } else {
      // A key may expire between the look and the removal.
      looks[which[i]].settle(removed.integer() == 1 ? ResetResult::kRemoved : ResetResult::kNone);
    }
  }
  if (refused) throw redis::Error(*refused);
  return true;
}

}  // namespace rlctl::limiter
