#include "stored/reset.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "embedded_reset.h"
#include "limiter/check.h"

namespace rlctl::stored {

/// A key, and what is known about it so far.
struct Resetter::Look {
  std::string_view key;
  const SeenKey* seen;
  KeySample content = {};  ///< as read last
  const Form* form = nullptr;
  std::optional<ResetResult> result = {};  ///< none: not decided yet
  std::optional<KeptReason> reason = {};
  std::string part_of = {};                        ///< see Decoded::part_of
  std::string saved_sha1 = {}, saved_expiry = {};  ///< see reset.lua

  bool has_changed() const {
    return !seen->type.empty() && (content.type != seen->type || form != seen->form);
  }
  void finish(ResetResult with) { result = with; }
  void leave(KeptReason why) {
    result = ResetResult::kKept;
    reason = why;
  }
};

namespace {

/// Keys in a round trip. Each may have ends of any size, which are kept until it is removed.
constexpr std::size_t kMaxAtOnce = 200;

std::optional<KeptReason> reason_to_leave(const Decoded& state) {
  if (state.form == nullptr) return KeptReason::kNoLimiterState;
  // A ban may be lifted alone.
  if (!state.part_of.empty() && !state.is_ban) return KeptReason::kPart;
  if (state.form->is_foreign()) return KeptReason::kForeign;
  if (!state.certain) return KeptReason::kUncertain;
  return std::nullopt;
}

/// The end of the arguments of reset.lua: what the look read of the key.
std::vector<std::string> looked_arguments(const KeySample& content) {
  if (content.type == "string") return {content.text};
  const std::string expires = content.expires ? "1" : "0";
  const auto& first = content.first;
  const auto& last = content.last;
  if (content.type == "list") return {first.member, last.member, expires};
  if (content.type == "zset") return {first.member, last.member, expires, first.score, last.score};
  if (content.fields.empty()) return {};
  std::vector<std::string> of_hash{std::to_string(content.size)};
  for (const auto& [field, value] : content.fields) of_hash.insert(of_hash.end(), {field, value});
  return of_hash;
}

/// Whether a server of several was sent the command and failed before it answered. The failures of
/// commands that could not be sent have other classes.
bool may_have_run(const redis::Reply& reply) {
  const auto* failed = redis::failure_of(reply);
  if (failed == nullptr) return false;
  switch (failed->failure()) {
    case redis::Failure::kUnreachable:
    case redis::Failure::kTimeout:
    case redis::Failure::kProtocol:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::vector<std::string> Resetter::in_doubt() const {
  auto keys = lost_;
  keys.insert(keys.end(), sent_.begin() + static_cast<std::ptrdiff_t>(answered_), sent_.end());
  return keys;
}

void Resetter::reset(std::span<const std::string> keys) {
  std::vector<SeenKey> unseen;
  unseen.reserve(keys.size());
  for (const auto& key : keys) unseen.push_back({.key = key});
  reset(unseen);
}

void Resetter::reset(std::span<const SeenKey> keys) {
  while (!keys.empty()) {
    const auto some = keys.first(std::min(kMaxAtOnce, keys.size()));
    Looks looks;
    looks.reserve(some.size());
    for (const auto& key : some) looks.push_back({.key = key.key, .seen = &key});
    try {
      apply(looks);
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
             .type = look.content.type,
             .form = look.form,
             .reason = look.reason,
             .part_of = look.part_of});
  }
}

void Resetter::apply(Looks& looks) {
  Indices open(looks.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (int tries = 0; !open.empty() && tries < options_.tries; ++tries) open = attempt(looks, open);
  for (const auto index : open) looks[index].leave(KeptReason::kChanging);
}

/// Decides about the key, unless it must be removed.
void Resetter::decide(Look& look, KeySample content, const Decoded& state) const {
  look.content = std::move(content);
  look.form = state.form;
  look.part_of = state.part_of;
  const auto reason = options_.force ? std::nullopt : reason_to_leave(state);
  if (look.content.type == "none") {
    look.finish(ResetResult::kNone);
  } else if (look.has_changed()) {
    look.leave(KeptReason::kChanged);
  } else if (reason) {
    look.leave(*reason);
  } else if (options_.dry_run) {
    look.finish(ResetResult::kWouldRemove);
  }
}

/// Looks at some keys and removes those that are to be removed. Returns those of them that another
/// client changed meanwhile.
Resetter::Indices Resetter::attempt(Looks& looks, const Indices& which) {
  std::vector<std::string> keys;
  keys.reserve(which.size());
  for (const auto index : which) keys.emplace_back(looks[index].key);
  auto contents = read_contents(connection_, keys, *options_.libraries);
  std::vector<Question> questions;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    questions.push_back({.key = keys[i], .content = &contents[i]});
  }
  std::vector<Decoded> states(keys.size());
  decode_all(connection_, questions, *options_.libraries,
             [&](std::size_t i, Decoded&& state) { states[i] = std::move(state); });
  Indices removable;
  for (std::size_t i = 0; i < which.size(); ++i) {
    Look& look = looks[which[i]];
    decide(look, std::move(contents[i]), states[i]);
    if (!look.result) removable.push_back(which[i]);
  }
  auto changed = options_.save_to != nullptr ? save(looks, removable) : Indices{};
  if (options_.on_looked) options_.on_looked(removable.size());
  if (removable.empty()) return changed;
  try {
    const auto kept = remove(looks, removable);
    changed.insert(changed.end(), kept.begin(), kept.end());
  } catch (...) {
    if (options_.save_to != nullptr && !in_doubt().empty()) options_.save_to->keep();
    throw;
  }
  std::sort(changed.begin(), changed.end());
  return changed;
}

/// Saves the keys. Takes those from `which` that are too large, and those that have changed since
/// the look, which it returns.
Resetter::Indices Resetter::save(Looks& looks, Indices& which) const {
  std::vector<std::string_view> keys;
  keys.reserve(which.size());
  for (const auto index : which) keys.push_back(looks[index].key);
  Indices saved, changed;
  const auto use = [&](std::size_t at, SavedKey key) {
    const auto index = which[at];
    Look& look = looks[index];
    if (key.type != look.content.type) return changed.push_back(index);
    if (key.dump.empty()) return look.leave(KeptReason::kTooLarge);
    key.saved_again = !look.saved_sha1.empty();
    look.saved_sha1 = key.sha1;
    look.saved_expiry = std::to_string(key.expires_at ? key.expires_at->count() : 0);
    if (look.form != nullptr) {
      key.library = look.form->library;
      key.algorithm = look.form->name;
    }
    options_.save_to->add(key);
    saved.push_back(index);
  };
  save_each(connection_, keys, options_.longest_dump, use);
  if (!saved.empty()) options_.save_to->sync();
  which = std::move(saved);
  return changed;
}

/// Returns the keys that have changed since the look.
Resetter::Indices Resetter::remove(Looks& looks, const Indices& which) {
  load_script();
  sent_.clear();
  lost_.clear();
  answered_ = 0;
  for (const auto index : which) {
    sent_.emplace_back(looks[index].key);
    const Look& look = looks[index];
    std::vector<std::string_view> arguments{look.content.type, look.saved_sha1, look.saved_expiry};
    const auto looked = looked_arguments(look.content);
    arguments.insert(arguments.end(), looked.begin(), looked.end());
    const std::string_view keys[] = {look.key};
    connection_.append_evalsha(embedded::k_reset.sha1, keys, arguments);
  }
  Indices changed;
  std::optional<redis::Error> refused;
  for (const auto index : which) {
    const auto reply = connection_.read();
    ++answered_;
    if (may_have_run(reply)) lost_.emplace_back(looks[index].key);
    if (redis::is_unknown_script(reply)) {
      script_is_loaded_ = false;
      changed.push_back(index);
    } else if (reply.is_error()) {
      if (!refused) refused = redis::to_error(reply);
    } else if (redis::number_in(reply) == 1) {
      looks[index].finish(ResetResult::kRemoved);
      if (options_.save_to != nullptr) options_.save_to->keep();
    } else {
      changed.push_back(index);
    }
  }
  if (refused) throw redis::Error(*refused);
  return changed;
}

void Resetter::load_script() {
  if (script_is_loaded_) return;
  limiter::load_script(connection_, embedded::k_reset.text);
  script_is_loaded_ = true;
}

}  // namespace rlctl::stored
