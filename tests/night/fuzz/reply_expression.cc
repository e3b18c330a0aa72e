// An expression that is accepted can be evaluated with any reply: it has a value, or an error with
// a column. So can a template.
#include "script/reply.h"

#include "base/error.h"
#include "night/fuzz/replies.h"
#include "script/template.h"

namespace fuzz::reply_expression {

using rlctl::UsageError;
using namespace rlctl::script;
using namespace rlctl::redis;

/// Of a message that quotes the text, or parts of it, so many times, each byte as four at most.
std::size_t longest_message(std::string_view text, std::size_t times = 3) {
  return 3000 + times * 4 * text.size();
}

void test_expression(std::string_view text, ReplyView reply, const TemplateValues& values) {
  const auto expression =
      accepted<UsageError>([&] { return ReplyExpression(text); }, longest_message(text));
  if (!expression) return;
  require(expression->source() == text, "the source is as written", expression->source());
  const auto is_usable = accepted<UsageError>(
      [&] { return (expression->require_usable(values.limit), true); }, longest_message(text));
  if (!is_usable) return;
  try {
    const bool holds = expression->holds(reply, values);
    require(holds == expression->holds(reply, values), "a value is the same again");
    require(!expression->number(reply, values), "a condition is not a number");
  } catch (const rlctl::lua::ExpressionError& error) {
    require(error.column >= 1 && error.column <= text.size(), "an error is in the expression");
    require(!error.message.empty(), "an error has a message");
  }
}

void test_reading(std::string_view text, ReplyView reply, const TemplateValues& values) {
  using rlctl::limiter::Decision;
  const auto allowed =
      accepted<UsageError>([&] { return parse_allowed_when(text); }, longest_message(text));
  // Without a unit, it is suggested with each of three.
  const auto wait =
      accepted<UsageError>([&] { return parse_wait_expression(text); }, longest_message(text, 4));
  const auto number =
      accepted<UsageError>([&] { return parse_number_expression(text); }, longest_message(text));
  ReplyReading reading;
  if (allowed) reading.allowed_when = *allowed;
  if (wait) reading.retry_after = *wait;
  if (wait) reading.reset_after = *wait;
  if (number) reading.remaining = *number;
  const auto is_usable = accepted<UsageError>(
      [&] {
        require_usable(reading, values.limit);
        return true;
      },
      longest_message(text));
  if (!is_usable || reply.is_error()) return;
  const auto decision = accepted<Error>(
      [&] { return read_reply(reply, reading, values, "a script"); }, longest_message(text));
  if (!decision || !number) return;
  using rlctl::limiter::kNotTold;
  require(decision->remaining >= 0 || decision->remaining == kNotTold,
          "what remains is not negative");
}

void test_template(std::string_view text, const TemplateValues& values) {
  const auto made = accepted<UsageError>([&] { return Template(text); }, longest_message(text));
  if (!made) return;
  require(made->source() == text, "the source is as written", made->source());
  std::string out;
  made->append(out, values);
  require(out.size() <= text.size() * 64, "it is bounded", out);
}

// An expression on a line, and the reply.
void test(std::string_view input) {
  Parts parts(input);
  const auto text = parts.until('\n');
  const TemplateValues values{.key = "a key",
                              .limit = {.limit = 5, .window = std::chrono::seconds{60}},
                              .cost = 2,
                              .id = 3,
                              .now = std::chrono::microseconds{1'767'225'660'123'456}};
  test_template(text, values);
  auto reply = first_reply(parts.rest());
  if (!reply) reply = first_reply("*3\r\n:1\r\n$1\r\n5\r\n*1\r\n$-1\r\n");
  test_expression(text, *reply, values);
  test_reading(text, *reply, values);
}

const Target kTarget("reply_expression", test);

}  // namespace fuzz::reply_expression
