#include <cmath>

#include "keyspace/call.h"

// Hashes.

namespace rlctl::keyspace {
namespace {

const std::string* find_field(const Hash* hash, std::string_view name) {
  if (hash == nullptr) return nullptr;
  const auto at = hash->find(name);
  return at == hash->end() ? nullptr : &at->value;
}

/// Returns whether the field is new.
bool set_field(Hash& hash, std::string_view name, std::string_view value) {
  const auto at = hash.find(name);
  if (at != hash.end()) {
    at->value = value;
    return false;
  }
  hash.add({{next_number(hash), std::string(name)}, std::string(value)});
  return true;
}

std::int64_t set_fields(Call& call) {
  if (call.words.size() % 2 == 1) call.refuse_word_count();
  auto& hash = call.edit<Hash>(call.words[1]);
  std::int64_t added = 0;
  for (std::size_t i = 2; i < call.words.size(); i += 2) {
    added += set_field(hash, call.words[i], call.words[i + 1]) ? 1 : 0;
  }
  return added;
}

void hset(Call& call) {
  call.reply_integer(set_fields(call));
}

void hmset(Call& call) {
  set_fields(call);
  call.reply_ok();
}

void hsetnx(Call& call) {
  const bool is_free = find_field(call.find<Hash>(call.words[1]), call.words[2]) == nullptr;
  if (is_free) set_field(call.edit<Hash>(call.words[1]), call.words[2], call.words[3]);
  call.reply_integer(is_free ? 1 : 0);
}

void hget(Call& call) {
  call.reply_text_or_nil(find_field(call.find<Hash>(call.words[1]), call.words[2]));
}

void hmget(Call& call) {
  const auto* const hash = call.find<Hash>(call.words[1]);
  call.reply_array(call.words.size() - 2);
  for (const auto name : call.words.subspan(2)) call.reply_text_or_nil(find_field(hash, name));
}

template <bool kNames, bool kValues>
void reply_fields(Call& call) {
  const auto* const hash = call.find<Hash>(call.words[1]);
  if (hash == nullptr) return call.reply_array(0);
  call.reply_array(hash->size() * (kNames && kValues ? 2 : 1));
  for (const auto& field : *hash) {
    if (kNames) call.reply_text(field.name);
    if (kValues) call.reply_text(field.value);
  }
}

void hdel(Call& call) {
  std::int64_t removed = 0;
  if (call.find<Hash>(call.words[1]) != nullptr) {
    auto& hash = call.edit<Hash>(call.words[1]);
    for (const auto name : call.words.subspan(2)) {
      removed += hash.remove(name) ? 1 : 0;
    }
  }
  call.reply_integer(removed);
}

void hexists(Call& call) {
  const auto* const value = find_field(call.find<Hash>(call.words[1]), call.words[2]);
  call.reply_integer(value == nullptr ? 0 : 1);
}

void hstrlen(Call& call) {
  const auto* const value = find_field(call.find<Hash>(call.words[1]), call.words[2]);
  call.reply_integer(value == nullptr ? 0 : std::ssize(*value));
}

void hincrby(Call& call) {
  const auto increment = call.integer(3);
  const auto* const value = find_field(call.find<Hash>(call.words[1]), call.words[2]);
  const auto number = value == nullptr ? std::optional(std::int64_t{0}) : to_integer(*value);
  if (!number) throw ErrorReply{"ERR hash value is not an integer"};
  const auto sum = integer_sum(*number, increment);
  std::string digits;
  append_number(digits, sum);
  set_field(call.edit<Hash>(call.words[1]), call.words[2], digits);
  call.reply_integer(sum);
}

void hincrbyfloat(Call& call) {
  const auto increment = to_increment(call.words[3]);
  if (std::isinf(increment)) throw ErrorReply{"ERR value is NaN or Infinity"};
  const auto* const value = find_field(call.find<Hash>(call.words[1]), call.words[2]);
  const auto number = value == nullptr ? 0 : to_increment(*value, "ERR hash value is not a float");
  const auto sum = float_sum(number, increment);
  set_field(call.edit<Hash>(call.words[1]), call.words[2], sum);
  call.reply_text(sum);
}

constexpr Command kHashCommands[] = {
    {"HDEL", -3, kWrites, hdel},
    {"HEXISTS", 3, kReads, hexists},
    {"HGET", 3, kReads, hget},
    {"HGETALL", 2, kReads, reply_fields<true, true>},
    {"HINCRBY", 4, kWrites, hincrby},
    {"HINCRBYFLOAT", 4, kWrites, hincrbyfloat},
    {"HKEYS", 2, kReads, reply_fields<true, false>},
    {"HLEN", 2, kReads, reply_size<Hash>},
    {"HMGET", -3, kReads, hmget},
    {"HMSET", -4, kWrites, hmset},
    {"HSET", -4, kWrites, hset},
    {"HSETNX", 4, kWrites, hsetnx},
    {"HSTRLEN", 3, kReads, hstrlen},
    {"HVALS", 2, kReads, reply_fields<false, true>},
};

}  // namespace

std::span<const Command> hash_commands() {
  return kHashCommands;
}

}  // namespace rlctl::keyspace
