#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <random>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace rlctl {
namespace {

constexpr mode_t kMode = 0666;  // before the umask

void require_name(const std::string& option, const std::string& path) {
  if (path.empty()) throw UsageError(option + ": the name of the file is empty");
}

OutputError cannot_write(const std::string& option, const std::string& path,
                         const std::string& why) {
  return OutputError(option + ": cannot write '" + path + "': " + why);
}

/// Whether a path is a symbolic link that somebody else has put into a folder that everybody may
/// write, such as /tmp: it may lead to a file of this user's. (Linux follows no such link if
/// fs.protected_symlinks is set, but resolving it by hand would.)
bool is_foreign_link(const std::string& path) {
  struct stat link {};
  struct stat folder {};
  if (::lstat(path.c_str(), &link) != 0 || !S_ISLNK(link.st_mode)) return false;
  const auto parent = std::filesystem::path(path).parent_path().string();
  if (::stat(parent.empty() ? "." : parent.c_str(), &folder) != 0) return false;
  const bool is_shared = (folder.st_mode & S_IWOTH) != 0;
  return is_shared && link.st_uid != ::geteuid() && link.st_uid != folder.st_uid;
}

/// Where a symbolic link leads, which need not exist; none if the path is not one. A link of /proc,
/// such as /dev/stdout leads to, may have a text that is not a path ("pipe:[17]"): none, too.
std::optional<std::string> next_target(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const auto text = fs::read_symlink(path, failed);
  if (failed) return std::nullopt;
  auto target = (fs::path(path).parent_path() / text).string();
  struct stat status {};
  const bool is_text = ::stat(path.c_str(), &status) == 0 && ::lstat(target.c_str(), &status) != 0;
  return is_text ? std::nullopt : std::optional(std::move(target));
}

/// Follows symbolic links, so that they stay links.
std::string target_of(const std::string& option, const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux
  auto target = path;
  for (int links = 0;; ++links) {
    if (links > kMostLinks) throw cannot_write(option, path, errno_text(ELOOP));
    if (is_foreign_link(target)) {
      throw cannot_write(option, target, "another user's symbolic link in a world-writable folder");
    }
    auto next = next_target(target);
    if (!next) return target;
    target = *std::move(next);
  }
}

[[noreturn]] void fail_to_read() {
  if (errno == EINTR) throw Interrupted();
  throw std::system_error(errno, std::generic_category());
}

constexpr std::size_t kChunk = std::size_t{1} << 16;

}  // namespace

// ---- Reading a whole file ----

FileDescriptor open_file(const std::string& path) {
  FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) fail_to_read();
  return file;
}

std::string read_all(const FileDescriptor& file, std::size_t most) {
  std::string contents;
  for (;;) {
    const auto begin = contents.size();
    contents.resize(begin + std::min(kChunk, most - begin));
    const auto size = ::read(file.get(), contents.data() + begin, contents.size() - begin);
    if (size < 0) fail_to_read();
    contents.resize(begin + static_cast<std::size_t>(size));
    if (size == 0) return contents;
  }
}

// ---- Writing ----

bool write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const auto written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string temporary_folder() {
  const char* chosen = std::getenv("TMPDIR");
  return chosen != nullptr && *chosen != '\0' ? chosen : "/tmp";
}

// ---- OutputFile ----

OutputFile::OutputFile(std::string_view option, const std::string& path)
    : option_(option), path_(target_of(option_, path)) {
  require_name(option_, path);
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    file_.reset(::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  } else if (exists && ::access(path_.c_str(), W_OK) != 0) {
    fail(errno);
  } else {
    const mode_t mode = exists ? status.st_mode & 07777 : kMode;
    open_temporary(mode);
    // The umask is for new files. Some file systems have no modes.
    if (exists && file_) static_cast<void>(::fchmod(file_.get(), mode));
  }
  if (!file_) {
    const int error = errno;
    const bool needs_folder = !temporary_.empty() && error == EACCES;
    temporary_.clear();
    if (needs_folder) {
      throw cannot_write(option_, path_,
                         "its folder must be writable, since the file is replaced as a whole: " +
                             errno_text(error));
    }
    fail(error);
  }
}

