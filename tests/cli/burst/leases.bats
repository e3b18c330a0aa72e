# needs: server
load ../../support/common

# `rlctl burst --concurrency`: acquires, renewals and releases. Semaphores that are sound, and some that are not.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cat >acquire.lua <<'LUA'
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[2], ARGV[3])
return 1
LUA
  echo "return redis.call('ZREM', KEYS[1], ARGV[3])" >release.lua
  cat >set.lua <<'LUA'
if ARGV[3] == 'release' then return redis.call('SREM', KEYS[1], ARGV[2]) end
if redis.call('SISMEMBER', KEYS[1], ARGV[2]) == 1 then return 1 end
if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
return redis.call('SADD', KEYS[1], ARGV[2])
LUA
  zset=(acquire.lua --head 'release release.lua' --args '{limit} {lease_ms} {holder} {now_ms}')
}

# holding FILTER: of the only run in $output.
holding() { gojq -c ".runs[0].holding | $1" <<<"$output"; }

@test "concurrency gives as many leases as there are, alike on a server and in its model" {
  local options=(burst --concurrency 5 --lease 3s --hold 1s~ --crash 5% --renew --keys 3 --rate 20/s --json)
  run -0 rlctl "${options[@]}"
  assert_equal "$(holding '[.held, .starved, .leaked, .end_taken, .end_keys, .refused_while_held]')" '[5,0,0,0,3,0]'
  assert_equal "$(holding '.died > 0 and .renewed > 0 and .released > 0')" true
  local runs
  runs=$(gojq -c .runs <<<"$output")
  run -0 rlctl "${options[@]}" --model
  assert_equal "$(gojq -c .runs <<<"$output")" "$runs"
}

@test "a lease that is not renewed ends, and who holds on is counted apart" {
  run -0 rlctl burst steady --concurrency 3 --lease 10s --hold 15s --model --json
  assert_equal "$(holding '[.held, .held_ever, .lapsed, .refused_while_held]')" '[3,5,2,0]'
  run -0 rlctl burst steady --concurrency 3 --lease 10s --hold 15s --model
  assert_line 'lapsed     5 held at once, 2 of them although their lease had ended: --renew'
  run -0 rlctl burst steady --concurrency 3 --lease 10s --hold 15s --renew --model --json
  assert_equal "$(holding '[.held, .held_ever, .lapsed]')" '[3,3,0]'
}

@test "a limiter that renews no lease is not taken for one that keeps its promise" {
  cat >never.lua <<'END'
-- rlctl: keys {key}
-- rlctl: args {limit} {lease_ms} {now_ms} {holder} {event}
-- rlctl: allowed r == 1
local limit, lease, now, holder, event = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4], ARGV[5]
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if event == 'release' then return redis.call('ZREM', KEYS[1], holder) end
if event == 'renew' or redis.call('ZCARD', KEYS[1]) >= limit then return 0 end
redis.call('ZADD', KEYS[1], now + lease, holder)
redis.call('PEXPIRE', KEYS[1], lease)
return 1
END
  run -0 rlctl burst steady never.lua --concurrency 2 --lease 5s --hold 2s --renew --rate 1/s --requests 10
  assert_line 'never.lua  refused to renew what was held'
  assert_line 'refused    10 renewals of a lease that had not ended'
}

@test "a script acquires, and another releases" {
  run -0 rlctl burst "${zset[@]}" --concurrency 3 --lease 5s --hold 1s --crash 10% --json
  assert_equal "$(holding '[.held, .starved, .leaked, .end_taken, .refused_while_held]')" '[3,0,0,0,null]'
  assert_equal "$(holding '.died > 0')" true
}

@test "the ARGV behind the file are for the script that releases" {
  echo "return redis.call('ZREM', KEYS[1], ARGV[1])" >release.lua
  run -0 rlctl burst "${zset[@]/%release.lua/release.lua {holder\}}" --concurrency 3 --hold 1s --json
  assert_equal "$(holding '[.held, .leaked]')" '[3,0]'
  run -0 rlctl burst "${zset[@]}" --concurrency 3 --hold 1s --json  # ARGV[1] is the limit
  assert_equal "$(holding '[.held, .leaked > 0, .starved > 0]')" '[3,true,true]'
}

