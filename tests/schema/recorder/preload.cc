// Copies what a process writes to standard output and standard error to files in $RLCTL_TEST_JSON,
// for
// ../validate: NUMBER.arguments, separated by NUL, NUMBER.1 and NUMBER.2. The process itself
// writes, so that nothing stands between it and the reader of its output, and no descriptor stays
// open. The worker that it forks writes into the same files; a program that it executes does not.

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <string>

namespace {

/// Of each stream; ../validate leaves out a line that is cut. More of the same proves nothing.
constexpr std::size_t kMax = std::size_t{1} << 20;

struct Recording {
  std::string name;  ///< of the files, without suffix; empty if nothing is recorded
  std::array<std::size_t, 3> recorded = {};
};

// Not destroyed, since the process may write until its end.
Recording& recording() {
  static auto& the_one = *new Recording;
  return the_one;
}

void append(const std::string& path, const char* bytes, std::size_t size) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return;
  [[maybe_unused]] const auto written = syscall(SYS_write, fd, bytes, size);
  close(fd);
}

__attribute__((constructor)) void begin(int argc, char** argv) {
  // What the process starts in turn is not recorded.
  unsetenv("LD_PRELOAD");
  const char* folder = std::getenv("RLCTL_TEST_JSON");
  if (folder == nullptr) return;
  auto& the_one = recording();
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  the_one.name = std::string(folder) + "/" + std::to_string(getpid()) + "-" + std::to_string(now);
  std::string arguments;
  for (int i = 0; i < argc; ++i) arguments.append(argv[i]).append(1, '\0');
  append(the_one.name + ".arguments", arguments.data(), arguments.size());
}

void record(int fd, const char* bytes, std::size_t size) {
  auto& the_one = recording();
  if (the_one.name.empty()) return;
  auto& recorded = the_one.recorded[static_cast<std::size_t>(fd)];
  size = std::min(size, kMax - recorded);
  recorded += size;
  if (size > 0) append(the_one.name + "." + std::to_string(fd), bytes, size);
}

}  // namespace

/// Instead of the C library's, whose parameters have reserved names.
// NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): see above
extern "C" __attribute__((visibility("default"))) ssize_t write(int fd, const void* bytes,
                                                                size_t size) {
  const ssize_t written = syscall(SYS_write, fd, bytes, size);
  if (written > 0 && (fd == STDOUT_FILENO || fd == STDERR_FILENO)) {
    const int error = errno;
    record(fd, static_cast<const char*>(bytes), static_cast<std::size_t>(written));
    errno = error;
  }
  return written;
}
