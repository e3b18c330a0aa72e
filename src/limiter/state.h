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

// Finds out from a key's type and content alone which algorithm wrote it, and what it means.
// Nothing is guessed from the key's name.

/// The part of a key that identifies it.
struct Content {
  /// The first or last entry of a list or sorted set.
  struct Edge {
    std::string member;      ///< of a list: the element
    std::string score = {};  ///< as Redis writes it; empty in a list

    bool operator==(const Edge&) const = default;
  };
  /// No text of a limiter is longer: of longer ones only the beginning is fetched.
  static constexpr std::size_t kMostText = 128;

  std::string type;            ///< TYPE's word: "string", "list" ...; "none" if there is no key
  std::string text = {};       ///< of a string, its first kMostText bytes
  bool expires = false;        ///< of a list or a sorted set: it has a TTL
  Edge first = {}, last = {};  ///< of a list or a sorted set

  bool operator==(const Content&) const = default;
};

/// How a key holds its units, and so how a reader counts them.
enum class Keeping {
  kText,    ///< all of it is in a string, which was read whole
  kTimes,   ///< a list of the µs of each unit, oldest first
  kScores,  ///< a sorted set, each member a unit, the score its time
  kLeases,  ///< a sorted set, each member a lease, the score the time at which it lapses
};

struct State;

/// One form in which limiter state is kept: a row of the table in state.cc.
struct StateForm {
  std::string_view name;          ///< the algorithm's; a foreign one's begins with "foreign-"
  std::string_view type;          ///< TYPE's word
  std::string_view summary = {};  ///< of a foreign form: what it is, a few words; else empty
  Keeping keeping = Keeping::kText;
  std::int64_t us_per_score = 1;  ///< the unit of a sorted set's scores
  /// By the server's clock, a TTL was longer than the window when it was set, by at most this many
  /// percent plus ttl_over, which bounds the window. 0 and 0 if the TTL tells nothing about it.
  int ttl_percent_over = 0;
  microseconds ttl_over{0};
  /// None if the content, which is of this type, is not of this form.
  std::optional<State> (*read)(const Content&) = nullptr;

  /// Null for a foreign form.
  [[nodiscard]] const Algorithm* algorithm() const { return find_algorithm(name); }
  [[nodiscard]] bool is_foreign() const { return algorithm() == nullptr; }
};

/// Every form there is, those of this project first.
[[nodiscard]] std::span<const StateForm> state_forms();
/// The Redis type of an algorithm's state: "list".
[[nodiscard]] std::string_view type_of_state(const Algorithm& algorithm);

/// A counter, and when it began.
struct Count {
  microseconds at{0};
  std::int64_t units = 0;

  bool operator==(const Count&) const = default;
};

/// The meaning of a key's content.
struct State {
  const StateForm* form = nullptr;  ///< null: no known limiter keeps such content
  /// False if other programs keep such content as well, for other purposes: a string of digits may
  /// be any counter, a list of large numbers hold anything's names. Of lists and leases, which look
  /// like that, true only with times of about today and a TTL, which the scripts always set. Ask
  /// before deleting it.
  bool certain = false;
  /// The limit of the last call that wrote it; none if it is not stored.
  std::optional<Limit> limit = {};
  /// Of Keeping::kText, what it holds, of this project's forms alone; decides as the script would.
  std::shared_ptr<const KeyModel> model = {};
  /// The counters of fixed-window (one), sliding-window-counter (the previous window's and this
  /// one's) and foreign-counter (at 0: it does not say when it began).
  std::vector<Count> counts = {};
  /// The time that a bucket or queue keeps: when its tokens were counted, its theoretical arrival
  /// time, its last departure.
  std::optional<microseconds> time = {};

  /// It is state of one of this project's scripts.
  [[nodiscard]] bool is_ours() const { return form != nullptr && !form->is_foreign(); }
};

/// What the content is; its form is null if no known limiter wrote it.
[[nodiscard]] State decode(const Content& content);

/// TYPE's word in a sentence: "a string", "a sorted set".
[[nodiscard]] std::string with_article(std::string_view type);
/// What a key of this content holds, in a sentence: "fixed-window's state", "a list that is not a
/// limiter's state".
[[nodiscard]] std::string describe_content(const Content& content);

/// What decode() needs of each key, in the order of `keys`: TYPE of all, then the beginning of each
/// string, and both ends of each list and sorted set, some keys at a time, since these may be
/// large. Nothing is written, nothing pruned, no TTL touched. A key that changes its type between
/// the two is looked at once more; if it does so again, only its type is returned. Throws
/// redis::Error, also if the server refuses a command (NOPERM).
[[nodiscard]] std::vector<Content> read_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

/// read_contents() in two halves, for a caller that has other commands to send in the same write:
/// the first queues, the second takes the replies and looks further.
void append_types(redis::Connection& connection, std::span<const std::string> keys);
[[nodiscard]] std::vector<Content> take_contents(redis::Connection& connection,
                                                 std::span<const std::string> keys);

}  // namespace rlctl::limiter
