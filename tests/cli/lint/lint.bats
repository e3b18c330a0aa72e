# needs: server
load ../../support/common

# What `rlctl lint` finds in scripts with one flaw each, and that it finds nothing in sound ones.

# script TEXT: writes it to a file, $script.
script() {
  script=$BATS_TEST_TMPDIR/my.lua
  printf '%s\n' "$1" >"$script"
}
# found [OPTION…]: each finding in $script as LINE FINDING SEVERITY.
found() { rlctl lint "$script" --json "$@" | gojq -r 'select(.finding) | [.line, .finding, .severity] | join(" ")'; }

# finds FINDING [OPTION…]: the only finding in $script, without a warning; '' for none.
finds() {
  run found "${@:2}"
  assert_output "$1"
}

@test "the bundled scripts have no flaws: status 0" {
  local names
  names=$(find "$project/lua" -name '*.lua' ! -name concurrency.lua)
  # shellcheck disable=SC2086 # split into words
  run -0 --separate-stderr rlctl lint $names --limit 3/20s
  assert_line --index 0 --regexp '^no findings in 8 scripts \([0-9]+ requests\)$'
  assert_equal "$stderr" ''
  run -0 --separate-stderr rlctl lint sliding-window-counter --limit 1/20s
  run -0 --separate-stderr rlctl lint gcra
  assert_line --index 0 --regexp '^no findings in 1 script \([0-9]+ requests\)$'
}

@test "the schema of --json has the findings that --help names" {
  run -0 rlctl lint --help
  local named
  named=$(sed -nE '/^Findings:/,/^$/s/^  ([a-z-]+) .*/\1/p' <<<"$output" | sort)
  [[ $named == *no-ttl* ]]
  assert_equal "$(gojq -r '."$defs".finding.properties.finding.enum[]' "$project/schema/lint.schema.json" | sort)" \
    "$named"
}

@test "a key that is not in KEYS is found, with its line" {
  script "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
redis.call('SET', 'last:' .. KEYS[1], count, 'PX', ARGV[1])
return count"
  finds '3 undeclared-key warning' --args '{window_ms}' --allowed-when '<=limit'
}

@test "a key without a TTL is found, with the line that wrote it" {
  script "local count = redis.call('INCR', KEYS[1])
return count"
  finds '1 no-ttl critical' --allowed-when '<=limit'
}

@test "a key that loses its TTL later is found at the write that drops it" {
  script "local count = tonumber(redis.call('GET', KEYS[1]) or 0) + 1
if count == 1 then
  redis.call('SET', KEYS[1], count, 'PX', ARGV[1])
else
  redis.call('SET', KEYS[1], count)
end
return count"
  finds '5 no-ttl critical' --args '{window_ms}' --allowed-when '<=limit'
}

@test "keys of one call in different slots are found, and keys with one hash tag are not" {
  script "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], 60000) end
redis.call('SET', KEYS[2], count, 'PX', 60000)
return count"
  finds '3 cross-slot warning' --keys 'count:{key}' --keys 'last:{key}' --allowed-when '<=limit'
  finds '' --keys 'count:{{key}}' --keys 'last:{{key}}' --allowed-when '<=limit'
}

# log_finds FINDING LINE [OPTION…]: the finding in a log with this line, which sets its TTL, whatever it warns of.
log_finds() {
  script "local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
$2
return 1"
  run --separate-stderr found --args '{now_ms} {window_ms} {limit} {id}' "${@:3}"
  assert_output "$1"
}

@test "a TTL shorter than the window is found where the limiter then forgets" {
  log_finds '5 short-ttl critical' "redis.call('PEXPIRE', KEYS[1], window / 4)"
  log_finds '5 short-ttl critical' "redis.call('PEXPIRE', KEYS[1], window - 1000)"
  # Ends with a window of the clock by chance.
  log_finds '5 short-ttl critical' "redis.call('EXPIRE', KEYS[1], 57)"
  log_finds '' "redis.call('PEXPIRE', KEYS[1], window)"
}

@test "a counter that expires at the end of the clock's window is not called short" {
  script "local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], window - now % window) end
return count"
  finds '' --args '{now_ms} {window_ms}' --allowed-when '<=limit'
}

