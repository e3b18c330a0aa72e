#include "redis/text.h"

#include <fmt/format.h>

#include <system_error>

namespace rlctl::redis {

namespace {

void append_escaped(std::string& out, unsigned char byte) {
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
    case '\\':
      out += "\\\\";
      return;
    default:
      break;
  }
  if (byte < 0x20 || byte == 0x7f) {
    fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
  } else {
    out += static_cast<char>(byte);
  }
}

}  // namespace

std::string escape(std::string_view bytes, std::size_t limit) {
  std::string out;
  for (const char byte : bytes.substr(0, limit)) {
    append_escaped(out, static_cast<unsigned char>(byte));
  }
  if (bytes.size() > limit) out += "...";
  return out;
}

std::string without_initial_capital(std::string text) {
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

std::string errno_text(int error) {
  return without_initial_capital(std::generic_category().message(error));
}

std::string format_duration(std::chrono::microseconds duration) {
  const auto us = duration.count();
  if (us >= 1'000'000) return fmt::format("{:g}s", static_cast<double>(us) / 1e6);
  if (us >= 1'000) return fmt::format("{:g}ms", static_cast<double>(us) / 1e3);
  return fmt::format("{}us", us);
}

}  // namespace rlctl::redis
