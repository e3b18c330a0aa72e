#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cli/terminal/terminal.h"

// The parts of a report to people, before any format. A command builds them one below the other
// and decides on words and on what is good news. A renderer decides on places, widths, colours and
// signs: text.h writes parts for terminals. A new fact is one row or one sentence in a command.
//
// All texts are UTF-8 without line ends, and names in them are escaped. Rejected: making JSON of
// parts, since programs read numbers, not words; and parts that draw themselves in each format,
// since each new format would then change each part.

namespace rlctl::cli::report {

/// Words, and whether they are good news.
struct Text {
  Text() = default;
  template <std::convertible_to<std::string_view> Words>
  // NOLINTNEXTLINE(*-explicit-*): a plain text in a list of texts
  Text(const Words& some, Tone its_tone = Tone::kPlain)
      : words(std::string_view(some)), tone(its_tone) {}
  // NOLINTNEXTLINE(*-explicit-*): as above
  Text(std::string&& some, Tone its_tone = Tone::kPlain) : words(std::move(some)), tone(its_tone) {}

  std::string words;
  Tone tone = Tone::kPlain;
};

/// A label, a value, and remarks on it, which commas separate:
///
///     used       5 of 5                 next free in 12.041 s, resets in 59.310 s
///
/// Remarks alone are a sentence about the facts above.
struct Fact {
  std::string label = {};
  Text main = {};
  std::vector<Text> about = {};
};

/// A label and a text of any length, without a full stop.
struct Sentence {
  std::string label, words;
};

/// The name of a run or of a finding, and the verdict on it, which may be empty.
struct Heading {
  Text name, verdict = {};
};

using Row = std::vector<Text>;

/// A table. The first row has the titles; a column without any text is left out.
struct Rows {
  std::vector<Row> rows;
  /// The most rows that a text shows below the titles; if there are more, it names --json.
  std::size_t most = SIZE_MAX;
};

/// Lines below a fact, all with the same number of cells, which may be empty. The first and the
/// last cell are words, the others numbers.
struct Lines {
  std::vector<Row> lines;
};

using Part = std::variant<Fact, Sentence, Heading, Rows, Lines>;

}  // namespace rlctl::cli::report
