# Helpers for the tests in bats. A test file begins with
#
#     load ../support/common
#
#     @test "--peek takes nothing" {
#       start_server
#       run -1 rlctl check k --limit 5/60s --peek --cost 6
#       assert_output --partial 'remaining=5'
#       assert_equal "$(cli EXISTS k)" 0
#     }
#
# It provides:
#
#   rlctl             the binary of the build under test ($RLCTL_BUILD, default build/release), in PATH.
#   start_server [OPTION…]
#                     Starts a Redis server for this test, with these options (--maxmemory 1mb). Sets
#                     $socket, $server_pid, and $RLCTL_URL, so that rlctl connects to it by default.
#                     More than one may be started; the variables name the newest. A server started
#                     in setup_file serves every test of the file. teardown or teardown_file kills
#                     it, pass or fail; a file that defines one of these must call stop_servers in
#                     it.
#   cli COMMAND…      redis-cli on $socket; fails on an error reply.
#   start_perl_server CODE [ARGUMENT…]
#                     Runs this Perl code, which calls a function of support/server.pl: serve, with the answer to
#                     each command; relay, with what becomes of each reply of a real server; or each_client. Sets
#                     the same variables; what serve was sent is in the file $socket.came.
#   start_fake_server [--close] REPLY
#                     start_perl_server, which answers each command with REPLY ('\r\n' and '\0' are bytes; if it
#                     is empty, it never answers), then holds or closes the connection.
#   bound COMMAND… &  Runs the command in the background; it is killed if the test fails and ends.
#   run_with_timeout [OPTION OF run…] COMMAND…
#                     `run`; fails if the command does not end by itself within two minutes.
#   expect_status STATUS COMMAND…
#                     Runs the command and fails with its output unless it exits with STATUS.
#   fails STATUS ERROR COMMAND…
#                     rlctl exits with STATUS, prints nothing, and says `rlctl: ERROR`, and only a hint after it.
#   wait_until COMMAND…
#                     Repeats the command every $pause seconds (default 0.02) until it succeeds; fails after two
#                     minutes.
#   sleeps PID        Whether the process is rlctl and waits for something.
#   is_gone PID       Whether the process has ended, although its parent may not have waited for it: the first process of
#                     a container, which becomes the parent of orphans, may wait for none.
#   nothing_is_left   Whether no private server of rlctl runs in a folder in $TMPDIR, and no such folder is there.
#   work PID          The CPU time of the process and its children, in hundredths of a second: a
#                     process that has used much of it is past its start.
#   calls COMMAND     How often the server at $socket has executed the command.
#   debug WORD…       `rlctl debug` on an empty private server, whatever servers this machine has.
#   as ENDING COMMAND…
#                     Runs an rlctl burst, and prints the report that it writes to a file with this ending.
#                     JSON is recorded, to be validated.
#   ends_by SIGNAL READY COMMAND…
#                     Runs the command with default signal handling, sends it the signal as soon as
#                     the shell command READY succeeds, and prints "signal N" or "exit N", with "and a core" after
#                     SEGV if it left one. Fails if the command ends before the signal, or if READY or the end does not
#                     come within two minutes; then it prints what the processes wait for. READY may use the process ID
#                     $command_pid.
#   without_reader COMMAND
#                     `run --separate-stderr` of the shell command with an output whose reader is gone, and
#                     SIGPIPE ignored. The last line of stderr is "status N".
#   needs_terminal    Skips the test if script(1) cannot open a terminal.
#   needs_root, needs_mount, needs_localhost, needs_trace, needs_plain_build
#                     Skips the test unless root runs it; a file system can be mounted; the system knows localhost; strace can
#                     trace a program; the build is without sanitizers.
#   at_terminal KEYS COMMAND
#                     Runs the shell command on its own terminal and types what the shell code KEYS
#                     prints. The file $screen always has what the terminal has shown so far, so that
#                     KEYS can wait for it. The status is the command's, or 99 if something that KEYS
#                     waited for did not happen.
#   assert_output, assert_line, assert_equal, refute_output, …
#                     See assert.bash.
#   commands [COMMAND]
#                     Prints the names of rlctl's commands, or of the commands of one of them.
#   lines_of ARRAY COMMAND…
#                     Sets ARRAY to the lines that the command prints, and fails if there are none: for loops
#                     that would otherwise pass when they find nothing.
#   needs PACKAGE [PROGRAM [ARGUMENT…]]
#                     Puts the program, which has the package's name by default, into PATH, or skips the test if this system
#                     does not have it, or if it fails with these arguments. A test finds no other programs than those
#                     of tests/runner/programs.py; a program that it needs finds all.
#   needs_other_servers
#                     Skips the test unless $RLCTL_TEST_OTHER_SERVERS names a folder of programs that start servers
#                     of other versions, as tests/night/on-server does.
#   scaled FEW ALL    FEW, or ALL if RLCTL_TEST_ALL is set, as tests/night/run does: how much of something a test does.
#
# No test depends on the speed of the machine: a test waits with wait_until until something has happened,
# for up to two minutes. rlctl waits for a slow server just as long, unless a test gives it a --timeout
# or its own configuration.
#
# A test must wait for its background processes by ID: a plain `wait` would wait for its server too. Start
# background processes with `3>&-`, or bats waits for them.
#
# The environment is clean: the umask is 022, RLCTL_*, REDISCLI_*, XDG_*, TERM and what chooses colours are unset, HOME is a
# folder private to the run, $RLCTL_CONFIG names a configuration that only has a long timeout, and
# $RLCTL_URL names a socket that does not exist until a server is started, so that no test can reach port
# 6379 by mistake.

