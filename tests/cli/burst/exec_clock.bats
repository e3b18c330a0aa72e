# needs: server
load ../../support/common

# `rlctl burst --exec --exec-clock`: which functions of the C library show the virtual time, and programs that
# cannot be given it.

setup_file() {
  cd "$BATS_FILE_TMPDIR"
  # Answers each request with 1, and calls the functions with each NULL that their manual pages allow. At the first
  # request it writes to the file "clocks", for each function, whether it shows the request's time.
  cat >clocks.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/timeb.h>
#include <sys/times.h>
#include <time.h>

static long long now_us;
static FILE *clocks;

// A clock that ticks each so many microseconds.
static void shows(const char *name, long long ticks, long long us) {
  fprintf(clocks, "%s %s\n", name, ticks == now_us / us ? "virtual" : "real");
}

static void show_clocks(void) {
#define CLOCK(id) (clock_gettime(id, &now), shows(#id, now.tv_sec * 1000000LL + now.tv_nsec / 1000, 1))
  struct timespec now;
  CLOCK(CLOCK_REALTIME), CLOCK(CLOCK_REALTIME_COARSE), CLOCK(CLOCK_REALTIME_ALARM), CLOCK(CLOCK_TAI);
  CLOCK(CLOCK_MONOTONIC), CLOCK(CLOCK_MONOTONIC_RAW), CLOCK(CLOCK_MONOTONIC_COARSE), CLOCK(CLOCK_BOOTTIME);
  CLOCK(CLOCK_BOOTTIME_ALARM), CLOCK(CLOCK_PROCESS_CPUTIME_ID);
  struct timeval day;
  gettimeofday(&day, NULL), shows("gettimeofday", day.tv_sec * 1000000LL + day.tv_usec, 1);
  time_t stored, seconds = time(&stored);
  shows("time", seconds, 1000000), shows("stored", stored, 1000000), shows("time(NULL)", time(NULL), 1000000);
  if (timespec_get(&now, TIME_UTC) != TIME_UTC || timespec_get(&now, 0) != 0) abort();
  shows("timespec_get", now.tv_sec * 1000000LL + now.tv_nsec / 1000, 1);
  // Programs that were linked long ago use it; glibc gives it to no other.
  int (*old_ftime)(struct timeb *) = (int (*)(struct timeb *))dlsym(RTLD_DEFAULT, "ftime");
  struct timeb milliseconds = {0};
  if (old_ftime) old_ftime(&milliseconds);
  shows("ftime", milliseconds.time * 1000LL + milliseconds.millitm, 1000);
  struct tms used;
  shows("times", times(&used), 10000);
}

static void call_with_nulls(void) {
  struct timezone zone = {-1, -1};
  if (gettimeofday(NULL, &zone) != 0 || zone.tz_minuteswest == -1) abort();
  if (gettimeofday(NULL, NULL) != 0 || time(NULL) <= 0 || times(NULL) == -1) abort();
  struct timespec now;
  if (clock_gettime(99, &now) != -1 || errno != EINVAL) abort();
}

int main(void) {
  char line[70000];
  while (fgets(line, sizeof line, stdin)) {
    const char *found = strstr(line, "\"now_us\":");
    if (!found) continue;
    now_us = strtoll(found + strlen("\"now_us\":"), NULL, 10);
    call_with_nulls();
    if (!clocks) clocks = fopen("clocks", "w"), show_clocks(), fflush(clocks);
    puts("1"), fflush(stdout);
  }
}
C
  cc -o clocks.dynamic clocks.c
  cc -static -o clocks.static clocks.c
  # In this PATH, rlctl finds no server, whose start takes longer than a burst.
  mkdir bin
  ln -s "$(command -v rlctl)" "$(command -v env)" "$(command -v perl)" "$(command -v setpriv)" "$(command -v sh)" bin/
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cp "$BATS_FILE_TMPDIR"/clocks.dynamic "$BATS_FILE_TMPDIR"/clocks.static .
}

# burst_with_clocks STATUS COMMAND CLOCKS: a burst of a few requests to the program, without a server, ends with this
# status.
burst_with_clocks() {
  rm -f clocks
  run "-$1" --separate-stderr env PATH="$BATS_FILE_TMPDIR/bin" \
    rlctl burst steady --requests 3 --limit 5/60s -q --exec "$2" --exec-clock "$3"
}

