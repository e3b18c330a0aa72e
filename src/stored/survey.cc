#include "stored/survey.h"

#include "base/text.h"
#include "embedded_usage.h"
#include "limiter/check.h"
#include "redis/error.h"
#include "redis/scan.h"
#include "redis/server.h"
#include "stored/inspection.h"
#include "stored/libraries.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

namespace rlctl::stored {

namespace {

using redis::ReplyView;

std::string number_or_nothing(const std::optional<microseconds>& time) {
  return time ? std::to_string(time->count()) : std::string();
}

/// The window over which the entries of a log are counted, which the InspectionBuilder will apply.
/// None if only the log itself can tell.
std::optional<microseconds> known_window(const InspectedKey& asked) {
  const auto& request = asked.request;
  if (request.limit) return request.limit->window;
  if (const auto limit = limit_in_name(asked.key)) return limit->window;
  if (request.usual_limit) return request.usual_limit->window;
  return request.window_in_name;
}

void append_group(redis::Connection& connection, const UsageGroup& group, bool has_evalsha_ro) {
  std::vector<std::string_view> keys;
  std::vector<std::string> numbers;
  for (const auto& asked : group) {
    keys.push_back(asked.key);
    numbers.push_back(number_or_nothing(known_window(asked)));
  }
  numbers.push_back(number_or_nothing(group.front().request.now));
  std::vector<std::string_view> arguments(numbers.begin(), numbers.end());
  arguments.insert(arguments.end(), hash_fields().begin(), hash_fields().end());
  const limiter::ScriptCall call{
      .sha1 = embedded::k_usage.sha1, .keys = keys, .arguments = arguments};
  has_evalsha_ro ? call.append_read_only_to(connection) : call.append_to(connection);
}

KeySample::Edge edge_with_score(ReplyView row, std::size_t at) {
  return {.member = std::string(row[at].text()), .score = std::string(row[at + 1].text())};
}

/// The part of the script's row that identifies the key's form.
KeySample content_of(ReplyView row, microseconds server_now) {
  KeySample content{.type = escaped_message(row[0].text())};
  if (content.type == "string") {
    content.text = row[3].text();
  } else if (content.type == "list") {
    content.first.member = row[3].text();
    content.last.member = row[4].text();
  } else if (content.type == "zset") {
    content.first = edge_with_score(row, 3);
    content.last = edge_with_score(row, 5);
  } else if (content.type == "hash") {
    content.size = row[3].integer();
    for (std::size_t i = 0; i < hash_fields().size() && i < row[4].size(); ++i) {
      if (!row[4][i].is_nil()) content.fields.emplace(hash_fields()[i], row[4][i].text());
    }
  }
  if (row.size() > 1) set_expiry(content, row[1].integer(), server_now);
  return content;
}

/// A log or leases, as the script counted their entries.
EntryCounts entries_of(ReplyView row, const Decoded& state) {
  const auto& form = *state.form;
  if (form.layout == Layout::kTimes) {
    const auto newest = form.newest_first ? row[3].text() : row[4].text();
    return {
        .size = row[5].integer(), .expired = row[6].integer(), .newest = entry_time(form, newest)};
  }
  constexpr std::size_t kInUs = 8, kInMs = 9, kInSeconds = 10, kLapsed = 11;
  const auto in_unit = form.us_per_score == 1      ? kInUs
                       : form.us_per_score == 1000 ? kInMs
                                                   : kInSeconds;
  const auto expired = form.layout == Layout::kLeases ? kLapsed : in_unit;
  const auto others = state.most_leases ? 1 : 0;  // members: the limit of leases
  return {.size = row[7].integer() - others,
          .expired = row[expired].integer(),
          .newest = entry_time(form, row[6].text())};
}

Inspection read_row(const InspectedKey& asked, microseconds server_now, ReplyView row) {
  Inspection result;
  result.key = asked.key;
  InspectionBuilder interpreter(asked.request, result);
  const bool has_bytes = row.size() > 2 && row[2].integer() >= 0;
  interpreter.set_header({.server_now = server_now,
                          .ttl_ms = row.size() > 1 ? row[1].integer() : -1,
                          .bytes = has_bytes ? std::optional(row[2].integer()) : std::nullopt});
  interpreter.set_content(content_of(row, server_now));
  if (!result.exists()) {
    interpreter.fill_unused();
    return result;
  }
  if (!result.is_limiter()) return result;
  const auto& form = *result.state.form;
  if (form.layout == Layout::kText) {
    interpreter.fill_text();
  } else if (form.layout == Layout::kLeases) {
    interpreter.fill_leases(entries_of(row, result.state));
  } else if (interpreter.set_window({}) && result.window == known_window(asked)) {
    interpreter.fill_log(entries_of(row, result.state));
  }
  return result;
}

GroupUsage read_group_usage(const UsageGroup& group, const redis::Reply& reply) {
  GroupUsage usage;
  try {
    if (reply.is_error()) throw redis::to_error(reply, embedded::k_usage.text);
    if (reply.size() != group.size() + 2) {
      throw limiter::not_of_script();
    }
    const auto server_now = redis::server_time(reply);
    for (std::size_t i = 0; i < group.size(); ++i) {
      usage.keys.push_back(read_row(group[i], server_now, reply[i + 2]));
    }
  } catch (const redis::Error&) {
    usage = {.error = std::current_exception()};
  } catch (const UsageError&) {
    usage = {.error = std::current_exception()};
  }
  return usage;
}

}  // namespace

std::vector<GroupUsage> read_usage(redis::Connection& connection,
                                   std::span<const UsageGroup> groups) {
  const auto read_replies = [&](bool has_evalsha_ro) {
    connection.append({"SCRIPT", "LOAD", embedded::k_usage.text});
    for (const auto& group : groups) append_group(connection, group, has_evalsha_ro);
    const auto loaded = connection.read();
    if (loaded.is_error()) throw redis::to_error(loaded);
    std::vector<redis::Reply> replies;
    while (replies.size() < groups.size()) replies.push_back(connection.read());
    return replies;
  };
  bool has_evalsha_ro = true;
  auto replies = read_replies(has_evalsha_ro);
  if (std::ranges::any_of(replies, limiter::is_without_evalsha_ro)) {
    has_evalsha_ro = false;
    replies = read_replies(has_evalsha_ro);
  }
  for (int loads = 1;
       loads < limiter::kMaxLoads && std::ranges::any_of(replies, redis::is_unknown_script);
       ++loads) {
    replies = read_replies(has_evalsha_ro);
  }
  std::vector<GroupUsage> usages;
  usages.reserve(groups.size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    usages.push_back(read_group_usage(groups[i], replies[i]));
  }
  return usages;
}

namespace {

/// A log or a set of leases while its entries are counted.
struct CountedKey {
  const Form* form = nullptr;
  Inspection* result = nullptr;
  InspectionBuilder* interpreter = nullptr;
  EntryCounts entries = {};
  std::int64_t others = 0;  ///< members before the entries: the limit of leases
  bool has_window = false;
  microseconds first_live{0};      ///< entries before it have expired
  std::int64_t low = 0, high = 0;  ///< bound the number of expired entries

