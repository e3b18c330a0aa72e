# needs: server
load ../../support/common

# `--setup`: what prepares the keys that a script expects, before each schedule.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  # Lets through as many as the hash says that another script makes.
  cat >limiter.lua <<'LUA'
local rate = redis.call('HGET', KEYS[1], 'rate')
assert(rate, 'not initialized')
return redis.call('HINCRBY', KEYS[1], 'n', 1) <= tonumber(rate) and 1 or 0
LUA
  # Takes from one store that all clients share.
  cat >shared.lua <<'LUA'
return redis.call('DECR', 'tokens') >= 0 and 1 or 0
LUA
}

limiter=(limiter.lua --limit 5/60s --keys 'a:{key}')
prepared=(--setup 'HSET a:{key} rate {limit}')

# count_allowed [OPTION…]: how many requests burst allows. It may warn that this is not the limit.
count_allowed() { rlctl burst steady --requests 24 "$@" --json 2>/dev/null | gojq '.runs[0].allowed'; }

@test "commands, a file of commands and a script prepare each key before its first request" {
  run -5 --separate-stderr rlctl burst steady --requests 3 "${limiter[@]}"
  assert_regex "$stderr" 'not initialized'
  run -0 count_allowed "${limiter[@]}" "${prepared[@]}"
  assert_output 5
  run -0 count_allowed "${limiter[@]}" "${prepared[@]}" --keys 3
  assert_output 15
  printf '%s\n' '# the rate' '' 'DEL {key1}' 'HSET {key1} rate "3"' >commands
  run -0 count_allowed "${limiter[@]}" --setup ./commands
  assert_output 3
  echo "return redis.call('HSET', KEYS[1], 'rate', ARGV[1])" >setup.lua
  run -0 count_allowed "${limiter[@]}" --args 4 --setup setup.lua --setup 'HINCRBY a:{key} rate 2'
  assert_output 6
}

@test "what does not name the key is sent once" {
  run -0 count_allowed --limit 5/60s shared.lua --setup 'SET tokens 7' --keys 3
  assert_output 7
}

@test "a TTL that the setup sets passes in virtual time, also of other keys" {
  echo "return redis.call('EXISTS', 'ban:' .. ARGV[1]) == 0 and 1 or 0" >ban.lua
  run -0 count_allowed --limit 24/24s --rate 1/s ban.lua --args '{key}' --setup 'SET ban:{key} 1 PX 10500'
  assert_output 13
}

@test "every schedule of a search, every probe of lint and both sides of --compare are prepared" {
  local -a search=(adversary --tries 2000)
  run -0 --separate-stderr rlctl "${search[@]}" "${limiter[@]}" "${prepared[@]}" --json
  assert_equal "$(gojq '.runs[0].most.worst.ratio' <<<"$output")" 1
  run -0 rlctl adversary --exhaustive 4 "${limiter[@]:0:1}" --limit 2/60s --setup 'HSET {key} rate {limit}'
  run -0 --separate-stderr rlctl "${search[@]}" --limit 5/60s shared.lua --setup 'SET tokens 5' --json
  assert_equal "$(gojq '.runs[0].most.worst.ratio' <<<"$output")" 1
  run -1 rlctl burst steady --requests 9 "${limiter[@]}" "${prepared[@]}" --compare fixed-window --rate 1/10s
  cp limiter.lua other.lua
  run -0 rlctl burst steady --requests 9 "${limiter[@]}" "${prepared[@]}" --compare other.lua
  run -2 rlctl lint limiter.lua --limit 5/60s --setup 'HSET {key} rate 5'
  assert_line --partial 'limiter.lua:3: critical: no-ttl: '
}

@test "an error names the command and the reply; the repeat command has the setup" {
  run -5 --separate-stderr rlctl burst "${limiter[@]}" --setup 'HSET a:{key} rate'
  assert_regex "${stderr_lines[-1]}" "^rlctl: burst: --setup: 'HSET a:1 rate': .*[Ww]rong number of arg"
  echo "error('no')" >setup.lua
  run -5 --separate-stderr rlctl burst "${limiter[@]}" --setup setup.lua
  assert_regex "${stderr_lines[-1]}" "^rlctl: burst: --setup: setup.lua:1: no; it had KEYS 'a:1' and ARGV none$"
  run -3 --separate-stderr rlctl lint limiter.lua --setup 'SET {key} 1' --setup 'HSET {key} rate 5'
  assert_regex "$stderr" "'HSET ann rate 5': .*WRONGTYPE"
  run -2 rlctl burst "${limiter[@]}" --setup 'SET {kye} 1'
  run -2 rlctl burst "${limiter[@]}" --setup 'SET {key2} 1'
  assert_output --partial '--setup: {key2} is KEYS[2], but there is 1 key'
  run -2 rlctl burst "${limiter[@]}" --setup 'SET {key} {id}'
  run -2 rlctl burst "${limiter[@]}" --setup none.lua
  run -2 rlctl burst "${limiter[@]}" --setup ''
  run -0 rlctl burst steady --requests 3 "${limiter[@]}" "${prepared[@]}"
  assert_line --partial "    --setup 'HSET a:{key} rate {limit}'"
}

@test "on a server that is named, the keys of the burst are prepared once, and removed" {
  start_server
  local clock
  for clock in virtual real; do
    run -0 --separate-stderr rlctl burst steady --requests 20 --rate 1000/s --keys 2 --clock "$clock" "${limiter[@]}" \
      "${prepared[@]}" --url "unix://$socket" --json
    assert_equal "$(gojq '.runs[0].allowed' <<<"$output")" 10
    run -0 cli DBSIZE
    assert_output 0
  done
  run -5 --separate-stderr rlctl burst --url "unix://$socket" "${limiter[@]}" --setup 'SET other 1'
  assert_regex "$stderr" "touches 'other', which is not one of its KEYS"
  run -0 cli DBSIZE
  assert_output 0
}

@test "the configuration prepares too, with files of its folder; debug does so on its private server" {
  mkdir etc
  mv limiter.lua etc
  echo 'HSET {key1} rate 5' >etc/commands
  printf '%s\n' '[script.mine]' 'file = "limiter.lua"' 'setup = ["DEL {key}", "./commands"]' >etc/config.toml
  run -0 rlctl --config etc/config.toml config check
  run -0 count_allowed --config etc/config.toml mine --limit 5/60s
  assert_output 5
  run -0 rlctl -u private: debug --config etc/config.toml mine bob --trace
  assert_line --partial '= 1'
  run -0 rlctl -u private: debug etc/limiter.lua '{b' --setup 'HSET {key1} rate 5' --trace
  assert_line --partial '= 1'
  printf '%s\n' '1700000000 a' '1700000001 b' '1700000002 a' >log
  run -0 rlctl debug etc/limiter.lua --setup 'HSET {key} rate 1' --replay log --skip 2 --trace
  assert_line --partial '= 0'
  run -2 rlctl debug etc/limiter.lua a --ldb --setup 'HSET {key} rate 1' --attach
}

@test "the head of a script prepares nothing by a file to which a link beside it leads" {
  cd "$BATS_TEST_TMPDIR"
  mkdir scripts
  echo 'SET {key} 1' >elsewhere.txt
  ln -s ../elsewhere.txt scripts/setup.txt
  printf '%s\n' '-- rlctl: setup ./setup.txt' 'return 1' >scripts/a.lua
  run -2 --separate-stderr rlctl burst scripts/a.lua
  assert_equal "${stderr_lines[0]}" "rlctl: burst: scripts/a.lua:1: setup: './setup.txt' is not beside the script"
}
