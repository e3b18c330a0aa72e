#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "base/time.h"
#include "limiter/algorithm.h"
#include "limiter/budget_model.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/connection.h"
#include "redis/error.h"
#include "stored/refilled_bucket.h"

namespace rlctl::stored {

/// Clocks of machines that are kept right differ by less.
inline constexpr std::chrono::seconds kClockError{10};

// How numbers in limiter state are parsed.

/// The present in a wide sense: µs from 2010 to 2039. Limiters store present times, and a list of
/// other numbers may be anything. (Sixteen-digit bank card numbers are larger.)
constexpr bool is_of_today(double us) {
  constexpr double kFirst = 1'262'304'000'000'000, kLast = 2'200'000'000'000'000;
  return us >= kFirst && us <= kLast;
}
constexpr bool is_of_today(std::int64_t us) {
  return is_of_today(static_cast<double>(us));
}

/// Whether a number is a time of today in s, ms, us or ns.
constexpr bool may_be_time(double number) {
  return is_of_today(number * 1e6) || is_of_today(number * 1e3) || is_of_today(number) ||
         is_of_today(number / 1e3);
}

/// Parses up to 19 decimal digits; leading zeros only if `width` gives the number of digits.
inline std::optional<std::int64_t> parse_number(std::string_view text, std::int64_t most,
                                                std::size_t width = 0) {
  if (text.empty() || text.size() > 19) return std::nullopt;
  if (width > 0 ? text.size() != width : (text.size() > 1 && text[0] == '0')) return std::nullopt;
  const auto number = to_number<std::int64_t>(text);
  return text[0] == '-' || !number || *number > most ? std::nullopt : number;
}

/// The most windows that there can have been since 1970: they are no shorter than a ms.
inline constexpr std::int64_t kMaxWindows = kLatestInstant / std::chrono::milliseconds{1};

/// A key's name that ends in a colon and a number: "a:17" is "a" and 17.
struct NumberedName {
  std::string_view name;
  std::int64_t number = 0;  ///< 0 to kMaxWindows
};

inline std::optional<NumberedName> parse_numbered(std::string_view key) {
  const auto colon = key.rfind(':');
  if (colon == key.npos) return std::nullopt;
  const auto number = parse_number(key.substr(colon + 1), kMaxWindows);
  if (!number) return std::nullopt;
  return NumberedName{.name = key.substr(0, colon), .number = *number};
}

// Determines which limiter wrote a key, and what the content means. The algorithms of this project
// are recognized by type and content alone, never by the key's name; the state of other libraries
// by rows of data: see libraries.h.

/// The part of a key's content that identifies its form.
struct KeySample {
  /// The first or last entry of a list or sorted set.
  struct Edge {
    std::string member;      ///< for a list: the element
    std::string score = {};  ///< as Redis prints it; empty for a list

    bool operator==(const Edge&) const = default;
  };
  /// Limiters store shorter texts: only the beginning of a longer one is read.
  static constexpr std::size_t kMaxText = 128;

  std::string type;            ///< as TYPE prints it: "string", "list"; "none": no such key
  std::string text = {};       ///< for a string, its first kMaxText bytes
  bool expires = false;        ///< it has a TTL
  Edge first = {}, last = {};  ///< for a list or a sorted set; whole, or cut: see Parts
  /// For a hash: the number of its fields, and the values of some, whole or cut: of those that rows
  /// name and of '', the header of a budget; or of all.
  std::int64_t size = 0;
  std::map<std::string, std::string, std::less<>> fields = {};
  /// When the key expires by the server's clock, as measured; none if it does not. Two measurements
  /// differ by some ms, so == ignores it.
  std::optional<microseconds> until = {};
  microseconds read_at{0};  ///< by the server's clock

