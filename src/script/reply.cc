#include "script/reply.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/number.h"
#include "base/shell.h"
#include "base/text.h"
#include "lua/lexer.h"
#include "redis/error.h"

namespace rlctl::script {
namespace {

using limiter::Decision;
using redis::ReplyType;
using std::chrono::microseconds;

std::optional<lua::Expression::NotVariable> why_not_variable(std::string_view name) {
  const auto* found = find_placeholder(name);
  if (found == nullptr) {
    const auto likely = likely_placeholder(name);
    return lua::Expression::NotVariable{
        fmt::format("unknown name '{}'", name),
        likely.empty() ? "" : fmt::format("; did you mean '{}'?", likely),
        "r is the reply; a number is " + placeholder_names(true)};
  }
  if (!std::holds_alternative<Placeholder::Text>(found->value)) return std::nullopt;
  return lua::Expression::NotVariable{fmt::format("'{}' is text, not a number,", name)};
}

}  // namespace

ReplyExpression::ReplyExpression(std::string_view text) : expression_(text, why_not_variable) {
  for (const auto& name : expression_.variables()) placeholders_.push_back(find_placeholder(name));
}

std::vector<double> ReplyExpression::numbers(const TemplateValues& values) const {
  std::vector<double> numbers;
  for (const auto* row : placeholders_) {
    numbers.push_back(static_cast<double>(row->number(values)));
  }
  return numbers;
}

bool ReplyExpression::uses_limit() const {
  return std::ranges::any_of(placeholders_, [](const auto* row) { return row->uses_limit(); });
}

bool ReplyExpression::uses_time() const {
  return std::ranges::any_of(placeholders_,
                             [](const auto* row) { return row->tick > microseconds{0}; });
}

void ReplyExpression::require_usable(const limiter::Limit& limit, bool has_leases,
                                     microseconds hold) const {
  for (const auto* row : placeholders_) row->require_usable(limit, has_leases, hold);
}

bool ReplyExpression::holds(redis::ReplyView reply, const TemplateValues& values) const {
  return expression_.holds(reply, numbers(values));
}

std::optional<double> ReplyExpression::number(redis::ReplyView reply,
                                              const TemplateValues& values) const {
  return expression_.number(reply, numbers(values));
}

// --- Numbers and times ---------------------------------------------------------------------------

ReplyExpression parse_number_expression(std::string_view text) {
  ReplyExpression expression(text);
  if (!expression.is_condition()) return expression;
  throw UsageError(fmt::format("'{}' is a condition, not a number", escape(text)));
}

std::chrono::microseconds parse_wait_unit(std::string_view name) {
  if (name == "s") return std::chrono::seconds(1);
  if (name == "ms") return std::chrono::milliseconds(1);
  if (name == "us") return std::chrono::microseconds(1);
  throw UsageError(fmt::format("the unit of a wait is s, ms or us, not '{}'", escape(name)));
}

WaitExpression parse_wait_expression(std::string_view text) {
  const auto without_blanks = [](std::string_view part) {
    return part.substr(0, part.find_last_not_of(" \t") + 1);
  };
  text = without_blanks(text);
  auto begin = text.size();
  while (begin > 0 && lua::is_name_letter(text[begin - 1])) --begin;
  auto word = begin;
  while (word > 0 && (lua::is_name_letter(text[word - 1]) || is_digit(text[word - 1]))) --word;
  // The unit may follow a number, but is no end of a name: wait1s.
  if (word < text.size() && lua::is_name_letter(text[word])) begin = word;
  const auto unit = text.substr(begin);
  const bool is_field = begin > 0 && text[begin - 1] == '.';
  const bool has_unit = !unit.empty() && !is_field && unit != "r" && !lua::is_keyword(unit) &&
                        find_placeholder(unit) == nullptr;
  auto expression =
      parse_number_expression(has_unit ? without_blanks(text.substr(0, begin)) : text);
  if (has_unit) return {.expression = std::move(expression), .unit = parse_wait_unit(unit)};
  throw UsageError(
      fmt::format("'{0}' has no unit; write '{0} s', '{0} ms' or '{0} us'", escape(text)));
}

// --- Readings ------------------------------------------------------------------------------------

namespace {

/// Of an integer, or of text that is a number; whole numbers are exact. False, which arrives as
/// nil, is 0. None for any other reply.
std::optional<long double> number_of(redis::ReplyView reply) {
  if (reply.type() == ReplyType::kInteger) return static_cast<long double>(reply.integer());
  if (reply.is_nil()) return 0;
  if (const auto whole = to_number<std::int64_t>(reply.text())) return *whole;
  const auto number = to_number<double>(reply.text());
  if (!number || !std::isfinite(*number)) return std::nullopt;
  return *number;
}

/// Of a reply whose number is, or is not, 0.
template <bool is_zero>
std::optional<bool> has_zero(redis::ReplyView reply, const limiter::Limit& /*limit*/) {
  const auto number = number_of(reply);
  return number ? std::optional((*number == 0) == is_zero) : std::nullopt;
}

std::optional<bool> is_within_limit(redis::ReplyView reply, const limiter::Limit& limit) {
  const auto number = reply.is_nil() ? std::nullopt : number_of(reply);
  return number ? std::optional(*number <= limit.limit) : std::nullopt;
}

constexpr std::array kNamed{
    NamedCondition{"nonzero", "a number, or true or false", "zero", has_zero<false>},
    NamedCondition{"zero", "a number, or true or false", "nonzero", has_zero<true>},
    NamedCondition{"nil", "nil or anything else", "",
                   [](redis::ReplyView reply, const limiter::Limit&) {
                     return std::optional(reply.is_nil());
                   }},
    NamedCondition{"<=limit", "a count", "", is_within_limit, true},
    NamedCondition{"always", "", "", nullptr},
};

constexpr std::string_view kAllowed = "allowed", kDelay = "delay", kRemaining = "remaining",
                           kRetryAfter = "retry_after", kResetAfter = "reset_after";

// The most that a message shows of a reply: the elements, the bytes of each text before it is
// escaped, and the bytes of the whole line.
constexpr std::size_t kMaxElementsShown = 8;
constexpr std::size_t kMaxBytes = 60;
constexpr std::size_t kLongestLine = 300;

/// The expressions, and the words that give them.
std::vector<std::pair<std::string_view, const ReplyExpression*>> expressions_of(
    const ReplyReading& reading) {
  std::vector<std::pair<std::string_view, const ReplyExpression*>> all;
  const auto add = [&all](std::string_view word, const std::optional<WaitExpression>& wait) {
    if (wait) all.emplace_back(word, &wait->expression);
  };
  if (const auto& allowed = reading.allowed_when.expression) all.emplace_back(kAllowed, &*allowed);
  if (reading.remaining) all.emplace_back(kRemaining, &*reading.remaining);
  add(kDelay, reading.delay);
  add(kRetryAfter, reading.retry_after);
  add(kResetAfter, reading.reset_after);
  return all;
}

/// In whole microseconds; none if it is too long for a wait.
std::optional<microseconds> wait_of(double count, microseconds unit) {
  constexpr auto kLongestWait = static_cast<long double>(limiter::kLongestRefill.count());
  const auto wait = static_cast<long double>(count) * static_cast<long double>(unit.count());
  if (!(std::abs(wait) <= kLongestWait)) return std::nullopt;
  return microseconds(std::llround(wait));
}

/// With this clock in place of those of the request: "r - now_ms" for "r - now".
std::string with_clock(std::string source, std::string_view clock) {
  for (auto at = source.find("now"); at < source.size();
       at = source.find("now", at + clock.size())) {
    const auto end = source.find_first_not_of("_msun", at + 3);
    source.replace(at, std::min(end, source.size()) - at, clock);
  }
  return source;
}

/// Reads a decision from one reply. Throws redis::Error.
class DecisionReader {
 public:
  /// `seen`: see read_reply(). Null: for a trial, whose times must be sensible and whose errors
  /// have no hint.
  DecisionReader(redis::ReplyView reply, const ReplyReading& reading, const TemplateValues& values,
                 std::string_view script, const std::span<const SeenReply>* seen)
      : reply_(reply), reading_(reading), values_(values), script_(script), seen_(seen) {}

