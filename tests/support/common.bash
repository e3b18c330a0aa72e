# For the tests in bats. A file of tests begins with
#
#     load ../support/common
#
#     @test "a look takes nothing" {
#       start_server
#       run -1 rlctl check k --limit 5/60s --peek --cost 6
#       assert_output --partial 'remaining=5'
#       assert_equal "$(cli EXISTS k)" 0
#     }
#
# What it gives:
#
#   rlctl             the binary of the build under test ($RLCTL_BUILD, default build/release), on PATH.
#   start_server [OPTION…]
#                     A Redis server of this test's own, with these options (--maxmemory 1mb). Sets
#                     $socket, $server_pid, and $RLCTL_URL, by which rlctl finds it without being
#                     told; more than one may be started, the newest is the one they name. In
#                     setup_file it serves every test of the file. Killed by teardown or
#                     teardown_file, pass or fail; a file that defines one of these itself calls
#                     stop_servers in it.
#   cli COMMAND…      redis-cli on $socket; fails on an error reply.
#   start_perl_server CODE [ARGUMENT…]
#                     A listener on a socket, $listener, and this code in Perl, which does with it what it
#                     likes. Sets the same variables.
#   start_fake_server [--close] REPLY
#                     A listener on a socket that answers whatever comes with REPLY ('\r\n' and
#                     '\0' are bytes; empty: it never answers), then holds or closes the
#                     connection. Sets the same variables; what came is in the file $socket.came.
#   run_with_timeout [OPTION OF run…] COMMAND…
#                     `run`, and the status is 124 where the command did not end by itself.
#   expect_status STATUS COMMAND…
#                     Runs the command and fails with what it printed unless it ends in STATUS.
#   wait_until COMMAND…
#                     Repeats the command until it succeeds; fails after half a minute.
#   sleeps PID        The process is rlctl and waits for something.
#   work PID          The time for which the process, and those under it, have computed, in hundredths
#                     of a second: who has computed for long is past its beginning.
#   calls COMMAND     How often the server at $socket was asked for it.
#   ends_by SIGNAL READY COMMAND…
#                     Runs the command with all signals at their defaults, sends it the signal as soon
#                     as the shell command READY succeeds, and prints "signal N" or "exit N". READY may
#                     ask about the process $command_pid.
#   needs_terminal    Skips the test where script(1) has no terminal to give.
#   at_terminal KEYS COMMAND
#                     Runs the shell command at a terminal of its own; what the shell code KEYS prints is
#                     typed. What the terminal shows is in the file $screen, also meanwhile, so that
#                     KEYS can wait for it. The status is the command's, or 99 where what KEYS waited for
#                     did not come.
#   assert_output, assert_line, assert_equal, refute_output, …
#                     of bats-assert.
#
# No test depends on how fast the machine is: a test waits until something has happened, with wait_until,
# and half a minute is how long anything may take. rlctl waits as long for a server that is slow, where
# a test does not give it a --timeout or a configuration of its own.
#
# A test that starts processes in the background waits for these by their ids: a plain `wait` would wait
# for its server too. What is started in the background gets `3>&-`, or bats waits for it.
#
# The environment is clean: no RLCTL_*, REDISCLI_*, XDG_*, NO_COLOR from outside, HOME is a folder of
# the run's own, $RLCTL_CONFIG names a configuration that has a long time-out and nothing else, and $RLCTL_URL names a socket that is not there until a server is started, so that no
# test can reach port 6379 by forgetting something.

bats_require_minimum_version 1.5.0
bats_load_library bats-support
bats_load_library bats-assert

project=$(cd "${BASH_SOURCE[0]%/*}/../.." && pwd)
RLCTL_BUILD=${RLCTL_BUILD:-$project/build/release}
servers=()

# This file is read again for each test; what setup_file has set must stay.
if [[ ${rlctl_test_run-} != "$BATS_RUN_TMPDIR" ]]; then
  while read -r variable; do
    case $variable in
      RLCTL_BUILD | RLCTL_REDIS_SERVER | RLCTL_TEST_*) ;;
      RLCTL_* | REDISCLI_* | REDIS_* | XDG_* | NO_COLOR | CLICOLOR* | FORCE_COLOR) unset "$variable" ;;
    esac
  done < <(compgen -e)
  export rlctl_test_run=$BATS_RUN_TMPDIR
  export RLCTL_BUILD HOME=$BATS_RUN_TMPDIR/home
  export RLCTL_URL=unix://$BATS_RUN_TMPDIR/no-server-was-started
  export RLCTL_CONFIG=$BATS_RUN_TMPDIR/config.toml
  echo 'timeout = "30s"' >"$RLCTL_CONFIG"
  export LC_ALL=C.UTF-8 TZ=UTC
  # script(1) runs it. Others, as dash, end by a Ctrl-C that was for the command they ran.
  export SHELL=$BASH
  mkdir -p "$HOME"
  PATH=$RLCTL_BUILD/cli:$PATH
fi

