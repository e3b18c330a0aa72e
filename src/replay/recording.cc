#include "replay/recording.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <deque>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "base/address.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "limiter/limit.h"
#include "replay/input.h"
#include "replay/line_splitter.h"

namespace rlctl::replay {

/// The requests of a recording, and the names of their keys. Deques, which take no more memory than
/// their contents while they grow.
struct RecordedRequests {
  struct Request {
    std::int64_t at_us = 0;
    std::uint32_t key = 0;
    std::uint32_t cost = 1;

    static_assert(limiter::kLargestCost <= UINT32_MAX);
  };

  static constexpr std::uint32_t kNone = UINT32_MAX;
  /// A slot of a hash table with open addressing, which is faster than std::unordered_map for many
  /// keys.
  struct Slot {
    std::uint32_t hash = 0, number = kNone;
  };

  /// The number of a key, from 0 in order of appearance.
  std::uint32_t number_of(std::string_view name) {
    if (names.size() >= slots.size() / 2) grow();
    const auto hash = static_cast<std::uint32_t>(std::hash<std::string_view>{}(name));
    std::size_t at = hash;
    for (; slot_at(at).number != kNone; ++at) {
      const auto& slot = slot_at(at);
      if (slot.hash == hash && names[slot.number] == name) return slot.number;
    }
    if (names.size() >= kNone) throw std::length_error("more than 4294967295 keys");
    slot_at(at) = {hash, static_cast<std::uint32_t>(names.size())};
    names.emplace_back(name);
    bytes_of_names += name.size();
    return slot_at(at).number;
  }

  /// The slot for a hash, or after it. The number of slots is a power of 2.
  Slot& slot_at(std::size_t at) { return slots[at & (slots.size() - 1)]; }

  void grow() {
    constexpr std::size_t kFirst = 1024;
    const auto old = std::exchange(slots, std::vector<Slot>(std::max(kFirst, slots.size() * 2)));
    for (const auto& slot : old) {
      if (slot.number == kNone) continue;
      std::size_t at = slot.hash;
      while (slot_at(at).number != kNone) ++at;
      slot_at(at) = slot;
    }
  }

  /// Requests at the same time keep the order in which they were read.
  void sort_by_time() {
    const auto is_earlier = [](const Request& a, const Request& b) { return a.at_us < b.at_us; };
    // Most logs are in order already.
    if (std::is_sorted(by_time.begin(), by_time.end(), is_earlier)) return;
    std::stable_sort(by_time.begin(), by_time.end(), is_earlier);
  }

  /// About the memory that all this takes, in bytes.
  std::size_t bytes() const noexcept {
    constexpr std::size_t kOfKey = 100;
    return by_time.size() * sizeof(Request) + names.size() * kOfKey + bytes_of_names;
  }

  std::deque<Request> by_time = {};  ///< after sort_by_time()
  std::deque<std::string> names = {};
  std::vector<Slot> slots = {};
  std::size_t bytes_of_names = 0;
};

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kSampleLines = 1000;
constexpr std::size_t kSampleBytes = std::size_t{4} << 20;
constexpr std::size_t kShownText = 200;  // bytes
constexpr std::size_t kLinesBetweenLooks = 1024;
constexpr std::chrono::milliseconds kBetweenProgress{100};
constexpr const char* kPassFormat =
    "--format says what the lines have; --fields time=NAME,key=NAME names fields";

/// Requests in the order of time.
class RecordedTraffic final : public traffic::Traffic {
 public:
  explicit RecordedTraffic(std::shared_ptr<const RecordedRequests> requests)
      : requests_(std::move(requests)) {}

  bool next(traffic::Arrival& arrival) override {
    if (next_ == requests_->by_time.size()) return false;
    const auto& request = requests_->by_time[next_++];
    arrival = {.at = microseconds{request.at_us}, .key = request.key, .cost = request.cost};
    return true;
  }
  std::string_view key_name(std::uint32_t key) const override { return requests_->names[key]; }
  std::int64_t size() const override {
    return static_cast<std::int64_t>(requests_->by_time.size());
  }