bats_require_minimum_version 1.5.0
project=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
. "$project/tests/support/assert.bash"
RLCTL_BUILD=${RLCTL_BUILD:-$project/build/release}
servers=()

# A configuration that a test writes must not be one that others may write.
umask 022

# This file is sourced again for each test; variables set by setup_file must be kept.
if [[ ${rlctl_test_run-} != "$BATS_RUN_TMPDIR" ]]; then
  while read -r variable; do
    case $variable in
      RLCTL_BUILD | RLCTL_FAULTS | RLCTL_REDIS_SERVER | RLCTL_TEST_*) ;;
      RLCTL_* | REDISCLI_* | REDIS_* | XDG_* | TERM | NO_COLOR | CLICOLOR*) unset "$variable" ;;
    esac
  done < <(compgen -e)
  export rlctl_test_run=$BATS_RUN_TMPDIR
  export RLCTL_BUILD HOME=$BATS_RUN_TMPDIR/home
  export RLCTL_URL=unix://$BATS_RUN_TMPDIR/no-server-was-started
  export RLCTL_CONFIG=$BATS_RUN_TMPDIR/config.toml
  echo 'timeout = "120s"' >"$RLCTL_CONFIG"
  export LC_ALL=C.UTF-8 TZ=UTC
  # script(1) runs this shell. Others, such as dash, end by a Ctrl-C that was meant for their command.
  export SHELL=$BASH
  mkdir -p "$HOME"
  PATH=$RLCTL_BUILD/cli:$PATH
  # tests/run records what rlctl writes with --json.
  if [[ ${RLCTL_TEST_JSON-} ]]; then PATH=$RLCTL_BUILD/tests/recorder:$PATH; fi
fi

# The path of the server's binary, and the name under which it runs as a server.
server_binary() {
  local candidate
  for candidate in "${RLCTL_REDIS_SERVER:-}" redis-server valkey-server redis-check-rdb; do
    [[ -n $candidate ]] && command -v "$candidate" && return
  done
  echo "no redis-server: install Debian's redis-tools" >&2
  return 1
}

# In the background only: becomes this command, which is killed with the process that started it.
bound() {
  if command -v setpriv >/dev/null; then exec setpriv --pdeathsig KILL "$@"; fi
  exec "$@"
}

# Runs a command in the background; it is killed with the process that started it.
start_bound() {
  # 3 and 4 belong to bats, which waits until no process has them open.
  bound "$@" </dev/null 3>&- 4>&- &
  server_pid=$!
  servers+=("$server_pid")
}

use_socket() {
  folder=$(mktemp -d "${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/server.XXXXXX")
  export socket=$folder/socket
  export RLCTL_URL=unix://$socket
}

start_server() {
  local folder binary
  use_socket
  binary=$(server_binary)
  # Debian's redis-check-rdb runs as a server when called by the server's name.
  ln -s "$binary" "$folder/redis-server"
  start_bound "$folder/redis-server" --port 0 --unixsocket "$socket" --dir "$folder" \
    --save '' --appendonly no "$@" >"$folder/log" 2>&1
  export server_pid
  wait_until_answered "$folder/log"
}

wait_until_answered() {
  local log=$1 deadline=$((SECONDS + 120))
  while ((SECONDS < deadline)); do
    if redis-cli -s "$socket" PING >/dev/null 2>&1; then return 0; fi
    if ! kill -0 "$server_pid" 2>/dev/null; then break; fi
    sleep 0.02
  done
  echo "the server did not start:" >&2
  cat "$log" >&2
  return 1
}

