#include "base/shell.h"

#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "base/error.h"
#include "base/text.h"

extern char** environ;

namespace rlctl {
namespace {

constexpr std::string_view kNeedNoQuotes =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=+@%";

std::string in_single_quotes(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out.append(c == '\'' ? "'\\''" : std::string(1, c));
  return out + "'";
}

/// Quotes a word for bash, zsh and ksh if it contains bytes that a terminal would interpret. Other
/// shells read another word, but one word: to them $'...' is a dollar sign and a quoted text in
/// which a backslash means nothing, so \' would end it and the rest would be commands.
std::string quoted_with_escapes(const std::string& word) {
  std::string out = "$'";
  std::string_view rest = word;
  while (!rest.empty()) {
    const auto plain = rest.substr(0, rest.find_first_of("'\\"));
    out += escaped_message(plain);
    rest.remove_prefix(plain.size());
    if (rest.empty()) break;
    out += rest.front() == '\'' ? "\\047" : "\\\\";
    rest.remove_prefix(1);
  }
  return out + "'";
}

/// The words with a blank between them, each as `quote` writes it.
std::string joined(const std::vector<std::string>& words,
                   std::string (*quote)(const std::string&)) {
  std::string out;
  for (const auto& word : words) out.append(out.empty() ? "" : " ").append(quote(word));
  return out;
}

class WordSplitter {
 public:
  explicit WordSplitter(std::string_view text) : text_(text), rest_(text) {}

  std::vector<std::string> split() {
    while (!rest_.empty()) {
      const char c = take();
      if (kBlanks.find(c) != kBlanks.npos) {
        end_word();
      } else if (c == '\'' || c == '"') {
        take_quoted(c);
      } else if (c == '\\') {
        take_escaped();
      } else {
        word() += c;
      }
    }
    end_word();
    return std::move(words_);
  }

 private:
  static constexpr std::string_view kBlanks = " \t\r\n";
  static constexpr std::string_view kEscapedInQuotes = "$`\"\\";

  char take() {
    const char c = rest_.front();
    rest_.remove_prefix(1);
    return c;
  }
  /// The current word, begun if necessary: a first quote begins one, since '' is a word.
  std::string& word() {
    if (!word_) word_.emplace();
    return *word_;
  }
  void end_word() {
    if (word_) words_.push_back(std::move(*word_));
    word_.reset();
  }

  /// Takes an escaped character; a backslash before a line end joins two lines.
  void take_escaped() {
    if (rest_.empty()) {
      throw UsageError(quoted_and_masked(text_) + " ends in a backslash with nothing after it");
    }
    if (const char c = take(); c != '\n') word() += c;
  }

  void take_quoted(char quote) {
    word();
    while (!rest_.empty()) {
      const char c = take();
      if (c == quote) return;
      const bool escapes =
          quote == '"' && c == '\\' && !rest_.empty() &&
          (rest_.front() == '\n' || kEscapedInQuotes.find(rest_.front()) != kEscapedInQuotes.npos);
      if (escapes) {
        take_escaped();
      } else {
        word() += c;
      }
    }
    throw UsageError(quoted_and_masked(text_) + " has a quote that is not closed: " + quote);
  }

  std::string_view text_, rest_;
  std::vector<std::string> words_;
  std::optional<std::string> word_;
};

}  // namespace

std::vector<std::string> shell_words(std::string_view text) {
  return WordSplitter(text).split();
}

std::string joined_words(const std::vector<std::string>& words) {
  return joined(words, [](const std::string& word) {
    const bool is_plain = !word.empty() && word.find_first_of(" \t\r\n'\"\\") == word.npos;
    return is_plain ? word : in_single_quotes(word);
  });
}

bool every_shell_reads(std::string_view word) {
  return escaped_message(word) == word;
}

std::string shell_quoted(const std::string& word) {
  if (!every_shell_reads(word)) return quoted_with_escapes(word);
  // zsh takes =NAME for the path of a program.
  const bool is_plain =
      !word.empty() && !word.starts_with('=') && word.find_first_not_of(kNeedNoQuotes) == word.npos;
  return is_plain ? word : in_single_quotes(word);
}

std::string command_line(const std::vector<std::string>& words) {
  return joined(words, shell_quoted);
}

std::vector<std::string> environment_with(std::vector<std::string> own) {
  const auto count = static_cast<std::ptrdiff_t>(own.size());
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('=') + 1);
    const bool is_replaced =
        std::any_of(own.begin(), own.begin() + count,
                    [&](const std::string& each) { return each.starts_with(name); });
    if (name.empty() || !is_replaced) own.emplace_back(text);
  }
  return own;
}

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (auto& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace rlctl
