#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"

namespace rlctl::replay {

/// Numbers for names, from 0 in the order in which they come. A known name is looked up without an
/// allocation. Memory: the bytes of the names, and some 30 for each.
class KeyTable {
 public:
  [[nodiscard]] std::uint32_t number_of(std::string_view name);
  /// Valid as long as this.
  [[nodiscard]] std::string_view name(std::uint32_t number) const { return names_.at(number); }
  [[nodiscard]] std::size_t size() const noexcept { return names_.size(); }

 private:
  /// Where a name is looked for; part of its hash spares most comparisons.
  struct Place {
    std::uint32_t hash = 0;
    std::uint32_t number = kFree;
  };
  static constexpr std::uint32_t kFree = 0xffffffff;

  [[nodiscard]] std::string_view keep(std::string_view name);
  void grow();

  std::vector<Place> places_;  ///< a power of two of them, at most half taken
  std::vector<std::string_view> names_;
  std::vector<std::unique_ptr<char[]>> blocks_;  ///< with the bytes of the names
  char* free_ = nullptr;                         ///< in the last block
  std::size_t free_bytes_ = 0;
};

using std::chrono::microseconds;

/// A request as it is kept.
struct Record {
  std::int64_t at_us = 0;
  std::uint32_t key = 0;
  std::uint32_t cost = 1;

  bool operator==(const Record&) const = default;
};

/// Records put in the order of their times; those of one time stay in the order in which they came.
/// Memory is bounded by the size of the buffer: what is more goes into a file without a name in
/// $TMPDIR, or /tmp, 16 bytes each, as sorted runs, which readers merge. A record that comes later
/// than others by less than half a buffer starts no new run, so that a log that was written nearly
/// in order is read back as fast as one in order.
class Spool {
 public:
  static constexpr std::size_t kBuffered = std::size_t{1} << 20;  // records

  explicit Spool(std::size_t buffered = kBuffered);

  /// Throws InputError if the file cannot be made or its disk is full.
  void add(const Record& record);
  /// After the last one. The same.
  void finish();

  [[nodiscard]] std::int64_t size() const noexcept { return size_; }
  /// Of all records; 0 without any.
  [[nodiscard]] microseconds first() const noexcept { return microseconds{first_us_}; }
  [[nodiscard]] microseconds last() const noexcept { return microseconds{last_us_}; }
  /// How many runs there are in the file; 0 if everything is in memory.
  [[nodiscard]] std::size_t runs() const noexcept { return runs_.size(); }

 private:
  friend class SpoolReader;

  /// A stretch of the file, in records.
  struct Run {
    std::int64_t begin = 0, end = 0;
  };

  void order();
  void flush(std::size_t count);
  void write(const Record* records, std::size_t count);
  void open();

  std::vector<Record> buffer_;  ///< at the end of everything, or of what is not in the file
  std::size_t ordered_ = 0;     ///< of the buffer's records, how many are in order from its front
  std::size_t buffered_;
  std::string folder_;
  FileDescriptor file_;
  std::vector<Run> runs_;
  std::int64_t written_ = 0, written_last_us_ = 0;
  std::int64_t size_ = 0, first_us_ = 0, last_us_ = 0;
};

/// Reads a spool that was finished and that outlives it, from beginning to end; many at a time may.
class SpoolReader {
 public:
  explicit SpoolReader(const Spool& spool);

  /// False at the end. Throws InputError if the file cannot be read.
  [[nodiscard]] bool next(Record& record);

 private:
  /// What has been read of a run.
  struct Source {
    std::vector<Record> buffer = {};
    std::size_t position = 0;
    std::int64_t read = 0, end = 0;  ///< in the file, in records
  };
  /// The front of a run that waits for its turn.
  struct Waiting {
    std::int64_t at_us = 0;
    std::size_t source = 0;
  };

  bool fill(Source& source);
  bool turn();
  static bool later(const Waiting& a, const Waiting& b) noexcept;

  const Spool& spool_;
  std::vector<Source> sources_;
  std::vector<Waiting> waiting_;  ///< a heap, the earliest first; not the one whose turn it is
  std::size_t current_ = 0;       ///< of the sources
  /// Of the current source, what can be given without looking at the others.
  const Record* next_ = nullptr;
  const Record* stop_ = nullptr;
  std::size_t per_source_ = 0;
};

}  // namespace rlctl::replay
