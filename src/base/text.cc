#include "base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <iterator>
#include <system_error>

#include "base/error.h"

namespace rlctl {
namespace {

struct Range {
  char32_t first, last;
};

// The blocks that matter for names; a complete Unicode table would not change anything for them.
constexpr Range kNoColumn[] = {
    {0x300, 0x36F},   {0x483, 0x489},   {0x591, 0x5BD},   {0x610, 0x61A},   {0x64B, 0x65F},
    {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}};
constexpr Range kTwoColumns[] = {
    {0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},  {0xA960, 0xA97C}, {0xAC00, 0xD7A3},
    {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},  {0xFFE0, 0xFFE6}, {0x1F300, 0x1F64F},
    {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

bool is_in(std::span<const Range> ranges, char32_t character) {
  return std::any_of(ranges.begin(), ranges.end(), [character](const Range& range) {
    return character >= range.first && character <= range.last;
  });
}

/// Decodes one character of well-formed UTF-8.
char32_t decode(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() == 1) return byte(0);
  char32_t value = byte(0) & (0xFFU >> (character.size() + 1));
  for (std::size_t i = 1; i < character.size(); ++i) value = value << 6 | (byte(i) & 0x3FU);
  return value;
}

unsigned byte_at(std::string_view text, std::size_t index) noexcept {
  return static_cast<unsigned char>(text[index]);
}

/// Characters that terminals interpret or that nobody sees: the C1 control characters, those that
/// change the direction of the text that follows, the two that some readers of lines take for a
/// line's end, spaces other than U+0020, and those that Unicode's DerivedCoreProperties.txt calls
/// default-ignorable.
constexpr Range kControls[] = {
    {0x80, 0xA0},     {0xAD, 0xAD},     {0x34F, 0x34F},     {0x61C, 0x61C},     {0x115F, 0x1160},
    {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180B, 0x180F},   {0x2000, 0x200F},   {0x2028, 0x202F},
    {0x205F, 0x206F}, {0x3000, 0x3000}, {0x3164, 0x3164},   {0xFE00, 0xFE0F},   {0xFEFF, 0xFEFF},
    {0xFFA0, 0xFFA0}, {0xFFF0, 0xFFFB}, {0x1BCA0, 0x1BCA3}, {0x1D173, 0x1D17A}, {0xE0000, 0xE0FFF}};

bool is_control(std::string_view character) {
  return character.size() > 1 && is_in(kControls, decode(character));
}

/// What to escape besides control bytes.
struct Escaping {
  bool blanks = false;
  bool backslashes = false;
  bool quotes = false;
  bool not_utf8 = false;  ///< bytes that are not UTF-8, and the bytes of control characters
};

void append_escaped(std::string& out, unsigned byte) {
  constexpr std::string_view kBytes = "\n\r\t\\\"", kLetters = "nrt\\\"";
  const auto index = kBytes.find(static_cast<char>(byte));
  if (index == kBytes.npos) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
  } else {
    out += '\\';
    out += kLetters[index];
  }
}

std::string escaped(std::string_view text, const Escaping& escaping) {
  std::string out;
  while (!text.empty()) {
    const unsigned byte = byte_at(text, 0);
    auto length = byte < 0x80 || !escaping.not_utf8 ? 1 : utf8_length(text);
    const bool is_escaped = byte < 0x20 || byte == 0x7F || (byte == ' ' && escaping.blanks) ||
                            (byte == '\\' && escaping.backslashes) ||
                            (byte == '"' && escaping.quotes) || length == 0 ||
                            is_control(text.substr(0, length));
    length = is_escaped ? 1 : length;
    if (is_escaped) {
      append_escaped(out, byte);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

/// The position of "unix:" in any case, as in a URL.
std::size_t find_unix(std::string_view text) {
  constexpr std::string_view kUnix = "unix:";
  const auto same = [](char a, char b) { return lower_case(a) == b; };
  const auto found = std::search(text.begin(), text.end(), kUnix.begin(), kUnix.end(), same);
  return found == text.end() ? text.npos : static_cast<std::size_t>(found - text.begin());
}

/// The end of the first "scheme://" or "unix:"; npos if there is none.
std::size_t end_of_scheme(std::string_view text) {
  const auto slashes = text.find("://");
  const auto unix = find_unix(text);
  if (unix < slashes && unix + 4 != slashes) return unix + 5;
  return slashes == text.npos ? text.npos : slashes + 3;
}

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::size_t kMaxEdits = 2;
constexpr std::size_t kMaxSuggestions = 3;

std::string_view without_dashes(std::string_view word) {
  const auto start = word.find_first_not_of('-');
  return start == word.npos ? std::string_view{} : word.substr(start);
}

}  // namespace

std::size_t utf8_length(std::string_view text) noexcept {
  if (text.empty()) return 0;
  const unsigned first = byte_at(text, 0);
  if (first < 0x80) return 1;
  const std::size_t length = first < 0xC2   ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length == 0 || text.size() < length) return 0;
  // The range of the second byte excludes overlong forms, surrogates and values above U+10FFFF.
  const unsigned second = byte_at(text, 1);
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const auto length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

char32_t control_character_at(std::string_view text) noexcept {
  const auto character = text.substr(0, utf8_length(text));
  return is_control(character) ? decode(character) : 0;
}

std::string escaped_text(std::string_view text) {
  return escaped(text, {.blanks = true, .backslashes = true, .not_utf8 = true});
}

std::string quoted_text(std::string_view text) {
  return '"' + escaped(text, {.backslashes = true, .quotes = true, .not_utf8 = true}) + '"';
}

std::string escaped_message(std::string_view text) {
  return escaped(text, {.not_utf8 = true});
}

std::string escape(std::string_view bytes, std::size_t limit) {
  auto out = escaped(bytes.substr(0, limit), {.backslashes = true});
  if (bytes.size() > limit) out += "...";
  return out;
}

std::string last_lines(std::string_view text, std::size_t most) {
  constexpr std::size_t kMostOfLine = 200;
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto line = take_until(text, "\n");
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    if (lines.size() == most) lines.erase(lines.begin());
    lines.push_back(escape(line, kMostOfLine));
  }
  return fmt::format("{}", fmt::join(lines, "; "));
}

std::string_view take_until(std::string_view& text, std::string_view separators) {
  const auto part = text.substr(0, text.find_first_of(separators));
  text.remove_prefix(std::min(part.size() + 1, text.size()));
  return part;
}

std::vector<std::string> split_at_commas(std::string_view list) {
  std::vector<std::string> parts;
  for (auto left = std::count(list.begin(), list.end(), ','); left >= 0; --left) {
    parts.emplace_back(take_until(list, ","));
  }
  return parts;
}

std::string grouped(std::int64_t count) {
  auto text = std::to_string(count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (auto at = text.size(); at > first + 3;) text.insert(at -= 3, ",");
  return text;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, plural(count));
}

std::string without_initial_capital(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = lower_case(text[0]);
  }
  return text;
}

std::string errno_text(int error) {
  return without_initial_capital(std::generic_category().message(error));
}

bool is_digits(std::string_view text) noexcept {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_alphanumeric(char c) noexcept {
  return is_digit(c) || (lower_case(c) >= 'a' && lower_case(c) <= 'z');
}

char lower_case(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string lower_case(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](char c) { return lower_case(c); });
  return out;
}

std::string_view take_digits(std::string_view& text) {
  const auto* end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

std::int64_t bounded_value(std::string_view digits, std::int64_t most) {
  std::int64_t value = 0;
  for (const char c : digits) {
    const auto digit = c - '0';
    if (digit > most || value > (most - digit) / 10) return most + 1;
    value = value * 10 + digit;
  }
  return value;
}

std::optional<double> to_decimal(std::string_view text) noexcept {
  const auto number = to_number<double>(text, std::chars_format::fixed);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

std::int64_t parse_whole(std::string_view text, std::string_view what) {
  constexpr std::int64_t kMax = INT64_MAX - 1;
  auto rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const auto digits = take_digits(rest);
  if (digits.empty() || !rest.empty()) {
    throw UsageError(
        fmt::format("{} must be a whole number in decimal digits, not '{}'", what, text));
  }
  const auto value = bounded_value(digits, kMax);
  if (value > kMax) throw UsageError(fmt::format("{} is out of range: '{}'", what, text));
  return negative ? -value : value;
}

void mask_passwords(char* text, std::size_t size) {
  const std::string_view view(text, size);
  const auto begin = end_of_scheme(view);
  const auto last_at = view.rfind('@');
  if (begin == view.npos || last_at == view.npos || last_at <= begin) return;
  const auto info = view.substr(begin, last_at - begin);
  // It is masked already, unless there is another colon, which a password could begin with.
  constexpr std::string_view kMasked = ":***";
  if (info.find_first_of(":@/ ") + kMasked.size() == info.size() && info.ends_with(kMasked)) return;
  std::memset(text + begin, '*', last_at - begin);
}

std::string masked(std::string text) {
  mask_passwords(text.data(), text.size());
  return text;
}

std::string quoted_and_masked(std::string_view argument) {
  return std::string("'").append(masked(std::string(argument))).append("'");
}

std::string to_base64(std::string_view bytes) {
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto group = bytes.substr(i, 3);
    std::uint32_t bits = 0;
    for (std::size_t at = 0; at < 3; ++at) {
      const char byte = at < group.size() ? group[at] : '\0';
      bits = bits << 8U | static_cast<unsigned char>(byte);
    }
    for (std::size_t digit = 0; digit < 4; ++digit) {
      const auto value = bits >> (18 - 6 * digit) & 63U;
      out += digit <= group.size() ? kBase64Digits[value] : '=';
    }
  }
  return out;
}

std::optional<std::string> from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;  // of the bits that belong to no byte yet
  for (const char c : text.substr(0, text.find('='))) {
    const auto value = kBase64Digits.find(c);
    if (value == kBase64Digits.npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(value);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFFU);
  }
  // Refuses wrong padding and bits that no byte uses.
  if (to_base64(bytes) != text) return std::nullopt;
  return bytes;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  // Optimal string alignment, with three rows of the usual table.
  std::vector<std::size_t> before;
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before = last;
    std::swap(last, row);
  }
  return last[b.size()];
}

std::string_view closest(std::string_view typed, std::span<const std::string_view> candidates) {
  const auto word = lower_case(without_dashes(typed));
  std::size_t allowed = std::min(kMaxEdits, word.size() / 3);
  std::string_view best;
  for (const auto candidate : candidates) {
    const auto name = lower_case(without_dashes(candidate));
    if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) > allowed) continue;
    const auto distance = edit_distance(word, name);
    if (distance > allowed || (!best.empty() && distance == allowed)) continue;
    best = candidate;
    allowed = distance;
  }
  return best;
}

