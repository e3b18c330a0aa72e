#include <algorithm>
#include <iterator>
#include <limits>

#include "keyspace/call.h"

namespace rlctl::keyspace {
namespace {

enum class End { kLeft, kRight };

void push_element(List& list, End end, std::string_view element) {
  if (end == End::kLeft) {
    list.emplace_front(element);
  } else {
    list.emplace_back(element);
  }
}

std::string pop_element(List& list, End end) {
  auto element = std::move(end == End::kLeft ? list.front() : list.back());
  if (end == End::kLeft) {
    list.pop_front();
  } else {
    list.pop_back();
  }
  return element;
}

List::const_iterator at(const List& list, std::size_t index) {
  return list.begin() + static_cast<std::ptrdiff_t>(index);
}

template <End kEnd>
void push(Call& call) {
  auto& list = call.edit<List>(call.words[1]);
  for (const auto element : call.words.subspan(2)) push_element(list, kEnd, element);
  call.reply_integer(std::ssize(list));
}

template <End kEnd>
void push_if_exists(Call& call) {
  if (call.find<List>(call.words[1]) == nullptr) return call.reply_integer(0);
  push<kEnd>(call);
}

template <End kEnd>
void pop(Call& call) {
  if (call.words.size() > 3) call.refuse_word_count();
  const bool is_counted = call.words.size() == 3;
  const auto wanted = is_counted ? call.count(2) : 1;
  const auto* const found = call.find<List>(call.words[1]);
  if (found == nullptr) return call.reply_nil();
  auto count = std::min(static_cast<std::size_t>(wanted), found->size());
  if (is_counted) call.reply_array(count);
  if (count == 0) return;
  auto& list = call.edit<List>(call.words[1]);
  for (; count > 0; --count) call.reply_text(pop_element(list, kEnd));
}

/// The element with this number, which may count from the end.
std::optional<std::size_t> element_index(const List& list, std::int64_t number) {
  const auto size = static_cast<std::int64_t>(list.size());
  if (number < 0) number += size;
  if (number < 0 || number >= size) return {};
  return static_cast<std::size_t>(number);
}

void lindex(Call& call) {
  const auto* const list = call.find<List>(call.words[1]);
  if (list == nullptr) return call.reply_nil();
  const auto index = element_index(*list, call.integer(2));
  if (!index) return call.reply_nil();
  call.reply_text((*list)[*index]);
}

void lrange(Call& call) {
  const auto first = call.integer(2), last = call.integer(3);
  const auto* const list = call.find<List>(call.words[1]);
  const auto part = Slice::of(first, last, list == nullptr ? 0 : list->size());
  call.reply_array(part.size());
  for (auto i = part.begin; i < part.end; ++i) call.reply_text((*list)[i]);
}

void ltrim(Call& call) {
  const auto first = call.integer(2), last = call.integer(3);
  const auto* const found = call.find<List>(call.words[1]);
  if (found == nullptr) return call.reply_ok();
  const auto kept = Slice::of(first, last, found->size());
  if (kept.size() < found->size()) {
    auto& list = call.edit<List>(call.words[1]);
    list.erase(at(list, kept.end), list.end());
    list.erase(list.begin(), at(list, kept.begin));
  }
  call.reply_ok();
}

void lset(Call& call) {
  const auto* const list = call.find<List>(call.words[1]);
  if (list == nullptr) throw ErrorReply{kNoSuchKey};
  const auto index = element_index(*list, call.integer(2));
  if (!index) throw ErrorReply{"ERR index out of range"};
  call.edit<List>(call.words[1])[*index] = call.words[3];
  call.reply_ok();
}

/// Removes as many elements that are equal to one as the count says, from the left; from the right
/// if it is negative; all for 0.
void lrem(Call& call) {
  const auto wanted = call.integer(2);
  const auto most =
      wanted < 0 ? -std::max(wanted, -std::numeric_limits<std::int64_t>::max()) : wanted;
  std::int64_t removed = 0;
  if (call.find<List>(call.words[1]) != nullptr) {
    auto& list = call.edit<List>(call.words[1]);
    const auto is_removed = [&](const std::string& element) {
      if (element != call.words[3] || (most > 0 && removed == most)) return false;
      ++removed;
      return true;
    };
    if (wanted < 0) {
      list.erase(list.begin(), std::remove_if(list.rbegin(), list.rend(), is_removed).base());
    } else {
      list.erase(std::remove_if(list.begin(), list.end(), is_removed), list.end());
    }
  }
  call.reply_integer(removed);
}

void linsert(Call& call) {
  const bool is_after = call.is(2, "AFTER");
  if (!is_after && !call.is(2, "BEFORE")) throw ErrorReply{kSyntax};
  const auto* const found = call.find<List>(call.words[1]);
  if (found == nullptr) return call.reply_integer(0);
  const auto pivot = std::ranges::find(*found, call.words[3]) - found->begin();
  if (pivot == std::ssize(*found)) return call.reply_integer(-1);
  auto& list = call.edit<List>(call.words[1]);
  list.emplace(list.begin() + pivot + (is_after ? 1 : 0), call.words[4]);
  call.reply_integer(std::ssize(list));
}

void move_element(Call& call, End from, End to) {
  if (call.find<List>(call.words[1]) == nullptr) return call.reply_nil();
  call.find<List>(call.words[2]);
  // The two may be the same key, which keeps its TTL.
  const auto element = pop_element(call.edit<List>(call.words[1]), from);
  push_element(call.edit<List>(call.words[2]), to, element);
  call.reply_text(element);
}

End read_end(const Call& call, std::size_t word) {
  if (call.is(word, "LEFT")) return End::kLeft;
  if (call.is(word, "RIGHT")) return End::kRight;
  throw ErrorReply{kSyntax};
}

void lmove(Call& call) {
  const auto from = read_end(call, 3);
  move_element(call, from, read_end(call, 4));
}

void rpoplpush(Call& call) {
  move_element(call, End::kRight, End::kLeft);
}

constexpr Command kListCommands[] = {
    {"LINDEX", 3, kReads, lindex},
    {"LINSERT", 5, kWrites, linsert},
    {"LLEN", 2, kReads, reply_size<List>},
    {"LMOVE", 5, kWrites, lmove, kTwoKeys},
    {"LPOP", -2, kWrites, pop<End::kLeft>},
    {"LPUSH", -3, kWrites, push<End::kLeft>},
    {"LPUSHX", -3, kWrites, push_if_exists<End::kLeft>},
    {"LRANGE", 4, kReads, lrange},
    {"LREM", 4, kWrites, lrem},
    {"LSET", 4, kWrites, lset},
    {"LTRIM", 4, kWrites, ltrim},
    {"RPOP", -2, kWrites, pop<End::kRight>},
    {"RPOPLPUSH", 3, kWrites, rpoplpush, kTwoKeys},
    {"RPUSH", -3, kWrites, push<End::kRight>},
    {"RPUSHX", -3, kWrites, push_if_exists<End::kRight>},
};

}  // namespace

std::span<const Command> list_commands() {
  return kListCommands;
}

}  // namespace rlctl::keyspace
