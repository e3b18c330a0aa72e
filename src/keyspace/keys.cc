#include <fmt/format.h>

#include <algorithm>

#include "keyspace/call.h"

// Commands for keys of any type, their expiry, and the clock.

namespace rlctl::keyspace {
namespace {

void count_removed(Call& call) {
  const auto removed =
      std::ranges::count_if(call.words.subspan(1), [&](auto name) { return call.remove(name); });
  call.reply_integer(removed);
}

void exists(Call& call) {
  const auto existing = std::ranges::count_if(
      call.words.subspan(1), [&](auto name) { return call.find_key(name) != nullptr; });
  call.reply_integer(existing);
}

void type(Call& call) {
  const auto* const key = call.find_key(call.words[1]);
  call.reply_status(key == nullptr ? "none" : type_name(*key->value));
}

/// Moves a key, which must exist, to another name.
void move_key(Call& call) {
  const auto [from, to] = std::pair(call.words[1], call.words[2]);
  const auto key = *call.find_key(from);
  if (from == to) return;
  call.remove(from);
  call.set(to, key);
}

void rename(Call& call) {
  if (call.find_key(call.words[1]) == nullptr) throw ErrorReply{kNoSuchKey};
  move_key(call);
  call.reply_ok();
}

void renamenx(Call& call) {
  if (call.find_key(call.words[1]) == nullptr) throw ErrorReply{kNoSuchKey};
  const bool is_free = call.find_key(call.words[2]) == nullptr;
  if (is_free) move_key(call);
  call.reply_integer(is_free ? 1 : 0);
}

void copy(Call& call) {
  bool replaces = false;
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    if (call.is(i, "REPLACE")) {
      replaces = true;
    } else if (call.is(i, "DB") && i + 1 < call.words.size()) {
      refuse("COPY with DB");
    } else {
      throw ErrorReply{kSyntax};
    }
  }
  const auto [from, to] = std::pair(call.words[1], call.words[2]);
  if (from == to) throw ErrorReply{"ERR source and destination objects are the same"};
  const auto* const key = call.find_key(from);
  if (key == nullptr || (!replaces && call.find_key(to) != nullptr)) return call.reply_integer(0);
  call.reserve_copy(*key);
  call.set(to, Key(*key));
  call.reply_integer(1);
}

void time(Call& call) {
  constexpr std::int64_t kMicroseconds = 1'000'000;
  std::string digits;
  call.reply_array(2);
  append_number(digits, call.shown_time().count() / kMicroseconds);
  call.reply_text(digits);
  digits.clear();
  append_number(digits, call.shown_time().count() % kMicroseconds);
  call.reply_text(digits);
}

/// No one listens.
void publish(Call& call) {
  call.reply_integer(0);
}

// ---- Expiry ----

/// The conditions of EXPIRE.
struct ExpiryConditions {
  bool nx = false, xx = false, gt = false, lt = false;

  bool hold(Expiry old, std::int64_t at) const {
    if (nx && old) return false;
    if ((xx || gt) && !old) return false;
    if (gt && at <= *old) return false;
    return !(lt && old && at >= *old);
  }
};

ExpiryConditions read_conditions(const Call& call) {
  ExpiryConditions read;
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    if (call.is(i, "NX")) {
      read.nx = true;
    } else if (call.is(i, "XX")) {
      read.xx = true;
    } else if (call.is(i, "GT")) {
      read.gt = true;
    } else if (call.is(i, "LT")) {
      read.lt = true;
    } else {
      throw ErrorReply{fmt::format("ERR Unsupported option {}", call.words[i])};
    }
  }
  if (read.nx && (read.xx || read.gt || read.lt)) {
    throw ErrorReply{"ERR NX and XX, GT or LT options at the same time are not compatible"};
  }
  if (read.gt && read.lt) {
    throw ErrorReply{"ERR GT and LT options at the same time are not compatible"};
  }
  return read;
}

void expire(Call& call, TimeUnit unit) {
  const auto conditions = read_conditions(call);
  const auto at = expiry_time(call, call.integer(2), unit);
  const auto* const key = call.find_key(call.words[1]);
  if (key == nullptr || !conditions.hold(key->expiry, at)) return call.reply_integer(0);
  if (at <= call.now_ms()) {
    call.remove(call.words[1]);
  } else {
    call.set_expiry(call.words[1], at);
  }
  call.reply_integer(1);
}

void persist(Call& call) {
  const auto* const key = call.find_key(call.words[1]);
  const bool expires = key != nullptr && key->expiry;
  if (expires) call.set_expiry(call.words[1], {});
  call.reply_integer(expires ? 1 : 0);
}

void reply_expiry(Call& call, TimeUnit unit) {
  const auto* const key = call.find_key(call.words[1]);
  if (key == nullptr) return call.reply_integer(-2);
  if (!key->expiry) return call.reply_integer(-1);
  const auto time = *key->expiry - call.base_of(unit);
  // As in Redis, the sum may wrap around.
  const auto rounded = static_cast<std::int64_t>(static_cast<std::uint64_t>(time) + 500) / 1000;
  call.reply_integer(unit.is_seconds ? rounded : time);
}

template <bool kSeconds, bool kRelative>
void expire(Call& call) {
  expire(call, {.is_seconds = kSeconds, .is_relative = kRelative});
}
template <bool kSeconds, bool kRelative>
void reply_expiry(Call& call) {
  reply_expiry(call, {.is_seconds = kSeconds, .is_relative = kRelative});
}

constexpr Command kKeyCommands[] = {
    {"COPY", -3, kWrites, copy, kTwoKeys},
    {"DEL", -2, kWrites, count_removed, kAllWords},
    {"EXISTS", -2, kReads, exists, kAllWords},
    {"EXPIRE", -3, kWrites, expire<true, true>},
    {"EXPIREAT", -3, kWrites, expire<true, false>},
    {"EXPIRETIME", 2, kReads, reply_expiry<true, false>},
    {"PERSIST", 2, kWrites, persist},
    {"PEXPIRE", -3, kWrites, expire<false, true>},
    {"PEXPIREAT", -3, kWrites, expire<false, false>},
    {"PEXPIRETIME", 2, kReads, reply_expiry<false, false>},
    {"PTTL", 2, kReads, reply_expiry<false, true>},
    {"PUBLISH", 3, kWrites, publish, kNoKey},
    {"RENAME", 3, kWrites, rename, kTwoKeys},
    {"RENAMENX", 3, kWrites, renamenx, kTwoKeys},
    {"TIME", 1, kReads, time, kNoKey},
    {"TOUCH", -2, kReads, exists, kAllWords},
    {"TTL", 2, kReads, reply_expiry<true, true>},
    {"TYPE", 2, kReads, type},
    {"UNLINK", -2, kWrites, count_removed, kAllWords},
};

}  // namespace

std::span<const Command> key_commands() {
  return kKeyCommands;
}

}  // namespace rlctl::keyspace
