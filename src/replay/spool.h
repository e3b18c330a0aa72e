#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "limiter/limit.h"

namespace rlctl::replay {

/// Numbers names from 0 in order of appearance. Looking up a known name allocates nothing. Memory:
/// the bytes of the names, and about 30 more for each.
class KeyTable {
 public:
  [[nodiscard]] std::uint32_t number_of(std::string_view name);
  /// Valid for the lifetime of this object.
  [[nodiscard]] std::string_view name(std::uint32_t number) const { return names_.at(number); }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

 private:
  /// A slot of the hash table; part of the hash avoids most comparisons.
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };
  static constexpr std::uint32_t kFree = 0xffffffff;

  [[nodiscard]] std::string_view keep(std::string_view name);
  void grow();

  std::vector<Place> places_;  ///< a power of two, at most half of them taken
  std::vector<std::string_view> names_;
  std::vector<std::unique_ptr<char[]>> blocks_;  ///< hold the bytes of the names
  char* free_ = nullptr;                         ///< in the last block
  std::size_t free_bytes_ = 0;
};

using std::chrono::microseconds;

/// A stored request.
struct Record {
  std::int64_t at_us = 0;
  std::uint32_t key = 0;
  std::uint32_t cost = 1;

  static_assert(limiter::kLargestCost <= UINT32_MAX);

  bool operator==(const Record&) const = default;
};

/// Sorts records by time; those of equal times keep their order. Memory is bounded by the size of
/// the buffer: the rest goes into an unnamed file in $TMPDIR or /tmp, 16 bytes each, as sorted
/// runs, which readers merge. A record that is late by less than half a buffer starts no new run,
/// so that a log written nearly in order is read back as fast as one in order.
class Spool {
 public:
  static constexpr std::size_t kBuffered = std::size_t{1} << 20;  // records

  explicit Spool(std::size_t buffered = kBuffered);

  /// Throws InputError if the file cannot be created or its disk is full.
  void add(const Record& record);
  /// Call after the last add(). Throws the same.
  void finish();

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// The times of the first and last record; 0 if there are none.
  [[nodiscard]] microseconds first() const noexcept { return microseconds{first_us_}; }
  [[nodiscard]] microseconds last() const noexcept { return microseconds{last_us_}; }
  /// The number of runs in the file; 0 if everything is in memory.
  [[nodiscard]] std::size_t runs() const noexcept { return runs_.size(); }

 private:
  friend class SpoolReader;

  /// A range of the file, in records.
  struct Run {
    std::int64_t begin = 0, end = 0;
  };

  void order();
  void flush(std::size_t count);
  void write(const Record* records, std::size_t count);
  void open();

  std::vector<Record> buffer_;  ///< all records, or those not in the file
  std::size_t ordered_ = 0;     ///< how many records at the buffer's front are in order
  std::size_t buffered_;
  std::string folder_;
  FileDescriptor file_;
  std::vector<Run> runs_;
  std::int64_t written_ = 0, written_last_us_ = 0;
  std::int64_t size_ = 0, first_us_ = 0, last_us_ = 0;
};

/// Reads a finished spool, which must outlive it, from beginning to end; several readers may do so
/// at once.
class SpoolReader {
 public:
  explicit SpoolReader(const Spool& spool);

  /// Returns false at the end. Throws InputError if the file cannot be read.
  [[nodiscard]] bool next(Record& record);

 private:
  /// A run and the part of it read so far.
  struct Source {
    std::vector<Record> buffer = {};
    std::size_t position = 0;
    std::int64_t read = 0, end = 0;  ///< in the file, in records
  };
  /// The first record of a run that is waiting for its turn.
  struct Waiting {
    std::int64_t at_us = 0;
    std::size_t source = 0;
  };

  bool fill(Source& source);
  bool turn();
  static bool later(const Waiting& a, const Waiting& b) noexcept;

  const Spool& spool_;
  std::vector<Source> sources_;
  std::vector<Waiting> waiting_;  ///< a heap, earliest first; without the current run
  std::size_t current_ = 0;       ///< index into sources_
  /// The current source's records that come before those of all others.
  const Record* next_ = nullptr;
  const Record* stop_ = nullptr;
  std::size_t per_source_ = 0;
};

}  // namespace rlctl::replay
