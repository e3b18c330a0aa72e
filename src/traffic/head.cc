#include "traffic/head.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "lua/lexer.h"

namespace rlctl::traffic {
namespace {

constexpr std::string_view kMark = "rlctl:", kBlanks = " \t\r", kExcuse = "allow";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
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
    if (!text.starts_with(kMark)) continue;
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

}  // namespace rlctl::traffic
