#include "cli/commands/debug/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "redis/reply.h"
#include "redis/scan.h"
#include "stored/inspection.h"
#include "stored/libraries.h"

namespace rlctl::cli::debug {
namespace {

/// With more keys than this, only the script's own are watched.
constexpr std::int64_t kMaxWatchedKeys = 1000;
/// A TTL that was set again to nearly the same time has not changed.
constexpr std::chrono::milliseconds kSameTtl{1000};

// ---- What a key holds ----

constexpr std::size_t kMaxBytes = 40;       // shown of one element
constexpr std::size_t kMaxElements = 3;     // shown of one key
constexpr std::int64_t kMaxFetched = 1000;  // of a type that can be read only as a whole

/// How to count, read and show the elements of a key of each type.
struct Elements {
  std::string_view type, count, read, unit;  ///< "list", "LLEN", "LRANGE", "element"
  std::string_view between = {};  ///< separates the two elements of a pair; empty: no pairs

  /// Whether the command that reads them takes indices.
  bool is_read_in_part() const { return type == "list" || type == "zset"; }
};
constexpr Elements kElements[] = {{"list", "LLEN", "LRANGE", "element"},
                                  {"set", "SCARD", "SMEMBERS", "member"},
                                  {"hash", "HLEN", "HGETALL", "field", " = "},
                                  {"zset", "ZCARD", "ZRANGE", "member", " at "}};

std::string quoted(std::string_view bytes) {
  return '"' + escape(bytes, kMaxBytes) + '"';
}

std::string string_text(redis::Connection& connection, const std::string& key) {
  const auto size = connection.call({"STRLEN", key}).integer();
  const auto reply = connection.call({"GETRANGE", key, "0", std::to_string(kMaxBytes)});
  auto out = quoted(reply.text());
  if (size > static_cast<std::int64_t>(kMaxBytes)) out += fmt::format(" ({} bytes)", size);
  return out;
}

/// Formats a count and some of the elements: 3 elements: "a", "b", ...
std::string elements_text(redis::Connection& connection, const Elements& type,
                          const std::string& key) {
  const auto count = connection.call({type.count, key}).integer();
  auto out = counted(count, type.unit);
  if (!type.is_read_in_part() && count > kMaxFetched) return out;
  const auto words = command_to_read(type.type, key, kMaxElements - 1);
  const std::vector<std::string_view> command(words.begin(), words.end());
  const auto reply = connection.call(command);
  const std::size_t step = type.between.empty() ? 1 : 2;
  const auto shown = std::min(reply.size(), kMaxElements * step);
  for (std::size_t i = 0; i + step <= shown; i += step) {
    out += (i == 0 ? ": " : ", ") + quoted(reply[i].text());
    if (step == 1) continue;
    // A score is a number and needs no quotes.
    out += type.between;
    out += type.type == "zset" ? std::string(reply[i + 1].text()) : quoted(reply[i + 1].text());
  }
  return out + (shown > 0 && count > static_cast<std::int64_t>(kMaxElements) ? ", ..." : "");
}

std::string content_text(redis::Connection& connection, const stored::SavedKey& saved) {
  if (saved.type == "string") return string_text(connection, saved.key);
  for (const auto& row : kElements) {
    if (row.type == saved.type) return elements_text(connection, row, saved.key);
  }
  if (saved.type != "stream") return {};
  const auto length = connection.call({"XLEN", saved.key}).integer();
  return fmt::format("{} {}", length, length == 1 ? "entry" : "entries");
}

/// Formats the state of a limiter: "4 of 5 used"; empty if the key holds none, or too little is
/// known.
std::string limiter_text(const stored::Inspection& inspection) {
  const auto most = inspection.burst ? inspection.burst : inspection.limit;
  const bool is_known =
      inspection.is_limiter() && !inspection.state.form->is_foreign() && inspection.used && most;
  if (!is_known) return {};
  const auto used = inspection.used_exact ? amount_text(*inspection.used_exact)
                                          : std::to_string(*inspection.used);
  const auto held = inspection.held.value_or(0);
  return fmt::format("{} of {} used{}", used, *most,
                     held > 0 ? fmt::format(", {} of them held", held) : "");
}

}  // namespace

std::vector<std::string> command_to_read(std::string_view type, const std::string& key, int last) {
  if (type == "string") return {"GET", key};
  for (const auto& row : kElements) {
    if (row.type != type) continue;
    std::vector<std::string> words{std::string(row.read), key};
    if (row.is_read_in_part()) words.insert(words.end(), {"0", std::to_string(last)});
    if (type == "zset") words.emplace_back("WITHSCORES");
    return words;
  }
  return {};
}

std::string text_of(const KeyText& text) {
  auto out = text.type;
  for (const auto* part : {&text.content, &text.ttl}) {
    if (!part->empty()) out += ", " + *part;
  }
  return out;
}

std::optional<KeyText> read_key(const CallRedis& call, const std::string& key) {
  constexpr int kLast = 99;  // the last index of a list or sorted set to show
  const auto type = call({"TYPE", key});
  if (!type) return std::nullopt;
  // The debugger shows the type as "+list".
  const auto reply = type->reply.value_or("");
  const auto begin = reply.find('+') + 1;
  KeyText text{.type = reply.substr(begin, reply.find('"', begin) - begin)};
  if (text.type == "none") return text;
  if (const auto words = command_to_read(text.type, key, kLast); !words.empty()) {
    const auto made = call(words);
    if (!made) return std::nullopt;
    text.content = made->reply.value_or("");
  }
  const auto pttl = call({"PTTL", key});
  if (!pttl) return std::nullopt;
  const auto ttl = to_number<std::int64_t>(pttl->reply.value_or("")).value_or(-1);
  text.ttl =
      ttl < 0 ? "no ttl" : "ttl " + wait_text(std::chrono::milliseconds(ttl), Rounding::kTenths);
  return text;
}

std::string text_of(const KeyChange& change, bool utf8) {
  const std::string arrow = utf8 ? " → " : " -> ";
  auto out = "'" + escape(change.key) + "': ";
  const auto& [key, before, after, changed] = change;
  if (!changed) return out + (after ? text_of(*after) : "not there") + ", as before";
  if (!before || !after || before->type != after->type) {
    return out + (before ? text_of(*before) : "not there") + arrow +
           (after ? text_of(*after) : "removed");
  }
  out += after->type;
  for (const auto part : {&KeyText::content, &KeyText::ttl}) {
    const auto& was = *before.*part;
    const auto& is = *after.*part;
    if (is.empty()) continue;
    out += ", " + (was == is ? is : was + arrow + is);
  }
  return out;
}

KeyWatch::KeyWatch(redis::Connection& connection, const Plan& plan,
                   const std::vector<std::string>& keys,
                   std::optional<std::chrono::microseconds> now)
    : plan_(plan), keys_(redis::each_once(keys)), now_(now), before_(look(connection)) {}

KeyText KeyWatch::describe(redis::Connection& connection, const stored::SavedKey& saved) const {
  KeyText text{.type = saved.type};
  text.ttl = "no ttl";
  if (saved.expires_at) {
    text.ttl = "ttl " + wait_text(*saved.expires_at - saved.saved_at, Rounding::kTenths);
  }
  stored::InspectionRequest request{.algorithm = plan_.algorithm, .now = now_, .entries = 0};
  const auto at = std::find(keys_.begin(), keys_.end(), saved.key);
  const auto index = static_cast<std::size_t>(at - keys_.begin());
  if (plan_.foreign == nullptr && index < plan_.limits.size()) request.limit = plan_.limits[index];
  if (plan_.algorithm != nullptr || saved.type == "string" || saved.type == "hash") {
    text.content =
        limiter_text(stored::inspect(connection, saved.key, request, stored::built_in_libraries()));
  }
  if (text.content.empty()) text.content = content_text(connection, saved);
  return text;
}

KeyWatch::HeldKeys KeyWatch::look(redis::Connection& connection) const {
  auto keys = keys_;
  if (connection.call({"DBSIZE"}).integer() <= kMaxWatchedKeys) {
    redis::Scan scan(connection, "*");
    while (!scan.done()) {
      const auto some = scan.next();
      keys.insert(keys.end(), some.begin(), some.end());
    }
  }
  HeldKeys held;
  for (auto& saved : stored::save_keys(connection, redis::each_once(keys))) {
    if (!saved.exists()) continue;
    auto& one = held[saved.key];
    one.text = describe(connection, saved);
    one.saved = std::move(saved);
  }
  return held;
}

KeyChange KeyWatch::compare(const std::string& key, const HeldKeys& after) const {
  const auto was = before_.find(key), is = after.find(key);
  KeyChange change{.key = key};
  if (was != before_.end()) change.before = was->second.text;
  if (is != after.end()) change.after = is->second.text;
  change.changed = change.before.has_value() != change.after.has_value();
  if (!change.before || !change.after) return change;
  const auto &old = was->second.saved, &now = is->second.saved;
  const std::chrono::milliseconds never{0};
  const bool same_expiry =
      old.expires_at.has_value() == now.expires_at.has_value() &&
      std::chrono::abs(old.expires_at.value_or(never) - now.expires_at.value_or(never)) < kSameTtl;
  change.changed = !same_expiry || old.dump != now.dump;
  return change;
}

std::vector<KeyChange> KeyWatch::changes(redis::Connection& connection) const {
  const auto now = look(connection);
  std::set<std::string> others;
  for (const auto* held : {&before_, &now}) {
    for (const auto& [key, ignored] : *held) others.insert(key);
  }
  std::vector<KeyChange> changes;
  for (const auto& key : keys_) {
    changes.push_back(compare(key, now));
    others.erase(key);
  }
  for (const auto& key : others) {
    auto change = compare(key, now);
    if (change.changed) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace rlctl::cli::debug
