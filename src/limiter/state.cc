#include "limiter/state.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <numeric>
#include <utility>

#include "limiter/limit.h"
#include "limiter/model.h"

namespace rlctl::limiter {
namespace {

/// The latest time that may be stored: gcra's, leaky-bucket's, and the start of a counter's window.
constexpr std::int64_t kMaxFuture = 9'000'000'000'000'000;
/// The present in a wide sense: µs from 2010 to 2039. Limiters store present times, and a list of
/// other numbers may be anything. (Sixteen-digit bank card numbers are larger.)
constexpr std::int64_t kFirstOfToday = 1'262'304'000'000'000;
constexpr std::int64_t kLastOfToday = 2'200'000'000'000'000;
/// ms from 2001 to 2286: thirteen digits.
constexpr double kLeastMs = 1e12, kMostMs = 1e13;

/// Parses decimal digits, as the scripts write them; leading zeros only if `width` gives the number
/// of digits.
std::optional<std::int64_t> parse_number(std::string_view text, std::int64_t most,
                                         std::size_t width = 0) {
  if (text.empty() || text.size() > 18) return std::nullopt;
  if (width > 0 ? text.size() != width : (text.size() > 1 && text[0] == '0')) return std::nullopt;
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  if (text[0] == '-' || std::from_chars(text.data(), end, number).ptr != end) return std::nullopt;
  return number > most ? std::nullopt : std::optional(number);
}

/// Reads the fields of a packed form from left to right; all are little-endian. After a mismatch,
/// all reads fail.
class PackedReader {
 public:
  /// `tag` is followed by a space or, if a caller's clock was used, by '~'.
  PackedReader(std::string_view bytes, std::string_view tag) : rest_(bytes) {
    failed_ = !bytes.starts_with(tag) || bytes.size() <= tag.size() ||
              (bytes[tag.size()] != ' ' && bytes[tag.size()] != '~');
    if (!failed_) rest_.remove_prefix(tag.size() + 1);
  }

  /// A double.
  double real(double most) {
    const auto number = std::bit_cast<double>(bits(8));
    require(number >= 0 && number <= most);
    return failed_ ? 0 : number;
  }
  /// A double that is a whole number.
  std::int64_t whole(std::int64_t most) {
    const auto number = real(as_double(most));
    require(number == std::floor(number));
    return failed_ ? 0 : static_cast<std::int64_t>(number);
  }
  /// An unsigned integer of four bytes.
  std::int64_t count(std::int64_t most) {
    const auto number = static_cast<std::int64_t>(bits(4));
    require(number <= most);
    return failed_ ? 0 : number;
  }
  /// A limit that the algorithm's script accepts.
  Limit limit(std::string_view algorithm) {
    const auto& row = *find_algorithm(algorithm);
    Limit limit;
    limit.limit = count(kLargestLimit);
    limit.window = microseconds{whole(kLongestWindow.count())};
    if (row.has_burst) limit.burst = count(kLargestLimit);
    require(limit.limit > 0 && limit.window > microseconds{0} && limit.burst != 0);
    try {
      require_usable(row, limit, 0);
    } catch (const UsageError&) {
      failed_ = true;
    }
    return limit;
  }
  /// Whether all bytes were read and matched.
  [[nodiscard]] bool done() const { return !failed_ && rest_.empty(); }

 private:
  void require(bool condition) { failed_ = failed_ || !condition; }

