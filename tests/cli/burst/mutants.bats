load ../../support/common

# Whether `rlctl burst` notices what is wrong with a limiter: lua/sliding-window-log.lua, unchanged but for one
# token or one statement, runs as a script of others. Every mutant must break an assertion of a run below, end
# in an error or hang, except for those that behave like the original. These are in equivalent().

log=$project/lua/sliding-window-log.lua

# --- the traffic -------------------------------------------------------------------------------------

# make_log REQUESTS UNIT MOST COSTS…: a log of a request every 0 to MOST - 1 units of so many seconds, now and then
# after a silence of up to 90, of one of these costs. Whole units, so that requests meet the edges of windows.
make_log() {
  perl -e 'my ($requests, $unit, $most, @costs) = @ARGV;
    my ($random, $at) = (1, 1800000000);
    sub random { $random = ($random * 1103515245 + 12345) % 2**31; ($random >> 8) % $_[0] }
    for (1 .. $requests) {
      $at += $unit * (random($most) + (random(25) ? 0 : random(90)));
      printf "%d k %d\n", $at, $costs[random(scalar @costs)];
    }' "$@"
}

setup_file() {
  start_server
  cd "$BATS_FILE_TMPDIR" || return
  make_log 150 1 6 1 >ones.log
  make_log 250 1 4 1 2 3 4 5 6 7 >costs.log
  make_log 60 1 15 1000 1001 2000 2500 >thousands.log
  make_log 400 1000 4 1 3 5 7 >windows.log
  # For a window of 6000 s. The script sets TTLs of 7500 s or more, and again once less than 6000 s are left.
  printf '%d k\n' 1800000000 1800001497{,} 1800007495{,,} \
    1800100000 1800104000 1800107600{,,} >ttl.log
}

# --- the runs ----------------------------------------------------------------------------------------

allowed='r[1] == 1 and r[3] == 0 and r[5] == 0 and r[6] == 0'
denied='r[1] == 0 and r[5] == 0 and r[6] == 1 and (r[3] > 0 or r[3] == -1)'
arguments='{limit} {window_us} "" {cost} {now_us}'
times=(--retry-after 'r[3] us' --reset-after 'r[4] us')

# burst OPTION…: of $script, with the connection options in $connection.
burst() { rlctl "${connection[@]}" burst -q --script "$script" --allowed-when "$allowed" "$@"; }
search() { burst adversary "$@" --assert 'worst<=1' --assert 'most_stepping_back<=1' --assert 'wrongly_denied==0'; }
keeps() {
  burst --remaining 'r[2]' "${times[@]}" "$@" --assert 'worst<=1' \
    --assert 'remaining_too_many==0' --assert 'remaining_too_few==0' \
    --assert 'reset_after_too_early_us==0' --assert 'reset_after_too_late_us==0'
}
# The same, if requests are denied and allowed again later.
keeps_promises() {
  keeps "$@" --assert 'retry_after_broken==0' --assert 'retry_after_too_early_us==0' \
    --assert 'retry_after_too_late_us==0'
}

run_ones() { keeps_promises --replay ones.log --limit 3/20s --args "$arguments" --allowed-when "not ($denied and r[2] == 0)"; }
run_costs() { keeps_promises --replay costs.log --limit 5/20s --args "$arguments"; }
run_thousands() { keeps --replay thousands.log --limit 5000/60s --args "$arguments" --allowed-when "not ($denied)"; }
run_clock() { keeps_promises poisson --limit 4/6000s --cost 2 --requests 100 --args '{limit} {window_us} "" {cost}'; }
run_ttl() { keeps --replay ttl.log --limit 3/6000s --args '{limit} {window_us}'; }
run_ttl_given() {
  keeps --replay ttl.log --limit 3/6000s --keys '{key}:a' --keys '{key}:b' \
    --args '{limit} {window_us} "" 9 {window_us} "" {cost} {now_us}'
}
run_first_key() {
  keeps_promises --replay costs.log --limit 5/20s --keys '{key}:a' --keys '{key}:b' \
    --args '{limit} {window_us} "" 5 15000000 "" {cost} {now_us}'
}
run_last_key() {
  keeps_promises --replay costs.log --limit 5/20s --keys '{key}:b' --keys '{key}:a' \
    --args '5 15000000 "" {limit} {window_us} "" {cost} {now_us}'
}
run_never() {
  keeps_promises --replay costs.log --limit 3/20s --keys '{key}:a' --keys '{key}:b' \
    --args '{limit} {window_us} "" 5 {window_us} "" {cost} {now_us}' --allowed-when "not ($denied)"
}
# A clock of its own, whose µs last a ms.
run_slow_clock() {
  times=(--retry-after 'r[3] ms' --reset-after 'r[4] ms')
  keeps_promises --replay ones.log --limit 3/20s --keys '{key}:a' --keys '{key}:b' \
    --args '{limit} {window_ms} "" {limit} {window_ms} "" {cost} {now_ms}'
}
run_limits() { burst --replay costs.log --args '{cost} 20000000 "" 1 {now_us}' --allowed-when "not ($denied and r[2] == 0)" --assert allowed==119; }
run_windows() { burst --replay windows.log --args '2 {cost}{cost}00000000 "" 1 {now_us}' --assert allowed==242; }
run_search() { search --limit 3/60s --budget 300 --args "$arguments" --allowed-when "not ($denied)"; }
runs=(ones costs thousands clock ttl ttl_given first_key last_key never slow_clock limits windows search)

