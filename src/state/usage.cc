#include "state/usage.h"

#include <algorithm>
#include <chrono>
#include <string_view>

#include "base/text.h"
#include "embedded_usage.h"
#include "limiter/check.h"
#include "redis/error.h"
#include "redis/server_info.h"
#include "state/interpretation.h"
#include "state/libraries.h"

namespace rlctl::state {
namespace {

using redis::ReplyView;

std::string number_or_nothing(const std::optional<microseconds>& time) {
  return time ? std::to_string(time->count()) : std::string();
}

/// The window over which the entries of a log are counted, which the Interpreter will apply. None
/// if only the log itself can tell.
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

Content::Edge edge_with_score(ReplyView row, std::size_t at) {
  return {.member = std::string(row[at].text()), .score = std::string(row[at + 1].text())};
}

/// The part of the script's row that identifies the key's form.
Content content_of(ReplyView row, microseconds server_now) {
  Content content{.type = escaped_message(row[0].text())};
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
EntryCounts entries_of(ReplyView row, const State& state) {
  const auto& form = *state.form;
  if (form.keeping == Keeping::kTimes) {
    const auto newest = form.newest_first ? row[3].text() : row[4].text();
    return {
        .size = row[5].integer(), .expired = row[6].integer(), .newest = entry_time(form, newest)};
  }
  constexpr std::size_t kInUs = 8, kInMs = 9, kInSeconds = 10, kLapsed = 11;
  const auto in_unit = form.us_per_score == 1      ? kInUs
                       : form.us_per_score == 1000 ? kInMs
                                                   : kInSeconds;
  const auto expired = form.keeping == Keeping::kLeases ? kLapsed : in_unit;
  const auto others = state.most_leases ? 1 : 0;  // members: the limit of leases
  return {.size = row[7].integer() - others,
          .expired = row[expired].integer(),
          .newest = entry_time(form, row[6].text())};
}

Inspection read_row(const InspectedKey& asked, microseconds server_now, ReplyView row) {
  Inspection result;
  result.key = asked.key;
  Interpreter interpreter(asked.request, result);
  const bool has_bytes = row.size() > 2 && row[2].integer() >= 0;
  interpreter.set_frame({.server_now = server_now,
                         .ttl_ms = row.size() > 1 ? row[1].integer() : -1,
                         .bytes = has_bytes ? std::optional(row[2].integer()) : std::nullopt});
  interpreter.set_content(content_of(row, server_now));
  if (!result.exists()) {
    interpreter.fill_unused();
    return result;
  }
  if (!result.is_limiter()) return result;
  const auto& form = *result.state.form;
  if (form.keeping == Keeping::kText) {
    interpreter.fill_text();
  } else if (form.keeping == Keeping::kLeases) {
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

}  // namespace rlctl::state
