#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/algorithm.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/connection.h"

namespace rlctl::limiter {

// Determines from a key's type and content alone which algorithm wrote it, and what it means. Never
// guesses from the key's name.

/// The part of a key's content that identifies its form.
struct Content {
  /// The first or last entry of a list or sorted set.
  struct Edge {
    std::string member;      ///< for a list: the element
    std::string score = {};  ///< as Redis prints it; empty for a list

    bool operator==(const Edge&) const = default;
  };
  /// Limiters store shorter texts: only the beginning of a longer one is read.
  static constexpr std::size_t kMostText = 128;

  std::string type;            ///< as TYPE prints it: "string", "list"; "none": no such key
  std::string text = {};       ///< for a string, its first kMostText bytes
  bool expires = false;        ///< for a list or a sorted set: it has a TTL
  Edge first = {}, last = {};  ///< for a list or a sorted set

  bool operator==(const Content&) const = default;
};

/// How a key stores its units, and so how a reader counts them.
enum class Keeping {
  kText,    ///< a string, which was read completely
  kTimes,   ///< a list with the time of each unit in µs, oldest first
  kScores,  ///< a sorted set, each member a unit, the score its time
  kLeases,  ///< a sorted set, each member a lease, the score the time at which it lapses
};

struct State;

/// A format of limiter state: a row of the table in state.cc.
struct StateForm {
  std::string_view name;          ///< the algorithm's; for a foreign form, begins with "foreign-"
  std::string_view type;          ///< as TYPE prints it
  std::string_view summary = {};  ///< for a foreign form: a short description; else empty
  Keeping keeping = Keeping::kText;
  std::int64_t us_per_score = 1;  ///< the unit of a sorted set's scores
  /// By the server's clock, a TTL exceeded the window when it was set by at most this many percent
  /// plus ttl_over, which bounds the window. 0 and 0 if the TTL does not depend on the window.
  int ttl_percent_over = 0;
  microseconds ttl_over{0};
  /// Returns nothing if the content, which is of this type, is not of this form.
  std::optional<State> (*read)(const Content&) = nullptr;

  /// Null for a foreign form.
  [[nodiscard]] const Algorithm* algorithm() const { return find_algorithm(name); }
  [[nodiscard]] bool is_foreign() const { return algorithm() == nullptr; }
};

/// All forms, those of this project first.
[[nodiscard]] std::span<const StateForm> state_forms();
/// The Redis type of an algorithm's state, such as "list".
[[nodiscard]] std::string_view type_of_state(const Algorithm& algorithm);

/// A counter, and when its window began.
struct Count {
  microseconds at{0};
  std::int64_t units = 0;

  bool operator==(const Count&) const = default;
};

/// The meaning of a key's content.
struct State {
  const StateForm* form = nullptr;  ///< null: no known limiter stores such content
  /// False if other programs may store such content for other purposes: a string of digits may be
  /// any counter, a list of large numbers may hold IDs. For lists and leases, which are that
  /// ambiguous, true only if their times are about the present and they have a TTL, which the
  /// scripts always set. Ask before deleting such a key.
  bool certain = false;
  /// The limit of the last call that wrote the key; none if it is not stored.
  std::optional<Limit> limit = {};
  /// For leases: how many the last call that took or renewed one allowed; none if not stored.
  std::optional<std::int64_t> most_leases = {};
  /// For Keeping::kText and forms of this project: a model, which decides as the script would.
  std::shared_ptr<const KeyModel> model = {};
  /// The counters of fixed-window (one), sliding-window-counter (of the previous window and of this
  /// one) and foreign-counter (one with time 0, since the key does not store when it began).
  std::vector<Count> counts = {};
  /// The time that a bucket or queue stores: when its tokens were counted, its theoretical arrival
  /// time, or its last departure.
  std::optional<microseconds> time = {};

  /// Whether one of this project's scripts wrote the state.
  [[nodiscard]] bool is_ours() const { return form != nullptr && !form->is_foreign(); }
};

/// The limit that a member of a set of leases stores with its score; none for another member.
[[nodiscard]] std::optional<std::int64_t> leases_limit(std::string_view member,
                                                       std::string_view score);

/// Decodes the content; the form is null if no known limiter wrote it.
[[nodiscard]] State decode(const Content& content);

/// The type as part of a sentence: "a string", "a sorted set".
[[nodiscard]] std::string with_article(std::string_view type);
/// The content in a sentence: "fixed-window's state", "a list that is not a limiter's state".
[[nodiscard]] std::string describe_content(const Content& content);

/// Reads what decode() needs from each key, in the order of `keys`: TYPE of all, then the beginning
/// of each string and both ends of each list and sorted set, some keys at a time, since these may
/// be large. Writes nothing, prunes nothing, touches no TTL. A key that changes its type between
/// the two steps is read once more; if it changes again, only its type is returned. Throws
/// redis::Error, also if the server refuses a command (NOPERM).
[[nodiscard]] std::vector<Content> read_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

}  // namespace rlctl::limiter
