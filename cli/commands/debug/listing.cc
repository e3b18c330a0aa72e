#include "cli/commands/debug/listing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "lua/lexer.h"

namespace rlctl::cli::debug {

Listing::Listing(const debugger::Debuggee& debuggee, const Look& look)
    : debuggee_(debuggee), look_(look) {
  read_source();
}

void Listing::read_source() {
  source_ = lua::source_lines(debuggee_.shown_source());
}

std::string_view Listing::bytes(int number) const {
  const auto index = static_cast<std::size_t>(number) - 1;
  return index < source_.size() ? source_[index] : std::string_view();
}

std::string Listing::line(int number) const {
  std::string out;
  for (const char c : bytes(number)) {
    out.append(c == '\t' ? "    " : std::string_view(&c, 1));
  }
  return escaped_message(out);
}

std::string Listing::statement(int number) const {
  auto text = line(number);
  return text.erase(0, std::min(text.find_first_not_of(' '), text.size()));
}

std::string Listing::place(int number) const {
  return fmt::format("{}:{}", escaped_message(debuggee_.name), number);
}

void Listing::append(std::string& out, int first, int last, int current,
                     const std::function<bool(int)>& has_breakpoint) const {
  const auto tone = [this](std::string_view text, Tone meaning) {
    return toned(text, meaning, look_.colour);
  };
  const int end = std::min(last, line_count());
  const auto width = std::to_string(line_count()).size();
  for (int number = std::max(first, 1); number <= end; ++number) {
    const bool is_current = number == current;
    out += tone(is_current ? "->" : "  ", is_current ? Tone::kGood : Tone::kPlain);
    out += tone(has_breakpoint(number) ? "#" : " ", Tone::kBad);
    out += tone(fmt::format("{:<{}}", number, width), Tone::kDim);
    const auto text = line(number);
    if (!text.empty()) out += "  " + (is_current ? tone(text, Tone::kLabel) : text);
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
}

}  // namespace rlctl::cli::debug
