// What tests preload to make a server's clock jump, or stand: with RLCTL_FAULT_CLOCK=FILE, it is as
// many seconds ahead as the first native long in this file says; if there is a second, and it is
// not 0, it is the time: microseconds since 1970. (In a library of its own, since servers bring an
// allocator.)

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace {

struct Fault {
  long seconds_ahead = 0;
  long time_us = 0;
};
const Fault kNone;
const volatile Fault* fault = &kNone;

__attribute__((constructor)) void begin() {
  const char* path = std::getenv("RLCTL_FAULT_CLOCK");
  if (path == nullptr) return;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  // A page of the file: what is beyond its end is 0.
  void* map = mmap(nullptr, sizeof kNone, PROT_READ, MAP_SHARED, fd, 0);
  if (map != MAP_FAILED) fault = static_cast<const Fault*>(map);
  close(fd);
}

constexpr long kMicroseconds = 1'000'000;  // in a second

}  // namespace

// Instead of the C library's, whose parameters have reserved names.
// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
EXPORTED int clock_gettime(clockid_t clock, timespec* time) {
  const auto status = syscall(SYS_clock_gettime, clock, time);
  if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) {
    time->tv_sec += fault->seconds_ahead;
  }
  // The monotonic clock as well, from which Valkey 9 takes the time of a command.
  if (const long us = fault->time_us; status == 0 && us != 0) {
    *time = {us / kMicroseconds, us % kMicroseconds * 1000};
  }
  return static_cast<int>(status);
}

EXPORTED int gettimeofday(timeval* time, void* zone) noexcept {
  const auto status = syscall(SYS_gettimeofday, time, zone);
  if (status == 0) time->tv_sec += fault->seconds_ahead;
  if (const long us = fault->time_us; status == 0 && us != 0) {
    *time = {us / kMicroseconds, us % kMicroseconds};
  }
  return static_cast<int>(status);
}

EXPORTED time_t time(time_t* time) noexcept {
  timeval now{};
  gettimeofday(&now, nullptr);
  if (time != nullptr) *time = now.tv_sec;
  return now.tv_sec;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
