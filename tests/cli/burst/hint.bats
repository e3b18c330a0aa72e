load ../../support/common

# What `rlctl burst` says about a script whose replies it may read wrongly, and about one that never ends.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  # 0 means allowed, as the exit status of a command does.
  cat >inverted.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return count > 5 and 1 or 0
LUA
  echo "redis.call('INCR', KEYS[1])" >silent.lua
  echo 'return 0' >never.lua
  printf '%s\n' 'if ARGV[1] == "3" then while true do end end' 'return 1' >loop.lua
}

inverted='the reply may be inverted: the first request was denied, and a later one was allowed;'
silent='the script returns nothing: every reply was nil; it must return whether the request is allowed'

# hint OPTION…: sets $hint to that of the only run; checks that it is a warning, too.
hint() {
  run -0 --separate-stderr rlctl burst "$@" --limit 5/60s --args '{now} {id}' --json
  hint=$(jq -r '.runs[0].hint' <<<"$output")
  local name
  name=$(jq -r '.runs[0].algorithm' <<<"$output")
  if [[ $hint == null ]]; then
    assert_equal "$stderr" ''
  else
    assert_equal "$stderr" "rlctl: burst: warning: $name: $hint"
  fi
}

# --- replies -----------------------------------------------------------------------------------------

@test "replies that look inverted get a hint" {
  hint --script inverted.lua
  assert_equal "$hint" "$inverted try --allowed-when zero"
  hint adversary --script inverted.lua
  assert_equal "$hint" "$inverted try --allowed-when zero"
  hint --script inverted.lua --allowed-when zero
  assert_equal "$hint" null
  sed -i 's/1 or 0/0 or 1/' inverted.lua
  hint --script inverted.lua
  assert_equal "$hint" null
  hint --script inverted.lua --allowed-when zero
  assert_equal "$hint" "$inverted try --allowed-when nonzero"
}

@test "negative replies that count as allowed get a hint" {
  # What remains; -1 for a denial.
  cat >remaining.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return math.max(5 - count, -1)
LUA
  local negative='a negative reply counts as allowed; if it denies, try --allowed-when'
  hint --script remaining.lua
  assert_equal "$hint" "$negative 'r >= 0'"
  hint adversary --script remaining.lua
  assert_equal "$hint" "$negative 'r >= 0'"
  hint --script remaining.lua --allowed-when 'r >= 0'
  assert_equal "$hint" null
  sed -i 's/return \(.*\)/return {\1, 5}/' remaining.lua
  hint --script remaining.lua
  assert_equal "$hint" "$negative 'r[1] >= 0'"
}

@test "a script under which nothing is allowed gets a hint with its replies" {
  hint --script never.lua
  assert_equal "$hint" 'nothing was allowed: the first replies were 0, 0, 0; see --allowed-when'
  hint adversary --script never.lua
  assert_equal "$hint" 'nothing was allowed: the first replies were 0, 0, 0; see --allowed-when'
  hint steady --requests 1 --script never.lua
  assert_equal "$hint" 'nothing was allowed: the first reply was 0; see --allowed-when'
}

@test "a script that returns nothing gets a hint, unless its reply does not matter" {
  hint --script silent.lua
  assert_equal "$hint" "$silent"
  hint --script silent.lua --allowed-when nil
  assert_equal "$hint" "$silent"
  hint adversary --script silent.lua --allowed-when zero
  assert_equal "$hint" "$silent"
  hint --script silent.lua --allowed-when always
  assert_equal "$hint" null
  # A script may return nil to allow.
  echo "if redis.call('INCR', KEYS[1]) > 5 then return 'later' end" >silent.lua
  hint --script silent.lua --allowed-when nil
  assert_equal "$hint" null
}