 private:
  std::shared_ptr<const RecordedRequests> requests_;
  std::size_t next_ = 0;
};

std::string shown(std::string_view text) {
  std::string cut(text.substr(0, kShownText));
  if (text.size() > kShownText) cut += "...";
  return cut;
}

std::string describe(const BadLine& bad) {
  return fmt::format("{}:{}: {}: '{}'", bad.file, bad.line, bad.why, bad.text);
}

/// The total size of the files in bytes; 0 if one has no size. Reports a missing file before the
/// others are read.
std::int64_t total_bytes(const std::vector<std::string>& files) {
  if (files.empty()) throw UsageError("no file to replay");
  if (std::count(files.begin(), files.end(), "-") > 1) {
    throw UsageError("standard input can be read only once, but '-' is given more than once");
  }
  std::int64_t total = 0;
  bool known = true;
  for (const auto& file : files) {
    struct stat status {};
    if (file == "-") {
      known = false;
    } else if (::stat(file.c_str(), &status) != 0) {
      throw InputError(fmt::format("cannot open {}: {}", file, errno_text(errno)));
    } else if (S_ISREG(status.st_mode)) {
      total += status.st_size;
    } else {
      known = false;
    }
  }
  return known ? total : 0;
}

void add(LineCounts& sum, const LineCounts& counts) {
  sum.lines += counts.lines;
  sum.requests += counts.requests;
  sum.blank += counts.blank;
  sum.bad += counts.bad;
  sum.other += counts.other;
}

}  // namespace

/// Fills a recording.
class RecordingReader {
 public:
  RecordingReader(Recording& recording, const ReplayOptions& options, const Interrupt& interrupt,
                  const OnProgress& on_progress)
      : recording_(recording),
        options_(options),
        interrupt_(interrupt),
        on_progress_(on_progress),
        total_bytes_(total_bytes(options.files)),
        available_(available_memory()) {}

  void read_all() {
    for (const auto& file : options_.files) read(file);
    if (recording_.counts_.requests == 0) nothing_there();
    recording_.requests_->sort_by_time();
  }

 private:
  void read(const std::string& name) {
    const auto source = open_input(name, interrupt_);
    LineSplitter lines(*source, input_name(name));
    latest_ = microseconds::min();
    RecordedFile file{.name = name};
    read_lines(lines, *source, file);
    bytes_before_ += source->file_bytes();
    report(0);
    add(recording_.counts_, file.counts);
    recording_.files_.push_back(std::move(file));
  }

  /// How to read a file whose first line that is not blank is this one.
  LogReader reader_of(LineSplitter& lines, LineSplitter::Line& line) const {
    const auto beginning = lines.with_following(line, kSampleLines, kSampleBytes);
    return recognize(
        {.name = lines.name(), .line = static_cast<std::int64_t>(line.number), .lines = beginning},
        options_.format, options_.fields);
  }

  void read_lines(LineSplitter& lines, const ByteSource& source, RecordedFile& file) {
    std::optional<LogReader> reader;
    LineSplitter::Line line;
    while (lines.next(line)) {
      if (line.number % kLinesBetweenLooks == 0) look(source);
      if (line.too_long) {
        ++file.counts.bad;
        bad_line(lines, line, fmt::format("it is longer than {} MB", LineSplitter::kMaxLine >> 20));
      } else if (is_blank(line.text)) {
        ++file.counts.blank;
      } else {
        if (!reader) reader.emplace(reader_of(lines, line));
        read_line(lines, line, *reader, file.counts);
      }
    }
    file.counts.lines = lines.lines();
    if (!reader) return;
    file.format = reader->format();
    file.prefix = reader->prefix();
    file.key = reader->key_field();
    require_found(*reader, file);
  }

  void read_line(const LineSplitter& lines, const LineSplitter::Line& line, LogReader& reader,
                 LineCounts& counts) {
    Entry entry;
    switch (kind_of(lines, line, reader, entry)) {
      case LineKind::kRequest:
        ++counts.requests;
        if (entry.key == "-") ++recording_.without_key_;
        recording_.max_cost_ = std::max(recording_.max_cost_, entry.cost);
        note_order(entry.at);
        recording_.requests_->by_time.push_back({.at_us = entry.at.count(),
                                                 .key = key_number(entry.key),
                                                 .cost = static_cast<std::uint32_t>(entry.cost)});
        break;
      case LineKind::kOther:
        ++counts.other;
        break;
      case LineKind::kBad:
        ++counts.bad;
        bad_line(lines, line, reader.why());
        break;
    }
  }

