load ../../support/common

# `rlctl burst --script FILE`: foreign limiters in Lua, unchanged. The library's own tests cover templates and
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

count=(--script count.lua --keys '{key}:{window_index}' --allowed-when '<=limit')

# Prints the line of a table in $output that begins with this, with runs of blanks reduced to one.
row() { grep -m1 "^$1 " <<<"$output" | tr -s ' '; }

@test "a script gets the traffic, is measured, and is named after its file" {
  run -0 rlctl burst "${count[@]}"
  assert_line --regexp '^script +count\.lua +allowed when its reply is <=limit$'
  run -0 row count.lua
  assert_output 'count.lua 2000 2000 0 2000 2.00× 19.99 ms -10 ms -'
}

@test "a script is listed before the algorithms it is compared with, or alone without any" {
  run -0 rlctl burst "${count[@]}" --algorithm gcra,fixed-window --json
  assert_equal "$(jq -c '[.runs[].algorithm]' <<<"$output")" '["count.lua","gcra","fixed-window"]'
  assert_equal "$(jq -c '.runs[0] | [.allowed, .worst.ratio]' <<<"$output")" '[2000,2]'
  run -0 rlctl burst "${count[@]}" --json
  assert_equal "$(jq -c '[.runs[].algorithm]' <<<"$output")" '["count.lua"]'
}

@test "a script works with every pattern and every report format" {
  local pattern
  for pattern in boundary steady spike ramp poisson on-off; do
    run -0 rlctl burst "$pattern" --limit 20/s "${count[@]}" --csv -
    assert_line --index 1 --partial "$pattern,1,20,1000000,count.lua,"
    run -0 rlctl burst "$pattern" --limit 20/s "${count[@]}" --svg -
    run -0 xmllint --noout - <<<"$output"
  done
  run -1 rlctl burst "${count[@]}" --assert 'worst<=1' -q
  assert_output "rlctl: burst: assertion 'worst<=1' does not hold: count.lua has 2"
}

@test "a decision has what the script reports, and null for the rest" {
  run -0 rlctl burst --limit 1/60s "${count[@]}" --jsonl - --keys '{key}'
  assert_line --index 0 '{"algorithm":"count.lua","at_us":1767225659990000,"key":"1","cost":1,"allowed":true,"remaining":null,"retry_after_us":0,"delay_us":0}'
  echo 'return {ARGV[1] % 2, 7}' >odd.lua
  run -0 rlctl burst --limit 1/60s --script odd.lua --args '{id} {now}' --jsonl -
  assert_equal "$(jq -c '[.allowed, .retry_after_us]' <<<"$output")" $'[true,0]\n[false,null]'
  run -0 rlctl burst --limit 1/60s --script odd.lua --args '{id} {now}' --allowed-when zero \
    --delay-unit ms --jsonl -
  assert_equal "$(jq -c '[.allowed, .retry_after_us]' <<<"$output")" $'[false,1000]\n[true,0]'
  run -0 rlctl burst --limit 1/60s --script odd.lua --args '{id} {now}' --allowed-when always \
    --delay-unit s --jsonl -
  assert_equal "$(jq -c '[.allowed, .delay_us]' <<<"$output")" $'[true,1000000]\n[true,0]'
}

@test "the printed command of a script repeats the output, with all its options" {
  run -0 rlctl burst steady --limit 20/s "${count[@]}" --keys '{{key}}' --keys 3 \
    --args "'it'\''s' \"two words\" '' {now}" --algorithm gcra --seed 4
  local first=$output
  run -0 sed -n '/^rlctl burst/,$p' <<<"$first"
  run -0 bash -c "$output"
  assert_equal "$output" "$first"
  run -0 rlctl burst --limit 9/s --script count.lua --args '{now_us}' --json
  assert_equal "$(jq -r .command <<<"$output")" "rlctl burst boundary --limit 9/1s --script count.lua \
--args '{now_us}' --allowed-when nonzero --keys '{key}' --seed 1"
}

@test "a script with the same seed gives the same bytes" {
  assert_equal "$(rlctl burst poisson --limit 20/s --keys 3 "${count[@]}" --json)" \
    "$(rlctl burst poisson --limit 20/s --keys 3 "${count[@]}" --json)"
}

@test "--keys is a number of keys or a key template; --args is split as by a shell" {
  run -5 rlctl burst --limit 1/60s --script echo.lua --keys 'a {key}' --keys 7 --keys '{user:{key}}:b' \
    --args "{now_s} 'two words' \"\" x\\ y {limit}"
  assert_line "rlctl: burst: echo.lua: burst:1:a 1|burst:1:{user:1}:b#1767225659|two words||x y|1; request 1 \
had KEYS 'burst:1:a 1' 'burst:1:{user:1}:b' and ARGV '1767225659' 'two words' '' 'x y' '1'"
  run -5 rlctl burst --script echo.lua --keys '{now}' --args ''
  assert_line --partial 'echo.lua: burst:1:1767225659.990000#;'
}

@test "an error of the script exits with status 5 and prints its line and the request" {
  printf 'local n = tonumber(ARGV[1])\n\nif n == 1500 then return n + nil end\nreturn 1\n' >bad.lua
  run -5 rlctl burst --script bad.lua --args '{id} {now_ms}'
  assert_output --regexp "^rlctl: burst: bad\.lua:3: attempt to perform arithmetic on a nil value; \
request 1500 had KEYS 'burst:1:1' and ARGV '1500' '1767225660004'$"
  run -5 rlctl burst --json --script bad.lua --args '{id} {now_ms}'
  run -0 jq -r .error.code <<<"$output"
  assert_output ERR
}

