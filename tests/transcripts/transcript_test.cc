#include "transcripts/transcript.h"

#include <doctest/doctest.h>

#include <fstream>
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
