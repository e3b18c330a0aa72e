#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace fuzz {

/// The target: what is done with one input, which it must take without a crash and without an
/// exception. Each NAME.cc defines it.
void test(std::string_view input);

/// Ends the program, which libFuzzer reports as a crash, unless a property holds. `shown` is what
/// it was found with.
void require(bool holds, const char* property, std::string_view shown = {});

/// Splits an input from its front.
class Parts {
 public:
  explicit Parts(std::string_view input) : rest_(input) {}

  /// Takes up to the next `end`, which is dropped; everything if there is none.
  std::string_view until(char end);
  /// Takes one byte as a number from 0 to `most`: "0" to "9" are 0 to 9. 0 at the end.
  unsigned choice(unsigned most);
  /// Takes a line as a number: its digits, or its hash if it has others.
  std::int64_t number();
  [[nodiscard]] std::string_view rest() const { return rest_; }
  [[nodiscard]] bool done() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

/// Calls a parser; none if it throws `Expected`, whose message must be one that can be shown: it is
/// not empty, and no longer than what it is about allows.
template <typename Expected, typename Parse>
auto accepted(Parse parse, std::size_t longest_message) -> std::optional<decltype(parse())> {
  try {
    return parse();
  } catch (const Expected& error) {
    const std::string_view what = error.what();
    require(!what.empty(), "a refusal has a message");
    require(what.size() <= longest_message, "a message is bounded", what);
    return std::nullopt;
  }
}

/// Whether the text has a control byte other than the end of a line.
[[nodiscard]] bool has_control(std::string_view text);
/// Whether the text, in UTF-8, has a character that a terminal may interpret: a control byte, a C1
/// control character, or one that changes the direction of the text.
[[nodiscard]] bool has_control_character(std::string_view text);

}  // namespace fuzz