std::string did_you_mean(std::string_view typed, std::span<const std::string_view> candidates) {
  if (const auto best = closest(typed, candidates); !best.empty()) {
    return fmt::format("; did you mean '{}'?", best);
  }
  const auto word = lower_case(without_dashes(typed));
  if (word.empty()) return {};
  std::vector<std::string> begun;
  for (const auto candidate : candidates) {
    const bool begins = lower_case(without_dashes(candidate)).starts_with(word);
    if (begins) begun.push_back(fmt::format("'{}'", candidate));
  }
  if (begun.empty() || begun.size() > kMaxSuggestions) return {};
  const std::vector<std::string_view> names(begun.begin(), begun.end());
  return fmt::format("; did you mean {}?", one_of(names));
}

std::string did_you_mean_or_all(std::string_view typed,
                                std::span<const std::string_view> candidates) {
  auto meant = did_you_mean(typed, candidates);
  return meant.empty() ? "; expected one of: " + one_of(candidates) : meant;
}

std::string one_of(std::span<const std::string_view> words, std::string_view last) {
  std::string out;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) out += i + 1 == words.size() ? fmt::format(" {} ", last) : ", ";
    out += words[i];
  }
  return out;
}

Glyph glyph_at(std::string_view text) noexcept {
  if (text.starts_with("\033[")) return {.bytes = std::min(text.find('m'), text.size() - 1) + 1};
  const auto length = utf8_length(text);
  if (length <= 1) return {.bytes = 1, .columns = 1};
  const auto character = decode(text.substr(0, length));
  const std::size_t columns = is_in(kNoColumn, character)     ? 0
                              : is_in(kTwoColumns, character) ? 2
                                                              : 1;
  return {.bytes = length, .columns = columns};
}

std::size_t display_width(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const bool is_printable_ascii = text.front() >= ' ' && text.front() <= '~';
    const auto glyph = is_printable_ascii ? Glyph{.bytes = 1, .columns = 1} : glyph_at(text);
    columns += glyph.columns;
    text.remove_prefix(glyph.bytes);
  }
  return columns;
}

std::string amount_text(double amount) {
  // Allow for an arithmetic error of a millionth of the last digit.
  auto text = fmt::format("{:.3f}", std::floor(amount * 1000 + 1e-6) / 1000);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

bool contains_in_any_case(std::string_view text, std::string_view word) {
  return lower_case(text).find(word) != std::string::npos;
}

}  // namespace rlctl