/// By a name of its own: one that was killed may have left a file, also under the same process ID.
void OutputFile::open_temporary(mode_t mode) {
  constexpr int kTries = 100;
  std::random_device random;
  for (int tries = 0; tries < kTries; ++tries) {
    temporary_ = fmt::format("{}.rlctl-{:08x}", path_, random());
    file_.reset(::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file_ || errno != EEXIST) return;
  }
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  if (!write_all(file_.get(), text)) fail(errno);
}

void OutputFile::commit() {
  // A network file system may report a full disk only now.
  if (::close(file_.release()) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  throw cannot_write(option_, path_, errno_text(error));
}

// ---- NewFile ----

NewFile::NewFile(std::string_view option, const std::string& path) : option_(option), path_(path) {
  require_name(option_, path);
  file_.reset(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (file_) return;
  if (errno != EEXIST) fail(errno);
  throw UsageError(option_ + ": " + in_quotes(path) + " exists, and is never overwritten",
                   "choose another name");
}

NewFile::~NewFile() {
  if (!keep_) ::unlink(path_.c_str());
}

void NewFile::add(std::string_view text) {
  if (write_all(file_.get(), text)) {
    size_ += static_cast<off_t>(text.size());
    return;
  }
  const int error = errno;
  // If this fails too, the last line stays incomplete.
  if (::ftruncate(file_.get(), size_) == 0)
    static_cast<void>(::lseek(file_.get(), size_, SEEK_SET));
  fail(error);
}

void NewFile::sync() {
  if (::fsync(file_.get()) != 0) fail(errno);
  if (is_named_) return;
  const auto folder = std::filesystem::path(path_).parent_path().string();
  const FileDescriptor opened(
      ::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder, and some users may not read it.
  if (opened && ::fsync(opened.get()) != 0 && errno != EINVAL) fail(errno);
  is_named_ = true;
}

void NewFile::fail(int error) const {
  throw cannot_write(option_, path_, errno_text(error));
}

// ---- LineReader ----

LineReader::LineReader(const std::string& file, std::size_t longest)
    : name_(file == "-" ? "standard input" : in_quotes(file)), longest_(longest) {
  if (file != "-") {
    opened_.reset(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!opened_) fail("cannot open ", errno);
    fd_ = opened_.get();
  }
  struct stat status {};
  if (::fstat(fd_, &status) == 0 && S_ISREG(status.st_mode)) {
    total_bytes_ = static_cast<std::size_t>(status.st_size);
  }
}

void LineReader::fail(const std::string& what, int error) const {
  throw InputError(what + name_ + ": " + errno_text(error));
}

/// Takes `size` bytes, and the newline behind them.
LineReader::Line LineReader::take(std::size_t size, bool has_newline) {
  Line line{.text = std::string_view(buffer_).substr(begin_, size),
            .number = ++lines_,
            .too_long = size > longest_,
            .has_newline = has_newline};
  const auto taken = size + (has_newline ? 1 : 0);
  begin_ += taken;
  searched_ = begin_;
  taken_bytes_ += taken;
  if (line.too_long) {
    line.text = line.text.substr(0, longest_);
  } else if (has_newline && line.text.ends_with('\r')) {
    line.text.remove_suffix(1);
  }
  return line;
}

std::optional<LineReader::Line> LineReader::next() {
  while (begin_ < end_) {
    const void* newline = std::memchr(buffer_.data() + searched_, '\n', end_ - searched_);
    if (newline == nullptr) break;
    const auto size =
        static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()) - begin_;
    if (!skipping_) return take(size, true);
    skipping_ = false;
    begin_ += size + 1;
    searched_ = begin_;
  }
  searched_ = end_;
  const std::size_t left = end_ - begin_;
  if (skipping_) {
    begin_ = end_;
  } else if (left > longest_) {
    skipping_ = true;
    return take(left, false);
  } else if (end_of_file_ && left > 0) {
    return take(left, false);
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
