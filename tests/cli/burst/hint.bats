# needs: server
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

# hints HINT SCRIPT OPTION…: the only run has this hint, which is a warning, too; "null" for none.
hints() {
  local warning=''
  if [[ $1 != null ]]; then warning="rlctl: burst: warning: $2: $1"; fi
  run -0 --separate-stderr rlctl burst "${@:3}" --script "$2" --limit 5/60s --args '{now} {id}' --json
  assert_equal "$(gojq -r '.runs[0] | .algorithm, .hint' <<<"$output")" "$2"$'\n'"$1"
  assert_equal "$stderr" "$warning"
}
search=(adversary --tries 2000)

# --- replies -----------------------------------------------------------------------------------------

@test "replies that look inverted get a hint" {
  hints "$inverted try --allowed-when zero" inverted.lua
  hints "$inverted try --allowed-when zero" inverted.lua "${search[@]}"
  hints null inverted.lua --allowed-when zero
  sed -i 's/1 or 0/0 or 1/' inverted.lua
  hints null inverted.lua
  hints "$inverted try --allowed-when nonzero" inverted.lua --allowed-when zero
}

@test "a reading that does not fit every reply is no hint" {
  # Inverted, it would deny every second request, however high the limit.
  echo "return redis.call('INCR', KEYS[1]) % 2 == 0 and 1 or 0" >second.lua
  hints null second.lua steady
  hints null second.lua "${search[@]}"
  # -1 to allow, else the time to wait.
  cat >minus.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return count <= 5 and -1 or 7
LUA
  hints null minus.lua
}

@test "negative replies that count as allowed get a hint" {
  # What remains; -1 for a denial.
  cat >remaining.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return math.max(5 - count, -1)
LUA
  # 0, for the last one that is allowed, counts as denied.
  local negative='denied after 4 requests, not 5: the limit is not --limit, --burst is missing, or --allowed-when does '\
'not fit the reply; a negative reply counts as allowed; if it denies, try --allowed-when'
  hints "$negative 'r >= 0'" remaining.lua
  hints "$negative 'r >= 0'" remaining.lua "${search[@]}"
  hints null remaining.lua --allowed-when 'r >= 0'
  sed -i 's/return \(.*\)/return {\1, 5}/' remaining.lua
  hints "$negative 'r[1] >= 0'" remaining.lua
}

@test "a script under which nothing is allowed gets a hint with its replies" {
  hints 'nothing was allowed: the first replies were 0, 0, 0; see --allowed-when' never.lua
  hints 'nothing was allowed: the first replies were 0, 0, 0; see --allowed-when' never.lua "${search[@]}"
  hints 'nothing was allowed: the first reply was 0; see --allowed-when' never.lua steady --requests 1
}

@test "a script that returns nothing gets a hint, unless its reply does not matter" {
  hints "$silent" silent.lua
  hints "$silent" silent.lua --allowed-when nil
  hints "$silent" silent.lua "${search[@]}" --allowed-when zero
  hints null silent.lua --allowed-when always
  # A script may return nil to allow.
  echo "if redis.call('INCR', KEYS[1]) > 5 then return 'later' end" >silent.lua
  hints null silent.lua --allowed-when nil
}

@test "the report has the hint, also under the real clock; an algorithm has none" {
  run -0 rlctl burst --script inverted.lua --args '{now}' --limit 5/60s
  assert_line 'hint       inverted.lua: the reply may be inverted: the first request was'
  run -0 rlctl burst adversary --tries 2000 --script inverted.lua --args '{now}'
  assert_line 'hint       the reply may be inverted: the first request was denied, and a later'
  run -0 --separate-stderr rlctl burst --clock real --script inverted.lua --limit 5/1s --json
  assert_equal "$(gojq -r '.runs[0].hint' <<<"$output")" "$inverted try --allowed-when zero"
  run -0 --separate-stderr rlctl burst --algorithm gcra --limit 3/60s --cost 7 --json
  assert_equal "$(gojq -r '.runs[0].hint' <<<"$output")" null
}

