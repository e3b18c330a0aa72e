#pragma once

#include <string>
#include <vector>

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

}  // namespace rlctl::cli
