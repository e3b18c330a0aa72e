# needs: server
load ../../support/common

# `rlctl adversary`: the search for the schedule under which a limiter allows the most. search_test.cc and
# exhaustive_test.cc check what it finds for which limiter; this file tests the command line.

# A search that is long enough for flaws like those below.
search() { rlctl adversary --tries 2000 "$@"; }

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  cp "$project/tests/limiters/trusting-log.lua" trusting.lua
  # The same, but each entry leaves one µs too early.
  sed "s/ - ARGV\[2\]/ - ARGV[2] + 1/" trusting.lua >early.lua
}

trusting=(trusting.lua --args '{now_us} {window_us} {limit}')
members=("$project/examples/pitfalls/times-as-members.lua" --args '{now_ms} {window_ms}'
  --allowed-when '<=limit')

# search_shows OPTION…: the report of this search has each line of standard input.
search_shows() {
  local line
  run -0 search "$@"
  without_blanks
  while IFS= read -r line; do assert_line "$line"; done
}

# tries NUMBER MOST OPTION…: an exhaustive search tries so many schedules, and the worst allows so many requests.
tries() {
  run -0 --separate-stderr rlctl adversary --exhaustive 3 "${@:3}" --json
  assert_equal "$(gojq -c '[.exhaustive, .tries, (.runs[0] | .tried, .undecided, .most.worst.allowed)]' <<<"$output")" \
    "[3,null,$1,0,$2]"
}

@test "a search on a replica names its master, and no keys" {
  start_server --replicaof 127.0.0.1 1
  run -5 --separate-stderr rlctl adversary -s "$socket" --limit 5/10s
  assert_regex "$stderr" "^rlctl: adversary: unix://$socket: READONLY [^"$'\n'"]*
  hint: the server is a replica; name its master instead: --url redis://127\.0\.0\.1:1\$"
}

# --- findings ----------------------------------------------------------------------------------------

@test "the report says what was found, shows the requests, and names the bound of an algorithm" {
  search_shows fixed-window <<'END'
fixed-window 2.00× the limit: 10 within 10 s
+50 s 5 5 0
+60 s 5 5 0
promise twice the limit, half of it on each side of a window's edge
END
  search_shows gcra --burst 7 --model <<'END'
promise its burst plus the refill during the window: 7 + 4
END
  search_shows leaky-bucket --cost 2 --model <<'END'
 whole requests of 2: 6
END
  search_shows sliding-window-log <<'END'
sliding-window-log never above the limit
0 5 5 0
promise the limit
denied nothing that an exact log would allow
END
  search_shows "${members[@]}" <<'END'
times-as-members.lua 5.60× the limit: 28 at one instant
0 28 28 0
bound as many as were sent: no bound was found
wrongly denied: an exact log would allow
END
  search_shows early.lua --args '{now_us} {window_us} {limit}' <<'END'
early.lua 2.00× the limit: 10 within 59.999999 s
+59.999999 s 5 5 0
END
}

@test "the most is measured as the clock of a script sees it, if its unit is known" {
  cp "$project/tests/limiters/rounded-times.lua" rounding.lua
  local ms=(rounding.lua --args '{now_ms} {window_ms} {limit} {id}')
  run -0 search "${ms[@]}" --json
  assert_equal "$(gojq -c '.runs[0] | [.tick_us, .most.worst.allowed, .by_rounding.worst.allowed, .by_rounding.worst.span_us > 59999000]' <<<"$output")" '[1000,5,10,true]'
  # Not of a script that is told more, nor of one that asks for the time.
  run -0 search "${ms[@]:0:2}" '{now_ms} {window_ms} {limit} {id} {now_us}' --json
  assert_equal "$(gojq -c '.runs[0] | [.tick_us, .most.worst.allowed, .by_rounding]' <<<"$output")" '[1,10,null]'
  (echo "redis.call('TIME')" && cat rounding.lua) >asking.lua
  run -0 search asking.lua "${ms[@]:1}" --json
  assert_equal "$(gojq -c '.runs[0] | [.tick_us, .most.worst.allowed, .by_rounding]' <<<"$output")" '[1,10,null]'
}

