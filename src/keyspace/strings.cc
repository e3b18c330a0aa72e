#include <algorithm>
#include <limits>

#include "keyspace/call.h"

// Strings and counters.

namespace rlctl::keyspace {
namespace {

// ---- SET, GETEX ----

struct SetOptions {
  bool nx = false, xx = false, gets = false, keeps_ttl = false, persists = false;
  std::size_t expiry_word = 0;  ///< 0: none
  TimeUnit unit = {};
};

struct ExpiryOption {
  std::string_view word;
  TimeUnit unit;
};
constexpr ExpiryOption kExpiryOptions[] = {{"EX", {.is_seconds = true, .is_relative = true}},
                                           {"PX", {.is_seconds = false, .is_relative = true}},
                                           {"EXAT", {.is_seconds = true, .is_relative = false}},
                                           {"PXAT", {.is_seconds = false, .is_relative = false}}};

/// Reads EX, PX, EXAT or PXAT at word `i`, and skips its time; false if it is none of them, or does
/// not go with the options before it.
bool read_expiry_option(const Call& call, std::size_t& i, SetOptions& options) {
  const auto* const found = std::ranges::find_if(
      kExpiryOptions, [&](const ExpiryOption& option) { return call.is(i, option.word); });
  if (found == std::end(kExpiryOptions) || i + 1 >= call.words.size()) return false;
  const auto [is_seconds, is_relative] = found->unit;
  const bool is_another = options.expiry_word > 0 && (options.unit.is_seconds != is_seconds ||
                                                      options.unit.is_relative != is_relative);
  if (options.keeps_ttl || options.persists || is_another) return false;
  options.unit = found->unit;
  options.expiry_word = ++i;
  return true;
}

SetOptions read_set_options(const Call& call) {
  SetOptions options;
  for (std::size_t i = 3; i < call.words.size(); ++i) {
    if (call.is(i, "NX") && !options.xx) {
      options.nx = true;
    } else if (call.is(i, "XX") && !options.nx) {
      options.xx = true;
    } else if (call.is(i, "GET")) {
      options.gets = true;
    } else if (call.is(i, "KEEPTTL") && options.expiry_word == 0) {
      options.keeps_ttl = true;
    } else if (!read_expiry_option(call, i, options)) {
      throw ErrorReply{kSyntax};
    }
  }
  return options;
}

/// The expiry that a word gives, which must be after 1970. Throws ErrorReply.
std::int64_t future(const Call& call, std::size_t word, TimeUnit unit) {
  const auto amount = call.integer(word);
  if (amount <= 0) throw invalid_expiry(call);
  return expiry_time(call, amount, unit);
}

void set(Call& call) {
  const auto options = read_set_options(call);
  Expiry expiry;
  if (options.expiry_word > 0) expiry = future(call, options.expiry_word, options.unit);
  if (options.gets) call.reply_text_or_nil(call.find<Text>(call.words[1]));
  const auto* const old = call.find_key(call.words[1]);
  if ((options.nx && old != nullptr) || (options.xx && old == nullptr)) {
    if (!options.gets) call.reply_nil();
    return;
  }
  if (options.keeps_ttl && old != nullptr) expiry = old->expiry;
  call.set_text(call.words[1], call.words[2], expiry);
  if (!options.gets) call.reply_ok();
}

template <bool kSeconds>
void setex(Call& call) {
  const auto expiry = future(call, 2, {.is_seconds = kSeconds, .is_relative = true});
  call.set_text(call.words[1], call.words[3], expiry);
  call.reply_ok();
}

void setnx(Call& call) {
  const bool is_free = call.find_key(call.words[1]) == nullptr;
  if (is_free) call.set_text(call.words[1], call.words[2]);
  call.reply_integer(is_free ? 1 : 0);
}

void get(Call& call) {
  call.reply_text_or_nil(call.find<Text>(call.words[1]));
}

void getset(Call& call) {
  get(call);
  call.set_text(call.words[1], call.words[2]);
}

void getdel(Call& call) {
  get(call);
  call.remove(call.words[1]);
}

void getex(Call& call) {
  SetOptions options;
  for (std::size_t i = 2; i < call.words.size(); ++i) {
    if (call.is(i, "PERSIST") && options.expiry_word == 0) {
      options.persists = true;
    } else if (!read_expiry_option(call, i, options)) {
      throw ErrorReply{kSyntax};
    }
  }
  const auto key = call.words[1];
  const auto* const text = call.find<Text>(key);
  if (text == nullptr) return call.reply_nil();
  Expiry expiry;
  if (options.expiry_word > 0) expiry = future(call, options.expiry_word, options.unit);
  call.reply_text(*text);
  if (expiry && *expiry <= call.now_ms()) {
    call.remove(key);
  } else if (expiry || options.persists) {
    call.set_expiry(key, expiry);
  }
}

// ---- Several keys ----

void mget(Call& call) {
  call.reply_array(call.words.size() - 1);
  for (const auto name : call.words.subspan(1)) {
    const auto* const key = call.find_key(name);
    call.reply_text_or_nil(key == nullptr ? nullptr : std::get_if<Text>(key->value.get()));
  }
}

void set_pairs(Call& call) {
  for (std::size_t i = 1; i < call.words.size(); i += 2) {
    call.set_text(call.words[i], call.words[i + 1]);
  }
}

void mset(Call& call) {
  if (call.words.size() % 2 == 0) call.refuse_word_count();
  set_pairs(call);
  call.reply_ok();
}

void msetnx(Call& call) {
  if (call.words.size() % 2 == 0) call.refuse_word_count();
  for (std::size_t i = 1; i < call.words.size(); i += 2) {
    if (call.find_key(call.words[i]) != nullptr) return call.reply_integer(0);
  }
  set_pairs(call);
  call.reply_integer(1);
}

// ---- Parts ----

void append(Call& call) {
  auto& text = call.edit<Text>(call.words[1]);
  text += call.words[2];
  call.reply_integer(std::ssize(text));
}

void getrange(Call& call) {
  const auto first = call.integer(2), last = call.integer(3);
  const auto* const text = call.find<Text>(call.words[1]);
  if (text == nullptr || text->empty()) return call.reply_text({});
  const auto part = Slice::of_text(first, last, text->size());
  call.reply_text(std::string_view(*text).substr(part.begin, part.size()));
}

void setrange(Call& call) {
  const auto offset = call.integer(2);
  if (offset < 0) throw ErrorReply{"ERR offset is out of range"};
  const auto key = call.words[1], part = call.words[3];
  if (part.empty()) return reply_size<Text>(call);
  call.find<Text>(key);
  constexpr std::int64_t kLongest = 512 << 20;
  if (offset > kLongest - static_cast<std::int64_t>(part.size())) {
    throw ErrorReply{"ERR string exceeds maximum allowed size (proto-max-bulk-len)"};
  }
  const auto begin = static_cast<std::size_t>(offset);
  auto& text = call.edit_text(key, begin + part.size());
  text.replace(begin, part.size(), part);
  call.reply_integer(std::ssize(text));
}

// ---- Counters ----

void add_to_counter(Call& call, std::int64_t increment) {
  const auto* const text = call.find<Text>(call.words[1]);
  const auto number = text == nullptr ? std::optional(std::int64_t{0}) : to_integer(*text);
  if (!number) throw ErrorReply{kNotInteger};
  const auto sum = integer_sum(*number, increment);
  auto& counter = call.edit<Text>(call.words[1]);
  counter.clear();
  append_number(counter, sum);
  call.reply_integer(sum);
}

void incr(Call& call) {
  add_to_counter(call, 1);
}

void decr(Call& call) {
  add_to_counter(call, -1);
}

void incrby(Call& call) {
  add_to_counter(call, call.integer(2));
}

void decrby(Call& call) {
  const auto decrement = call.integer(2);
  if (decrement == std::numeric_limits<std::int64_t>::min()) {
    throw ErrorReply{"ERR decrement would overflow"};
  }
  add_to_counter(call, -decrement);
}

void incrbyfloat(Call& call) {
  const auto* const text = call.find<Text>(call.words[1]);
  const auto increment = to_increment(call.words[2]);
  auto sum = float_sum(text == nullptr ? 0 : to_increment(*text), increment);
  call.reply_text(sum);
  call.edit<Text>(call.words[1]) = std::move(sum);
}

constexpr Command kStringCommands[] = {
    {"APPEND", 3, kWrites, append},
    {"DECR", 2, kWrites, decr},
    {"DECRBY", 3, kWrites, decrby},
    {"GET", 2, kReads, get},
    {"GETDEL", 2, kWrites, getdel},
    {"GETEX", -2, kWrites, getex},
    {"GETRANGE", 4, kReads, getrange},
    {"GETSET", 3, kWrites, getset},
    {"INCR", 2, kWrites, incr},
    {"INCRBY", 3, kWrites, incrby},
    {"INCRBYFLOAT", 3, kWrites, incrbyfloat},
    {"MGET", -2, kReads, mget, kAllWords},
    {"MSET", -3, kWrites, mset, kAllWords, 2},
    {"MSETNX", -3, kWrites, msetnx, kAllWords, 2},
    {"PSETEX", 4, kWrites, setex<false>},
    {"SET", -3, kWrites, set},
    {"SETEX", 4, kWrites, setex<true>},
    {"SETNX", 3, kWrites, setnx},
    {"SETRANGE", 4, kWrites, setrange},
    {"STRLEN", 2, kReads, reply_size<Text>},
    {"SUBSTR", 4, kReads, getrange},
};

}  // namespace

std::span<const Command> string_commands() {
  return kStringCommands;
}

}  // namespace rlctl::keyspace
