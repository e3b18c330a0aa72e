#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rlctl::cli::check {

/// The most frequent keys of a stream, in bounded memory: Space-Saving (Metwally, Agrawal and El
/// Abbadi, 2005). After n additions, every key that was added more than n / counters times has a
/// counter. A count is never too low, and too high by at most its error, which is at most
/// n / counters; it is 0 as long as there were no more keys than counters.
class TopKeys {
 public:
  /// Longer keys are cut, so that a few of them do not take all the memory.
  static constexpr std::size_t kMaxBytes = 1024;

  struct Entry {
    std::string key;
    std::int64_t count = 0;
    std::int64_t error = 0;  ///< by how much the count may be too high
  };

  /// `counters` must be at least 1.
  explicit TopKeys(std::size_t counters) : counters_(counters) {}

  void add(std::string_view key);
  /// At most `most` keys, the most frequent first.
  [[nodiscard]] std::vector<Entry> top(std::size_t most) const;

 private:
  struct Counter {
    std::string key;
    std::int64_t error = 0;
  };
  using Counters = std::multimap<std::int64_t, Counter>;

  Counters::iterator place_for(std::string_view key);

  std::size_t counters_;
  Counters by_count_;
  std::unordered_map<std::string_view, Counters::iterator> by_key_;  ///< views of by_count_'s keys
};

}  // namespace rlctl::cli::check
