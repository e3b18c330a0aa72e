# needs: server
load ../../support/common

# `rlctl lint` compares what a script's replies say of later requests with how these are answered.

setup() {
  cd "$BATS_TEST_TMPDIR"
  # A log, whose wait is what its first line makes of the microseconds.
  cat >log.lua <<'LUA'
local limit, window, now, id = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local count = redis.call('ZCARD', KEYS[1])
if count < limit then
  redis.call('ZADD', KEYS[1], now, id)
  redis.call('PEXPIRE', KEYS[1], 2 * math.ceil(window / 1000))
  return {1, limit - count - 1, 0}
end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]
local newest = redis.call('ZRANGE', KEYS[1], -1, -1, 'WITHSCORES')[2]
return {0, 0, wait(oldest + window - now, newest + window - now)}
LUA
  # A counter, which returns what the command of its third argument tells of its TTL.
  cat >counter.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if count <= tonumber(ARGV[2]) then return {1, 0} end
redis.call('DECR', KEYS[1])
return {0, redis.call(ARGV[3], KEYS[1])}
LUA
  log_args='{limit} {window_us} {now_us} {id}'
}

# waits FUNCTION [OPTION…]: lint of the log whose wait is FUNCTION of the microseconds.
waits() {
  { echo "local function wait(us, newest_us) $1 end" && cat log.lua; } >waits.lua
  run --separate-stderr rlctl lint waits.lua --limit 5/60s --args "$log_args" --allowed-when 'r[1] == 1' "${@:2}"
  assert_equal "$stderr" ''
}

@test "a wait that is rounded down, or that is no wait, is found" {
  waits 'return math.floor(us / 1000)' --retry-after 'r[3] ms'
  assert_equal "$status" 1
  assert_line --partial "A denial's retry_after_us is too short: it says"
  waits 'return math.floor(us / 1000000)' --retry-after 'r[3] s'
  assert_equal "$status" 1
  assert_line 'waits.lua: wrong-wait'
  waits 'return 0' --retry-after 'r[3] ms'
  assert_equal "$status" 1
  assert_output --partial 'it says 0 µs, but the'
  waits 'return us - 200' --retry-after 'r[3] us'
  assert_line 'waits.lua: wrong-wait'
}

@test "a wait that is rounded up is right to two milliseconds, and a note to a second" {
  waits 'return us' --retry-after 'r[3] us'
  assert_equal "$status" 0
  assert_line --partial 'what the answers say of later ones: retry_after_us'
  refute_output --partial wrong-
  # The error of floating point in seconds since 1970 is a few microseconds.
  waits 'return us - 5' --retry-after 'r[3] us'
  assert_equal "$status" 0
  # A clock of milliseconds is up to one behind, and a wait is rounded up to the next.
  waits 'return us + 1900' --retry-after 'r[3] us'
  refute_output --partial wrong-
  assert_line --partial 'what the answers say of later ones: retry_after_us'
  refute_output --partial wrong-
  waits 'return math.ceil(us / 1000)' --retry-after 'r[3] ms'
  assert_equal "$status" 0
  refute_output --partial wrong-
  waits 'return math.ceil(us / 1000000)' --retry-after 'r[3] s'
  assert_equal "$status" 0
  assert_line 'waits.lua: wrong-wait'
  assert_line --regexp '^    note: A denial'
  waits 'return math.ceil(us / 1000000) + 1' --retry-after 'r[3] s'
  assert_equal "$status" 1
  assert_line --partial 'retry_after_us is too long: it says'
}

@test "a wait until the newest request leaves, rather than the oldest, is found" {
  waits 'return newest_us' --retry-after 'r[3] us'
  assert_equal "$status" 1
  assert_line --partial 'retry_after_us is too long: it says 60 s, but'
}

@test "what a request of a higher cost leaves is judged" {
  cat >costly.lua <<'LUA'
local limit, cost = tonumber(ARGV[1]), tonumber(ARGV[3])
local count = tonumber(redis.call('GET', KEYS[1]) or 0)
if count + cost > limit then return {0, limit - count} end
redis.call('INCRBY', KEYS[1], cost)
if count == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return {1, limit - count - cost, limit - count - 1}
LUA
  local options=(costly.lua --limit 5/60s --args '{limit} {window_ms} {cost}' --allowed-when 'r[1] == 1')
  run -0 --separate-stderr rlctl lint "${options[@]}" --remaining 'r[2]'
  refute_output --partial wrong-
  run -1 --separate-stderr rlctl lint "${options[@]}" --remaining 'r[3]'
  assert_output --partial 'remaining is too high: it says 4, but 0 more'
}