  Decision decision() const {
    if (reply_.is_error()) {
      return {.remaining = limiter::kNotTold,
              .retry_after = limiter::kTimeNotTold,
              .reset_after = limiter::kTimeNotTold};
    }
    auto decision = verdict();
    if (decision.allowed && reading_.delay) {
      const auto delay = time_of(kDelay, *reading_.delay).value_or(microseconds{0});
      if (delay < microseconds{0})
        refuse(kDelay, reading_.delay->expression, "is negative", "a delay is a time of 0 or more");
      decision.delay = delay;
    }
    if (!decision.allowed && reading_.retry_after) {
      const auto time = time_of(kRetryAfter, *reading_.retry_after);
      if (time) decision.retry_after = *time < microseconds{0} ? limiter::kNever : *time;
    }
    if (reading_.remaining) {
      constexpr auto kMax = static_cast<long double>(limiter::kLargestProduct);
      const auto count = value_of(kRemaining, *reading_.remaining);
      if (count) {
        decision.remaining = std::llround(std::clamp<long double>(std::floor(*count), 0, kMax));
      }
    }
    if (reading_.reset_after) {
      const auto time = time_of(kResetAfter, *reading_.reset_after);
      if (time) decision.reset_after = std::max(*time, microseconds{0});
    }
    return decision;
  }

