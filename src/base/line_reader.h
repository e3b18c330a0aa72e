#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rlctl {

/// Lines of a file or of standard input, read when there is something to read. A line ends at a
/// newline; a carriage return before it belongs to the line end; the last line needs none. All
/// other bytes are kept as they are.
class LineReader {
 public:
  /// Longer lines are cut to this and marked: no input may take all memory.
  static constexpr std::size_t kMaxLine = std::size_t{1} << 20;

  struct Line {
    std::string_view text;   ///< valid until the next call
    std::size_t number = 0;  ///< from 1
    bool too_long = false;
  };

  /// "-" is standard input. Throws InputError where it cannot be opened.
  explicit LineReader(const std::string& file);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line of what has been read; none: fill() first, or ended().
  [[nodiscard]] std::optional<Line> next();
  /// One read; waits if nothing is there. Throws InputError, after which it has ended().
  void fill();
  /// Nothing is left to read or to take.
  [[nodiscard]] bool ended() const noexcept { return end_of_file_ && begin_ == end_; }
  [[nodiscard]] bool end_of_file() const noexcept { return end_of_file_; }

  [[nodiscard]] int fd() const noexcept { return fd_; }
  /// The size of a regular file; 0 of anything else.
  [[nodiscard]] std::size_t total_bytes() const noexcept { return total_bytes_; }
  [[nodiscard]] std::size_t taken_bytes() const noexcept { return taken_bytes_; }
  [[nodiscard]] std::size_t lines() const noexcept { return lines_; }

 private:
  [[nodiscard]] Line take(std::size_t size, std::size_t with_newline);
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string name_;
  int fd_ = -1;
  std::string buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< of what is in the buffer and was not taken
  std::size_t searched_ = 0;         ///< there is no newline before this
  bool end_of_file_ = false;
  bool skipping_ = false;  ///< the rest of a line that was too long
  std::size_t total_bytes_ = 0, taken_bytes_ = 0, lines_ = 0;
};

}  // namespace rlctl
