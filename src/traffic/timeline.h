#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rlctl::traffic {

using std::chrono::microseconds;

/// How many requests were allowed and denied when, in bins of one width, for a picture. It need not
/// know beforehand how long a traffic lasts: where there would be more than kMost bins, two
/// neighbours become one, so that there are between half of that and kMost once it has lasted for a
/// while. Widths are powers of two, in µs.
class Timeline {
 public:
  static constexpr std::size_t kMost = 4096;

  struct Bin {
    std::int64_t allowed = 0, denied = 0;
    bool operator==(const Bin&) const = default;
  };

  /// Nothing will come before this. Without it, before the first.
  void begin_at(microseconds at);
  /// In any order, but none before the beginning. `count`: of what is counted, requests or units.
  void add(microseconds at, bool allowed, std::int64_t count = 1);

  [[nodiscard]] microseconds begin() const noexcept { return begin_; }  ///< of the first bin
  [[nodiscard]] microseconds end() const noexcept { return end_; }      ///< the latest request
  [[nodiscard]] microseconds width() const noexcept { return width_; }
  [[nodiscard]] const std::vector<Bin>& bins() const noexcept { return bins_; }

  /// The same in `count` bins over [from, to]: what a picture of so many columns shows. A bin of
  /// this that lies across an edge goes where its middle lies, the middle of what it can hold:
  /// the last one ends with the last request, so that [begin(), end()] shows every request.
  [[nodiscard]] std::vector<Bin> resampled(microseconds from, microseconds to,
                                           std::size_t count) const;

 private:
  void widen();

  microseconds begin_{0}, end_{0}, width_{1};
  int width_bits_ = 0;  ///< width_ is 1 µs shifted by so many
  std::vector<Bin> bins_;
};

}  // namespace rlctl::traffic
