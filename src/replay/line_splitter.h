#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "replay/input.h"

namespace rlctl::replay {

/// Splits bytes into lines without copying them. A line ends at a newline; one carriage return
/// before it belongs to the line's end, as does one at the end of the last line, which needs no
/// newline. A UTF-8 byte order mark is skipped. All other bytes are kept unchanged.
class LineSplitter {
 public:
  /// A longer line is not kept in memory: it is skipped and marked.
  static constexpr std::size_t kMaxLine = std::size_t{16} << 20;

  struct Line {
    std::string_view text;    ///< valid until the next call that takes this or another line
    std::int64_t number = 0;  ///< from 1
    bool too_long = false;    ///< `text` is only its beginning
  };

  /// `source` must outlive this; `name` is for messages.
  LineSplitter(ByteSource& source, std::string name);

  /// Returns false at the end. Throws what the source throws, and InputError for text in UTF-16.
  [[nodiscard]] bool next(Line& line);
  /// Extends the line from next() by the following one, including the line end between them.
  /// Returns false, changing nothing, if there is none or the result would exceed `most` bytes.
  [[nodiscard]] bool extend(Line& line, std::size_t most);
  /// Undoes every extend(): the added lines come next again.
  void unextend(Line& line);

  /// The line from next(), which must not be too long, and those after it, without taking them: at
  /// most `lines` lines that are not blank, and about `bytes`; a line that is too long ends it.
  /// Valid, as is the line's text, until the next call.
  [[nodiscard]] std::string_view with_following(Line& line, std::size_t lines, std::size_t bytes);

  [[nodiscard]] std::int64_t lines() const noexcept { return lines_; }  ///< taken so far
  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);

  void begin();
  bool fill();
  [[nodiscard]] std::size_t find_end(std::size_t from);
  void skip_long(Line& line);
  [[nodiscard]] std::string_view without_end(std::size_t end) const;

  ByteSource& source_;
  std::string name_;
  std::string buffer_;
  std::size_t line_ = 0;   ///< where the last line taken begins
  std::size_t first_ = 0;  ///< where it ended before extend()
  std::size_t next_ = 0;   ///< where the next line begins
  std::size_t end_ = 0;    ///< of what has been read
  bool begun_ = false, ended_ = false;
  std::int64_t lines_ = 0, first_lines_ = 0;
  std::string long_line_;  ///< the beginning of a skipped line
};

/// Whether the line consists only of blanks, tabs and carriage returns.
[[nodiscard]] bool is_blank(std::string_view line) noexcept;

}  // namespace rlctl::replay
