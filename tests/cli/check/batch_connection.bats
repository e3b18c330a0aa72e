# needs: server
load ../../support/common
load ../../support/cluster

# A batch as a coprocess, and what happens to its connection meanwhile.

teardown() {
  if [[ -n ${process-} ]]; then kill -KILL "$process" 2>/dev/null || true; fi
  stop_servers
}

# start_batch OPTION…: starts a coprocess; `ask LINE…` sends it lines, `answer` reads one of its results
# into $answer, and `end_batch [STATUS]` ends its input, reads $rest and checks its status.
# start_asked OPTION…: the same, with a first line "a" that is answered.
start_batch() {
  coproc BATCH { exec rlctl check --limit 5/60s --batch "$@" 2>"$BATS_TEST_TMPDIR/stderr" 3>&- 4>&-; }
  process=$BATCH_PID
  exec {to_batch}>&"${BATCH[1]}" {from_batch}<&"${BATCH[0]}"
  eval "exec ${BATCH[1]}>&- ${BATCH[0]}<&-"
}
ask() { printf '%s\n' "$@" >&"$to_batch"; }
answer() { IFS= read -r -t 120 -u "$from_batch" answer || fail 'no answer'; }
end_batch() {
  exec {to_batch}>&-
  rest=$(timeout 120 cat <&"$from_batch") || fail 'it did not end'
  local status=0
  wait "$process" || status=$?
  assert_equal "$status" "${1-$status}"
}

assert_answer() {
  answer
  assert_regex "$answer" "$1"
}

start_asked() {
  start_batch "$@"
  ask a
  assert_answer '^allowed key=a '
}

