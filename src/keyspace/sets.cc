#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "keyspace/call.h"

namespace rlctl::keyspace {
namespace {

bool contains(const Set* set, std::string_view member) {
  return set != nullptr && set->contains(member);
}

void add_member(Set& set, std::string_view member) {
  set.add({next_number(set), std::string(member)});
}

void sadd(Call& call) {
  auto& set = call.edit<Set>(call.words[1]);
  std::int64_t added = 0;
  for (const auto member : call.words.subspan(2)) {
    if (contains(&set, member)) continue;
    add_member(set, member);
    ++added;
  }
  call.reply_integer(added);
}

void srem(Call& call) {
  std::int64_t removed = 0;
  if (call.find<Set>(call.words[1]) != nullptr) {
    auto& set = call.edit<Set>(call.words[1]);
    for (const auto member : call.words.subspan(2)) {
      removed += set.remove(member) ? 1 : 0;
    }
  }
  call.reply_integer(removed);
}

void sismember(Call& call) {
  call.reply_integer(contains(call.find<Set>(call.words[1]), call.words[2]) ? 1 : 0);
}

void smismember(Call& call) {
  const auto* const set = call.find<Set>(call.words[1]);
  call.reply_array(call.words.size() - 2);
  for (const auto member : call.words.subspan(2)) call.reply_integer(contains(set, member) ? 1 : 0);
}

/// Replies all members: integers in their order, as Redis stores them.
void reply_members(Call& call, const Set& set) {
  std::vector<std::string_view> members;
  for (const auto& member : set) members.emplace_back(member.name);
  const bool are_integers = std::ranges::all_of(
      members, [](std::string_view member) { return to_integer(member).has_value(); });
  if (are_integers) std::ranges::sort(members, {}, to_integer);
  call.reply_array(members.size());
  for (const auto member : members) call.reply_text(member);
}

void smembers(Call& call) {
  const auto* const set = call.find<Set>(call.words[1]);
  if (set == nullptr) return call.reply_array(0);
  reply_members(call, *set);
}

void smove(Call& call) {
  const auto from = call.words[1], to = call.words[2], member = call.words[3];
  const auto* const set = call.find<Set>(from);
  if (set == nullptr) return call.reply_integer(0);
  const auto* const other = call.find<Set>(to);
  if (!contains(set, member)) return call.reply_integer(0);
  if (from != to) {
    const bool is_new = !contains(other, member);
    call.edit<Set>(from).remove(member);
    if (is_new) add_member(call.edit<Set>(to), member);
  }
  call.reply_integer(1);
}

[[noreturn]] void refuse_to_choose(const Call& call) {
  refuse(fmt::format("{} of a random member", call.command));
}

/// SPOP and SRANDMEMBER, where chance has nothing to choose.
template <bool kRemoves>
void take_members(Call& call) {
  if (call.words.size() > 3) throw ErrorReply{kSyntax};
  const bool is_counted = call.words.size() == 3;
  const auto count = !is_counted ? 1 : kRemoves ? call.count(2) : call.integer(2);
  if (count < 0) refuse_to_choose(call);
  const auto* const set = call.find<Set>(call.words[1]);
  if (set == nullptr || count == 0) {
    return is_counted ? call.reply_array(0) : call.reply_nil();
  }
  if (count < static_cast<std::int64_t>(set->size())) refuse_to_choose(call);
  if (is_counted) {
    reply_members(call, *set);
  } else {
    call.reply_text(set->begin()->name);
  }
  if (kRemoves) call.remove(call.words[1]);
}

constexpr Command kSetCommands[] = {
    {"SADD", -3, kWrites, sadd},
    {"SCARD", 2, kReads, reply_size<Set>},
    {"SISMEMBER", 3, kReads, sismember},
    {"SMEMBERS", 2, kReads, smembers},
    {"SMISMEMBER", -3, kReads, smismember},
    {"SMOVE", 4, kWrites, smove, kTwoKeys},
    {"SPOP", -2, kWrites, take_members<true>},
    {"SRANDMEMBER", -2, kReads, take_members<false>},
    {"SREM", -3, kWrites, srem},
};

}  // namespace

std::span<const Command> set_commands() {
  return kSetCommands;
}

}  // namespace rlctl::keyspace
