# needs: server
load ../../support/common
load ../../support/set_semaphore

# `rlctl lint --concurrency`: flaws of scripts that give leases. leases_test.cc checks what the search finds.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  write_set_semaphore
}

lint() { rlctl lint --concurrency 2 --lease 10s "$@"; }

# finds NAMES STATUS OPTION…: these findings, in this order.
finds() {
  run "-$2" --separate-stderr lint "${@:3}" --json
  assert_equal "$(gojq -r 'select(.finding) | .finding' <<<"$output" | paste -sd ' ')" "$1"
}

@test "leases without an end, and a release that frees another's slot" {
  finds endless-lease 2 acquire.lua --release release.lua --args '{limit} {holder}'
  finds 'endless-lease frees-another' 2 acquire.lua --release any.lua --args '{limit} {holder}'
}

@test "a sound semaphore has no findings, and what was tested is named" {
  run -0 lint "$project/examples/prove-your-limiter/semaphore.lua" --args '{event} {limit} {lease_ms} {holder}'
  assert_line --partial 'no findings in 1 script'
  assert_line --partial 'holders that die'
  assert_line --partial 'renewals, also after the lease had ended'
  assert_line --partial 'rlctl burst adversary'
  run -0 lint concurrency
  assert_line --partial 'no findings in 1 script'
}

@test "the holder's clock" {
  cat >by-clock.lua <<'LUA'
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])
if ARGV[1] == 'release' then return redis.call('ZREM', KEYS[1], ARGV[5]) end
local has_lease = redis.call('ZSCORE', KEYS[1], ARGV[5])
if ARGV[1] == 'renew' and not has_lease then return 0 end
if not has_lease and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[3], ARGV[5])
return 1
LUA
  finds holder-clock 1 by-clock.lua --args '{event} {limit} {lease_ms} {now_ms} {holder}'
}

@test "of a script that allows nothing, nothing is known" {
  echo 'return 0' >denies.lua
  run -3 lint denies.lua --args '{event}'
  assert_line --partial 'no findings in what was tested'
  assert_line --partial 'what becomes of leases: nothing was allowed'
}

@test "what does not fit is refused" {
  run -3 lint acquire.lua --args '{limit} {holder}'
  assert_output --partial 'nothing releases the leases'
  run -3 lint acquire.lua --release release.lua --limit 5/60s
  assert_output --partial -- '--limit'
  run -3 lint gcra
  assert_output --partial 'counts requests'
}
