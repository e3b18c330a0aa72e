# needs: server
load ../../support/common

# Batches with long, many and odd lines, and slow readers; batch.t has the others, batch_connection.bats their
# connection.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

batch() { rlctl check --limit 5/60s --now 1000000000 --batch "$@"; }

@test "a line may end with CR LF, or with the input, and contain NUL and CR; blank lines are skipped" {
  run -0 --separate-stderr batch < <(printf 'a\r\nb\t2\r\n\r\n \t \nc\rd\r\na\0b\n\0\na')
  assert_equal "$(sed -E 's/^allowed key=([^ ]*) .*remaining=([0-9]+) .*/\1:\2/' <<<"$output" | xargs -d '\n')" \
    'a:4 b:3 c\rd:4 a\x00b:4 \x00:4 a:3'
  assert_equal "$(cli --no-raw KEYS $'*[^a-d]*' | sed 's/^.*) //' | sort)" $'"\\x00"\n"a\\x00b"\n"c\\rd"'
}

long_line() { printf "%$1s" '' | tr ' ' k; }

@test "a line of a megabyte is a key; a longer one is an error, and the next line is read" {
  run -2 --separate-stderr batch < <(long_line 1048576; echo; long_line 1048577; printf '\nlast\n')
  assert_equal "${#lines[@]}" 3
  assert_equal "${#lines[0]}" $((1048576 + 50))
  assert_line --index 1 'error line=2 status=2 message="the line is longer than 1048576 bytes"'
  assert_line --index 2 --partial 'allowed key=last '
  assert_equal "$(cli DBSIZE)" 2
}

@test "many lines are answered in order, and exactly the limit is allowed" {
  # More than are in flight at a time.
  seq 5000 | awk '{ print "key" ($1 * 7919) % 50 }' >"$BATS_TEST_TMPDIR/lines"
  rlctl check --limit 60/1h --batch "$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/results" || assert_equal "$?" 1
  assert_equal "$(grep -c '^allowed ' "$BATS_TEST_TMPDIR/results")" 3000
  cmp "$BATS_TEST_TMPDIR/lines" \
    <(sed -nE 's/^(allowed|denied) key=([^ ]*) .*/\2/p' "$BATS_TEST_TMPDIR/results")
}

# has_lines COUNT FILE
has_lines() { (($(wc -l <"$2") >= $1)); }

@test "only a few long lines are in flight at a time, and all are answered in order" {
  needs_plain_build
  local fifo=$BATS_TEST_TMPDIR/lines out=$BATS_TEST_TMPDIR/out pid peak
  mkfifo "$fifo"
  rlctl check --limit 5/60s --now 1000000000 --batch <"$fifo" >"$out" 3>&- 4>&- &
  pid=$!
  exec {input}>"$fifo"
  perl -e 'print $_, "k" x 1_000_000, "\n" for 1 .. 80' >&"$input"
  pause=0.3 wait_until has_lines 80 "$out"
  peak=$(sed -nE 's/^VmHWM:\s*([0-9]+) kB/\1/p' "/proc/$pid/status")
  exec {input}>&-
  wait "$pid"
  cmp <(perl -pe 's/^allowed key=(\d+)k+ .*/$1/' "$out") <(seq 80)
  (($(wc -c <"$out") > 80 * 1000000)) || fail 'not the whole keys'
  rm "$out"
  ((peak < 60000)) || fail "it took $peak kB"
}

@test "nothing is lost on a non-blocking standard output" {
  # The answers are more than a pipe holds.
  seq 5000 >"$BATS_TEST_TMPDIR/lines"
  run -0 perl -MFcntl -e '
    pipe my $read, my $write or die;
    fcntl $write, F_SETFL, O_NONBLOCK or die;
    my $pid = fork // die;
    if (!$pid) { open STDOUT, ">&", $write or die; exec @ARGV; die }
    close $write;
    select undef, undef, undef, 0.5;
    my $count = 0;
    $count++ while <$read>;
    waitpid $pid, 0;
    print "$count lines, status $?\n"' rlctl check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines"
  assert_output '5000 lines, status 0'
}
