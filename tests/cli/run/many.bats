# needs: server
load ../../support/common

# Many at once under a lease for three. Each command that is inside holds one of three locked files,
# and leaves a mark if it finds none free.

setup() {
  start_server
  cd "$BATS_TEST_TMPDIR" || return
  cat >inside <<'END'
use Fcntl ":flock";
my $mine;
for my $place (1 .. 3) {
  open $mine, ">", "place.$place" or die;
  last if flock $mine, LOCK_EX | LOCK_NB;
  undef $mine;
}
if (!$mine) { open my $mark, ">", "fourth.$$"; exit 1 }
select undef, undef, undef, 0.01;
open my $mark, ">", "done.$ARGV[0]";
END
}

# all OPTION…: starts $many, a multiple of ten; their process IDs are in $processes.
many=$(scaled 30 60)
all() {
  local number
  processes=()
  for ((number = 1; number <= many; ++number)); do
    rlctl run k --concurrency 3 --wait "$@" -- perl inside "$number" 2>>errors 3>&- 4>&- &
    processes+=("$!")
  done
}
finished() { find . -name 'done.*' | wc -l; }
some_finished() { (($(finished) >= $1)); }
# ends PROCESS [STATUS]: the process ends with status 0, or this one.
ends() { wait "$1" || (($? == ${2-0})) || fail "process $1 failed: $(cat errors)"; }
none_was_fourth() { [[ -z $(find . -name 'fourth.*') ]] || fail "$(ls fourth.*)"; }

@test "never more than three are inside although a fifth are killed, with their commands or without; the others run" {
  all --lease 1h --kill-on-loss
  local process index child
  for ((index = 0; index < many; index += 5)); do
    process=${processes[index]}
    unset "processes[index]"
    child=
    if ((index % 10)); then
      kill -STOP "$process" 2>/dev/null || true # starts nothing any more
      child=$(pgrep -P "$process") || true
    else
      # While it is inside, if it ever is: the command, and then rlctl.
      wait_until eval "some_finished $((index / 5)) || ! kill -0 $process 2>/dev/null"
      pkill -KILL -P "$process" || true
    fi
    kill -KILL "$process" 2>/dev/null || true
    ends "$process" 137
    [[ -z $child ]] || wait_until is_gone "$child"
    # As an operator would who knows that it is dead; its lease lasts an hour.
    rlctl reset k --holder "$(hostname):$process" # it may have none
  done
  for process in "${processes[@]}"; do ends "$process"; done
  none_was_fourth
  some_finished $((many * 4 / 5))
  assert_equal "$(cat errors)" ''
  assert_equal "$(cli DBSIZE)" 0
}

@test "never more than three are inside although the server restarts" {
  start_server --appendonly yes --appendfsync always
  all --lease 10s --on-error deny
  wait_until some_finished 10
  local folder=${socket%/*} process
  kill -KILL "$server_pid"
  wait_until eval '! kill -0 "$server_pid" 2>/dev/null'
  rm "$socket"
  "$folder/redis-server" --port 0 --unixsocket "$socket" --dir "$folder" --save '' \
    --appendonly yes --appendfsync always >/dev/null 3>&- 4>&- &
  servers+=("$!")
  for process in "${processes[@]}"; do ends "$process" 75; done # denied without the server
  none_was_fourth
  wait_until cli PING
  run -0 rlctl run k --concurrency 3 --wait -- perl inside last
  none_was_fourth
  test -e done.last
}
