#pragma once

// One call of a command: its words, the keys that it reads and writes, and its reply. The functions
// of the commands are in a file for each type of value, which ends with the table of its commands.
// A row says what is checked before the function runs: the number of words, and whether a script
// with the flag no-writes may call it. What all functions check alike throws here: the type of a
// value, and words that must be numbers.

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/number.h"
#include "keyspace/keyspace.h"
#include "keyspace/value.h"

namespace rlctl::keyspace {

/// How a word gives a time: in seconds or milliseconds, from now or from 1970.
struct TimeUnit {
  bool is_seconds = false, is_relative = false;
};

/// Ends a command. The reply is this error, with its code.
struct ErrorReply {
  std::string text;
};

inline constexpr const char* kNotInteger = "ERR value is not an integer or out of range";
inline constexpr const char* kNotFloat = "ERR value is not a valid float";
inline constexpr const char* kNotPositive = "ERR value is out of range, must be positive";
inline constexpr const char* kSyntax = "ERR syntax error";
inline constexpr const char* kNoSuchKey = "ERR no such key";
inline constexpr const char* kWrongWordCount =
    "ERR Wrong number of args calling Redis command from script";

/// The integer, if it is written as Redis writes it: without "+", leading zeros or blanks.
std::optional<std::int64_t> to_integer(std::string_view text);
/// The text with the letters of ASCII in upper case.
std::string upper_case(std::string_view text);
/// Whether two words are equal but for the case of ASCII letters; `upper` is in upper case.
bool is_word(std::string_view text, std::string_view upper);

class Call {
 public:
  using Words = std::span<const std::string_view>;
  Call(Keyspace& keyspace, std::string_view its_command, Words its_words, std::string& reply)
      : command(its_command), words(its_words), keyspace_(keyspace), reply_(reply) {}

  const std::string_view command;  ///< its name in the table
  const Words words;               ///< with the name; as many as the table says

  // ---- Words ----

  bool is(std::size_t i, std::string_view upper) const { return is_word(words[i], upper); }
  /// Throws ErrorReply if the word is not an integer.
  std::int64_t integer(std::size_t i, const char* error = kNotInteger) const;
  /// Throws ErrorReply if the word is not an integer from 0.
  std::int64_t count(std::size_t i) const;
  /// Throws the error for a number of words that the table does not exclude.
  [[noreturn]] void refuse_word_count() const;

  // ---- Keys ----

  std::chrono::microseconds shown_time() const { return keyspace_.shown_time(); }
  std::int64_t now_ms() const { return keyspace_.now_ms(); }
  /// The milliseconds between 1970 and what a time in this unit counts from.
  std::int64_t base_of(TimeUnit unit) const {
    return unit.is_relative ? keyspace_.now_ms() : keyspace_.ahead_ms();
  }
  /// Null if there is no such key.
  const Key* find_key(std::string_view name) const { return keyspace_.find(name); }
  /// The value of a key; null if there is no such key. Throws ErrorReply if it has another type.
  template <typename T>
  const T* find(std::string_view name) const {
    const auto* const key = find_key(name);
    return key == nullptr ? nullptr : &of_type<T>(*key->value);
  }
  /// The value of a key, to be changed; a new one if there is no such key. If it is an empty
  /// collection at the end of the call, the key is removed. At most two in one call. Throws
  /// ErrorReply if it has another type.
  template <typename T>
  T& edit(std::string_view name) {
    auto at = locate(name);
    if (at == keyspace_.keys_.end()) {
      at = add(name, {std::make_shared<Value>(std::in_place_type<T>)});
    }
    of_type<T>(*at->second.value);
    if (at->second.value.use_count() > 1) {
      at->second.value = std::make_shared<Value>(*at->second.value);
    }
    edited_[edited_count_++] = at;
    // No value is created const.
    return std::get<T>(const_cast<Value&>(*at->second.value));
  }
  /// Sets a key, whatever it was before.
  void set(std::string_view name, Key key);
  void set_text(std::string_view name, std::string_view text, Expiry expiry = {});
  /// The key must exist.
  void set_expiry(std::string_view name, Expiry expiry) { locate(name)->second.expiry = expiry; }
  /// Returns whether the key existed.
  bool remove(std::string_view name);
  /// The string of a key, to be changed, with at least `bytes` bytes: new ones are 0. Throws
  /// NotImplementedHere if it cannot grow that far.
  Text& edit_text(std::string_view name, std::size_t bytes);
  void reserve_copy(const Key& key) { keyspace_.reserve_copy(key); }
  /// Removes the keys whose collections are empty.
  void finish();

