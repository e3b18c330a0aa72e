#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/magic.h>
#include <pwd.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <random>
#include <system_error>

#include "base/shell.h"
#include "base/text.h"

namespace rlctl {
namespace {

constexpr mode_t kMode = 0666;  // before the umask

OutputError cannot_write(const std::string& option, const std::string& path,
                         const std::string& why) {
  return OutputError(option + ": cannot write '" + path + "': " + why);
}

// ---- Where a path leads ----

constexpr int kOnlyNamed = O_PATH | O_CLOEXEC;

/// Where a path leads: a name in a folder.
struct Destination {
  FileDescriptor folder;
  std::string name;
  std::optional<struct stat> status = {};  ///< std::nullopt if no file has the name
  /// A link of /proc, to be followed by the kernel: it stands for a file that is open and has no
  /// name, such as the pipe of /dev/stdout.
  bool is_open_file = false;
};

/// Whether an entry of this folder belongs to another user, and the folder is world-writable, as
/// /tmp is.
bool is_foreign(const struct stat& entry, const struct stat& folder) {
  return (folder.st_mode & S_IWOTH) != 0 && entry.st_uid != ::geteuid();
}

/// Whether a link in this folder was made by a user who is neither this one nor the folder's owner,
/// in a world-writable folder: it may lead to a file of this user's. Linux follows no such link if
/// fs.protected_symlinks is set, but following it by hand would.
bool is_foreign_link(const struct stat& link, const struct stat& folder) {
  return is_foreign(link, folder) && link.st_uid != folder.st_uid;
}

/// The status of an open file without a name for which this entry of /proc stands; else
/// std::nullopt.
std::optional<struct stat> nameless_file(int folder, const std::string& name) {
  struct statfs system {};
  struct stat file {};
  if (::fstatfs(folder, &system) != 0 || system.f_type != PROC_SUPER_MAGIC) return std::nullopt;
  if (::fstatat(folder, name.c_str(), &file, 0) != 0) return std::nullopt;
  return S_ISREG(file.st_mode) && file.st_nlink > 0 ? std::nullopt : std::optional(file);
}

/// Follows a path component by component, and refuses another user's links in shared folders. It
/// keeps each folder that it has checked open, so that no other user can replace it afterwards.
class PathWalk {
 public:
  /// `option` is for errors. Throws UsageError if the path is empty.
  PathWalk(const std::string& option, const std::string& path)
      : option_(option), path_(path), rest_(path) {
    if (path.empty()) throw UsageError(option + ": the name of the file is empty");
  }

  /// The name at the path's end, whose folder exists. Throws OutputError.
  Destination end(bool follows_last);

 private:
  static constexpr int kMaxLinks = 40;  // as in Linux

  /// Removes the first component; a slash at the end stands for one more, ".".
  std::string take_name();
  void enter_start_folder();
  void follow(const FileDescriptor& link, const struct stat& status);
  [[noreturn]] void fail(int error) const { throw cannot_write(option_, path_, errno_text(error)); }

