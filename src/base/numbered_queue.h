#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>

// The queue of commands that wait for their replies: redis/link.h has one for each connection,
// redis/cluster.h for each server and for the caller, simulation/real_run.cc for the requests of a
// burst.

namespace rlctl {

/// A queue whose entries are numbered from 0 in the order of push(), and accessible by number until
/// they are popped.
template <typename T>
class NumberedQueue {
 public:
  /// Returns the number of the entry.
  std::uint64_t push(T value) {
    entries_.push_back(std::move(value));
    return first_ + entries_.size() - 1;
  }
  void pop() noexcept {
    entries_.pop_front();
    ++first_;
  }

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  /// The number of front().
  std::uint64_t first() const noexcept { return first_; }
  T& front() noexcept { return entries_.front(); }
  const T& front() const noexcept { return entries_.front(); }
  /// An entry that has not been popped.
  T& operator[](std::uint64_t number) noexcept { return entries_[number - first_]; }
  const T& operator[](std::uint64_t number) const noexcept { return entries_[number - first_]; }

 private:
  std::deque<T> entries_;
  std::uint64_t first_ = 0;
};

}  // namespace rlctl