# --- a script that never ends ------------------------------------------------------------------------

# never_ends MESSAGE OPTION…: whether the error is this one. It is another one if the server is held up for a second
# before the script is, so a test asks again until it is this one.
never_ends() {
  run_with_timeout -3 --separate-stderr rlctl burst --timeout 1s --limit 5/1s --script loop.lua --args '{id} {now}' \
    "${@:2}"
  [[ $stderr =~ $1 ]]
}

@test "the error of a script that never ends names the script, the request, KEYS and ARGV" {
  local message="^rlctl: burst: loop.lua: no answer from [^ ]* within 1s; request 3 had KEYS '1' and ARGV '3' \
'[0-9.]+'
  hint: the script may never end: step through it with rlctl debug; if it is slow, use a longer --timeout$"
  wait_until never_ends "$message"
  wait_until never_ends "$message" adversary
  wait_until never_ends "$message" steady --rate 2/s --clock real
}

@test "on a named server the error of a script that never ends says how to stop it" {
  with_server() {
    start_server
    never_ends "loop.lua: no answer from unix://$socket within 1s; request 2 had .* ARGV '2' [^,]*, unless one sent with \
it is to blame
  hint: if the script never ends, SCRIPT KILL on that server stops one call of it, unless it has written; if it is slow, \
use a longer --timeout$" -s "$socket"
  }
  wait_until with_server
}

@test "one SCRIPT KILL frees a named server of a script that never ends from its first call on" {
  start_server
  cli CONFIG SET lua-time-limit 50 >/dev/null
  echo 'while true do end' >forever.lua
  run -3 rlctl burst steady --script forever.lua --args '{now_ms}' --timeout 2s -q -s "$socket"
  assert_output --partial 'SCRIPT KILL on that server'
  cli SCRIPT KILL
  wait_until cli PING
}

@test "a script that replies a count, which never denies by itself, gets a hint" {
  echo 'return redis.call("INCR", KEYS[1])' >count.lua
  local hint="nothing was denied, and the replies were 1, 2, 3 up to 10: if the script returns a count, try \
--allowed-when '<=limit'"
  hints "$hint" count.lua boundary
  run -0 --separate-stderr rlctl burst "${search[@]}" --script count.lua --limit 5/60s
  assert_regex "$stderr" "try --allowed-when '<=limit'"
  hints null count.lua boundary --allowed-when '<=limit'
}

@test "a script that kept the limit is said to have done so with this traffic" {
  echo 'return redis.call("INCR", KEYS[1])' >count.lua
  run -0 rlctl burst boundary --script count.lua --limit 5/60s --allowed-when '<=limit'
  assert_output --regexp 'note +count.lua: never above the limit with this traffic'
  run -0 rlctl burst boundary --model --algorithm sliding-window-log --limit 5/60s
  refute_output --partial 'with this traffic'
}

@test "a script that denies by an error reply gets advice" {
  cat >deny.lua <<'LUA'
if redis.call('INCR', KEYS[1]) > 5 then return redis.error_reply('RATELIMITED slow down') end
return 1
LUA
  run -5 --separate-stderr rlctl burst --limit 5/60s --script deny.lua
  assert_regex "${stderr_lines[-2]}" 'deny\.lua: RATELIMITED slow down; request 6 had '
  assert_regex "${stderr_lines[-1]}" '^  hint: if this error is how the script denies, use --denied-error RATELIMITED$'
}