# The server's binary, and the name under which it is a server.
server_binary() {
  local candidate
  for candidate in "${RLCTL_REDIS_SERVER:-}" redis-server valkey-server redis-check-rdb; do
    [[ -n $candidate ]] && command -v "$candidate" && return
  done
  echo "no redis-server: install Debian's redis-tools" >&2
  return 1
}

# In the background, and killed with the process that started it.
start_bound() {
  local bound=()
  if command -v setpriv >/dev/null; then bound=(setpriv --pdeathsig KILL); fi
  # 3 and 4 are bats's own: it waits until nobody holds them any more.
  "${bound[@]}" "$@" </dev/null 3>&- 4>&- &
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
  # Debian's redis-check-rdb is the server when it is called by the server's name.
  ln -s "$binary" "$folder/redis-server"
  start_bound "$folder/redis-server" --port 0 --unixsocket "$socket" --dir "$folder" \
    --save '' --appendonly no "$@" >"$folder/log" 2>&1
  export server_pid
  wait_until_answered "$folder/log"
}

wait_until_answered() {
  local log=$1 deadline=$((SECONDS + 30))
  while ((SECONDS < deadline)); do
    if redis-cli -s "$socket" PING >/dev/null 2>&1; then return 0; fi
    if ! kill -0 "$server_pid" 2>/dev/null; then break; fi
    sleep 0.02
  done
  echo "the server did not start:" >&2
  cat "$log" >&2
  return 1
}

# The socket appears where it is looked for when it listens already.
start_perl_server() {
  local folder
  use_socket
  start_bound perl -MIO::Handle -MIO::Select -MIO::Socket::UNIX -e '
    use strict;
    my ($path, $code) = splice @ARGV, 0, 2;
    my $listener = IO::Socket::UNIX->new(Local => "$path.new", Listen => 64) or die "$path: $!";
    rename "$path.new", $path or die "$path: $!";
    eval "$code; 1" or die $@' "$socket" "$@" >"$folder/log" 2>&1
  export server_pid
  wait_until test -S "$socket"
}

start_fake_server() {
  local folder close=0
  if [[ $1 == --close ]]; then
    close=1
    shift
  fi
  use_socket
  start_bound perl "$project/tests/support/fake_server.pl" "$socket" "$close" "$1" >"$folder/log" 2>&1
  export server_pid
  wait_until test -S "$socket"
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
  run "${options[@]}" timeout --kill-after=2 30 "$@"
}

expect_status() {
  local expected=$1 actual=0 printed
  shift
  printed=$("$@" 2>&1) || actual=$?
  if ((actual != expected)); then
    printf 'status %s, not %s, of: %s\n%s\n' "$actual" "$expected" "$*" "$printed" >&2
    return 1
  fi
}

wait_until() {
  local deadline=$((SECONDS + 30))
  until "$@"; do
    if ((SECONDS >= deadline)); then
      echo "waited half a minute for: $*" >&2
      # Nothing else is typed.
      if [[ ${typing-} ]]; then touch "$typing.failed" && exit 1; fi
      return 1
    fi
    sleep 0.02
  done
}

needs_terminal() {
  script -qec true /dev/null >/dev/null </dev/null || skip 'script(1) has no terminal to give here'
}

# Standard input stays open until the command has ended: its end would be typed as Ctrl-D.
at_terminal() {
  local ended typing=''
  ended=$(mktemp -u "$BATS_TEST_TMPDIR/ended.XXXXXX")
  screen=$BATS_TEST_TMPDIR/screen
  : >"$screen"
  # It is read while it is written.
  # shellcheck disable=SC2094
  {
    typing=$ended
    eval "$1"
    wait_until test -e "$ended"
  } | {
    status=0
    timeout --foreground --kill-after=5 90 script -qefc "$2" /dev/null >"$screen" || status=$?
    touch "$ended"
    if [[ -e $ended.failed ]]; then status=99; fi
    exit "$status"
  }
}

sleeps() {
  [[ $(readlink "/proc/$1/exe") == */rlctl && $(sed 's/.*) //' "/proc/$1/stat") == S* ]]
} 2>/dev/null

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

# For the shell commands of ends_by.
export -f sleeps work calls

ends_by() {
  perl -MPOSIX=:sys_wait_h -e '
    my ($signal, $ready, @command) = @ARGV;
    $SIG{$_} = "DEFAULT" for qw(INT TERM HUP QUIT PIPE);
    my $pid = fork // die;
    if (!$pid) { exec @command; die "$command[0]: $!" }
    $ENV{command_pid} = $pid;
    for (my $end = time + 30; time < $end; select undef, undef, undef, 0.02) {
      last if system("bash", "-c", $ready) == 0 || waitpid($pid, WNOHANG) > 0;
    }
    kill $signal, $pid;
    for (my $end = time + 30; time < $end; select undef, undef, undef, 0.01) {
      if (waitpid($pid, WNOHANG) > 0) {
        print $? & 127 ? "signal " . ($? & 127) : "exit " . ($? >> 8), "\n";
        exit;
      }
    }
    kill 9, $pid;
    print "did not end\n"' "$@"
}