  bool is_list() const { return form->layout == Layout::kTimes; }
  bool is_leases() const { return form->layout == Layout::kLeases; }
  bool is_open() const { return low < high; }
  std::int64_t middle() const { return low + (high - low) / 2; }
  /// The argument that stands for an entry, counted from 0 for the oldest.
  std::string index_of(std::int64_t entry) const {
    return std::to_string(form->newest_first ? -1 - entry : entry + others);
  }
  /// The same for the entry whose end makes room, if the key is full.
  std::optional<std::string> freeing_index() const {
    const auto entry = interpreter->freeing_entry();
    return entry ? std::optional(index_of(entries.size - *entry)) : std::nullopt;
  }
};

class Surveying {
 public:
  Surveying(redis::Connection& connection, std::span<const InspectedKey> keys)
      : connection_(connection), results_(keys.size()) {
    for (std::size_t i = 0; i < keys.size(); ++i) {
      results_[i].inspection.key = keys[i].key;
      interpreters_.emplace_back(keys[i].request, results_[i].inspection);
    }
  }

  std::vector<Surveyed> run();

 private:
  void read_headers();
  void read_contents();
  void interpret(std::size_t index, KeySample content);
  void read_sizes();
  void begin(CountedKey& each, std::int64_t members);
  void count_by_score();
  void bisect();
  void read_freeing_entries();
  std::optional<redis::Reply> read_of(CountedKey& each);
  std::optional<microseconds> time_in(CountedKey& each, std::string_view text);
  static void fill(CountedKey& each);
  static void drop(CountedKey& each);
  void drop_the_changed();

