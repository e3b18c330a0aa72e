# needs: server
load ../../support/common

# How `rlctl lint` runs scripts and reports: names, output, and what goes wrong.

setup() {
  # Private to this test, so that its remaining contents are known, and short enough for a socket's path.
  export TMPDIR=$BATS_TEST_TMPDIR
  cd "$BATS_TEST_TMPDIR"
  cat >counter.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
return count
LUA
}

# fails PATTERN SCRIPT [OPTION…]: the status is 3, and the first line of standard error matches.
fails() {
  run -3 --separate-stderr rlctl lint "${@:2}"
  assert_regex "${stderr_lines[0]}" "$1"
}

@test "the text has a line to jump to, the severity, why and what to do, in 80 columns" {
  run -2 --separate-stderr rlctl lint counter.lua --allowed-when '<=limit'
  assert_equal "$(sed -E 's/[0-9]+ requests/N requests/' <<<"$output")" "counter.lua:1: no-ttl: INCR ann
    critical: 'ann' has no TTL when the script returns. Its client is denied
    forever.
    Fix: set a TTL when the key is new: if the new count is 1, PEXPIRE it by the
    window.
1 critical finding in 1 script (N requests)
Search for requests that exceed the limit:
    rlctl burst adversary --script counter.lua --limit 5/60s --allowed-when '<=limit'"
  assert_equal "$stderr" ''
}

@test "--json is one object a line, with a command that contains any byte" {
  printf '%s\n' "redis.call('SET', KEYS[1] .. '\\n\\255', 'a\"b', 'PX', 60000)" 'return 1' >bytes.lua
  run -1 --separate-stderr rlctl lint bytes.lua --json --allowed-when always
  run -0 gojq -c 'select(.finding) | [.finding, .severity, .script, .line, .call, (.detail | length > 0), (.fix | length > 0)]' <<<"$output"
  assert_output '["undeclared-key","warning","bytes.lua",1,"SET ann\\n\\xff a\"b PX 60000",true,true]'
}

@test "several scripts, by file, by name and from the configuration, in one run" {
  printf '%s\n' '[script.mine]' 'file = "counter.lua"' 'keys = ["count:{key}"]' 'allowed_when = "<=limit"' >my.toml
  run -2 --separate-stderr rlctl lint --config my.toml mine gcra --limit 2/10s
  assert_line --regexp '^[^ ]*counter\.lua:1: no-ttl: INCR count:ann$'
  assert_line --regexp '^1 critical finding in 2 scripts \([0-9]+ requests\)$'
  assert_line '    rlctl burst adversary --script mine --config my.toml --limit 2/10s'
  assert_line '    rlctl burst adversary --algorithm gcra --config my.toml --limit 2/10s'
}

@test "the script comes from standard input, too" {
  run -2 --separate-stderr rlctl lint - --allowed-when '<=limit' <counter.lua
  assert_line --index 0 'stdin:1: no-ttl: INCR ann'
}

@test "no server in use is touched" {
  start_server
  run -2 --separate-stderr rlctl lint counter.lua --allowed-when '<=limit'
  assert_equal "$(cli DBSIZE)" 0
}

@test "a script that is called otherwise than it expects is an error with a hint" {
  echo 'return redis.call("INCR", KEYS[2]) <= tonumber(ARGV[1])' >two.lua
  fails "^rlctl: lint: two\.lua:1: .*; request 1 had KEYS 'ann' and ARGV none$" two.lua
  assert_equal "${stderr_lines[1]}" '  hint: the script uses KEYS[2], but #KEYS is 1; give --keys once for each key'
}

@test "a script that does not compile, raises an error or replies one is named with its line" {
  printf '%s\n' 'local x = 1' 'return return' >compile.lua
  fails "^rlctl: lint: compile\.lua:2: " compile.lua
  # The server sees this mistake behind the last line.
  printf 'return 1 +\n' >ends.lua
  fails "^rlctl: lint: ends\.lua:1: .*near '(<eof>|end)'" ends.lua
  printf '%s\n' 'redis.call("SET", KEYS[1], 1)' 'return redis.call("LPUSH", KEYS[1], 1)' >raises.lua
  fails "^rlctl: lint: raises\.lua:2: .*WRONGTYPE Operation .*; request 1 had KEYS 'ann'" raises.lua
  echo 'return redis.error_reply("MY mistake")' >replies.lua
  fails "^rlctl: lint: replies\.lua: .*mistake; request 1 had KEYS 'ann'" replies.lua
  assert_equal "${stderr_lines[1]}" '  hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when'
}

@test "a script that does not end is cut off, and its server ends" {
  printf '%s\n' 'local i = 0' 'while true do' '  i = i + 1' 'end' >loop.lua
  fails '^rlctl: lint: loop\.lua:[234]: request 1 was cut off after 100000 lines$' loop.lua
  assert_regex "${stderr_lines[1]}" 'arguments with which its loops are shorter'
  echo 'return string.rep("a", 1e5):find(string.rep("a*", 30) .. "b")' >slow.lua
  fails '^rlctl: lint: slow\.lua:1: request 1 did not end: ' slow.lua --timeout 2s
  nothing_is_left
}

