#include "replay/input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/wait.h"

namespace rlctl::replay {

std::string input_name(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

namespace {

using namespace std::string_view_literals;

/// A file, or standard input, unmodified.
class FileSource final : public ByteSource {
 public:
  /// `interrupt` must outlive this. "-" is standard input. Throws InputError if it cannot be
  /// opened.
  FileSource(const std::string& file, const Interrupt& interrupt)
      : name_(input_name(file)), interrupt_(interrupt) {
    if (file == "-") {
      fd_ = STDIN_FILENO;
    } else {
      // Do not wait for a FIFO's writer here, but later, where Ctrl-C is noticed.
      opened_.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
      fd_ = opened_.get();
      if (fd_ < 0) {
        throw InputError(fmt::format("cannot open {}: {}", name_, errno_text(errno)));
      }
    }
    struct stat status {};
    if (::fstat(fd_, &status) != 0) return;
    may_wait_ = !S_ISREG(status.st_mode);
    if (S_ISDIR(status.st_mode)) {
      throw InputError(fmt::format("{} is a folder, not a file", name_));
    }
  }

  std::size_t read(char* to, std::size_t size) override {
    for (;;) {
      interrupt_.check();
      if (may_wait_) {
        (void)wait_for(fd_, POLLIN, &interrupt_, kNoDeadline);
      }
      const auto count = ::read(fd_, to, size);
      if (count >= 0) {
        file_bytes_ += count;
        return static_cast<std::size_t>(count);
      }
      if (errno == EINTR || errno == EAGAIN) continue;
      throw InputError(fmt::format("cannot read {}: {}", name_, errno_text(errno)));
    }
  }

  std::int64_t file_bytes() const override { return file_bytes_; }

 private:
  std::string name_;
  const Interrupt& interrupt_;
  FileDescriptor opened_;  ///< none for standard input
  int fd_ = -1;
  bool may_wait_ = true;
  std::int64_t file_bytes_ = 0;
};

/// The bytes already read, then the rest.
class PrefixedSource final : public ByteSource {
 public:
  PrefixedSource(std::string prefix, std::unique_ptr<ByteSource> rest)
      : prefix_(std::move(prefix)), rest_(std::move(rest)) {}

  std::size_t read(char* to, std::size_t size) override {
    if (taken_ == prefix_.size()) return rest_->read(to, size);
    const auto count = std::min(size, prefix_.size() - taken_);
    std::memcpy(to, prefix_.data() + taken_, count);
    taken_ += count;
    return count;
  }
  std::int64_t file_bytes() const override { return rest_->file_bytes(); }

 private:
  std::string prefix_;
  std::size_t taken_ = 0;
  std::unique_ptr<ByteSource> rest_;
};

struct Packer {
  std::string_view magic;
  std::string_view name;
  std::string_view unpack;  ///< the command that unpacks to standard output
};

constexpr std::array kOtherPackers{
    Packer{"\x28\xb5\x2f\xfd"sv, "zstd", "zstd -dc"},
    Packer{"\xfd"
           "7zXZ\0"sv,
           "xz", "xz -dc"},
    Packer{"BZh"sv, "bzip2", "bzip2 -dc"},
    Packer{"\x04\x22\x4d\x18"sv, "lz4", "lz4 -dc"},
    Packer{"PK\x03\x04"sv, "zip", "unzip -p"},
};
constexpr std::size_t kLongestMagic = 6;

void refuse_other_packers(std::string_view head, const std::string& file) {
  for (const auto& packer : kOtherPackers) {
    if (!head.starts_with(packer.magic)) continue;
    throw InputError(fmt::format("{} is compressed by {}; only gzip is supported", input_name(file),
                                 packer.name),
                     fmt::format("{} FILE | rlctl burst --replay -", packer.unpack));
  }
}

constexpr int kGzipOnly = 16;  // added to the window bits
constexpr std::size_t kChunk = std::size_t{1} << 17;

struct Inflater {
  z_stream stream{};
  std::array<char, kChunk> packed{};

  Inflater() {
    if (inflateInit2(&stream, MAX_WBITS + kGzipOnly) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

/// Unpacks gzip: one or more members, possibly followed by zero bytes. read() throws InputError if
/// the data is damaged, truncated, or followed by anything else.
class GzipSource final : public ByteSource {
 public:
  /// `name` is the file's, for messages.
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_(std::move(packed)), name_(std::move(name)) {}

  std::size_t read(char* to, std::size_t size) override {
    auto& stream = inflater_->stream;
    stream.next_out = reinterpret_cast<Bytef*>(to);
    stream.avail_out = static_cast<uInt>(size);
    while (stream.avail_out == size) {
      if (!in_member_ && !begin_member()) return 0;
      if (stream.avail_in == 0 && !fill()) {
        throw InputError(fmt::format("{} is cut off: its gzip data ends in the middle", name_),
                         "to read the part that is there: gzip -dc FILE | rlctl burst --replay -");
      }
      const int status = inflate(&stream, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        in_member_ = false;
      } else if (status == Z_MEM_ERROR) {
        throw std::bad_alloc();
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        damaged(stream.msg == nullptr ? "not gzip" : stream.msg);
      }
    }
    return size - stream.avail_out;
  }

  std::int64_t file_bytes() const override { return packed_->file_bytes(); }

 private:
  /// Returns false at the end of the file.
  bool fill() {
    auto& stream = inflater_->stream;
    auto& packed = inflater_->packed;
    const auto count = packed_->read(packed.data(), packed.size());
    stream.next_in = reinterpret_cast<Bytef*>(packed.data());
    stream.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  /// Begins the next member, or skips zeros to the end, which tapes and block devices add.
  bool begin_member() {
    auto& stream = inflater_->stream;
    for (;;) {
      if (stream.avail_in == 0 && !fill()) return false;
      if (*stream.next_in != 0) break;
      ++stream.next_in;
      --stream.avail_in;
    }
    if (*stream.next_in != 0x1f) damaged("something else follows it");
    return in_member_ = inflateReset(&stream) == Z_OK;
  }

  [[noreturn]] void damaged(const char* why) const {
    throw InputError(fmt::format("{} is damaged: its gzip data is wrong ({})", name_, why),
                     "'gzip -t' reports the same");
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::unique_ptr<Inflater> inflater_ = std::make_unique<Inflater>();
  bool in_member_ = true;
};

}  // namespace

std::size_t MemorySource::read(char* to, std::size_t size) {
  const auto count = std::min(size, bytes_.size());
  if (count > 0) std::memcpy(to, bytes_.data(), count);
  bytes_.remove_prefix(count);
  file_bytes_ += static_cast<std::int64_t>(count);
  return count;
}

std::unique_ptr<ByteSource> open_input(const std::string& file, const Interrupt& interrupt) {
  std::unique_ptr<ByteSource> source = std::make_unique<FileSource>(file, interrupt);
  std::string head(kLongestMagic, '\0');
  std::size_t size = 0;
  while (size < head.size()) {
    const auto count = source->read(head.data() + size, head.size() - size);
    if (count == 0) break;
    size += count;
  }
  head.resize(size);
  refuse_other_packers(head, file);
  const bool packed = head.starts_with("\x1f\x8b");
  source = std::make_unique<PrefixedSource>(std::move(head), std::move(source));
  if (packed) source = std::make_unique<GzipSource>(std::move(source), input_name(file));
  return source;
}

}  // namespace rlctl::replay
