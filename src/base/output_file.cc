#include "base/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/text.h"

namespace rlctl {
namespace {

constexpr mode_t kMode = 0666;  // less the umask

/// The file behind symbolic links, which stay links.
std::string target_of(const std::string& path) {
  std::error_code failed;
  const auto target = std::filesystem::canonical(path, failed);
  return failed ? path : target.string();
}

}  // namespace

OutputFile::OutputFile(std::string_view option, const std::string& path)
    : option_(option), path_(target_of(path)) {
  if (path.empty()) throw UsageError(option_ + ": the name of the file is empty");
  struct stat status {};
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    fd_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  } else if (exists && ::access(path_.c_str(), W_OK) != 0) {
    fail(errno);
  } else {
    temporary_ = path_ + ".rlctl-" + std::to_string(::getpid());
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                 exists ? status.st_mode & 07777 : kMode);
  }
  if (fd_ < 0) {
    const int error = errno;
    temporary_.clear();
    fail(error);
  }
}

OutputFile::~OutputFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view text) {
  while (!text.empty()) {
    const auto written = ::write(fd_, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail(errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::commit() {
  // Closing says what a network's disk has not said before.
  const int closed = ::close(fd_);
  fd_ = -1;
  if (closed != 0) fail(errno);
  if (temporary_.empty()) return;
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  temporary_.clear();
}

void OutputFile::fail(int error) const {
  throw OutputError(option_ + ": cannot write '" + path_ + "': " + errno_text(error));
}

}  // namespace rlctl
