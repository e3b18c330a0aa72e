#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "cli/terminal/signals.h"

namespace rlctl::cli {

/// The last thousand typed lines, oldest first, in a file that only this user can read. Several
/// processes may append to it. Ignores read and write failures: a history is not worth an error.
class LineHistory {
 public:
  static constexpr std::size_t kMax = 1000;

  /// Reads the file, and shortens it if it is too long. An empty name means no file.
  explicit LineHistory(std::string file);

  const std::vector<std::string>& lines() const noexcept { return lines_; }
  /// Appends a line; returns false if it is empty or repeats the last one.
  bool add(const std::string& line);

 private:
  void read();
  void shorten() const;

  std::string file_;
  std::vector<std::string> lines_;
};

/// A source of lines: typed by a person, or from a file.
class LineSource {
 public:
  LineSource() = default;
  virtual ~LineSource() = default;
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// Waits for the next line; returns nothing at the end. Throws Interrupted, InputError,
  /// UsageError for a line that is too long, and for the prompt what Output::flush() throws.
  virtual std::optional<std::string> next() = 0;
};

/// The lines of a file, or of standard input ("-"). Refuses lines longer than
/// LineReader::kMaxLine. Writes the prompt, unless it is empty, to standard output before each
/// wait.
std::unique_ptr<LineSource> lines_of(const std::string& file, std::string prompt,
                                     const Interrupt& interrupt);

/// Returns the completions of the word at the cursor, given the line up to the cursor.
using Complete = std::function<std::vector<std::string>(std::string_view line)>;

/// Lines typed at a terminal after a prompt, with editing, completion with TAB, and a history,
/// stored in a file (empty: not stored). Standard input and output must be terminals. Ctrl-C clears
/// the line; a second one, if nothing was typed since, raises the interrupt.
std::unique_ptr<LineSource> typed_lines(std::string prompt, std::string history_file,
                                        Complete complete, BreakKey& key,
                                        const Interrupt& interrupt);

}  // namespace rlctl::cli
