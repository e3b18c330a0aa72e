#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

// A transcript, NAME.t: commands with their whole output, as they would be typed.
//
//   # needs: server
//   Whatever is above the first heading is a comment.
//
//   ## a cost that can never be allowed has no retry_after
//   $ rlctl check k --limit 5/60s --cost 6 --now 1000000000
//   denied key=k limit=5/60s remaining=5 retry_after=never reset=0.000s
//   [1]
//
//   ## headings       a test: an empty server, an empty folder and the default environment
//   $ WORD…           a command, split into words as a shell does
//   < TEXT            a line of its standard input
//   TEXT              a line of its standard output; [..] in it stands for any text
//   ! TEXT            a line of its standard error
//   [no newline]      the last line before this has no line end
//   [N]               its status, if that is not 0
//
// Blank lines at the end of an output are not part of it. A control byte is shown as its
// picture, as in ␛, and a byte that is not UTF-8 as � with its two hexadecimal digits. A heading
// that ends with (own server) has a server that no other test sees.

namespace rlctl::transcripts {

struct Command {
  int line = 0;  ///< of the file, from 1
  std::string text = {};
  std::string input = {};
  std::vector<std::string> output = {};  ///< the lines of both outputs, as written above
  int status = 0;
};

struct Test {
  int line = 0;
  std::string heading = {};
  std::vector<Command> commands = {};

  bool has_own_server() const { return heading.ends_with("(own server)"); }
};

struct Transcript {
  std::string comment = {};  ///< what is above the first heading
  std::vector<Test> tests = {};
};

/// Throws std::runtime_error, "FILE:LINE: …", for a file that is not a transcript.
Transcript read_transcript(const std::filesystem::path& file);
/// The file that read_transcript() reads.
std::string text_of(const Transcript& transcript);

/// The lines in which a command's outputs are written.
std::vector<std::string> lines_of(std::string_view standard, std::string_view error);

/// Whether a line of output is one that a transcript has, perhaps with [..].
bool matches(std::string_view expected, std::string_view actual);
/// Whether all of them are.
bool match(const std::vector<std::string>& expected, const std::vector<std::string>& actual);
/// The actual lines, but those with [..] that match in their places.
std::vector<std::string> accepted(const std::vector<std::string>& expected,
                                  const std::vector<std::string>& actual);

}  // namespace rlctl::transcripts
