#include "exec/clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "embedded_clock.h"

namespace rlctl::exec {

namespace {

[[noreturn]] void throw_cannot_write(const std::filesystem::path& path) {
  throw OutputError("cannot write '" + path.string() + "': " + errno_text(errno));
}

/// Its blocks are written, not only reserved: a full disk must not end a process that stores to a
/// page of it.
FileDescriptor write_new(const std::filesystem::path& path, std::string_view bytes, mode_t mode) {
  FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, mode));
  if (!file || !write_all(file.get(), bytes)) throw_cannot_write(path);
  return file;
}

void write_library(const std::filesystem::path& path, std::span<const unsigned char> bytes) {
  static_cast<void>(write_new(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                              S_IRUSR | S_IXUSR));
}

/// LD_PRELOAD is a list of files, in which "$ORIGIN" and the like stand for folders.
void require_loadable(const std::filesystem::path& library) {
  const auto& path = library.native();
  const auto found = path.find_first_of(" \t\n\v\f\r:;$");
  if (found == path.npos) return;
  throw UsageError(
      fmt::format("no library can be preloaded from {}, since its name contains {}: the virtual "
                  "clock of programs and their servers is such a library",
                  quoted_and_masked(library.parent_path().parent_path().string()),
                  quoted_and_masked(path.substr(found, 1))),
      "set TMPDIR to a folder without blanks, ':', ';' and '$' in its name");
}

/// Returns the table of a process's memory; empty if the process has ended, and std::nullopt if it
/// is another user's.
std::optional<std::string> memory_map_of(pid_t process) {
  constexpr std::size_t kMost = 64 << 20;
  try {
    return read_all(open_file(fmt::format("/proc/{}/maps", process)), kMost);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::permission_denied) return std::nullopt;
    return "";
  }
}

/// The process and those of its descendants whose standard output is a pipe that this process has
/// open as `output`, or is not known, because the descendant is another user's.
std::vector<pid_t> writers(pid_t process, int output) {
  struct stat pipe {
  }, other{};
  if (::fstat(output, &pipe) != 0) return {};
  std::vector<pid_t> found{process};
  for (std::size_t i = 0; i < found.size(); ++i) {
    std::error_code ended;
    const auto threads = fmt::format("/proc/{}/task", found[i]);
    std::filesystem::directory_iterator thread(threads, ended);
    for (; !ended && thread != std::filesystem::directory_iterator{}; thread.increment(ended)) {
      std::ifstream children(thread->path() / "children");
      for (pid_t child = 0; children >> child;) found.push_back(child);
    }
  }
  std::erase_if(found, [&](pid_t each) {
    const auto file = fmt::format("/proc/{}/fd/1", each);
    if (::stat(file.c_str(), &other) != 0) return errno != EACCES;
    return other.st_dev != pipe.st_dev || other.st_ino != pipe.st_ino;
  });
  return found;
}

}  // namespace

VirtualClock::VirtualClock(const std::filesystem::path& folder,
                           std::chrono::microseconds since_1970)
    : path_(std::filesystem::absolute(folder) / "clock"),
      library_(std::filesystem::absolute(folder) / "clock.so"),
      server_library_(std::filesystem::absolute(folder) / "cpuinfo.so") {
  require_loadable(library_);
  const Page first{.now_us = since_1970.count(), .is_followed = 0};
  const auto file =
      write_new(path_, {reinterpret_cast<const char*>(&first), sizeof first}, S_IRUSR | S_IWUSR);
  write_library(library_, embedded::kClockPreload);
  write_library(server_library_, embedded::kCpuinfoPreload);
  void* page = ::mmap(nullptr, sizeof first, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED) throw_cannot_write(path_);
  page_ = static_cast<volatile Page*>(page);
}

VirtualClock::~VirtualClock() {
  ::munmap(const_cast<Page*>(page_), sizeof(*page_));
}

bool VirtualClock::is_followed_by(pid_t process, int output, std::string_view said) const {
  const auto refused = "object '" + library_.string() + "' from LD_PRELOAD cannot be preloaded";
  if (page_->is_followed == 0 || said.find(refused) != said.npos) return false;
  // Only the end of the file's path, since its folder may have another name for the process.
  const auto mapped = "/" + (path_.parent_path().filename() / path_.filename()).string() + "\n";
  const auto lacks_clock = [&](pid_t each) {
    const auto map = memory_map_of(each);
    return !map || (!map->empty() && map->find(mapped) == map->npos);
  };
  // A process that has just become another program has not loaded anything yet.
  constexpr int kTries = 50;
  constexpr std::chrono::milliseconds kPause{20};
  for (int i = 0; i < kTries; ++i) {
    if (i > 0) std::this_thread::sleep_for(kPause);
    if (std::ranges::none_of(writers(process, output), lacks_clock)) return true;
  }
  return false;
}

std::vector<std::string> VirtualClock::environment(Clocks clocks) const {
  const char* other = std::getenv("LD_PRELOAD");
  auto preload = "LD_PRELOAD=" + library_.string();
  if (clocks == Clocks::kServer) preload += ":" + server_library_.string();
  if (other != nullptr && *other != '\0') preload.append(":").append(other);
  return {preload, "RLCTL_CLOCK=" + path_.string(),
          std::string("RLCTL_CLOCK_ALL=") + (clocks == Clocks::kAll ? "1" : "0")};
}

}  // namespace rlctl::exec