@test "members that stay when their holder has died are leaked, and a script may be told the event" {
  local options=(burst steady set.lua --args '{limit} {holder} {event}' --concurrency 3 --hold 1s --lease 5s
    --crash 20% --seed 2)
  run -0 --separate-stderr rlctl "${options[@]}" --renew --json
  assert_equal "$(holding '[.held, .leaked, .end_taken, .starved > 0]')" '[3,3,3,true]'
  run -0 rlctl "${options[@]}"
  assert_line --regexp '^leaked +3 slots at once that nobody had and nobody got, for up to '
  assert_line 'at the end 3 slots were still taken 10 s after the last holder had gone'
  assert_line 'set.lua  lost 3 slots'
}

@test "a counter that expires while slots are held goes below 0, and too many hold" {
  cat >counter.lua <<'LUA'
local n = redis.call('INCR', KEYS[1])
if n > tonumber(ARGV[1]) then redis.call('DECR', KEYS[1]) return 0 end
redis.call('PEXPIRE', KEYS[1], 500)
return 1
LUA
  echo "return redis.call('DECR', KEYS[1])" >decr.lua
  run -0 rlctl burst counter.lua --head 'release decr.lua' --args '{limit}' --concurrency 3 --hold 1s
  assert_line --regexp '^counter.lua  [0-9]+ held at once, [0-9]+ more than the limit$'
  assert_line --regexp '^exceeded +[0-9]+ held at once, [0-9]+ more than the limit$'
}

@test "a program is asked for leases" {
  local options=(--concurrency 4 --lease 2s --hold 1s~ --crash 10% --renew --keys 2 --rate 10/s --json)
  run -0 rlctl burst --exec "perl $project/tests/limiters/semaphore.pl" "${options[@]}"
  local program
  program=$(holding .)
  run -0 rlctl burst "${options[@]}" --model
  assert_equal "$program" "$(holding .)"
}

@test "a replayed log says how long leases were held" {
  printf '%s\n' time,key,ms 0,a,1500 1,a,500 2,a,1000 4,b,10 >log.csv
  run -0 as jsonl rlctl burst --replay log.csv --fields hold=ms:ms --concurrency 1 --model
  assert_equal "$(gojq -r '"\(.at_us) \(.holder) \(.event) \(.key) \(.allowed)"' <<<"$output")" \
    '0 h1 acquire a true
1000000 h2 acquire a false
1500000 h1 release a true
2000000 h3 acquire a true
3000000 h3 release a true
4000000 h4 acquire b true
4010000 h4 release b true'
  fails 2 "burst: log.csv:1: the header has no field 's': 'time,key,ms'
  hint: --fields hold=NAME says which of them it is" \
    rlctl burst --replay log.csv --fields hold=s --concurrency 1 --model
}

@test "assertions are about leases, with --concurrency" {
  run -0 rlctl burst --concurrency 2 --model -q --assert 'held<=2' --assert 'leaked==0' --assert 'starved==0'
  run -1 --separate-stderr rlctl burst --concurrency 2 --model -q --assert 'held<2'
  assert_equal "$stderr" "rlctl: burst: assertion 'held<2' does not hold: concurrency has 2"
  echo 'return 0' >denies.lua
  run -1 --separate-stderr rlctl burst denies.lua --args '{event}{now_ms}' --concurrency 2 -q --assert 'held<=2'
  assert_regex "$stderr" "assertion 'held<=2' proves nothing about denies.lua: nothing was allowed"
}

@test "the picture says how many held, or what was spent" {
  run -0 as svg rlctl burst --concurrency 2 --model
  assert_output --partial '>held at once</text>'
  assert_output --partial '>within the limit, no slot lost</text>'
  run -0 as svg rlctl burst --limit 10/60s --reserve 2 --model
  assert_output --partial '>units spent and held</text>'
  xmllint --noout - <<<"$output"
}

@test "the command that is printed repeats the run" {
  run -0 rlctl burst "${zset[@]/%release.lua/release.lua {limit\} 0 {holder\}}" --concurrency 3 --hold 500ms~ --crash 1% --json
  repeats
}

@test "what is held is never told wrong, whatever the semaphore and its flaw" {
  run -0 /usr/bin/python3 -B "$project/tests/support/semaphores.py" "$(command -v rlctl)"
  assert_output '24 semaphores'
}
