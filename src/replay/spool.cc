#include "replay/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <type_traits>

#include "base/error.h"
#include "base/text.h"

namespace rlctl::replay {
namespace {

constexpr std::size_t kFirstPlaces = 1024;
constexpr std::size_t kBlock = std::size_t{1} << 16;

}  // namespace

std::uint32_t KeyTable::number_of(std::string_view name) {
  if (names_.size() * 2 >= places_.size()) grow();
  const auto hash = std::hash<std::string_view>{}(name);
  const auto mask = places_.size() - 1;
  const auto part = static_cast<std::uint32_t>(hash >> 32);
  for (auto at = hash & mask;; at = (at + 1) & mask) {
    auto& place = places_[at];
    if (place.number == kFree) {
      if (names_.size() >= kFree) throw std::length_error("more than 4294967295 keys");
      place = {part, static_cast<std::uint32_t>(names_.size())};
      names_.push_back(keep(name));
      return place.number;
    }
    if (place.hash == part && names_[place.number] == name) return place.number;
  }
}

std::string_view KeyTable::keep(std::string_view name) {
  if (name.size() > free_bytes_) {
    const auto size = std::max(kBlock, name.size());
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(size));
    free_ = blocks_.back().get();
    free_bytes_ = size;
  }
  const std::string_view kept(free_, name.size());
  std::copy(name.begin(), name.end(), free_);
  free_ += name.size();
  free_bytes_ -= name.size();
  return kept;
}

void KeyTable::grow() {
  places_.assign(std::max(kFirstPlaces, 2 * places_.size()), {});
  const auto mask = places_.size() - 1;
  for (std::uint32_t number = 0; number < names_.size(); ++number) {
    const auto hash = std::hash<std::string_view>{}(names_[number]);
    auto at = hash & mask;
    while (places_[at].number != kFree) at = (at + 1) & mask;
    places_[at] = {static_cast<std::uint32_t>(hash >> 32), number};
  }
}

namespace {

static_assert(sizeof(Record) == 16 && std::is_trivially_copyable_v<Record>);

/// The records that a reader buffers of all runs together, and at least of each.
constexpr std::size_t kReadAhead = std::size_t{1} << 16;
constexpr std::size_t kMinReadAhead = 256;

bool earlier(const Record& a, const Record& b) noexcept {
  return a.at_us < b.at_us;
}

/// The end of the records from `begin` that precede another run's first, at `at_us`. Searches from
/// the front: turns are short if runs are interleaved.
const Record* end_of_turn(const Record* begin, const Record* end, std::int64_t at_us,
                          bool first_of_same_time) {
  const auto in_turn = [&](const Record& record) {
    return first_of_same_time ? record.at_us <= at_us : record.at_us < at_us;
  };
  std::ptrdiff_t size = 1;
  while (size < end - begin && in_turn(begin[size])) size *= 2;
  return std::partition_point(begin + size / 2, begin + std::min(size, end - begin), in_turn);
}

[[noreturn]] void fail(std::string_view what, const std::string& folder, int error) {
  throw InputError(
      fmt::format("cannot {} a temporary file in {}: {}", what, folder, errno_text(error)),
      "TMPDIR names the folder; a request takes 16 bytes");
}

}  // namespace

Spool::Spool(std::size_t buffered)
    : buffered_(std::max<std::size_t>(buffered, 2)), folder_(temporary_folder()) {}

void Spool::add(const Record& record) {
  if (buffer_.size() == buffered_) {
    order();
    flush(buffer_.size() / 2);
  }
  if (ordered_ == buffer_.size() && (buffer_.empty() || record.at_us >= buffer_.back().at_us)) {
    ++ordered_;
  }
  buffer_.push_back(record);
  first_us_ = size_ == 0 ? record.at_us : std::min(first_us_, record.at_us);
  last_us_ = std::max(last_us_, record.at_us);
  ++size_;
}

void Spool::order() {
  if (ordered_ == buffer_.size()) return;
  const auto unordered = buffer_.begin() + static_cast<std::ptrdiff_t>(ordered_);
  std::stable_sort(unordered, buffer_.end(), earlier);
  std::inplace_merge(buffer_.begin(), unordered, buffer_.end(), earlier);
  ordered_ = buffer_.size();
}