@test "a script is asked with a clock that is ahead if it is told the time, and the clock may step back" {
  local bucket=("$project/tests/limiters/told-bucket.lua" --args '{limit} {window_us} {now_us}' --json)
  run -0 search "${bucket[@]}"
  assert_equal "$(gojq -c '.runs[0] | .clock_ahead' <<<"$output")" '{"ahead_us":3600000000,"allowed":4,"allowed_without":99,"requests":99}'
  run -0 search "${bucket[@]}" --monotonic
  assert_equal "$(gojq -c '.runs[0] | .clock_ahead' <<<"$output")" null
  run -0 search gcra --json
  assert_equal "$(gojq -c '.runs[0] | .clock_ahead' <<<"$output")" null
}

@test "another server is refused to a script that has one key for all requests" {
  start_server
  RLCTL_REDIS_SERVER=/nowhere run -2 rlctl -s "$socket" adversary "${trusting[@]}" --keys user:1
  assert_line --partial 'keys: trusting.lua is given the same key for every schedule'
  assert_line --partial 'leave out --url'
  assert_equal "$(cli DBSIZE)" 0
}

@test "a finding that depends on an expiring TTL is replayed with the same worst" {
  local asked=("$project/tests/limiters/counter.lua" --args '{window_ms} {now_ms}' --allowed-when '<=limit')
  run -0 search "${asked[@]}" --write worst.log --json
  assert_equal "$(gojq '.runs[0].most.worst.allowed' <<<"$output")" 9
  run -0 rlctl burst --replay worst.log --limit 5/60s "${asked[@]}" --json
  assert_equal "$(gojq '.runs[0].worst.allowed' <<<"$output")" 9
  sed "s|^return 1|redis.call('PEXPIRE', KEYS[1], math.floor(ARGV[2] / 2000)) &|" trusting.lua >short.lua
  run -0 search short.lua --args '{now_ms}000 {window_us} {limit}' --write worst.log --json
  local found
  found=$(gojq '.runs[0].most.worst.allowed' <<<"$output")
  ((found > 5)) || fail "$found"
  run -0 bash -c "$(sed -n '1s/^# //p' worst.log) --json"
  assert_equal "$(gojq '.runs[0].worst.allowed' <<<"$output")" "$found"
}

@test "an error of the script is reported with the request" {
  echo 'return redis.error_reply("ERR no")' >bad.lua
  run -5 search bad.lua --args '{now} x'
  assert_line --index 0 --regexp "bad.lua: .*no; request 1 had KEYS '1' and ARGV '1767225600\.000000' 'x'$"
}

# --- the log -----------------------------------------------------------------------------------------

@test "the log of --write is replayed with the same worst" {
  run -0 search sliding-window-counter --write worst.log --json
  local found=$output
  run -0 rlctl burst sliding-window-counter --replay worst.log --limit 5/60s --json
  assert_equal "$(gojq -c '.runs[0].worst | [.allowed, .ratio, .from_us, .span_us]' <<<"$output")" \
    "$(gojq -c '.runs[0].most.worst | [.allowed, .ratio, .from_us, .span_us]' <<<"$found")"
  run -0 head -n 2 worst.log
  assert_line --index 0 '# rlctl burst sliding-window-counter --limit 5/60s --replay worst.log'
  assert_line --index 1 "# $(gojq -r .command <<<"$found")"
}

@test "the log of a script is replayed against that script" {
  run -0 search -q early.lua --args '{now_us} {window_us} {limit}' --write worst.log
  assert_output ''
  run -0 bash -c "$(sed -n '1s/^# //p' worst.log) --assert worst==2 -q"
  run -0 bash -c "$(sed -n '1s/^# //p' worst.log) --json"
  assert_equal "$(gojq -r '.runs[0].algorithm' <<<"$output")" early.lua
}