@test "what is left, and when the whole limit is there again" {
  waits 'return 0' --remaining 'r[2]'
  assert_equal "$status" 0
  assert_line --partial 'what the answers say of later ones: remaining'
  waits 'return 0' --remaining 'r[2] + 1'
  assert_equal "$status" 1
  assert_line 'waits.lua: wrong-remaining'
  waits 'return 0' --reset-after 'r[3] ms'
  assert_equal "$status" 1
  assert_line 'waits.lua: wrong-reset'
}

@test "a reset that forgets the longer of two windows is found" {
  cat >windows.lua <<'LUA'
local counts = redis.call('MGET', KEYS[1], KEYS[2])
if (tonumber(counts[1]) or 0) >= 5 or (tonumber(counts[2]) or 0) >= 7 then return {0, redis.call('PTTL', KEYS[1])} end
for i = 1, 2 do if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], 60000 * 9 ^ (i - 1)) end end
return {1, redis.call('PTTL', KEYS[1])}
LUA
  run -2 rlctl lint windows.lua --keys '{{key}}a' --keys '{{key}}b' --allowed-when 'r[1] == 1' --reset-after 'r[2] ms'
  assert_output --partial 'reset_after_us is too short: it says'
}

@test "a reset that is always the window is found in a bucket" {
  run -1 rlctl lint token-bucket --args '{limit} {window_us}' --allowed-when 'r[1] == 1' --reset-after 'window_us us'
  assert_output --partial 'reset_after_us is too long: it says 60 s'
}

@test "a figure that no reply has is not tested, and the result is unknown" {
  waits 'return us' --retry-after 'r[9] us' --remaining 'r[2]'
  assert_equal "$status" 3
  assert_line --partial 'no findings in what was tested'
  assert_line --partial 'retry_after_us: no answer has it'
  assert_line --partial 'what the answers say of later ones: remaining'
}

@test "without an expression, no figure is judged" {
  waits 'return 0'
  assert_equal "$status" 0
  refute_output --partial 'what the answers say'
}

@test "a wait that ends with a key is judged to the precision of the TTLs" {
  local options=(--allowed-when 'r[1] == 1')
  run -0 --separate-stderr rlctl lint counter.lua "${options[@]}" --args '{window_ms} {limit} PTTL' --retry-after 'r[2] ms'
  assert_line --partial 'what the answers say of later ones: retry_after_us to 60 ms'
  refute_output --partial wrong-
  # TTL rounds to the nearest second.
  local limit
  for limit in 5/60s 5/1s; do
    run -1 --separate-stderr rlctl lint counter.lua "${options[@]}" --limit "$limit" --args '{window_ms} {limit} TTL' --retry-after 'r[2] s'
    assert_line 'counter.lua: wrong-wait'
    assert_output --partial 'retry_after_us is too short'
  done
  # Milliseconds are read as seconds.
  run -1 --separate-stderr rlctl lint counter.lua "${options[@]}" --args '{window_ms} {limit} PTTL' --retry-after 'r[2] s'
  assert_output --regexp 'retry_after_us is too long: it says 16h(40m|39m59s), but'
}

@test "the bundled scripts' figures are right" {
  local algorithm
  for algorithm in fixed-window sliding-window-log sliding-window-counter token-bucket gcra leaky-bucket; do
    run -0 --separate-stderr rlctl lint "$algorithm" --json
    assert_line --partial 'what the answers say of later ones: remaining, reset_after_us, retry_after_us'
    refute_line --partial '"finding":"wrong-'
  done
}

@test "--json says of which figures" {
  waits 'return 0' --retry-after 'r[3] ms' --json
  run -0 gojq -rc 'select(.finding) | [.finding, .severity, .script, .line]' <<<"$output"
  assert_output '["wrong-wait","warning","waits.lua",null]'
}