@test "--exec-clock gives a program the time of each request, whatever function it asks, and with whatever NULL" {
  local clocks wall since_start
  wall='CLOCK_REALTIME CLOCK_REALTIME_COARSE CLOCK_REALTIME_ALARM CLOCK_TAI gettimeofday time stored time(NULL)
timespec_get ftime'
  since_start='CLOCK_MONOTONIC CLOCK_MONOTONIC_RAW CLOCK_MONOTONIC_COARSE CLOCK_BOOTTIME CLOCK_BOOTTIME_ALARM times'
  for clocks in none wall all; do
    burst_with_clocks 0 ./clocks.dynamic "$clocks"
    case $clocks in
      none) run ! grep virtual clocks ;;
      wall) assert_equal "$(sed -n 's/ virtual//p' clocks | sort | xargs)" "$(sort <(xargs -n1 <<<"$wall") | xargs)" ;;
      all) assert_equal "$(sed -n 's/ real//p' clocks)" CLOCK_PROCESS_CPUTIME_ID ;;
    esac
    assert_equal "$(wc -l <clocks)" "$(xargs -n1 <<<"$wall $since_start CLOCK_PROCESS_CPUTIME_ID" | wc -l)"
  done
}

@test "a program that does not follow --exec-clock is refused, not reported" {
  local command who='setpriv --reuid=65534 --regid=65534 --clear-groups'
  local -a commands=(./clocks.static "sh -c 'exec ./clocks.static'" "sh -c './clocks.static; true'"
    "perl -e 'system q(./clocks.static)'" 'env -u LD_PRELOAD ./clocks.dynamic' "sh -c 'env -i ./clocks.dynamic; true'")
  if ((EUID == 0)); then
    chmod 711 "$BATS_RUN_TMPDIR" "${BATS_TEST_TMPDIR%/*}"
    chmod 777 .
    commands+=("$who $PWD/clocks.dynamic" "sh -c '$who $PWD/clocks.dynamic; true'")
  fi
  for command in "${commands[@]}"; do
    burst_with_clocks 5 "$command" wall
    assert_equal "$command: $output" "$command: "
    assert_regex "${stderr_lines[0]}" '^rlctl: burst: [a-z.]+ does not follow the clock of --exec-clock: request 1, of key'
    assert_regex "${stderr_lines[-1]}" '^  hint: .* must be linked dynamically .* TMPDIR'
    burst_with_clocks 0 "$command" none
  done
  run -3 --separate-stderr rlctl lint --exec ./clocks.static --exec-clock all
  assert_regex "$stderr" 'clocks.static does not follow the clock of --exec-clock'
}

@test "--exec-clock refuses a TMPDIR at whose name LD_PRELOAD would be split, server or not" {
  mkdir 'a b'
  TMPDIR="$PWD/a b" burst_with_clocks 2 ./clocks.dynamic wall
  assert_equal "$output" ''
  assert_regex "${stderr_lines[0]}" '^rlctl: burst: no library can be preloaded from '
  assert_equal "${stderr_lines[1]}" "  hint: set TMPDIR to a folder without blanks, ':', ';' and '\$' in its name"
  TMPDIR="$PWD/a b" run -2 rlctl burst --exec ./clocks.dynamic --exec-clock wall
  assert_output --partial 'no library can be preloaded from '
  assert_equal "$(ls -A 'a b')" ''
}

@test "a program is refused if TMPDIR is on a file system that is mounted noexec" {
  needs_mount
  mkdir noexec
  mounted() { unshare --mount sh -c 'mount -t tmpfs -o noexec none noexec && exec "$@"' sh "$@"; }
  run -5 --separate-stderr mounted env RLCTL_REDIS_SERVER= PATH="$BATS_FILE_TMPDIR/bin" TMPDIR="$PWD/noexec" \
    rlctl burst steady --requests 1 --limit 5/60s -q --exec ./clocks.dynamic --exec-clock wall
  assert_regex "$stderr" 'clocks.dynamic does not follow the clock of --exec-clock'
}
