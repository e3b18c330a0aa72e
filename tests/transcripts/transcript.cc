#include "transcripts/transcript.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <stdexcept>

#include "base/number.h"
#include "base/text.h"

namespace rlctl::transcripts {
namespace {

constexpr std::string_view kAnything = "[..]";
constexpr std::string_view kNoNewline = "[no newline]";

std::optional<int> status_in(std::string_view line) {
  const bool is_bracketed = line.size() > 2 && line.starts_with('[') && line.ends_with(']');
  return is_bracketed ? to_number<int>(line.substr(1, line.size() - 2)) : std::nullopt;
}

bool is_special(std::string_view line) {
  return status_in(line) || line == "<" || line == kNoNewline || line.starts_with("## ") ||
         line.starts_with("$ ") || line.starts_with("< ") || line.starts_with("! ");
}

/// A line as a transcript has it: a control byte as its picture (␛), which rlctl never prints, and
/// a byte that is not UTF-8 as � and two hexadecimal digits.
std::string pictured(std::string_view line) {
  std::string text;
  while (!line.empty()) {
    const auto length = utf8_length(line);
    const auto byte = static_cast<unsigned char>(line.front());
    if (byte < 0x20) {
      text += {'\xe2', '\x90', static_cast<char>(0x80 + byte)};
    } else if (byte == 0x7f) {
      text += "␡";
    } else if (length == 0) {
      text += fmt::format("�{:02x}", byte);
    } else {
      text += line.substr(0, length);
    }
    line.remove_prefix(std::max<std::size_t>(1, length));
  }
  return text;
}

void append_lines(std::vector<std::string>& lines, std::string_view text, std::string_view mark) {
  while (!text.empty()) {
    const auto end = text.find('\n');
    // A line that begins as a transcript's own is written so that it is read as output.
    auto line = std::string(mark) + pictured(text.substr(0, end));
    if (mark.empty() && is_special(line)) line.replace(0, 1, kAnything);
    lines.push_back(std::move(line));
    if (end == text.npos) {
      lines.push_back(std::string(mark) + std::string(kNoNewline));
      return;
    }
    text.remove_prefix(end + 1);
  }
}

}  // namespace

Transcript read_transcript(const std::filesystem::path& file) {
  Transcript transcript;
  std::ifstream in(file);
  if (!in) throw std::runtime_error(file.string() + ": cannot be read");
  int number = 0;
  const auto fail = [&](std::string_view what) {
    throw std::runtime_error(fmt::format("{}:{}: {}", file.string(), number, what));
  };
  bool has_status = false;
  const auto end_command = [&] {
    if (transcript.tests.empty()) return;
    auto& test = transcript.tests.back();
    if (test.commands.empty()) return;
    auto& output = test.commands.back().output;
    while (!output.empty() && output.back().empty()) output.pop_back();
  };
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("## ")) {
      end_command();
      if (!transcript.tests.empty() && transcript.tests.back().commands.empty()) {
        fail("the heading above has no command");
      }
      transcript.tests.push_back({.line = number, .heading = line.substr(3)});
      continue;
    }
    if (transcript.tests.empty()) {
      transcript.comment += line + "\n";
      continue;
    }
    auto& commands = transcript.tests.back().commands;
    if (line.starts_with("$ ")) {
      end_command();
      commands.push_back({.line = number, .text = line.substr(2)});
      has_status = false;
      continue;
    }
    if (commands.empty()) {
      if (!line.empty()) fail("a test begins with a command: $ rlctl …");
      continue;
    }
    auto& command = commands.back();
    if (has_status) {
      if (!line.empty()) fail("the status is the last line of a command");
    } else if (line.starts_with("< ") || line == "<") {
      if (!command.output.empty()) fail("standard input is above the output");
      command.input.append(line, std::min<std::size_t>(2, line.size())).append("\n");
    } else if (const auto status = status_in(line)) {
      command.status = *status;
      has_status = true;
      end_command();
    } else {
      command.output.push_back(line);
    }
  }
  end_command();
  if (transcript.tests.empty()) fail("there is no heading: ## …");
  if (transcript.tests.back().commands.empty()) fail("the last heading has no command");
  return transcript;
}

std::string text_of(const Transcript& transcript) {
  std::string text = transcript.comment;
  for (const auto& test : transcript.tests) {
    if (&test != transcript.tests.data()) text += "\n";
    text += "## " + test.heading + "\n";
    for (const auto& command : test.commands) {
      text += "$ " + command.text + "\n";
      for (std::string_view rest = command.input; !rest.empty();) {
        const auto end = rest.find('\n');
        text += end == 0 ? "<\n" : fmt::format("< {}\n", rest.substr(0, end));
        rest.remove_prefix(end + 1);
      }
      for (const auto& line : command.output) text += line + "\n";
      if (command.status != 0) text += fmt::format("[{}]\n", command.status);
    }
  }
  return text;
}

std::vector<std::string> lines_of(std::string_view standard, std::string_view error) {
  std::vector<std::string> lines;
  append_lines(lines, standard, "");
  append_lines(lines, error, "! ");
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

bool matches(std::string_view expected, std::string_view actual) {
  const auto at = expected.find(kAnything);
  if (at == expected.npos) return expected == actual;
  if (!actual.starts_with(expected.substr(0, at))) return false;
  const auto rest = expected.substr(at + kAnything.size());
  for (auto begin = at; begin <= actual.size(); ++begin) {
    if (matches(rest, actual.substr(begin))) return true;
  }
  return false;
}

bool match(const std::vector<std::string>& expected, const std::vector<std::string>& actual) {
  return std::ranges::equal(expected, actual, matches);
}

std::vector<std::string> accepted(const std::vector<std::string>& expected,
                                  const std::vector<std::string>& actual) {
  auto lines = actual;
  auto next = expected.begin();
  for (auto& line : lines) {
    const auto found = std::find_if(next, expected.end(), [&](const auto& pattern) {
      return pattern.find(kAnything) != pattern.npos && matches(pattern, line);
    });
    if (found == expected.end()) continue;
    line = *found;
    next = found + 1;
  }
  return lines;
}

}  // namespace rlctl::transcripts