@test "Ctrl-C ends lint and its server by the signal" {
  echo 'return string.rep("a", 1e5):find(string.rep("a*", 30) .. "b")' >long.lua
  # shellcheck disable=SC2016 # expanded by the inner shell
  run -0 ends_by INT 'compgen -G "$TMPDIR/rlctl-*/redis.sock" >/dev/null' rlctl lint long.lua --timeout 30s
  assert_output 'signal 2'
  nothing_is_left
}

@test "concurrency is examined with its own arguments" {
  run -0 --separate-stderr rlctl lint concurrency --limit 3/60s --args '{limit} {window_us} acquire {id}' --allowed-when 'r[1] == 1'
}

@test "replies that prove nothing are warned of, and finding nothing is then UNKNOWN: status 3" {
  echo 'return 1' >open.lua
  run -3 --separate-stderr rlctl lint open.lua
  assert_equal "$stderr" "rlctl: lint: warning: open.lua: nothing was denied: the script's limit is not --limit, \
or --allowed-when does not fit the reply"
  echo 'return 0' >closed.lua
  run -3 --separate-stderr rlctl lint closed.lua
  assert_equal "$stderr" \
    'rlctl: lint: warning: closed.lua: nothing was allowed: see --allowed-when for how to read the reply'
  printf '%s\n' "local count = redis.call('INCR', KEYS[1])" \
    "if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end" 'return count > 5 and 1 or 0' >inverted.lua
  run -3 --separate-stderr rlctl lint inverted.lua
  assert_regex "$stderr" '^rlctl: lint: warning: inverted\.lua: the reply may be inverted: '
  run -0 --separate-stderr rlctl lint inverted.lua --allowed-when zero
  assert_equal "$stderr" ''
  run -3 --separate-stderr rlctl lint open.lua --limit 1000/60s
  assert_regex "$stderr" 'the limit 1000/60s is scaled down to 20/60s: the traffic must exceed it'
}

@test "a test that was skipped is named, and finding nothing is then UNKNOWN: status 3" {
  cat >slow.lua <<'LUA'
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - 1000)
if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], 60000)
return 1
LUA
  run -3 --separate-stderr rlctl lint slow.lua --args '{now_ms} {id}'
  assert_regex "$stderr" 'slow\.lua: not tested: windows: [0-9]+ units were allowed within 60 s, more than twice 5: '
  assert_line --index 0 --regexp '^no findings in what was tested, in 1 script \([0-9]+ requests\)$'
  assert_line 'Tested:'
  assert_line 'Not tested:'
  run -0 gojq -r '.not_tested[] | select(.why | length > 0) | .what' < <(
    rlctl lint slow.lua --args '{now_ms} {id}' --json 2>errors
  )
  assert_output 'windows'
}

@test "a script whose own limit is lower than --limit is doubtful, and few requests show it" {
  cat >five.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
return count <= 5 and 1 or 0
LUA
  local limit
  for limit in 20000/60s 1000000000/60s; do
    run -3 --separate-stderr rlctl lint five.lua --limit "$limit"
    assert_regex "$stderr" "five.lua: denied after 5 requests, not 20: the limit is not --limit, or --burst is missing"
    assert_output --regexp '^no findings in what was tested, in 1 script \([0-9]{1,5} requests\)'
  done
  run -0 --separate-stderr rlctl lint five.lua --limit 20000/60s --burst 5
  run -0 --separate-stderr rlctl lint five.lua --limit 5/60s
  run -3 --separate-stderr rlctl lint five.lua --limit 3/60s
  assert_regex "$stderr" 'five.lua: not tested: requests below the limit: the limit of the script is not --limit'
  run -3 --separate-stderr rlctl lint five.lua --limit 5/10s
  assert_regex "$stderr" 'not tested: requests below the limit: they were denied, but so was a client for 60'
}

@test "where the script takes longer than its TTLs, nothing that depends on them is said" {
  cat >long.lua <<'LUA'
for i = 1, 300 do local x = i end
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return count
LUA
  run -3 --separate-stderr rlctl lint long.lua --limit 2/1ms --args '{window_ms}' --allowed-when '<=limit'
  assert_output --regexp '^no findings in what was tested, in 1 script \([0-9]+ requests\)'
  assert_equal "$stderr" "rlctl: lint: warning: long.lua: not tested: short-ttl, denied-write: requests took \
longer than the TTLs; try again, or use a longer window"
}

@test "the manual explains each finding that --help lists" {
  local name names
  names=$(rlctl lint --help | sed -n '/^Findings:/,/^$/ s/^  \([a-z-]*\) .*/\1/p')
  assert_equal "$(wc -l <<<"$names")" 31
  for name in $names; do
    grep -qx "\*$name\*" "$project/man/rlctl-lint.1.scd" || fail "the manual lacks $name"
  done
}
