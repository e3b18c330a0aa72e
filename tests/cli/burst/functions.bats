# needs: server
load ../../support/common

# What only a server from 7.0 on does: libraries of Redis functions, and random numbers that go on from call to call.
# functions.t has the rest.

setup() {
  cd "$BATS_TEST_TMPDIR"
  cat >mylib.lua <<'LUA'
#!lua name=mylib
redis.register_function('take', function(keys, args)
  local count = redis.call('INCR', keys[1])
  redis.call('EXPIRE', keys[1], args[2])
  return count <= tonumber(args[1]) and 1 or 0
end)
LUA
  start_server
  if [[ $(cli FUNCTION LIST 2>&1) == *ERR* ]]; then skip 'needs Redis 7'; fi
}

@test "a server runs a function under the real clock, and redis-cli gets a script that calls it" {
  run -0 rlctl burst --clock real --limit 5/1s mylib.lua --args '{limit} {window_s}' -q --assert sent==10
  # EVAL would refuse the library.
  run -0 --separate-stderr rlctl debug mylib.lua --head 'function take' k --args '5 60' --print-command
  local file
  file=$(sed -E "s/.*--eval ([^ ]*) .*/\1/" <<<"$output")
  assert_equal "$(cli --eval "$file" k , 5 60)" 1
}

@test "a server decides as this process, with the same random numbers, and with the functions of each limiter apart" {
  echo "redis.call('SET', KEYS[1], 1, 'PX', ARGV[1]) return math.random(2) == 1 and 1 or 0" >chance.lua
  run -0 --separate-stderr rlctl burst chance.lua chance.lua --limit 20/10s --args '{window_ms}' --json
  assert_regex "$output" '"server":"[^"]+","requests":40,"first_only":false,"why_not":null'
  assert_regex "$output" '"algorithm":"chance.lua","sent":40,"allowed":21,"denied":19'
  sed 's/<=/</; s/mylib/other/' mylib.lua >other.lua
  run -0 --separate-stderr rlctl burst mylib.lua other.lua --limit 2/10s --args '{limit} {window_s}' --json
  assert_regex "$output" '"server":"[^"]+","requests":8,"first_only":false,"why_not":null'
  assert_regex "$output" '"algorithm":"mylib.lua","sent":4,"allowed":2,.*"algorithm":"other.lua","sent":4,"allowed":1,'
}
