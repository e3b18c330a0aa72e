#include "traffic/script.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <functional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "base/text.h"
#include "limiter/limit.h"
#include "redis/error.h"
#include "traffic/key_aging.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;
using redis::ReplyType;
using std::chrono::microseconds;

// --- Foreign replies -----------------------------------------------------------------------------

constexpr std::array kRows{
    AllowedWhenRow{AllowedWhen::kNonzero, "nonzero", "a number, or true or false"},
    AllowedWhenRow{AllowedWhen::kZero, "zero", "a number, or true or false"},
    AllowedWhenRow{AllowedWhen::kNil, "nil", "nil or anything else"},
    AllowedWhenRow{AllowedWhen::kAtMostLimit, "<=limit", "a count"},
    AllowedWhenRow{AllowedWhen::kAlways, "always", "a wait of 0 or more"},
};

constexpr auto kLongestWait = static_cast<double>(limiter::kLongestRefill.count());  // µs
constexpr std::size_t kMostElements = 8;
constexpr std::size_t kMostBytes = 60;

const AllowedWhenRow& row_of(AllowedWhen value) {
  return *std::find_if(kRows.begin(), kRows.end(),
                       [value](const auto& row) { return row.value == value; });
}

/// A reply that cannot be read.
class Unreadable {};

std::optional<double> parse_number(std::string_view text) {
  double value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

double number_of(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return static_cast<double>(reply.integer());
    case ReplyType::kNil:
      return 0;
    case ReplyType::kString:
    case ReplyType::kStatus:
      if (const auto number = parse_number(reply.text())) return *number;
      throw Unreadable();
    default:
      throw Unreadable();
  }
}

redis::ReplyView first_of(redis::ReplyView reply) {
  if (reply.type() != ReplyType::kArray) return reply;
  if (reply.size() == 0) throw Unreadable();
  return reply[0];
}

microseconds wait_of(redis::ReplyView reply, microseconds unit) {
  const auto wait = number_of(reply) * static_cast<double>(unit.count());
  if (!(wait >= 0 && wait <= kLongestWait)) throw Unreadable();
  return microseconds(std::llround(wait));
}

bool allows(redis::ReplyView reply, AllowedWhen when, std::int64_t limit) {
  switch (when) {
    case AllowedWhen::kNonzero:
      return number_of(reply) != 0;
    case AllowedWhen::kZero:
      return number_of(reply) == 0;
    case AllowedWhen::kNil:
      return reply.is_nil();
    case AllowedWhen::kAtMostLimit:
      // A count is never nil; reading nil as 0 would allow everything.
      if (reply.is_nil()) throw Unreadable();
      return number_of(reply) <= static_cast<double>(limit);
    default:
      return true;
  }
}

Decision decision_of(redis::ReplyView reply, const ReplyReading& reading, std::int64_t limit) {
  const auto& unit = reading.delay_unit;
  Decision decision{.allowed = true, .remaining = limiter::kNotTold};
  // Without a unit the reply does not matter.
  if (reading.allowed_when == AllowedWhen::kAlways && !unit) return decision;
  const auto value = first_of(reply);
  decision.allowed = allows(value, reading.allowed_when, limit);
  if (!decision.allowed) {
    decision.retry_after = unit ? wait_of(value, *unit) : limiter::kNever;
  } else if (reading.allowed_when == AllowedWhen::kAlways) {
    decision.delay = wait_of(value, *unit);
  }
  return decision;
}

redis::Error unreadable(redis::ReplyView reply, const ReplyReading& reading,
                        std::string_view script) {
  const auto& row = row_of(reading.allowed_when);
  // With a unit a denial must be a wait, whatever the other replies are.
  const auto expected = reading.delay_unit ? row_of(AllowedWhen::kAlways).expected : row.expected;
  return {
      redis::Failure::kRejected,
      fmt::format("{} replied {}, but --allowed-when '{}'{} reads {}", script, reply_text(reply),
                  row.name, reading.delay_unit ? " with --delay-unit" : "", expected),
      {},
      "it reads a reply or the first element of an array; choose what fits the script"};
}

// --- Bundled scripts -----------------------------------------------------------------------------

