#include "replay/line_splitter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace rlctl::replay {
namespace {

constexpr std::size_t kReadAtOnce = std::size_t{1} << 18;
constexpr std::size_t kShownOfLong = 256;

/// With or without a byte order mark: such text has a zero next to each letter.
bool is_utf16(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  if (head.size() < 4) return false;
  const bool zero[] = {head[0] == '\0', head[1] == '\0', head[2] == '\0', head[3] == '\0'};
  return zero[0] == zero[2] && zero[1] == zero[3] && zero[0] != zero[1];
}

}  // namespace

bool is_blank(std::string_view line) noexcept {
  return line.find_first_not_of(" \t\r") == line.npos;
}

LineSplitter::LineSplitter(ByteSource& source, std::string name)
    : source_(source), name_(std::move(name)) {}

/// Reads more into the buffer, dropping what precedes the last line taken. Returns false at the end
/// of the file.
bool LineSplitter::fill() {
  if (ended_) return false;
  if (line_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + line_, end_ - line_);
    first_ -= std::min(first_, line_);
    next_ -= line_;
    end_ -= line_;
    line_ = 0;
  }
  if (buffer_.size() < end_ + kReadAtOnce)
    buffer_.resize(std::max(2 * buffer_.size(), end_ + kReadAtOnce));
  const auto count = source_.read(buffer_.data() + end_, buffer_.size() - end_);
  end_ += count;
  ended_ = count == 0;
  return !ended_;
}

void LineSplitter::begin() {
  begun_ = true;
  while (end_ < 4 && fill()) {
  }
  const auto head = std::string_view(buffer_).substr(0, end_);
  if (is_utf16(head)) {
    throw InputError(fmt::format("{} is text in UTF-16; convert it to UTF-8", name_),
                     "iconv -f UTF-16 -t UTF-8 FILE | rlctl burst --replay -");
  }
  if (head.starts_with("\xef\xbb\xbf")) line_ = next_ = 3;
}

/// The length of the line that begins at next_, without its newline; kNone if it is longer than
/// kMaxLine. Its first `from` bytes are known to contain no newline. At the end of the file, the
/// line ends there.
std::size_t LineSplitter::find_end(std::size_t from) {
  for (;;) {
    const auto* begin = buffer_.data() + next_;
    const auto size = end_ - next_;
    const auto* newline =
        size > from ? static_cast<const char*>(std::memchr(begin + from, '\n', size - from))
                    : nullptr;
    if (newline != nullptr) {
      const auto end = static_cast<std::size_t>(newline - begin);
      return end > kMaxLine ? kNone : end;
    }
    if (size > kMaxLine) return kNone;
    from = size;
    if (!fill()) return size;
  }
}

std::string_view LineSplitter::without_end(std::size_t end) const {
  std::string_view text(buffer_.data() + line_, end - line_);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

/// Skips a long line, but keeps its beginning for messages.
void LineSplitter::skip_long(Line& line) {
  long_line_.assign(buffer_, next_, kShownOfLong);
  line.text = long_line_;
  line.too_long = true;
  for (;;) {
    const auto* newline =
        static_cast<const char*>(std::memchr(buffer_.data() + next_, '\n', end_ - next_));
    if (newline != nullptr) {
      next_ = static_cast<std::size_t>(newline - buffer_.data()) + 1;
      break;
    }
    line_ = next_ = end_;
    if (!fill()) break;
  }
  line_ = first_ = next_;
}

bool LineSplitter::next(Line& line) {
  if (!begun_) begin();
  line_ = next_;
  const auto size = find_end(0);
  if (size == 0 && next_ == end_) return false;
  line.number = first_lines_ = ++lines_;
  line.too_long = false;
  if (size == kNone) {
    skip_long(line);
    return true;
  }
  const auto end = next_ + size;
  line.text = without_end(end);
  first_ = next_ = std::min(end + 1, end_);
  return true;
}

bool LineSplitter::extend(Line& line, std::size_t most) {
  if (line.too_long) return false;
  const auto size = find_end(0);
  // find_end() may have read more and moved the line.
  const auto refused = size == kNone || (size == 0 && next_ == end_) || next_ + size - line_ > most;
  if (!refused) {
    const auto end = next_ + size;
    next_ = std::min(end + 1, end_);
    ++lines_;
    line.text = without_end(end);
  } else {
    const auto end = next_ > line_ && buffer_[next_ - 1] == '\n' ? next_ - 1 : next_;
    line.text = without_end(end);
  }
  return !refused;
}

void LineSplitter::unextend(Line& line) {
  next_ = first_;
  lines_ = first_lines_;
  if (line.too_long) return;
  const auto end = next_ > line_ && buffer_[next_ - 1] == '\n' ? next_ - 1 : next_;
  line.text = without_end(end);
}

std::string_view LineSplitter::with_following(Line& line, std::size_t lines, std::size_t bytes) {
  const auto own = next_ - line_;
  auto size = own;  // of whole lines
  for (auto left = lines - 1; left > 0 && size < bytes;) {
    // find_end() starts at next_, so move it past the known lines.
    const auto known = size - own;
    next_ += known;
    const auto end = find_end(0);
    next_ -= known;
    if (end == kNone) break;
    if (end == 0 && line_ + size == end_) break;
    if (!is_blank(std::string_view(buffer_).substr(line_ + size, end))) --left;
    size = std::min(size + end + 1, end_ - line_);
  }
  // find_end() may have moved the line.
  unextend(line);
  return std::string_view(buffer_).substr(line_, size);
}

}  // namespace rlctl::replay