@test "a count of the requests before gets a hint, and so does a denial sooner than at the limit" {
  cat >before.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
return count - 1
LUA
  local before="the replies were 0, [01], [12] up to"
  run -0 --separate-stderr rlctl burst --script before.lua --limit 5/60s
  assert_regex "$stderr" "$before 9: if the script returns the number of requests before this one, try --allowed-when \
'r < limit'"
  run -0 --separate-stderr rlctl burst "${search[@]}" --script before.lua --limit 5/60s --allowed-when zero
  assert_regex "$stderr" "denied after 1 request, not 5: the limit is not --limit.*; $before"
  run -0 --separate-stderr rlctl burst poisson --script before.lua --limit 5/60s --allowed-when 'r < 3'
  assert_regex "$stderr" 'denied after 3 requests, not 5: the limit is not --limit'
  hints null before.lua --allowed-when 'r < limit'
  # An answer of 0 or 1 is not a count, nor is a time to wait.
  hints null inverted.lua --allowed-when zero
  echo "return redis.call('INCR', KEYS[1]) > 5 and 60 or 0" >wait.lua
  hints null wait.lua --allowed-when zero
}

@test "an array whose first element never changes gets a hint only if one element explains the replies" {
  cat >array.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 60)
return {5, math.max(0, 5 - count), count <= 5 and 1 or 0, 60}
LUA
  hints "the first element of every reply was 5, and element 3 was 1 at first and not always; if that says whether the \
request is allowed, try --allowed-when 'r[3] == 1'" array.lua boundary
  hints null array.lua boundary --allowed-when 'r[3] == 1'
  sed -i 's/60}/count <= 5}/' array.lua
  hints null array.lua boundary # two elements do
}

@test "a reply that is a time is not slept, and --delay takes it as an expression" {
  cat >queue.lua <<'LUA'
redis.call('SET', KEYS[1], ARGV[1], 'PX', 60000)
return ARGV[1] + (tonumber(ARGV[2]) or 0)
LUA
  local queue=(steady --limit 5/10s --script queue.lua --allowed-when always)
  run -1 --separate-stderr rlctl burst "${queue[@]}" --args '{now_ms}' --delay 'r - now_ms ms' --assert 'worst<=1'
  run -5 --separate-stderr rlctl burst "${queue[@]}" --args '{now_ms}' --delay 'r ms'
  assert_regex "$stderr" "--delay 'r' is then a time since 1970.*--delay 'r - now_ms ms'"
  run -5 --separate-stderr rlctl burst "${queue[@]}" --args '{now_ms} -1' --delay 'r - now_ms ms'
  assert_regex "$stderr" "--delay 'r - now_ms' is negative"
}

@test "--denied-error takes an error for a denial; other errors end the run" {
  cat >deny.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
if count > 5 then return redis.error_reply('LIMIT too many') end
return redis.status_reply('OK')
LUA
  local deny=(--limit 5/60s --script deny.lua --allowed-when "r == 'OK'")
  run -5 --separate-stderr rlctl burst "${deny[@]}"
  assert_regex "$stderr" 'if this error is how the script denies, use --denied-error LIMIT'
  run -0 --separate-stderr rlctl burst steady "${deny[@]}" --rate 10/s --requests 8 --denied-error LIMIT --json
  assert_equal "$(gojq -c '.runs[0] | [.allowed, .denied]' <<<"$output")" '[5,3]'
  run -0 rlctl burst "${search[@]}" "${deny[@]}" --denied-error LIMIT
  run -5 rlctl burst "${deny[@]}" --denied-error OTHER
  run -2 rlctl burst "${deny[@]}" --denied-error ERR
}

@test "json(r) reads a reply that is JSON" {
  cat >json.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 3600)
return cjson.encode({ok = count <= 2, left = 2 - count})
LUA
  run -5 --separate-stderr rlctl burst --limit 2/1h --script json.lua
  assert_regex "$stderr" "json\(r\)\.NAME"
  run -0 --separate-stderr rlctl burst steady --rate 2/s --requests 10 --limit 2/1h --script json.lua \
    --allowed-when 'json(r).ok' --remaining 'json(r).left' --json
  assert_equal "$(gojq -c '.runs[0] | [.allowed, .denied]' <<<"$output")" '[2,8]'
}
