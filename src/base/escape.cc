#include "base/escape.h"

#include <utility>

namespace rlctl {
namespace {

constexpr char kHex[] = "0123456789abcdef";

unsigned byte_at(std::string_view text, std::size_t index) {
  return static_cast<unsigned char>(text[index]);
}

void append_hex_byte(std::string& out, std::string_view prefix, unsigned byte) {
  out += prefix;
  out += kHex[byte >> 4];
  out += kHex[byte & 15];
}

/// C1 control characters, U+0080 to U+009F: some terminals act on them.
bool is_c1(std::string_view character) {
  return character.size() == 2 && byte_at(character, 0) == 0xC2 && byte_at(character, 1) < 0xA0;
}

void escape_control(std::string& out, unsigned byte) {
  switch (byte) {
    case '\n':
      out += "\\n";
      return;
    case '\r':
      out += "\\r";
      return;
    case '\t':
      out += "\\t";
      return;
    default:
      append_hex_byte(out, "\\x", byte);
  }
}

void escape(std::string& out, std::string_view text, bool one_word) {
  while (!text.empty()) {
    const unsigned byte = byte_at(text, 0);
    std::size_t length = 1;
    if (byte < 0x20 || byte == 0x7F || (one_word && byte == ' ')) {
      escape_control(out, byte);
    } else if (one_word && byte == '\\') {
      out += "\\\\";
    } else if (byte < 0x80) {
      out += text.front();
    } else if (length = utf8_length(text); length > 0 && !is_c1(text.substr(0, length))) {
      out += text.substr(0, length);
    } else {
      length = 1;
      append_hex_byte(out, "\\x", byte);
    }
    text.remove_prefix(length);
  }
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
  // The second byte's range keeps out overlong forms, surrogates and what is above U+10FFFF.
  const unsigned second = byte_at(text, 1);
  const unsigned low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (second < low || second > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte_at(text, i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

void escape_text(std::string& out, std::string_view text) {
  escape(out, text, true);
}
void escape_message(std::string& out, std::string_view text) {
  escape(out, text, false);
}

std::string escaped_text(std::string_view text) {
  std::string out;
  escape_text(out, text);
  return out;
}

std::string escaped_message(std::string_view text) {
  std::string out;
  escape_message(out, text);
  return out;
}

}  // namespace rlctl