redis::Error script_is_gone() {
  return {redis::Failure::kRejected, "the script was removed from the server while it was in use",
          "NOSCRIPT", "someone ran SCRIPT FLUSH; run the command again"};
}

/// The script of a bundled algorithm.
class BundledScript final : public Script {
 public:
  BundledScript(const Candidate& candidate, const Traffic& traffic, std::string prefix)
      : algorithm_(*candidate.algorithm),
        traffic_(traffic),
        prefix_(std::move(prefix)),
        command_(algorithm_) {
    require_usable(candidate);
    request_.limits = candidate.limits;
  }

  [[nodiscard]] std::string_view name() const override { return algorithm_.name; }
  void load(redis::Connection& connection) override {
    limiter::load_script(connection, algorithm_.script);
  }
  [[nodiscard]] limiter::ScriptCall call(const Arrival& arrival) override {
    request_.keys = redis_keys(arrival.key);
    request_.cost = arrival.cost;
    request_.now = arrival.at;
    return command_.of(request_);
  }
  [[nodiscard]] std::vector<std::string> keys() const override {
    std::vector<std::string> all;
    for (const auto& keys : redis_keys_) all.insert(all.end(), keys.begin(), keys.end());
    return all;
  }

 private:
  [[nodiscard]] limiter::Decision read(redis::ReplyView reply) const override {
    return limiter::Checker::parse(reply, algorithm_.script);
  }
  const std::vector<std::string>& redis_keys(std::uint32_t key) {
    if (key >= redis_keys_.size()) redis_keys_.resize(key + std::size_t{1});
    auto& keys = redis_keys_[key];
    if (keys.empty()) {
      auto name = prefix_ + std::string(traffic_.key_name(key));
      if (request_.limits.size() > 1) {
        // A hash tag after the prefix, so that all names begin with the prefix. The colon is there
        // for names that are empty or begin with a brace.
        name = fmt::format("{}{{:{}}}", prefix_, traffic_.key_name(key));
      }
      keys = limiter::redis_keys(name, request_.limits);
    }
    return keys;
  }

  const limiter::Algorithm& algorithm_;
  const Traffic& traffic_;
  std::string prefix_;
  limiter::CheckCommand command_;
  limiter::Request request_;
  std::vector<std::vector<std::string>> redis_keys_;  ///< for each of the traffic's keys
};

// --- Foreign scripts -----------------------------------------------------------------------------

constexpr std::size_t kMostShown = 60;  // bytes of a key or an argument, in a message

bool any_tells_time(const std::vector<Template>& templates) {
  return std::any_of(templates.begin(), templates.end(),
                     [](const Template& text) { return text.tells_time(); });
}

/// EXPIRE, PEXPIREAT, SETEX, EX, PX and the like all contain "ex" or "px"; RESTORE does not. A
/// false match costs a few µs.
bool may_set_ttl(std::string_view text) {
  return contains_in_any_case(text, "ex") || contains_in_any_case(text, "px") ||
         contains_in_any_case(text, "restore");
}

/// Removes the name that Redis gives the script, which means nothing to its author.
std::string without_script_name(std::string message) {
  const auto at = message.find("user_script:");
  if (at == message.npos) return message;
  const auto end = message.find(": ", at);
  // "Error compiling script (new function): user_script:3: ..." would name the place twice.
  const bool is_start = at == 0 || std::string_view(message).substr(0, at).ends_with("): ");
  if (!is_start || end == message.npos) return message;
  return message.erase(at, end + 2 - at);
}

/// The error of an error reply, with the file and the line that raised it.
redis::Error error_of(redis::ReplyView reply, std::string_view name) {
  const auto error = redis::to_error(reply);
  const auto line = redis::script_line(reply.text());
  return redis::Error(error.failure(),
                      line
                          ? fmt::format("{}:{}: {}", name, *line, without_script_name(error.what()))
                          : fmt::format("{}: {}", name, error.what()),
                      error.code(), error.hint())
      .from(error.server(), error.command());
}

std::string quoted_words(std::span<const std::string_view> words) {
  std::string out;
  for (const auto word : words) out += " '" + escape(word, kMostShown) + "'";
  return words.empty() ? " none" : out;
}