@test "if the limit is kept, --write writes the wrong denials" {
  cat >unpruned.lua <<'LUA'
local count = redis.call('ZCARD', KEYS[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2]))
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. redis.call('ZCARD', KEYS[1]))
return 1
LUA
  run -0 search unpruned.lua --args '{now_us} {window_us} {limit}' --write -
  assert_line --index 2 '# unpruned.lua: 5 allowed at one instant, 1 of 6 requests wrongly denied'
  assert_equal "${#lines[@]}" 9
}

@test "--write - prints only the log on standard output" {
  run -0 search fixed-window --write -
  assert_line --index 0 '# rlctl burst fixed-window --limit 5/60s --replay FILE'
  assert_line --index 2 '# fixed-window: 10 allowed within 10 s, 0 of 10 requests wrongly denied'
  assert_line --index 3 '1767225650 1 1'
  assert_equal "${#lines[@]}" 13
  run -0 bash -c 'rlctl adversary --tries 2000 fixed-window --write - |
    rlctl burst fixed-window --replay - --limit 5/60s --assert worst==2 -q'
}

@test "each step of a finding has what the limiter answered, where that is known" {
  run -0 rlctl adversary --model --limit 2/10s fixed-window --json
  assert_equal "$(gojq -c '.base_us as $base | .runs[0].most.schedule[0] |
    [.at_us - $base, .allowed, .remaining, .retry_after_us]' <<<"$output")" '[9000000,true,1,0]'
  # As the refusal of -o x.jsonl says.
  assert_equal "$(gojq -c '[.runs[][].schedule?[]?]' <<<"$output")" \
    "$(gojq -c '[.runs[] | .most, .wrongly_denied | select(.) | .schedule[]]' <<<"$output")"
  # This script does not tell what remains.
  run -0 search "${trusting[@]}" --json
  assert_equal "$(gojq -c '.runs[0].most.schedule[0] | [.remaining, .retry_after_us]' <<<"$output")" '[null,0]'
}

# --- every schedule ----------------------------------------------------------------------------------

@test "an exhaustive search proves within its bounds, and counts the schedules" {
  run -0 rlctl adversary --exhaustive 5 --limit 2/60s --model sliding-window-log fixed-window
  without_blanks
  assert_line ' every schedule of up to 5 requests at critical times'
  assert_line 'proof no schedule of up to 5 requests at critical times leaks'
  assert_line ' (76,437 tried)'
  assert_line 'proof the worst of all 76,437 schedules of up to 5 requests at critical'
  assert_line --partial 'fixed-window 2.00× the limit: 4 within'
  assert_line --partial '--exhaustive 5'
  refute_output --partial -- --seed
  refute_output --partial -- --tries
}

@test "an exhaustive search of another's script on a server counts what depends on an expiring key" {
  cat >ttl.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count <= tonumber(ARGV[2]) and 1 or 0
LUA
  start_server
  local command=(-s "$socket" adversary --exhaustive 3 --limit 2/60s ttl.lua --args '{window_ms} {limit}')
  run -0 --separate-stderr rlctl "${command[@]}" --json
  assert_equal "$(gojq -c '.runs[0] | [.tried, .undecided > 0, .most.worst.allowed]' <<<"$output")" '[637,true,2]'
  run -0 rlctl "${command[@]}"
  without_blanks
  output=$(tr -s ' \n' ' ' <<<"$output")
  assert_output --partial 'of them whose result depends on the exact moment a key expires, and all that begin with these'
}

@test "an exhaustive search copies keys that the script makes or that contain the time, and reads replies with {id}" {
  echo "return redis.call('INCR', 'count:' .. math.floor(ARGV[1] / 60)) <= tonumber(ARGV[2]) and 1 or 0" >own.lua
  tries 637 2 --limit 1/60s own.lua --args '{now_s} {limit}'
  echo "return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1]) and 1 or 0" >window.lua
  tries 637 3 --limit 2/60s window.lua --keys '{key}:{window_index}' --args '{limit}'
  echo "redis.call('SET', KEYS[1], 1) return tonumber(ARGV[1])" >echo.lua
  tries 637 3 --limit 2/60s echo.lua --args '{id}' --allowed-when 'tonumber(r) == id'
}

