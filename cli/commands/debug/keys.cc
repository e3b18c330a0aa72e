#include "cli/commands/debug/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/text.h"
#include "base/time.h"
#include "keyspace/value.h"
#include "redis/reply.h"
#include "redis/scan.h"
#include "stored/backup.h"
#include "stored/forms.h"
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

std::string in_quotes(std::string_view bytes) {
  return '"' + escape(bytes, kMaxBytes) + '"';
}

std::string string_text(redis::Connection& connection, const std::string& key) {
  const auto size = connection.call({"STRLEN", key}).integer();
  const auto reply = connection.call({"GETRANGE", key, "0", std::to_string(kMaxBytes)});
  auto out = in_quotes(reply.text());
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
    out += (i == 0 ? ": " : ", ") + in_quotes(reply[i].text());
    if (step == 1) continue;
    // A score is a number and needs no quotes.
    out += type.between;
    out += type.type == "zset" ? std::string(reply[i + 1].text()) : in_quotes(reply[i + 1].text());
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

KeyText read_key(const CallRedis& call, const std::string& key) {
  constexpr int kLast = 99;  // the last index of a list or sorted set to show
  // A status is shown as "+list".
  const auto reply = call({"TYPE", key}).reply;
  const auto begin = reply.find('+') + 1;
  KeyText text{.type = reply.substr(begin, reply.find('"', begin) - begin)};
  if (text.type == "none") return text;
  if (const auto words = command_to_read(text.type, key, kLast); !words.empty()) {
    text.content = call(words).reply;
  }
  const auto ttl = to_number<std::int64_t>(call({"PTTL", key}).reply).value_or(-1);
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

// ---- Keys in this process ----

namespace {

stored::KeySample sample_of(const keyspace::Value& value) {
  stored::KeySample sample{.type = std::string(keyspace::type_name(value))};
  if (const auto* text = std::get_if<keyspace::Text>(&value)) {
    sample.text = text->substr(0, stored::KeySample::kMaxText);
  } else if (const auto* list = std::get_if<keyspace::List>(&value)) {
    sample.first.member = list->front();
    sample.last.member = list->back();
  } else if (const auto* set = std::get_if<keyspace::SortedSet>(&value)) {
    const auto edge_of = [](const keyspace::Scored& scored) -> stored::KeySample::Edge {
      return {scored.name, fmt::format("{:.17g}", scored.score)};
    };
    sample.first = edge_of(*set->begin());
    sample.last = edge_of(*set->at(set->size() - 1));
  } else if (const auto* hash = std::get_if<keyspace::Hash>(&value)) {
    for (const auto& field : *hash) sample.fields.emplace(field.name, field.value);
    sample.size = static_cast<std::int64_t>(hash->size());
  }
  return sample;
}

/// Counts the entries of a log, a list or sorted set of times, or of leases.
void count_entries(const keyspace::Value& value, stored::InspectionBuilder& builder,
                   const stored::Decoded& state) {
  const auto& form = *state.form;
  std::vector<std::chrono::microseconds> times;
  if (const auto* list = std::get_if<keyspace::List>(&value)) {
    for (const auto& time : *list) times.push_back(stored::entry_time(form, time));
  } else if (const auto* set = std::get_if<keyspace::SortedSet>(&value)) {
    // The member that stores the limit of leases comes first.
    for (auto at = set->at(state.most_leases ? 1 : 0); at != set->end(); ++at) {
      times.push_back(stored::entry_time(form, fmt::format("{:.17g}", at->score)));
    }
  }
  if (times.empty()) return;
  stored::EntryCounts counts{.size = std::ssize(times), .newest = std::ranges::max(times)};
  const bool is_leases = form.layout == stored::Layout::kLeases;
  if (!is_leases && !builder.set_window()) return;
  const auto first_live = builder.first_live(counts.newest);
  counts.expired = std::ranges::count_if(times, [&](auto time) { return time < first_live; });
  is_leases ? builder.fill_leases(counts) : builder.fill_log(counts);
}

/// The state of one of this project's limiters; empty if the key holds none.
std::string state_text(const Plan& plan, const keyspace::Keyspace& keys, const std::string& name,
                       const keyspace::Key& key) {
  auto sample = sample_of(*key.value);
  const auto ttl_ms = key.expiry ? keys.ttl(key).count() : -1;
  sample.expires = key.expiry.has_value();
  stored::set_expiry(sample, ttl_ms, keys.shown_time());
  auto state = stored::decode_ours(sample);
  if (state.form == nullptr) return {};
  stored::InspectionRequest request{.algorithm = plan.algorithm, .now = keys.shown_time()};
  const auto& own = plan.debuggee.keys;
  const auto index = static_cast<std::size_t>(std::ranges::find(own, name) - own.begin());
  if (plan.foreign == nullptr && index < plan.limits.size()) request.limit = plan.limits[index];
  stored::Inspection result;
  stored::InspectionBuilder builder(request, result);
  builder.set_header({.server_now = keys.shown_time(), .ttl_ms = ttl_ms, .bytes = {}});
  builder.set_content(std::move(sample), stored::Decoded(state));
  const bool is_text =
      state.form->layout == stored::Layout::kText || state.form->layout == stored::Layout::kBudget;
  try {
    is_text ? builder.fill_text() : count_entries(*key.value, builder, state);
  } catch (const std::exception&) {
    return {};  // not, or not only, what the script of a limiter stores
  }
  return limiter_text(result);
}

std::string quoted_score(const keyspace::Scored& scored) {
  return fmt::format("{} at {:.17g}", in_quotes(scored.name), scored.score);
}
std::string quoted_member(const keyspace::Member& member) {
  return in_quotes(member.name);
}
std::string quoted_field(const keyspace::Field& field) {
  return in_quotes(field.name) + " = " + in_quotes(field.value);
}

/// Formats a count and some of the elements: 3 elements: "a", "b", ...
template <typename Collection, typename Text>
std::string elements_of(const Collection& all, std::string_view unit, Text text) {
  auto out = counted(static_cast<std::int64_t>(all.size()), unit);
  std::size_t shown = 0;
  for (auto at = all.begin(); at != all.end() && shown < kMaxElements; ++at, ++shown) {
    out += (shown == 0 ? ": " : ", ") + text(*at);
  }
  return out + (all.size() > kMaxElements ? ", ..." : "");
}

std::string content_of(const keyspace::Value& value) {
  if (const auto* text = std::get_if<keyspace::Text>(&value)) {
    return in_quotes(std::string_view(*text).substr(0, kMaxBytes + 1)) +
           (text->size() > kMaxBytes ? fmt::format(" ({} bytes)", text->size()) : "");
  }
  if (const auto* list = std::get_if<keyspace::List>(&value)) {
    return elements_of(*list, "element", in_quotes);
  }
  if (const auto* hash = std::get_if<keyspace::Hash>(&value)) {
    return elements_of(*hash, "field", quoted_field);
  }
  if (const auto* set = std::get_if<keyspace::Set>(&value)) {
    return elements_of(*set, "member", quoted_member);
  }
  return elements_of(std::get<keyspace::SortedSet>(value), "member", quoted_score);
}

}  // namespace

KeyStates look(const Plan& plan, keyspace::Keyspace& keys) {
  KeyStates all;
  for (const auto name : keys.keys()) {
    const auto& key = *keys.find(name);
    auto& state = all[std::string(name)];
    state.type = keyspace::type_name(*key.value);
    state.content = keyspace::to_text(*key.value);
    if (key.expiry) state.expires_at = std::chrono::milliseconds(*key.expiry);
    state.text = {.type = state.type, .ttl = "no ttl"};
    if (key.expiry) state.text.ttl = "ttl " + wait_text(keys.ttl(key), Rounding::kTenths);
    state.text.content = state_text(plan, keys, std::string(name), key);
    if (state.text.content.empty()) state.text.content = content_of(*key.value);
  }
  return all;
}

// ---- Keys on a server ----

namespace {

KeyText text_on_server(const Plan& plan, redis::Connection& connection,
                       const stored::SavedKey& saved, const std::vector<std::string>& keys,
                       std::optional<std::chrono::microseconds> now) {
  KeyText text{.type = saved.type};
  text.ttl = "no ttl";
  if (saved.expires_at) {
    text.ttl = "ttl " + wait_text(*saved.expires_at - saved.saved_at, Rounding::kTenths);
  }
  stored::InspectionRequest request{.algorithm = plan.algorithm, .now = now, .entries = 0};
  const auto at = std::find(keys.begin(), keys.end(), saved.key);
  const auto index = static_cast<std::size_t>(at - keys.begin());
  if (plan.foreign == nullptr && index < plan.limits.size()) request.limit = plan.limits[index];
  if (plan.algorithm != nullptr || saved.type == "string" || saved.type == "hash") {
    text.content =
        limiter_text(stored::inspect(connection, saved.key, request, stored::built_in_libraries()));
  }
  if (text.content.empty()) text.content = content_text(connection, saved);
  return text;
}

}  // namespace

KeyStates look(const Plan& plan, redis::Connection& connection,
               const std::vector<std::string>& keys, std::optional<std::chrono::microseconds> now) {
  auto names = keys;
  if (connection.call({"DBSIZE"}).integer() <= kMaxWatchedKeys) {
    redis::Scan scan(connection, "*");
    while (!scan.done()) {
      const auto some = scan.next();
      names.insert(names.end(), some.begin(), some.end());
    }
  }
  KeyStates all;
  for (auto& saved : stored::save_keys(connection, redis::each_once(names))) {
    if (!saved.exists()) continue;
    all[saved.key] = {.text = text_on_server(plan, connection, saved, redis::each_once(keys), now),
                      .type = saved.type,
                      .content = std::move(saved.dump),
                      .expires_at = saved.expires_at};
  }
  return all;
}

// ---- Changes ----

namespace {

KeyChange compare(const std::string& key, const KeyStates& before, const KeyStates& after) {
  const auto was = before.find(key), is = after.find(key);
  KeyChange change{.key = key};
  if (was != before.end()) change.before = was->second.text;
  if (is != after.end()) change.after = is->second.text;
  change.changed = change.before.has_value() != change.after.has_value();
  if (!change.before || !change.after) return change;
  const auto &old = was->second, &now = is->second;
  const std::chrono::milliseconds never{0};
  const bool same_expiry =
      old.expires_at.has_value() == now.expires_at.has_value() &&
      std::chrono::abs(old.expires_at.value_or(never) - now.expires_at.value_or(never)) < kSameTtl;
  change.changed = !same_expiry || old.type != now.type || old.content != now.content;
  return change;
}

}  // namespace

std::vector<KeyChange> changes(const std::vector<std::string>& keys, const KeyStates& before,
                               const KeyStates& after) {
  std::set<std::string> others;
  for (const auto* states : {&before, &after}) {
    for (const auto& [key, ignored] : *states) others.insert(key);
  }
  std::vector<KeyChange> changes;
  for (const auto& key : redis::each_once(keys)) {
    changes.push_back(compare(key, before, after));
    others.erase(key);
  }
  for (const auto& key : others) {
    auto change = compare(key, before, after);
    if (change.changed) changes.push_back(std::move(change));
  }
  return changes;
}

}  // namespace rlctl::cli::debug