  std::uint64_t bits(std::size_t size) {
    require(rest_.size() >= size);
    if (failed_) return 0;
    std::uint64_t value = 0;
    for (auto i = size; i-- > 0;) value = value << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  bool failed_ = false;
};

std::optional<State> read_fixed_window(const Content& content) {
  PackedReader fields(content.text, "fixed");
  FixedWindowFrame frame;
  frame.start = microseconds{fields.whole(kLatestNow.count())};
  frame.count = fields.count(kLargestLimit);
  const auto limit = fields.limit("fixed-window");
  if (!fields.done()) return std::nullopt;
  frame.window = limit.window;
  return State{.certain = true,
               .limit = limit,
               .model = std::make_shared<FixedWindowModel>(frame),
               .counts = {{.at = frame.start, .units = frame.count}}};
}

std::optional<State> read_counter(const Content& content) {
  PackedReader fields(content.text, "counter");
  CounterFrame frame;
  frame.start = microseconds{fields.whole(kMaxFuture)};
  frame.previous = fields.count(kLargestLimit);
  frame.current = fields.count(kLargestLimit);
  const auto limit = fields.limit("sliding-window-counter");
  if (!fields.done()) return std::nullopt;
  frame.window = limit.window;
  return State{.certain = true,
               .limit = limit,
               .model = std::make_shared<SlidingWindowCounterModel>(frame),
               .counts = {{.at = frame.start - frame.window, .units = frame.previous},
                          {.at = frame.start, .units = frame.current}}};
}

std::optional<State> read_tokens(const Content& content) {
  PackedReader fields(content.text, "tokens");
  TokenBucket bucket;
  bucket.tokens = fields.real(static_cast<double>(kLargestLimit));
  bucket.at = microseconds{fields.whole(kLatestNow.count())};
  const auto limit = fields.limit("token-bucket");
  if (!fields.done()) return std::nullopt;
  return State{.certain = true,
               .limit = limit,
               .model = std::make_shared<TokenBucketModel>(bucket),
               .time = bucket.at};
}

template <typename Model>
std::optional<State> read_rational_time(const Content& content, std::string_view tag,
                                        std::string_view algorithm) {
  PackedReader fields(content.text, tag);
  const microseconds whole{fields.whole(kMaxFuture)};
  const auto rest = fields.count(kLargestLimit);
  const auto limit = fields.limit(algorithm);
  if (!fields.done() || rest >= limit.limit) return std::nullopt;
  const RationalTime time{.parts = to_parts(whole, limit.limit) + rest, .per_us = limit.limit};
  return State{
      .certain = true, .limit = limit, .model = std::make_shared<Model>(time), .time = whole};
}

std::optional<State> read_gcra(const Content& content) {
  return read_rational_time<GcraModel>(content, "gcra", "gcra");
}

std::optional<State> read_leaky_bucket(const Content& content) {
  return read_rational_time<LeakyBucketModel>(content, "leaky", "leaky-bucket");
}

std::optional<State> read_log(const Content& content) {
  const auto first = parse_number(content.first.member, kLatestNow.count());
  const auto last = parse_number(content.last.member, kLatestNow.count());
  if (!first || !last || *first > *last) return std::nullopt;
  return State{.certain = content.expires && *first >= kFirstOfToday && *last <= kLastOfToday};
}

std::optional<double> parse_score(std::string_view text) {
  double score = 0;
  const auto* end = text.data() + text.size();
  if (text.empty() || std::from_chars(text.data(), end, score).ptr != end) return std::nullopt;
  return score;
}

/// Whether the member is 'MICROSECONDS:SEQUENCE' and its score is MICROSECONDS.
bool is_unit(const Content::Edge& edge) {
  constexpr std::size_t kSequence = 10;
  const std::string_view member = edge.member;
  if (member.size() < kSequence + 2) return false;
  const auto colon = member.size() - kSequence - 1;
  const auto time = parse_number(member.substr(0, colon), kLatestNow.count());
  const auto sequence = parse_number(member.substr(colon + 1), INT64_MAX, kSequence);
  return member[colon] == ':' && time && sequence &&
         parse_score(edge.score) == static_cast<double>(*time);
}

std::optional<State> read_zset_log(const Content& content) {
  if (!is_unit(content.first) || !is_unit(content.last)) return std::nullopt;
  return State{.certain = true};
}

/// When the lease lapses; none if the entry is not a lease.
std::optional<double> lapse_of(const Content::Edge& edge) {
  const auto lapse = parse_score(edge.score);
  const bool is_lease = edge.member.starts_with("lease:") && edge.member.size() > 6 && lapse &&
                        *lapse >= 0 && *lapse <= 5e15 && *lapse == std::floor(*lapse);
  return is_lease ? lapse : std::nullopt;
}

std::optional<State> read_leases(const Content& content) {
  const auto limit = leases_limit(content.first.member, content.first.score);
  const auto last = lapse_of(content.last);
  const auto first = limit ? last : lapse_of(content.first);
  if (!first || !last) return std::nullopt;
  return State{.certain = content.expires && *first >= kFirstOfToday && *last <= kLastOfToday,
               .most_leases = limit};
}

std::optional<State> read_foreign_zset(const Content& content) {
  const auto first = parse_score(content.first.score);
  const auto last = parse_score(content.last.score);
  const auto is_ms = [](const auto& score) {
    return score && *score >= kLeastMs && *score < kMostMs;
  };
  if (!is_ms(first) || !is_ms(last)) return std::nullopt;
  return State{};
}

std::optional<State> read_foreign_counter(const Content& content) {
  const auto count = parse_number(content.text, INT64_MAX);
  if (!count) return std::nullopt;
  return State{.counts = {{.units = *count}}};
}

constexpr int kQuarter = 25;

constexpr std::array kForms{
    StateForm{.name = "fixed-window", .type = "string", .read = read_fixed_window},
    StateForm{.name = "sliding-window-log",
              .type = "list",
              .keeping = Keeping::kTimes,
              .ttl_percent_over = kQuarter,
              .read = read_log},
    StateForm{.name = "sliding-window-zset",
              .type = "zset",
              .keeping = Keeping::kScores,
              .ttl_percent_over = kQuarter,
              .read = read_zset_log},
    StateForm{.name = "sliding-window-counter", .type = "string", .read = read_counter},
    StateForm{.name = "token-bucket", .type = "string", .read = read_tokens},
    StateForm{.name = "gcra", .type = "string", .read = read_gcra},
    StateForm{.name = "leaky-bucket", .type = "string", .read = read_leaky_bucket},
    StateForm{
        .name = "concurrency", .type = "zset", .keeping = Keeping::kLeases, .read = read_leases},
    // Scripts and pipelines of ZADD, ZREMRANGEBYSCORE, ZCARD and EXPIRE, where the TTL is the
    // window or a second more.
    StateForm{.name = "foreign-zset",
              .type = "zset",
              .summary = "a sorted set scored in milliseconds, as other limiters keep their window",
              .keeping = Keeping::kScores,
              .us_per_score = 1000,
              .ttl_over = std::chrono::milliseconds{1100},
              .read = read_foreign_zset},
    StateForm{.name = "foreign-counter",
              .type = "string",
              .summary = "a number, as other limiters count in one window",
              .read = read_foreign_counter},
};

}  // namespace

std::optional<std::int64_t> leases_limit(std::string_view member, std::string_view score) {
  const auto limit = parse_score(score);
  const bool is_limit =
      member == "limit" && limit && *limit <= -1 && *limit >= -1e9 && *limit == std::floor(*limit);
  return is_limit ? std::optional(static_cast<std::int64_t>(-*limit)) : std::nullopt;
}

std::span<const StateForm> state_forms() {
  return kForms;
}

std::string_view type_of_state(const Algorithm& algorithm) {
  return std::find_if(kForms.begin(), kForms.end(),
                      [&](const StateForm& form) { return form.name == algorithm.name; })
      ->type;
}

State decode(const Content& content) {
  for (const auto& form : kForms) {
    if (form.type != content.type) continue;
    auto state = form.read(content);
    if (!state) continue;
    state->form = &form;
    return *state;
  }
  return {};
}

std::string with_article(std::string_view type) {
  return std::string("a ").append(type == "zset" ? "sorted set" : type);
}

std::string describe_content(const Content& content) {
  const auto state = decode(content);
  if (state.is_ours()) return std::string(state.form->name) + "'s state";
  return with_article(content.type) + " that is not a limiter's state";
}

// ---- Reading ----

namespace {

constexpr std::string_view kLastOfText = "127";
static_assert(Content::kMostText == 128);
/// An entry may be of any size, which is unknown until it arrives, and a server builds all replies
/// to one write before it sends the first. So the ends of lists and sorted sets are read a few keys
/// at a time: first one key, then twice as many each time, up to this many...
constexpr std::size_t kMostEnds = 16;
/// ... and again one key if the last ends were larger than this in total.
constexpr std::size_t kManyBytes = std::size_t{1} << 20;
/// How often to read a key that seems empty: it expired or changed its type between the two halves
/// of a look, or is an empty string.
constexpr int kLooks = 2;

redis::Reply read_of_any_type(redis::Connection& connection) {
  auto reply = connection.read();
  if (reply.is_error() && redis::error_code(reply.text()) != "WRONGTYPE") {
    throw redis::to_error(reply);
  }
  return reply;
}

bool has_ends(const Content& content) {
  return content.type == "list" || content.type == "zset";
}

void append_read(redis::Connection& connection, const std::string& key, const std::string& type) {
  if (type == "string") {
    connection.append({"GETRANGE", key, "0", kLastOfText});
  } else if (type == "list") {
    connection.append({"LINDEX", key, "0"});
    connection.append({"LINDEX", key, "-1"});
    connection.append({"PTTL", key});
  } else if (type == "zset") {
    connection.append({"ZRANGE", key, "0", "0", "WITHSCORES"});
    connection.append({"ZRANGE", key, "-1", "-1", "WITHSCORES"});
    connection.append({"PTTL", key});
  }
}

bool is_edge(redis::ReplyView reply) {
  return reply.type() == redis::ReplyType::kString || reply.size() == 2;
}

Content::Edge edge(redis::ReplyView reply) {
  if (!is_edge(reply)) return {};
  if (reply.type() == redis::ReplyType::kString) {
    return {.member = std::string(reply.text()), .score = {}};
  }
  return {.member = std::string(reply[0].text()), .score = std::string(reply[1].text())};
}

/// Reads the replies to append_read(). Returns false if the key was empty: lists and sorted sets
/// never are, strings rarely.
bool take_read(redis::Connection& connection, Content& content) {
  if (content.type == "string") {
    const auto text = read_of_any_type(connection);
    if (!text.is_error()) content.text = text.text();
    return !content.text.empty();
  }
  if (!has_ends(content)) return true;
  const auto first = read_of_any_type(connection);
  const auto last = read_of_any_type(connection);
  content.expires = read_of_any_type(connection).integer() > 0;
  content.first = edge(first);
  content.last = edge(last);
  return is_edge(first) && is_edge(last);
}

using Indices = std::vector<std::size_t>;

/// Reads the contents of some keys, whose types are known. Appends the indices of empty ones to
/// `empty`; returns the total size of the ends in bytes.
std::size_t read_group(redis::Connection& connection, std::span<const std::string> keys,
                       std::vector<Content>& contents, std::span<const std::size_t> group,
                       Indices& empty) {
  for (const auto i : group) append_read(connection, keys[i], contents[i].type);
  std::size_t bytes = 0;
  for (const auto i : group) {
    if (!take_read(connection, contents[i])) empty.push_back(i);
    bytes += contents[i].first.member.size() + contents[i].last.member.size();
  }
  return bytes;
}

/// The same for any number of keys. Returns the indices of empty ones.
Indices read_groups(redis::Connection& connection, std::span<const std::string> keys,
                    std::vector<Content>& contents, Indices which) {
  const auto small_ones = std::partition(which.begin(), which.end(),
                                         [&](std::size_t i) { return has_ends(contents[i]); });
  Indices empty;
  std::span<const std::size_t> ends(which.begin(), small_ones);
  std::size_t most = 1;
  while (!ends.empty()) {
    const auto group = ends.first(std::min(most, ends.size()));
    const auto bytes = read_group(connection, keys, contents, group, empty);
    most = bytes > kManyBytes ? 1 : std::min(most * 2, kMostEnds);
    ends = ends.subspan(group.size());
  }
  read_group(connection, keys, contents, {small_ones, which.end()}, empty);
  return empty;
}

}  // namespace

std::vector<Content> read_contents(redis::Connection& connection,
                                   std::span<const std::string> keys) {
  std::vector<Content> contents(keys.size());
  Indices open(keys.size());
  std::iota(open.begin(), open.end(), std::size_t{0});
  for (int look = 1; !open.empty() && look <= kLooks; ++look) {
    for (const auto i : open) connection.append({"TYPE", keys[i]});
    for (const auto i : open)
      contents[i] = {.type = std::string(read_of_any_type(connection).text())};
    open = read_groups(connection, keys, contents, std::move(open));
  }
  return contents;
}

}  // namespace rlctl::limiter
