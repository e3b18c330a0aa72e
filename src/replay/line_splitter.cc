#include "replay/line_splitter.h"

#include <fmt/format.h>

#include <utility>

#include "base/error.h"

namespace rlctl::replay {
namespace {

/// With or without a byte order mark: such text has a zero next to each letter.
bool is_utf16(std::string_view head) {
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) return true;
  if (head.size() < 4) return false;
  const bool zero[] = {head[0] == '\0', head[1] == '\0', head[2] == '\0', head[3] == '\0'};
  return zero[0] == zero[2] && zero[1] == zero[3] && zero[0] != zero[1];
}

std::string_view without_end(std::string_view line) {
  for (const char end : {'\n', '\r'}) {
    if (line.ends_with(end)) line.remove_suffix(1);
  }
  return line;
}

}  // namespace

bool is_blank(std::string_view line) noexcept {
  return line.find_first_not_of(" \t\r") == line.npos;
}

LineSplitter::LineSplitter(ByteSource& source, std::string name)
    : source_(source), name_(std::move(name)) {}

/// Returns false at the end of the file.
bool LineSplitter::fill() {
  if (buffer_.end_of_file()) return false;
  const auto to = buffer_.space();
  buffer_.add(source_.read(to.data(), to.size()));
  return !buffer_.end_of_file();
}

void LineSplitter::begin() {
  while (buffer_.not_taken().size() < 4 && fill()) {
  }
  if (is_utf16(buffer_.not_taken())) {
    throw InputError(fmt::format("{} is text in UTF-16; convert it to UTF-8", name_),
                     "iconv -f UTF-16 -t UTF-8 FILE | rlctl burst --replay -");
  }
  if (buffer_.not_taken().starts_with("\xef\xbb\xbf")) buffer_.skip(3);
}

std::optional<LineSplitter::Line> LineSplitter::take() {
  for (;;) {
    if (auto line = buffer_.next()) return line;
    if (buffer_.ended()) return std::nullopt;
    (void)fill();
  }
}

bool LineSplitter::next(Line& line) {
  if (!std::exchange(begun_, true)) begin();
  buffer_.mark();
  const auto taken = take();
  if (!taken) return false;
  line = *taken;
  if (!line.too_long) line.text = without_end(buffer_.since_mark());
  return true;
}

std::string_view LineSplitter::with_following(Line& line, std::size_t lines, std::size_t bytes) {
  const auto begin = buffer_.position();
  for (auto left = lines - 1; left > 0 && buffer_.since_mark().size() < bytes;) {
    const auto before = buffer_.position();
    const auto taken = take();
    if (!taken || taken->too_long) {
      buffer_.rewind(before);
      break;
    }
    if (!is_blank(taken->text)) --left;
  }
  const auto all = buffer_.since_mark();
  buffer_.rewind(begin);
  line.text = without_end(buffer_.since_mark());
  return all;
}

}  // namespace rlctl::replay
