# needs: server
load ../../support/common

# `rlctl debug` does not change the server that its keys come from. place.t has what is copied and what debug tells of it.

setup_file() { start_server; }

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
}

# The complete contents of a server.
snapshot() {
  cli EVAL "local keys, all = redis.call('KEYS', '*'), {}
    table.sort(keys)
    for i, key in ipairs(keys) do
      all[i] = key .. ' ' .. redis.call('TYPE', key).ok .. ' ' .. redis.sha1hex(redis.call('DUMP', key))
    end
    return all" 0
}

# The commands called since CONFIG RESETSTAT, except cli's own.
called() {
  cli INFO commandstats | tr -d '\r' | sed -n 's/^cmdstat_\([^:]*\):.*/\1/p' |
    grep -vE '^(info|config\|resetstat|config|command\|docs|command)$' | sort
}

@test "of a budget, the change says how much is held" {
  cli --eval "$project/lua/budget.lua" k , 10 86400000000000 '' 4 '' reserve me 3600000000 >/dev/null
  run -0 rlctl debug budget k --limit 10/1000d --cost 2 --trace
  assert_line --regexp "^  'k': hash, 4 of 10 used, 4 of them held → 6 of 10 used, 4 of them held, ttl "
}

@test "the source server is only read and does not change" {
  cli <<'END'
SET text v
RPUSH list a b c
SADD set x y
HSET hash f v
ZADD zset 1.5 m
PEXPIRE hash 3600000
END
  local before
  before=$(snapshot)
  cli CONFIG RESETSTAT
  echo "redis.call('DEL', unpack(KEYS)) return redis.call('SET', KEYS[1], 'x')" >wipe.lua
  run -0 rlctl debug wipe.lua text list set hash zset none --trace
  run -0 called
  # Before 7.0 the statistics have no subcommands.
  assert_output --regexp $'^(client(\\|setname)?\n)?(cluster(\\|slots)?\n)?get\nhgetall\nlrange\npttl\nsmembers\ntype\nzrange$'
  assert_equal "$(snapshot)" "$before"
  nothing_is_left
}

@test "if no server is named and none answers, the state is empty and debug says so" {
  unset RLCTL_URL
  # No server may be listening on redis-cli's default port during this test, or it proves nothing.
  if (exec 3<>/dev/tcp/127.0.0.1/6379) 2>/dev/null; then skip 'needs a machine without a server on port 6379'; fi
  run -0 --separate-stderr rlctl debug sliding-window-log login:ann --limit 5/60s --trace
  assert_regex "$stderr" '^rlctl: debug: running in this process, on no keys: no server at redis://127.0.0.1:6379$'
}
