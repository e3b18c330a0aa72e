#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/term/style.h"
#include "cli/term/table.h"
#include "cli/term/terminal.h"

namespace rlctl::cli {

/// Facts for people, in columns: a label, a value, and a remark about it:
///
///     used       5 of 5                 next free in 12.041 s, empty in 59.310 s
///
/// Where a line would be wider than the terminal, its last part moves below; it is broken after
/// commas, else at blanks. Nothing is cut: a single word may be too wide, as keys are. Texts may be
/// toned(), and what is data in them has been escaped.
class TextBlock {
 public:
  TextBlock(std::string& out, const Look& look) : out_(out), look_(look) {}

  /// How far labels reach.
  static constexpr std::size_t kLabel = 11;
  /// Columns to the right of the labels.
  [[nodiscard]] std::size_t room() const noexcept;
  [[nodiscard]] const Look& look() const noexcept { return look_; }
  [[nodiscard]] std::string tone(std::string_view text, Tone tone) const {
    return toned(text, tone, look_.colour);
  }

  void row(std::string_view label, std::string_view main, std::string_view about = {});
  /// A sentence without a label.
  void note(std::string_view text) { row({}, {}, text); }
  /// A line of a list, under the label.
  void item(std::string_view text);
  /// Lines of a list, each of the same number of cells, in columns: the first and the last to the
  /// left, those between to the right. Where that is too wide, the other cells stand below the
  /// first. Cells may be empty.
  void table(const std::vector<Cells>& lines);

 private:
  void append_wrapped(std::string_view text, std::size_t indent);
  void stack(const Cells& cells);

  std::string& out_;
  const Look& look_;
};

}  // namespace rlctl::cli
