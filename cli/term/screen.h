#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/wait.h"
#include "cli/term/output.h"
#include "cli/term/signals.h"

namespace rlctl::cli {

/// A frame for a screen: as many lines as fit, each cut to the width and cleared to its end,
/// written over the previous one.
[[nodiscard]] std::string frame_text(std::string_view text, std::size_t columns, std::size_t lines);

/// A terminal that is redrawn again and again: its alternate screen, without a cursor. At the end
/// the terminal is restored, and the last text is written to it. While Ctrl-Z has stopped the
/// process, the terminal is restored too.
class Screen {
 public:
  /// `out` is a terminal.
  explicit Screen(Output& out) : out_(out) {}
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  /// `header` is a line above the text, which goes with the screen. Throws as Output::flush().
  void draw(const std::string& header, std::string text);
  /// Waits until the deadline; ends earlier if the screen must be redrawn, since the process was
  /// stopped. Throws Interrupted.
  void wait(const Interrupt& interrupt, Deadline deadline);

 private:
  Output& out_;
  std::optional<Suspension> open_;
  std::string last_;
};

}  // namespace rlctl::cli
