#include "base/line_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "base/text.h"

namespace rlctl {
namespace {

constexpr int kStandardInput = 0;

constexpr std::size_t kChunk = std::size_t{1} << 16;

}  // namespace

LineReader::LineReader(const std::string& file)
    : name_(file == "-" ? "standard input" : in_quotes(file)) {
  fd_ = file == "-" ? kStandardInput : ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (fd_ < 0) fail("cannot open ", errno);
  struct stat status {};
  if (::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)) {
    total_bytes_ = static_cast<std::size_t>(status.st_size);
  }
}

LineReader::~LineReader() {
  if (fd_ != kStandardInput) ::close(fd_);
}

void LineReader::fail(const std::string& what, int error) const {
  throw InputError(what + name_ + ": " + errno_text(error));
}

LineReader::Line LineReader::take(std::size_t size, std::size_t with_newline) {
  Line line{std::string_view(buffer_).substr(begin_, size), ++lines_, false};
  begin_ += with_newline;
  searched_ = begin_;
  taken_bytes_ += with_newline;
  line.too_long = with_newline > kMaxLine + 1;
  if (with_newline > size && line.text.ends_with('\r')) line.text.remove_suffix(1);
  return line;
}

std::optional<LineReader::Line> LineReader::next() {
  while (begin_ < end_) {
    const void* newline = std::memchr(buffer_.data() + searched_, '\n', end_ - searched_);
    if (newline == nullptr) break;
    const auto size =
        static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()) - begin_;
    if (!skipping_) return take(size, size + 1);
    skipping_ = false;
    begin_ += size + 1;
    searched_ = begin_;
  }
  searched_ = end_;
  const std::size_t left = end_ - begin_;
  if (skipping_) {
    begin_ = end_;
  } else if (left > kMaxLine) {
    skipping_ = true;
    auto line = take(kMaxLine, left);
    line.too_long = true;
    return line;
  } else if (end_of_file_ && left > 0) {
    return take(left, left);
  }
  return std::nullopt;
}

void LineReader::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    searched_ -= begin_;
    begin_ = 0;
  }
  if (buffer_.size() < end_ + kChunk) buffer_.resize(end_ + kChunk);
  const auto count = ::read(fd_, buffer_.data() + end_, kChunk);
  if (count > 0) {
    end_ += static_cast<std::size_t>(count);
  } else if (count == 0) {
    end_of_file_ = true;
  } else if (errno != EINTR && errno != EAGAIN) {
    end_of_file_ = true;
    fail("cannot read ", errno);
  }
}

}  // namespace rlctl
