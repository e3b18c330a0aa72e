// The library that is preloaded, beside that of clock_preload.c, into a Redis server whose time is
// a VirtualClock: it hides /proc/cpuinfo, without which Valkey asks for the time rather than count
// the processor's ticks. Programs do not get it, since its fopen() is only as good as a server
// needs.

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static int equal(const char* a, const char* b) {
  while (*a != '\0' && *a == *b) ++a, ++b;
  return *a == *b;
}

// The C library's own is not called, because the library that could find it is not always loaded.
FILE* fopen(const char* restrict path, const char* restrict mode) {
  if (equal(path, "/proc/cpuinfo")) {
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
