#include "cli/burst/xml.h"

#include <array>

#include "base/text.h"

namespace rlctl::cli {

std::string xml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::array<std::string_view, 4> kEntities{"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : escaped_message(text)) {
    const auto special = kSpecial.find(c);
    out += special == kSpecial.npos ? std::string_view(&c, 1) : kEntities[special];
  }
  return out;
}

}  // namespace rlctl::cli
