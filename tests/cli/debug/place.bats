# needs: server
load ../../support/common

# Where `rlctl debug` runs: on a private server with copies of the script's keys, so that the server they come
# from does not change; with --attach on that server itself.

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
  local i
  for i in 1 2 3 4; do rlctl check -q login:ann --limit 5/60s; done
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
  assert_equal "$stderr" "rlctl: debug: using a private server ($(version)) with 'login:ann' copied from $RLCTL_URL"
  assert_line --regexp '^= \{1, 0, 0, 60000000, 0, 0\}.*; 1 key was changed$'
  assert_line --regexp "^  'login:ann': list, 4 of 5 used → 5 of 5 used, ttl [0-9.]+ s"
  run -0 rlctl check -q login:ann --limit 5/60s
  run -0 --separate-stderr rlctl "${log[@]}"
  assert_line --regexp '^= \{0, 0, [0-9]+, [0-9]+, 0, 1\}.*; nothing was changed$'
  run -0 --separate-stderr rlctl -u private: "${log[@]}"
  assert_regex "$stderr" '^rlctl: debug: using an empty private server \(.*\)$'
  assert_line --regexp "'login:ann': not there → list, 1 of 5 used"
}

@test "of a budget, the change says how much is held" {
  start_server
  cli --eval "$project/lua/budget.lua" k , 10 86400000000000 '' 4 '' reserve me 3600000000 >/dev/null
  run -0 rlctl debug budget k --limit 10/1000d --cost 2 --trace
  assert_line --regexp "^  'k': hash, 4 of 10 used, 4 of them held → 6 of 10 used, 4 of them held, ttl "
}

version() {
  cli INFO server | tr -d '\r' |
    sed -nE 's/^(redict|valkey)_version:/\1 /p; s/^redis_version:/Redis /p' | sort -r |
    sed 's/^redict/Redict/; s/^valkey/Valkey/; 1q'
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
  echo "redis.call('FLUSHALL') return redis.call('SET', KEYS[1], 'x')" >wipe.lua
  run -0 rlctl debug wipe.lua text list set hash zset login:ann none --trace
  local left now
  left=$(cli PTTL hash)
  now=$(date +%s%3N)
  ((left <= ttl && left >= ttl - (now - began) - 10)) || fail "$ttl, $left after $((now - began)) ms"
  run -0 called
  # Before 7.0 the statistics have no subcommands.
  assert_output --regexp $'^(client(\\|setname)?\n)?(cluster(\\|slots)?\n)?dump\nevalsha\npttl\nscript(\\|load)?\ntime\ntype$'
  assert_equal "$(snapshot)" "$before"
  nothing_is_left
}

@test "missing keys are reported and stay missing" {
  start_server
  cli SET a 1
  run -0 --separate-stderr rlctl debug sliding-window-log none --limit 5/60s --trace
  assert_regex "$stderr" "using a private server \\(.*\\); $RLCTL_URL has no 'none'$"
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
  assert_regex "$stderr" \
    '^rlctl: debug: no server at redis://127.0.0.1:6379; using an empty private server \(.*\)$'
}

@test "a version other than the server's is reported, whichever it is" {
  needs_other_servers
  start_server
  fill
  local own wrapper other
  own=$(version)
  for wrapper in "$RLCTL_TEST_OTHER_SERVERS"/*; do
    RLCTL_REDIS_SERVER=$wrapper run --separate-stderr rlctl "${log[@]}"
    if ((status == 2)); then # it is older
      assert_regex "$stderr" "'login:ann' cannot be copied: its dump is too new for the other server"
      assert_regex "$stderr" 'RLCTL_REDIS_SERVER names its program'
      continue
    fi
    assert_equal "$status" 0
    assert_line --regexp '4 of 5 used → 5 of 5 used'
    other=$(sed -E 's/.*private server \(([^)]*)\).*/\1/' <<<"$stderr")
    if [[ $other == "$own" ]]; then
      refute_regex "$stderr" 'that one is'
    else
      assert_regex "$stderr" "; that one is $own$"
    fi
  done
}

