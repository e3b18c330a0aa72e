# needs: server
load ../../support/common

# `rlctl reset --match PATTERN`, where it needs a process; match.t has the rest.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

# allow KEY [OPTION…]: creates a limiter's state, with a window so long that it does not expire during a test.
allow() { rlctl check -q --limit 5/1000d "${@:2}" -- "$1"; }

# fill PREFIX N: creates N keys of gcra.
fill() {
  cli EVAL 'for i = 1, ARGV[2] do
    redis.call("SET", ARGV[1] .. i, struct.pack("<c5dI4I4dI4", "gcra ", 1700000034409170, 2, 7, 6e7, 7))
  end' 0 "$1" "$2" >/dev/null
}

three() {
  allow login:ann
  allow login:bob
  allow login:cid --algorithm gcra
}

# at_question TYPED COMMAND [ACTION]: runs the shell command at a terminal; at its question, runs ACTION and types TYPED.
# Prints what the terminal shows; the status is the command's.
at_question() {
  local status=0
  TERM=dumb at_terminal "wait_until grep -q 'y/N' \"\$screen\"; { ${3-true}; } >/dev/null; printf '$1'" "$2" ||
    status=$?
  tr -d '\r' <"$BATS_TEST_TMPDIR/screen"
  return "$status"
}

@test "memory does not grow with the number of keys" {
  needs_plain_build
  fill "$(head -c 4000 /dev/zero | tr '\0' k)" 10000
  run -0 bash -c 'ulimit -v 50000 && exec rlctl reset -q --match "k*" --yes'
  assert_equal "$(cli DBSIZE)" 0
}

# --- the confirmation -------------------------------------------------------------------------------

@test "on a terminal reset shows the kinds of keys and asks, and y or yes removes them" {
  needs_terminal
  local typed
  for typed in 'y\n' 'Yes\n'; do
    three
    allow login:dan
    allow login:eve
    run -0 at_question "$typed" "rlctl reset --match 'login:*'"
    assert_line --partial "remove 5 keys (4 sliding-window-log, 1 gcra) from $RLCTL_URL: login:ann, login:bob, login:cid and 2 more?"
    assert_line 'removed key=login:cid algorithm=gcra'
    assert_line 'removed 5 keys (4 sliding-window-log, 1 gcra)'
    assert_equal "$(cli DBSIZE)" 0
  done
}

@test "any other answer, an empty line, the end of input or Ctrl-C removes nothing" {
  needs_terminal
  three
  local typed
  for typed in 'n\n' '\n' 'yesterday\n' '\004'; do
    run -1 at_question "$typed" "rlctl reset --match 'login:*' --save $BATS_TEST_TMPDIR/s"
    assert_line --partial "remove 3 keys (2 sliding-window-log, 1 gcra) from $RLCTL_URL: login:ann, login:bob and login:cid?"
    assert_line --partial 'nothing was removed'
  done
  run -130 at_question '\003' "rlctl reset --match 'login:*'"
  refute_line --partial 'removed'
  assert_equal "$(cli DBSIZE) $(find "$BATS_TEST_TMPDIR" -name s)" '3 '
}

@test "only the keys in the question are removed, as they were then, even with --force" {
  needs_terminal
  three
  cli SET login:views 5
  run -5 at_question 'y\n' "rlctl reset --force --match 'login:*' --save $BATS_TEST_TMPDIR/s" \
    'allow login:new; cli DEL login:views login:cid; cli HSET login:views precious x; allow login:cid'
  assert_line --partial 'NOT limiter state: 1 key, login:views'
  assert_line --partial 'remove 4 keys (2 sliding-window-log, 1 foreign-counter, 1 gcra) from '
  assert_line 'left key=login:cid type=list algorithm=sliding-window-log reason=changed'
  assert_line 'left key=login:views type=hash reason=changed'
  assert_line 'removed 2 keys (2 sliding-window-log); left 2 that now hold something else'
  assert_equal "$(cli KEYS '*' | sort | xargs)" 'login:cid login:new login:views'
  run -0 rlctl reset --restore "$BATS_TEST_TMPDIR/s"
}