/// The script of a foreign limiter.
class ForeignScript final : public Script {
 public:
  ForeignScript(const ForeignLimiter& limiter, const limiter::Limit& limit, const Traffic& traffic,
                std::string prefix)
      : limiter_(limiter), limit_(limit), traffic_(traffic), prefix_(std::move(prefix)) {
    require_usable(limiter, limit);
  }

  [[nodiscard]] std::string_view name() const override { return limiter_.name; }
  void require_virtual_clock() const override { traffic::require_virtual_clock(limiter_); }
  [[nodiscard]] bool may_call_time() const override {
    return contains_in_any_case(limiter_.source, "time");
  }
  /// None if neither its source nor its arguments can set a TTL.
  [[nodiscard]] std::optional<std::string> key_of_ttls() const override {
    const auto& arguments = limiter_.arguments;
    const bool may = may_set_ttl(limiter_.source) ||
                     std::any_of(arguments.begin(), arguments.end(),
                                 [](const Template& word) { return may_set_ttl(word.source()); });
    return may ? std::optional(prefix_ + KeyAging::kHashName) : std::nullopt;
  }
  void load(redis::Connection& connection) override {
    const auto reply = connection.call({"SCRIPT", "LOAD", limiter_.source});
    if (reply.is_error()) throw error_of(reply, limiter_.name);
    sha1_ = reply.text();
  }
  [[nodiscard]] limiter::ScriptCall call(const Arrival& arrival) override {
    const auto call = fill(question_, arrival, ++asked_);
    for (const auto key : call.keys) {
      if (keys_.find(key) == keys_.end()) keys_.emplace(key);
    }
    return call;
  }
  [[nodiscard]] redis::Error with_question(const redis::Error& error, const Arrival& arrival,
                                           std::int64_t number) const override {
    Question question;
    const auto call = fill(question, arrival, number);
    return redis::Error(error.failure(),
                        fmt::format("{}; request {} had KEYS{} and ARGV{}", error.what(), number,
                                    quoted_words(call.keys), quoted_words(call.arguments)),
                        error.code(), error.hint())
        .from(error.server(), error.command());
  }
  /// Sorted by bytes.
  [[nodiscard]] std::vector<std::string> keys() const override {
    std::vector<std::string> sorted(keys_.begin(), keys_.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

 private:
  /// The keys, then the arguments.
  struct Question {
    std::string text;
    std::vector<std::size_t> ends;        ///< the end of each in `text`
    std::vector<std::string_view> words;  ///< a view of each
  };
  struct Hash {
    using is_transparent = void;  // NOLINT(readability-identifier-naming): the library's name
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  [[nodiscard]] limiter::Decision read(redis::ReplyView reply) const override {
    if (reply.is_error()) throw error_of(reply, limiter_.name);
    return read_reply(reply, limiter_.reading, limit_.limit, limiter_.name);
  }

  /// The call for request `number`; its views refer to `question`.
  [[nodiscard]] limiter::ScriptCall fill(Question& question, const Arrival& arrival,
                                         std::int64_t number) const {
    const TemplateValues values{.key = traffic_.key_name(arrival.key),
                                .limit = limit_,
                                .cost = arrival.cost,
                                .id = number,
                                .now = arrival.at};
    question.text.clear();
    question.ends.clear();
    const auto add = [&](std::string_view prefix, const Template& word) {
      question.text += prefix;
      word.append(question.text, values);
      question.ends.push_back(question.text.size());
    };
    for (const auto& key : limiter_.keys) add(prefix_, key);
    for (const auto& argument : limiter_.arguments) add("", argument);
    // The text is complete, so views of it stay valid.
    question.words.clear();
    std::size_t begin = 0;
    for (const auto end : question.ends) {
      question.words.push_back(std::string_view(question.text).substr(begin, end - begin));
      begin = end;
    }
    const redis::Arguments words(question.words);
    return {.sha1 = sha1_,
            .keys = words.first(limiter_.keys.size()),
            .arguments = words.subspan(limiter_.keys.size())};
  }

  const ForeignLimiter& limiter_;
  limiter::Limit limit_;
  const Traffic& traffic_;
  std::string prefix_, sha1_;
  std::int64_t asked_ = 0;
  Question question_;  ///< of the last request; kept, so that the next one allocates nothing
  std::unordered_set<std::string, Hash, std::equal_to<>> keys_;
};

}  // namespace

std::span<const AllowedWhenRow> allowed_when_rows() {
  return kRows;
}

AllowedWhen parse_allowed_when(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& row : kRows) {
    if (row.name == name) return row.value;
    names.push_back(row.name);
  }
  throw UsageError(fmt::format("a script allows when its reply is {}, not '{}'{}", one_of(names),
                               escape(name), did_you_mean(name, names)));
}

microseconds parse_delay_unit(std::string_view name) {
  if (name == "s") return std::chrono::seconds(1);
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "us") return microseconds(1);
  throw UsageError(fmt::format("the unit of a wait is s, ms or us, not '{}'", escape(name)));
}