@test "seconds for milliseconds are found: TTLs, bounds and times of day" {
  log_finds '5 mixed-units critical' "redis.call('EXPIRE', KEYS[1], window)"
  log_finds '5 mixed-units critical' "redis.call('PEXPIRE', KEYS[1], 60)"
  log_finds '2 mixed-units critical' "redis.call('PEXPIRE', KEYS[1], 1000 * window)" \
    --args '{now_ms} {window_s} {limit} {id}'
  log_finds '5 mixed-units critical' "redis.call('EXPIREAT', KEYS[1], now + window)"
  log_finds '' "redis.call('PEXPIREAT', KEYS[1], now + window)"
}

@test "a bound in another unit than the scores is found" {
  script "local now = tonumber(ARGV[1])
local clock = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, clock[1] - 60)
if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[2])
redis.call('PEXPIRE', KEYS[1], 60000)
return 1"
  finds '3 mixed-units critical' --args '{now_ms} {id}'
}

@test "a time that tostring() writes is found, in a member, in a key and in a value" {
  script "local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
redis.call('ZADD', KEYS[1], now, now .. ':' .. ARGV[3])
redis.call('PEXPIRE', KEYS[1], 60000)
return 1"
  finds '4 number-as-text warning' --args '{now_us} {window_us} {id}'
  finds '' --args '{now_ms} {window_ms} {id}'
  finds '4 number-as-text warning' --args '{now} {window} {id}'
}

@test "fields of a hash that are times are found" {
  script "local now = tonumber(ARGV[1])
if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], now, 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1"
  finds '3 non-unique-member critical' --args '{now_ms} {window_ms} {limit}'
}

@test "a log that expires a window after its first request is found" {
  script "local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local count = redis.call('ZCARD', KEYS[1])
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
if count == 0 then redis.call('PEXPIRE', KEYS[1], window) end
return 1"
  finds '6 short-ttl critical' --args '{now_ms} {window_ms} {limit} {id}'
  script "local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
while (tonumber(redis.call('LINDEX', KEYS[1], 0)) or now) <= now - window do redis.call('LPOP', KEYS[1]) end
local count = redis.call('LLEN', KEYS[1])
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('RPUSH', KEYS[1], now)
if count == 0 then redis.call('PEXPIRE', KEYS[1], 2 * window) end
return 1"
  finds '6 short-ttl critical' --args '{now_ms} {window_ms} {limit}'
}

@test "a log that is pruned late is found, though its key lasts no longer than a window" {
  script "local now, window = ARGV[1], ARGV[2]
local count = redis.call('ZCARD', KEYS[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window / 1000)
return 1"
  finds '2 late-pruning critical' --limit 4/300s --args '{now_us} {window_us} {limit} {id}'
}

@test "a denied request that only counts denials is no finding; one that locks out beside it is" {
  local counter="local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n >= tonumber(ARGV[1]) then
  redis.call('HINCRBY', KEYS[2], 'denied', 1)
  redis.call('PEXPIRE', KEYS[2], ARGV[2] * 10)
  return 0
end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 1"
  script "$counter"
  finds '' --keys '{{key}}:n' --keys '{{key}}:denied' --args '{limit} {window_ms}'
  local renew="redis.call('PEXPIRE', KEYS[1], ARGV[2])"
  script "${counter/return 0/$renew return 0}"
  finds '5 denied-write critical' --keys '{{key}}:n' --keys '{{key}}:denied' --args '{limit} {window_ms}'
}

@test "a bucket that a client which asks too often gets less of is found, though it is let in" {
  script "local size, rate, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local have = tonumber(redis.call('HGET', KEYS[1], 'have') or size)
local seen = tonumber(redis.call('HGET', KEYS[1], 'seen') or now)
have = math.min(size, have + (now - seen) * rate)
local ok = have >= 1
have = have - (ok and 1 or 0.07)
redis.call('HSET', KEYS[1], 'have', have, 'seen', now)
redis.call('EXPIRE', KEYS[1], 120)
return ok and 1 or 0"
  finds '7 denied-write critical' --args '{limit} {rate} {now}'
}

@test "a registry of keys, and fields that are written again, are not called members" {
  script "local tokens = tonumber(redis.call('HGET', KEYS[1], 'tokens') or 5)
local last = tonumber(redis.call('HGET', KEYS[1], 'time') or ARGV[1])
tokens = math.min(5, tokens + (ARGV[1] - last) / 12000)
local allowed = tokens >= 1
if allowed then tokens = tokens - 1 end
redis.call('HSET', KEYS[1], 'tokens', tokens, 'time', ARGV[1])
redis.call('PEXPIRE', KEYS[1], 60000)
redis.call('SADD', KEYS[2], KEYS[1])
redis.call('PEXPIRE', KEYS[2], 60000)
return allowed and 1 or 0"
  finds '' --keys '{{key}}' --keys '{{key}}:all' --args '{now_ms}'
}

@test "a TTL that denied requests renew is found" {
  script "local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return count"
  finds '1 denied-write critical' --args '{window_ms}' --allowed-when '<=limit'
}

@test "denied requests that count are found, whatever the limit and the window" {
  script "redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - ARGV[2])
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[4])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return redis.call('ZCARD', KEYS[1]) <= tonumber(ARGV[3]) and 1 or 0"
  # It says so if the machine is too busy for keys that live so shortly, and is then asked again.
  was_tested() {
    run found --args '{now_ms} {window_ms} {limit} {id}' --limit "$1"
    [[ $output != *'not tested: short-ttl, denied-write: requests took longer than the TTLs'* ]]
  }
  local limit
  for limit in 5/60s 20/1s 2/100ms; do
    pause=1 wait_until was_tested "$limit"
    assert_output '2 denied-write critical'
  done
}

