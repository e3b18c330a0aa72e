// What tests preload to make the C library refuse something:
//
//   RLCTL_FAULT_ALLOCATION=N   the Nth allocation of the process fails; "N+" means each from then
//   on RLCTL_FAULT_COUNT=FILE     the number of allocations so far, a native long
//   RLCTL_FAULT_DISK=N         regular files take N bytes in all; then the disk is full
//
// It speaks of the process that is started with it, not of that one's children.

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#define EXPORTED extern "C" __attribute__((visibility("default")))

// The C library's own.
// NOLINTBEGIN(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)
extern "C" void* __libc_malloc(std::size_t size);
extern "C" void* __libc_calloc(std::size_t count, std::size_t size);
extern "C" void* __libc_realloc(void* block, std::size_t size);
extern "C" void* __libc_memalign(std::size_t alignment, std::size_t size);
// NOLINTEND(readability-identifier-naming,bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp)

namespace {

// Nothing here may allocate. All is zero until begin(), which runs after the loader.
long refused = 0;  // the number of the allocation that fails; 0 is none
bool refuses_rest = false;
long own_count = 0;
long* allocations = &own_count;  // in the file, if there is one
long room_on_disk = -1;          // bytes; -1 is unlimited

long number_of(const char* name, long otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtol(text, nullptr, 10);
}

// A map, which a process that ends by exec() or a signal leaves complete.
void count_in(const char* path) {
  if (path == nullptr) return;
  const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0 || ftruncate(fd, sizeof own_count) != 0) return;
  void* map = mmap(nullptr, sizeof own_count, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) allocations = static_cast<long*>(map);
  close(fd);
}

__attribute__((constructor)) void begin() {
  count_in(std::getenv("RLCTL_FAULT_COUNT"));
  room_on_disk = number_of("RLCTL_FAULT_DISK", -1);
  const char* text = std::getenv("RLCTL_FAULT_ALLOCATION");
  refuses_rest = text != nullptr && std::strchr(text, '+') != nullptr;
  unsetenv("LD_PRELOAD");
  refused = number_of("RLCTL_FAULT_ALLOCATION", 0);
}

bool is_refused() {
  const long number = __atomic_add_fetch(allocations, 1, __ATOMIC_RELAXED);
  if (refused == 0 || number < refused || (number > refused && !refuses_rest)) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

// Instead of the C library's, whose parameters have reserved names.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
EXPORTED void* malloc(std::size_t size) {
  return is_refused() ? nullptr : __libc_malloc(size);
}

EXPORTED void* calloc(std::size_t count, std::size_t size) {
  return is_refused() ? nullptr : __libc_calloc(count, size);
}

EXPORTED void* realloc(void* block, std::size_t size) {
  return is_refused() ? nullptr : __libc_realloc(block, size);
}

EXPORTED void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return is_refused() ? nullptr : __libc_memalign(alignment, size);
}

EXPORTED int posix_memalign(void** block, std::size_t alignment, std::size_t size) {
  if (is_refused()) return ENOMEM;
  *block = __libc_memalign(alignment, size);
  return *block == nullptr ? ENOMEM : 0;
}

EXPORTED ssize_t write(int fd, const void* bytes, std::size_t size) {
  struct stat status {};
  if (room_on_disk >= 0 && fd > STDERR_FILENO && fstat(fd, &status) == 0 &&
      S_ISREG(status.st_mode)) {
    if (room_on_disk == 0 && size > 0) {
      errno = ENOSPC;
      return -1;
    }
    if (size > static_cast<std::size_t>(room_on_disk))
      size = static_cast<std::size_t>(room_on_disk);
    room_on_disk -= static_cast<long>(size);
  }
  return syscall(SYS_write, fd, bytes, size);
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