  redis::Connection& connection_;
  std::vector<Surveyed> results_;
  std::deque<InspectionBuilder> interpreters_;
  std::vector<CountedKey> counted_;
};

/// What every key has. The first command that needs a key shows whether the user may read it.
void Surveying::read_headers() {
  connection_.append({"TIME"});
  for (const auto& each : results_) {
    append_header(connection_, each.inspection.key);
  }
  const auto time = connection_.read();
  if (time.is_error()) throw redis::to_error(time);
  const auto now = redis::server_time(time);
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const auto ttl = connection_.read();
    const auto bytes = connection_.read();
    if (ttl.is_error()) {
      results_[i].refused = redis::to_error(ttl);
      if (results_[i].refused->failure() != redis::Failure::kRefused) throw *results_[i].refused;
    }
    interpreters_[i].set_header(to_header(now, ttl, bytes));
  }
}

void Surveying::read_contents() {
  std::vector<std::size_t> which;
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < results_.size(); ++i) {
    if (results_[i].refused) continue;
    which.push_back(i);
    keys.push_back(results_[i].inspection.key);
  }
  auto contents = stored::read_contents(connection_, keys, Parts::kCut);
  for (std::size_t i = 0; i < which.size(); ++i) interpret(which[i], std::move(contents[i]));
}

void Surveying::interpret(std::size_t index, KeySample content) {
  auto& result = results_[index].inspection;
  auto& interpreter = interpreters_[index];
  interpreter.set_content(std::move(content));
  if (!result.exists() || !result.is_limiter()) return;
  const auto& form = *result.state.form;
  if (form.layout == Layout::kText) return interpreter.fill_text();
  counted_.push_back({.form = &form,
                      .result = &result,
                      .interpreter = &interpreter,
                      .others = result.state.most_leases ? 1 : 0});
}

/// The reply to a command about this key; none if the key changed its type.
std::optional<redis::Reply> Surveying::read_of(CountedKey& each) {
  auto reply = connection_.read();
  if (!reply.is_error()) return reply;
  if (redis::error_code(reply.text()) != "WRONGTYPE") throw redis::to_error(reply);
  drop(each);
  return std::nullopt;
}

/// The time of an entry, as LINDEX or ZRANGE replied it. Drops the key if it is none.
std::optional<microseconds> Surveying::time_in(CountedKey& each, std::string_view text) {
  try {
    return entry_time(*each.form, text);
  } catch (const redis::Error&) {
    drop(each);
    return std::nullopt;
  }
}

/// The key is not, or no longer, what it seemed to be.
void Surveying::drop(CountedKey& each) {
  each.result->content = {.type = "none"};
  each.result->state = {};
  each.low = each.high = 0;
}

void Surveying::drop_the_changed() {
  std::erase_if(counted_, [](const CountedKey& each) { return !each.result->exists(); });
}

void Surveying::read_sizes() {
  for (const auto& each : counted_) {
    connection_.append({each.is_list() ? "LLEN" : "ZCARD", each.result->key});
  }
  for (auto& each : counted_) {
    if (const auto size = read_of(each)) begin(each, size->integer());
  }
  drop_the_changed();
}

/// Finds out from when on entries count.
void Surveying::begin(CountedKey& each, std::int64_t members) {
  auto& result = *each.result;
  const bool is_reversed = each.form->newest_first;
  const auto& first = is_reversed ? result.content.last : result.content.first;
  const auto& last = is_reversed ? result.content.first : result.content.last;
  const auto newest = time_in(each, each.is_list() ? last.member : last.score);
  if (!newest || members <= each.others) return drop(each);
  each.entries = {.size = members - each.others, .newest = *newest};
  each.high = each.entries.size;
  if (each.is_leases()) {
    each.first_live = each.interpreter->first_live(*newest);
    return;
  }
  result.newest = newest;
  const auto oldest = time_in(each, each.is_list() ? first.member : first.score);
  if (!oldest) return;
  each.has_window = each.interpreter->set_window(EntryTimes{*oldest, *newest});
  if (each.has_window) each.first_live = each.interpreter->first_live(*newest);
  if (!each.has_window || *oldest >= each.first_live) each.high = 0;
}