# --- the mutants -------------------------------------------------------------------------------------

# What no run changes or reaches: the checks of the arguments, refunds and peeks, keys of other types.
unreached=(
  '(local NAME[^\n]*)'
  '(local KEYS, ARGV.*?)local cost,'
  "if not cost or cost == ''(.*?)if not now"
  'now = tonumber\(now\)(.*?)margin ='
  'if not \(limit(.*?)if kept'
  '-- an error is a table(.*?)local oldest'
  'if not \(newest(.*?)\n    if newest > now'
  'if cost < 0 then(.*?)elseif cost >'
  'if cost == 0 then (return [^\n]*)'
  'if cost < 0 and gone == length then\n([^\n]*)'
  'if cost < 0 then (return [^\n]*)'
)

# Mutants that loop for ever. They get a short timeout, so that the test does not take long, and a server of
# their own. The others share one, which takes half as long.
hanging() {
  cat <<'END'
local low, high, step = 0, length - 1, [1 → 0]
while high [- → +] low > 1 do
while high - low [> → >=] 1 do
while high - low > [1 → 0] do
local middle = low + step < high and low + step or math.floor((low + high) / [2 → 3])
high, step = [middle, length → length, middle]
for i = n, 1, -[1 → 0] do
[low, step = middle, step * 2 → nothing]
[high, step = middle, length → nothing]
[rest = rest - 1000 → nothing]
END
}

# Mutants that answer every request of a run like the original, and why.
equivalent() {
  cat <<'END'
# Every request costs at least 1.
if cost [< → <=] 0 then
if cost < [0 → 1] then
if cost < [0 → -1] then
elseif cost > limit - used and cost [> → >=] 0 then
elseif cost > limit - used and cost > [0 → -1] then
if cost == [0 → -1] then return {1, remaining, 0, reset_after, 0, 0} end
local last = cost [> → >=] 0 and time or newest or now
local last = cost > [0 → -1] and time or newest or now
if cost [> → >=] 0 and gone > cost and left > ttl then
if cost > [0 → -1] and gone > cost and left > ttl then
if cost [> → >=] 0 then
if cost > [0 → -1] then
if cost [< → <=] 0 and gone == length then
if cost < [0 → 1] and gone == length then
if cost < [0 → -1] and gone == length then
if cost < 0 and gone [== → ~=] length then
if cost [< → <=] 0 then return {1, remaining, 0, reset_after, 0, 0} end
if cost < [0 → 1] then return {1, remaining, 0, reset_after, 0, 0} end
if cost < [0 → -1] then return {1, remaining, 0, reset_after, 0, 0} end
# If both sides are equal, both branches do the same.
if newest [> → >=] now then time = newest end
if at + window - now [> → >=] retry_after then retry_after = at + window - now end
if limit - used [< → <=] remaining then remaining = limit - used end
if reset [> → >=] reset_after then reset_after = reset end
if time + window - now [> → >=] reset_if_allowed then reset_if_allowed = time + window - now end
if remaining [< → <=] 0 then remaining = 0 end
if cost > 0 and gone [> → >=] cost and left > ttl then
# What remains is whole: less than 1 is 0.
if remaining < [0 → 1] then remaining = 0 end
# The initial value never counts: the first key replaces it, and a time in a reply is 0 or at least 1.
local reset_if_allowed = [0 → 1]
local reset_if_allowed = [0 → -1]
local remaining, retry_after, reset_after, denied_by = [1e10 → (1e10 + 1)], 0, 0, 0
local remaining, retry_after, reset_after, denied_by = [1e10 → (1e10 - 1)], 0, 0, 0
local remaining, retry_after, reset_after, denied_by = 1e10, [0 → 1], 0, 0
local remaining, retry_after, reset_after, denied_by = 1e10, 0, [0 → -1], 0
local reset = used > 0 and newest + window - now or [0 → -1]
# The results of a key are kept without need.
local kept = n [> → >=] 1 and {}
local kept = n > [1 → 0] and {}
# No run gives a burst.
key, burst = KEYS[i], ARGV[3 [* → /] i]
# The newest unit is the oldest, or the oldest is read again.
oldest = length == [1 → 0] and newest or tonumber(pcall('LINDEX', key, '0'))
local at = leaving == [0 → -1] and oldest or tonumber(call('LINDEX', key, leaving))
# The search for the first live unit takes other steps, and finds the same.
local low, high, step = [0 → -1], length - 1, 1
local low, high, step = 0, length - [1 → 0], 1
local low, high, step = 0, length - 1, [1 → 2]
local middle = low + step [< → <=] high and low + step or math.floor((low + high) / 2)
low, step = middle, step * [2 → 3]
low, step = middle, step * [2 → 1]
# The time of a request with a cost is never nil.
local last = cost > 0 and time or newest [or → and] now
# A TTL changes by 2 ms at most; burst gives scripts their TTLs only to a few ms.
local cost, now, margin = ARGV[3 * n + 1], ARGV[3 * n + 2], [0 → 1]
local cost, now, margin = ARGV[3 * n + 1], ARGV[3 * n + 2], [0 → -1]
margin = [3600000000 → 3600000001]
margin = [3600000000 → 3599999999]
local needed = (last + window - now + margin [+ → -] 999) / 1000
local needed = (last + window - now + margin + [999 → 1000]) / 1000
local needed = (last + window - now + margin + [999 → 998]) / 1000
# A TTL is at least what is needed, by another excess.
local needed = (last + window - now + margin + 999) / [1000 → 999]
local ttl, left = needed + window / [4000 → 4001], length > 0 and call('PTTL', key) or -1
local ttl, left = needed + window / [4000 → 3999], length > 0 and call('PTTL', key) or -1
# A key that has no TTL or does not exist has less TTL than needed, whatever stands for that.
local ttl, left = needed + window / 4000, length [> → >=] 0 and call('PTTL', key) or -1
local ttl, left = needed + window / 4000, length > [0 → -1] and call('PTTL', key) or -1
local ttl, left = needed + window / 4000, length > 0 and call('PTTL', key) or [- → nothing]1
local ttl, left = needed + window / 4000, length > 0 and call('PTTL', key) or -[1 → 2]
local ttl, left = needed + window / 4000, length > 0 and call('PTTL', key) or -[1 → 0]
# A key of one unit gets its TTL anew each time.
local ttl, left = needed + window / 4000, length > [0 → 1] and call('PTTL', key) or -1
# A TTL that is exactly as long as needed is set anew, or taken as that of a longer window.
if cost > 0 and gone > cost and left [> → >=] ttl then
if left [< → <=] needed then call('PEXPIRE', key, string.format('%d', ttl)) end
# LTRIM drops nothing.
if gone [> → >=] 0 then call('LTRIM', key, gone, '-1') end
if gone > [0 → -1] then call('LTRIM', key, gone, '-1') end
# One unit is added as several are.
if cost == [1 → 0] then
# The unit before the first, or after the last, is not added; the smaller of two has no order.
for j = [1 → 0], math.min(cost, 1000) do units[j] = unit end
for j = 1, math.min([cost, 1000 → 1000, cost]) do units[j] = unit end
for j = 1, math.min(cost, [1000 → 1001]) do units[j] = unit end
call('RPUSH', key, unpack(units, 1, math.min([rest, 1000 → 1000, rest])))
END
}

