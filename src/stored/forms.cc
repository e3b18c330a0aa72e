#include "stored/forms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>
#include <tuple>
#include <utility>

#include "base/table.h"
#include "base/text.h"
#include "limiter/check.h"
#include "limiter/limit.h"
#include "limiter/model.h"
#include "redis/error.h"
#include "redis/server.h"
#include "stored/libraries.h"

namespace rlctl::stored {
namespace {

/// The latest time that may be stored: gcra's, leaky-bucket's, and the start of a counter's window.
constexpr std::int64_t kMaxFuture = 9'000'000'000'000'000;

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

  /// The fields without a tag.
  explicit PackedReader(std::string_view bytes) : rest_(bytes) {}

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
  /// An unsigned integer of at most seven bytes.
  std::int64_t integer(std::size_t size, std::int64_t most = INT64_MAX) {
    const auto number = static_cast<std::int64_t>(bits(size));
    require(number <= most);
    return failed_ ? 0 : number;
  }
  /// An unsigned integer of four bytes.
  std::int64_t count(std::int64_t most) {
    const auto number = static_cast<std::int64_t>(bits(4));
    require(number <= most);
    return failed_ ? 0 : number;
  }
  /// A limit that the algorithm's script accepts.
  limiter::Limit limit(std::string_view algorithm) {
    limiter::Limit limit;
    if (failed_) return limit;
    const auto& row = *limiter::find_algorithm(algorithm);
    limit.limit = count(limiter::kLargestLimit);
    limit.window = microseconds{whole(limiter::kLongestWindow.count())};
    if (row.has_burst) limit.burst = count(limiter::kLargestLimit);
    require(limit.limit > 0 && limit.window > microseconds{0} && limit.burst != 0);
    if (failed_) return limit;  // each text is tried as every form: no exception for that
    try {
      limiter::require_usable(row, limit, 0);
    } catch (const UsageError&) {
      failed_ = true;
    }
    return limit;
  }
  /// Whether all bytes were read and matched.
  bool done() const { return !failed_ && rest_.empty(); }

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

std::optional<Decoded> read_fixed_window(const KeySample& content) {
  PackedReader fields(content.text, "fixed");
  limiter::FixedWindowFrame frame;
  frame.start = microseconds{fields.whole(limiter::kLatestNow.count())};
  frame.count = fields.count(limiter::kLargestLimit);
  const auto limit = fields.limit("fixed-window");
  if (!fields.done()) return std::nullopt;
  frame.window = limit.window;
  return Decoded{.certain = true,
                 .limit = limit,
                 .model = std::make_shared<limiter::FixedWindowModel>(frame),
                 .counts = {{.at = frame.start, .units = frame.count}}};
}

std::optional<Decoded> read_counter(const KeySample& content) {
  PackedReader fields(content.text, "counter");
  limiter::CounterFrame frame;
  frame.start = microseconds{fields.whole(kMaxFuture)};
  frame.previous = fields.count(limiter::kLargestLimit);
  frame.current = fields.count(limiter::kLargestLimit);
  const auto limit = fields.limit("sliding-window-counter");
  if (!fields.done()) return std::nullopt;
  frame.window = limit.window;
  return Decoded{.certain = true,
                 .limit = limit,
                 .model = std::make_shared<limiter::SlidingWindowCounterModel>(frame),
                 .counts = {{.at = frame.start - frame.window, .units = frame.previous},
                            {.at = frame.start, .units = frame.current}}};
}

std::optional<Decoded> read_tokens(const KeySample& content) {
  PackedReader fields(content.text, "tokens");
  limiter::TokenBucket bucket;
  bucket.tokens = fields.real(static_cast<double>(limiter::kLargestLimit));
  bucket.at = microseconds{fields.whole(limiter::kLatestNow.count())};
  const auto limit = fields.limit("token-bucket");
  if (!fields.done()) return std::nullopt;
  bucket.limit = limit;
  return Decoded{.certain = true,
                 .limit = limit,
                 .model = std::make_shared<limiter::TokenBucketModel>(bucket),
                 .time = bucket.at};
}

/// Reads a time in units of 1/limit µs, of which make_model() makes the model.
template <typename MakeModel>
std::optional<Decoded> read_arrival_time(const KeySample& content, std::string_view tag,
                                         std::string_view algorithm, MakeModel make_model) {
  PackedReader fields(content.text, tag);
  const microseconds whole{fields.whole(kMaxFuture)};
  const auto rest = fields.count(limiter::kLargestLimit);
  const auto limit = fields.limit(algorithm);
  if (!fields.done() || rest >= limit.limit) return std::nullopt;
  const limiter::RationalTime time{.parts = limiter::to_parts(whole, limit.limit) + rest,
                                   .per_us = limit.limit};
  return Decoded{.certain = true,
                 .limit = limit,
                 .model = make_model(limiter::ArrivalTime{.time = time, .limit = limit}),
                 .time = whole};
}

std::optional<Decoded> read_gcra(const KeySample& content) {
  return read_arrival_time(content, "gcra", "gcra", [](const limiter::ArrivalTime& arrival) {
    return std::make_shared<limiter::GcraModel>(arrival);
  });
}

std::optional<Decoded> read_leaky_bucket(const KeySample& content) {
  return read_arrival_time(content, "leaky", "leaky-bucket",
                           [](const limiter::ArrivalTime& arrival) {
                             return std::make_shared<limiter::LeakyBucketModel>(arrival.time);
                           });
}

std::optional<Decoded> read_log(const KeySample& content) {
  const auto first = parse_number(content.first.member, limiter::kLatestNow.count());
  const auto last = parse_number(content.last.member, limiter::kLatestNow.count());
  if (!first || !last || *first > *last) return std::nullopt;
  // Like the script: small numbers that nothing lets expire, such as IDs, are another program's.
  constexpr std::int64_t kSmall = 1'000'000'000'000'000;
  if (!content.expires && *first < kSmall) return std::nullopt;
  return Decoded{.certain = content.expires && is_of_today(*first) && is_of_today(*last)};
}

/// Whether the member is 'MICROSECONDS:SEQUENCE' and its score is MICROSECONDS.
bool is_unit(const KeySample::Edge& edge) {
  constexpr std::size_t kSequence = 10;
  const std::string_view member = edge.member;
  if (member.size() < kSequence + 2) return false;
  const auto colon = member.size() - kSequence - 1;
  const auto time = parse_number(member.substr(0, colon), limiter::kLatestNow.count());
  const auto sequence = parse_number(member.substr(colon + 1), INT64_MAX, kSequence);
  return member[colon] == ':' && time && sequence &&
         to_number<double>(edge.score) == static_cast<double>(*time);
}

std::optional<Decoded> read_zset_log(const KeySample& content) {
  if (!is_unit(content.first) || !is_unit(content.last)) return std::nullopt;
  return Decoded{.certain = true};
}

/// When the lease lapses; none if the entry is not a lease.
std::optional<double> lapse_of(const KeySample::Edge& edge) {
  const auto lapse = to_number<double>(edge.score);
  const bool is_lease = edge.member.starts_with(limiter::kLeasePrefix) &&
                        edge.member.size() > limiter::kLeasePrefix.size() && lapse && *lapse >= 0 &&
                        *lapse <= 5e15 && *lapse == std::floor(*lapse);
  return is_lease ? lapse : std::nullopt;
}

std::optional<Decoded> read_leases(const KeySample& content) {
  const auto limit = leases_limit(content.first.member, content.first.score);
  const auto last = lapse_of(content.last);
  const auto first = limit ? last : lapse_of(content.first);
  if (!first || !last) return std::nullopt;
  return Decoded{.certain = content.expires && is_of_today(*first) && is_of_today(*last),
                 .most_leases = limit};
}

/// Scores that are times of today, but not of tomorrow. Members of queues of jobs are JSON.
template <std::int64_t kUsPerScore>
std::optional<Decoded> read_timed_zset(const KeySample& content) {
  const auto is_unit = [&](const KeySample::Edge& edge) {
    const auto us = to_number<double>(edge.score).value_or(0) * kUsPerScore;
    const auto now = as_double(content.read_at);
    // Times to come are leases or jobs; without a TTL, rather jobs.
    const bool is_past = now == 0 || us <= now + as_double(microseconds{kClockError});
    return is_of_today(us) && !edge.member.starts_with('{') && (is_past || content.expires);
  };
  if (!is_unit(content.first) || !is_unit(content.last)) return std::nullopt;
  return Decoded{.unknown = "whether these are times of requests is not known"};
}

/// Decimal digits, a point and digits, as INCRBYFLOAT writes them.
std::optional<double> parse_fraction(std::string_view text) {
  const auto point = text.find('.');
  if (point == text.npos || !parse_number(text.substr(0, point), INT64_MAX)) return std::nullopt;
  return is_digits(text.substr(point + 1)) ? to_decimal(text) : std::nullopt;
}

/// Such numbers count up or down, or count nothing. A time of today is no count.
std::optional<Decoded> read_number(const KeySample& content) {
  constexpr std::int64_t kMost = 999'999'999'999'999'999;  // longer numbers are IDs
  const bool is_negative = content.text.starts_with('-');
  const auto digits = std::string_view(content.text).substr(is_negative ? 1 : 0);
  const auto whole = parse_number(digits, kMost);
  const auto number = whole ? std::optional(as_double(*whole)) : parse_fraction(digits);
  if (!number || *number > as_double(kMost) || (is_negative && *number == 0)) return std::nullopt;
  if (!is_negative && may_be_time(*number)) return std::nullopt;
  Decoded state{.unknown = "whether it counts up or down is not known"};
  if (whole) {
    state.left = is_negative ? -*whole : *whole;
  } else {
    state.fraction = is_negative ? -*number : *number;
  }
  return state;
}

/// The fields in which programs count in a hash, and those that stand beside a count.
constexpr std::array<std::string_view, 10> kCountFields{
    "count", "counter", "hits", "req", "reqs", "requests", "tok", "tokens", "used", "usage"};
constexpr std::array<std::string_view, 9> kFieldsBesideCounts{
    "limit", "max", "window", "start", "reset", "ts", "timestamp", "last_refill", "updated_at"};

/// A hash of such fields and no others. Which of them count, and what, is not known.
std::optional<Decoded> read_counts(const KeySample& content) {
  const auto is_one_of = [](const auto& names, std::string_view name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::int64_t counts = 0, others = 0;
  for (const auto& [field, value] : content.fields) {
    const bool is_number = to_decimal(value).has_value();
    if (is_number && is_one_of(kCountFields, field)) ++counts;
    if (is_number && is_one_of(kFieldsBesideCounts, field)) ++others;
  }
  if (counts == 0 || counts + others != content.size) return std::nullopt;
  return Decoded{.unknown = "which of its fields count requests is not known"};
}

/// The header of a budget, the field '' of its hash; see lua/budget.lua.
struct BudgetHeader {
  limiter::Budget budget;
  StoredBudget stored;
  limiter::Limit limit;
  microseconds last{0};  ///< when all reservations will be forgotten
};

std::optional<BudgetHeader> read_budget_header(std::string_view text) {
  constexpr std::string_view kTag = "budget";
  constexpr std::int64_t kLastEnd = 5'000'000'000'000'000;
  if (!text.starts_with(kTag)) return std::nullopt;
  PackedReader fields(text.substr(kTag.size()));
  BudgetHeader header;
  header.budget.end = microseconds{fields.integer(7, kLastEnd)};
  header.limit.window = microseconds{fields.integer(6, limiter::kLongestWindow.count())};
  header.limit.limit = fields.integer(4, limiter::kLargestLimit);
  header.budget.spent = fields.integer(6);
  header.stored.held = fields.integer(4);
  header.stored.next_lapse = microseconds{fields.integer(7, kLastEnd)};
  header.budget.written_at = microseconds{fields.integer(7, limiter::kLatestNow.count())};
  header.last = microseconds{fields.integer(7, kLastEnd)};
  header.stored.expires = microseconds{fields.integer(7)};
  header.stored.remembered = fields.integer(2);
  fields.integer(1);  // at how many reservations, halved, the script looks which can be forgotten
  return fields.done() ? std::optional(header) : std::nullopt;
}

std::optional<limiter::Reservation> read_reservation(std::string_view text) {
  if (!text.starts_with('h') && !text.starts_with('s')) return std::nullopt;
  PackedReader fields(text.substr(1));
  limiter::Reservation reservation;
  reservation.is_settled = text[0] == 's';
  reservation.units = fields.integer(4);
  reservation.held_until = microseconds{fields.integer(7)};
  reservation.forgotten_at = microseconds{fields.integer(7)};
  return fields.done() ? std::optional(reservation) : std::nullopt;
}

std::optional<Decoded> read_budget(const KeySample& content) {
  const auto text = content.fields.find("");
  if (text == content.fields.end()) return std::nullopt;
  auto header = read_budget_header(text->second);
  if (!header) return std::nullopt;
  auto& [budget, stored, limit, last] = *header;
  if (limit.limit < 1 || limit.window < microseconds{1}) return std::nullopt;
  if (std::ssize(content.fields) == content.size) {
    for (const auto& [id, bytes] : content.fields) {
      if (id.empty()) continue;
      const auto reservation = read_reservation(bytes);
      if (!reservation) return std::nullopt;
      budget.reservations.emplace(id, *reservation);
    }
    stored.whole = std::make_shared<limiter::Budget>(budget);
  } else {
    budget.reservations[""] = {.units = stored.held,
                               .held_until = stored.next_lapse,
                               .forgotten_at = last,
                               .is_settled = stored.held == 0};
  }
  return Decoded{.certain = true,
                 .limit = limit,
                 .budget = stored,
                 .model = std::make_shared<limiter::BudgetModel>(budget),
                 .counts = {{.at = budget.end - limit.window, .units = budget.spent}},
                 .time = budget.written_at};
}

constexpr std::array kOurForms{
    Form{.name = "fixed-window", .type = "string", .read = read_fixed_window},
    Form{.name = "sliding-window-log", .type = "list", .layout = Layout::kTimes, .read = read_log},
    Form{.name = "sliding-window-zset",
         .type = "zset",
         .layout = Layout::kScores,
         .read = read_zset_log},
    Form{.name = "sliding-window-counter", .type = "string", .read = read_counter},
    Form{.name = "token-bucket", .type = "string", .read = read_tokens},
    Form{.name = "gcra", .type = "string", .read = read_gcra},
    Form{.name = "leaky-bucket", .type = "string", .read = read_leaky_bucket},
    Form{.name = "budget", .type = "hash", .layout = Layout::kBudget, .read = read_budget},
    Form{.name = "concurrency", .type = "zset", .layout = Layout::kLeases, .read = read_leases},
};

/// A sorted set, as scripts and pipelines of ZADD, ZREMRANGEBYSCORE, ZCARD and EXPIRE keep it.
constexpr Form zset_form(std::int64_t us_per_score, std::string_view summary,
                         std::optional<Decoded> (*read)(const KeySample&)) {
  return {.name = "foreign-zset",
          .type = "zset",
          .library = {},
          .summary = summary,
          .layout = Layout::kScores,
          .ns_per_score = us_per_score * 1000,
          .read = read};
}

constexpr std::array kShapes{
    zset_form(1000, "a sorted set scored in milliseconds, as limiters keep times",
              read_timed_zset<1000>),
    zset_form(1'000'000, "a sorted set scored in seconds, as limiters keep times",
              read_timed_zset<1'000'000>),
    zset_form(1, "a sorted set scored in microseconds, as limiters keep times", read_timed_zset<1>),
    Form{.name = "foreign-counter",
         .type = "string",
         .library = {},
         .summary = "a number",
         .read = read_number},
    Form{.name = "foreign-hash",
         .type = "hash",
         .library = {},
         .summary = "a hash of counts, as limiters keep them",
         .read = read_counts},
};

Decoded decode_by(std::span<const Form> forms, const KeySample& content) {
  for (const auto& form : forms) {
    if (form.type != content.type) continue;
    auto state = form.read(content);
    if (!state) continue;
    state->form = &form;
    return *std::move(state);
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> leases_limit(std::string_view member, std::string_view score) {
  const auto limit = to_number<double>(score);
  const bool is_limit =
      member == "limit" && limit && *limit <= -1 && *limit >= -1e9 && *limit == std::floor(*limit);
  return is_limit ? std::optional(static_cast<std::int64_t>(-*limit)) : std::nullopt;
}

bool KeySample::operator==(const KeySample& other) const {
  const auto parts = [](const KeySample& content) {
    return std::tie(content.type, content.text, content.expires, content.first, content.last,
                    content.size, content.fields);
  };
  return parts(*this) == parts(other);
}

std::string Form::label() const {
  if (!is_foreign() || library.empty()) return std::string(name);
  if (name.empty()) return std::string(library);
  return std::string(library).append(": ").append(name);
}

std::optional<Decoded> decode_budget_header(std::string_view header) {
  KeySample content{.type = "hash", .size = -1};  // the other fields are not known
  content.fields.emplace("", header);
  return read_budget(content);
}

std::span<const Form> our_forms() {
  return kOurForms;
}

std::string_view type_of_state(const limiter::Algorithm& algorithm) {
  return find_by_name(kOurForms, algorithm.name)->type;
}

Decoded decode_ours(const KeySample& content) {
  // Our strings begin with a word: most others need not be compared with each form.
  const auto& text = content.text;
  const bool begins_with_word = !text.empty() && text[0] >= 'a' && text[0] <= 'z';
  if (content.type == "string" && !begins_with_word) return {};
  return decode_by(kOurForms, content);
}

Decoded decode_shape(const KeySample& content) {
  return decode_by(kShapes, content);
}

bool is_recognized(const KeySample& content, const Decoded& state) {
  if (state.form == nullptr || state.form->library.empty()) return false;
  if (state.certain) return true;
  // What has lost its TTL is certain but for that.
  auto with_ttl = content;
  with_ttl.expires = true;
  return decode_ours(with_ttl).certain;
}

std::string with_article(std::string_view type) {
  return std::string("a ").append(type == "zset" ? "sorted set" : type);
}

std::string describe_form(const Form& form) {
  if (!form.is_foreign()) return std::string(form.name) + "'s state";
  if (form.library.empty()) return std::string(form.summary);
  const auto whose = std::string(form.library).append("'s state");
  return form.name.empty() ? whose : fmt::format("{} ({})", whose, form.name);
}

std::string looks_text(const Decoded& state) {
  if (state.fraction) return fmt::format("{:.15g}", *state.fraction);
  if (state.left) return std::to_string(*state.left);
  return state.form->type == "hash" ? "counts" : "times";
}

std::string describe_content(const KeySample& content, const Decoded& state) {
  if (state.form != nullptr && !state.form->library.empty()) return describe_form(*state.form);
  return with_article(content.type) + " that is not known to be a limiter's state";
}

// ---- Reading ----

namespace {

constexpr std::string_view kLastOfText = "127";
static_assert(KeySample::kMaxText == 128);
/// An entry may be of any size, which is unknown until it arrives, and a server builds all replies
/// to one write before it sends the first. So the ends of lists and sorted sets are read a few keys
/// at a time: first one key, then twice as many each time, up to this many...
constexpr std::size_t kMaxEnds = 16;
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

/// Whether entries or fields are read, which may be large.
bool has_parts(const KeySample& content) {
  return content.type == "list" || content.type == "zset" || content.type == "hash";
}

bool is_read(const KeySample& content) {
  return content.type == "string" || has_parts(content);
}

/// Of a hash: those that rows name, the header of a budget, and those in which programs count.
std::vector<std::string_view> fields_to_read(const std::string& key, const Libraries& libraries) {
  auto fields = libraries.hash_fields(key);
  fields.emplace_back();
  const auto add = [&](std::span<const std::string_view> more) {
    for (const auto field : more) {
      if (std::ranges::find(fields, field) == fields.end()) fields.push_back(field);
    }
  };
  add(kCountFields);
  add(kFieldsBesideCounts);
  return fields;
}

void append_read(redis::Connection& connection, const std::string& key, const KeySample& content,
                 const Libraries& libraries) {
  if (content.type == "string") {
    connection.append({"GETRANGE", key, "0", kLastOfText});
  } else if (content.type == "list") {
    connection.append({"LINDEX", key, "0"});
    connection.append({"LINDEX", key, "-1"});
  } else if (content.type == "zset") {
    connection.append({"ZRANGE", key, "0", "0", "WITHSCORES"});
    connection.append({"ZRANGE", key, "-1", "-1", "WITHSCORES"});
  } else if (content.type == "hash") {
    auto command = fields_to_read(key, libraries);
    connection.append({"HLEN", key});
    const std::array<std::string_view, 2> words{"HMGET", key};
    command.insert(command.begin(), words.begin(), words.end());
    connection.append(command);
  }
  if (is_read(content)) connection.append({"PTTL", key});
}

bool is_edge(redis::ReplyView reply) {
  return reply.type() == redis::ReplyType::kString || reply.size() == 2;
}

KeySample::Edge edge(redis::ReplyView reply) {
  if (!is_edge(reply)) return {};
  if (reply.type() == redis::ReplyType::kString) {
    return {.member = std::string(reply.text()), .score = {}};
  }
  return {.member = std::string(reply[0].text()), .score = std::string(reply[1].text())};
}

bool take_text(redis::Connection& connection, KeySample& content) {
  const auto text = read_of_any_type(connection);
  if (!text.is_error()) content.text = text.text();
  return !content.text.empty();
}

bool take_edges(redis::Connection& connection, KeySample& content) {
  const auto first = read_of_any_type(connection);
  const auto last = read_of_any_type(connection);
  content.first = edge(first);
  content.last = edge(last);
  return is_edge(first) && is_edge(last);
}

bool take_fields(redis::Connection& connection, const std::string& key, KeySample& content,
                 const Libraries& libraries) {
  const auto fields = fields_to_read(key, libraries);
  const auto size = read_of_any_type(connection);
  content.size = size.is_error() ? 0 : redis::number_in(size);
  const auto values = read_of_any_type(connection);
  if (values.is_error()) return false;
  if (values.size() != fields.size()) {
    throw redis::Error(redis::Failure::kProtocol, "the reply to HMGET is not one value per field");
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i].is_nil()) content.fields.emplace(fields[i], values[i].text());
  }
  return content.size > 0;
}

/// Reads the replies to append_read(). Returns false if the key was empty: lists, sorted sets and
/// hashes never are, strings rarely.
bool take_read(redis::Connection& connection, const std::string& key, KeySample& content,
               microseconds now, const Libraries& libraries) {
  if (!is_read(content)) return true;
  const bool is_there = content.type == "string" ? take_text(connection, content)
                        : content.type == "hash" ? take_fields(connection, key, content, libraries)
                                                 : take_edges(connection, content);
  set_expiry(content, redis::number_in(read_of_any_type(connection)), now);
  return is_there;
}

std::size_t size_of_parts(const KeySample& content) {
  std::size_t bytes = content.first.member.size() + content.last.member.size();
  for (const auto& [field, value] : content.fields) bytes += value.size();
  return bytes;
}

/// Also gives the rest's memory back.
void cut_text(std::string& text) {
  if (text.size() > KeySample::kMaxText) text = text.substr(0, KeySample::kMaxText);
}

void cut_parts(KeySample& content) {
  cut_text(content.first.member);
  cut_text(content.last.member);
  for (auto& [field, value] : content.fields) cut_text(value);
}

using Indices = std::vector<std::size_t>;

/// Reads the contents of some keys, whose types are known. Appends the indices of empty ones to
/// `empty`; returns the total size of the ends in bytes.
std::size_t read_group(redis::Connection& connection, std::span<const std::string> keys,
                       std::vector<KeySample>& contents, std::span<const std::size_t> group,
                       const Libraries& libraries, Parts parts, Indices& empty) {
  // Each group has its own time, so that it is close to that of the TTLs.
  const bool any = std::ranges::any_of(group, [&](auto i) { return is_read(contents[i]); });
  if (!any) return 0;
  connection.append({"TIME"});
  for (const auto i : group) append_read(connection, keys[i], contents[i], libraries);
  const auto now = redis::server_time(read_of_any_type(connection));
  std::size_t bytes = 0;
  for (const auto i : group) {
    if (!take_read(connection, keys[i], contents[i], now, libraries)) empty.push_back(i);
    bytes += size_of_parts(contents[i]);
    if (parts == Parts::kCut) cut_parts(contents[i]);
  }
  return bytes;
}

/// The same for any number of keys. Returns the indices of empty ones.
Indices read_groups(redis::Connection& connection, std::span<const std::string> keys,
                    std::vector<KeySample>& contents, const Libraries& libraries, Parts parts,
                    Indices which) {
  const auto small_ones = std::partition(which.begin(), which.end(),
                                         [&](std::size_t i) { return has_parts(contents[i]); });
  Indices empty;
  std::span<const std::size_t> ends(which.begin(), small_ones);
  std::size_t most = 1;
  while (!ends.empty()) {
    const auto group = ends.first(std::min(most, ends.size()));
    const auto bytes = read_group(connection, keys, contents, group, libraries, parts, empty);
    most = bytes > kManyBytes ? 1 : std::min(most * 2, kMaxEnds);
    ends = ends.subspan(group.size());
  }
  read_group(connection, keys, contents, {small_ones, which.end()}, libraries, parts, empty);
  return empty;
}

void read_types(redis::Connection& connection, std::span<const std::string> keys,
                std::vector<KeySample>& contents, const Indices& which) {
  for (const auto i : which) connection.append({"TYPE", keys[i]});
  for (const auto i : which) contents[i] = {.type = to_type(read_of_any_type(connection))};
}

Indices all_of(std::span<const std::string> keys) {
  Indices all(keys.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// Completes contents of which only the type is known.
std::vector<KeySample> read_typed(redis::Connection& connection, std::span<const std::string> keys,
                                  std::vector<KeySample> contents, const Libraries& libraries,
                                  Parts parts) {
  auto open = all_of(keys);
  for (int look = 1;; ++look) {
    open = read_groups(connection, keys, contents, libraries, parts, std::move(open));
    if (open.empty() || look == kLooks) return contents;
    read_types(connection, keys, contents, open);
  }
}

}  // namespace

std::string to_type(const redis::Reply& reply) {
  redis::require_type(reply, redis::ReplyType::kStatus);
  return escaped_message(reply.text());
}

microseconds to_ttl(std::int64_t pttl) {
  constexpr std::int64_t kMax = 9'000'000'000'000;
  return std::chrono::milliseconds{std::clamp<std::int64_t>(pttl, 0, kMax)};
}

void set_expiry(KeySample& content, std::int64_t pttl, microseconds now) {
  content.read_at = now;
  content.expires = pttl > 0;
  if (content.expires) content.until = now + to_ttl(pttl);
}

ReadableKeys readable_keys(redis::Connection& connection, std::span<const std::string> keys) {
  ReadableKeys readable;
  for (const auto& key : keys) connection.append({"TYPE", key});
  std::optional<redis::Error> failure;
  for (const auto& key : keys) {
    const auto reply = connection.read();
    if (!reply.is_error()) {
      if (reply.text() == "none") continue;
      readable.keys.push_back(key);
      readable.types.push_back(to_type(reply));
      continue;
    }
    const auto error = redis::to_error(reply);
    if (error.failure() != redis::Failure::kRefused) {
      failure = error;
    } else {
      readable.refused.push_back(key);
      if (!readable.why) readable.why = error;
    }
  }
  if (failure) throw *failure;
  return readable;
}

std::vector<KeySample> read_contents(redis::Connection& connection,
                                     std::span<const std::string> keys, const Libraries& libraries,
                                     Parts parts) {
  std::vector<KeySample> contents(keys.size());
  read_types(connection, keys, contents, all_of(keys));
  return read_typed(connection, keys, std::move(contents), libraries, parts);
}

std::vector<KeySample> read_contents(redis::Connection& connection, const ReadableKeys& readable,
                                     const Libraries& libraries, Parts parts) {
  std::vector<KeySample> contents;
  for (const auto& type : readable.types) contents.push_back({.type = type});
  return read_typed(connection, readable.keys, std::move(contents), libraries, parts);
}

}  // namespace rlctl::stored
