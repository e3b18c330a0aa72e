# needs: server
load ../../support/common

# The input and output of a batch; batch_connection.bats tests its connection.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

batch() { rlctl check --limit 5/60s --now 1000000000 --batch "$@"; }

keys_shown() { sed -nE 's/^(allowed|denied) key=([^ ]*) .*/\2/p' <<<"$output"; }

@test "a line is a key and, after its last tab, a cost; it ends with a newline or the input" {
  local input shown
  while IFS='|' read -r input shown; do
    cli FLUSHALL
    run -0 --separate-stderr batch --refunds < <(printf %b "$input")
    output=$(sed -E 's/^allowed key=([^ ]*) .*remaining=([0-9]+) .*/\1:\2/' <<<"$output" | paste -sd ' ')
    assert_output "$shown"
    assert_equal "$stderr" ''
  done <<'END'
c\na\nb\na\n|c:4 a:4 b:4 a:3
a\t3\nb\t0\na\t-2\nc\td\t2\n|a:2 b:5 a:4 c\td:3
a#b\n #c\n|a#b:4 \x20#c:4
a\nb|a:4 b:4
a\r\nb\t2\r\n\r\nc\rd\r\n|a:4 b:3 c\rd:4
a\0b\n\0\n|a\x00b:4 \x00:4
END
  assert_equal "$(cli --no-raw KEYS '*' | sed 's/^.*) //' | sort)" $'"\\x00"\n"a\\x00b"'
}

@test "an empty batch is accepted, and needs no server" {
  local input
  for input in '' '# nothing'; do
    run -0 --separate-stderr batch -u unix:///nowhere < <(printf %s "$input")
    assert_equal "$output$stderr" ''
  done
}

@test "--cost applies to lines without a cost" {
  run -0 batch --cost 4 <<<$'a\nb\t1'
  assert_line --index 0 --partial 'key=a limit=5/60s remaining=1'
  assert_line --index 1 --partial 'key=b limit=5/60s remaining=4'
}

@test "a cost below 0 is an error, unless --refunds lets a line give units back" {
  run -2 --separate-stderr batch <<<$'eve\t3\neve\t-2\neve\t0'
  assert_line --index 0 --partial 'allowed key=eve limit=5/60s remaining=2 '
  assert_line --index 1 'error line=2 status=2 message="cost -2 is below 0, which requires --refunds"'
  assert_line --index 2 --partial 'allowed key=eve limit=5/60s remaining=2 '
  run -0 batch --refunds <<<$'eve\t-2'
  assert_line --index 0 --partial 'allowed key=eve limit=5/60s remaining=4 '
}

@test "a KEY beside --batch is taken for the file, which the error says" {
  run -2 --separate-stderr rlctl check login:ann --batch --limit 5/60s
  assert_equal "$stderr" "rlctl: check: cannot open 'login:ann': no such file or directory
  hint: --batch reads keys from a file or standard input"
}

@test "comments and blank lines are skipped but count as lines" {
  run -2 --separate-stderr batch <<<$'# a comment\n\n  \t \na\n#b\t1\nb\tx'
  assert_equal "${#lines[@]}" 2
  assert_line --index 0 --partial 'allowed key=a '
  assert_line --index 1 --partial 'error line=6 '
  assert_equal "$(cli DBSIZE)" 1
}

@test "a bad line yields an error with its number in its place, and the batch continues" {
  run -2 --separate-stderr batch <<<$'a\nb\tx\nc\nd\t1.5\n\t1\ne\t10001\nf\t\nk\t-99999999999999999999\ng'
  assert_output "allowed key=a limit=5/60s remaining=4 reset=60.000s
error line=2 status=2 message=\"cost must be a whole number in decimal digits, not 'x'\"
allowed key=c limit=5/60s remaining=4 reset=60.000s
error line=4 status=2 message=\"cost must be a whole number in decimal digits, not '1.5'\"
error line=5 status=2 message=\"the key is empty\"
error line=6 status=2 message=\"cost 10001 is too large for sliding-window-log, which takes up to 10000; gcra takes more\"
error line=7 status=2 message=\"cost must be a whole number in decimal digits, not ''\"
error line=8 status=2 message=\"cost is out of range: '-99999999999999999999'\"
allowed key=g limit=5/60s remaining=4 reset=60.000s"
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x'"
  assert_equal "${#stderr_lines[@]}" 6
}

