#include "cli/term/line_history.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "base/file.h"

namespace rlctl::cli {
namespace {

namespace fs = std::filesystem;

/// Those that are missing, for this user alone.
void make_folders(const fs::path& folder) {
  if (folder.empty() || ::access(folder.c_str(), F_OK) == 0) return;
  make_folders(folder.parent_path());
  ::mkdir(folder.c_str(), 0700);
}

bool write_to(const std::string& file, int flags, const std::string& text) {
  const FileDescriptor out(
      ::open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | flags, 0600));
  // It may have been there, for all to read. (A pipe that nobody reads is not opened.)
  return out && ::fchmod(out.get(), 0600) == 0 &&
         ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

LineHistory::LineHistory(std::string file) : file_(std::move(file)) {
  if (!file_.empty()) read();
}

void LineHistory::read() {
  // Of a pipe one might wait for ever.
  std::error_code unknown;
  if (!fs::is_regular_file(file_, unknown)) return;
  std::ifstream in(file_);
  std::size_t count = 0;
  for (std::string line; std::getline(in, line); ++count) {
    if (!line.empty() && (lines_.empty() || lines_.back() != line)) lines_.push_back(line);
  }
  if (lines_.size() > kMost) {
    lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(kMost));
  }
  if (count > kMost) shorten();
}

void LineHistory::shorten() const {
  std::string text;
  for (const auto& line : lines_) text += line + '\n';
  const auto fresh = file_ + "." + std::to_string(::getpid());
  std::error_code ignored;
  if (write_to(fresh, O_EXCL, text)) fs::rename(fresh, file_, ignored);
  fs::remove(fresh, ignored);
}

bool LineHistory::add(const std::string& line) {
  if (line.empty() || (!lines_.empty() && lines_.back() == line)) return false;
  lines_.push_back(line);
  if (file_.empty()) return true;
  make_folders(fs::path(file_).parent_path());
  static_cast<void>(write_to(file_, O_APPEND, line + '\n'));
  return true;
}

}  // namespace rlctl::cli
