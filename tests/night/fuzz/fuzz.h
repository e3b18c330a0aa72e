#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace fuzz {

/// What is done with one input, which must cause neither a crash nor an exception. Each NAME.cc has
/// one Target.
struct Target {
  Target(const char* its_name, void (*its_test)(std::string_view));

  const char* name;
  void (*test)(std::string_view input);
};

/// The targets of this program, in any order: one for tests/night/fuzz/run, all for
/// targets_test.cc.
inline std::vector<Target>& targets() {
  static std::vector<Target> list;
  return list;
}

inline Target::Target(const char* its_name, void (*its_test)(std::string_view))
    : name(its_name), test(its_test) {
  targets().push_back(*this);
}

/// Ends the program, which libFuzzer reports as a crash, or fails the test, unless a property
/// holds. `shown` is what it was found with.
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
  std::string_view rest() const { return rest_; }
  bool done() const { return rest_.empty(); }

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

inline std::string_view Parts::until(char end) {
  const auto size = std::min(rest_.find(end), rest_.size());
  const auto part = rest_.substr(0, size);
  rest_.remove_prefix(std::min(size + 1, rest_.size()));
  return part;
}

inline unsigned Parts::choice(unsigned most) {
  if (rest_.empty()) return 0;
  const auto byte = static_cast<unsigned char>(rest_.front());
  rest_.remove_prefix(1);
  return (byte >= '0' ? byte - '0' : byte) % (most + 1);
}

inline std::int64_t Parts::number() {
  const auto text = until('\n');
  std::int64_t number = 0;
  const auto* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec == std::errc() && result.ptr == end) return number;
  return static_cast<std::int64_t>(std::hash<std::string_view>()(text));
}

/// Whether the text has a control byte other than the end of a line.
inline bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n') || byte == 0x7f;
  });
}

/// Whether the text, in UTF-8, has a character that a terminal may interpret: a control byte, a C1
/// control character, or one that changes the direction of the text.
inline bool has_control_character(std::string_view text) {
  // U+0080 to U+009F; U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069.
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    const auto two = text.substr(i, 2);
    const auto third = i + 2 < text.size() ? static_cast<unsigned char>(text[i + 2]) : 0U;
    if (two[0] == '\xc2' && static_cast<unsigned char>(two[1]) < 0xa0) return true;
    if (two == "\xd8\x9c") return true;
    if (two == "\xe2\x80" && (third == 0x8e || third == 0x8f || (third >= 0xaa && third <= 0xae))) {
      return true;
    }
    if (two == "\xe2\x81" && third >= 0xa6 && third <= 0xa9) return true;
  }
  return has_control(text);
}

}  // namespace fuzz
