# needs: server
load ../../support/common

# `rlctl burst --reserve`: reservations and settles. Budgets that are sound, and some that are not.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  # Holds in a sorted set by their ends, units by ID, and a string with what was spent in the window.
  cat >reserve.lua <<'LUA'
local limit, units, id, hold, now = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
local held = 0
for _, its in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. now, '+inf')) do
  held = held + tonumber(string.match(its, ':(%d+)$'))
end
if held + tonumber(redis.call('GET', KEYS[2]) or '0') + units > limit then return 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
redis.call('ZADD', KEYS[1], now + hold, id .. ':' .. units)
redis.call('SET', KEYS[3] .. id, units, 'PX', 2 * hold)
return 1
LUA
  cat >settle.lua <<'LUA'
local actual, id, window = tonumber(ARGV[1]), ARGV[2], tonumber(ARGV[3])
local units = redis.call('GET', KEYS[3] .. id)
if not units then return 0 end
redis.call('DEL', KEYS[3] .. id)
redis.call('ZREM', KEYS[1], id .. ':' .. units)
if redis.call('INCRBY', KEYS[2], actual) == actual then redis.call('PEXPIRE', KEYS[2], window) end
return 1
LUA
  # Takes the units at once and gives back what was not needed, whoever asks and how often.
  cat >counter.lua <<'LUA'
local limit, cost, actual = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if ARGV[4] == 'settle' then return redis.call('INCRBY', KEYS[1], actual - cost) end
if tonumber(redis.call('GET', KEYS[1]) or '0') + cost > limit then return -1 end
local used = redis.call('INCRBY', KEYS[1], cost)
if used == cost then redis.call('PEXPIRE', KEYS[1], ARGV[5]) end
return used
LUA
  sound=(reserve.lua --head 'settle settle.lua {actual} {reservation} {window_ms}' --keys '{key}' --keys '{key}:spent' --keys '{key}:id:'
    --args '{limit} {cost} {reservation} {hold_ms} {now_ms}')
  counter=(counter.lua --args '{limit} {cost} {actual} {event} {window_ms}' --allowed-when 'r >= 0')
  holders=(--limit 1000/60s --reserve 100 --hold 5s --actual 50..150 --settle-after 2s~ --crash 5%
    --rate 1/s)
}

# spending FILTER: of the only run in $output.
spending() { gojq -c ".runs[0].spending | $1" <<<"$output"; }

@test "budget keeps its limit and loses nothing, alike on a server and in its model" {
  run -0 rlctl burst "${holders[@]}" --keys 3 --json
  assert_equal "$(spending '[.exceeded, .starved, .leaked, .end_taken, .end_keys]')" '[0,0,0,0,3]'
  assert_equal "$(spending .refused_while_held)" 0
  assert_equal "$(spending '.used <= 1000 and .settled > 0 and .late > 0 and .died > 0')" true
  local runs
  runs=$(gojq -c .runs <<<"$output")
  run -0 rlctl burst "${holders[@]}" --keys 3 --json --model
  assert_equal "$(gojq -c .runs <<<"$output")" "$runs"
}

@test "what settles spend above the limit is named, and is not held against the limiter" {
  run -0 rlctl burst steady --limit 1000/60s --reserve 100 --actual 300 --rate 1/s --model
  assert_line 'budget  within the limit, no unit lost'
  assert_line --regexp '^overspent +settles brought a key up to [0-9,]+ units above the limit'
}

@test "a settle after the reservation is forgotten is named" {
  run -0 rlctl burst steady --limit 1000/60s --reserve 100 --hold 2s --settle-after 5s --rate 1/10s --model
  assert_line 'budget  within the limit, but some settles came too late to count'
  assert_line --regexp '^refused +[0-9]+ settles after the hold had ended, so that the units were not'
}

@test "a script reserves, and another settles" {
  run -0 rlctl burst "${sound[@]}" "${holders[@]}" --json
  assert_equal "$(spending '[.exceeded, .starved, .leaked, .end_taken, .refused]')" '[0,0,0,0,null]'
  assert_equal "$(spending '.used <= 1000 and .settled > 0')" true
}

@test "a counter without holds loses the units of those who die" {
  run -0 rlctl burst "${counter[@]}" --limit 1000/60s --reserve 100 --hold 1s --crash 50% --rate 1/s
  assert_line --regexp '^counter.lua  lost [0-9,]+ units$'
  assert_line --regexp '^starved +[0-9]+ reservations were denied although there was room'
}

@test "a program is asked for reservations" {
  run -0 rlctl burst --exec "perl $project/tests/limiters/budget.pl" "${holders[@]}" --keys 2 --json
  local program
  program=$(gojq -c '.runs[0] | [.allowed, .denied, .spending.settled, .spending.late, .spending.repeated,
    .spending.refused, .spending.leaked, .spending.exceeded]' <<<"$output")
  run -0 rlctl burst "${holders[@]}" --keys 2 --model --json
  assert_equal "$program" "$(gojq -c '.runs[0] | [.allowed, .denied, .spending.settled, .spending.late,
    .spending.repeated, .spending.refused, .spending.leaked, .spending.exceeded]' <<<"$output")"
}

@test "each event is a line of a .jsonl" {
  printf '%s\n' time,key 0,a 1,a 4,b >log.csv
  run -0 as jsonl rlctl burst --replay log.csv --limit 10/60s --reserve 6 --actual 8 --model
  assert_equal "$(gojq -r '[.at_us, .reservation, .event, .key, .units, .actual, .allowed | tostring] | join(" ")' \
    <<<"$output")" \
    '0 r1 reserve a 6 null true
1000000 r1 settle a 6 8 true
1000000 r2 reserve a 6 null false
4000000 r3 reserve b 6 null true
5000000 r3 settle b 6 8 true'
}

@test "assertions are about reservations, with --reserve" {
  run -0 rlctl burst --limit 10/60s --reserve 2 --model -q --assert 'used<=10' --assert 'leaked==0' \
    --assert 'exceeded==0' --assert 'end_too_many==0'
  run -1 --separate-stderr rlctl burst --limit 10/60s --reserve 2 --model -q --assert 'used<10'
  assert_equal "$stderr" "rlctl: burst: assertion 'used<10' does not hold: budget has 10"
}

@test "the command that is printed repeats the run of reservations" {
  run -0 rlctl burst "${sound[@]}" "${holders[@]}" --json
  repeats
}