 private:
  template <typename Evaluate>
  auto evaluated(std::string_view word, const ReplyExpression& expression,
                 Evaluate evaluate) const {
    try {
      return evaluate();
    } catch (const lua::ExpressionError& error) {
      refuse(word, expression, fmt::format("fails at column {}: {}", error.column, error.message),
             !error.hint.empty() ? error.hint
                                 : allowed_hint("choose an expression that fits the script", word));
    }
  }

  /// Whether the request is allowed.
  Decision verdict() const {
    const auto* named = reading_.allowed_when.named;
    Decision decision{
        .allowed = true, .remaining = limiter::kNotTold, .reset_after = limiter::kTimeNotTold};
    if (named == nullptr) {
      const auto& expression = *reading_.allowed_when.expression;
      decision.allowed =
          evaluated(kAllowed, expression, [&] { return expression.holds(reply_, values_); });
    } else if (!named->is_always()) {
      const auto allowed = named->holds(first(), values_.limit);
      if (!allowed) refuse_named();
      decision.allowed = *allowed;
    }
    if (!decision.allowed) decision.retry_after = limiter::kTimeNotTold;
    return decision;
  }

  /// What a named condition is about.
  redis::ReplyView first() const {
    if (reply_.type() != ReplyType::kArray) return reply_;
    if (reply_.size() == 0) refuse_named();
    return reply_[0];
  }

  /// std::nullopt for nil.
  std::optional<double> value_of(std::string_view word, const ReplyExpression& expression) const {
    return evaluated(word, expression, [&] { return expression.number(reply_, values_); });
  }
  std::optional<microseconds> time_of(std::string_view word, const WaitExpression& time) const {
    const auto count = value_of(word, time.expression);
    if (!count) return std::nullopt;
    const auto wait = wait_of(*count, time.unit);
    if (!wait) {
      refuse(word, time.expression, "is too long a time",
             time_hint(word, time, "choose the unit of the reply: s, ms or us"));
    }
    if (limiter::is_time_since_1970(*wait, values_.now)) {
      refuse(word, time.expression, "is then a time since 1970, not one to wait for",
             time_hint(word, time, "subtract the time of the request in the unit of the reply"));
    }
    // A few windows, in each of which a burst may wait.
    const auto& limit = values_.limit;
    const auto longest = limit.window * (10 + limit.burst_or_limit() / limit.limit);
    if (seen_ == nullptr && (*wait < -time.unit || *wait > longest))
      refuse(word, "it is not sensible", "");
    return wait;
  }

