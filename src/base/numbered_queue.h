#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace rlctl {

/// A queue whose entries are numbered from 0 in the order of push(), and accessible by number until
/// they are popped. It allocates only to hold more entries than ever before.
template <typename T>
class NumberedQueue {
 public:
  /// Returns the number of the entry.
  std::uint64_t push(T value) {
    if (size() == entries_.size()) grow();
    entries_[place(end_)] = std::move(value);
    return end_++;
  }
  void pop() noexcept { ++begin_; }

  [[nodiscard]] bool empty() const noexcept { return begin_ == end_; }
  [[nodiscard]] std::size_t size() const noexcept { return end_ - begin_; }
  /// The number of front().
  [[nodiscard]] std::uint64_t first() const noexcept { return begin_; }
  [[nodiscard]] T& front() noexcept { return entries_[place(begin_)]; }
  [[nodiscard]] const T& front() const noexcept { return entries_[place(begin_)]; }
  /// An entry that has not been popped.
  [[nodiscard]] T& operator[](std::uint64_t number) noexcept { return entries_[place(number)]; }
  [[nodiscard]] const T& operator[](std::uint64_t number) const noexcept {
    return entries_[place(number)];
  }

 private:
  /// The number of places is 0 or a power of two.
  [[nodiscard]] std::size_t place(std::uint64_t number) const noexcept {
    return number & (entries_.size() - 1);
  }
  void grow() {
    constexpr std::size_t kFirst = 16;
    std::vector<T> larger(entries_.empty() ? kFirst : 2 * entries_.size());
    for (auto number = begin_; number != end_; ++number) {
      larger[number & (larger.size() - 1)] = std::move(entries_[place(number)]);
    }
    entries_ = std::move(larger);
  }

  std::vector<T> entries_;
  std::uint64_t begin_ = 0, end_ = 0;
};

}  // namespace rlctl
