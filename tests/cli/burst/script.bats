# needs: server
load ../../support/common

# `rlctl burst FILE`: foreign limiters in Lua, unchanged. The library's own tests cover templates and
# replies; this file tests the command line.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cat >count.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return count
LUA
  # Replies its keys and arguments in an error.
  echo "return redis.error_reply('ERR ' .. table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|'))" >echo.lua
}

count=(count.lua --keys '{key}:{window_index}' --allowed-when '<=limit')

@test "a script works with patterns, and in every report format" {
  local pattern
  for pattern in boundary poisson; do
    run -0 rlctl burst "$pattern" --limit 20/s "${count[@]}" --json
    assert_equal "$(gojq -c '[.pattern, .runs[0].algorithm]' <<<"$output")" "[\"$pattern\",\"count.lua\"]"
    run -0 as svg rlctl burst "$pattern" --limit 20/s "${count[@]}"
    run -0 xmllint --noout - <<<"$output"
  done
  run -1 rlctl burst "${count[@]}" --assert 'worst<=1' -q
  assert_output "rlctl: burst: assertion 'worst<=1' does not hold: count.lua has 2"
}

@test "a decision has what the script reports, and null for the rest" {
  run -0 as jsonl rlctl burst --limit 1/60s "${count[@]}" --keys '{key}'
  assert_line --index 0 '{"algorithm":"count.lua","at_us":1767225659990000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"reset_after_us":null,"delay_us":0,"request":1,"denied_by":null}'
  echo 'return {ARGV[1] % 2, 7}' >odd.lua
  run -0 as jsonl rlctl burst odd.lua --limit 1/60s --args '{id} {now}'
  assert_equal "$(gojq -c '[.allowed, .retry_after_us]' <<<"$output")" $'[true,0]\n[false,null]'
  run -0 as jsonl rlctl burst odd.lua --limit 1/60s --args '{id} {now}' --head 'retry_after r[2] s'
  assert_equal "$(gojq -c '[.allowed, .retry_after_us]' <<<"$output")" $'[true,0]\n[false,7000000]'
  # Its first request is denied, and its second allowed, so there is a hint on stderr.
  run -0 --separate-stderr as jsonl rlctl burst odd.lua --limit 1/60s --args '{id} {now}' --allowed-when zero \
    --head 'retry_after r[1] ms'
  assert_equal "$(gojq -c '[.allowed, .retry_after_us]' <<<"$output")" $'[false,1000]\n[true,0]'
  run -0 as jsonl rlctl burst odd.lua --limit 1/60s --args '{id} {now}' --allowed-when always \
    --head 'delay r[1] s'
  assert_equal "$(gojq -c '[.allowed, .delay_us]' <<<"$output")" $'[true,1000000]\n[true,0]'
}

@test "a log that is told the cutoff, in the order of a well-known article, is run and its reply read" {
  cat >log.lua <<'LUA'
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[1])
local count = redis.call('ZCARD', KEYS[1])
if count < tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[1], ARGV[2], ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[4])
  return {ARGV[3] - count - 1, ARGV[3]}
end
return {-1, ARGV[3]}
LUA
  local log=(log.lua --args '{cutoff_us} {now_us} {limit} {window_ms}' --allowed-when 'r[1] >= 0')
  run -0 rlctl burst --limit 10/60s "${log[@]}" --head 'remaining r[1]' --json
  gojq -e '.runs[0] | [.sent, .allowed, .worst.ratio, .remaining, .reset_after] ==
    [20, 10, 1, {compared: 20, too_many: 0, too_few: 0}, null]' <<<"$output"
  run -0 rlctl burst --limit 10/60s "${log[@]}" --head 'remaining tonumber(r[2])' --head 'reset_after window_s / 2 s'
  assert_line --regexp '^remaining +log\.lua +at most 10 too many, 0 too few$'
  assert_line --regexp '^reset +log\.lua +at most 30 s too early, 0 (us|µs) too late$'
  assert_line --regexp "^script +log\.lua +allowed when r\[1\] >= 0$"
  run -1 rlctl burst --limit 10/60s "${log[@]}" --head 'remaining tonumber(r[2])' -q --assert 'remaining_too_many==0' \
    --assert 'reset_after_too_late_us==0'
  assert_line "rlctl: burst: assertion 'remaining_too_many==0' does not hold: log.lua has 10"
  assert_line "rlctl: burst: assertion 'reset_after_too_late_us==0' does not hold: log.lua has no value"
}