@test "of consecutive lines that fail alike, stderr names three and counts the others" {
  run -2 --separate-stderr batch < <(seq 2000 | sed 's/.*/k\tx&/')
  assert_equal "${#lines[@]}" 2000
  assert_line --index 1999 --partial 'error line=2000 status=2 '
  assert_equal "$stderr" "rlctl: check: line 1: cost must be a whole number in decimal digits, not 'x1'
rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x2'
rlctl: check: line 3: cost must be a whole number in decimal digits, not 'x3'
rlctl: check: the same error on 1997 more lines (4 to 2000)"
  # A line that is allowed ends the row, and so does one that fails differently.
  run -2 --separate-stderr batch -q <<<$'a\tx\na\tx\na\na\tx\na\tx\n\t1\na\tx'
  assert_equal "$(sed -E 's/.*line ([0-9]).*/\1/' <<<"$stderr" | xargs)" '1 2 4 5 6 7'
  run -2 --separate-stderr batch -q <<<$'a\tx\na\tx\na\tx\na\tx\na\nb\tx'
  assert_equal "${stderr_lines[3]}" 'rlctl: check: the same error on 1 more line (4)'
  assert_equal "${#stderr_lines[@]}" 5
}

@test "with --json every line has its own error, also on stderr with --quiet" {
  run -2 --separate-stderr batch --json < <(yes $'k\tx' | head -n 9)
  assert_equal "$(gojq -s 'length' <<<"$output")$stderr" 9
  run -2 --separate-stderr batch --json --quiet < <(yes $'k\tx' | head -n 9)
  assert_equal "$output$(gojq -s 'length' <<<"$stderr")" 9
  assert_equal "$(gojq -r .error.message <<<"${stderr_lines[8]}")" \
    "line 9: cost must be a whole number in decimal digits, not 'x'"
  cli CONFIG SET maxmemory 1
  run -5 --separate-stderr batch --json --quiet < <(seq 9)
  cli CONFIG SET maxmemory 0
  assert_equal "$(gojq -s 'map(.error.code) | unique[], length' -c <<<"$stderr" | xargs)" 'OOM 9'
}

@test "lines that the server rejects yield errors in their places, and stderr tells of those that fail alike" {
  local key
  for key in {1..6}; do cli SET "$key" text; done
  run -5 --separate-stderr batch < <(echo a; seq 6; echo c)
  assert_equal "$(grep -nE '^error line=. status=5 message=' <<<"$output" | cut -d: -f1 | xargs)" '2 3 4 5 6 7'
  assert_equal "$(keys_shown | xargs)" 'a c'
  assert_regex "${stderr_lines[0]}" "^rlctl: check: line 2: unix://$socket: '1' holds a string, but "
  assert_equal "${stderr_lines[-1]}" 'rlctl: check: the same error on 3 more lines (5 to 7)'
  assert_equal "$(cli GET 1)" text
}

# With several limits, ann and {ann} are stored under the same names.
@test "with several limits, the other spelling of an earlier key is an error" {
  run -2 --separate-stderr batch --limit 9/1h <<<$'ann\n{bob}\n{ann}\nbob\nann\n{bob}\nu:{cid}\ncid'
  assert_equal "$(keys_shown | xargs)" 'ann {bob} ann {bob} u:{cid} cid'
  assert_equal "$stderr" "rlctl: check: line 3: key '{ann}' uses the same Redis key '{ann}:60s' as 'ann' on an earlier line
rlctl: check: line 4: key 'bob' uses the same Redis key '{bob}:60s' as '{bob}' on an earlier line"
  assert_equal "$(cli LLEN '{ann}:60s') $(cli LLEN '{bob}:60s')" '2 2'
  run -0 batch <<<$'ann\n{ann}'
}

long_line() { printf "%$1s" '' | tr ' ' k; }

