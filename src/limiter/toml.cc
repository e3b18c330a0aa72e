#include "limiter/toml.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace rlctl::limiter {
namespace {

struct BrokenAssertion {};

/// Each part of a dotted key is a level too, and toml++ does not count these.
constexpr std::ptrdiff_t kMaxDots = 1000;

/// Rewrites a message of toml++, which begins with "Error while parsing ".
std::string syntax_message(std::string_view description) {
  constexpr std::string_view kPrefix = "Error while parsing ";
  if (!description.starts_with(kPrefix)) {
    return "bad TOML: " + without_initial_capital(std::string(description));
  }
  const auto rest = description.substr(kPrefix.size());
  // "string: unescaped control characters other than TAB (U+0009) are explicitly prohibited"
  if (rest.find("string") != rest.npos && rest.find("control characters") != rest.npos) {
    return "bad TOML in string: it is not closed on its line, or has a control character";
  }
  auto message = std::string("bad TOML in ").append(rest);
  // key = login:%s, limit = 5/60s
  const bool is_bare = rest.find("value type") != rest.npos || rest.starts_with("decimal");
  return is_bare ? message + "; write text in quotes: limit = \"5/60s\"" : message;
}

}  // namespace

void break_assertion() {
  throw BrokenAssertion();
}

toml::table parse_toml(std::string_view text) {
  std::size_t line = 1;
  for (auto rest = text; !rest.empty(); ++line) {
    const auto whole = take_until(rest, "\n");
    if (std::count(whole.begin(), whole.end(), '.') > kMaxDots) {
      throw TomlError(line, fmt::format("more than {} dots", kMaxDots));
    }
  }
  try {
    return toml::parse(text);
  } catch (const toml::parse_error& error) {
    const auto at = std::max<std::size_t>(error.source().begin.line, 1);
    throw TomlError(at, syntax_message(error.description()));
  } catch (const BrokenAssertion&) {
    throw TomlError(0, "bad TOML: unexpected character in a table header, such as [.a]");
  }
}

}  // namespace rlctl::limiter
