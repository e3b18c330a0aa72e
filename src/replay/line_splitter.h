#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/file.h"
#include "replay/input.h"

namespace rlctl::replay {

/// The lines of a log: as those of a LineBuffer, but a UTF-8 byte order mark is skipped, and a
/// carriage return at the end of the last line, too.
class LineSplitter {
 public:
  /// A longer line is not kept in memory: it is skipped and marked.
  static constexpr std::size_t kMaxLine = std::size_t{16} << 20;

  /// `text` is valid until the next call.
  using Line = LineBuffer::Line;

  /// `source` must outlive this; `name` is for messages.
  LineSplitter(ByteSource& source, std::string name);

  /// Returns false at the end. Throws what the source throws, and InputError for text in UTF-16.
  bool next(Line& line);
  /// The line from next(), which must not be too long, and those after it, without taking them: at
  /// most `lines` lines that are not blank, and about `bytes`; a line that is too long ends it.
  /// Valid, as is the line's text, until the next call.
  std::string_view with_following(Line& line, std::size_t lines, std::size_t bytes);

  /// How many were taken.
  std::int64_t lines() const noexcept { return static_cast<std::int64_t>(buffer_.lines()); }
  const std::string& name() const noexcept { return name_; }

 private:
  void begin();
  bool fill();
  std::optional<Line> take();

  ByteSource& source_;
  std::string name_;
  LineBuffer buffer_{kMaxLine};  ///< marked where the last line begins
  bool begun_ = false;
};

/// Whether the line consists only of blanks, tabs and carriage returns.
bool is_blank(std::string_view line) noexcept;

}  // namespace rlctl::replay
