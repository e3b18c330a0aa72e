#include "limiter/reset.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "embedded_reset.h"
#include "limiter/check.h"

namespace rlctl::limiter {

/// A key, and what is known about it so far.
struct Resetter::Look {
  std::string_view key;
  const SeenKey* seen;
  Content content = {};  ///< as read last
  const StateForm* form = nullptr;
  std::optional<ResetResult> result = {};  ///< none: not decided yet
  std::optional<LeftReason> reason = {};

  [[nodiscard]] bool has_changed() const {
    return !seen->type.empty() && (content.type != seen->type || form != seen->form);
  }
  void settle(ResetResult settled) { result = settled; }
  void leave(LeftReason why) {
    result = ResetResult::kLeft;
    reason = why;
  }
};

namespace {

/// Keys in a round trip. Each may have ends of any size, which are kept until it is removed.
constexpr std::size_t kMostAtOnce = 200;

std::optional<LeftReason> reason_to_leave(const State& state) {
  if (state.form == nullptr) return LeftReason::kNoLimiterState;
  if (state.form->is_foreign()) return LeftReason::kForeign;
  if (!state.certain) return LeftReason::kUncertain;
  return std::nullopt;
}

/// Queues a call of reset.lua.
void append_removal(redis::Connection& connection, std::string_view key, const Content& content) {
  const std::string_view keys[] = {key};
  const std::string_view expires = content.expires ? "1" : "0";
  const std::string_view of_string[] = {content.type, content.text};
  const std::string_view of_entries[] = {content.type, content.first.member, content.last.member,
                                         expires,      content.first.score,  content.last.score};
  redis::Arguments arguments(of_string, 1);
  if (content.type == "string") arguments = of_string;
  if (content.type == "list") arguments = redis::Arguments(of_entries, 4);
  if (content.type == "zset") arguments = of_entries;
  connection.append_evalsha(embedded::k_reset.sha1, keys, arguments);
}

/// Refused within the script, where only UNLINK is new to the user: the look called the others.
redis::Error explain_refusal(const redis::Error& error) {
  const bool in_script = error.code().empty() || error.code() == "ERR";
  if (error.failure() != redis::Failure::kRefused || !in_script) return error;
  return redis::Error(error.failure(), error.what(), error.code(),
                      "the user needs +unlink; rlctl-reset(1) lists the permissions")
      .from(error.server(), error.command());
}

}  // namespace

void Resetter::reset(std::span<const std::string> keys) {
  std::vector<SeenKey> unseen;
  unseen.reserve(keys.size());
  for (const auto& key : keys) unseen.push_back({.key = key});
  reset(unseen);
}

void Resetter::reset(std::span<const SeenKey> keys) {
  while (!keys.empty()) {
    const auto some = keys.first(std::min(kMostAtOnce, keys.size()));
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
             .type = look.content.type,
             .form = look.form,
             .reason = look.reason});
  }
}

void Resetter::settle(Looks& looks) {
  Indices open(looks.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (int tries = 0; !open.empty() && tries < options_.tries; ++tries) open = attempt(looks, open);
  for (const auto index : open) looks[index].leave(LeftReason::kChanging);
}

/// Settles the key, unless it must be removed.
void Resetter::decide(Look& look, Content content) const {
  const State state = decode(content);
  look.content = std::move(content);
  look.form = state.form;
  const auto reason = options_.force ? std::nullopt : reason_to_leave(state);
  if (look.content.type == "none") {
    look.settle(ResetResult::kNone);
  } else if (look.has_changed()) {
    look.leave(LeftReason::kChanged);
  } else if (reason) {
    look.leave(*reason);
  } else if (options_.dry_run) {
    look.settle(ResetResult::kWouldRemove);
  }
}

/// Looks at some keys and removes those that are to be removed. Returns those of them that another
/// client changed meanwhile.
Resetter::Indices Resetter::attempt(Looks& looks, const Indices& which) {
  std::vector<std::string> keys;
  keys.reserve(which.size());
  for (const auto index : which) keys.emplace_back(looks[index].key);
  auto contents = read_contents(connection_, keys);
  Indices removable;
  for (std::size_t i = 0; i < which.size(); ++i) {
    Look& look = looks[which[i]];
    decide(look, std::move(contents[i]));
    if (!look.result) removable.push_back(which[i]);
  }
  if (options_.on_looked) options_.on_looked();
  return removable.empty() ? Indices{} : remove(looks, removable);
}

/// Returns the keys that have changed since the look.
Resetter::Indices Resetter::remove(Looks& looks, const Indices& which) {
  load_script();
  sent_.clear();
  answered_ = 0;
  for (const auto index : which) {
    sent_.emplace_back(looks[index].key);
    append_removal(connection_, looks[index].key, looks[index].content);
  }
  Indices changed;
  std::optional<redis::Error> refused;
  for (const auto index : which) {
    const auto reply = connection_.read();
    ++answered_;
    if (is_unknown_script(reply)) {
      script_is_loaded_ = false;
      changed.push_back(index);
    } else if (reply.is_error()) {
      if (!refused) refused = explain_refusal(redis::to_error(reply));
    } else if (reply.integer() == 1) {
      looks[index].settle(ResetResult::kRemoved);
    } else {
      changed.push_back(index);
    }
  }
  if (refused) throw redis::Error(*refused);
  return changed;
}

void Resetter::load_script() {
  if (script_is_loaded_) return;
  const auto reply = connection_.call({"SCRIPT", "LOAD", embedded::k_reset.text});
  if (reply.is_error()) throw redis::to_error(reply);
  script_is_loaded_ = true;
}

}  // namespace rlctl::limiter