  /// Whether this word reads this reply and all that were read before sensibly: the first request
  /// is allowed, and times are from 0 to a few windows.
  bool reads_all(std::string_view word, const std::string& text) const {
    try {
      ReplyReading trial{.allowed_when =
                             word == kAllowed ? parse_allowed_when(text) : reading_.allowed_when};
      if (word != kAllowed) {
        (word == kDelay        ? trial.delay
         : word == kRetryAfter ? trial.retry_after
                               : trial.reset_after) = parse_wait_expression(text);
      }
      const auto is_read = [&](redis::ReplyView reply, const TemplateValues& values) {
        const auto decision = DecisionReader(reply, trial, values, script_, nullptr).decision();
        return decision.allowed || values.id > 1 || word != kAllowed;
      };
      return is_read(reply_, values_) && std::ranges::all_of(*seen_, [&](const SeenReply& seen) {
               return is_read(seen.reply, seen.values);
             });
    } catch (const redis::Error&) {
    } catch (const UsageError&) {  // the text of a reply makes no expression
    }
    return false;
  }

  /// A time that was tried, from which that of the request is subtracted; or `other`.
  std::string time_hint(std::string_view word, const WaitExpression& time,
                        const std::string& other) const {
    if (seen_ == nullptr) return {};
    const auto& given = time.expression.source();
    const auto time_of_reply = given.find(' ') == given.npos ? given : "(" + given + ")";
    for (const std::string unit : {"s", "ms", "us"}) {
      const auto less_now = fmt::format("{} - now_{}", time_of_reply, unit);
      auto texts = time.expression.uses_time()
                       ? std::vector{with_clock(given, "now_" + unit)}
                       : std::vector{less_now, fmt::format("({} or 0) > 0 and {} or nil",
                                                           time_of_reply, less_now)};
      for (const auto& text : texts) {
        const auto all = fmt::format("{} {}", text, unit);
        if (!reads_all(word, all)) continue;
        return fmt::format("{}: --head {}",
                           time.expression.uses_time() ? "use the unit of the reply"
                                                       : "subtract the time of the request",
                           shell_quoted(fmt::format("{} {}", word, all)));
      }
    }
    return other;
  }

  [[noreturn]] void refuse(std::string_view word, const std::string& misfit,
                           const std::string& hint) const {
    throw redis::Error(
        redis::Failure::kRejected,
        fmt::format("{}: {} replied {}, but {}", origin_of(reading_.origins, word).place, script_,
                    reply_text(reply_), misfit),
        {}, hint);
  }
  [[noreturn]] void refuse(std::string_view word, const ReplyExpression& expression,
                           std::string_view misfit, const std::string& hint) const {
    refuse(word, fmt::format("'{}' {}", escape(expression.source()), misfit), hint);
  }
  [[noreturn]] void refuse_named() const {
    const auto& named = *reading_.allowed_when.named;
    refuse(kAllowed, fmt::format("'{}' reads {}", named.name, named.expected),
           allowed_hint(
               reply_.text().starts_with('{')
                   ? "for JSON, use an expression: --allowed-when 'json(r).NAME'"
                   : "it reads a reply or the first element of an array; choose what fits the "
                     "script"));
  }

  /// The only condition that reads all replies, of those that this one suggests; or `other`.
  std::string allowed_hint(const std::string& other, std::string_view word = kAllowed) const {
    if (seen_ == nullptr || word != kAllowed) return other;
    const auto [subject, value] = verdict_of(reply_);
    std::vector texts{fmt::format("{} == {}", subject, value),
                      fmt::format("{} ~= {}", subject, value)};
    std::erase_if(texts, [&](const auto& text) { return !reads_all(kAllowed, text); });
    if (texts.size() != 1) return other;
    return fmt::format("if this reply {}, use --allowed-when {}",
                       values_.id == 1 ? "allows" : "denies", shell_quoted(texts.front()));
  }

