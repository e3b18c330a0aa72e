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

@test "a private server is also gone after an error" {
  run -2 rlctl -u private: check --limit 5/60s --batch /nowhere
  run -5 rlctl -u private: -n 99 check k --limit 5/60s
  run -0 folders
  assert_output ''
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

# Starts a batch on a private server, $pid, and sends it a line; it waits for more on $input.
start_batch() {
  mkfifo "$BATS_TEST_TMPDIR/lines"
  exec {input}<>"$BATS_TEST_TMPDIR/lines"
  echo k >&"$input"
  rlctl -u private: check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines" \
    >"$BATS_TEST_TMPDIR/out" 3>&- 4>&- &
  pid=$!
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

# --- output that cannot be written ------------------------------------------------------------------

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