@test "the report has the hint, also under the real clock; an algorithm has none" {
  run -0 rlctl burst --script inverted.lua --args '{now}' --limit 5/60s
  assert_line 'hint       inverted.lua: the reply may be inverted: the first request was'
  run -0 rlctl burst adversary --script inverted.lua --args '{now}'
  assert_line 'hint       the reply may be inverted: the first request was denied, and a later'
  run -0 --separate-stderr rlctl burst --clock real --script inverted.lua --limit 5/1s --json
  assert_equal "$(jq -r '.runs[0].hint' <<<"$output")" "$inverted try --allowed-when zero"
  run -0 --separate-stderr rlctl burst --algorithm gcra --limit 3/60s --cost 7 --json
  assert_equal "$(jq -r '.runs[0].hint' <<<"$output")" null
}

# --- a script that never ends ------------------------------------------------------------------------

# endless MESSAGE OPTION…
endless() {
  local message=$1
  shift
  run_with_timeout -3 --separate-stderr rlctl burst --timeout 3s --limit 5/1s --script loop.lua --args '{id} {now}' "$@"
  [[ $stderr =~ $message ]] || fail "$stderr"
}

@test "the error of a script that never ends names the script, the request, KEYS and ARGV" {
  local message="rlctl: burst: loop.lua: no answer from [^ ]* within 3s; request 3 had KEYS 'burst:1:1' and ARGV '3' '[0-9.]+'"
  local what="
  hint: the script may never end: step through it with rlctl debug; if it is slow, use a longer --timeout$"
  endless "^$message$what"
  endless "^$message$what" adversary
  endless "^$message$what" steady --rate 2/s --clock real
}

@test "on a named server the error of a script that never ends says how to stop it" {
  start_server
  endless "loop.lua: no answer from unix://$socket within 3s; request 2 had .* ARGV '2' [^,]*, unless one sent with it is to blame
  hint: if the script never ends, SCRIPT KILL on that server stops one call of it, unless it has written; if it is slow, use a longer --timeout$" -s "$socket"
}

@test "one SCRIPT KILL frees a named server of a script that never ends from its first call on" {
  start_server
  cli CONFIG SET lua-time-limit 50 >/dev/null
  echo 'while true do end' >forever.lua
  run -3 rlctl burst steady --script forever.lua --args '{now_ms}' --timeout 3s -q -s "$socket"
  assert_output --partial 'SCRIPT KILL on that server'
  cli SCRIPT KILL
  assert_equal "$(cli PING)" PONG
}

@test "a script that replies a count, which never denies by itself, gets a hint" {
  echo 'return redis.call("INCR", KEYS[1])' >count.lua
  run -0 --separate-stderr rlctl burst boundary --script count.lua --limit 5/60s
  assert_regex "$stderr" "warning: count.lua: nothing was denied, and the replies were 1, 2, 3 up to 10: if the script returns a count, try --allowed-when '<=limit'"
  run -0 --separate-stderr rlctl burst adversary --script count.lua --limit 5/60s
  assert_regex "$stderr" "try --allowed-when '<=limit'"
  run -0 --separate-stderr rlctl burst boundary --script count.lua --limit 5/60s --allowed-when '<=limit'
  refute_regex "$stderr" "try --allowed-when"
}

@test "a script that kept the limit is said to have done so with this traffic" {
  echo 'return redis.call("INCR", KEYS[1])' >count.lua
  run -0 rlctl burst boundary --script count.lua --limit 5/60s --allowed-when '<=limit'
  assert_output --regexp 'note +count.lua: never above the limit with this traffic'
  run -0 rlctl burst boundary --model --algorithm sliding-window-log --limit 5/60s
  refute_output --partial 'with this traffic'
}

@test "a script that denies by an error reply gets advice" {
  cat >"$BATS_TEST_TMPDIR/deny.lua" <<<"if redis.call('INCR', KEYS[1]) > 5 then return redis.error_reply('RATELIMITED slow down') end return 1"
  run -5 --separate-stderr rlctl burst --limit 5/60s --script "$BATS_TEST_TMPDIR/deny.lua"
  assert_regex "${stderr_lines[-2]}" 'deny\.lua: RATELIMITED slow down; request 6 had '
  assert_equal "${stderr_lines[-1]}" '  hint: an error reply is never taken for a denial: let the script return a value for it, and say which with --allowed-when'
}
