#include "lint/calls.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "base/table.h"
#include "base/text.h"
#include "lint/schedules.h"

namespace rlctl::lint {
namespace {

using std::chrono::microseconds;

constexpr microseconds kMillisecond{1000};

/// A command with a TTL as its second argument, or an option in front of a TTL.
struct TtlRow {
  std::string_view name;
  microseconds unit;
  bool is_absolute;
};
constexpr std::array kTtlCommands{
    TtlRow{"expire", kSecond, false},  TtlRow{"pexpire", kMillisecond, false},
    TtlRow{"expireat", kSecond, true}, TtlRow{"pexpireat", kMillisecond, true},
    TtlRow{"setex", kSecond, false},   TtlRow{"psetex", kMillisecond, false},
};
constexpr std::array kTtlOptions{
    TtlRow{"ex", kSecond, false},
    TtlRow{"px", kMillisecond, false},
    TtlRow{"exat", kSecond, true},
    TtlRow{"pxat", kMillisecond, true},
};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string upper_case(std::string text) {
  for (auto& c : text) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return text;
}

/// The index of the first score among the words of ZADD: after its options.
std::size_t first_score(const Call& call) {
  constexpr std::array<std::string_view, 6> kOptions{"nx", "xx", "gt", "lt", "ch", "incr"};
  std::size_t at = 2;
  while (at < call.words.size() && is_one_of(lower_case(call.words[at]), kOptions)) ++at;
  return at;
}

}  // namespace

std::string command_of(const Call& call) {
  return call.words.empty() ? "" : lower_case(call.words.front());
}

std::optional<double> number_in(std::string_view text) {
  const std::string copy(text);
  char* end = nullptr;
  const auto value = std::strtod(copy.c_str(), &end);
  const bool is_number = !copy.empty() && end == copy.c_str() + copy.size() && std::isfinite(value);
  return is_number ? std::optional(value) : std::nullopt;
}

std::optional<TtlWord> ttl_set_by(const Call& call) {
  const auto command = command_of(call);
  constexpr std::size_t kPlace = 2;
  if (const auto* row = find_by_name(kTtlCommands, command); row && call.words.size() > kPlace) {
    const auto value = number_in(call.words[kPlace]);
    // The reply is 0 if there is no key, or if NX or the like forbids it.
    if (!value || integer_reply(call) == 0) return std::nullopt;
    return TtlWord{upper_case(command), *value, row->unit, row->is_absolute};
  }
  if (command != "set" && command != "getex") return std::nullopt;
  for (std::size_t i = kPlace; i + 1 < call.words.size(); ++i) {
    const auto* row = find_by_name(kTtlOptions, lower_case(call.words[i]));
    const auto value = number_in(call.words[i + 1]);
    const bool may_be_option = i > kPlace || command == "getex";
    if (row == nullptr || !value || !may_be_option) continue;
    return TtlWord{upper_case(command) + " ... " + upper_case(call.words[i]), *value, row->unit,
                   row->is_absolute};
  }
  return std::nullopt;
}

std::vector<double> scores_of(const Call& call) {
  std::vector<double> scores;
  if (command_of(call) != "zadd") return scores;
  for (auto i = first_score(call); i + 1 < call.words.size(); i += 2) {
    if (const auto score = number_in(call.words[i])) scores.push_back(*score);
  }
  return scores;
}

std::vector<double> score_bounds_of(const Call& call) {
  constexpr std::array<std::string_view, 4> kRanges{"zremrangebyscore", "zcount", "zrangebyscore",
                                                    "zrevrangebyscore"};
  constexpr std::size_t kFirst = 2, kLast = 3;
  std::vector<double> bounds;
  if (!is_one_of(command_of(call), kRanges) || call.words.size() <= kLast) return bounds;
  for (const auto i : {kFirst, kLast}) {
    std::string_view word = call.words[i];
    if (word.starts_with('(')) word.remove_prefix(1);
    if (const auto bound = number_in(word)) bounds.push_back(*bound);
  }
  return bounds;
}

std::vector<std::string> members_of(const Call& call) {
  const auto command = command_of(call);
  std::vector<std::string> members;
  const auto add = [&](std::size_t from, std::size_t step) {
    for (auto i = from; i < call.words.size(); i += step) members.push_back(call.words[i]);
  };
  if (command == "zadd") add(first_score(call) + 1, 2);
  if (command == "sadd") add(2, 1);
  if (command == "hset" || command == "hsetnx" || command == "hmset") add(2, 2);
  return members;
}

bool counts_elements(const Call& call) {
  constexpr std::array<std::string_view, 4> kCounts{"zcard", "llen", "scard", "hlen"};
  return call.words.size() > 1 && is_one_of(command_of(call), kCounts);
}

std::int64_t pruned_by(const Call& call) {
  constexpr std::array<std::string_view, 4> kRemovals{"zremrangebyscore", "zrem", "hdel", "srem"};
  const auto command = command_of(call);
  if (is_one_of(command, kRemovals)) return integer_reply(call).value_or(0);
  return command == "lpop" && call.reply && *call.reply != "NULL" ? 1 : 0;
}

bool reads_ttl(const Call& call) {
  return command_of(call) == "pttl" || command_of(call) == "ttl";
}

bool increments(const Call& call) {
  constexpr std::array<std::string_view, 5> kIncrements{"incr", "incrby", "incrbyfloat", "hincrby",
                                                        "hincrbyfloat"};
  return is_one_of(command_of(call), kIncrements);
}

bool is_upkeep(const Call& call) {
  constexpr std::array<std::string_view, 17> kUpkeep{
      "expire", "pexpire", "expireat",        "pexpireat", "persist", "hexpire", "zremrangebyscore",
      "zrem",   "zpopmin", "zremrangebyrank", "ltrim",     "lrem",    "lpop",    "hdel",
      "srem",   "del",     "unlink"};
  return call.writes && is_one_of(command_of(call), kUpkeep);
}

std::optional<std::int64_t> integer_reply(const Call& call) {
  const auto value = call.reply ? number_in(*call.reply) : std::nullopt;
  constexpr double kMax = 9e18;
  if (!value || !(std::abs(*value) <= kMax)) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::string text_of(const Call& call) {
  std::string text;
  for (const auto& word : call.words) text += (text.empty() ? "" : " ") + escaped_text(word);
  return text;
}

}  // namespace rlctl::lint
