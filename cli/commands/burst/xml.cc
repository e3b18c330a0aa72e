#include "cli/commands/burst/xml.h"

#include <array>

#include "base/text.h"

namespace rlctl::cli {
namespace {

/// Escapes the two characters that are UTF-8 and no control characters, but not allowed in XML.
std::string without_noncharacters(std::string text) {
  constexpr std::array<std::string_view, 2> kCharacters{"\xef\xbf\xbe", "\xef\xbf\xbf"};
  constexpr std::array<std::string_view, 2> kEscaped{"\\xef\\xbf\\xbe", "\\xef\\xbf\\xbf"};
  for (std::size_t i = 0; i < kCharacters.size(); ++i) {
    for (auto at = text.find(kCharacters[i]); at != text.npos; at = text.find(kCharacters[i], at)) {
      text.replace(at, kCharacters[i].size(), kEscaped[i]);
    }
  }
  return text;
}

}  // namespace

std::string xml(std::string_view text) {
  constexpr std::string_view kSpecial = "&<>\"";
  constexpr std::array<std::string_view, 4> kEntities{"&amp;", "&lt;", "&gt;", "&quot;"};
  std::string out;
  for (const char c : without_noncharacters(escaped_message(text))) {
    const auto special = kSpecial.find(c);
    out += special == kSpecial.npos ? std::string_view(&c, 1) : kEntities[special];
  }
  return out;
}

}  // namespace rlctl::cli
