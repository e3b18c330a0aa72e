#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/findings.h"

// What the words of a command mean: its TTL, its scores, its members. findings.cc judges calls by
// this, and cli/commands/lint/observer.cc learns from it when a key expires. A command that is not
// in the tables of calls.cc sets nothing as far as rlctl knows, and leads to no finding.

namespace rlctl::lint {

/// A TTL that a command sets, as its words have it.
struct TtlWord {
  std::string name = {};  ///< the command and its option: "EXPIRE", "SET ... PX"
  double value = 0;
  std::chrono::microseconds unit{0};
  bool is_absolute = false;  ///< counts from 1970
};
/// std::nullopt if it sets none, as EXPIRE does if it replies 0.
std::optional<TtlWord> ttl_set_by(const Call& call);

/// The scores that ZADD sets.
std::vector<double> scores_of(const Call& call);
/// The finite bounds of a command about a range of scores.
std::vector<double> score_bounds_of(const Call& call);
/// The members or fields that ZADD, SADD or HSET adds.
std::vector<std::string> members_of(const Call& call);

/// The command's name in lower case; empty if the call has no words.
std::string command_of(const Call& call);
/// Whether the command counts all elements of a key.
bool counts_elements(const Call& call);
/// How many elements the command removed from a set, a hash or the front of a list.
std::int64_t pruned_by(const Call& call);
/// Whether the command replies the TTL of a key.
bool reads_ttl(const Call& call);
/// Whether the command adds to a number.
bool increments(const Call& call);
/// Whether the command writes, but only removes elements or sets TTLs.
bool is_upkeep(const Call& call);
/// The integer that is the reply; std::nullopt for any other.
std::optional<std::int64_t> integer_reply(const Call& call);

/// The finite number that is the whole text.
std::optional<double> number_in(std::string_view text);
/// How messages show a call: its words, escaped.
std::string text_of(const Call& call);

}  // namespace rlctl::lint
