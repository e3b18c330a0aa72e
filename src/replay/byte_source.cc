#include "replay/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "base/wait.h"

namespace rlctl::replay {
namespace {

using namespace std::string_view_literals;

/// What has been read already, then the rest.
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
  std::string_view unpack;  ///< a command that writes the content to its output
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

}  // namespace

std::string input_name(const std::string& file) {
  return file == "-" ? "standard input" : file;
}

FileSource::FileSource(const std::string& file, const Interrupt& interrupt)
    : name_(input_name(file)), interrupt_(interrupt) {
  if (file == "-") {
    fd_ = STDIN_FILENO;
  } else {
    // Not waiting for a writer of a FIFO here, but where Ctrl-C is seen.
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

std::size_t FileSource::read(char* to, std::size_t size) {
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
  const bool packed = is_gzip(head);
  source = std::make_unique<PrefixedSource>(std::move(head), std::move(source));
  if (packed) source = unpack_gzip(std::move(source), input_name(file));
  return source;
}

}  // namespace rlctl::replay
