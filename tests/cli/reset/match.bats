# needs: server
load ../../support/common

not_saved='not saved: --save FILE keeps what is removed, and --restore puts it back'

# `rlctl reset --match PATTERN`.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli ACL SETUSER default on nopass +@all '~*' >/dev/null
}

# ask KEY [OPTION…]: creates a limiter's state, with a window so long that it does not expire during a test.
ask() { rlctl check -q --limit 5/1000d "${@:2}" -- "$1"; }

# fill PREFIX N: creates N keys of gcra.
fill() {
  cli EVAL 'for i = 1, ARGV[2] do
    redis.call("SET", ARGV[1] .. i, struct.pack("<c5dI4I4dI4", "gcra ", 1700000034409170, 2, 7, 6e7, 7))
  end' 0 "$1" "$2" >/dev/null
}

# hold: the contents of every key, and whether it has a TTL.
hold() {
  cli EVAL "local out = {}
    local keys = redis.call('KEYS', '*')
    table.sort(keys)
    for _, key in ipairs(keys) do
      local expires = redis.call('PTTL', key) > 0
      out[#out + 1] = key .. ' ' .. redis.sha1hex(redis.call('DUMP', key)) .. ' ' .. tostring(expires)
    end
    return out" 0
}

three() {
  ask login:ann
  ask login:bob
  ask login:cid --algorithm gcra
}

# answer TYPED COMMAND [ACTION]: runs the shell command at a terminal; at its question, runs ACTION and types TYPED.
# Prints what the terminal shows; the status is the command's.
answer() {
  local status=0
  TERM=dumb at_terminal "wait_until grep -q 'y/N' \"\$screen\"; { ${3-true}; } >/dev/null; printf '$1'" "$2" ||
    status=$?
  tr -d '\r' <"$BATS_TEST_TMPDIR/screen"
  return "$status"
}

@test "--yes removes the limiters that match and nothing else" {
  three
  ask api
  cli HSET login:sessions f v
  cli SET login:views 17
  local before
  before=$(hold | grep -v 'login:[abc]')
  run -0 --separate-stderr rlctl reset --match 'login:*' --yes
  assert_equal "$(sort <<<"$output")" 'removed key=login:ann algorithm=sliding-window-log
removed key=login:bob algorithm=sliding-window-log
removed key=login:cid algorithm=gcra'
  assert_equal "$stderr" "$not_saved
removed 3 keys (2 sliding-window-log, 1 gcra); left 1 without limiter state (1 hash); left 1 that may belong to another program (1 foreign-counter); --force removes all 2"
  assert_equal "$(hold)" "$before"
}

@test "if nothing matches, or no match is a limiter, there was nothing to remove, which --must-exist makes status 1" {
  cli SET text hello
  run -0 --separate-stderr rlctl reset --match 'login:*' --yes
  assert_output ''
  assert_equal "$stderr" "nothing to remove
  hint: keys with several limits have other names: '{login:*}:*'"
  run -0 --separate-stderr rlctl reset --match '*'
  assert_equal "$stderr" 'removed no key; left 1 without limiter state (1 string)'
  run -0 rlctl reset --match '*' --dry-run
  assert_output 'would remove no key; left 1 without limiter state (1 string)'
  run -1 rlctl reset --must-exist --match 'login:*' --yes
  run -1 rlctl reset --must-exist --match '*'
  run -1 rlctl reset --must-exist --match '*' --dry-run
}

@test "--force removes everything that matches" {
  cli SET text hello
  cli HSET hash f v
  cli SET other x
  run -0 --separate-stderr rlctl reset --match '*t*' --yes --force
  assert_output --partial 'removed key=text type=string'
  assert_equal "$stderr" "$not_saved
removed 2 keys (2 string)"
  assert_equal "$(cli KEYS '*')" hash
}

@test "the pattern has Redis's syntax" {
  ask ab
  ask ac
  ask ad
  ask 'a*'
  run -0 rlctl reset -q --match 'a[bc]' --yes
  assert_equal "$(cli KEYS '*' | sort | xargs)" 'a* ad'
  run -0 rlctl reset -q --match 'a\*' --yes
  assert_equal "$(cli KEYS '*')" ad
}

@test "--dry-run lists what would be removed, each key once, and changes nothing" {
  three
  cli SET text hello
  local before
  before=$(hold)
  run -0 --separate-stderr rlctl reset --match '*' --dry-run
  assert_output 'would-remove key=login:ann algorithm=sliding-window-log
would-remove key=login:bob algorithm=sliding-window-log
would-remove key=login:cid algorithm=gcra'
  assert_equal "$stderr" 'would remove 3 keys (2 sliding-window-log, 1 gcra); left 1 without limiter state (1 string)'
  run -0 rlctl reset --match '*' --dry-run --yes -q
  assert_output ''
  assert_equal "$(hold)" "$before"
}

@test "without --yes and without a terminal nothing is removed, and the number of matches is reported" {
  three
  local before
  before=$(hold)
  run -2 --separate-stderr rlctl reset --match '*' </dev/null
  assert_output ''
  assert_equal "$stderr" 'rlctl: reset: refusing to remove 3 keys without --yes
  hint: --dry-run lists what would be removed, --yes removes it, --save FILE keeps a copy of what is removed'
  run -2 --separate-stderr rlctl reset --match 'login:ann' --json
  assert_equal "$(gojq -r .error.message <<<"$stderr")" 'refusing to remove 1 key without --yes'
  assert_equal "$(hold)" "$before"
}

@test "--json lists what is removed and with --verbose what is left, and stderr is empty" {
  ask k
  cli SET text hello
  run -0 --separate-stderr rlctl reset --match '*' --yes --json --verbose
  assert_equal "$stderr" ''
  assert_equal "$(jq -sc 'sort_by(.key) | .[]' <<<"$output")" \
    '{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
{"key":"text","result":"left","type":"string","library":null,"algorithm":null,"reason":"no-limiter-state","part_of":null}'
  ask k
  run -0 --separate-stderr rlctl reset --match '*' --yes --json
  assert_output '{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}'
}

@test "thousands of keys are removed in batches, and each has its line" {
  fill k: 3000
  fill other: 100
  run -0 --separate-stderr rlctl reset --match 'k:*' --yes
  assert_equal "$(sort -u <<<"$output" | wc -l)" 3000
  assert_equal "$stderr" "$not_saved
removed 3000 keys (3000 gcra)"
  assert_equal "$(cli DBSIZE)" 100
}

@test "memory does not grow with the number of keys" {
  [[ $RLCTL_BUILD != */sanitize ]] || skip 'ASan takes all addresses for itself'
  fill "$(head -c 4000 /dev/zero | tr '\0' k)" 15000
  run -0 bash -c 'ulimit -v 60000 && exec rlctl reset -q --match "k*" --yes'
  assert_equal "$(cli DBSIZE)" 0
}

# --- the confirmation -------------------------------------------------------------------------------

@test "on a terminal reset shows the kinds of keys and asks, and y or yes removes them" {
  needs_terminal
  local typed
  for typed in 'y\n' 'yes\n' 'Y\n'; do
    three
    ask login:dan
    ask login:eve
    run -0 answer "$typed" "rlctl reset --match 'login:*'"
    assert_line --partial "remove 5 keys (4 sliding-window-log, 1 gcra) from $RLCTL_URL: login:ann, login:bob, login:cid and 2 more?"
    assert_line 'removed key=login:cid algorithm=gcra'
    assert_line 'removed 5 keys (4 sliding-window-log, 1 gcra)'
    assert_equal "$(cli DBSIZE)" 0
  done
}

@test "any other answer, an empty line, the end of input or Ctrl-C removes nothing" {
  needs_terminal
  three
  local typed before
  before=$(hold)
  for typed in 'n\n' '\n' 'yesterday\n' '\004'; do
    run -1 answer "$typed" "rlctl reset --match 'login:*'"
    assert_line --partial "remove 3 keys (2 sliding-window-log, 1 gcra) from $RLCTL_URL: login:ann, login:bob and login:cid?"
    assert_line --partial 'nothing was removed'
  done
  run -130 answer '\003' "rlctl reset --match 'login:*'"
  refute_line --partial 'removed'
  assert_equal "$(hold)" "$before"
}

@test "a key replaced during the question is left and reported, also with --force" {
  needs_terminal
  cli SET a1 5
  cli SET a2 5
  run -5 answer 'y\n' "rlctl reset --force --match 'a*'" 'cli DEL a1; cli HSET a1 precious x'
  assert_line --partial 'NOT limiter state: 2 keys, a1 and a2'
  assert_line --partial "remove 2 keys (2 foreign-counter) from $RLCTL_URL: a1 and a2?"
  assert_line 'left key=a1 type=hash reason=changed'
  assert_line 'removed key=a2 algorithm=foreign-counter'
  assert_line 'removed 1 key (1 foreign-counter); left 1 that now hold something else'
  assert_equal "$(cli HGET a1 precious)" x
}

@test "a key that SCAN returns twice is counted once, even if it is left" {
  # Its type is asked for by the search, and again with its contents.
  local twice='*2\r\n$1\r\n%s\r\n*1\r\n$1\r\nk\r\n+set\r\n+set\r\n'
  local replies
  # shellcheck disable=SC2059 # with the cursor
  replies=$(printf "${twice//\\/\\\\}" 5)$(printf "${twice//\\/\\\\}" 0)
  start_fake_server "$replies"
  run -0 --separate-stderr rlctl reset --match '*' --dry-run --verbose
  assert_output 'left key=k type=set reason=no-limiter-state'
  assert_equal "$stderr" 'would remove no key; left 1 without limiter state (1 set)'
  start_fake_server "$replies"
  run -0 --separate-stderr rlctl reset --match '*' --yes --verbose
  assert_output 'left key=k type=set reason=no-limiter-state'
  assert_equal "$stderr" "removed no key; left 1 without limiter state (1 set)"
}

@test "only the keys in the question are removed, as they were then" {
  needs_terminal
  three
  run -5 answer 'y\n' "rlctl reset --match 'login:*'" \
    'ask login:new; cli DEL login:bob login:cid; cli HSET login:bob f v; ask login:cid'
  assert_line --partial "remove 3 keys (2 sliding-window-log, 1 gcra) from $RLCTL_URL: login:ann, login:bob and login:cid?"
  assert_line 'left key=login:cid type=list algorithm=sliding-window-log reason=changed'
  assert_line 'removed 1 key (1 sliding-window-log); left 2 that now hold something else'
  assert_equal "$(cli KEYS '*' | sort | xargs)" 'login:bob login:cid login:new'
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
  start_server # to be stopped for a while
  fill k: 5000
  kill -STOP "$server_pid"
  # It has sent its request and gets no answer for more than a second.
  run -0 at_terminal 'wait_until eval "sleeps \$(<$BATS_TEST_TMPDIR/pid)"; sleep 1.2; kill -CONT "$server_pid"' \
    "echo \$\$ >$BATS_TEST_TMPDIR/pid; exec rlctl reset --match 'k:*' --yes >/dev/null"
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --regexp '[0-9]%  of the database, [0-9]+ keys removed; Ctrl-C stops'
  assert_output --partial $'\r\e[Kremoved 5000 keys (5000 gcra)'
}

# --- failures, and refusals of the server -----------------------------------------------------------

@test "if standard output is closed nothing is removed, unless nothing would be printed" {
  ask k
  run -2 bash -c 'rlctl reset --match k --yes >&-'
  assert_output 'rlctl: reset: cannot write to standard output: bad file descriptor'
  run -2 bash -c 'rlctl reset k >&-'
  assert_equal "$(cli EXISTS k)" 1
  run -0 bash -c 'rlctl reset -q --match k --yes >&-'
  assert_equal "$(cli EXISTS k)" 0
}

@test "a refusal partway reports how many keys were removed before it" {
  fill k: 5000
  mkfifo "$BATS_TEST_TMPDIR/results"
  # The pipe fills up before all are removed.
  rlctl reset --match 'k:*' --yes >"$BATS_TEST_TMPDIR/results" 2>"$BATS_TEST_TMPDIR/errors" 3>&- 4>&- &
  local pid=$! status=0
  exec {results}<"$BATS_TEST_TMPDIR/results"
  wait_until some_are_removed
  cli ACL SETUSER default -unlink
  cat <&"$results" >"$BATS_TEST_TMPDIR/lines"
  wait "$pid" || status=$?
  assert_equal "$status" 4
  local removed
  removed=$(wc -l <"$BATS_TEST_TMPDIR/lines")
  assert_equal "$(cli DBSIZE)" "$((5000 - removed))"
  assert_regex "$(tail -n +2 "$BATS_TEST_TMPDIR/errors")" \
    "^rlctl: reset: .*; $removed keys had already been removed"
}

some_are_removed() { (($(cli DBSIZE) < 4000)); }

@test "Ctrl-C partway reports how many keys were removed, and ends by the signal" {
  fill k: 5000
  mkfifo "$BATS_TEST_TMPDIR/results"
  env --default-signal=INT rlctl reset --match 'k:*' --yes >"$BATS_TEST_TMPDIR/results" \
    2>"$BATS_TEST_TMPDIR/errors" 3>&- 4>&- &
  local pid=$! status=0
  exec {results}<"$BATS_TEST_TMPDIR/results"
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

@test "a pattern without a glob that matches nothing gets a hint" {
  run -0 --separate-stderr rlctl reset --match login:a.log --yes
  assert_equal "$stderr" 'nothing to remove
  hint: the pattern has no * ? or [ and matches only one key; was it quoted? '"'login:a.log*' matches all keys that begin so, '{login:a.log}:*' those of several limits"
  run -0 --separate-stderr rlctl reset --match login:a.log --yes --quiet
  assert_equal "$stderr" ''
  run -0 --separate-stderr rlctl reset --match login:a.log --yes --json
  assert_equal "$stderr" ''
}

@test "a key that has gone when the search has found it gets no line, not even with --verbose" {
  start_perl_server '
    my %reply = (ROLE => "*3\r\n\$6\r\nmaster\r\n:0\r\n*0\r\n", CLIENT => "+OK\r\n", TYPE => "+none\r\n",
                 CLUSTER => "-ERR cluster support disabled\r\n", SCAN => "*2\r\n\$1\r\n0\r\n*1\r\n\$1\r\nk\r\n");
    my $socket = $listener->accept;
    my $all = "";
    while (sysread $socket, $all, 65536, length $all) {
      while ($all =~ s/^\*\d+\r\n\$\d+\r\n(\w+)\r\n(\$\d+\r\n[^\r]*\r\n)*(?=\*|\z)//) {
        syswrite $socket, $reply{$1} // die "unexpected $1";
      }
    }'
  run -0 --separate-stderr rlctl reset --match 'k*' --dry-run --verbose --json
  assert_output ''
  assert_equal "$stderr" ''
}
