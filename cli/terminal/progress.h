#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/wait.h"

namespace rlctl::cli {

/// A progress line on stderr, a terminal, for long work: appears after the first second, changes at
/// most ten times a second, is no wider than the terminal, and is removed at the end.
class Progress {
 public:
  explicit Progress(bool enabled) : enabled_(enabled) {}
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  [[nodiscard]] bool enabled() const noexcept { return enabled_; }
  /// For a batch: bytes and lines of input.
  void update(std::size_t done_bytes, std::size_t total_bytes, std::size_t lines);
  /// For a share, 0 to 1, of `what` ("1000000 entries").
  void update(double share, std::string_view what);
  /// A whole line.
  void update(std::string line);
  /// Call this before writing anything else to stderr.
  void clear() noexcept;

 private:
  [[nodiscard]] bool is_due();
  void show(std::string line);

  bool enabled_;
  bool shown_ = false;
  Clock::time_point start_ = Clock::now();
  Clock::time_point next_ = start_ + std::chrono::seconds{1};
};

}  // namespace rlctl::cli
