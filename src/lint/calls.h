#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lint/findings.h"

namespace rlctl::lint {

// What the words of a command mean. Commands that set neither TTLs nor scores are not known here.

/// A TTL that a command sets, as its words have it.
struct TtlWord {
  std::string name = {};  ///< of the command or of its option: "EXPIRE", "SET ... PX"
  double value = 0;
  std::chrono::microseconds unit{0};
  bool is_absolute = false;  ///< counts from 1970
};
std::optional<TtlWord> ttl_set_by(const Call& call);

/// The scores that ZADD sets.
std::vector<double> scores_of(const Call& call);
/// The finite bounds of a command about a range of scores.
std::vector<double> score_bounds_of(const Call& call);
/// The members or fields that ZADD, SADD or HSET adds.
std::vector<std::string> members_of(const Call& call);

/// Its name in lower case.
std::string command_of(const Call& call);
/// Whether the command counts all elements of a key.
bool counts_elements(const Call& call);
/// Whether it adds to a number.
bool increments(const Call& call);
/// Whether it writes, but only removes elements or sets TTLs.
bool is_upkeep(const Call& call);
/// The whole number that it replied.
std::optional<std::int64_t> integer_reply(const Call& call);

/// A number, if the text is nothing else.
std::optional<double> number_in(std::string_view text);
/// How messages show a call: its words, escaped.
std::string text_of(const Call& call);

}  // namespace rlctl::lint
