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
/// thousand of them. Several processes may add to one file. What cannot be read or written is left
/// out in silence: a history is no reason to stop.
class LineHistory {
 public:
  static constexpr std::size_t kMost = 1000;

  /// Reads the file, and shortens it where it is too long; empty: there is none.
  explicit LineHistory(std::string file);

  [[nodiscard]] const std::vector<std::string>& lines() const noexcept { return lines_; }
  /// At the end, unless it is empty or the last one; false then.
  bool add(const std::string& line);

 private:
  void read();
  void shorten() const;

  std::string file_;
  std::vector<std::string> lines_;
};

/// Lines that a person types, or that stand in a file.
class LineSource {
 public:
  LineSource() = default;
  virtual ~LineSource() = default;
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// The next one; none at the end. Waits. Throws Interrupted, and InputError
  /// where it cannot be read.
  [[nodiscard]] virtual std::optional<std::string> next() = 0;
};

/// Lines of a file, or of standard input: "-". Those longer than a MiB are refused. Where there is
/// a prompt, it is written to standard output before what has to be waited for.
[[nodiscard]] std::unique_ptr<LineSource> lines_of(const std::string& file, std::string prompt,
                                                   const Interrupt& interrupt);

/// What a word may become, of which the line up to the cursor holds the beginning.
using Complete = std::function<std::vector<std::string>(std::string_view line)>;

/// Lines that are typed at a terminal, after a prompt: edited, completed with TAB, and found again
/// in the history, which is a file (empty: none is kept). Standard input and output are terminals.
/// Ctrl-C clears the line; one more, where nothing was typed since, raises the interrupt.
[[nodiscard]] std::unique_ptr<LineSource> typed_lines(std::string prompt, std::string history_file,
                                                      Complete complete, BreakKey& key,
                                                      const Interrupt& interrupt);

}  // namespace rlctl::cli
