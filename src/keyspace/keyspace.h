#pragma once

// The keys of a Redis 7 in this process, under a clock that stands until its user sets it: what the
// commands of a script read and write when it runs without a server.
//
//   keyspace::Keyspace keyspace(std::chrono::seconds{1'700'000'000});
//   runner.run("", keys, arguments, keyspace, reply);
//   keyspace.set_time(keyspace.now() + std::chrono::milliseconds{250});
//
// Time. The clock counts microseconds since 1970, which TIME replies. Expiry counts milliseconds,
// as in Redis: a key with a TTL exists until the clock has passed the millisecond in which it
// expires, and is gone with the first microsecond of the next. The clock may be set back; keys that
// had expired by then stay gone.
//
// Copies. A Keyspace is a value: a copy is another state, which a search can continue from. Copies
// share the values of their keys until one of them writes to a value. So a copy costs about 0.1 µs
// for a few keys, and the first write to a key after it costs a copy of that key's value. Copies
// that share values must stay in one thread.
//
// Commands. commands() lists them. Replies and errors are those of Redis 7 for a script, byte for
// byte, except that a missing array is a nil like any other. A call that cannot be answered as
// Redis 7 does throws NotImplementedHere; it changes nothing. That concerns
//   - commands that are not in the list, and that Redis 7 or a newer one lets scripts call;
//   - random choices: SPOP and SRANDMEMBER, unless there is nothing to choose from;
//   - COPY into another database; ranges by BYLEX of members with different scores, which Redis
//     does not define;
//   - more than kMostBytes in all values together.
// Redis 7 leaves one order to chance that has one here: that of the members of a set, and of the
// fields of a hash that is large, or has been (more than 128 fields, or one of more than 64 bytes).
// Here, integers in a set are in their order, as in Redis if there are at most 512 and never was
// another member; anything else is in the order of insertion.
//
// Other servers answer some calls otherwise. Redis 6, Redis 8 and Valkey have other words of
// errors, and Redis 8 and Valkey write a score as the shortest text: 0.1, not 0.10000000000000001.
// tests/keyspace/differential_test.cc lists the rest.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lua/runner.h"

namespace rlctl::keyspace {

/// For a call that a Keyspace cannot answer as Redis 7 does: it names the command.
using lua::NotImplementedHere;

/// A value of any type: keyspace/value.h.
struct Value;

/// As TYPE replies it: "zset".
std::string_view type_name(const Value& value);
/// A text that is equal for equal values of a type, and for no others.
std::string to_text(const Value& value);
/// The bytes that a value takes, about.
std::size_t size_of(const Value& value);

/// What all keys of a Keyspace may take, about. They are counted seldom: up to twice as much may
/// be stored before a call is refused.
inline constexpr std::size_t kMostBytes = std::size_t{128} << 20;

/// A command that a Keyspace implements.
struct CommandInfo {
  std::string_view name;  ///< in upper case
  int arity = 0;          ///< words with the name; negative: at least that many, as in COMMAND INFO
  bool writes = false;    ///< a script with the flag no-writes must not call it
};

/// The words of a command that are keys, as COMMAND GETKEYS finds them; none for a command that is
/// not in the list, or has too few words.
std::vector<std::string_view> keys_of(std::span<const std::string_view> words);
/// Whether the command writes to keys; false for one that is not in the list.
bool writes_keys(std::string_view command);

/// Milliseconds since 1970; without one, the key does not expire.
using Expiry = std::optional<std::int64_t>;

struct Key {
  /// Never null. Other keys and other Keyspaces may have the same value.
  std::shared_ptr<const Value> value;
  Expiry expiry = {};
};

class Keyspace final : public lua::Commands {
 public:
  Keyspace() = default;
  explicit Keyspace(std::chrono::microseconds now) : now_(now) {}

  /// All commands, by name.
  static std::vector<CommandInfo> commands();

  /// Throws NotImplementedHere; then nothing is changed, and nothing is appended.
  void call(std::span<const std::string_view> words, bool read_only, std::string& reply) override;

  std::chrono::microseconds now() const { return now_; }
  /// The time that TIME replies.
  std::chrono::microseconds shown_time() const { return now_ - ahead_; }
  void set_time(std::chrono::microseconds now) { set_time(now, now); }
  /// Shows commands another time than that by which keys expire: TIME replies it, and absolute
  /// times of expiry count from it. So a clock can step back for which no key lives longer, and
  /// one can advance for which no key expires.
  void set_time(std::chrono::microseconds now, std::chrono::microseconds shown);

  /// The names of the keys that exist, in the order of their bytes. They are valid until a key is
  /// written.
  std::vector<std::string_view> keys() const;
  /// Null if there is no such key. Valid until the next call or set_time().
  const Key* find(std::string_view name) const;
  /// What PTTL replies for a key that expires.
  std::chrono::milliseconds ttl(const Key& key) const;

  /// An upper estimate of the bytes of all values.
  std::size_t bytes_at_most() const { return bytes_at_most_; }

  /// A text that is equal for two that differ by a shift of time at most, and for no others: their
  /// keys and values are equal, and each key expires in as many microseconds from its clock. Times
  /// within values are not shifted.
  std::string to_text() const;

 private:
  friend class Call;
  using Keys = std::map<std::string, Key, std::less<>>;

  std::int64_t now_ms() const;
  std::int64_t ahead_ms() const;
  bool has_expired(const Key& key) const { return key.expiry && now_ms() > *key.expiry; }
  /// From the millisecond of the clock, and how far the clock is within it; -1 if it does not
  /// expire. (A sum in microseconds might overflow.)
  std::pair<std::int64_t, std::int64_t> time_left(const Key& key) const;
  void remove_expired();
  /// Counts more bytes of values. Throws NotImplementedHere if all values are too large together.
  void reserve(std::size_t bytes);
  /// The same for a second key with this value, which will take room once it is written.
  void reserve_copy(const Key& key);

  std::chrono::microseconds now_{0};
  std::chrono::microseconds ahead_{0};  ///< of the time that is shown
  Keys keys_ = {};                      ///< some may have expired
  std::size_t sweep_at_ = 8;       ///< with that many keys, those that have expired are removed
  std::size_t bytes_at_most_ = 0;  ///< the values have no more
};

}  // namespace rlctl::keyspace
