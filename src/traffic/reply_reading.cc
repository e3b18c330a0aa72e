#include "traffic/reply_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "redis/error.h"

namespace rlctl::traffic {
namespace {

using limiter::Decision;
using redis::ReplyType;
using std::chrono::microseconds;
using Wait = NamedCondition::Wait;

constexpr std::array kNamed{
    NamedCondition{"nonzero", "r", "a number, or true or false", Wait::kNone, "zero"},
    NamedCondition{"zero", "not r", "a number, or true or false", Wait::kOfDenial, "nonzero"},
    NamedCondition{"nil", "r == nil", "nil or anything else", Wait::kOfDenial, "nonzero"},
    NamedCondition{"<=limit", "r <= limit", "a count"},
    NamedCondition{"always", "true", "", Wait::kOfRequest},
};
constexpr std::string_view kWaitExpected = "a wait of 0 or more";
constexpr std::string_view kExpressionExample = "'r[1] > 0'";

// The most that a message shows of a reply: the elements, the bytes of each text before it is
// escaped, and the bytes of the whole line.
constexpr std::size_t kMaxElements = 8;
constexpr std::size_t kMaxBytes = 60;
constexpr std::size_t kLongestLine = 300;

/// A reply that does not fit an option: "--remaining 'r[2]' expects a number at column 1".
struct Misfit {
  std::string reading;
  std::string_view hint;
};

[[noreturn]] void throw_misfit(std::string_view option, const ReplyExpression& expression,
                               const UnreadableReply& unreadable) {
  throw Misfit{fmt::format("{} '{}' expects {} at column {}", option, escape(expression.source()),
                           unreadable.expected, unreadable.column),
               "choose an expression that fits the script"};
}

[[noreturn]] void throw_misfit(const ReplyReading& reading) {
  const auto& named = *reading.allowed_when.named;
  // With a unit a denial must be a wait, whatever the other replies are.
  throw Misfit{fmt::format("--allowed-when '{}'{} reads {}", named.name,
                           reading.delay_unit ? " with --delay-unit" : "",
                           reading.delay_unit ? kWaitExpected : named.expected),
               "it reads a reply or the first element of an array; choose what fits the script"};
}

redis::ReplyView first_of(redis::ReplyView reply, const ReplyReading& reading) {
  if (reply.type() != ReplyType::kArray) return reply;
  if (reply.size() == 0) throw_misfit(reading);
  return reply[0];
}

std::vector<const ReplyExpression*> expressions_of(const ReplyReading& reading) {
  std::vector all{&reading.allowed_when.expression};
  if (reading.remaining) all.push_back(&*reading.remaining);
  for (const auto* wait : {&reading.retry_after, &reading.reset_after}) {
    if (*wait) all.push_back(&(*wait)->expression);
  }
  return all;
}

/// In whole microseconds; none if it is too long for a wait.
std::optional<microseconds> wait_of(long double count, microseconds unit) {
  constexpr auto kLongestWait = static_cast<long double>(limiter::kLongestRefill.count());
  const auto wait = count * static_cast<long double>(unit.count());
  if (!(std::abs(wait) <= kLongestWait)) return std::nullopt;
  return microseconds(std::llround(wait));
}

/// The reply or its first element as a wait.
microseconds reply_as_wait(redis::ReplyView reply, const ReplyReading& reading,
                           const TemplateValues& values) {
  static const ReplyExpression kReply("r");
  try {
    const auto count = kReply.number(reply, values).value_or(0);
    const auto wait = wait_of(count, *reading.delay_unit);
    if (wait && count >= 0) return *wait;
  } catch (const UnreadableReply&) {
  }
  throw_misfit(reading);
}

/// None for nil.
std::optional<microseconds> time_of(std::string_view option, const WaitExpression& reading,
                                    redis::ReplyView reply, const TemplateValues& values) {
  try {
    const auto count = reading.expression.number(reply, values);
    if (!count) return std::nullopt;
    if (const auto wait = wait_of(*count, reading.unit)) return wait;
    throw UnreadableReply{1, "a shorter time"};
  } catch (const UnreadableReply& unreadable) {
    throw_misfit(option, reading.expression, unreadable);
  }
}

std::int64_t remaining_of(const ReplyExpression& reading, redis::ReplyView reply,
                          const TemplateValues& values) {
  constexpr auto kMax = static_cast<long double>(limiter::kLargestProduct);
  try {
    const auto count = reading.number(reply, values);
    if (!count) return limiter::kNotTold;
    return std::llround(std::clamp(std::floor(*count), 0.0L, kMax));
  } catch (const UnreadableReply& unreadable) {
    throw_misfit("--remaining", reading, unreadable);
  }
}

/// Whether the request is allowed, its retry_after if not, and its delay.
Decision verdict_of(redis::ReplyView reply, const ReplyReading& reading,
                    const TemplateValues& values) {
  const auto& [named, expression] = reading.allowed_when;
  Decision decision{
      .allowed = true, .remaining = limiter::kNotTold, .reset_after = limiter::kTimeNotTold};
  const bool is_always = named != nullptr && named->wait == Wait::kOfRequest;
  // Without a unit the reply does not matter.
  if (is_always && !reading.delay_unit) return decision;
  const auto subject = named != nullptr ? first_of(reply, reading) : reply;
  try {
    decision.allowed = expression.holds(subject, values);
  } catch (const UnreadableReply& unreadable) {
    if (named != nullptr) throw_misfit(reading);
    throw_misfit("--allowed-when", expression, unreadable);
  }
  if (!decision.allowed) {
    decision.retry_after =
        reading.delay_unit ? reply_as_wait(subject, reading, values) : limiter::kTimeNotTold;
  } else if (is_always) {
    decision.delay = reply_as_wait(subject, reading, values);
  }
  return decision;
}

Decision decision_of(redis::ReplyView reply, const ReplyReading& reading,
                     const TemplateValues& values) {
  auto decision = verdict_of(reply, reading, values);
  if (!decision.allowed && reading.retry_after) {
    const auto time = time_of("--retry-after", *reading.retry_after, reply, values);
    if (time) decision.retry_after = *time < microseconds{0} ? limiter::kNever : *time;
  }
  if (reading.remaining) decision.remaining = remaining_of(*reading.remaining, reply, values);
  if (reading.reset_after) {
    const auto time = time_of("--reset-after", *reading.reset_after, reply, values);
    if (time) decision.reset_after = std::max(*time, microseconds{0});
  }
  return decision;
}

}  // namespace

std::span<const NamedCondition> named_conditions() {
  return kNamed;
}

AllowedWhen parse_allowed_when(std::string_view text) {
  std::vector<std::string_view> names;
  for (const auto& row : kNamed) {
    if (row.name == text) return {.named = &row, .expression = ReplyExpression(row.expression)};
    names.push_back(row.name);
  }
  const auto hint =
      fmt::format("it is {}, or an expression such as {}", one_of(names), kExpressionExample);
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

void require_usable(const ReplyReading& reading) {
  if (!reading.delay_unit) return;
  if (reading.retry_after) {
    throw UsageError(
        "--delay-unit and --retry-after cannot be combined: both say which wait the reply has");
  }
  const auto* named = reading.allowed_when.named;
  if (named != nullptr && named->wait != Wait::kNone) return;
  if (named == nullptr) {
    throw UsageError("--delay-unit requires --allowed-when zero, nil or always",
                     "with an expression, use --retry-after 'r[2] ms'");
  }
  throw UsageError(
      fmt::format("a reply that allows when it is {} cannot be a wait; one that "
                  "allows when it is zero, nil or always can be",
                  named->name));
}

void require_usable(const ReplyReading& reading, const limiter::Limit& limit) {
  require_usable(reading);
  for (const auto* expression : expressions_of(reading)) expression->require_usable(limit);
}

bool uses_limit(const ReplyReading& reading) {
  const auto all = expressions_of(reading);
  return std::any_of(all.begin(), all.end(),
                     [](const auto* expression) { return expression->uses_limit(); });
}

Decision read_reply(redis::ReplyView reply, const ReplyReading& reading,
                    const TemplateValues& values, std::string_view script) {
  try {
    return decision_of(reply, reading, values);
  } catch (const Misfit& misfit) {
    throw redis::Error(
        redis::Failure::kRejected,
        fmt::format("{} replied {}, but {}", script, reply_text(reply), misfit.reading), {},
        std::string(misfit.hint));
  }
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
        if (i == kMaxElements || !fits) return out.append(kRest);
        out += element;
      }
      return out + "]";
    }
    default:
      return "'" + escape(reply.text(), kMaxBytes) + "'";
  }
}

}  // namespace rlctl::traffic