@test "costs are mixed, and refunds give units back" {
  run -0 rlctl adversary --exhaustive 3 --limit 2/60s --cost 1,2 --model fixed-window --json
  assert_equal "$(gojq -c '.costs, .runs[].most.worst.allowed' <<<"$output")" $'[1,2]\n4'
  run -0 search --limit 3/60s --cost 1,3,-1,-3 sliding-window-log fixed-window --json
  assert_equal "$(gojq -c '.costs, [.runs[].most.worst.allowed]' <<<"$output")" $'[1,3,-1,-3]\n[3,6]'
  run -0 rlctl adversary --exhaustive 3 --limit 1/60s --cost 1,-1 sliding-window-log --json
  assert_equal "$(gojq -c '.runs[0] | [.tried, .most.worst.allowed, .wrongly_denied]' <<<"$output")" '[4836,1,null]'
}

@test "--monotonic tries no clock that steps back" {
  run -0 search --monotonic "${trusting[@]}" --json
  assert_equal "$(gojq -c '.runs[0].most_stepping_back' <<<"$output")" null
}

# --- the report --------------------------------------------------------------------------------------

@test "an assertion applies to the worst finding and names the limiters for which it fails" {
  run -1 search -q fixed-window sliding-window-log gcra --assert 'worst<=1'
  assert_output "rlctl: adversary: assertion 'worst<=1' does not hold: fixed-window has 2, gcra has 1.8"
  run -1 search -q --model --limit 3/10s gcra --assert 'worst<=1.6666'
  assert_output "rlctl: adversary: assertion 'worst<=1.6666' does not hold: gcra has 1.67"
  run -1 search -q --model --limit 3/10s gcra --assert 'worst>=1.67'
  assert_output "rlctl: adversary: assertion 'worst>=1.67' does not hold: gcra has 1.667"
  run -0 search -q sliding-window-log leaky-bucket --assert 'worst<=1'
  assert_output ''
}

@test "an assertion may be about denials or a clock that steps back, but about nothing else" {
  run -1 search -q "${trusting[@]}" --assert 'worst<=1' --assert 'wrongly_denied==0' \
    --assert 'most_stepping_back<=1'
  assert_output --regexp "^rlctl: adversary: assertion 'most_stepping_back<=1' does not hold: trusting.lua has [0-9.]+$"
  run -1 search -q "${members[@]}" --assert 'wrongly_denied==0'
  assert_output "rlctl: adversary: assertion 'wrongly_denied==0' does not hold: times-as-members.lua has 1"
  run -0 search -q fixed-window --assert 'most_stepping_back==2'
}

@test "a log has the requests of a wrong denial in the order of a clock that steps back" {
  local banning=(adversary --tries 2000 "$project/tests/limiters/banning-log.lua" --args '{now_us} {window_us} {limit}')
  run -1 rlctl "${banning[@]}" --assert 'wrongly_denied==0' --write banning.log
  # A replay sends requests in the order of their times, which would not show it.
  assert_equal "$(grep -v '^#' banning.log | uniq | wc -l)" 1
}

# A correct log, except that its key expires too early, by less than the precision of TTLs.
early_expiry() {
  sed "s/^return 1/redis.call('PEXPIRE', KEYS[1], ARGV[2] \/ 1000 - 15)\n&/" trusting.lua >expiring.lua
  start_server
  expiring=(-s "$socket" adversary --limit 2/60s expiring.lua --args '{now_us} {window_us} {limit}')
}

@test "an exhaustive search on a server that leaves schedules out proves no upper bound" {
  early_expiry
  run -1 rlctl "${expiring[@]}" -q --exhaustive 3 --assert 'worst>=1' --assert 'worst<=1'
  assert_output --regexp "rlctl: adversary: assertion 'worst<=1' is not proven for expiring.lua: skipped [0-9,]+ of [0-9,]+ \
schedules, whose result depends on the exact moment a key expires$"
}

