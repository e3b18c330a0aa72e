# needs: server
load ../support/common

# What ends rlctl from outside: signals, readers that exit, full disks. Its private servers end with it.

setup() {
  # Private to this test, so that its remaining contents are known, and short enough for a socket's path.
  export TMPDIR=$BATS_TEST_TMPDIR
}

# The private servers in this test's folder.
private_servers() {
  local found
  for found in "$TMPDIR"/rlctl-??????/redis.sock; do
    redis-cli -s "$found" INFO server | tr -d '\r' | sed -n 's/^process_id://p'
  done
}

folders() { find "$TMPDIR" -maxdepth 1 -name 'rlctl-*'; }
ended() { ! kill -0 "$1" 2>/dev/null; }

# --- signals ----------------------------------------------------------------------------------------

@test "Ctrl-C, SIGTERM, SIGHUP and SIGQUIT end a wait for an answer by the signal" {
  ulimit -c 0
  start_fake_server ''
  local signal
  for signal in INT:2 TERM:15 HUP:1 QUIT:3; do
    : >"$socket.came"
    run -0 ends_by "${signal%:*}" 'test -s "$socket.came"' rlctl check k --limit 5/60s
    assert_output "signal ${signal#*:}"
  done
}

@test "in a shell the status is 128+n" {
  start_fake_server ''
  run -143 bash -c 'rlctl check k --limit 5/60s & until [[ -s $socket.came ]]; do sleep 0.02; done
    kill -TERM "$!"; wait "$!"' 3>&-
  assert_output ''
}

@test "Ctrl-C ends the sleep of --wait" {
  start_server
  run -0 rlctl check k --limit 1/1h
  cli CONFIG RESETSTAT
  # It was denied, and then only sleeps.
  run -0 ends_by INT '(($(calls evalsha)))' rlctl check k --limit 1/1h --wait
  assert_output 'signal 2'
}

@test "Ctrl-C ends a batch that waits for input, and all answers have been printed" {
  start_server
  mkfifo "$BATS_TEST_TMPDIR/lines"
  exec {input}<>"$BATS_TEST_TMPDIR/lines"
  echo k >&"$input"
  : >"$BATS_TEST_TMPDIR/out"
  run -0 ends_by INT 'grep -q allowed "$BATS_TEST_TMPDIR/out"' bash -c \
    'exec rlctl check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/out"'
  assert_output 'signal 2'
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/out")" 1
}

@test "--on-error does not turn a signal into an answer" {
  start_fake_server ''
  run -0 ends_by INT 'test -s "$socket.came"' rlctl check k --limit 5/60s --on-error allow
  assert_output 'signal 2'
}

@test "an ignored SIGINT stays ignored" {
  start_server
  run -0 rlctl check k --limit 1/1500ms
  cli CONFIG RESETSTAT
  run -0 perl -e '
    $SIG{INT} = "IGNORE";
    my $pid = fork // die;
    if (!$pid) { exec @ARGV }
    select undef, undef, undef, 0.01 until `redis-cli -s "\$socket" INFO commandstats` =~ /evalsha/;
    kill INT => $pid;
    waitpid $pid, 0;
    print "status $?\n"' rlctl check k --limit 1/1500ms --wait
  assert_output $'allowed key=k limit=1/1500ms remaining=0 reset=1.500s\nstatus 0'
}

# --- private servers --------------------------------------------------------------------------------

@test "a private server answers, and afterwards it and its folder are gone" {
  run -0 --separate-stderr rlctl -u private: check k --limit 5/60s
  assert_output 'allowed key=k limit=5/60s remaining=4 reset=60.000s'
  run -0 folders
  assert_output ''
}

@test "a private server is also gone after an error" {
  run -2 rlctl -u private: check --limit 5/60s --batch /nowhere
  run -5 rlctl -u private: -n 99 check k --limit 5/60s
  run -0 folders
  assert_output ''
}

@test "Ctrl-C and SIGTERM end the private server and remove its folder" {
  local signal
  mkfifo "$BATS_TEST_TMPDIR/lines"
  exec {input}<>"$BATS_TEST_TMPDIR/lines"
  for signal in INT:2 TERM:15; do
    echo k >&"$input"
    : >"$BATS_TEST_TMPDIR/out"
    run -0 ends_by "${signal%:*}" 'grep -q allowed "$BATS_TEST_TMPDIR/out" &&
        for socket in "$TMPDIR"/rlctl-*/redis.sock; do redis-cli -s "$socket" INFO server; done |
        tr -d "\r" | sed -n s/^process_id://p >"$BATS_TEST_TMPDIR/process"' \
      bash -c 'exec rlctl -u private: check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines" \
        >"$BATS_TEST_TMPDIR/out"'
    assert_output "signal ${signal#*:}"
    run -0 cat "$BATS_TEST_TMPDIR/process"
    assert_output --regexp '^[0-9]+$'
    wait_until ended "$output"
    run -0 folders
    assert_output ''
  done
}

# One program that does nothing, and one that listens but never answers.
make_mute_servers() {
  cat >"$BATS_TEST_TMPDIR/sleeps" <<'SCRIPT'
#!/bin/sh
echo $$ >"$TMPDIR/process"
exec sleep 100
SCRIPT
  cat >"$BATS_TEST_TMPDIR/listens" <<'SCRIPT'
#!/usr/bin/env perl
use IO::Socket::UNIX;
my %option = @ARGV;
my $listener = IO::Socket::UNIX->new(Local => $option{"--unixsocket"}, Listen => 5) or die;
open my $process, ">", "$ENV{TMPDIR}/process" or die;
print $process "$$\n";
close $process;
sleep 100;
SCRIPT
  chmod +x "$BATS_TEST_TMPDIR"/{sleeps,listens}
}

