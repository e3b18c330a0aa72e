# needs: server
load ../../support/common

# Libraries of Redis functions, under burst and debug.

setup() {
  cd "$BATS_TEST_TMPDIR"
  export TMPDIR=$BATS_TEST_TMPDIR
  cat >mylib.lua <<'LUA'
#!lua name=mylib
local function take(keys, args)
  local now = redis.call('TIME')
  local key = keys[1] .. ':' .. math.floor(now[1] / args[2])
  local count = redis.call('INCR', key)
  redis.call('EXPIRE', key, args[2])
  return count <= tonumber(args[1]) and 1 or 0
end
redis.register_function('take', take)
LUA
}

need_functions() {
  start_server
  if ! cli FUNCTION LIST >/dev/null 2>&1 || [[ $(cli FUNCTION LIST 2>&1) == *ERR* ]]; then
    skip 'this server has no functions'
  fi
}

@test "a function of a library is a limiter like any script" {
  need_functions
  run -0 --separate-stderr rlctl adversary --tries 2000 mylib.lua --args '{limit} {window_s}'
  assert_equal "$stderr" ''
  assert_line --regexp '^mylib\.lua  2\.00× the limit: 10 within '
  run -0 rlctl burst steady --rate 1/s --duration 5m --limit 5/60s mylib.lua --head 'function take' \
    --args '{limit} {window_s}' --json
  assert_equal "$(gojq -c '.runs[0] | [.sent, .allowed]' <<<"$output")" '[300,25]'
  run -0 --separate-stderr rlctl burst --clock real --limit 5/1s mylib.lua --args '{limit} {window_s}' --json
  assert_equal "$(gojq .runs[0].sent <<<"$output")" 10
}

@test "redis-cli gets a script that calls the function, not the library, which EVAL would refuse" {
  need_functions
  run -0 --separate-stderr rlctl debug mylib.lua --head 'function take' k --args '5 60' --print-command
  local file
  file=$(sed -E "s/.*--eval ([^ ]*) .*/\1/" <<<"$output")
  assert_equal "$(cli --eval "$file" k , 5 60)" 1
}

@test "a library is not loaded on a named server, where others may use one of that name" {
  start_server
  run -2 rlctl burst mylib.lua --args '{limit} {window_s}' -s "$socket"
  assert_line --partial 'mylib.lua is a library of functions, which is not loaded into a server that others use'
}

@test "the function is chosen by its name, also in the configuration" {
  echo "redis.register_function{function_name='other', callback=function() return 1 end}" >>mylib.lua
  run -2 rlctl burst mylib.lua
  assert_line --partial 'function: mylib.lua has several functions: take, other'
  run -2 rlctl burst mylib.lua --head 'function tkae'
  assert_line --partial "--head function: mylib.lua has no function 'tkae'; did you mean 'take'?"
  echo 'return 1' >script.lua
  run -2 rlctl burst script.lua --head 'function take'
  assert_line --partial '--head function: script.lua is not a library of functions'
  need_functions
  printf '[script.take]\nfile = "mylib.lua"\nfunction = "take"\nargs = "{limit} {window_s}"\n' >c.toml
  chmod 600 c.toml
  run -0 rlctl --config c.toml adversary --tries 2000 take
  assert_line --regexp '^take  2\.00× the limit'
}

@test "debug runs a function, line by line, on every server" {
  run -0 --separate-stderr rlctl -u private: debug mylib.lua k --args '5 60' --now 1795155075000000 --trace
  assert_line "+ mylib.lua:3    local now = redis.call('TIME')"
  assert_line --partial 'redis> TIME      ["1795155075","0"]'
  assert_line --regexp '^= 1 '
  refute_output --partial __rl
  run -0 rlctl -u private: debug mylib.lua k --args '5 60' --coverage
  assert_line --regexp '1x.*return count'
  run -0 --separate-stderr rlctl -u private: debug mylib.lua k --args '5 60' --commands - <<<$'b 5\nc\np key'
  assert_output --partial 'k:'
}

@test "flags that no server knows are ignored by burst and debug, with a warning" {
  printf '#!lua flags=allow-key-locking\nreturn redis.call("INCR", KEYS[1])\n' >flagged.lua
  run -0 --separate-stderr rlctl burst flagged.lua --allowed-when '<=limit' --args '{now}'
  assert_regex "$stderr" '^rlctl: burst: warning: flagged\.lua: ignored '
  run -0 --separate-stderr rlctl adversary --tries 200 flagged.lua --args '{now}'
  assert_regex "$stderr" '^rlctl: adversary: warning: flagged\.lua: ignored '
  run -0 --separate-stderr rlctl -u private: debug flagged.lua k --trace
  assert_regex "$stderr" 'rlctl: debug: warning: flagged\.lua: ignored '
  assert_line --regexp '^= 1 '
}
