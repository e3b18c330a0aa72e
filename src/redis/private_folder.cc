#include "redis/private_server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <system_error>
#include <utility>

#include "base/text.h"
#include "redis/error.h"

namespace rlctl::redis {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kPrefix = "rlctl-";
constexpr std::size_t kRandomLetters = 6;
constexpr const char* kLockName = "rlctl.lock";
constexpr const char* kNewLockName = "rlctl.lock.new";
constexpr std::chrono::seconds kMakingTakesAtMost{10};

fs::path parent_folder() {
  const char* chosen = std::getenv("TMPDIR");
  // Absolute, because the server changes into its own folder.
  return fs::absolute(chosen != nullptr && *chosen != '\0' ? chosen : "/tmp");
}

bool is_folder_name(std::string_view name) {
  return name.size() == kPrefix.size() + kRandomLetters && name.starts_with(kPrefix) &&
         std::all_of(name.begin() + kPrefix.size(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0; });
}

// A lock file appears under its name only once it is locked, so that whoever finds it unlocked
// knows that its owner is dead.
FileDescriptor make_lock(const fs::path& folder) {
  const auto temporary = folder / kNewLockName;
  FileDescriptor lock(::open(temporary.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock || ::flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
      ::rename(temporary.c_str(), (folder / kLockName).c_str()) != 0) {
    throw Error(Failure::kUnreachable,
                fmt::format("cannot lock {}: {}", folder.string(), errno_text(errno)));
  }
  return lock;
}

bool same_file(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

// Without a lock it is being made right now, or was left so early that it is empty: it only
// goes if it is old and empty, for it may be somebody's folder that happens to have such a name.
void sweep_unlocked(const fs::path& folder, const struct stat& status) {
  const std::chrono::seconds age(std::time(nullptr) - status.st_mtime);
  if (age <= kMakingTakesAtMost) return;
  ::unlink((folder / kNewLockName).c_str());
  ::rmdir(folder.c_str());
}

void sweep_folder(const fs::path& folder) {
  struct stat status {};
  if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) return;
  if (status.st_uid != ::geteuid()) return;
  const auto lock_path = folder / kLockName;
  const FileDescriptor lock(::open(lock_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (!lock) {
    if (errno == ENOENT) sweep_unlocked(folder, status);
    return;
  }
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) return;
  // Another sweeper may have been faster, and a new folder have got the name.
  struct stat locked {};
  struct stat named {};
  if (::fstat(lock.get(), &locked) != 0 || ::lstat(lock_path.c_str(), &named) != 0) return;
  std::error_code ignored;
  if (same_file(locked, named)) fs::remove_all(folder, ignored);
}

// Sweeping is a courtesy: nothing that fails here is worth an error.
void sweep(const fs::path& parent) {
  std::error_code failed;
  for (fs::directory_iterator it(parent, failed), end; !failed && it != end; it.increment(failed)) {
    if (is_folder_name(it->path().filename().native())) sweep_folder(it->path());
  }
}

fs::path make_folder(const fs::path& parent, std::string_view socket_name) {
  std::string path = (parent / kPrefix).string() + std::string(kRandomLetters, 'X');
  const auto socket_size = path.size() + 1 + socket_name.size();
  constexpr auto kLongest = sizeof(sockaddr_un::sun_path) - 1;
  if (socket_size > kLongest) {
    throw Error(Failure::kUsage,
                fmt::format("{} is too long for a unix socket in it: {} bytes, {} at most",
                            parent.string(), socket_size, kLongest),
                {}, "set TMPDIR to a folder with a shorter name");
  }
  if (::mkdtemp(path.data()) == nullptr) {
    throw Error(Failure::kUnreachable,
                fmt::format("cannot make a folder in {}: {}", parent.string(), errno_text(errno)),
                {}, "private servers keep their folders in TMPDIR");
  }
  return path;
}

}  // namespace

PrivateFolder::PrivateFolder(std::string_view socket_name) {
  const auto parent = parent_folder();
  sweep(parent);
  path_ = make_folder(parent, socket_name);
  try {
    lock_ = make_lock(path_);
  } catch (...) {
    remove();
    throw;
  }
}

PrivateFolder::~PrivateFolder() {
  remove();
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : path_(std::exchange(other.path_, {})), lock_(std::move(other.lock_)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  if (this == &other) return *this;
  remove();
  path_ = std::exchange(other.path_, {});
  lock_ = std::move(other.lock_);
  return *this;
}

// The lock goes last, so that nobody sweeps what is still ours.
void PrivateFolder::remove() noexcept {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
  path_.clear();
  lock_.reset();
}

}  // namespace rlctl::redis