  redis::ReplyView reply_;
  const ReplyReading& reading_;
  const TemplateValues& values_;
  std::string_view script_;
  const std::span<const SeenReply>* seen_;
};

}  // namespace

ValueOrigin origin_of(const WordOrigins& origins, std::string_view word) {
  const auto found = origins.find(word);
  return found == origins.end() ? ValueOrigin{.place = std::string(word)} : found->second;
}

std::span<const NamedCondition> named_conditions() {
  return kNamed;
}

AllowedWhen parse_allowed_when(std::string_view text) {
  std::vector<std::string_view> names;
  for (const auto& row : kNamed) {
    if (row.name == text) return {.named = &row};
    names.push_back(row.name);
  }
  const auto hint = fmt::format("it is {}, or an expression such as 'r[1] == 1'", one_of(names));
  const auto likely = did_you_mean(text, names);
  if (!likely.empty())
    throw UsageError(fmt::format("'{}' is not a condition{}", escape(text), likely), hint);
  try {
    ReplyExpression expression(text);
    if (expression.reads_reply()) return {.expression = std::move(expression)};
    throw UsageError(fmt::format("'{}' does not depend on the reply r", escape(text)));
  } catch (const UsageError& error) {
    throw UsageError(error.what(), error.hint().empty() ? hint : error.hint());
  }
}

std::string parse_error_code(std::string_view text) {
  const bool is_word = !text.empty() && text.find_first_of(" \t\r\n") == text.npos;
  if (!is_word) throw UsageError(fmt::format("'{}' is not the code of an error", escape(text)));
  if (text != "ERR") return std::string(text);
  throw UsageError("ERR is the code of any fault of a script, not of a denial",
                   "let the script reply with a code of its own: "
                   "return redis.error_reply('DENIED too many requests')");
}

bool is_denial(redis::ReplyView reply, const ReplyReading& reading) {
  if (!reply.is_error() || !reading.denied_error) return false;
  const auto text = reply.text();
  return text.substr(0, text.find(' ')) == *reading.denied_error;
}

void require_usable(const ReplyReading& reading, const limiter::Limit& limit, bool has_leases,
                    microseconds hold) {
  for (const auto& [word, expression] : expressions_of(reading)) {
    parsed(origin_of(reading.origins, word),
           [&, &used = *expression] { used.require_usable(limit, has_leases, hold); });
  }
}

bool uses_limit(const ReplyReading& reading) {
  const auto* named = reading.allowed_when.named;
  return (named != nullptr && named->uses_limit) ||
         std::ranges::any_of(expressions_of(reading),
                             [](const auto& each) { return each.second->uses_limit(); });
}

Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                    const TemplateValues& values, std::string_view script,
                    std::span<const SeenReply> seen) {
  return DecisionReader(reply, reading, values, script, &seen).decision();
}

std::array<std::string, 2> verdict_of(redis::ReplyView reply) {
  const bool has_element = reply.type() == ReplyType::kArray && reply.size() > 0;
  const auto verdict = has_element ? reply[0] : reply;
  const std::string subject = has_element ? "r[1]" : "r";
  if (verdict.is_nil()) return {subject, "nil"};
  if (verdict.type() == ReplyType::kInteger) return {subject, fmt::to_string(verdict.integer())};
  const auto text = verdict.text();
  // A word with a digit may be another in each reply.
  const bool is_plain = verdict.type() != ReplyType::kArray && text.size() <= kMaxBytes &&
                        escape(text) == text && text.find_first_of("'\"\\0123456789") == text.npos;
  return {subject, is_plain ? fmt::format("\"{}\"", text) : ""};
}

std::string reply_text(redis::ReplyView reply) {
  switch (reply.type()) {
    case ReplyType::kInteger:
      return fmt::to_string(reply.integer());
    case ReplyType::kNil:
      return "nil";
    case ReplyType::kArray: {
      constexpr std::string_view kRest = ", ...]";
      std::string out = "[";
      for (std::size_t i = 0; i < reply.size(); ++i) {
        auto element = reply[i].type() == ReplyType::kArray ? "[...]" : reply_text(reply[i]);
        if (i > 0) element.insert(0, ", ");
        const bool fits = out.size() + element.size() + kRest.size() <= kLongestLine;
        if (i == kMaxElementsShown || !fits) return out.append(kRest);
        out += element;
      }
      return out + "]";
    }
    default:
      return "'" + escape(reply.text(), kMaxBytes) + "'";
  }
}

}  // namespace rlctl::script