@test "a TTL in another unit is found with jitter; a constant may be meant" {
  script "local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], ARGV[1] - #KEYS[1] % 2) end
return count"
  finds '2 mixed-units critical' --args '{window_ms}' --allowed-when '<=limit'
  log_finds '5 mixed-units warning' "redis.call('EXPIRE', KEYS[1], 3600)" --limit 2/3600ms
}

@test "a key in the slot of KEYS is a note: status 0" {
  script "local key = '{' .. KEYS[1] .. '}:count'
local count = redis.call('INCR', key)
if count == 1 then redis.call('PEXPIRE', key, ARGV[1]) end
return count"
  run -0 rlctl lint "$script" --args '{window_ms}' --allowed-when '<=limit'
  assert_line --partial 'It works in a Cluster'
  assert_line --regexp '^2 notes in 1 script'
}

@test "unknown flags are found in the first line" {
  script "#!lua flags=allow-key-locking
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count"
  finds '1 unknown-flag critical' --args '{window_ms}' --allowed-when '<=limit'
}

@test "a library of functions is examined with its own lines" {
  script "#!lua name=limits
local function allow(keys, args)
  local count = redis.call('INCR', keys[1])
  return count
end
redis.register_function('allow', allow)"
  finds '3 no-ttl critical' --allowed-when '<=limit'
}

@test "a script that never ends is refused, with as little memory as ever" {
  local limit=(bash -c 'ulimit -v 1048576; exec rlctl "$@"' -) words
  # A sanitizer needs more address space.
  if [[ $RLCTL_BUILD == *sanitize* ]]; then limit=(rlctl); fi
  cd "$BATS_TEST_TMPDIR"
  ln -s /dev/zero z.lua
  for words in '3 lint z.lua' '2 burst steady --script z.lua --limit 5/60s' '2 debug z.lua k --trace'; do
    # shellcheck disable=SC2086 # split into words
    run_with_timeout "-${words%% *}" "${limit[@]}" ${words#* }
    assert_output --partial "'z.lua' is larger than 16 MiB, the most that a script may have"
  done
  run_with_timeout -2 "${limit[@]}" burst steady --script - --limit 5/60s </dev/zero
  assert_output --partial '--script: standard input is larger than 16 MiB'
}

@test "a client that retries during a ban, and so renews it, is found locked out" {
  script "local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
if n > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], 'y', 'PX', ARGV[1])
  return 0
end
return 1"
  finds '1 denied-write critical' --limit 5/10s --keys '{{key}}:n' --keys '{{key}}:ban' --args '{window_ms} {limit}'
}

@test "a ban that begins anew while the limit is full, but not by each retry, is no lock-out" {
  script "if redis.call('EXISTS', KEYS[2]) == 1 then return 0 end
local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if n > tonumber(ARGV[2]) then
  redis.call('SET', KEYS[2], 'y', 'PX', ARGV[1] / 2)
  return 0
end
return 1"
  finds '' --limit 5/10s --keys '{{key}}:n' --keys '{{key}}:ban' --args '{window_ms} {limit}'
}

# bucket LINE…: a token bucket with these lines in place of what stores it.
bucket() {
  script "local size, rate, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local have = tonumber(redis.call('HGET', KEYS[1], 'have') or size)
local seen = tonumber(redis.call('HGET', KEYS[1], 'seen') or now)
have = math.min(size, have + (now - seen) * rate)
local ok = have >= 1
if ok then have = have - 1 end
$1
return ok and 1 or 0"
}