@test "no question is asked if standard input or standard error is not a terminal" {
  needs_terminal
  three
  run -2 script -qec "rlctl reset --match '*' </dev/null" /dev/null </dev/null
  assert_output --partial 'refusing to remove 3 keys without --yes'
  run -2 script -qec "rlctl reset --match '*' 2>'$BATS_TEST_TMPDIR/errors'" /dev/null </dev/null
  assert_regex "$(<"$BATS_TEST_TMPDIR/errors")" 'refusing to remove 3 keys without --yes'
  assert_equal "$(cli DBSIZE)" 3
}

@test "a terminal shows the progress after one second" {
  needs_terminal
  start_server # which may stay stopped if this fails
  fill k: 5000
  kill -STOP "$server_pid"
  # It has sent its request and gets no answer for more than a second.
  run -0 at_terminal 'wait_until eval "sleeps \$(<$BATS_TEST_TMPDIR/pid)"; sleep 1.2; kill -CONT "$server_pid"' \
    "echo \$\$ >$BATS_TEST_TMPDIR/pid; exec rlctl reset --match 'k:*' --yes >/dev/null"
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --regexp '[0-9]%  of the database, [0-9]+ keys removed; [0-9]+ [a-z]+ left; Ctrl-C stops'
  assert_output --partial $'\r\e[Kremoved 5000 keys (5000 gcra)'
}

# --- odd replies, and Ctrl-C ------------------------------------------------------------------------

@test "a key that SCAN returns twice is counted once, and one that has gone since is not" {
  start_perl_server '
    my %reply = (ROLE => "*3\r\n\$6\r\nmaster\r\n:0\r\n*0\r\n", CLIENT => "+OK\r\n", SCRIPT => "\$1\r\nx\r\n",
                 CLUSTER => "-ERR cluster support disabled\r\n", TYPEk => "+set\r\n", TYPEg => "+none\r\n",
                 SCAN0 => "*2\r\n\$1\r\n5\r\n*1\r\n\$1\r\nk\r\n", SCAN5 => "*2\r\n\$1\r\n0\r\n*2\r\n\$1\r\nk\r\n\$1\r\ng\r\n");
    serve(sub { $reply{$_[0]} // $reply{"$_[0]$_[1]"} // die "unexpected @_" })'
  local words
  for words in --dry-run --yes; do
    run -0 --separate-stderr rlctl reset --match '*' "$words"
    assert_output ''
    assert_regex "$stderr" '^(would remove|removed) no key; left 1 without limiter state \(1 set\)$'
  done
}

some_are_removed() { (($(cli DBSIZE) < 4000)); }

@test "Ctrl-C partway reports how many keys were removed, and ends by the signal" {
  fill k: 5000
  mkfifo "$BATS_TEST_TMPDIR/results"
  # The pipe fills up before all are removed.
  env --default-signal=INT rlctl reset --match 'k:*' --yes >"$BATS_TEST_TMPDIR/results" \
    2>"$BATS_TEST_TMPDIR/errors" 3>&- 4>&- &
  local pid=$! status=0
  exec 7<"$BATS_TEST_TMPDIR/results"
  wait_until some_are_removed
  kill -INT "$pid"
  wait "$pid" || status=$?
  assert_equal "$status" 130
  # Whether a batch was in flight depends on when the signal arrived: its keys, three of them named, are
  # counted separately.
  local message pattern unknown=0
  message=$(tail -n +2 "$BATS_TEST_TMPDIR/errors")
  pattern='^rlctl: reset: interrupted; (.* and ([0-9]+) more may have been removed; )?'
  pattern+='([0-9]+) keys had already been removed$'
  assert_regex "$message" "$pattern"
  [[ $message =~ $pattern ]]
  [[ -z ${BASH_REMATCH[1]} ]] || unknown=$((BASH_REMATCH[2] + 3))
  local reported=${BASH_REMATCH[3]} removed=$((5000 - $(cli DBSIZE)))
  ((reported <= removed && removed <= reported + unknown))
}
