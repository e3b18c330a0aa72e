#include "transcripts/transcript.h"

#include <doctest/doctest.h>

#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/in_process.h"
#include "support/temp_folder.h"

namespace transcript_test {

using namespace rlctl::transcripts;
using Lines = std::vector<std::string>;

/// A file with this text, read.
Transcript read(const std::string& text) {
  const support::TempFolder folder;
  const auto file = folder.path() / "t.t";
  std::ofstream(file, std::ios::binary) << text;
  return read_transcript(file);
}

TEST_CASE("transcript: what is read is written as it was") {
  const std::string text =
      "# needs: server\n"
      "\n"
      "## one\n"
      "$ rlctl check - --batch\n"
      "< a\n"
      "<\n"
      "< b\n"
      "out\n"
      "\n"
      "more\n"
      "! err\n"
      "[1]\n"
      "$ redis LLEN k\n"
      "0\n"
      "\n"
      "## two (own server)\n"
      "$ env A=b\n";
  const auto transcript = read(text);
  CHECK(text_of(transcript) == text);
  REQUIRE(transcript.tests.size() == 2);
  const auto& [one, two] = std::pair(transcript.tests[0], transcript.tests[1]);
  CHECK(one.heading == "one");
  CHECK_FALSE(one.has_own_server());
  CHECK(two.has_own_server());
  REQUIRE(one.commands.size() == 2);
  CHECK(one.commands[0].line == 4);
  CHECK(one.commands[0].input == "a\n\nb\n");
  CHECK(one.commands[0].output == Lines{"out", "", "more", "! err"});
  CHECK(one.commands[0].status == 1);
  CHECK(one.commands[1].status == 0);
}

TEST_CASE("transcript: a file that is none is refused with its line") {
  const std::pair<std::string, std::string> rows[] = {
      {"", "t.t:0: there is no heading: ## …"},
      {"text\n", "t.t:1: there is no heading: ## …"},
      {"## a\n", "t.t:1: the last heading has no command"},
      {"## a\n\n## b\n$ x\n", "t.t:3: the heading above has no command"},
      {"## a\nout\n$ x\n", "t.t:2: a test begins with a command: $ rlctl …"},
      {"## a\n$ x\nout\n< in\n", "t.t:4: standard input is above the output"},
      {"## a\n$ x\n[1]\nout\n", "t.t:4: the status is the last line of a command"}};
  for (const auto& row : rows) {
    const auto& [text, message] = row;
    CAPTURE(row.first);
    try {
      static_cast<void>(read(text));
      FAIL_CHECK("it is read");
    } catch (const std::runtime_error& error) {
      CHECK(std::string(error.what()).ends_with(message));
    }
  }
  CHECK_THROWS_AS(static_cast<void>(read_transcript("/nonexistent.t")), std::runtime_error);
}

TEST_CASE("transcript: an output is escaped, and reads as output") {
  CHECK(lines_of("a\n\nb\n\n", "c\n") == Lines{"a", "", "b", "", "! c"});
  CHECK(lines_of("a\n\n", "") == Lines{"a"});
  CHECK(lines_of("a", "b") == Lines{"a", "[no newline]", "! b", "! [no newline]"});
  CHECK(lines_of("\x1b[1ma\x7f\xff\\é\n", "") == Lines{"␛[1ma␡�ff\\é"});
  for (const std::string line : {"## a", "$ a", "< a", "<", "! a", "[12]"}) {
    CAPTURE(line);
    const auto written = lines_of(line + "\n", "");
    REQUIRE(written.size() == 1);
    CHECK(matches(written[0], line));
    CHECK(read("## t\n$ x\n" + written[0] + "\n").tests[0].commands[0].output == written);
  }
}

TEST_CASE("transcript: [..] stands for any text, and is kept where it matches") {
  CHECK(matches("a[..]c[..]", "abcd"));
  CHECK(matches("[..]", ""));
  CHECK(matches("took [..] s", "took 12 s"));
  CHECK_FALSE(matches("took [..] s", "took 12 ms"));
  CHECK_FALSE(matches("a", "ab"));
  CHECK_FALSE(matches("a[..]b", "ab c"));
  CHECK(match({"x [..]", "y"}, {"x 1", "y"}));
  CHECK_FALSE(match({"x [..]"}, {"x 1", "y"}));
  CHECK(accepted({"old", "x [..]", "y"}, {"new", "x 1", "z"}) == Lines{"new", "x [..]", "z"});
  CHECK(accepted({"x [..]", "x [..]"}, {"x 1"}) == Lines{"x [..]"});
}

}  // namespace transcript_test
