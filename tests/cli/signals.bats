# needs: server
load ../support/common

# What ends rlctl from outside. tests/faults has signals, full disks and readers that exit, for every command.

setup() {
  # Private to this test, so that its remaining contents are known, and short enough for a socket's path.
  export TMPDIR=$BATS_TEST_TMPDIR
}

folders() { find "$TMPDIR" -maxdepth 1 -name 'rlctl-*'; }

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

# timeout(1) signals its child, and then its process group, to which the child belongs.
@test "a signal that comes twice at once ends rlctl as one does: nothing is left" {
  local signal pid status
  for signal in INT TERM; do
    perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' rlctl adversary gcra --tries 1000000000 -u private: -q 3>&- 4>&- &
    pid=$! status=0
    wait_until eval 'compgen -G "$TMPDIR/rlctl-*/redis.sock" >/dev/null'
    perl -e 'kill $ARGV[0] => $ARGV[1], $ARGV[1], $ARGV[1]' "$signal" "$pid"
    wait "$pid" || status=$?
    assert_equal "$status" "$((128 + $(kill -l "$signal")))"
    assert_equal "$(folders)" ''
  done
}

@test "a private server is also gone after an error" {
  run -2 rlctl -u private: check --limit 5/60s --batch /nowhere
  run -5 rlctl -u private: -n 99 check k --limit 5/60s
  run -0 folders
  assert_output ''
}

@test "what rlctl left after kill -9 is removed when it is an hour old, and nothing that a running one has" {
  # A batch that waits for its second line.
  mkfifo "$BATS_TEST_TMPDIR/lines"
  exec {input}<>"$BATS_TEST_TMPDIR/lines"
  echo k >&"$input"
  rlctl -u private: check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/out" 3>&- 4>&- &
  local folder living killed=$!
  wait_until grep -q allowed "$BATS_TEST_TMPDIR/out"
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

@test "stdout that is closed does not matter with --quiet, closed stderr never does, and closed stdin is no empty batch" {
  start_server
  run -0 bash -c 'rlctl check k --limit 5/60s -q >&-'
  run -0 bash -c 'rlctl reset k -q >&-'
  assert_equal "$(cli EXISTS k)" 0
  run -2 bash -c 'rlctl chekc 2>&-'
  RLCTL_URL=unix:///nowhere run -3 bash -c 'rlctl check k --limit 5/60s 2>&-'
  run_with_timeout -2 bash -c 'rlctl check --limit 5/60s --batch <&-'
  assert_output --partial 'rlctl: check: cannot read standard input: '
}