# --- attached --------------------------------------------------------------------------------------

@test "--attach runs in a fork of the server, which keeps serving, and nothing is kept" {
  start_server
  fill
  local before
  before=$(snapshot)
  run -0 --separate-stderr rlctl "${log[@]}" --attach
  assert_line --regexp '^= \{1, 0, 0, 60000000, 0, 0\}.*; in a fork: nothing was kept$'
  assert_regex "$stderr" '^rlctl: debug: running in a fork of unix://.*: it keeps serving, and nothing that is written is kept$'
  assert_equal "$(snapshot)" "$before"
  nothing_is_left
}

@test "--attach: the server serves other clients while the script is stopped" {
  start_server
  fill
  local before
  before=$(snapshot)
  echo "for i = 1, 1e5 do redis.call('SET', KEYS[1], i) end" >long.lua
  bound rlctl debug long.lua text --attach --trace >out 2>&1 3>&- &
  local pid=$!
  wait_until eval '(($(wc -l <out) > 1000))'
  assert_equal "$(cli PING)" PONG
  assert_equal "$(snapshot)" "$before"
  kill -KILL "$pid"
  wait "$pid" || true
  assert_equal "$(snapshot)" "$before"
  # The abandoned fork notices that its client is gone.
  wait_until eval '[[ -z $(pgrep -P "$server_pid") ]]'
}

# bats test_tags=night
@test "--attach: an endless loop is cut off, and no fork is left" {
  start_server
  echo "while true do redis.call('SET', KEYS[1], 1) end" >loop.lua
  run -1 rlctl debug loop.lua k --attach --trace
  wait_until eval '[[ -z $(pgrep -P "$server_pid") ]]'
  assert_equal "$(cli DBSIZE)" 0
}

# Since 7.0, a server loses parts of a fork's words if they are as long as a page on average.
@test "--attach: a fork has all of a long script and of long arguments, and no others" {
  start_server
  { for i in {1..1000}; do echo "-- line $i of a comment"; done; echo 'return {#KEYS, #ARGV, #(ARGV[1] or "")}'; } >long.lua
  run -0 rlctl debug long.lua --attach -q <<<$'print #ARGV\ncontinue'
  assert_line '= 0'
  assert_line '= {0, 0, 0}'
  run -0 rlctl debug long.lua k , "$(printf '%020000d' 7)" --attach -q <<<$'eval #ARGV[1] .. ARGV[1]:sub(-2)\nc'
  assert_line '= "2000007"'
  assert_line '= {1, 1, 20000}'
}

@test "--attach --sync asks and requires a yes" {
  start_server
  run -2 rlctl debug gcra k --limit 5/30d --attach --sync --trace
  assert_line --partial "--sync stops all of $RLCTL_URL at every line"
  assert_line --partial 'refusing without --yes'
  assert_equal "$(cli DBSIZE)" 0
  run -0 rlctl debug gcra k --limit 5/30d --attach --sync --yes --trace
  assert_line --regexp '; what was written is kept$'
  assert_equal "$(cli DBSIZE)" 1
  assert_equal "$(cli PING)" PONG
}

@test "--attach --sync asks at a terminal" {
  needs script
  start_server
  run -1 script -qec "rlctl debug gcra k --limit 5/30d --attach --sync --trace" /dev/null <<<n
  assert_line --partial 'continue? [y/N]'
  assert_line --partial 'nothing was debugged'
  assert_equal "$(cli DBSIZE)" 0
  run -0 script -qec "rlctl debug gcra k --limit 5/30d --attach --sync --trace" /dev/null <<<y
  assert_equal "$(cli DBSIZE)" 1
}

@test "--attach: a server that refuses exits with status 4" {
  start_server
  cli ACL SETUSER default -script
  run -4 rlctl "${log[@]}" --attach
  assert_output --partial NOPERM
}
