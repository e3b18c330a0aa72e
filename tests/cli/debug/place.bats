# needs: server
load ../../support/common

# Where `rlctl debug` runs: in its own process, on copies of the script's keys, so that the server they come from
# does not change. ldb.bats has --attach.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  log=(debug sliding-window-log login:ann --limit 5/60s --trace)
}

# The complete contents of a server.
snapshot() {
  local key
  cli DBSIZE
  while read -r key; do
    echo "$key $(cli TYPE "$key") $(cli DUMP "$key" | sha1sum)"
  done < <(cli --scan | sort)
}

# Keys of all types, with TTLs.
fill() {
  cli SET text v >/dev/null
  cli RPUSH list a b c >/dev/null
  cli SADD set x y >/dev/null
  cli HSET hash f v >/dev/null
  cli ZADD zset 1.5 m >/dev/null
  cli PEXPIRE hash 3600000 >/dev/null
  for _ in 1 2 3 4; do rlctl check -q login:ann --limit 5/60s; done
}

# The commands called since CONFIG RESETSTAT, except cli's own.
called() {
  cli INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_\([^:]*\):.*/\1/p' |
    grep -vE '^(info|config\|resetstat|config|command\|docs|command)$' | sort
}

@test "the state of the keys is copied, and its changes are reported" {
  start_server
  fill
  run -0 --separate-stderr rlctl "${log[@]}"
  assert_equal "$stderr" "rlctl: debug: running in this process with 'login:ann' copied from $RLCTL_URL"
  assert_line --regexp '^= \{1, 0, 0, 60000000, 0, 0\}.*; 1 key was changed$'
  assert_line --regexp "^  'login:ann': list, 4 of 5 used → 5 of 5 used, ttl [0-9.]+ s"
  run -0 rlctl check -q login:ann --limit 5/60s
  run -0 --separate-stderr rlctl "${log[@]}"
  assert_line --regexp '^= \{0, 0, [0-9]+, [0-9]+, 0, 1\}.*; nothing was changed$'
  run -0 --separate-stderr rlctl -u private: "${log[@]}"
  assert_regex "$stderr" '^rlctl: debug: running in this process, on no keys$'
  assert_line --regexp "'login:ann': not there → list, 1 of 5 used"
}

@test "of a budget, the change says how much is held" {
  start_server
  cli --eval "$project/lua/budget.lua" k , 10 86400000000000 '' 4 '' reserve me 3600000000 >/dev/null
  run -0 rlctl debug budget k --limit 10/1000d --cost 2 --trace
  assert_line --regexp "^  'k': hash, 4 of 10 used, 4 of them held → 6 of 10 used, 4 of them held, ttl "
}

@test "the keys are copied from a server whose memory is full" {
  start_server
  fill
  cli CONFIG SET maxmemory 1
  run -1 cli SET other value
  assert_output --partial OOM
  run -0 rlctl "${log[@]}"
  assert_line --regexp "^  'login:ann': list, 4 of 5 used → 5 of 5 used, ttl "
}

@test "the source server is only read and does not change" {
  start_server
  fill
  local before began ttl
  before=$(snapshot)
  began=$(date +%s%3N)
  ttl=$(cli PTTL hash)
  cli CONFIG RESETSTAT
  echo "redis.call('DEL', unpack(KEYS)) return redis.call('SET', KEYS[1], 'x')" >wipe.lua
  run -0 rlctl debug wipe.lua text list set hash zset login:ann none --trace
  local left now
  left=$(cli PTTL hash)
  now=$(date +%s%3N)
  ((left <= ttl && left >= ttl - (now - began) - 10)) || fail "$ttl, $left after $((now - began)) ms"
  run -0 called
  # Before 7.0 the statistics have no subcommands.
  assert_output --regexp $'^(client(\\|setname)?\n)?(cluster(\\|slots)?\n)?get\nhgetall\nlrange\npttl\nsmembers\ntype\nzrange$'
  assert_equal "$(snapshot)" "$before"
  nothing_is_left
}

@test "missing keys are reported and stay missing" {
  start_server
  cli SET a 1
  run -0 --separate-stderr rlctl debug sliding-window-log none --limit 5/60s --trace
  assert_regex "$stderr" "running in this process; $RLCTL_URL has no 'none'$"
  echo "return redis.call('EXISTS', KEYS[1], KEYS[2])" >two.lua
  run -0 --separate-stderr rlctl debug two.lua a b a --trace
  assert_regex "$stderr" "with 'a' copied from $RLCTL_URL, which has no 'b'$"
  run -0 --separate-stderr rlctl debug two.lua a b c d e --trace
  assert_regex "$stderr" "which has no 4 keys$"
  echo 'return 1' >none.lua
  run -0 --separate-stderr rlctl debug none.lua --trace
  assert_regex "$stderr" 'there are no keys to copy$'
}

@test "if no server is named and none answers, the state is empty and debug says so" {
  unset RLCTL_URL
  # No server may be listening on redis-cli's default port during this test, or it proves nothing.
  if (exec 3<>/dev/tcp/127.0.0.1/6379) 2>/dev/null; then skip 'a server listens on port 6379'; fi
  run -0 --separate-stderr rlctl "${log[@]}"
  assert_regex "$stderr" '^rlctl: debug: running in this process, on no keys: no server at redis://127.0.0.1:6379$'
}

@test "a type that this process does not have is refused, and names --ldb" {
  start_server
  cli XADD stream '*' a 1
  echo 'return 1' >one.lua
  run -2 --separate-stderr rlctl debug one.lua stream --trace
  assert_regex "$stderr" "'stream' has the type stream, which this process does not have"
  assert_regex "$stderr" 'hint: --ldb runs the script on a server'
}
