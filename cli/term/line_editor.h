#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/wait.h"
#include "cli/term/signals.h"

namespace rlctl::cli {

/// The lines that were typed, the oldest first, in a file that only this user can read: the last
/// thousand of them. Several processes may add to one file. Failures to read or write it are
/// ignored: a history is not worth an error.
class LineHistory {
 public:
  static constexpr std::size_t kMost = 1000;

  /// Reads the file, and shortens it if it is too long. An empty name: no file.
  explicit LineHistory(std::string file);

  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }
  /// Adds a line at the end; false if it is empty or repeats the last one.
  bool add(const std::string& line);

 private:
  void read();
  void shorten() const;

  std::string file_;
  std::vector<std::string> lines_;
};

/// Lines that a person types, or of a file.
class LineSource {
 public:
  LineSource() = default;
  virtual ~LineSource() = default;
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// The next one; none at the end. Waits. Throws Interrupted, and InputError if it cannot be read.
  [[nodiscard]] virtual std::optional<std::string> next() = 0;
};

/// Lines of a file, or of standard input: "-". Lines longer than a MiB are refused. A prompt,
/// unless empty, is written to standard output before each wait.
[[nodiscard]] std::unique_ptr<LineSource> lines_of(const std::string& file, std::string prompt,
                                                   const Interrupt& interrupt);

/// The possible completions of the word that ends at the cursor, given the line up to there.
using Complete = std::function<std::vector<std::string>(std::string_view line)>;

/// Lines that are typed at a terminal, after a prompt: edited, completed with TAB, and found again
/// in the history, which is a file (empty: none is kept). Standard input and output are terminals.
/// Ctrl-C clears the line; a second one, if nothing was typed since, raises the interrupt.
[[nodiscard]] std::unique_ptr<LineSource> typed_lines(std::string prompt, std::string history_file,
                                                      Complete complete, BreakKey& key,
                                                      const Interrupt& interrupt);

}  // namespace rlctl::cli