@test "a line of a megabyte is a key; a longer one is an error, and the next line is read" {
  run -2 --separate-stderr batch < <(long_line 1048576; echo; long_line 3000000; printf '\nlast\n')
  assert_equal "${#lines[@]}" 3
  assert_equal "${#lines[0]}" $((1048576 + 50))
  assert_line --index 1 'error line=2 status=2 message="the line is longer than 1048576 bytes"'
  assert_line --index 2 --partial 'allowed key=last '
  assert_equal "$(cli DBSIZE)" 2
}

@test "one byte more than a megabyte is an error, however it is read" {
  long_line 1048577 >"$BATS_TEST_TMPDIR/long"
  echo >>"$BATS_TEST_TMPDIR/long"
  run -2 --separate-stderr batch "$BATS_TEST_TMPDIR/long"
  assert_output --partial 'error line=1 '
  # In pieces, the last of which is only the newline.
  run -2 --separate-stderr batch < <(long_line 1048577; sleep 0.3; echo)
  assert_output --partial 'error line=1 '
}

@test "the lines come from a file named by option or argument, or from standard input with -" {
  local lines_file=$BATS_TEST_TMPDIR/lines words
  printf 'a\nb\n' >"$lines_file"
  for words in "--batch $lines_file" "--batch=$lines_file" '--batch -' --batch; do
    cli FLUSHALL
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl check --limit 5/60s $words < <([[ $words == */* ]] || cat "$lines_file")
    assert_equal "$(keys_shown)" $'a\nb'
  done
  run -0 rlctl check --batch --limit 5/60s <"$lines_file"
  assert_equal "$(keys_shown)" $'a\nb'
}

@test "--json prints one object per line, including errors" {
  cli SET b text
  run -5 --separate-stderr batch --json <<<$'a\nb\nc\tx\n日本'
  assert_equal "${#lines[@]}" 4
  # Reported only once.
  assert_equal "$stderr" ''
  run -0 gojq -ec '.line // .key, (.error.code // .allowed)' <<<"$output"
  assert_output $'"a"\ntrue\n2\n"WRONGTYPE"\n3\n"usage"\n"日本"\ntrue'
}

@test "--json: the answer of --on-error includes the error, and stderr is empty" {
  run -0 --separate-stderr batch --json --on-error allow -u unix:///nowhere <<<k
  assert_equal "$stderr" ''
  assert_equal "$(gojq -c '[.allowed, .error.code]' <<<"$output")" '[true,"unreachable"]'
}

@test "--quiet prints no results, and errors go to stderr" {
  run -2 --separate-stderr batch -q <<<$'a\nb\tx\nc'
  assert_output ''
  assert_equal "$stderr" "rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x'"
  assert_equal "$(cli DBSIZE)" 2
}

@test "the exit status is the worst: an error, then a denial, then success" {
  run -1 batch -q <<<$'a\t5\na\nb'
  run -2 batch -q <<<$'a\nb\tx\nb'
  cli SET text text
  run -5 batch -q <<<$'a\ntext\nb\tx\nb'
}

@test "several limits, --peek and --now apply to every line" {
  run -1 rlctl check --batch --limit 2/s --limit 3/60s --now 1000000000 <<<$'k\nk\nk'
  assert_line --index 2 \
    'denied key=k limit=2/1s,3/60s remaining=0 retry_after=1.000s reset=60.000s denied_by={k}:1s'
  run -1 rlctl check --batch --limit 2/s --limit 3/60s --now 1000000000 --peek <<<$'k\nother'
  assert_line --index 0 \
    'denied key=k limit=2/1s,3/60s remaining=0 reset=60.000s denied_by={k}:1s'
  assert_line --index 1 'allowed key=other limit=2/1s,3/60s remaining=2 reset=0.000s'
  assert_equal "$(cli DBSIZE)" 2
}

@test "--peek refuses a negative cost on its line" {
  run -2 --separate-stderr batch --peek <<<$'a\t-1\nb'
  assert_line --index 0 --regexp '^error line=1 status=2 '
  assert_line --index 1 --partial 'allowed key=b '
}

@test "many lines are answered in order, and exactly the limit is allowed" {
  seq 20000 | awk '{ print "key" ($1 * 7919) % 200 }' >"$BATS_TEST_TMPDIR/lines"
  rlctl check --limit 60/1h --batch "$BATS_TEST_TMPDIR/lines" >"$BATS_TEST_TMPDIR/results" || assert_equal "$?" 1
  assert_equal "$(grep -c '^allowed ' "$BATS_TEST_TMPDIR/results")" 12000
  cmp "$BATS_TEST_TMPDIR/lines" \
    <(sed -nE 's/^(allowed|denied) key=([^ ]*) .*/\2/p' "$BATS_TEST_TMPDIR/results")
}

@test "many lines for one key from a pipe: exactly the limit is allowed" {
  yes k | head -n 20000 | rlctl check --limit 14000/1h --batch --json >"$BATS_TEST_TMPDIR/results" ||
    assert_equal "$?" 1
  run -0 jq -cn 'reduce inputs as $r ({}; .[$r.allowed | tostring] += 1)' "$BATS_TEST_TMPDIR/results"
  assert_output '{"true":14000,"false":6000}'
  assert_equal "$(cli LLEN k)" 14000
}

# --- long lines and slow readers --------------------------------------------------------------------

# has_lines COUNT FILE
has_lines() { (($(wc -l <"$2") >= $1)); }

@test "only a few long lines are in flight at a time, and all are answered in order" {
  if grep -q __asan_init "$(command -v rlctl)"; then
    skip 'AddressSanitizer keeps freed memory, so that its size says nothing'
  fi
  local fifo=$BATS_TEST_TMPDIR/lines out=$BATS_TEST_TMPDIR/out pid peak
  mkfifo "$fifo"
  rlctl check --limit 5/60s --now 1000000000 --batch <"$fifo" >"$out" 3>&- 4>&- &
  pid=$!
  exec {input}>"$fifo"
  perl -e 'print $_, "k" x 1_000_000, "\n" for 1 .. 80' >&"$input"
  wait_until has_lines 80 "$out"
  peak=$(sed -nE 's/^VmHWM:\s*([0-9]+) kB/\1/p' "/proc/$pid/status")
  exec {input}>&-
  wait "$pid"
  cmp <(perl -pe 's/^allowed key=(\d+)k+ .*/$1/' "$out") <(seq 80)
  (($(wc -c <"$out") > 80 * 1000000)) || fail 'not the whole keys'
  rm "$out"
  ((peak < 60000)) || fail "it took $peak kB"
}

# waits_for_its_reader PID READER: the process sleeps, and the pipe is nearly full.
waits_for_its_reader() {
  local waiting
  waiting=$(perl -e 'ioctl STDIN, 0x541b, my $count = pack "i", 0 or die; print unpack "i", $count' <&"$2") # FIONREAD
  sleeps "$1" && ((waiting > 30000))
}

@test "SIGTERM ends a batch whose output is not read, and nothing is written twice" {
  local fifo=$BATS_TEST_TMPDIR/out keys=$BATS_TEST_TMPDIR/keys pid status=0
  mkfifo "$fifo"
  exec {reader}<>"$fifo"
  seq 20000 >"$BATS_TEST_TMPDIR/lines"
  rlctl check --limit 5/60s --batch "$BATS_TEST_TMPDIR/lines" >"$fifo" {reader}<&- 3>&- 4>&- &
  pid=$!
  wait_until waits_for_its_reader "$pid" "$reader"
  kill -TERM "$pid"
  timeout 120 tail -s 0.05 --pid="$pid" -f /dev/null || kill -KILL "$pid"
  wait "$pid" || status=$?
  assert_equal "$status" 143
  # Whole lines were written, each only once. The pipe has no end, because it is held open.
  dd if="$fifo" iflag=nonblock of="$BATS_TEST_TMPDIR/came" 2>/dev/null || true
  sed -nE 's/^allowed key=([0-9]+) .*reset=60.000s$/\1/p' "$BATS_TEST_TMPDIR/came" >"$keys"
  has_lines 100 "$keys"
  cmp "$keys" <(seq "$(wc -l <"$keys")")
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/came")" "$(wc -l <"$keys")"
}

@test "nothing is lost on a non-blocking standard output" {
  seq 20000 >"$BATS_TEST_TMPDIR/lines"
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
  assert_output '20000 lines, status 0'
}
