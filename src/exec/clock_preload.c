// What is preloaded into a program whose time is a VirtualClock: its wall clock is the number of
// microseconds since 1970 in the file that RLCTL_CLOCK names. With RLCTL_CLOCK_ALL=1, the clocks
// that run since the machine's start are this number, too. RLCTL_CLOCK_SERVER=1 hides
// /proc/cpuinfo, without which Valkey asks for the time rather than count the processor's ticks.
//
// Linked with nothing, so that it can be loaded beside any C library: the functions that it calls
// are in each of them, and are none of those (strcmp) of which some C libraries choose one for the
// processor while programs are loaded.

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* now_us;
static int sets_all, hides_processor;

static int equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

static int is_one(const char* name) {
  const char* value = getenv(name);
  return value != NULL && equal(value, "1");
}

__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("RLCTL_CLOCK");
  if (path == NULL) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  if (file < 0) return;
  void* page = mmap(NULL, sizeof *now_us, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) return;
  sets_all = is_one("RLCTL_CLOCK_ALL");
  hides_processor = is_one("RLCTL_CLOCK_SERVER");
  now_us = page;
}

static int is_set(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
      return now_us != NULL;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
      return now_us != NULL && sets_all;
    default:
      return 0;
  }
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  if (!is_set(clock)) return (int)syscall(SYS_clock_gettime, clock, time);
  const int64_t us = *now_us;
  time->tv_sec = us / 1000000;
  time->tv_nsec = us % 1000000 * 1000;
  return 0;
}

int gettimeofday(struct timeval* restrict time, void* restrict zone) {
  struct timespec now;
  if (zone != NULL) syscall(SYS_gettimeofday, NULL, zone);
  clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* time) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (time != NULL) *time = now.tv_sec;
  return now.tv_sec;
}

// The C library's own is not called, because the library that could find it is not always loaded.
FILE* fopen(const char* restrict path, const char* restrict mode) {
  if (hides_processor && equal(path, "/proc/cpuinfo")) {
    errno = ENOENT;
    return NULL;
  }
  int access = mode[0] == 'r' ? O_RDONLY : O_WRONLY;
  int flags = mode[0] == 'w' ? O_CREAT | O_TRUNC : mode[0] == 'a' ? O_CREAT | O_APPEND : 0;
  for (const char* letter = mode; *letter != '\0' && *letter != ','; ++letter) {
    if (*letter == '+') access = O_RDWR;
    if (*letter == 'e') flags |= O_CLOEXEC;
    if (*letter == 'x') flags |= O_EXCL;
  }
  const int file = open(path, access | flags, 0666);
  FILE* stream = file < 0 ? NULL : fdopen(file, mode);
  if (stream == NULL && file >= 0) close(file);
  return stream;
}

#undef fopen64
FILE* fopen64(const char* restrict path, const char* restrict mode) {
  return fopen(path, mode);
}
