#include "script/head.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "lua/lexer.h"

namespace rlctl::script {
namespace {

constexpr std::string_view kName = "rlctl", kMark = "rlctl:", kBlanks = " \t\r", kExcuse = "allow";
/// An error shows at most this much of a comment.
constexpr std::size_t kMostShown = 40;

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

/// Whether a comment is meant as a line of a head, but does not begin like one: "RLCTL: limit
/// 5/60s", "rlctl : limit 5/60s", "- rlctl: limit 5/60s".
bool is_near_miss(std::string_view comment) {
  comment = comment.substr(std::min(comment.find_first_not_of("- \t"), comment.size()));
  if (lower_case(comment.substr(0, kName.size())) != kName) return false;
  return trimmed(comment.substr(kName.size())).starts_with(':');
}

}  // namespace

HeadLine parse_head_line(std::string_view text, std::span<const std::string_view> words) {
  text = trimmed(text);
  const auto word = text.substr(0, text.find_first_of(kBlanks));
  if (word.empty()) throw UsageError("no word is given; expected one of: " + one_of(words));
  if (std::ranges::find(words, word) == words.end()) {
    throw UsageError("unknown word " + quoted_and_masked(std::string(word)) +
                     did_you_mean_or_all(word, words));
  }
  const auto value = trimmed(text.substr(word.size()));
  if (value.empty()) throw UsageError(std::string(word) + " has no value");
  return {.word = std::string(word), .value = std::string(value)};
}

std::vector<HeadLine> read_head(std::string_view source, std::string_view file,
                                std::span<const std::string_view> words,
                                std::string_view repeatable) {
  std::vector<HeadLine> lines;
  const auto lexed = lua::lex(source);
  if (!lexed) return lines;
  for (const auto& comment : lexed->comments) {
    auto text = trimmed(comment.text);
    if (!text.starts_with(kMark)) {
      if (!is_near_miss(text)) continue;
      throw InputError(
          fmt::format("{}:{}: a line of a head begins with '-- rlctl: WORD', not with "
                      "'--{}'",
                      file, comment.line, escape(comment.text, kMostShown)));
    }
    text = trimmed(text.substr(kMark.size()));
    if (text.substr(0, text.find_first_of(kBlanks)) == kExcuse) continue;
    try {
      auto line = parse_head_line(text, words);
      if (comment.next > 0) {
        throw UsageError(line.word + " is after the first statement, where the head has ended");
      }
      const auto first = std::ranges::find(lines, line.word, &HeadLine::word);
      if (first != lines.end() && line.word != repeatable) {
        throw UsageError(
            fmt::format("{} is there twice, the first time in line {}", line.word, first->line));
      }
      line.line = comment.line;
      lines.push_back(std::move(line));
    } catch (const UsageError& error) {
      throw InputError(fmt::format("{}:{}: {}", file, comment.line, error.what()), error.hint());
    }
  }
  return lines;
}

}  // namespace rlctl::script
