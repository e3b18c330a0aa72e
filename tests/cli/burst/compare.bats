# needs: server
load ../../support/common

# `rlctl burst --compare` on a slow server, and its report. What it finds is in burst.t.

@test "limiters that decide alike have status 0, and both are in the report" {
  run -0 rlctl burst poisson sliding-window-log --limit 5/10s --compare sliding-window-zset --model
  assert_line --regexp '^differ +no: sliding-window-log and sliding-window-zset decide all [0-9,]+ requests$'
  assert_line --regexp '^sliding-window-zset '
}

@test "a difference that a server which is held up may have made is looked for again, and said" {
  cd "$BATS_TEST_TMPDIR"
  cat >slow.lua <<'LUA'
redis.call('SET', KEYS[1], '1', 'PX', 60000)
for i = 1, 2e6 do end
return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1]) and 1 or 0
LUA
  start_server
  local command=(-s "$socket" burst steady --keys 6 --requests 3 --rate 1/s --limit 1/60s --args '{limit}' --compare fixed-window)
  run -1 --separate-stderr rlctl "${command[@]}" slow.lua -q
  [[ $stderr == *'rlctl: burst: warning: the server was held up while TTLs ran, so that real time may have made the difference; use an idle machine'* ]] || fail "$stderr"
  # Each request is written once, so there is one run.
  run -1 --separate-stderr rlctl "${command[@]}" slow.lua -o decisions.jsonl
  assert_equal "$(gojq -sc '[length, (unique_by([.algorithm, .key, .request]) | length)]' decisions.jsonl)" '[6,6]'
}