void require_usable(const ReplyReading& reading) {
  if (!reading.delay_unit) return;
  switch (reading.allowed_when) {
    case AllowedWhen::kNonzero:
    case AllowedWhen::kAtMostLimit:
      throw UsageError(
          fmt::format("a reply that allows when it is {} cannot be a wait; one that allows when it "
                      "is zero, nil or always can be",
                      row_of(reading.allowed_when).name));
    default:
      return;
  }
}

Decision read_reply(redis::ReplyView reply, const ReplyReading& reading, std::int64_t limit,
                    std::string_view script) {
  try {
    return decision_of(reply, reading, limit);
  } catch (const Unreadable&) {
    throw unreadable(reply, reading, script);
  }
}

std::string reply_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return fmt::to_string(reply.integer());
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kArray: {
      std::string out = "[";
      for (std::size_t i = 0; i < std::min(reply.size(), kMostElements); ++i) {
        if (i > 0) out += ", ";
        out += reply[i].type() == ReplyType::kArray ? "[...]" : reply_text(reply[i]);
      }
      return out + (reply.size() > kMostElements ? ", ...]" : "]");
    }
    default:
      return "'" + escape(reply.text(), kMostBytes) + "'";
  }
}

void require_usable(const ForeignLimiter& limiter, const limiter::Limit& limit) {
  require_usable(limiter.reading);
  for (const auto& key : limiter.keys) key.require_usable(limit);
  for (const auto& argument : limiter.arguments) argument.require_usable(limit);
}

void require_virtual_clock(const ForeignLimiter& limiter) {
  if (any_tells_time(limiter.keys) || any_tells_time(limiter.arguments)) return;
  throw UsageError(limiter.name +
                   " gets the time neither in its keys nor in its arguments: it uses the "
                   "server's clock, which virtual time does not move, or relies on the TTLs of "
                   "its keys");
}

const Placeholder* coarsest_time(const ForeignLimiter& limiter) {
  const Placeholder* coarsest = nullptr;
  for (const auto* words : {&limiter.keys, &limiter.arguments}) {
    for (const auto& word : *words) {
      const auto* found = word.coarsest_time();
      if (found == nullptr) continue;
      if (coarsest == nullptr || found->tick > coarsest->tick) coarsest = found;
    }
  }
  return coarsest;
}

std::string_view name_of(const Candidate& candidate) {
  return candidate.foreign ? std::string_view(candidate.foreign->name) : candidate.algorithm->name;
}

void require_usable(const Candidate& candidate) {
  if (candidate.foreign) {
    require_usable(*candidate.foreign, candidate.limits.front());
    return;
  }
  for (const auto& limit : candidate.limits) {
    limiter::require_usable(*candidate.algorithm, limit);
  }
}

limiter::Decision Script::parse(redis::ReplyView reply) const {
  if (limiter::is_unknown_script(reply)) throw script_is_gone();
  return read(reply);
}

std::unique_ptr<Script> make_script(const Candidate& candidate, const Traffic& traffic,
                                    std::string prefix) {
  if (!candidate.foreign) {
    return std::make_unique<BundledScript>(candidate, traffic, std::move(prefix));
  }
  return std::make_unique<ForeignScript>(*candidate.foreign, candidate.limits.front(), traffic,
                                         std::move(prefix));
}

}  // namespace rlctl::traffic
