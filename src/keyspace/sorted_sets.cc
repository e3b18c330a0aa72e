#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>

#include "keyspace/call.h"

// Sorted sets.

namespace rlctl::keyspace {
namespace {

void add_scored(SortedSet& set, double score, std::string_view member) {
  // Redis forgets the sign of -0 where it stores a set as a listpack.
  set.add({score + 0.0, std::string(member)});
}

/// Null if there is no such member.
const Scored* find_scored(const SortedSet* set, std::string_view member) {
  if (set == nullptr) return nullptr;
  const auto at = set->find(member);
  return at == set->end() ? nullptr : &*at;
}

/// From the last element of the slice on, if `reverse`.
template <typename Function>
void for_each(const SortedSet& set, Slice slice, bool reverse, Function function) {
  if (slice.size() == 0) return;
  auto at = set.at(reverse ? slice.end - 1 : slice.begin);
  for (auto left = slice.size(); left > 0; --left) {
    function(*at);
    if (left > 1) reverse ? --at : ++at;
  }
}

// ---- ZADD ----

struct AddOptions {
  bool nx = false, xx = false, gt = false, lt = false, ch = false, incr = false;
  std::size_t first_pair = 2;
};

AddOptions read_add_options(const Call& call) {
  AddOptions options{.incr = call.command == "ZINCRBY"};
  const std::pair<std::string_view, bool*> flags[] = {{"NX", &options.nx}, {"XX", &options.xx},
                                                      {"GT", &options.gt}, {"LT", &options.lt},
                                                      {"CH", &options.ch}, {"INCR", &options.incr}};
  for (auto& i = options.first_pair; i < call.words.size(); ++i) {
    const auto* const flag =
        std::ranges::find_if(flags, [&](const auto& its) { return call.is(i, its.first); });
    if (flag == std::end(flags)) break;
    *flag->second = true;
  }
  const auto left = call.words.size() - options.first_pair;
  if (left == 0 || left % 2 != 0) throw ErrorReply{kSyntax};
  if (options.nx && options.xx) {
    throw ErrorReply{"ERR XX and NX options at the same time are not compatible"};
  }
  if ((options.nx && (options.gt || options.lt)) || (options.gt && options.lt)) {
    throw ErrorReply{"ERR GT, LT, and/or NX options at the same time are not compatible"};
  }
  if (options.incr && left > 2) {
    throw ErrorReply{"ERR INCR option supports a single increment-element pair"};
  }
  return options;
}

enum class Added { kNothing, kUnchanged, kChanged, kNew };

/// Adds a member, or changes its score. `score` is the increment with INCR, and the new score
/// afterwards.
Added add_member(SortedSet& set, const AddOptions& options, std::string_view member,
                 double& score) {
  const auto at = set.find(member);
  if (at == set.end()) {
    if (options.xx) return Added::kNothing;
    add_scored(set, score, member);
    return Added::kNew;
  }
  if (options.nx) return Added::kNothing;
  const double old = at->score;
  if (options.incr) {
    score += old;
    if (std::isnan(score)) throw ErrorReply{"ERR resulting score is not a number (NaN)"};
  }
  if ((options.gt && score <= old) || (options.lt && score >= old)) return Added::kNothing;
  if (score == old) return Added::kUnchanged;
  set.remove(at);
  add_scored(set, score, member);
  return Added::kChanged;
}

void zadd(Call& call) {
  const auto options = read_add_options(call);
  std::vector<double> scores;
  for (auto i = options.first_pair; i < call.words.size(); i += 2) {
    const auto score = to_double(call.words[i]);
    if (!score) throw ErrorReply{kNotFloat};
    scores.push_back(*score);
  }
  auto& set = call.edit<SortedSet>(call.words[1]);
  std::int64_t count = 0;
  auto added = Added::kNothing;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    added = add_member(set, options, call.words[options.first_pair + 2 * i + 1], scores[i]);
    if (added == Added::kNew || (options.ch && added == Added::kChanged)) ++count;
  }
  if (!options.incr) return call.reply_integer(count);
  if (added == Added::kNothing) return call.reply_nil();
  call.reply_score(scores.front());
}

// ---- Members ----

void zrem(Call& call) {
  std::int64_t removed = 0;
  if (call.find<SortedSet>(call.words[1]) != nullptr) {
    auto& set = call.edit<SortedSet>(call.words[1]);
    for (const auto member : call.words.subspan(2)) {
      removed += set.remove(member) ? 1 : 0;
    }
  }
  call.reply_integer(removed);
}

void reply_score_or_nil(Call& call, const SortedSet* set, std::string_view member) {
  const auto* const scored = find_scored(set, member);
  if (scored == nullptr) return call.reply_nil();
  call.reply_score(scored->score);
}

void zscore(Call& call) {
  reply_score_or_nil(call, call.find<SortedSet>(call.words[1]), call.words[2]);
}

void zmscore(Call& call) {
  const auto* const set = call.find<SortedSet>(call.words[1]);
  call.reply_array(call.words.size() - 2);
  for (const auto member : call.words.subspan(2)) reply_score_or_nil(call, set, member);
}

template <bool kReverse>
void zrank(Call& call) {
  const auto* const set = call.find<SortedSet>(call.words[1]);
  const auto* const scored = find_scored(set, call.words[2]);
  if (scored == nullptr) return call.reply_nil();
  const auto rank = set->rank(*scored);
  call.reply_integer(static_cast<std::int64_t>(kReverse ? set->size() - 1 - rank : rank));
}

template <bool kHighest>
void zpop(Call& call) {
  if (call.words.size() > 3) throw ErrorReply{kSyntax};
  const auto wanted = call.words.size() == 3 ? call.count(2) : 1;
  const auto* const found = call.find<SortedSet>(call.words[1]);
  const auto count =
      found == nullptr ? 0 : std::min(static_cast<std::size_t>(wanted), found->size());
  call.reply_array(2 * count);
  if (count == 0) return;
  auto& set = call.edit<SortedSet>(call.words[1]);
  const Slice taken = kHighest ? Slice{set.size() - count, set.size()} : Slice{0, count};
  for_each(set, taken, kHighest, [&](const Scored& scored) {
    call.reply_text(scored.name);
    call.reply_score(scored.score);
  });
  set.remove(taken);
}

// ---- Ranges ----

enum class RangeBy { kRank, kScore, kLex };

struct ScoreBound {
  double score = 0;
  bool is_exclusive = false;
};

ScoreBound read_score_bound(std::string_view text) {
  const bool is_exclusive = text.starts_with('(');
  const auto score = to_double_leniently(std::string(text.substr(is_exclusive ? 1 : 0)));
  if (!score) throw ErrorReply{"ERR min or max is not a float"};
  return {*score, is_exclusive};
}

struct LexBound {
  std::string_view member = {};
  bool is_exclusive = false;
  int infinity = 0;  ///< -1 is before every member, 1 behind
};

LexBound read_lex_bound(std::string_view text) {
  if (text == "-") return {.infinity = -1};
  if (text == "+") return {.infinity = 1};
  if (!text.starts_with('(') && !text.starts_with('[')) {
    throw ErrorReply{"ERR min or max not valid string range item"};
  }
  return {.member = text.substr(1), .is_exclusive = text.starts_with('(')};
}

/// The number of elements in front of a bound: below it, and those equal to it if `with_equal`.
std::size_t elements_before(const SortedSet& set, const ScoreBound& bound, bool with_equal) {
  return set.count_first([&](const Scored& its) {
    return its.score < bound.score || (with_equal && its.score == bound.score);
  });
}
std::size_t elements_before(const SortedSet& set, const LexBound& bound, bool with_equal) {
  if (bound.infinity != 0) return bound.infinity > 0 ? set.size() : 0;
  return set.count_first([&](const Scored& its) {
    return its.name < bound.member || (with_equal && its.name == bound.member);
  });
}

template <typename Bound>
Slice slice_between(const SortedSet& set, const Bound& min, const Bound& max) {
  const auto begin = elements_before(set, min, min.is_exclusive);
  return {begin, std::max(begin, elements_before(set, max, !max.is_exclusive))};
}

/// A range as two words give it. Reads them before a key is looked at, as Redis does.
class SortedSetRange {
 public:
  SortedSetRange(const Call& call, RangeBy by, std::size_t min_word, std::size_t max_word)
      : name_(call.command), by_(by) {
    const auto min = call.words[min_word], max = call.words[max_word];
    if (by == RangeBy::kRank) {
      first_ = call.integer(std::min(min_word, max_word));
      last_ = call.integer(std::max(min_word, max_word));
    } else if (by == RangeBy::kScore) {
      min_score_ = read_score_bound(min);
      max_score_ = read_score_bound(max);
    } else {
      min_lex_ = read_lex_bound(min);
      max_lex_ = read_lex_bound(max);
    }
  }