# fate NUMBER NAME: prints the first run that notices the mutant and how it ended, or "none".
fate() {
  local script=$PWD/mutants/$1.lua connection=(--socket "$socket") run status
  if hanging | grep -qxF "$2"; then connection=(--timeout 1s); fi
  for run in "${runs[@]}"; do
    status=0
    "run_$run" &>/dev/null || status=$?
    if ((status)); then
      echo "$run $status"
      return
    fi
  done
  echo none
}

# Prints "NUMBER RUN STATUS" for every mutant, in any order. Each job takes every so many-th mutant.
fates() {
  local jobs job jobs_running=()
  jobs=$(getconf _NPROCESSORS_ONLN)
  for ((job = 0; job < jobs; ++job)); do
    awk -v jobs="$jobs" -v job="$job" 'NR % jobs == job' mutants/names | while IFS=$'\t' read -r number _ name; do
      echo "$number $(fate "$number" "${name#*: }")"
    done >"fates.$job" 3>&- &
    jobs_running+=($!)
  done
  wait "${jobs_running[@]}"
  cat fates.*
}

# --- the tests ---------------------------------------------------------------------------------------

setup() { cd "$BATS_FILE_TMPDIR" || return; }

@test "the original passes every run" {
  local script=$log connection=(--socket "$socket") run
  for run in "${runs[@]}"; do expect_status 0 "run_$run"; done
}

@test "every mutant that is not equivalent is noticed" {
  mkdir mutants
  perl "$project/tests/mutation/mutate.pl" "$log" mutants "${unreached[@]}" >mutants/names
  (($(wc -l <mutants/names) > 300))
  cut -f3 mutants/names | sed 's/^[0-9]*: //' | sort >mutants/all
  # A listed name means one mutant.
  { hanging && equivalent; } | sed '/^#/d' | sort >mutants/listed
  run comm -13 <(uniq -u mutants/all) mutants/listed
  assert_output ''

  fates >mutants/fates
  # 1: an assertion does not hold; 5: the script failed; 3: it hangs.
  run grep -vE ' ([13]|5)$| none$' mutants/fates
  assert_output ''
  awk -F '[ \t]' 'NR == FNR { if ($2 == "none") none[$1]; next } $1 in none' mutants/fates mutants/names |
    cut -f3 | sed 's/^[0-9]*: //' | sort >mutants/survivors
  equivalent | sed '/^#/d' | sort >mutants/expected
  run diff --label 'equivalent' mutants/expected --label 'not noticed' mutants/survivors -U 0
  assert_output ''
}