  bool operator==(const KeySample& other) const;
};

/// How a key stores its units, and so how a reader counts them.
enum class Layout {
  kText,      ///< a string or a hash: KeySample has all of it that matters
  kTimes,     ///< a list with the time of each unit
  kScores,    ///< a sorted set, each member a unit, the score its time
  kLeases,    ///< a sorted set, each member a lease, the score the time at which it lapses
  kElements,  ///< a list with as many elements as units are left
  kBudget,    ///< a hash with a header and a field for each reservation
};

struct Decoded;
class Libraries;

/// The library of this project's forms.
inline constexpr std::string_view kOurLibrary = "rlctl";

/// A format of limiter state.
struct Form {
  /// The algorithm's name, as --algorithm spells it, whoever wrote the key; begins with "foreign-"
  /// if only the shape of the content is known; empty if several rows fit a key.
  std::string_view name = {};
  std::string_view type = {};              ///< as TYPE prints it
  std::string_view library = kOurLibrary;  ///< "redis_rate"; empty if only the shape is known
  std::string_view summary = {};           ///< for a foreign form: a short description; else empty
  Layout layout = Layout::kText;
  std::int64_t ns_per_score = 1000;  ///< the unit of times in a list or of a sorted set's scores
  microseconds held{0};              ///< a lease ends this long after the time that is stored
  bool is_weighted = false;          ///< a member stands for the units in its last four bytes
  bool newest_first = false;         ///< a list begins with its newest time
  /// Nothing but its TTL ends the window of this counter: without one, it counts for ever.
  bool ends_by_ttl = false;
  /// A count above the limit may end later than its window, when a block of the client ends.
  bool blocks = false;
  bool is_called_with_partner = false;  ///< one script call uses both keys; see Decoded::partner
  bool clock_is_callers = false;        ///< the times are those of the callers' clocks
  bool never_expires = false;           ///< a key has no TTL: without it, nobody would be let in
  /// Returns nothing if the content, which is of this type, is not of this form. Null for the
  /// forms of other libraries.
  std::optional<Decoded> (*read)(const KeySample&) = nullptr;

  bool is_foreign() const { return library != kOurLibrary; }
  /// Null for a foreign form, whatever its name.
  const limiter::Algorithm* algorithm() const {
    return is_foreign() ? nullptr : limiter::find_algorithm(name);
  }
  /// The name with the library's: "gcra" for ours, "redis_rate: gcra", "foreign-zset".
  std::string label() const;
};

/// The forms of this project.
std::span<const Form> our_forms();
/// What the header of a budget, the field '' of its hash, tells; std::nullopt if it is another
/// text.
std::optional<Decoded> decode_budget_header(std::string_view header);
/// The Redis type of an algorithm's state, such as "list".
std::string_view type_of_state(const limiter::Algorithm& algorithm);

/// A counter, and when its window began.
struct Count {
  microseconds at{0};
  std::int64_t units = 0;

  bool operator==(const Count&) const = default;
};

/// A key that denies all requests as long as it is there.
struct Ban {
  std::string key = {};
  std::optional<microseconds> until = {};  ///< none: for ever
};

/// What a budget stores.
struct StoredBudget {
  std::int64_t held = 0;        ///< what was held when the key was written
  microseconds next_lapse{0};   ///< no hold has lapsed since then before this; 0: none is held
  std::int64_t remembered = 0;  ///< reservations
  /// The script takes it that the key is there until then; 0: it looks.
  microseconds expires{0};
  /// Null if only the header was read; the model then has one reservation in place of all.
  std::shared_ptr<const limiter::Budget> whole = {};
};

/// The meaning of a key's content.
struct Decoded {
  const Form* form = nullptr;  ///< null: no known limiter stores such content
  /// False if other programs may store such content for other purposes: a string of digits may be
  /// any counter, a list of large numbers may hold IDs. For lists and leases, which are that
  /// ambiguous, true only if their times are about the present and they have a TTL, which the
  /// scripts always set. True for the form of a row. Ask before deleting such a key.
  bool certain = false;
  /// The limit of the last call that wrote the key; none if neither content nor name have it.
  std::optional<limiter::Limit> limit = {};
  /// For leases: how many the last call that took or renewed one allowed; none if not stored.
  std::optional<std::int64_t> most_leases = {};
  /// For budget.
  std::optional<StoredBudget> budget = {};
  /// For Layout::kText and kBudget and forms of this project: a model, which decides as the script
  /// would. Also for a foreign theoretical arrival time.
  std::shared_ptr<const limiter::KeyModel> model = {};
  /// The counters of fixed-window and budget (one) and of sliding-window-counter (of the previous
  /// window and of this one). A foreign counter is one; its time is 0 if it is not known when its
  /// window began.
  std::vector<Count> counts = {};
  /// The time that a bucket, queue or budget stores: when its tokens were counted, its theoretical
  /// arrival time, its last departure, or when it was written.
  std::optional<microseconds> time = {};

  // The following are set only for rows.