start_perl_server() {
  local folder
  use_socket
  start_bound perl "$project/tests/support/server.pl" "$socket" "$@" >"$folder/log" 2>&1
  export server_pid
  wait_until test -S "$socket"
}

start_fake_server() {
  local hangs_up=0
  if [[ $1 == --close ]]; then hangs_up=1 && shift; fi
  start_perl_server 'repeat(@ARGV)' "$hangs_up" "$1"
}

stop_servers() {
  local pid
  for pid in "${servers[@]}"; do
    { kill -KILL "$pid" && wait "$pid"; } 2>/dev/null || true
  done
  servers=()
}

teardown() { stop_servers; }
teardown_file() { stop_servers; }

cli() { redis-cli -e -s "$socket" "$@"; }

run_with_timeout() {
  local options=()
  while [[ $1 == [-!]* ]]; do
    options+=("$1")
    shift
  done
  run "${options[@]}" timeout --kill-after=2 120 "$@"
  ((status != 124 && status != 137)) || fail "waited two minutes for the end of: $*"
}

commands() { rlctl "$@" --help | sed -nE '/^Commands/,/^$/s/^  ([a-z]+) .*/\1/p' | grep -vx help; }

lines_of() {
  local -n lines_of_array=$1
  mapfile -t lines_of_array < <("${@:2}")
  ((${#lines_of_array[@]})) || fail "nothing is printed by: ${*:2}"
}

needs_other_servers() {
  compgen -G "${RLCTL_TEST_OTHER_SERVERS:-/nowhere}/*" >/dev/null ||
    skip 'needs servers of other versions, which tests/night/run fetches'
}

needs_root() { ((EUID == 0)) || skip 'needs root'; }
needs_mount() {
  needs mount
  unshare --mount mount -t tmpfs none /tmp 2>/dev/null || skip 'needs to mount file systems'
}
needs_localhost() { getent ahosts localhost >/dev/null || skip 'needs localhost in /etc/hosts'; }
needs_trace() { strace -o /dev/null true 2>/dev/null || skip 'needs to trace processes'; }
needs_plain_build() { [[ $RLCTL_BUILD != *sanitize* ]] || skip 'needs a build without sanitizers'; }

needs() {
  local program=${2-$1} folder=${BATS_TEST_TMPDIR:-$BATS_FILE_TMPDIR}/needed path
  if ! type -P "$program" >/dev/null; then
    path=$(PATH=${RLCTL_TEST_PATH-}:/usr/sbin:/sbin type -P "$program") || skip "needs Debian's $1"
    mkdir -p "$folder"
    printf '#!/bin/sh\nPATH=$PATH:%q exec %q "$@"\n' "$RLCTL_TEST_PATH" "$path" >"$folder/$program"
    chmod +x "$folder/$program"
    if [[ $PATH != "$folder:"* ]]; then PATH=$folder:$PATH; fi
  fi
  (($# < 3)) || "${@:2}" >/dev/null 2>&1 || skip "needs Debian's $1"
}

scaled() { if [[ ${RLCTL_TEST_ALL-} ]]; then echo "$2"; else echo "$1"; fi; }

# its_turn NUMBER SHARE: whether the NUMBERth of many is tried, of which one in SHARE is: others at another commit; at
# night, all.
its_turn() { (($1 % $(scaled "$2" 1) == ${RLCTL_TEST_OFFSET:-0} % $(scaled "$2" 1))); }

expect_status() {
  local expected=$1 actual=0 printed
  shift
  printed=$("$@" 2>&1) || actual=$?
  if ((actual != expected)); then
    printf 'status %s, not %s, of: %s\n%s\n' "$actual" "$expected" "$*" "$printed" >&2
    return 1
  fi
}

fails() {
  run_with_timeout "-$1" --separate-stderr "${@:3}"
  assert_output ''
  [[ $stderr == "rlctl: $2" || $stderr == "rlctl: $2"$'\n  hint: '* ]] || assert_equal "$stderr" "rlctl: $2"
}

wait_until() {
  local deadline=$((SECONDS + 120))
  until "$@"; do
    if [[ ${typing-} && -e $typing ]] && ! "$@"; then
      echo "the command ended without: $*" >&2
      stop_typing
    fi
    if ((SECONDS >= deadline)); then
      echo "waited two minutes for: $*" >&2
      if [[ ${typing-} ]]; then stop_typing; fi
      return 1
    fi
    sleep "${pause:-0.02}"
  done
}

# For at_terminal: types nothing else, and shows where the terminal stands.
stop_typing() {
  { echo 'on the terminal:' && tail -n 30 "$screen" | tr '\r' '\n' | tail -n 30; } >&2
  touch "$typing.failed"
  exit 1
}

without_reader() {
  run --separate-stderr bash -c '
    gone=$(mktemp -u "$BATS_TEST_TMPDIR/gone.XXXXXX")
    mkfifo "$gone"
    trap "" PIPE
    { read -r <"$gone"; eval "$1"; echo "status $?" >&2; } | { exec <&-; echo >"$gone"; }' - "$1"
}

needs_terminal() {
  script -qec true /dev/null >/dev/null </dev/null || skip 'needs a terminal'
}

# Standard input stays open until the command has ended, because its end would be typed as Ctrl-D.
at_terminal() {
  local ended typing=''
  ended=$(mktemp -u "$BATS_TEST_TMPDIR/ended.XXXXXX")
  screen=$BATS_TEST_TMPDIR/screen
  : >"$screen"
  # The file is read while it is written.
  # shellcheck disable=SC2094
  {
    typing=$ended
    eval "$1"
    wait_until test -e "$ended"
  } | {
    status=0
    timeout --foreground --kill-after=5 300 script -qefc "$2" /dev/null >"$screen" || status=$?
    touch "$ended"
    if ((status == 124 || status == 137)); then echo "waited five minutes for the end of: $2" >&2; fi
    if [[ -e $ended.failed ]]; then status=99; fi
    exit "$status"
  }
}

# Only root may read /proc/PID/exe of a process that has a password, since that leaves no core.
sleeps() { grep -qs ' (rlctl) S ' "/proc/$1/stat"; }

is_gone() { ! grep -qsv ') Z ' "/proc/$1/stat"; }

nothing_is_left() {
  ! compgen -G "$TMPDIR/rlctl-*" && ! find /proc -maxdepth 2 -name cwd -lname "$TMPDIR/rlctl-*" 2>/dev/null | grep .
}

work() {
  local fields child sum
  read -ra fields < <(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null)
  sum=$((${fields[11]:-0} + ${fields[12]:-0}))
  for child in $(pgrep -P "$1"); do sum=$((sum + $(work "$child"))); done
  echo "$sum"
}

calls() {
  local count
  count=$(redis-cli -s "$socket" INFO commandstats | sed -n "s/^cmdstat_$1:calls=\([0-9]*\),.*/\1/p")
  echo "${count:-0}"
}

# Used by the shell commands of ends_by.
export -f sleeps work calls

debug() { rlctl -u private: debug -q "$@"; }

as() {
  local file=$BATS_TEST_TMPDIR/report.$1 status=0 recorded
  "${@:2}" -q -o "$file" || status=$?
  if [[ ${RLCTL_TEST_JSON-} && $1 == json* ]]; then
    recorded=$(mktemp "$RLCTL_TEST_JSON/report.XXXXXX.arguments")
    printf '%s\0' rlctl "$3" --json >"$recorded"
    cp "$file" "${recorded%arguments}1"
  fi
  cat "$file" && return "$status"
}

ends_by() {
  perl -MPOSIX=:sys_wait_h -e '
    my ($signal, $ready, @command) = @ARGV;
    $SIG{$_} = "DEFAULT" for qw(INT TERM HUP QUIT PIPE);
    my $pid = fork // die;
    if (!$pid) { exec @command; die "$command[0]: $!" }
    $ENV{command_pid} = $pid;
    my $ended = sub {
      return if waitpid($pid, WNOHANG) <= 0;
      my $core = $signal eq "SEGV" && $? & 128 ? " and a core" : "";
      print @_, $? & 127 ? "signal " . ($? & 127) . $core : "exit " . ($? >> 8), "\n";
      exit(@_ ? 1 : 0);
    };
    my $wait_for = sub {
      my ($what, $is_so) = @_;
      for (my $end = time + 120; time < $end; select undef, undef, undef, 0.02) { return if $is_so->() }
      print "waited two minutes for: $what\n";
      # What each of its processes waits for, and which signals it blocks, ignores (SigIgn) and catches.
      my @processes = $pid;
      for my $process (@processes) {
        push @processes, split " ", `pgrep -P $process`;
        print `ps -o pid=,ppid=,pgid=,stat=,wchan:20=,time=,args= -p $process; grep ^Sig /proc/$process/status`;
      }
      kill 9, $_ for @processes;
      exit 1;
    };
    $wait_for->($ready, sub { system("bash", "-c", $ready) == 0 || $ended->("before the signal: ") });
    $ended->("before the signal: ");
    kill $signal, $pid;
    $wait_for->("its end", $ended)' "$@"
}
