# needs: server
load ../../support/common

# `rlctl lint --reserve`: flaws of scripts that keep a budget. budgets_test.cc checks what the search finds; the findings
# in examples/pitfalls are in pitfalls.bats.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
}

lint() {
  rlctl lint --limit 10/60s --reserve 4 --hold 10s \
    --args '{event} {limit} {window_ms} {now_ms} {reservation} {cost} {hold_ms} {actual}' "$@"
}

# write_budget FILE SETTLE: a budget with this Lua for a settle of `its`, which is nil if it is not known.
write_budget() {
  cat >"$1" <<LUA
local limit, window, now = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local id, units, hold, actual = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
local stored = redis.call('GET', KEYS[1])
local budget = stored and cjson.decode(stored) or {spent = 0, held = 0, holds = {}}
local number = math.floor(now / window)
if budget.number ~= number then budget.number, budget.spent = number, 0 end
for other, its in pairs(budget.holds) do
  if its.ends <= now and its.units > 0 then budget.held, its.units = budget.held - its.units, 0 end
  if its.ends + hold <= now then budget.holds[other] = nil end
end
local its = budget.holds[id]
if ARGV[1] == 'settle' then
  $2
elseif not its then
  if budget.spent + budget.held + units > limit then return 0 end
  budget.held, budget.holds[id] = budget.held + units, {units = units, ends = now + hold}
end
redis.call('SET', KEYS[1], cjson.encode(budget), 'PX', window + 2 * hold)
return 1
LUA
}

# finds NAMES STATUS SETTLE: these findings, in this order.
finds() {
  write_budget budget.lua "$3"
  run "-$2" --separate-stderr lint budget.lua --json
  assert_equal "$(gojq -r 'select(.finding) | .finding' <<<"$output" | paste -sd ' ')" "$1"
}

settle='budget.held, budget.spent = budget.held - its.units, budget.spent + actual'
once='its.units, its.settled = 0, true'

@test "a sound budget has no findings, and what was tested is named" {
  write_budget budget.lua "if not its or its.settled then return 0 end; $settle; $once"
  run -0 lint budget.lua
  assert_line --partial 'no findings in 1 script'
  assert_line --partial 'holders that die'
  assert_line --partial 'also repeated, after the'
  assert_line --partial 'whether keys expire'
  assert_line --partial 'rlctl burst adversary'
  local limit
  for limit in 10/60s 5000/1d; do
    run -0 rlctl lint budget --limit "$limit" --reserve 4 --hold 10s
    assert_line --partial 'no findings in 1 script'
  done
}

@test "a settle that comes twice is spent twice" {
  finds spent-twice 2 "if not its then return 0 end; $settle; its.units = 0"
}

@test "a settle that is not spent, or only in time" {
  finds unspent 2 "if not its or its.settled then return 0 end; budget.held = budget.held - its.units; $once"
  finds unspent 2 "if not its or its.settled or its.units == 0 then return 0 end; $settle; $once"
}

@test "another script settles" {
  cd "$project/examples/pitfalls"
  run -2 rlctl lint double-refund.lua --settle double-refund-settle.lua --limit 10/60s --reserve 10 --hold 10s \
    --args '{limit} {window_ms} {now_ms} {reservation} {cost} {hold_ms} {actual}'
  assert_output --partial 'A settle gives back units that were given back before'
  assert_output --partial 'r1 settles 0 (hold had'
}

@test "of a script that allows nothing, nothing is known" {
  echo 'return 0' >denies.lua
  run -3 lint denies.lua
  assert_line --partial 'no findings in what was tested'
  assert_line --partial 'what becomes of reservations: nothing was allowed'
}

@test "what does not fit is refused" {
  echo 'return 0' >denies.lua
  run -3 rlctl lint denies.lua --reserve 1 --args '{cost}'
  assert_output --partial 'nothing settles the reservations'
  run -3 rlctl lint denies.lua --reserve 1 --args '{event}'
  assert_output --partial '{cost}'
  run -3 lint denies.lua --concurrency 2
  run -3 lint denies.lua --reserve 11
  run -3 rlctl lint gcra --reserve 1
  assert_output --partial 'has no reservations'
}

@test "a script that is not told the units, and adds what a settle costs, exceeds the limit" {
  cat >check-then-add.lua <<'LUA'
if ARGV[1] == 'reserve' then return tonumber(redis.call('GET', KEYS[1]) or 0) < tonumber(ARGV[2]) and 1 or 0 end
redis.call('INCRBY', KEYS[1], ARGV[3])
redis.call('PEXPIRE', KEYS[1], ARGV[4])
return 1
LUA
  run -2 --separate-stderr rlctl lint check-then-add.lua --limit 10/60s --reserve 4 --args '{event} {limit} {actual} {window_ms}'
  assert_line 'check-then-add.lua: over-budget'
  assert_regex "$stderr" 'is not told how many units are reserved; if it can be, put \{cost\} in --args'
}