  /// The limit, if only its units are told.
  std::optional<std::int64_t> units = {};
  /// The window that the key or its row states; otherwise the window of the limit that applies.
  std::optional<microseconds> window = {};
  bool next_is_elsewhere = false;  ///< the counts of later windows are in other keys
  /// The stored number, of a count or of what is left of a limit; may be negative.
  std::optional<std::int64_t> left = {};
  /// The stored number if it is not whole, as of money: `left` is it rounded down, the units of a
  /// count rounded up.
  std::optional<double> fraction = {};
  /// Of the window before, some of which counts; see Count for this one.
  std::optional<std::int64_t> before = {};
  /// When the window ends. Neither told nor never: not known.
  std::optional<microseconds> end = {};
  bool never_ends = false;
  /// A bucket with its tokens and the time for which they were counted.
  std::optional<RefilledBucket> bucket = {};
  /// The name of the key that holds another part of the state, if there is one.
  std::string partner = {};
  /// This key is a part of that one's state; its own figures are not known.
  std::string part_of = {};
  bool is_ban = false;  ///< it denies all requests for that key as long as it is there
  std::optional<Ban> ban = {};
  /// Why the figures are not known, in a few words; empty if they are. See also: a limit is
  /// missing.
  std::string unknown = {};
  bool is_incomplete = false;  ///< because another key is not there

  /// Whether one of this project's scripts wrote the state.
  bool is_ours() const { return form != nullptr && !form->is_foreign(); }
};

/// The limit that a member of a set of leases stores with its score; none for another member.
std::optional<std::int64_t> leases_limit(std::string_view member, std::string_view score);

/// A type as TYPE replies it; a server that is none may say anything.
std::string to_type(const redis::Reply& reply);
/// A TTL as PTTL replies, at least 0; one above 285 years is cut.
microseconds to_ttl(std::int64_t pttl);
/// Sets `expires`, `until` and `read_at` from a reply to PTTL and the server's time at that moment.
void set_expiry(KeySample& content, std::int64_t pttl, microseconds now);

/// Decodes the state of this project's algorithms; else the form is null.
Decoded decode_ours(const KeySample& content);
/// Decodes what only looks like a limiter's: a number, or a sorted set of times. Its library is
/// empty, and all of its figures are unknown.
Decoded decode_shape(const KeySample& content);

/// Whether a key with this content, which decodes to this state, is a limiter's, and does not only
/// look like one's, as a plain number does: also if it has lost its TTL.
bool is_recognized(const KeySample& content, const Decoded& state);

/// The type as part of a sentence: "a string", "a sorted set".
std::string with_article(std::string_view type);
/// The state in a sentence: "fixed-window's state", "redis_rate's state (gcra)".
std::string describe_form(const Form& form);
/// What a key that only looks like a limiter's holds, in a few words: its number, "counts" or
/// "times".
std::string looks_text(const Decoded& state);
/// The content, which decodes to this state, in a sentence: that of describe_form(), or "a list
/// that is not known to be a limiter's state".
std::string describe_content(const KeySample& content, const Decoded& state);

/// How much is kept of an entry of a list or sorted set, and of a field of a hash.
enum class Parts {
  kWhole,
  kCut,  ///< the first KeySample::kMaxText bytes, so that the contents of many keys stay small
};

/// Reads what identifies the form of each key, in the order of `keys`: TYPE of all, then the time,
/// PTTL, the beginning of each string, some fields of each hash and both ends of each list and
/// sorted set, some keys at a time, since these may be large. Writes nothing, prunes nothing,
/// touches no TTL. A key that changes its type between the two steps is read once more; if it
/// changes again, only its type is returned. Throws redis::Error, also if the server refuses a
/// command (NOPERM).
std::vector<KeySample> read_contents(redis::Connection& connection,
                                     std::span<const std::string> keys, const Libraries& libraries,
                                     Parts parts = Parts::kWhole);

/// Keys that the user may read, and others.
struct ReadableKeys {
  std::vector<std::string> keys = {};     ///< those that exist
  std::vector<std::string> types = {};    ///< of `keys`
  std::vector<std::string> refused = {};  ///< those that the server refuses to the user
  std::optional<redis::Error> why = {};   ///< the error for the first of these
};

/// Asks for the TYPE of each key, and keeps their order. Throws redis::Error, but not for a key
/// that is refused.
ReadableKeys readable_keys(redis::Connection& connection, std::span<const std::string> keys);

/// Reads the contents of readable.keys as above, but for their TYPE, which is known.
std::vector<KeySample> read_contents(redis::Connection& connection, const ReadableKeys& readable,
                                     const Libraries& libraries, Parts parts = Parts::kWhole);

}  // namespace rlctl::stored
