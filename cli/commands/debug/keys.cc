#include "cli/commands/debug/keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <utility>

#include "base/table.h"
#include "base/text.h"
#include "base/time.h"
#include "lua/value.h"
#include "redis/reply.h"
#include "redis/scan.h"
#include "stored/forms.h"
#include "stored/inspection.h"

namespace rlctl::cli::debug {
namespace {

/// With more keys than this, only the script's own are watched.
constexpr std::int64_t kMaxWatchedKeys = 1000;
/// While a server's clock runs, a TTL that was set again to nearly the same time has not changed.
constexpr std::chrono::milliseconds kSameTtl{1000};

// ---- What a key holds ----

constexpr std::size_t kMaxBytes = 40;    // shown of one element
constexpr std::size_t kMaxElements = 3;  // shown of one key

/// A type of key that has elements: the commands that read and write them, and how they are shown.
struct Elements {
  std::string_view name, read, write, unit;  ///< "list", "LRANGE", "RPUSH", "element"
  std::string_view between = {};  ///< separates the two elements of a pair; empty: no pairs
};
constexpr Elements kElements[] = {{"list", "LRANGE", "RPUSH", "element"},
                                  {"set", "SMEMBERS", "SADD", "member"},
                                  {"hash", "HGETALL", "HSET", "field", " = "},
                                  {"zset", "ZRANGE", "ZADD", "member", " at "}};

std::string in_quotes(std::string_view bytes) {
  std::string quoted = "\"";
  for (const char c : escape(bytes, kMaxBytes)) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

/// "ttl 59.3 s", or "no ttl" for a negative number.
std::string ttl_text(std::chrono::milliseconds ttl) {
  constexpr std::chrono::seconds kShort{1};
  if (ttl.count() < 0) return "no ttl";
  return "ttl " + wait_text(ttl, ttl < kShort ? Rounding::kUp : Rounding::kTenths);
}

/// Formats a count and some of the elements: 3 elements: "a", "b", ...
std::string elements_text(const Elements& type, const redis::Reply& all) {
  const std::size_t step = type.between.empty() ? 1 : 2;
  auto out = counted(static_cast<std::int64_t>(all.size() / step), type.unit);
  const auto shown = std::min(all.size(), kMaxElements * step);
  for (std::size_t i = 0; i + step <= shown; i += step) {
    out += (i == 0 ? ": " : ", ") + in_quotes(all[i].text());
    if (step == 1) continue;
    // A score is a number and needs no quotes.
    out += type.between;
    out += type.name == "zset" ? std::string(all[i + 1].text()) : in_quotes(all[i + 1].text());
  }
  return out + (shown < all.size() ? ", ..." : "");
}

/// Formats what the command that reads a key has replied.
std::string content_text(std::string_view type, const redis::Reply& all) {
  if (const auto* row = find_by_name(kElements, type)) return elements_text(*row, all);
  const auto text = all.text();
  return in_quotes(text.substr(0, kMaxBytes + 1)) +
         (text.size() > kMaxBytes ? fmt::format(" ({} bytes)", text.size()) : "");
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
  const auto* row = find_by_name(kElements, type);
  if (row == nullptr) return {};
  std::vector<std::string> words{std::string(row->read), key};
  if (type == "list" || type == "zset") words.insert(words.end(), {"0", std::to_string(last)});
  if (type == "zset") words.emplace_back("WITHSCORES");
  return words;
}

std::vector<std::string_view> command_to_write(std::string_view type, std::string_view key,
                                               const redis::Reply& all) {
  if (type == "string") return {"SET", key, all.text()};
  std::vector<std::string_view> words{find_by_name(kElements, type)->write, key};
  for (std::size_t i = 0; i < all.size(); ++i) words.push_back(all[i].text());
  // A score stands behind its member when it is read, and before it when it is written.
  for (std::size_t i = 2; type == "zset" && i + 1 < words.size(); i += 2) {
    std::swap(words[i], words[i + 1]);
  }
  return words;
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
  text.ttl = ttl_text(std::chrono::milliseconds(ttl));
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

// ---- Keys before and after a run ----

namespace {

/// Runs a command that reads, in this process or on a server.
using Read = std::function<redis::Reply(std::span<const std::string_view> words)>;

redis::Reply read(const Read& run, const std::vector<std::string>& words) {
  return run(std::vector<std::string_view>(words.begin(), words.end()));
}

/// A sample of what a key holds, from which decode_ours() recognizes the state of a limiter.
stored::KeySample sample_of(std::string_view type, const redis::Reply& all) {
  stored::KeySample sample{.type = std::string(type)};
  if (type == "string") sample.text = all.text().substr(0, stored::KeySample::kMaxText);
  if (type == "list") {
    sample.first.member = all[0].text();
    sample.last.member = all[all.size() - 1].text();
  } else if (type == "zset") {
    sample.first = {std::string(all[0].text()), std::string(all[1].text())};
    sample.last = {std::string(all[all.size() - 2].text()),
                   std::string(all[all.size() - 1].text())};
  } else if (type == "hash") {
    for (std::size_t i = 0; i < all.size(); i += 2) {
      sample.fields.emplace(all[i].text(), all[i + 1].text());
    }
    sample.size = static_cast<std::int64_t>(all.size() / 2);
  }
  return sample;
}

/// Counts the entries of a log, a list or sorted set of times, or of leases.
void count_entries(const redis::Reply& all, stored::InspectionBuilder& builder,
                   const stored::Decoded& state) {
  const auto& form = *state.form;
  const bool is_list = form.layout == stored::Layout::kTimes;
  std::vector<std::chrono::microseconds> times;
  // The member that stores the limit of leases comes first; scores stand behind their members.
  const std::size_t first = state.most_leases ? 3 : 1;
  for (std::size_t i = is_list ? 0 : first; i < all.size(); i += is_list ? 1 : 2) {
    times.push_back(stored::entry_time(form, all[i].text()));
  }
  if (times.empty()) return;
  stored::EntryCounts counts{.size = std::ssize(times), .newest = std::ranges::max(times)};
  const bool is_leases = form.layout == stored::Layout::kLeases;
  if (!is_leases && !builder.set_window()) return;
  const auto first_live = builder.first_live(counts.newest);
  counts.expired = std::ranges::count_if(times, [&](auto time) { return time < first_live; });
  is_leases ? builder.fill_leases(counts) : builder.fill_log(counts);
}

/// The state of one of this project's limiters; empty if the key holds none. `ttl_ms`: as PTTL
/// replies.
std::string state_text(const Plan& plan, const std::string& name, std::string_view type,
                       const redis::Reply& all, std::int64_t ttl_ms,
                       std::chrono::microseconds now) {
  auto sample = sample_of(type, all);
  sample.expires = ttl_ms >= 0;
  stored::set_expiry(sample, ttl_ms, now);
  auto state = stored::decode_ours(sample);
  if (state.form == nullptr) return {};
  stored::InspectionRequest request{.algorithm = plan.algorithm, .now = plan.now.value_or(now)};
  const auto own = redis::each_once(plan.debuggee.keys);
  const auto index = static_cast<std::size_t>(std::ranges::find(own, name) - own.begin());
  if (plan.foreign == nullptr && index < plan.limits.size()) request.limit = plan.limits[index];
  stored::Inspection result;
  stored::InspectionBuilder builder(request, result);
  builder.set_header({.server_now = now, .ttl_ms = ttl_ms, .bytes = {}});
  builder.set_content(std::move(sample), stored::Decoded(state));
  const bool is_text =
      state.form->layout == stored::Layout::kText || state.form->layout == stored::Layout::kBudget;
  try {
    is_text ? builder.fill_text() : count_entries(all, builder, state);
  } catch (const std::exception&) {
    return {};  // not, or not only, what the script of a limiter stores
  }
  return limiter_text(result);
}

/// All of the contents, to compare them; the members of a set and the fields of a hash have no
/// order.
std::string comparable(std::string_view type, const redis::Reply& all) {
  if (type == "string") return std::string(all.text());
  const std::size_t step = type == "hash" ? 2 : 1;
  std::vector<std::string> elements;
  for (std::size_t i = 0; i < all.size(); i += step) {
    elements.push_back(lua::string_literal(all[i].text()));
    if (step == 2) elements.back() += lua::string_literal(all[i + 1].text());
  }
  if (type == "hash" || type == "set") std::ranges::sort(elements);
  return fmt::format("{}", fmt::join(elements, ""));
}

KeyState state_of(const Plan& plan, const Read& run, const std::string& key,
                  std::chrono::microseconds now) {
  KeyState state{.text = {.type = std::string(read(run, {"TYPE", key}).text())}};
  const auto& type = state.text.type;
  const auto ttl_ms = read(run, {"PTTL", key}).integer();
  const std::chrono::milliseconds ttl(ttl_ms);
  state.text.ttl = ttl_text(ttl);
  if (ttl_ms >= 0) {
    state.expires_at = std::chrono::floor<std::chrono::milliseconds>(now) + ttl;
  }
  if (const auto words = command_to_read(type, key, -1); !words.empty()) {
    const auto all = read(run, words);
    state.content = comparable(type, all);
    state.text.content = state_text(plan, key, type, all, ttl_ms, now);
    if (state.text.content.empty()) state.text.content = content_text(type, all);
  } else if (type != "none") {
    state.content = read(run, {"DUMP", key}).text();
  }
  if (type == "stream") {
    const auto length = read(run, {"XLEN", key}).integer();
    state.text.content = fmt::format("{} {}", length, length == 1 ? "entry" : "entries");
  }
  return state;
}

KeyStates look(const Plan& plan, const Read& run, const std::vector<std::string>& keys) {
  const auto time = read(run, {"TIME"});
  const auto part = [&](std::size_t i) { return to_number<std::int64_t>(time[i].text()).value(); };
  const auto now = std::chrono::seconds(part(0)) + std::chrono::microseconds(part(1));
  KeyStates all;
  for (const auto& key : redis::each_once(keys)) {
    auto state = state_of(plan, run, key, now);
    if (state.text.type != "none") all.emplace(key, std::move(state));
  }
  return all;
}

}  // namespace

KeyStates look(const Plan& plan, keyspace::Keyspace& keyspace) {
  const auto run = [&](std::span<const std::string_view> words) {
    std::string bytes;
    keyspace.call(words, true, bytes);
    return debugger::written_reply(bytes);
  };
  const auto names = keyspace.keys();
  return look(plan, run, {names.begin(), names.end()});
}

KeyStates look(const Plan& plan, redis::Connection& connection) {
  auto keys = plan.debuggee.keys;
  if (connection.call({"DBSIZE"}).integer() <= kMaxWatchedKeys) {
    redis::Scan scan(connection, "*");
    while (!scan.done()) {
      const auto some = scan.next();
      keys.insert(keys.end(), some.begin(), some.end());
    }
  }
  auto states = look(
      plan, [&](auto words) { return connection.call(words); }, keys);
  for (auto& [key, state] : states) state.same_ttl = kSameTtl;
  return states;
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
  const bool same_expiry = old.expires_at.has_value() == now.expires_at.has_value() &&
                           std::chrono::abs(old.expires_at.value_or(never) -
                                            now.expires_at.value_or(never)) <= now.same_ttl;
  change.changed = !same_expiry || old.text.type != now.text.type || old.content != now.content;
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