@test "a search on a server counts the schedules that it leaves out, and warns that assertions do not cover them" {
  early_expiry
  run -0 --separate-stderr rlctl "${expiring[@]}" --tries 500 --assert 'worst<=1' --assert 'wrongly_denied<9'
  assert_regex "$stderr" 'rlctl: adversary: warning: expiring.lua: the assertions do not cover [0-9,]+ schedules whose result depends on the exact moment a key expires'
  output=$(tr -s ' \n' ' ' <<<"$output")
  assert_output --regexp 'left out skipped [0-9]+ schedules whose result depends on the exact moment a key expires '
  run -0 --separate-stderr rlctl "${expiring[@]}" --tries 500 --json --assert 'worst>=1'
  assert_equal "$(gojq '.runs[0].undecided > 0' <<<"$output")" true
  refute_regex "$stderr" 'warning'
}

@test "an assertion about a limiter that allows nothing fails" {
  echo 'return 0' >never.lua
  run -1 search -q never.lua --args '{now}' --assert 'worst<=1' --assert 'most_stepping_back<=1'
  assert_line "rlctl: adversary: assertion 'worst<=1' proves nothing about never.lua: nothing was allowed"
  assert_line "rlctl: adversary: assertion 'most_stepping_back<=1' proves nothing about never.lua: nothing was allowed"
}

@test "JSON has every request and its answer" {
  run -0 rlctl adversary fixed-window --json
  assert_equal "$(gojq -c '[.pattern, .seed, .clock, .limit, .window_us, .burst, .cost, .tries, .interrupted]' <<<"$output")" \
    '["adversary",1,"virtual",5,60000000,null,1,50000,false]'
  assert_equal "$(gojq -c '.runs[0] | [.algorithm, .unbounded, .most_stepping_back, .wrongly_denied]' <<<"$output")" \
    '["fixed-window",false,null,null]'
  assert_equal "$(gojq -c '.base_us as $base | .runs[0].most.schedule | group_by(.at_us) |
    map([.[0].at_us - $base, length, all(.allowed)])' <<<"$output")" '[[50000000,5,true],[60000000,5,true]]'
  assert_equal "$(gojq '.runs[0] | .asked > 50000 and .asked <= 150000' <<<"$output")" true
}

@test "the same command gives the same bytes and prints the command that repeats it" {
  run -0 search --limit 7/90s sliding-window-counter gcra --seed 3
  repeats
}

@test "the report fits 80 columns and 40 columns" {
  needs_terminal
  local columns
  for columns in 80 40; do
    run -0 env TERM=xterm script -qec "stty cols $columns rows 50; NO_COLOR=1 rlctl adversary --tries 2000 --model all
      NO_COLOR=1 rlctl adversary --tries 2000 trusting.lua --args '{now_us} {window_us} {limit}'" /dev/null </dev/null
    # On a slow machine there is progress first.
    output=$(tr '\r' '\n' <<<"$output" | sed $'s/\e\\[[0-9;]*[A-Za-z]//g')
    mapfile -t lines <<<"$output"
    assert_line --regexp '^(fixed-window)?  2\.00× the limit: 10 within 10 s$'
    assert_line --regexp '^if the clock steps back'
    refute grep -E ".{$((columns + 1))}" <<<"$output"
  done
}

# --- the server --------------------------------------------------------------------------------------

@test "on another server the search reports its key prefix and leaves nothing" {
  start_server
  cli SET rlctl-burst:mine 1
  run -0 --separate-stderr search -s "$socket" "${trusting[@]}" gcra -q
  assert_equal "$output" ''
  [[ $stderr =~ ^rlctl:\ adversary:\ writing\ under\ \'rlctl-burst:\{[0-9a-f]{16}\}:\'\ on\ unix://$socket$ ]] || fail "$stderr"
  assert_equal "$(cli KEYS '*')" rlctl-burst:mine
}
