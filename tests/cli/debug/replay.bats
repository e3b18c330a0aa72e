# needs: server
load ../../support/common

# `rlctl debug --replay FILE --skip N`: runs the requests of a log as calls of the script and debugs one of
# them. replay.t has what a request is given.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  # No request goes to the server that the environment names.
  export RLCTL_URL=unix:///nowhere
  printf '%s\n' '1767225660.000000 ann 1' '1767225661.500000 bob 1' '1767225662.000000 ann 2' \
    '1767225663.000000 ann 1' >four.log
}


@test "--skip requests are run, and the next one is debugged at its time" {
  local skip
  local values=('{1, 2, 0, 60000000, 0, 0}' '{1, 2, 0, 60000000, 0, 0}' '{1, 0, 0, 60000000, 0, 0}'
    '{0, 0, 57000000, 59000000, 0, 1}')
  for skip in 0 1 2 3; do
    run -0 --separate-stderr rlctl debug sliding-window-log --limit 3/60s --replay four.log --skip "$skip" \
      --trace --json
    assert_equal "$(traced_value <<<"$output")" "${values[skip]}"
    assert_regex "$stderr" '^rlctl: debug: running in this process, on no keys at first'
    assert_regex "$stderr" "debugging request $((skip + 1)) of 4, of 2026-01-01T00:.*Z, for '(ann|bob)'$"
  done
  assert_equal "$(gojq -c 'select(.event == "key") | [.key, .changed]' <<<"$output")" '["ann",false]'
}

@test "keys age as the log's time passes" {
  cat >ttl.lua <<'LUA'
local ttl = redis.call('PTTL', KEYS[1])
if ttl == -2 then redis.call('SET', KEYS[1], 1, 'PX', 10000000) end
return ttl
LUA
  # After 7000, 9000 and 11,000 of its 10,000 seconds.
  printf '%s k 1\n' 1767225660.0 1767232660.0 1767234660.0 1767236660.0 >ages.log
  local skip ttls=()
  for skip in 0 1 2 3; do
    run -0 rlctl debug ttl.lua --replay ages.log --skip "$skip" --trace --json -q
    ttls+=("$(traced_value <<<"$output")")
  done
  assert_equal "${ttls[0]}" -2
  ((ttls[1] > 2900000 && ttls[1] <= 3000100)) || fail "${ttls[*]}"
  ((ttls[2] > 900000 && ttls[2] <= 1000100)) || fail "${ttls[*]}"
  assert_equal "${ttls[3]}" -2
}

@test "the script finds the keys of earlier requests as it left them, and no others" {
  cat >all.lua <<'LUA'
redis.call('SET', KEYS[1], 1, 'PX', 10000000)
redis.call('SET', KEYS[1] .. ':x', 1, 'PX', 20000000)
local seen = {}
for _, key in ipairs({'ann', 'ann:x', 'bob', 'bob:x', 'cid', 'cid:x', 'dan'}) do
  local ttl = redis.call('PTTL', key)
  if ttl >= 0 then seen[#seen + 1] = key .. ' ' .. ttl / 1000000 end
end
return table.concat(seen, ', ')
LUA
  printf '%s 1\n' '1767225660.0 ann' '1767227660.0 bob' '1767228660.0 cid' >keys.log
  run -0 rlctl debug all.lua --replay keys.log --skip 2 --trace --json -q
  assert_equal "$(traced_value <<<"$output")" '"ann 7, ann:x 17, bob 9, bob:x 19, cid 10, cid:x 20"'
  assert_equal "$(gojq -c 'select(.event == "key") | .key' <<<"$output")" $'"cid"\n"cid:x"'
}

@test "a key keeps its TTL however long a request is traced" {
  cat >slow.lua <<'LUA'
local there = redis.call('EXISTS', KEYS[1])
if there == 0 then redis.call('SET', KEYS[1], 1, 'PX', 60000) end
for i = 1, 12000 do
  there = there + 0
end
if there == 0 then return 'new' end
return 'old'
LUA
  # The traces of the first two requests take longer than the second that the key has left at the third.
  printf '%s k 1\n' 1767225660.0 1767225680.0 1767225719.0 >fast.log
  run -0 rlctl debug slow.lua --replay fast.log --coverage --json -q
  assert_equal "$(gojq -c 'select(.line == 6 or .line == 7) | .hits' <<<"$output")" $'3\n2'
}

@test "a log is read as its lines are recognized, and one that is not is refused" {
  printf '{"time":"2026-01-01T00:00:00Z","key":"ann"}\nnonsense\n{"time":"2026-01-01T00:00:01Z","key":"ann"}\n' >a.jsonl
  run -2 rlctl debug fixed-window --limit 3/60s --replay a.jsonl --skip 1 --trace
  assert_line --partial 'a.jsonl:2: this is in none of the known formats'
  assert_line '  hint: debug reads the formats that rlctl burst --formats lists, such as JSON lines with time and key'
  sed -i /nonsense/d a.jsonl
  run -0 rlctl debug fixed-window --limit 3/60s --replay a.jsonl --skip 1 --trace
  assert_line --regexp "'ann': string, 1 of 3 used → 2 of 3 used"
  run -0 bash -c 'gzip -c four.log | rlctl debug fixed-window --limit 3/60s --replay - --skip 2 --trace -q'
  assert_line --regexp "'ann': string, 1 of 3 used → 3 of 3 used"
}

@test "a cost that the script does not accept is refused before anything runs" {
  printf '1767225660.0 ann 20000\n' >dear.log
  RLCTL_REDIS_SERVER=/nowhere run -2 rlctl debug sliding-window-log --limit 30000/60s --replay dear.log --trace
  assert_line --partial 'rlctl: debug: --replay: '
}