@test "an error of the script is also reported under the real clock" {
  printf 'if ARGV[1] == "3" then error("third") end return 1\n' >bad.lua
  run -5 rlctl burst --clock real --limit 5/1s --script bad.lua --args '{id}'
  assert_output --regexp "bad\.lua:1: third; request 3 had KEYS 'burst:1:1' and ARGV '3'$"
}

@test "a script that does not compile is reported with its line" {
  printf 'local x = 1\nreturn = x\n' >bad.lua
  run -5 rlctl burst --script bad.lua --args '{now}'
  assert_output --partial "bad.lua:2: "
  assert_output --partial "unexpected symbol near '='"
}

@test "an unreadable reply is shown" {
  echo "return {ok = 'QUEUED'}" >ok.lua
  run -5 rlctl burst --script ok.lua --args '{now}'
  assert_line --partial "ok.lua replied 'QUEUED', but --allowed-when 'nonzero' reads a number, or true or false"
  assert_line --partial 'hint: '
}

@test "a script without the time is refused under a virtual clock and runs under the real one" {
  RLCTL_REDIS_SERVER=/nowhere run -2 rlctl burst --script count.lua --allowed-when '<=limit'
  assert_line --partial 'count.lua is not told the time, neither by its keys nor by its arguments'
  assert_line --partial 'use --clock real'
  assert_line --regexp 'hint: .*\{now_us\}'
  run -0 --separate-stderr rlctl burst --clock real --limit 5/1s --script count.lua --allowed-when '<=limit' --json
  assert_equal "$(jq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[10,5]'
}

@test "a script that relies on a TTL runs in virtual time if it is given the time" {
  cat >ttl.lua <<'LUA'
local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], 60) end
return count
LUA
  run -0 rlctl burst steady --limit 5/60s --rate 1/s --duration 5m --script ttl.lua --args '{now_ms}' \
    --allowed-when '<=limit' --json
  assert_equal "$(jq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[300,25]'
}

@test "a script that calls TIME is refused under a virtual clock and runs under the real one" {
  echo "return redis.call('TIME')[1] % 1 + 1" >time.lua
  run -2 rlctl burst --script time.lua --args '{now}'
  assert_line --partial "time.lua calls TIME: it uses the server's clock, not the virtual one; use --clock real"
  run -0 rlctl burst --clock real --limit 5/1s --script time.lua -q
}

@test "invalid options of a script are refused before anything runs" {
  export RLCTL_REDIS_SERVER=/nowhere
  refused() {
    local message=$1
    shift
    run -2 rlctl burst "$@"
    assert_line --partial "$message"
  }
  refused "--script: cannot read 'none.lua': no such file or directory" --script none.lua --args '{now}'
  refused "--script: cannot read '.': is a directory" --script . --args '{now}'
  refused "--args: '{nwo_ms}' holds {nwo_ms}, which stands for nothing; did you mean 'now_ms'?" \
    --script count.lua --args '{nwo_ms}'
  refused "--keys: 'x:{ky}' holds {ky}" --script count.lua --keys 'x:{ky}'
  refused 'has a quote that is not closed' --script count.lua --args "'{now}"
  refused "--allowed-when: a script allows when its reply is nonzero, zero, nil, <=limit or always, not 'yes'" \
    --script count.lua --allowed-when yes
  refused "--delay-unit: the unit of a wait is s, ms or us, not 'm'" --script count.lua --delay-unit m
  refused '--delay-unit: a reply that allows when it is nonzero cannot be a wait' --script count.lua --delay-unit s
  refused 'a window of 1500ms is not a whole number for {window_s}' --script count.lua \
    --args '{window_s} {now}' --limit 5/1500ms
  refused '--model and --script exclude each other: a script runs on a server only' --script count.lua --args '{now}' --model
}

@test "the options of a script require --script" {
  run -2 rlctl burst --args '{now}'
  assert_line 'rlctl: burst: --args requires --script'
  run -2 rlctl burst --allowed-when nil
  assert_line --partial '--allowed-when requires --script'
  run -2 rlctl burst --delay-unit s
  assert_line --partial '--delay-unit requires --script'
  run -2 rlctl burst --keys '{key}'
  assert_line "rlctl: burst: --keys must be a whole number in decimal digits, not '{key}'"
  assert_line --partial 'hint: '
}

@test "a script is given the burst, whatever the other algorithms" {
  run -5 rlctl burst --burst 7 --script echo.lua --args '{burst} {now}' --algorithm fixed-window
  assert_line --partial '#7|'
  run -5 rlctl burst --script echo.lua --args '{burst} {cost} {now}' --cost 3 --limit 9/1s
  assert_line --partial '#9|3|'
}

@test "on another server everything that the script wrote is removed, including keys that it made" {
  start_server
  cli SET rlctl-burst:mine 1
  echo "redis.call('SET', KEYS[1] .. ':made', 1) redis.call('SET', KEYS[1], 1) return 1" >more.lua
  run -0 rlctl burst -u "$RLCTL_URL" --limit 5/1s --script more.lua --args '{now}' -q
  assert_output --regexp "writing under 'rlctl-burst:\{[0-9a-f]{16}\}:' on"
  assert_equal "$(cli KEYS '*')" rlctl-burst:mine
  printf '%s\n' "redis.call('SET', KEYS[1] .. ':made', 1)" "if ARGV[1] == '8' then error('x') end return 1" >more.lua
  run -5 rlctl burst -u "$RLCTL_URL" --limit 5/1s --script more.lua --args '{id} {now}' -q
  assert_equal "$(cli KEYS '*')" rlctl-burst:mine
}
