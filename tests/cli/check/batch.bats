load ../../support/common

# The input and output of a batch; batch_connection.bats tests its connection.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

batch() { rlctl check --limit 5/60s --now 1000000000 --batch "$@"; }

keys_shown() { sed -nE 's/^(allowed|denied) key=([^ ]*) .*/\2/p' <<<"$output"; }

@test "--batch reads one key per line and prints one result per line, in the same order" {
  run -0 --separate-stderr batch <<<$'c\na\nb\na'
  assert_output "allowed key=c limit=5/60s remaining=4 reset=60.000s
allowed key=a limit=5/60s remaining=4 reset=60.000s
allowed key=b limit=5/60s remaining=4 reset=60.000s
allowed key=a limit=5/60s remaining=3 reset=60.000s"
  assert_equal "$stderr" ''
}

@test "a cost follows a tab; the last tab counts, so that a key may contain tabs" {
  run -0 batch <<<$'a\t3\nb\t0\na\t-2\nc\td\t2'
  assert_equal "$(sed -E 's/.*(key=[^ ]*).*(remaining=[0-9]).*/\1 \2/' <<<"$output")" \
    'key=a remaining=2
key=b remaining=5
key=a remaining=4
key=c\td remaining=3'
  assert_equal "$(cli LLEN $'c\td')" 2
}

@test "--cost applies to lines without a cost" {
  run -0 batch --cost 4 <<<$'a\nb\t1'
  assert_line --index 0 --partial 'key=a limit=5/60s remaining=1'
  assert_line --index 1 --partial 'key=b limit=5/60s remaining=4'
}

@test "comments and blank lines are skipped but count as lines" {
  run -2 --separate-stderr batch <<<$'# a comment\n\n  \t \na\n#b\t1\nb\tx'
  assert_equal "${#lines[@]}" 2
  assert_line --index 0 --partial 'allowed key=a '
  assert_line --index 1 --partial 'error line=6 '
  assert_equal "$(cli DBSIZE)" 1
}

@test "a # within a line is part of the key" {
  run -0 batch <<<$'a#b\n #c'
  assert_equal "$(keys_shown)" $'a#b\n\\x20#c'
}

@test "a bad line yields an error with its number in its place, and the batch continues" {
  run -2 --separate-stderr batch <<<$'a\nb\tx\nc\nd\t1.5\n\t1\ne\t10001\nf\t\ng'
  assert_output "allowed key=a limit=5/60s remaining=4 reset=60.000s
error line=2 status=2 message=cost\\x20must\\x20be\\x20a\\x20whole\\x20number\\x20in\\x20decimal\\x20digits,\\x20not\\x20'x'
allowed key=c limit=5/60s remaining=4 reset=60.000s
error line=4 status=2 message=cost\\x20must\\x20be\\x20a\\x20whole\\x20number\\x20in\\x20decimal\\x20digits,\\x20not\\x20'1.5'
error line=5 status=2 message=the\\x20key\\x20is\\x20empty
error line=6 status=2 message=cost\\x2010001\\x20is\\x20too\\x20large\\x20for\\x20sliding-window-log,\\x20which\\x20takes\\x20up\\x20to\\x2010000;\\x20gcra\\x20takes\\x20more
error line=7 status=2 message=cost\\x20must\\x20be\\x20a\\x20whole\\x20number\\x20in\\x20decimal\\x20digits,\\x20not\\x20''
allowed key=g limit=5/60s remaining=4 reset=60.000s"
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: line 2: cost must be a whole number in decimal digits, not 'x'"
  assert_equal "${#stderr_lines[@]}" 5
}

@test "a cost that no number can hold is out of range" {
  run -2 --separate-stderr batch <<<$'k\t99999999999999999999\nk\t-99999999999999999999'
  assert_equal "$stderr" "rlctl: check: line 1: cost is out of range: '99999999999999999999'
rlctl: check: line 2: cost is out of range: '-99999999999999999999'"
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
  assert_equal "$(jq -s 'length' <<<"$output")$stderr" 9
  run -2 --separate-stderr batch --json --quiet < <(yes $'k\tx' | head -n 9)
  assert_equal "$(jq -s 'length' <<<"$stderr")" 9
  cli CONFIG SET maxmemory 1
  run -5 --separate-stderr batch --json --quiet < <(seq 9)
  cli CONFIG SET maxmemory 0
  assert_equal "$(jq -s 'map(.error.code) | unique[], length' -c <<<"$stderr" | xargs)" 'OOM 9'
}

