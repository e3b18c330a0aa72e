#include "cli/trial/html.h"

#include <fmt/format.h>

#include <charconv>
#include <map>

#include "base/text.h"
#include "cli/trial/document.h"
#include "embedded_page.h"
#include "embedded_page_sha256.h"

namespace rlctl::cli::trial {
namespace {

/// The name of the page's script in its Content-Security-Policy: the base64 of its SHA-256.
std::string script_hash() {
  std::string bytes;
  for (std::string_view hex = embedded::kPageScriptSha256; !hex.empty(); hex.remove_prefix(2)) {
    unsigned char byte = 0;
    std::from_chars(hex.data(), hex.data() + 2, byte, 16);
    bytes += static_cast<char>(byte);
  }
  return "sha256-" + to_base64(bytes);
}

/// JSON that may stand within an element of HTML.
std::string without_tags(std::string_view json) {
  std::string out;
  for (const char c : json) {
    if (c == '<' || c == '>' || c == '&') {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  return out;
}

/// Lines of text as XML.
std::string lines_of(std::string_view text) {
  std::string out;
  while (!text.empty()) out += xml(take_until(text, "\n")) + '\n';
  return out;
}

}  // namespace

std::string draw_page(std::string_view title, std::string_view text, std::string_view json) {
  const std::map<std::string_view, std::string> parts{
      {"title", xml(title)},          {"style", std::string(embedded::k_page_css.text)},
      {"report", lines_of(text)},     {"data", without_tags(json)},
      {"script-hash", script_hash()}, {"script", std::string(embedded::k_page_js.text)}};
  std::string out;
  for (std::string_view rest = embedded::k_page_html.text; !rest.empty();) {
    const auto begin = rest.find("{{");
    out += rest.substr(0, begin);
    if (begin == rest.npos) break;
    rest.remove_prefix(begin + 2);
    const auto end = rest.find("}}");
    out += parts.at(rest.substr(0, end));
    rest.remove_prefix(end + 2);
  }
  return out;
}

}  // namespace rlctl::cli::trial
