#include "exec/clock.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

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

}  // namespace

VirtualClock::VirtualClock(const std::filesystem::path& folder,
                           std::chrono::microseconds since_1970)
    : path_(std::filesystem::absolute(folder) / "clock"),
      library_(std::filesystem::absolute(folder) / "clock.so") {
  const std::int64_t first = since_1970.count();
  const auto file =
      write_new(path_, {reinterpret_cast<const char*>(&first), sizeof first}, S_IRUSR | S_IWUSR);
  static_cast<void>(write_new(library_,
                              {reinterpret_cast<const char*>(embedded::kClockPreload.data()),
                               embedded::kClockPreload.size()},
                              S_IRUSR | S_IXUSR));
  void* page = ::mmap(nullptr, sizeof first, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (page == MAP_FAILED) throw_cannot_write(path_);
  page_ = static_cast<volatile std::int64_t*>(page);
}

VirtualClock::~VirtualClock() {
  ::munmap(const_cast<std::int64_t*>(page_), sizeof(*page_));
}

std::vector<std::string> VirtualClock::environment(Clocks clocks) const {
  const char* other = std::getenv("LD_PRELOAD");
  auto preload = "LD_PRELOAD=" + library_.string();
  if (other != nullptr && *other != '\0') preload.append(":").append(other);
  return {preload, "RLCTL_CLOCK=" + path_.string(),
          std::string("RLCTL_CLOCK_ALL=") + (clocks == Clocks::kAll ? "1" : "0"),
          std::string("RLCTL_CLOCK_SERVER=") + (clocks == Clocks::kServer ? "1" : "0")};
}

}  // namespace rlctl::exec