@test "keys that hold something else fail alike, each with its own error in the output" {
  local key
  for key in {1..6}; do cli SET "$key" text; done
  run -5 --separate-stderr batch < <(seq 6)
  assert_equal "$(grep -c '^error line=. status=5 ' <<<"$output")" 6
  assert_regex "${stderr_lines[0]}" "^rlctl: check: line 1: unix://$socket: '1' holds a string, but sliding-window-log keeps a list"
  assert_equal "${stderr_lines[-1]}" 'rlctl: check: the same error on 3 more lines (4 to 6)'
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

@test "a line that the server rejects yields an error in its place" {
  cli SET b text
  run -5 --separate-stderr batch <<<$'a\nb\nc'
  assert_equal "${#lines[@]}" 3
  assert_line --index 1 --regexp '^error line=2 status=5 message='
  assert_regex "$stderr" "^rlctl: check: line 2: unix://$socket: 'b' holds a string, but sliding-window-log keeps a list"
  assert_equal "$(cli GET b)" text
}

@test "the last line needs no newline" {
  run -0 batch < <(printf 'a\nb')
  assert_equal "$(keys_shown)" $'a\nb'
}

@test "an empty batch is accepted" {
  run -0 --separate-stderr batch </dev/null
  assert_equal "$output$stderr" ''
  run -0 batch <<<'# nothing'
  assert_output ''
}

@test "an empty batch needs no server" {
  run -0 batch -u unix:///nowhere <<<'# nothing'
  assert_output ''
}

@test "a carriage return before the newline is not part of the key" {
  run -0 batch < <(printf 'a\r\nb\t2\r\n\r\nc\rd\r\n')
  assert_equal "$(keys_shown)" $'a\nb\nc\\rd'
  assert_equal "$(cli LLEN b)" 2
}

@test "NUL bytes are part of the key" {
  run -0 batch < <(printf 'a\0b\n\0\n')
  assert_equal "$(keys_shown)" $'a\\x00b\n\\x00'
  assert_equal "$(cli --no-raw KEYS '*' | sed 's/^.*) //' | sort)" $'"\\x00"\n"a\\x00b"'
}

long_line() { printf "%$1s" '' | tr ' ' k; }

@test "a line of a megabyte is a key; a longer one is an error, and the next line is read" {
  run -2 --separate-stderr batch < <(long_line 1048576; echo; long_line 3000000; printf '\nlast\n')
  assert_equal "${#lines[@]}" 3
  assert_equal "${#lines[0]}" $((1048576 + 50))
  assert_line --index 1 'error line=2 status=2 message=the\x20line\x20is\x20longer\x20than\x201048576\x20bytes'
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
  printf 'a\nb\n' >"$BATS_TEST_TMPDIR/lines"
  run -0 rlctl check --limit 5/60s --now 1 --batch "$BATS_TEST_TMPDIR/lines"
  local expected=$output
  assert_equal "${#lines[@]}" 2
  cli FLUSHALL
  run -0 rlctl check --limit 5/60s --now 1 "--batch=$BATS_TEST_TMPDIR/lines"
  assert_output "$expected"
  cli FLUSHALL
  run -0 rlctl check --limit 5/60s --now 1 --batch - <"$BATS_TEST_TMPDIR/lines"
  assert_output "$expected"
  cli FLUSHALL
  run -0 rlctl check --batch --limit 5/60s --now 1 <"$BATS_TEST_TMPDIR/lines"
  assert_output "$expected"
}

@test "a file that cannot be read exits with status 2" {
  run -2 --separate-stderr batch /nowhere
  assert_equal "$stderr" "rlctl: check: cannot open '/nowhere': no such file or directory"
  run -2 --separate-stderr batch "$BATS_TEST_TMPDIR"
  assert_equal "$stderr" "rlctl: check: cannot read '$BATS_TEST_TMPDIR': is a directory"
  run -2 --separate-stderr rlctl check --limit 5/60s --batch ''
  assert_equal "${stderr_lines[0]}" 'rlctl: check: --batch: the file name is empty'
}

@test "two files are refused" {
  run -2 --separate-stderr batch a b
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: unexpected argument 'b': --batch reads its keys from one file or standard input"
}

@test "--json prints one object per line, including errors" {
  cli SET b text
  run -5 --separate-stderr batch --json <<<$'a\nb\nc\tx\n日本'
  assert_equal "${#lines[@]}" 4
  # Reported only once.
  assert_equal "$stderr" ''
  run -0 jq -ec '.line // .key, (.error.code // .allowed)' <<<"$output"
  assert_output $'"a"\ntrue\n2\n"WRONGTYPE"\n3\n"usage"\n"日本"\ntrue'
}

@test "--json: an error in a batch has its line, and its fields have the usual types" {
  run -2 --separate-stderr batch --json <<<$'c\tx'
  assert_output \
    $'{"line":1,"error":{"code":"usage","message":"cost must be a whole number in decimal digits, not \'x\'","hint":null}}'
}

@test "--json: the answer of --on-error includes the error, and stderr is empty" {
  run -0 --separate-stderr batch --json --on-error allow -u unix:///nowhere <<<k
  assert_equal "$stderr" ''
  run -0 jq -c '[.allowed, .error.code]' <<<"$output"
  assert_output '[true,"unreachable"]'
}

@test "--json --quiet: errors are printed on stderr as JSON" {
  run -2 --separate-stderr batch --json --quiet <<<$'a\nc\tx'
  assert_output ''
  assert_equal "$stderr" \
    $'{"error":{"code":"usage","message":"line 2: cost must be a whole number in decimal digits, not \'x\'","hint":null}}'
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