@test "a bucket that a denial empties, or that expires before it is full, is found; a sound one is clean" {
  bucket "redis.call('HSET', KEYS[1], 'have', have, 'seen', now)
redis.call('EXPIRE', KEYS[1], 120)"
  run -0 rlctl lint "$script" --args '{limit} {rate} {now}'
  assert_line --index 0 --regexp '^no findings in 1 script'
  assert_line --index 1 'Tested:'
  refute_line 'Not tested:'
  finds '8 short-ttl critical' --args '{limit} {rate} {now}' --limit 5/250s
  bucket "if ok then redis.call('HSET', KEYS[1], 'have', have) end
redis.call('HSET', KEYS[1], 'seen', now)
redis.call('EXPIRE', KEYS[1], 120)"
  finds '8 denied-write critical' --args '{limit} {rate} {now}'
  finds '8 coarse-time warning
8 denied-write critical' --args '{limit} {rate} {now_s}'
}

@test "a bucket that rounds off what refills between two quick retries is found" {
  script "local size, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.call('HMGET', KEYS[1], 'have', 'seen')
local have, seen = tonumber(stored[1] or size), tonumber(stored[2] or now)
have = math.min(size, have + math.floor((now - seen) * 1000 * size / window) / 1000)
local ok = have >= 1
if ok then have = have - 1 end
redis.call('HSET', KEYS[1], 'have', have, 'seen', now)
redis.call('PEXPIRE', KEYS[1], 2 * window)
return ok and 1 or 0"
  finds '7 denied-write critical' --args '{limit} {window_ms} {now_ms}'
}

@test "a window that allowed requests renew is found" {
  script "local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n == tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])
return 1"
  finds '4 renewed-window critical' --args '{limit} {window_s}'
  finds '4 renewed-window critical' --args '{limit} {window_s}' --limit 2/60s
  finds '4 locked-out critical' --args '{limit} {window_s}' --limit 1/60s
}

@test "a cost that skips the TTL is found, and --cost says which are sent" {
  script "local used = redis.call('INCRBY', KEYS[1], ARGV[1])
if used == 1 then redis.call('EXPIRE', KEYS[1], ARGV[2]) end
return used"
  finds '1 no-ttl critical' --args '{cost} {window_s}' --allowed-when '<=limit'
  finds '' --args '{cost} {window_s}' --allowed-when '<=limit' --cost 1
  finds '1 no-ttl critical' --args '{cost} {window_s}' --allowed-when '<=limit' --cost 1,3
  run -3 rlctl lint "$script" --args '1 {window_s}' --allowed-when '<=limit' --cost 1,3
  assert_line --partial 'the script is not given the cost of a request'
}

@test "a wait that may be 0 while the limit is full is found where it reads as allowed" {
  script "local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n >= tonumber(ARGV[1]) then return redis.call('PTTL', KEYS[1]) end
if n == 0 then redis.call('SET', KEYS[1], 1, 'PX', ARGV[2]) else redis.call('INCR', KEYS[1]) end
return 0"
  finds '2 zero-wait critical' --limit 5/1s --args '{limit} {window_ms}' --allowed-when zero --retry-after 'r ms'
  finds '2 zero-wait critical' --limit 5/1s --args '{limit} {window_ms}' --allowed-when 'not (r > 0)'
  script "local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return n > tonumber(ARGV[1]) and math.max(1, redis.call('PTTL', KEYS[1])) or 0"
  finds '' --limit 5/1s --args '{limit} {window_ms}' --allowed-when zero --retry-after 'r ms'
}

@test "the start of a window of the clock is not called coarse" {
  script "local start = ARGV[1] - ARGV[1] % ARGV[2]
if redis.call('HGET', KEYS[1], 'start') ~= tostring(start) then redis.call('HSET', KEYS[1], 'start', start, 'n', 0) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'n', 1)"
  finds '' --limit 3/4s --args '{now_s} {window_s}' --allowed-when '<=limit'
}

@test "seconds in the names of keys are found, but not the number of a window" {
  script "local n = redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 120)
return n"
  run --separate-stderr found --keys '{key}:{now_s}' --limit 5/2s --allowed-when '<=limit'
  assert_output '1 coarse-time critical'
  finds '' --keys '{key}:{window_index}' --allowed-when '<=limit'
}