void Surveying::count_by_score() {
  const auto applies = [](const CountedKey& each) { return !each.is_list() && each.is_open(); };
  for (const auto& each : counted_) {
    if (!applies(each)) continue;
    connection_.append(
        {"ZCOUNT", each.result->key, "0", score_before(*each.form, each.first_live)});
  }
  for (auto& each : counted_) {
    if (!applies(each)) continue;
    if (const auto reply = read_of(each)) each.low = each.high = reply->integer();
  }
}

/// Advances the searches in all lists together.
void Surveying::bisect() {
  const auto is_open = [](const CountedKey& each) { return each.is_open(); };
  while (std::ranges::any_of(counted_, is_open)) {
    for (const auto& each : counted_) {
      if (!each.is_open()) continue;
      connection_.append({"LINDEX", each.result->key, each.index_of(each.middle())});
    }
    for (auto& each : counted_) {
      if (!each.is_open()) continue;
      const auto reply = read_of(each);
      if (!reply) continue;
      const auto middle = each.middle();
      // An element that is no longer there was pruned, or the list got shorter.
      const auto time = reply->is_nil() ? each.first_live : time_in(each, reply->text());
      if (!time) continue;
      if (*time < each.first_live) {
        each.low = middle + 1;
      } else {
        each.high = middle;
      }
    }
  }
}

void Surveying::fill(CountedKey& each) {
  each.entries.expired = each.low;
  if (each.is_leases()) return each.interpreter->fill_leases(each.entries);
  if (each.has_window) return each.interpreter->fill_log(each.entries);
  each.result->stored = each.entries.size;
}

/// Of those that are full, reads the entry whose end makes room.
void Surveying::read_freeing_entries() {
  for (const auto& each : counted_) {
    const auto at = each.freeing_index();
    if (!at) continue;
    if (each.is_list()) {
      connection_.append({"LINDEX", each.result->key, *at});
    } else {
      connection_.append({"ZRANGE", each.result->key, *at, *at, "WITHSCORES"});
    }
  }
  for (auto& each : counted_) {
    if (!each.freeing_index()) continue;
    const auto reply = read_of(each);
    // The entry is gone if the key got shorter meanwhile.
    const bool is_gone = !reply || reply->is_nil() || (!each.is_list() && reply->size() < 2);
    if (is_gone) continue;
    const auto text = each.is_list() ? reply->text() : (*reply)[1].text();
    if (const auto time = time_in(each, text)) each.interpreter->set_next_free(*time);
  }
}

std::vector<Surveyed> Surveying::run() {
  read_headers();
  read_contents();
  read_sizes();
  count_by_score();
  bisect();
  drop_the_changed();
  for (auto& each : counted_) fill(each);
  read_freeing_entries();
  return std::move(results_);
}

}  // namespace

std::vector<Surveyed> survey(redis::Connection& connection, std::span<const InspectedKey> keys) {
  return Surveying(connection, keys).run();
}

void survey_all(redis::Connection& connection, const SurveyScan& scan) {
  // A hash of 64 bits stands for a key: among a hundred million keys, two are alike with a
  // probability of 1 in 3,700.
  std::unordered_set<std::size_t> seen_hashes;
  redis::Scan keys(connection, scan.pattern);
  while (!keys.done()) {
    std::vector<InspectedKey> page;
    for (auto& key : keys.next()) {
      if (scan.once && !seen_hashes.insert(std::hash<std::string>{}(key)).second) continue;
      auto request = scan.ask(key);
      page.push_back({.key = std::move(key), .request = request});
    }
    scan.on_page(survey(connection, page), keys.share());
  }
}

}  // namespace rlctl::stored