  const std::string& option_;
  const std::string& path_;
  std::string rest_;
  FileDescriptor folder_;
  int links_ = 0;
};

std::string PathWalk::take_name() {
  const auto begin = std::min(rest_.find_first_not_of('/'), rest_.size());
  const auto end = std::min(rest_.find('/', begin), rest_.size());
  auto name = rest_.substr(begin, end - begin);
  const bool has_slash = end < rest_.size();
  rest_.erase(0, std::min(rest_.find_first_not_of('/', end), rest_.size()));
  if (has_slash && rest_.empty()) rest_ = ".";
  return name.empty() ? "." : name;
}

void PathWalk::enter_start_folder() {
  if (folder_ && !rest_.starts_with('/')) return;
  folder_.reset(::open(rest_.starts_with('/') ? "/" : ".", kOnlyNamed | O_DIRECTORY));
  if (!folder_) fail(errno);
}

void PathWalk::follow(const FileDescriptor& link, const struct stat& status) {
  struct stat folder {};
  if (::fstat(folder_.get(), &folder) != 0) fail(errno);
  if (is_foreign_link(status, folder)) {
    throw cannot_write(
        option_, path_,
        "it is, or is reached by, another user's symbolic link in a world-writable folder");
  }
  if (++links_ > kMaxLinks) fail(ELOOP);
  std::array<char, PATH_MAX> target{};
  const auto size = ::readlinkat(link.get(), "", target.data(), target.size());
  if (size < 0) fail(errno);
  if (!rest_.empty()) rest_.insert(0, "/");
  rest_.insert(0, target.data(), static_cast<std::size_t>(size));
}

Destination PathWalk::end(bool follows_last) {
  while (true) {
    enter_start_folder();
    auto name = take_name();
    const bool is_last = rest_.empty();
    FileDescriptor entry(::openat(folder_.get(), name.c_str(), kOnlyNamed | O_NOFOLLOW));
    struct stat status {};
    if (!entry && is_last && errno == ENOENT) return {std::move(folder_), std::move(name)};
    if (!entry || ::fstat(entry.get(), &status) != 0) fail(errno);
    if (!S_ISLNK(status.st_mode)) {
      if (is_last) return {std::move(folder_), std::move(name), status};
      folder_ = std::move(entry);
      continue;
    }
    if (is_last && !follows_last) return {std::move(folder_), std::move(name), status};
    if (const auto file = is_last ? nameless_file(folder_.get(), name) : std::nullopt) {
      return {std::move(folder_), std::move(name), file, true};
    }
    follow(entry, status);
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

// ---- Files that other users must not write or read ----

namespace {

/// Closes a file of the C library.
struct CloseFile {
  void operator()(FILE* file) const noexcept { std::fclose(file); }
};
using TextFile = std::unique_ptr<FILE, CloseFile>;

/// Whether a user is the only member of a group, which is the user's own then, as in Debian, where
/// such groups may write all that their users create. Name services are not asked, since a static
/// program cannot: a group that only they know counts as shared.
bool is_alone_in(gid_t group, uid_t user) {
  std::string name;
  const TextFile users(std::fopen("/etc/passwd", "re"));
  while (const auto* entry = users ? ::fgetpwent(users.get()) : nullptr) {
    if (entry->pw_gid != group) continue;
    if (entry->pw_uid != user) return false;
    name = entry->pw_name;
  }
  if (name.empty()) return false;
  bool is_listed = false;
  const TextFile groups(std::fopen("/etc/group", "re"));
  while (const auto* entry = groups ? ::fgetgrent(groups.get()) : nullptr) {
    if (entry->gr_gid != group) continue;
    is_listed = true;
    for (auto* const* member = entry->gr_mem; *member != nullptr; ++member) {
      if (name != *member) return false;
    }
  }
  return is_listed;
}

/// Who can do what with a file although its content does not allow it; empty if no one can.
std::string access_of_others(const struct stat& status, FileContent content) {
  const bool is_secret = content != FileContent::kConfiguration;
  const auto can = [&](const char* who, bool reads, bool writes) -> std::string {
    if (writes) return std::string(who) + " can write it";
    return is_secret && reads ? std::string(who) + " can read it" : "";
  };
  const auto has = [&](mode_t bit) { return (status.st_mode & bit) != 0; };
  if (auto all = can("any user", has(S_IROTH), has(S_IWOTH)); !all.empty()) return all;
  const bool may_read = content == FileContent::kGroupSecret && status.st_uid == 0;
  const bool writes = has(S_IWGRP) && (is_secret || !is_alone_in(status.st_gid, status.st_uid));
  return can("its group", has(S_IRGRP) && !may_read, writes);
}

}  // namespace

std::optional<InputError> unsafe_file(const FileDescriptor& file, const std::string& path,
                                      std::string_view what, FileContent content) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw std::system_error(errno, std::generic_category());
  if (S_ISCHR(status.st_mode)) return std::nullopt;
  const auto user = ::geteuid();
  const bool is_secret = content != FileContent::kConfiguration;
  const auto refuse = [&](const std::string& why, const std::string& command) {
    // Others may have written a configuration: to trust it unread would be bad advice.
    return InputError(
        fmt::format("{} {}, {}", path, what, why),
        (is_secret ? "" : "read it, and then: ") + command + " " + shell_quoted(path));
  };
  if (status.st_uid != 0 && status.st_uid != user) {
    return refuse(fmt::format("but belongs to another user (UID {})", status.st_uid),
                  user == 0 ? "chown root" : fmt::format("sudo chown {}", user));
  }
  const auto who = access_of_others(status, content);
  if (who.empty()) return std::nullopt;
  return refuse(fmt::format("and {} (mode {:04o})", who, status.st_mode & 07777U),
                is_secret ? "chmod 600" : "chmod go-w");
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

// ---- TemporaryFolder ----

namespace {

constexpr std::string_view kFolderName = "rlctl-XXXXXX";
constexpr const char* kLockName = "rlctl.lock";
/// A process has long locked its folder when the folder is as old as this.
constexpr time_t kLeftAfterSeconds = 3600;

bool has_folder_name(std::string_view name) {
  const auto stem = kFolderName.substr(0, kFolderName.find('X'));
  return name.starts_with(stem) && name.size() == kFolderName.size();
}

/// Removes the files in a folder, but no folder, and follows no link.
void remove_files(const FileDescriptor& folder) {
  const auto close = [](DIR* entries) { ::closedir(entries); };
  const std::unique_ptr<DIR, decltype(close)> entries(
      ::fdopendir(::openat(folder.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)));
  while (const auto* entry = entries ? ::readdir(entries.get()) : nullptr) {
    ::unlinkat(folder.get(), entry->d_name, 0);
  }
}

/// Removes the folder of a TemporaryFolder whose process was killed. A folder that is another
/// user's, new, in use, or without the file that a TemporaryFolder locks is left alone.
void remove_if_left(const FileDescriptor& parent, const std::string& name) {
  constexpr int kNotALink = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  const FileDescriptor folder(::openat(parent.get(), name.c_str(), O_DIRECTORY | kNotALink));
  struct stat status {};
  if (!folder || ::fstat(folder.get(), &status) != 0) return;
  if (status.st_uid != ::geteuid() || (status.st_mode & ALLPERMS) != S_IRWXU) return;
  if (std::time(nullptr) - status.st_mtime < kLeftAfterSeconds) return;
  const FileDescriptor lock(::openat(folder.get(), kLockName, O_RDWR | kNotALink));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  remove_files(folder);
  ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR);
}

void remove_left_folders(const std::filesystem::path& parent) {
  const FileDescriptor opened(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::error_code error;
  std::filesystem::directory_iterator entry(parent, error);
  for (; opened && !error && entry != std::filesystem::directory_iterator{};
       entry.increment(error)) {
    const auto name = entry->path().filename().string();
    if (has_folder_name(name)) remove_if_left(opened, name);
  }
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  const auto parent = std::filesystem::absolute(temporary_folder());
  remove_left_folders(parent);
  std::string path = parent / kFolderName;
  if (::mkdtemp(path.data()) == nullptr) {
    throw OutputError(
        fmt::format("cannot make a folder in {}: {}", parent.string(), errno_text(errno)));
  }
  path_ = path;
  leftover_ = worker::Leftover(path_);
  lock_.reset(::open((path_ / kLockName).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                     S_IRUSR | S_IWUSR));
  // Where it fails, no other process gets the lock either, and so none removes the folder.
  if (lock_) static_cast<void>(::flock(lock_.get(), LOCK_EX));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

// ---- OutputFile ----

namespace {

/// Opens a destination that is written in place. A pipe must have a reader, since nothing would end
/// the wait for one.
FileDescriptor open_in_place(const Destination& destination) {
  const int follow = destination.is_open_file ? 0 : O_NOFOLLOW;
  FileDescriptor file(::openat(destination.folder.get(), destination.name.c_str(),
                               O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | follow));
  if (!file) return file;
  const int flags = ::fcntl(file.get(), F_GETFL);
  if (flags < 0 || ::fcntl(file.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) file.reset();
  return file;
}

}  // namespace

OutputFile::OutputFile(std::string_view option, const std::string& path)
    : option_(option), path_(path) {
  auto destination = PathWalk(option_, path).end(true);
  const auto& status = destination.status;
  struct stat folder {};
  if (::fstat(destination.folder.get(), &folder) != 0) fail(errno);
  if (status && is_foreign(*status, folder)) {
    throw cannot_write(option_, path_, "it is another user's, in a world-writable folder");
  }
  if (status && !S_ISREG(status->st_mode)) {
    file_ = open_in_place(destination);
    if (file_) return;
    const bool lacks_reader = errno == ENXIO && S_ISFIFO(status->st_mode);
    if (lacks_reader) throw cannot_write(option_, path_, "nobody reads from this pipe");
    fail(errno);
  }
  folder_ = std::move(destination.folder);
  name_ = std::move(destination.name);
  if (!status) {
    open_temporary(kMode);
    return;
  }
  if (::faccessat(folder_.get(), name_.c_str(), W_OK, 0) != 0) fail(errno);
  const mode_t mode = status->st_mode & (S_IRWXU | S_IRWXG | S_IRWXO);
  open_temporary(mode);
  // The umask is for new files. Some file systems have no modes.
  static_cast<void>(::fchmod(file_.get(), mode));
}

/// Tries random names: a process that was killed may have left its temporary file.
void OutputFile::open_temporary(mode_t mode) {
  constexpr int kTries = 100;
  std::random_device random;
  for (int tries = 0; tries < kTries; ++tries) {
    auto name = fmt::format("{}.rlctl-{:08x}", name_, random());
    file_.reset(
        ::openat(folder_.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
    if (file_) {
      std::error_code ignored;
      const auto folder =
          std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", folder_.get()), ignored);
      leftover_ = worker::Leftover(folder / name);
      temporary_ = std::move(name);
      return;
    }
    if (errno != EEXIST) break;
  }
  const int error = errno;
  if (error != EACCES) fail(error);
  throw cannot_write(
      option_, path_,
      "its folder must be writable, since the file is replaced as a whole: " + errno_text(error));
}

OutputFile::~OutputFile() {
  if (!temporary_.empty()) ::unlinkat(folder_.get(), temporary_.c_str(), 0);
}

void OutputFile::write(std::string_view text) {
  if (!write_all(file_.get(), text)) fail(errno);
}

void OutputFile::commit() {
  // A network file system may report a full disk only now.
  if (::close(file_.release()) != 0) fail(errno);
  if (temporary_.empty()) return;
  if (::renameat(folder_.get(), temporary_.c_str(), folder_.get(), name_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  throw cannot_write(option_, path_, errno_text(error));
}

// ---- NewFile ----

NewFile::NewFile(std::string_view option, const std::string& path) : option_(option), path_(path) {
  auto destination = PathWalk(option_, path).end(false);
  folder_ = std::move(destination.folder);
  name_ = std::move(destination.name);
  file_.reset(::openat(folder_.get(), name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                       S_IRUSR | S_IWUSR));
  if (file_) return;
  if (errno != EEXIST) fail(errno);
  throw UsageError(option_ + ": " + quoted_and_masked(path) + " exists, and is never overwritten",
                   "choose another name");
}

NewFile::~NewFile() {
  if (!keep_) ::unlinkat(folder_.get(), name_.c_str(), 0);
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
  if (is_name_synced_) return;
  const FileDescriptor opened(::openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems cannot sync a folder, and some users may not read it.
  if (opened && ::fsync(opened.get()) != 0 && errno != EINVAL) fail(errno);
  is_name_synced_ = true;
}

void NewFile::fail(int error) const {
  throw cannot_write(option_, path_, errno_text(error));
}

// ---- LineBuffer ----

std::span<char> LineBuffer::space() {
  if (mark_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + mark_, end_ - mark_);
    for (auto* position : {&begin_, &end_, &searched_}) *position -= mark_;
    mark_ = 0;
  }
  if (buffer_.size() < end_ + kChunk) buffer_.resize(end_ + kChunk);
  return {buffer_.data() + end_, kChunk};
}

void LineBuffer::add(std::size_t count) {
  end_ += count;
  end_of_file_ = count == 0;
}

/// Takes `size` bytes, and the newline behind them.
LineBuffer::Line LineBuffer::take(std::size_t size, bool has_newline) {
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

std::optional<LineBuffer::Line> LineBuffer::next() {
  while (begin_ < end_) {
    const void* newline = std::memchr(buffer_.data() + searched_, '\n', end_ - searched_);
    if (newline == nullptr) break;
    const auto size =
        static_cast<std::size_t>(static_cast<const char*>(newline) - buffer_.data()) - begin_;
    if (!skipping_) return take(size, true);
    skipping_ = false;
    skip_to(begin_ + size + 1);
  }
  searched_ = end_;
  const std::size_t left = end_ - begin_;
  if (skipping_) {
    skip_to(end_);
  } else if (left > longest_) {
    skipping_ = true;
    return take(left, false);
  } else if (end_of_file_ && left > 0) {
    return take(left, false);
  }
  return std::nullopt;
}

void LineBuffer::rewind(const Position& position) {
  const auto begin = mark_ + position.bytes;
  taken_bytes_ -= begin_ - begin;
  begin_ = searched_ = begin;
  lines_ = position.lines;
  skipping_ = false;
}

// ---- LineReader ----

LineReader::LineReader(const std::string& file, std::size_t longest)
    : LineBuffer(longest), name_(file == "-" ? "standard input" : quoted_and_masked(file)) {
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

void LineReader::fill() {
  mark();
  const auto to = space();
  const auto count = ::read(fd_, to.data(), to.size());
  if (count >= 0) {
    add(static_cast<std::size_t>(count));
  } else if (errno != EINTR && errno != EAGAIN) {
    add(0);
    fail("cannot read ", errno);
  }
}

}  // namespace rlctl