@test "the printed command of a script repeats the output, with all its options" {
  run -0 rlctl burst steady --limit 20/s "${count[@]}" --keys '{{key}}' --keys 3 \
    --args "'it'\''s' \"two words\" '' {now}" gcra --seed 4 --allowed-when "r <= limit and type(r) ~= 'x'" \
    --head 'remaining limit - r' --head 'retry_after 5 s' --head 'reset_after window us'
  repeats
  run -0 --separate-stderr rlctl burst count.lua --limit 9/s --args '{now_us}' --json
  assert_equal "$(gojq -r .command <<<"$output")" "rlctl burst boundary count.lua --limit 9/1s \
--args '{now_us}' --seed 1"
}

@test "--keys is a number of keys or a key template; --args is split as by a shell" {
  run -5 rlctl burst echo.lua --limit 1/60s --keys 'a {key}' --keys 7 --keys '{user:{key}}:b' \
    --args "{now_s} 'two words' \"\" x\\ y {limit}"
  assert_line "rlctl: burst: echo.lua: a 1|{user:1}:b#1767225659|two words||x y|1; request 1 \
had KEYS 'a 1' '{user:1}:b' and ARGV '1767225659' 'two words' '' 'x y' '1'"
  run -5 rlctl burst echo.lua --keys '{now}' --args ''
  assert_line --partial 'echo.lua: 1767225659.990000#;'
}

@test "an error of the script exits with status 5 and prints its line and the request" {
  printf 'local n = tonumber(ARGV[1])\n\nif n == 1500 then return n + nil end\nreturn 1\n' >bad.lua
  run -5 rlctl burst bad.lua --args '{id} {now_ms}'
  assert_output --regexp "^rlctl: burst: bad\.lua:3: attempt to perform arithmetic on a nil value; \
request 1500 had KEYS '1' and ARGV '1500' '1767225660004'$"
  run -5 rlctl burst --json bad.lua --args '{id} {now_ms}'
  run -0 gojq -r .error.code <<<"$output"
  assert_output ERR
}

@test "the error of a script that lacks a key or an argument has a hint" {
  echo "return redis.call('INCRBY', KEYS[2], ARGV[1]) + ARGV[12]" >two.lua
  run -5 rlctl burst two.lua --keys '{key}:a {key}:b' --args 1
  assert_line '  hint: the script uses KEYS[2], but #KEYS is 1; give --keys once for each key'
  run -5 rlctl burst two.lua --keys '{key}:a' --keys '{key}:b' --args 1
  assert_line '  hint: the script uses ARGV[12], but #ARGV is 1; give all of them in one --args'
  run -5 rlctl burst two.lua --keys '{key}:a' --keys '{key}:b' --args "$(echo {1..11} x)"
  refute_output --partial hint
}

@test "a script that does not compile is reported with its line, and not warned of" {
  printf 'local x = 1\nif x then\n' >ends.lua
  run -5 rlctl burst ends.lua
  assert_output --partial "ends.lua:2: "
  refute_output --partial 'no time passes'
}

@test "an unreadable reply is shown" {
  echo "return {ok = 'QUEUED'}" >ok.lua
  run -5 rlctl burst ok.lua --args '{now}'
  assert_line --partial "allowed: ok.lua replied 'QUEUED', but 'nonzero' reads a number, or true or false"
  assert_line --partial 'hint: '
}

@test "a script for which no time passes runs with a warning" {
  echo "return redis.call('INCR', KEYS[1])" >count.lua
  run -0 --separate-stderr rlctl burst count.lua --allowed-when '<=limit' --json
  assert_equal "$stderr" "rlctl: burst: warning: no time passes for count.lua: it calls neither TIME nor a command \
that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}"
  assert_equal "$(gojq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[2000,1000]'
  run -0 --separate-stderr rlctl burst --clock real --limit 5/1s count.lua --allowed-when '<=limit' --json
  refute_regex "$stderr" 'no time passes'
  assert_equal "$(gojq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[10,5]'
}

