#include <doctest/doctest.h>

#include <fstream>
#include <string>
#include <vector>

#include "base/file.h"
#include "support/temp_folder.h"

namespace base_line_reader_test {

using rlctl::LineReader;

namespace {

/// Each line of a file with this content: its text, "!" if that was cut, and "\n" if its newline
/// was read with it.
std::vector<std::string> lines_of(const std::string& content, std::size_t longest) {
  const support::TempFolder folder;
  const auto path = folder.path() / "lines";
  std::ofstream(path) << content;
  LineReader reader(path, longest);
  std::vector<std::string> lines;
  while (!reader.ended()) {
    const auto line = reader.next();
    if (!line) {
      reader.fill();
      continue;
    }
    CHECK(line->number == lines.size() + 1);
    lines.push_back(std::string(line->text) + (line->too_long ? "!" : "") +
                    (line->has_newline ? "\n" : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("lines: each ends at its newline, a carriage return before it, or the end of the file") {
  CHECK(lines_of("a\n\nb\r\nc", 4) == Lines{"a\n", "\n", "b\n", "c"});
}

TEST_CASE("lines: a longer one is cut to the length, whether or not its end has been read") {
  CHECK(lines_of("1234\n12345\n123\r\n1234\r\n", 4) ==
        Lines{"1234\n", "1234!\n", "123\n", "1234!\n"});
  const std::string longer(200'000, 'x');
  CHECK(lines_of(longer + "\nend", 4) == Lines{"xxxx!", "end"});
  CHECK(lines_of("12345", 4) == Lines{"1234!"});
}

}  // namespace base_line_reader_test
