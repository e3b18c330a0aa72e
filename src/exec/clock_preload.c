// The library that is preloaded into a program whose time is a VirtualClock: the program's wall
// clock is the number of microseconds since 1970 in the file that RLCTL_CLOCK names. With
// RLCTL_CLOCK_ALL=1, the clocks that run since the machine's start are this number, too.
//
// Linked with nothing, so that it can be loaded beside any C library: the functions that it calls
// are in each of them, and none is of the kind (strcmp) of which some C libraries choose one for
// the processor while programs are loaded. It replaces each function of glibc and musl that shows
// the time, and does with its arguments what they do: a NULL that a manual page allows must not
// end a program. Only for a C library with a 64-bit time under these names, as on every 64-bit
// Linux.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t* now_us;
static int sets_all;

static int is_one(const char* name) {
  const char* value = getenv(name);
  return value != NULL && value[0] == '1' && value[1] == '\0';
}

// The file has two numbers: the time, and 1 as soon as a program follows it.
__attribute__((constructor)) static void begin(void) {
  const char* path = getenv("RLCTL_CLOCK");
  if (path == NULL) return;
  const int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  const size_t size = 2 * sizeof *now_us;
  volatile int64_t* page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (page == MAP_FAILED) return;
  page[1] = 1;
  mprotect((void*)page, size, PROT_READ);
  sets_all = is_one("RLCTL_CLOCK_ALL");
  now_us = page;
}

static int is_set(clockid_t clock) {
  switch (clock) {
    case CLOCK_REALTIME:
    case CLOCK_REALTIME_COARSE:
    case CLOCK_REALTIME_ALARM:
    case CLOCK_TAI:
      return now_us != NULL;
    case CLOCK_MONOTONIC:
    case CLOCK_MONOTONIC_RAW:
    case CLOCK_MONOTONIC_COARSE:
    case CLOCK_BOOTTIME:
    case CLOCK_BOOTTIME_ALARM:
      return now_us != NULL && sets_all;
    default:
      return 0;
  }
}

// The functions below have the symbols of the C library's, but names of their own: its headers
// promise the compiler that some of their arguments are never NULL.
#define SYMBOL(name) __asm__(#name)

int show_clock(clockid_t clock, struct timespec* time) SYMBOL(clock_gettime);
int show_day(struct timeval* time, void* zone) SYMBOL(gettimeofday);
int show_day_too(struct timeval* time, void* zone) SYMBOL(__gettimeofday);
time_t show_seconds(time_t* time) SYMBOL(time);
int show_base(struct timespec* time, int base) SYMBOL(timespec_get);
int show_milliseconds(struct timeb* time) SYMBOL(ftime);
clock_t show_ticks(struct tms* used) SYMBOL(times);

// The kernel refuses a clock that does not exist, and a NULL.
int show_clock(clockid_t clock, struct timespec* time) {
  if (!is_set(clock) || time == NULL) return (int)syscall(SYS_clock_gettime, clock, time);
  const int64_t us = *now_us;
  time->tv_sec = us / 1000000;
  time->tv_nsec = us % 1000000 * 1000;
  return 0;
}

int show_day(struct timeval* time, void* zone) {
  struct timespec now;
  if (zone != NULL) syscall(SYS_gettimeofday, NULL, zone);
  if (time == NULL) return 0;
  show_clock(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}

int show_day_too(struct timeval* time, void* zone) {
  return show_day(time, zone);
}

time_t show_seconds(time_t* time) {
  struct timespec now;
  show_clock(CLOCK_REALTIME, &now);
  if (time != NULL) *time = now.tv_sec;
  return now.tv_sec;
}

// C23 has three bases besides TIME_UTC, which is 1.
int show_base(struct timespec* time, int base) {
  static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_PROCESS_CPUTIME_ID,
                                     CLOCK_THREAD_CPUTIME_ID};
  const int count = sizeof clocks / sizeof *clocks;
  if (base < 1 || base > count || show_clock(clocks[base - 1], time) != 0) return 0;
  return base;
}

int show_milliseconds(struct timeb* time) {
  struct timespec now;
  show_clock(CLOCK_REALTIME, &now);
  time->time = now.tv_sec;
  time->millitm = (unsigned short)(now.tv_nsec / 1000000);
  time->timezone = time->dstflag = 0;
  return 0;
}

// The result counts from the machine's start, in ticks of 10 ms.
clock_t show_ticks(struct tms* used) {
  const clock_t ticks = (clock_t)syscall(SYS_times, used);
  return is_set(CLOCK_MONOTONIC) ? *now_us / 10000 : ticks;
}
