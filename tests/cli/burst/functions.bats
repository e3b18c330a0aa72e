# needs: server
load ../../support/common

# Libraries of Redis functions on a real server. functions.t has the rest.

@test "a server runs a function under the real clock, and redis-cli gets a script that calls it" {
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
  if [[ $(cli FUNCTION LIST 2>&1) == *ERR* ]]; then skip 'this server has no functions'; fi
  run -0 rlctl burst --clock real --limit 5/1s mylib.lua --args '{limit} {window_s}' -q --assert sent==10
  # EVAL would refuse the library.
  run -0 --separate-stderr rlctl debug mylib.lua --head 'function take' k --args '5 60' --print-command
  local file
  file=$(sed -E "s/.*--eval ([^ ]*) .*/\1/" <<<"$output")
  assert_equal "$(cli --eval "$file" k , 5 60)" 1
}