/// Writes the earliest records to the file. The rest is later, and so are new records, unless they
/// are late by more than half a buffer. Records of equal times leave the buffer in their order, so
/// of two runs the earlier one has the earlier of them.
void Spool::flush(std::size_t count) {
  if (count == 0) return;
  if (!file_) open();
  if (runs_.empty() || buffer_.front().at_us < written_last_us_) {
    runs_.push_back({written_, written_});
  }
  write(buffer_.data(), count);
  written_ += static_cast<std::int64_t>(count);
  runs_.back().end = written_;
  written_last_us_ = buffer_[count - 1].at_us;
  buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(count));
  ordered_ -= count;
}

void Spool::write(const Record* records, std::size_t count) {
  const std::string_view bytes(reinterpret_cast<const char*>(records), count * sizeof(Record));
  if (!write_all(file_.get(), bytes)) fail("write", folder_, errno);
}

/// Creates an unnamed file, if the file system supports that.
void Spool::open() {
  file_.reset(::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (file_) return;
  auto path = folder_ + "/rlctl-replay-XXXXXX";
  file_.reset(::mkostemp(path.data(), O_CLOEXEC));
  if (!file_) fail("make", folder_, errno);
  ::unlink(path.c_str());
}

void Spool::finish() {
  order();
  if (runs_.empty()) {
    buffer_.shrink_to_fit();
    return;
  }
  flush(buffer_.size());
  buffer_ = {};
}

SpoolReader::SpoolReader(const Spool& spool) : spool_(spool) {
  if (spool.runs_.empty()) {
    next_ = spool.buffer_.data();
    stop_ = next_ + spool.buffer_.size();
    return;
  }
  per_source_ = std::max(kMinReadAhead, kReadAhead / spool.runs_.size());
  sources_.reserve(spool.runs_.size());
  for (const auto& run : spool.runs_) {
    sources_.push_back({.read = run.begin, .end = run.end});
    auto& source = sources_.back();
    if (fill(source)) waiting_.push_back({source.buffer.front().at_us, sources_.size() - 1});
  }
  std::make_heap(waiting_.begin(), waiting_.end(), later);
  (void)turn();
}

/// At equal times, the earlier run comes first.
bool SpoolReader::later(const Waiting& a, const Waiting& b) noexcept {
  return a.at_us != b.at_us ? a.at_us > b.at_us : a.source > b.source;
}

/// Returns false at the end of the run.
bool SpoolReader::fill(Source& source) {
  const auto count = static_cast<std::size_t>(
      std::min<std::int64_t>(source.end - source.read, static_cast<std::int64_t>(per_source_)));
  source.buffer.resize(count);
  source.position = 0;
  auto* bytes = reinterpret_cast<char*>(source.buffer.data());
  const auto size = count * sizeof(Record);
  for (std::size_t done = 0; done < size;) {
    const auto offset = source.read * static_cast<off_t>(sizeof(Record)) + static_cast<off_t>(done);
    const auto got = ::pread(spool_.file_.get(), bytes + done, size - done, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail("read", spool_.folder_, got < 0 ? errno : EIO);
    done += static_cast<std::size_t>(got);
  }
  source.read += static_cast<std::int64_t>(count);
  return count > 0;
}

/// Gives the turn to the run with the earliest record, until another run has an earlier one.
/// Returns false at the end of all.
bool SpoolReader::turn() {
  if (waiting_.empty()) return false;
  std::pop_heap(waiting_.begin(), waiting_.end(), later);
  current_ = waiting_.back().source;
  waiting_.pop_back();
  auto& source = sources_[current_];
  const auto* begin = source.buffer.data() + source.position;
  const auto* end = source.buffer.data() + source.buffer.size();
  next_ = begin;
  stop_ = end;
  if (waiting_.empty()) return true;
  const auto& other = waiting_.front();
  stop_ = end_of_turn(begin, end, other.at_us, current_ < other.source);
  return true;
}

bool SpoolReader::next(Record& record) {
  while (next_ == stop_) {
    if (sources_.empty()) return false;
    auto& source = sources_[current_];
    source.position = static_cast<std::size_t>(stop_ - source.buffer.data());
    if (source.position < source.buffer.size() || fill(source)) {
      waiting_.push_back({source.buffer[source.position].at_us, current_});
      std::push_heap(waiting_.begin(), waiting_.end(), later);
    }
    if (!turn()) return false;
  }
  record = *next_++;
  return true;
}

}  // namespace rlctl::replay
