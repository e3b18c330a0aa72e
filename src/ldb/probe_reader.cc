#include "ldb/probe_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <system_error>
#include <utility>

#include "ldb/session.h"

namespace rlctl::ldb {
namespace {

// probe.lua describes the form of the lines.
constexpr std::string_view kTag = "~rl:";
constexpr int kDeepestValue = 200;

struct NotOurs {};

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  throw NotOurs{};
}

template <typename Number>
Number parse_number(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  // from_chars() may report 5e-324 as out of range; other values out of range do not occur.
  if (error == std::errc::invalid_argument || end != text.data() + text.size()) throw NotOurs{};
  return number;
}

std::string decode(std::string_view word) {
  std::string bytes;
  bytes.reserve(word.size());
  for (std::size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '%') {
      bytes += word[i];
      continue;
    }
    if (word.size() - i < 3) throw NotOurs{};
    bytes += static_cast<char>(hex_digit(word[i + 1]) * 16 + hex_digit(word[i + 2]));
    i += 2;
  }
  return bytes;
}

/// The unparsed rest of a line.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  [[nodiscard]] bool empty() const { return text_.empty(); }
  [[nodiscard]] char peek() const { return text_.empty() ? '\0' : text_.front(); }
  bool accept(char c) {
    if (peek() != c || text_.empty()) return false;
    text_.remove_prefix(1);
    return true;
  }
  void expect(char c) {
    if (!accept(c)) throw NotOurs{};
  }
  /// Takes the text up to the next separator.
  std::string_view word() {
    const auto word = text_.substr(0, text_.find_first_of(";=:{}~"));
    text_.remove_prefix(word.size());
    return word;
  }
  std::size_t index() { return parse_number<std::size_t>(word()); }

  Value value(int depth = 0) {
    using Kind = Value::Kind;
    Value value;
    if (depth > kDeepestValue) throw NotOurs{};
    if (accept('{')) {
      value.kind = Kind::kTable;
      table(value, depth);
      return value;
    }
    const auto text = word();
    if (text.empty()) throw NotOurs{};
    const auto rest = text.substr(1);
    switch (text.front()) {
      case 'n':
        break;
      case 't':
      case 'f':
        value.kind = Kind::kBoolean;
        value.boolean = text.front() == 't';
        break;
      case 'd':
        value.kind = Kind::kNumber;
        value.number = parse_number<double>(rest);
        break;
      case 's':
        value.kind = Kind::kString;
        value.text = decode(rest);
        break;
      case 'o':
        value.kind = Kind::kOpaque;
        value.text = rest;
        break;
      case 'c':
        value.kind = Kind::kCycle;
        break;
      default:
        throw NotOurs{};
    }
    return value;
  }

 private:
  void table(Value& table, int depth) {
    double next = 1;
    while (!accept('}')) {
      if (accept('~')) {
        index();
        table.is_cut = true;
      } else {
        auto field = value(depth + 1);
        Value key;
        if (accept('=')) {
          key = std::exchange(field, value(depth + 1));
        } else {
          key.kind = Value::Kind::kNumber;
          key.number = next++;
        }
        table.fields.emplace_back(std::move(key), std::move(field));
      }
      expect(';');
    }
    sort_fields(table);
  }

  std::string_view text_;
};

// A number as servers write it into a command since 7.2 (their fpconv): with the fewest digits, and
// an exponent instead of many zeros.
std::string server_digits(double number) {
  std::array<char, 32> buffer;
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), std::abs(number),
                                 std::chars_format::scientific);
  const std::string_view text(buffer.data(), static_cast<std::size_t>(end.ptr - buffer.data()));
  const auto e = text.find('e');
  std::string digits(text.substr(0, 1));
  if (e > 2) digits += text.substr(2, e - 2);
  const auto sign_at = e + (text.substr(e + 1, 1) == "+" ? 2 : 1);
  const int exponent = parse_number<int>(text.substr(sign_at));
  const int count = static_cast<int>(digits.size());
  const int zeros = exponent - count + 1;
  const std::string minus = number < 0 ? "-" : "";
  if (zeros >= 0 && exponent < count + 7) {
    return minus + digits + std::string(static_cast<std::size_t>(zeros), '0');
  }
  if (zeros < 0 && (zeros > -7 || std::abs(exponent) < 4)) {
    if (exponent < 0) digits.insert(0, static_cast<std::size_t>(-exponent), '0');
    return minus + digits.insert(static_cast<std::size_t>(std::max(exponent, 0)) + 1, ".");
  }
  if (count > 1) digits.insert(1, ".");
  return minus + digits + 'e' + (exponent < 0 ? '-' : '+') + std::to_string(std::abs(exponent));
}

