#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "cli/terminal/output.h"
#include "cli/terminal/signals.h"

namespace rlctl::cli {

/// The output that draws a frame over the previous one: as many lines as fit, each cut to the width
/// and cleared to its end.
[[nodiscard]] std::string frame_text(std::string_view text, std::size_t columns, std::size_t lines);

/// Redraws a terminal repeatedly, on its alternate screen, without a cursor. At the end, restores
/// the terminal and writes the last text to it. Also restores it while Ctrl-Z stops the process.
class Screen {
 public:
  /// `out` must be a terminal.
  explicit Screen(Output& out) : out_(out) {}
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// `header` is one or more lines above the text. At the end it is written too if `keeps_header`.
  /// Throws what Output::flush() throws.
  void draw(const std::string& header, const std::string& text, bool keeps_header = false);
  /// Waits until the deadline, or until the process was stopped and continues, so that the screen
  /// must be redrawn. Throws Interrupted.
  void wait(const Interrupt& interrupt, Deadline deadline);

 private:
  Output& out_;
  std::optional<Suspension> open_;
  std::string last_;
};

}  // namespace rlctl::cli