  Slice in(const SortedSet* set) const {
    if (set == nullptr) return {};
    if (by_ == RangeBy::kRank) return Slice::of(first_, last_, set->size());
    if (by_ == RangeBy::kScore) return slice_between(*set, min_score_, max_score_);
    if (set->begin()->score != std::prev(set->end())->score) {
      refuse(std::string(name_) + " by bytes of members with different scores");
    }
    return slice_between(*set, min_lex_, max_lex_);
  }

 private:
  std::string_view name_;
  RangeBy by_;
  std::int64_t first_ = 0, last_ = 0;
  ScoreBound min_score_ = {}, max_score_ = {};
  LexBound min_lex_ = {}, max_lex_ = {};
};

template <RangeBy kBy>
void count_range(Call& call) {
  const SortedSetRange range(call, kBy, 2, 3);
  const auto slice = range.in(call.find<SortedSet>(call.words[1]));
  call.reply_integer(static_cast<std::int64_t>(slice.size()));
}

template <RangeBy kBy>
void remove_range(Call& call) {
  const SortedSetRange range(call, kBy, 2, 3);
  const auto slice = range.in(call.find<SortedSet>(call.words[1]));
  // A value that other Keyspaces share is not copied for nothing.
  if (slice.size() > 0) call.edit<SortedSet>(call.words[1]).remove(slice);
  call.reply_integer(static_cast<std::int64_t>(slice.size()));
}

struct RangeOptions {
  RangeBy by = RangeBy::kRank;
  bool reverse = false, with_scores = false;
  std::int64_t offset = 0, limit = -1;  ///< -1: all
};

/// Reads the options from word 4 on. ZRANGE may say by what and in which order; the names of the
/// other commands do.
RangeOptions read_range_options(const Call& call, RangeOptions options, bool is_zrange) {
  for (std::size_t i = 4; i < call.words.size(); ++i) {
    const bool may_say_by = is_zrange && options.by == RangeBy::kRank;
    if (call.is(i, "WITHSCORES")) {
      options.with_scores = true;
    } else if (call.is(i, "LIMIT") && i + 2 < call.words.size()) {
      options.offset = call.integer(i + 1);
      options.limit = call.integer(i + 2);
      i += 2;
    } else if (is_zrange && !options.reverse && call.is(i, "REV")) {
      options.reverse = true;
    } else if (may_say_by && call.is(i, "BYLEX")) {
      options.by = RangeBy::kLex;
    } else if (may_say_by && call.is(i, "BYSCORE")) {
      options.by = RangeBy::kScore;
    } else {
      throw ErrorReply{kSyntax};
    }
  }
  if (options.limit != -1 && options.by == RangeBy::kRank) {
    throw ErrorReply{
        "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"};
  }
  if (options.with_scores && options.by == RangeBy::kLex) {
    throw ErrorReply{"ERR syntax error, WITHSCORES not supported in combination with BYLEX"};
  }
  return options;
}

/// So many elements from the end that comes first, without those that LIMIT skips.
Slice limited(Slice slice, const RangeOptions& options) {
  const auto size = static_cast<std::int64_t>(slice.size());
  // Redis skips all for a negative offset.
  const auto skipped = options.offset < 0 ? size : std::min(options.offset, size);
  const auto left = size - skipped;
  const auto count = options.limit < 0 ? left : std::min(options.limit, left);
  if (options.by == RangeBy::kRank) return slice;
  const auto first = static_cast<std::size_t>(skipped), length = static_cast<std::size_t>(count);
  if (options.reverse) return {slice.end - first - length, slice.end - first};
  return {slice.begin + first, slice.begin + first + length};
}

void reply_range(Call& call, const RangeOptions& options) {
  // The maximum comes first if the order is reversed; a rank counts from there.
  const bool is_swapped = options.reverse && options.by != RangeBy::kRank;
  const SortedSetRange range(call, options.by, is_swapped ? 3 : 2, is_swapped ? 2 : 3);
  const auto* const set = call.find<SortedSet>(call.words[1]);
  auto slice = range.in(set);
  if (options.reverse && !is_swapped && set != nullptr) {
    slice = {set->size() - slice.end, set->size() - slice.begin};
  }
  slice = limited(slice, options);
  call.reply_array(slice.size() * (options.with_scores ? 2 : 1));
  if (set == nullptr) return;
  for_each(*set, slice, options.reverse, [&](const Scored& scored) {
    call.reply_text(scored.name);
    if (options.with_scores) call.reply_score(scored.score);
  });
}

void zrange(Call& call) {
  reply_range(call, read_range_options(call, {}, true));
}

template <RangeBy kBy, bool kReverse>
void zrange_as_named(Call& call) {
  reply_range(call, read_range_options(call, {.by = kBy, .reverse = kReverse}, false));
}

constexpr Command kSortedSetCommands[] = {
    {"ZADD", -4, kWrites, zadd},
    {"ZCARD", 2, kReads, reply_size<SortedSet>},
    {"ZCOUNT", 4, kReads, count_range<RangeBy::kScore>},
    {"ZINCRBY", 4, kWrites, zadd},
    {"ZLEXCOUNT", 4, kReads, count_range<RangeBy::kLex>},
    {"ZMSCORE", -3, kReads, zmscore},
    {"ZPOPMAX", -2, kWrites, zpop<true>},
    {"ZPOPMIN", -2, kWrites, zpop<false>},
    {"ZRANGE", -4, kReads, zrange},
    {"ZRANGEBYLEX", -4, kReads, zrange_as_named<RangeBy::kLex, false>},
    {"ZRANGEBYSCORE", -4, kReads, zrange_as_named<RangeBy::kScore, false>},
    {"ZRANK", 3, kReads, zrank<false>},
    {"ZREM", -3, kWrites, zrem},
    {"ZREMRANGEBYLEX", 4, kWrites, remove_range<RangeBy::kLex>},
    {"ZREMRANGEBYRANK", 4, kWrites, remove_range<RangeBy::kRank>},
    {"ZREMRANGEBYSCORE", 4, kWrites, remove_range<RangeBy::kScore>},
    {"ZREVRANGE", -4, kReads, zrange_as_named<RangeBy::kRank, true>},
    {"ZREVRANGEBYLEX", -4, kReads, zrange_as_named<RangeBy::kLex, true>},
    {"ZREVRANGEBYSCORE", -4, kReads, zrange_as_named<RangeBy::kScore, true>},
    {"ZREVRANK", 3, kReads, zrank<true>},
    {"ZSCORE", 3, kReads, zscore},
};

}  // namespace

std::span<const Command> sorted_set_commands() {
  return kSortedSetCommands;
}

}  // namespace rlctl::keyspace