@test "Ctrl-C and SIGTERM cancel the start of a private server that never answers" {
  make_mute_servers
  local server signal
  for server in sleeps listens; do
    for signal in INT:2 TERM:15; do
      rm -f "$TMPDIR/process"
      # On its own it would give up with another status if the server does not answer.
      RLCTL_REDIS_SERVER=$BATS_TEST_TMPDIR/$server run -0 ends_by "${signal%:*}" 'test -s "$TMPDIR/process"' \
        rlctl -u private: check k --limit 5/60s --on-error allow
      assert_output "signal ${signal#*:}"
      run -0 cat "$TMPDIR/process"
      assert_output --regexp '^[0-9]+$'
      ended "$output" || fail 'the server lives on'
      run -0 folders
      assert_output ''
    done
  done
}

# Starts a batch on a private server, $pid, and sends it a line; it waits for more on $input.
start_batch() {
  mkfifo "$BATS_TEST_TMPDIR/lines"
  exec {input}<>"$BATS_TEST_TMPDIR/lines"
  echo k >&"$input"
  rlctl -u private: check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines" \
    >"$BATS_TEST_TMPDIR/out" 3>&- 4>&- &
  pid=$!
}

@test "after kill -9 of rlctl no private server is left" {
  start_batch
  wait_until grep -q allowed "$BATS_TEST_TMPDIR/out"
  run -0 private_servers
  assert_output --regexp '^[0-9]+$'
  local server=$output
  kill -KILL "$pid"
  wait_until ended "$server"
}

@test "what rlctl left after kill -9 is removed when it is an hour old, and nothing that a running one has" {
  start_batch
  wait_until grep -q allowed "$BATS_TEST_TMPDIR/out"
  local folder living killed=$pid
  folder=$(folders)
  rlctl burst --exec 'sleep 600' --exec-clock wall --timeout 600s >/dev/null 2>&1 3>&- 4>&- &
  living=$!
  has_both() { (($(compgen -G "$TMPDIR/rlctl-*/clock.so" | wc -l) == 1 && $(compgen -G "$TMPDIR/rlctl-*/redis.sock" | wc -l) == 2)); }
  wait_until has_both
  kill -KILL "$killed"
  wait "$killed" || true
  rlctl -u private: check -q k --limit 5/60s
  assert_equal "$(folders | wc -l)" 3
  touch -d '2 hours ago' "$TMPDIR"/rlctl-*
  rlctl -u private: check -q k --limit 5/60s
  [[ ! -e $folder ]]
  assert_equal "$(folders | wc -l)" 2
  # As an hour later, both that were in use are gone.
  kill -KILL "$living"
  wait "$living" || true
  touch -d '2 hours ago' "$TMPDIR"/rlctl-*
  rlctl -u private: check -q k --limit 5/60s
  assert_equal "$(folders)" ''
}

@test "a private server without a folder for its files exits with status 3" {
  run -3 --separate-stderr env TMPDIR=/nowhere rlctl -u private: check k --limit 5/60s
  assert_regex "${stderr_lines[0]}" 'cannot make a folder in /nowhere: no such file or directory'
}

# --- output that cannot be written ------------------------------------------------------------------

@test "if its reader exits, a batch ends by SIGPIPE without a message" {
  start_server
  run -0 --separate-stderr perl -e '$SIG{PIPE} = "DEFAULT"; exec @ARGV' bash -c '
    yes k | rlctl check --limit 1000/60s --batch | head -n 3 | wc -l
    echo "${PIPESTATUS[1]}"'
  assert_output $'3\n141'
  assert_equal "$stderr" ''
}

@test "if its reader exited before the answer, a single check ends by SIGPIPE" {
  start_server
  run -0 --separate-stderr perl -e '$SIG{PIPE} = "DEFAULT"; exec @ARGV' bash -c '
    mkfifo "$BATS_TEST_TMPDIR/gone"
    { read -r <"$BATS_TEST_TMPDIR/gone"; rlctl check k --limit 1000/60s; echo "$?" >&2; } |
      { exec <&-; echo >"$BATS_TEST_TMPDIR/gone"; }'
  assert_equal "$stderr" 141
}

@test "a full disk exits with status 2 for results, JSON and help" {
  [[ -e /dev/full ]] || skip 'no /dev/full here'
  start_server
  local arguments
  for arguments in 'check k --limit 5/60s --peek' 'inspect k' 'check --help' '--version'; do
    # shellcheck disable=SC2086 # split into words
    run -2 --separate-stderr bash -c 'rlctl "$@" >/dev/full' - $arguments
    assert_regex "$stderr" \
      '^rlctl: ((check|inspect): )?cannot write to standard output: no space left on device$'
  done
  run -2 --separate-stderr bash -c 'rlctl check k --limit 5/60s --json >/dev/full'
  run -0 gojq -er .error.code <<<"$stderr"
  assert_output output
}

@test "a closed stdout exits with status 2, unless --quiet makes it unnecessary" {
  start_server
  run -2 --separate-stderr bash -c 'rlctl check k --limit 5/60s >&-'
  assert_regex "$stderr" '^rlctl: check: cannot write to standard output: '
  run -0 bash -c 'rlctl check k --limit 5/60s -q >&-'
}

@test "a closed stderr does not change the status" {
  run -3 bash -c 'rlctl check k --limit 5/60s 2>&-'
  run -2 bash -c 'rlctl chekc 2>&-'
}

@test "a closed stdin exits with status 2 and is not taken for an empty batch" {
  start_server
  run_with_timeout -2 bash -c 'rlctl check --limit 5/60s --batch <&-'
  assert_output --partial 'rlctl: check: cannot read standard input: '
}