# On the same socket, so that the batch can reconnect.
restart_server() {
  local folder=${socket%/*}
  start_bound "$folder/redis-server" --port 0 --unixsocket "$socket" --dir "$folder" --save '' \
    --appendonly no >"$folder/log" 2>&1
  wait_until_answered "$folder/log"
}

@test "a coprocess answers each line before it gets the next one; a line that arrives in pieces is one line" {
  start_server
  start_batch
  local i
  for i in {4..0}; do
    ask k
    assert_answer "^allowed key=k limit=5/60s remaining=$i "
  done
  cli CLIENT LIST | grep -q ' name=rlctl '
  ask k
  assert_answer '^denied key=k '
  ask $'k\tx'
  assert_answer '^error line=7 status=2 '
  printf 'lo' >&"$to_batch"
  sleep 0.1
  printf 'gin\nsecond' >&"$to_batch"
  assert_answer '^allowed key=login '
  end_batch 2
  assert_regex "$rest" '^allowed key=second '
}

@test "a pause longer than the timeout, and one in which the server closed the connection, are no error" {
  start_server
  start_asked --timeout 5s
  sleep 5.2
  ask b
  assert_answer '^allowed key=b '
  cli CLIENT KILL TYPE normal
  ask c
  assert_answer '^allowed key=c '
  end_batch 0
  assert_equal "$(cat "$BATS_TEST_TMPDIR/stderr")" ''
}

@test "lines after the server was killed are errors, until another one is started, and nothing hangs" {
  start_server
  start_asked --timeout 5s
  kill -KILL "$server_pid"
  ask b c
  assert_answer '^error line=2 status=3 message='
  assert_answer '^error line=3 status=3 message='
  restart_server
  works_again() {
    ask again
    answer
    [[ $answer == 'allowed key=again '* ]]
  }
  wait_until works_again
  end_batch 3
  run -0 cat "$BATS_TEST_TMPDIR/stderr"
  assert_line --index 0 --regexp '^rlctl: check: line 2: '
}

@test "a server that restarts is waited for, as long as for an answer, and no line fails" {
  start_server
  start_asked --timeout 60s
  kill_at "$server_pid" "$socket"
  ask b c
  sleep 0.3
  restart_server
  assert_answer '^allowed key=b '
  assert_answer '^allowed key=c '
  end_batch 0
  assert_equal "$(cat "$BATS_TEST_TMPDIR/stderr")" ''
}

@test "what was not sent when the connection was lost is asked on the next one" {
  start_server
  start_asked --timeout 60s
  kill -STOP "$server_pid"
  # More than the buffers of a socket hold.
  local long i errors
  printf -v long '%0100000d' 0
  for i in {2..41}; do echo "$long$i"; done >&"$to_batch" &
  local writer=$!
  sleep 0.5
  kill -KILL "$server_pid"
  restart_server
  # The writer may still wait for rlctl, which waits until its answers are read.
  end_batch
  wait "$writer"
  errors=$(grep -c '^error .*may have been counted' <<<"$rest") || true
  assert_equal "$(grep -c '^allowed' <<<"$rest")" "$((40 - errors))"
  ((errors < 40))
}

@test "a server that never answers costs one timeout for many lines, not one for each" {
  start_fake_server ''
  run_with_timeout -3 --separate-stderr rlctl check --limit 5/60s --timeout 300ms --batch \
    < <(seq 500)
  assert_equal "$(grep -c '^error' <<<"$output")" 500
}

# start_closing_server REPLY HANGS_UP: a server that replies this to each EVALSHA, and closes a connection that asks for
# anything else, or, if HANGS_UP is 1, when it has replied.
start_closing_server() {
  start_perl_server '
    my %reply = (PING => "+PONG\r\n", CLIENT => "+OK\r\n");
    serve(sub { $reply{$_[0]} // ($_[0] eq "EVALSHA" ? ("-$ARGV[0]\r\n", $ARGV[1]) : ("", 1)) })' "$@"
}

@test "lines after a connection that is lost while failures are explained are answered" {
  start_closing_server 'WRONGTYPE wrong' 0
  # More lines than are in flight at a time.
  run_with_timeout -5 --separate-stderr rlctl check --limit 5/60s --batch < <(seq 1500)
  assert_equal "${#lines[@]}" 1500
}

@test "a server that does not know the script and closes each connection is not asked for ever" {
  start_closing_server 'NOSCRIPT No matching script' 1
  run_with_timeout -3 --separate-stderr rlctl check --limit 5/60s --batch <<<a
  assert_equal "${#lines[@]}" 1
}

@test "a server that sends more answers than requests is not trusted" {
  start_fake_server '*6\r\n:1\r\n:4\r\n:0\r\n:9\r\n:0\r\n:0\r\n*6\r\n:1\r\n:4\r\n:0\r\n:9\r\n:0\r\n:0\r\n'
  start_asked
  sleep 0.1
  ask b
  answer
  end_batch
  [[ $rest != *$'\n'* ]] || fail "more than was asked: $rest"
}

# flush_scripts_after COUNT: flushes the scripts once this many lines were allowed, with others in flight.
flush_scripts_after() {
  pause=0 wait_until eval "((\$(cli LLEN k) >= $1))"
  cli SCRIPT FLUSH >/dev/null
}

@test "SCRIPT FLUSH in the middle of a batch loses nothing and keeps the order" {
  start_server
  {
    yes k | head -n 4000
    flush_scripts_after 400
    yes k | head -n 4000
    flush_scripts_after 4400
    yes k | head -n 4000
  } | rlctl check --limit 8000/1h --batch >"$BATS_TEST_TMPDIR/results" || assert_equal "$?" 1
  # Allowed with one less remaining each time, then denied.
  cmp <(sed -nE 's/^(allowed|denied) .* remaining=([0-9]+) .*/\1 \2/p' "$BATS_TEST_TMPDIR/results") <(
    seq 7999 -1 0 | sed 's/^/allowed /'
    yes 'denied 0' | head -n 4000
  )
  assert_equal "$(cli LLEN k)" 8000
}

@test "after Ctrl-C, a line that was never sent is not said to have been counted" {
  # The first connection is closed, a later one is never answered.
  start_perl_server 'close $listener->accept; my @held;
    while (my $client = $listener->accept) { push @held, $client; open my $mark, ">", $ARGV[0] or die; }' \
    "$BATS_TEST_TMPDIR/held"
  mkfifo "$BATS_TEST_TMPDIR/lines"
  # More lines than are kept in memory, all of which fail; then others until one connects again.
  {
    seq 1500
    while [[ ! -e $BATS_TEST_TMPDIR/held ]]; do
      echo k
      sleep 0.02
    done
    wait_until test -e "$BATS_TEST_TMPDIR/ended"
  } >"$BATS_TEST_TMPDIR/lines" 3>&- &
  run -0 ends_by INT "[[ -e $BATS_TEST_TMPDIR/held ]]" \
    rlctl check --batch --limit 5/60s -n 1 "$BATS_TEST_TMPDIR/lines"
  touch "$BATS_TEST_TMPDIR/ended"
  assert_line 'signal 2'
  refute_output --partial 'in flight'
}