@test "a script that relies on a TTL runs in virtual time" {
  cat >ttl.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
return count
LUA
  run -0 rlctl burst steady --limit 5/60s --rate 1/s --duration 5m ttl.lua \
    --allowed-when '<=limit' --json
  assert_equal "$(gojq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[300,25]'
}

@test "TIME is the time of the request under a virtual clock, and the server's under the real one" {
  cat >time.lua <<'LUA'
local t = redis.call('TIME')
redis.call('RPUSH', KEYS[1], t[1] .. '.' .. t[2])
return redis.call('LLEN', KEYS[1])
LUA
  start_server
  run -0 --separate-stderr as jsonl rlctl burst steady --limit 2/1s --rate 2/s --duration 2s time.lua \
    --allowed-when always -s "$socket"
  assert_equal "$(gojq -c .at_us <<<"$output" | tr '\n' ' ')" '1767225600000000 1767225600500000 1767225601000000 1767225601500000 '
  run -0 rlctl burst --clock real --limit 5/1s time.lua -q
}

@test "a key that is not in KEYS is an error on a named server, and forgotten on a private one" {
  cat >own.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
redis.call('INCR', 'total')
return count
LUA
  start_server
  cli SET total 7
  local clock
  for clock in virtual real; do
    run -5 --separate-stderr rlctl burst --clock "$clock" --limit 5/1s own.lua --args '{now}' -s "$socket"
    assert_regex "$stderr" "own\.lua:2: the script touches 'total', which is not one of its KEYS; request 1 had"
    assert_regex "$stderr" 'hint: use --url private: '
    assert_equal "$(cli MGET total)" 7
    assert_equal "$(cli KEYS '*')" total
  done
  run -5 rlctl adversary own.lua --args '{now}' -s "$socket"
  assert_output --partial "own.lua:2: the script touches 'total'"
  assert_equal "$(cli KEYS '*')" total
  # One script does not find what the other left.
  printf '%s\n' "return redis.call('INCR', 'total')" | tee one.lua >two.lua
  run -0 --separate-stderr rlctl burst one.lua own.lua two.lua --limit 5/1s --args '{now}' \
    --allowed-when '<=limit' --json
  assert_equal "$(gojq -c '[.runs[].allowed]' <<<"$output")" '[5,5,5]'
}

@test "a script is given the burst, whatever the other algorithms" {
  run -5 rlctl burst --burst 7 echo.lua --args '{burst} {now}' fixed-window
  assert_line --partial '#7|'
  run -5 rlctl burst echo.lua --args '{burst} {cost} {now}' --cost 3 --limit 9/1s
  assert_line --partial '#9|3|'
}

@test "after an error everything that the script wrote on another server is removed" {
  start_server
  cli SET rlctl-burst:mine 1
  printf '%s\n' "redis.call('SET', KEYS[1], 1)" "if ARGV[1] == '8' then error('x') end return 1" >more.lua
  run -5 rlctl burst -u "$RLCTL_URL" --limit 5/1s more.lua --args '{id} {now}' -q
  assert_output --regexp "writing under 'rlctl-burst:\{[0-9a-f]{16}\}:' on"
  assert_equal "$(cli KEYS '*')" rlctl-burst:mine
}

@test "{key1} in --args is the name that KEYS has" {
  printf '%s\n' 'if KEYS[2] ~= ARGV[1] then return redis.error_reply("OTHER " .. ARGV[1]) end' \
    'return redis.call("INCR", KEYS[2]) <= 5' >named.lua
  run -0 rlctl burst named.lua --limit 5/60s --keys 'a:{key}' --keys 'b:{key}' --args '{key2}'
  run -0 rlctl adversary --tries 500 named.lua --limit 5/60s --keys 'a:{key}' --keys 'b:{key}' \
    --args '{key2}'
  run -0 rlctl -u private: debug named.lua x y --args '{key2}' --trace -q
  run -2 --separate-stderr rlctl burst named.lua --limit 5/60s --args '{key2}'
  assert_regex "$stderr" '--args: \{key2\} is KEYS\[2\], but there is 1 key'
  run -2 --separate-stderr rlctl burst named.lua --limit 5/60s --keys '{key1}'
  assert_regex "$stderr" '--keys: \{key1\} is for args'
}