  static LineKind kind_of(const LineSplitter& lines, const LineSplitter::Line& line,
                          LogReader& reader, Entry& entry) {
    try {
      return reader.read(line.text, entry);
    } catch (const InputError& error) {
      throw InputError(fmt::format("{}:{}: {}", lines.name(), line.number, error.what()),
                       error.hint());
    }
  }

  void note_order(microseconds at) {
    if (at < latest_) {
      ++recording_.out_of_order_;
      recording_.out_of_order_by_ = std::max(recording_.out_of_order_by_, latest_ - at);
    }
    latest_ = std::max(latest_, at);
  }

  std::uint32_t key_number(std::string_view key) {
    if (!options_.ipv6_prefix) return recording_.requests_->number_of(key);
    const auto network = client_network(key, *options_.ipv6_prefix);
    return recording_.requests_->number_of(network ? std::string_view(*network) : key);
  }

  /// Otherwise every request would silently count as 1.
  void require_found(const LogReader& reader, const RecordedFile& file) const {
    const auto missing = reader.never_found();
    if (missing.empty() || file.counts.requests == 0) return;
    throw InputError(
        fmt::format("{}: no line has the field {}", input_name(file.name), missing),
        options_.fields.has_hold()
            ? "--fields hold=NAME names the field that holds the time for which a lease was held"
            : "--fields cost=NAME names the field that holds a request's cost; without it, each "
              "costs 1");
  }

  void bad_line(const LineSplitter& lines, const LineSplitter::Line& line, const std::string& why) {
    if (recording_.first_bad_) return;
    recording_.first_bad_ = BadLine{.file = lines.name(),
                                    .line = static_cast<std::int64_t>(line.number),
                                    .why = why,
                                    .text = shown(line.text)};
    if (options_.strict) throw InputError(describe(*recording_.first_bad_));
  }

  void look(const ByteSource& source) {
    interrupt_.check();
    require_memory();
    report(source.file_bytes());
  }

  /// Half of what is available, since sorting takes half as much again.
  void require_memory() const {
    const auto& requests = *recording_.requests_;
    if (static_cast<std::int64_t>(requests.bytes()) <= available_ / 2) return;
    throw InputError(
        fmt::format(
            "not enough memory: the first {} requests, of {}, take more than half of the {} MB "
            "available",
            grouped(static_cast<std::int64_t>(requests.by_time.size())),
            counted(static_cast<std::int64_t>(requests.names.size()), "key"), available_ >> 20),
        "replay a part of the log: head -n N FILE | rlctl burst --replay -");
  }

  void report(std::int64_t bytes) {
    const auto now = Clock::now();
    if (!on_progress_ || now - reported_ < kBetweenProgress) return;
    reported_ = now;
    on_progress_(bytes_before_ + bytes, total_bytes_);
  }

  [[noreturn]] void nothing_there() const {
    const auto& files = options_.files;
    const auto names =
        files.size() == 1 ? input_name(files.front()) : fmt::format("these {} files", files.size());
    if (const auto& bad = recording_.first_bad_) {
      throw InputError(
          fmt::format("no request in {}: {} of {} lines are bad, the first: {}", names,
                      recording_.counts_.bad, recording_.counts_.lines, describe(*bad)),
          kPassFormat);
    }
    throw InputError(fmt::format(
        "no request in {}: {}", names,
        recording_.counts_.other > 0 ? "nothing but headers or comments" : "it is empty"));
  }

  Recording& recording_;
  const ReplayOptions& options_;
  const Interrupt& interrupt_;
  const OnProgress& on_progress_;
  std::int64_t total_bytes_;
  std::int64_t available_;         ///< memory, in bytes
  std::int64_t bytes_before_ = 0;  ///< of the files already read
  microseconds latest_{0};         ///< of the requests of this file so far
  Clock::time_point reported_{};
};

Recording::Recording(const ReplayOptions& options, const Interrupt& interrupt,
                     const OnProgress& on_progress)
    : requests_(std::make_shared<RecordedRequests>()) {
  RecordingReader(*this, options, interrupt, on_progress).read_all();
}

std::unique_ptr<traffic::Traffic> Recording::traffic() const {
  return std::make_unique<RecordedTraffic>(requests_);
}

std::size_t Recording::keys() const noexcept {
  return requests_->names.size();
}

microseconds Recording::first() const noexcept {
  return microseconds{requests_->by_time.front().at_us};
}

microseconds Recording::last() const noexcept {
  return microseconds{requests_->by_time.back().at_us};
}

}  // namespace rlctl::replay