std::vector<std::string> read_words(Rest& rest) {
  std::vector<std::string> words;
  do {
    const auto word = rest.word();
    if (word.substr(0, 1) == "#") {
      words.push_back(server_digits(parse_number<double>(decode(word.substr(1)))));
    } else {
      words.push_back(decode(word));
    }
  } while (rest.accept(';'));
  return words;
}

void read_log(Rest& rest, ProbeReader::Line& line) {
  constexpr std::array<std::string_view, 4> kLevels{"debug", "verbose", "notice", "warning"};
  rest.expect(';');
  line.message.level = kLevels.at(std::min(rest.index(), kLevels.size() - 1));
  rest.expect(';');
  line.message.text = decode(rest.word());
  if (!rest.empty()) throw NotOurs{};
}

void read_call(Rest& rest, ProbeReader::Line& line) {
  rest.expect(';');
  line.words = read_words(rest);
  if (rest.accept('=')) line.answer = read_words(rest);
  if (!rest.empty()) throw NotOurs{};
}

}  // namespace

std::optional<Value> parse_told(std::string_view text) {
  try {
    Rest rest(text);
    auto value = rest.value();
    if (rest.empty()) return value;
  } catch (const NotOurs&) {
    // Returns none below.
  }
  return std::nullopt;
}

ProbeReader::ProbeReader(const ProbedScript& script) : script_(script) {
  for (std::size_t i = 0; i < script.probes.size(); ++i) {
    const auto& probe = script.probes[i];
    std::size_t first = 0;
    do {
      parts_.push_back({i, first});
      first += ProbePart::kMaxValues;
    } while (first < probe.functions.size() + probe.locals.size());
  }
}

bool ProbeReader::read_values(std::string_view text, std::size_t& probe) {
  Rest rest(text);
  do {
    const auto number = rest.index();
    if (number == 0 || number > parts_.size()) return false;
    const auto& part = parts_[number - 1];
    probe = part.probe;
    auto& values = last_[ProbePart::place_of(script_.probes[probe].function, part.first)];
    while (rest.accept(';')) {
      const auto index = rest.index();
      rest.expect('=');
      if (index == 0 || index > values.size()) return false;
      values[index - 1] = rest.value();
    }
  } while (rest.accept(':'));
  return rest.empty();
}

ProbeReading ProbeReader::reading_of(std::size_t index) {
  const auto& probe = script_.probes[index];
  const auto value = [&](std::size_t i) -> const Value& {
    return last_[ProbePart::place_of(probe.function, i)][i % ProbePart::kMaxValues];
  };
  const auto activation_of = [&](std::size_t function) -> std::int64_t {
    for (std::size_t i = 0; i < probe.functions.size(); ++i) {
      if (probe.functions[i] != function) continue;
      // Whatever a server writes, it is a number that exists.
      constexpr double kMax = 1e15;
      const auto number = value(i).number;
      return number >= 0 && number <= kMax ? static_cast<std::int64_t>(number) : 0;
    }
    return 0;
  };
  ProbeReading reading{index, {}};
  for (std::size_t i = 0; i < probe.locals.size(); ++i) {
    const auto local = probe.locals[i];
    reading.variables.push_back(
        {local, activation_of(script_.locals[local].function), value(probe.functions.size() + i)});
  }
  return reading;
}

ProbeReader::Line ProbeReader::read(std::string_view text) {
  text = without_quotes(text);
  Line line;
  if (text.substr(0, kTag.size()) != kTag) return line;
  text.remove_prefix(kTag.size());
  try {
    std::size_t probe = 0;
    if (text.substr(0, 1) == "P" && read_values(text.substr(1), probe)) {
      line.kind = Line::Kind::kProbe;
      line.reading = reading_of(probe);
    } else if (text.substr(0, 1) == "C") {
      Rest rest(text.substr(1));
      read_call(rest, line);
      line.kind = Line::Kind::kCall;
    } else if (text.substr(0, 1) == "L") {
      Rest rest(text.substr(1));
      read_log(rest, line);
      line.kind = Line::Kind::kLog;
    } else if (text == "T") {
      line.kind = Line::Kind::kPause;
    }
  } catch (const NotOurs&) {
    return {};
  }
  return line;
}

}  // namespace rlctl::ldb