  // ---- The reply ----

  void reply_integer(std::int64_t number) { reply_line(':', number); }
  void reply_array(std::size_t size) { reply_line('*', static_cast<std::int64_t>(size)); }
  void reply_text(std::string_view text);
  void reply_text_or_nil(const std::string* text);
  /// With 17 digits, as Redis 7 writes scores.
  void reply_score(double score);
  void reply_nil() { reply_ += "$-1\r\n"; }
  void reply_status(std::string_view status);
  void reply_ok() { reply_ += "+OK\r\n"; }

 private:
  template <typename T>
  static const T& of_type(const Value& value) {
    const auto* const its = std::get_if<T>(&value);
    if (its == nullptr) refuse_type();
    return *its;
  }
  [[noreturn]] static void refuse_type();
  Keyspace::Keys::iterator locate(std::string_view name);
  Keyspace::Keys::iterator add(std::string_view name, Key key);
  void reply_line(char type, std::int64_t number);

  Keyspace& keyspace_;
  std::string& reply_;
  std::array<Keyspace::Keys::iterator, 2> edited_ = {};
  std::size_t edited_count_ = 0;
};

/// A row of a table.
struct Command {
  std::string_view name;  ///< in upper case
  int arity = 0;          ///< as CommandInfo has it
  bool writes = false;
  void (*run)(Call&) = nullptr;
  int last_key = 1;  ///< the index of the last word that is a key, the first being 1; 0: none is
  int key_step = 1;  ///< between two keys

  bool takes(std::size_t count) const {
    return arity > 0 ? count == static_cast<std::size_t>(arity)
                     : count >= static_cast<std::size_t>(-arity);
  }
};
constexpr bool kReads = false, kWrites = true;
constexpr int kNoKey = 0, kTwoKeys = 2, kAllWords = std::numeric_limits<int>::max();

/// STRLEN, LLEN, HLEN, SCARD and ZCARD.
template <typename T>
void reply_size(Call& call) {
  const auto* const value = call.find<T>(call.words[1]);
  call.reply_integer(value == nullptr ? 0 : static_cast<std::int64_t>(value->size()));
}

/// Throws NotImplementedHere: "… is not implemented here".
[[noreturn]] void refuse(std::string_view what);
/// For a name that is in none of the tables: throws NotImplementedHere if Redis up to 8 or Valkey
/// up to 9 has a command of this name.
void refuse_other_command(std::string_view word);

std::span<const Command> key_commands();
std::span<const Command> string_commands();
std::span<const Command> bit_commands();
std::span<const Command> hash_commands();
std::span<const Command> list_commands();
std::span<const Command> set_commands();
std::span<const Command> sorted_set_commands();

// ---- What tables share ----

/// A text as strtod() reads it, but for blanks in front; std::nullopt for NaN and what is too large
/// or too small.
std::optional<double> to_double(std::string_view text);
/// A text as strtod() reads it: 0 if it is empty; std::nullopt for NaN.
std::optional<double> to_double_leniently(const std::string& text);
/// As to_double(), in the precision in which Redis adds on this machine. Throws ErrorReply.
long double to_increment(std::string_view text, const char* error = kNotFloat);
/// The sum as INCRBYFLOAT writes it. Throws ErrorReply.
std::string float_sum(long double number, long double increment);
/// A number plus a number. Throws ErrorReply.
std::int64_t integer_sum(std::int64_t number, std::int64_t increment);

/// The expiry that an integer gives. Throws ErrorReply if it does not fit.
std::int64_t expiry_time(const Call& call, std::int64_t amount, TimeUnit unit);
/// The error for an expiry.
ErrorReply invalid_expiry(const Call& call);

}  // namespace rlctl::keyspace
