# needs: server
load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }

limit=(--limit 1000/60s)
reserve() { rlctl check k "${limit[@]}" --reserve 400 --hold 30s --id a --now 1000000000 "$@"; }
# settle SECOND ARGUMENT…: the key tells its limit.
settle() { rlctl settle k --now "$(($1 * 1000000))" "${@:2}"; }

@test "a settle spends the actual cost in place of the units held" {
  run -0 reserve
  run -0 --separate-stderr settle 1001 a 380
  assert_output 'settled key=k limit=1000/60s algorithm=budget reservation=a was=held actual=380 remaining=620 reset=59.000s'
  assert_equal "$stderr" ''
}

@test "a settle may exceed the limit, and all is denied until the window ends" {
  run -0 reserve
  run -0 settle 1001 a 5000
  assert_output --partial 'actual=5000 remaining=0 '
  run -1 rlctl check k "${limit[@]}" --algorithm budget --now 1002000000
  assert_output --partial ' retry_after=18.000s '
}

@test "--release spends nothing" {
  run -0 reserve
  run -0 settle 1001 a --release
  assert_output --partial 'settled key=k limit=1000/60s algorithm=budget reservation=a was=held actual=0 remaining=1000 '
}

@test "a late settle is spent, and says that the hold had ended" {
  run -0 reserve
  run -0 settle 1031 a 380
  assert_output --partial 'settled key=k limit=1000/60s algorithm=budget reservation=a was=lapsed actual=380 remaining=620 '
}

@test "a second settle changes nothing, and has status 0" {
  run -0 reserve
  run -0 settle 1001 a 380
  local before
  before=$(cli DUMP k | base64)
  run -0 settle 1001 a 380
  assert_output 'already key=k limit=1000/60s algorithm=budget reservation=a was=settled actual=380 remaining=620 reset=59.000s'
  assert_equal "$(cli DUMP k | base64)" "$before"
}

@test "to settle with another amount is an error, which tells the one that stands" {
  local first second
  while read -r first second; do
    cli FLUSHALL
    run -0 reserve
    run -0 settle 1001 a "$first"
    local before
    before=$(cli DUMP k | base64)
    run -2 --separate-stderr settle 1001 a "$second"
    assert_equal "$output" ''
    assert_equal "$stderr" \
      "rlctl: settle: reservation 'a' of 'k' is already settled with ${first/--release/0}, not ${second/--release/0}; nothing was changed"
    run -2 --separate-stderr settle 1001 a "$second" --json
    assert_equal "$(gojq -c '[.error.code, .error.units]' <<<"$stderr")" "[\"conflict\",${first/--release/0}]"
    run -2 --separate-stderr settle 1040 a "$second" # its hold has ended
    assert_equal "$(cli DUMP k | base64)" "$before"
  done <<'END'
380 500
380 400
400 0
380 --release
--release 380
5000 1
END
}

@test "of several keys, one that is settled with another amount keeps the others from being settled" {
  run -0 reserve --limit 5000/1h
  run -0 rlctl settle '{k}:60s' a 7 --now 1001000000
  local before
  before=$(cli DUMP '{k}:3600s' | base64)
  run -2 settle 1001 a 8 "${limit[@]}" --limit 5000/1h
  assert_output --partial 'is already settled with 7, not 8'
  assert_equal "$(cli DUMP '{k}:3600s' | base64)" "$before"
  run -0 settle 1001 a 7 "${limit[@]}" --limit 5000/1h
  assert_output --partial 'settled key=k limit=1000/60s,5000/1h algorithm=budget reservation=a was=held actual=7 '
}

@test "an unknown or forgotten ID is named, with status 1, and nothing is spent" {
  run -1 --separate-stderr settle 1000 nope 5
  assert_output 'unknown key=k algorithm=budget reservation=nope was=unknown'
  assert_equal "$stderr" "'k' does not exist
  hint: a KEY with several limits has several keys: pass --limit or --policy"
  assert_equal "$(cli DBSIZE)" 0
  run -1 --separate-stderr settle 1000 nope 5 --json
  assert_equal "$(jq -c '[.reservation.was, .actual, .remaining, .reset_after_us, .limits]' <<<"$output")" '["unknown",null,null,null,[]]'
  run -1 --separate-stderr settle 1000 nope 5 "${limit[@]}"
  assert_output 'unknown key=k limit=1000/60s algorithm=budget reservation=nope was=unknown remaining=1000 reset=0.000s'
  assert_equal "$stderr$(cli DBSIZE)" 0
  run -0 reserve
  run -1 settle 1060 a 5
  assert_output --partial 'unknown key=k limit=1000/60s algorithm=budget reservation=a was=unknown remaining=1000 '
}

@test "JSON has the state before, and the cost that was recorded" {
  run -0 reserve
  local expected
  for expected in '0|a|["held",380,620]' '0|a|["settled",380,620]' '1|b|["unknown",null,620]'; do
    local status id fields
    IFS='|' read -r status id fields <<<"$expected"
    run "-$status" settle 1001 "$id" 380 --json
    assert_equal "$(jq -c '[.reservation.was, .actual, .remaining]' <<<"$output")" "$fields"
  done
  assert_equal "$(jq -c '[.key, .algorithm, .reservation.id, .limits]' <<<"$output")" \
    '["k","budget","b",[{"key":"k","limit":1000,"window_us":60000000,"burst":null}]]'
}

@test "several limits are settled at all keys, or at none if one does not know the ID" {
  run -0 reserve --limit 5000/1h
  run -0 settle 1001 a 380 "${limit[@]}" --limit 5000/1h
  assert_output --partial 'settled key=k limit=1000/60s,5000/1h algorithm=budget '
  assert_output --partial 'remaining=620 '
  run -0 reserve --id b --limit 5000/1h
  cli DEL '{k}:3600s'
  run -1 settle 1001 b 380 "${limit[@]}" --limit 5000/1h
  assert_output --partial 'unknown '
  run -0 rlctl check '{k}:60s' --limit 1000/60s --algorithm budget --now 1001000000 --peek
  assert_output --partial 'remaining=220 '
}

@test "a settle counts in the period of the calendar in which it comes; holds carry over" {
  [[ -e /usr/share/zoneinfo/Europe/Zurich ]] || skip 'no time zones are installed'
  local month=(--limit 1000/month@Europe/Zurich)
  run -0 rlctl check k "${month[@]}" --reserve 400 --hold 60s --id a --now 2026-10-31T22:59:59Z
  run -0 rlctl check k "${month[@]}" --algorithm budget --peek --now 2026-10-31T23:00:00Z
  assert_output --partial ' remaining=600 '
  run -0 rlctl settle k a 380 "${month[@]}" --now 2026-10-31T23:00:01Z --json
  assert_equal "$(gojq -c '[.reservation.was, .remaining, .reset_after_us, .limits[0].calendar]' <<<"$output")" \
    '["held",620,2591999000000,"month@Europe/Zurich"]'
}

@test "a period of the calendar that has ended must be named, and one that lasts need not be" {
  local month=(--limit 1000/month@UTC)
  run -0 rlctl check k "${month[@]}" --reserve 400 --hold 60s --id a --now 2026-10-31T23:59:58Z
  run -0 rlctl check k "${month[@]}" --reserve 400 --hold 60s --id b --now 2026-10-31T23:59:58Z
  run -0 rlctl settle k a 380 --now 2026-10-31T23:59:59Z
  assert_output --partial ' was=held actual=380 remaining=220 '
  local before
  before=$(cli DUMP k | base64)
  run -2 rlctl settle k b 380 --now 2026-11-01T00:00:00Z
  assert_output "rlctl: settle: the period of 'k' has ended, and it does not store how long the next one is
  hint: pass --limit or --policy"
  assert_equal "$(cli DUMP k | base64)" "$before"
  run -0 rlctl settle k b 380 --now 2026-11-01T00:00:00Z "${month[@]}"
  assert_output --partial ' was=held actual=380 remaining=620 '
}

@test "a settle without --limit keeps the limit and the window that the key stores" {
  run -0 reserve
  # The next window is of the same length, and the limit is stored again.
  run -0 settle 1021 a 380
  assert_output --partial 'settled key=k limit=1000/60s algorithm=budget reservation=a was=held actual=380 remaining=620 reset=59.000s'
  run -0 rlctl inspect k --json --now 1021000000
  assert_equal "$(gojq -c '[.limit, .window_us, .spent]' <<<"$output")" '[1000,60000000,380]'
}

@test "a key may have bytes that are not UTF-8, and an ID a blank" {
  run -0 rlctl check $'k\xff' "${limit[@]}" --reserve 400 --hold 30s --id 'a b'
  assert_output --partial 'reservation=a\x20b '
  run -0 rlctl settle $'k\xff' 'a b' 380
  assert_output --partial 'key=k\xff '
}

@test "--quiet prints nothing, and sets the status" {
  run -0 reserve
  run -0 settle 1001 a 380 -q
  assert_output ''
  run -1 settle 1001 b 380 -q
  assert_output ''
}

@test "a policy's arguments come before the ID" {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf '[policy.%s]\nkey = "%s"\nalgorithm = "budget"\nlimit = "9/60s"\n' \
    user 'user:%s:%s' all all >"$RLCTL_CONFIG"
  run -1 rlctl settle --policy user a b id 3
  assert_output --partial 'unknown key=user:a:b limit=9/60s algorithm=budget reservation=id '
  run -1 rlctl settle --policy all id --release
  assert_output --partial 'unknown key=all '
  run -2 rlctl settle --policy user a id 3
  assert_output --partial "policy 'user' (key user:%s:%s) takes 2 arguments, not 1: 'a'"
}

@test "a key that holds something else is status 5, no server status 3" {
  cli SET k v
  local options
  for options in '' "${limit[*]}"; do
    # shellcheck disable=SC2086
    run -5 --separate-stderr settle 1000 a 3 $options
    assert_regex "${stderr_lines[0]}" "'k' holds a string, but budget keeps a hash$"
    # shellcheck disable=SC2086
    run -3 settle 1000 a 3 -u unix:///nowhere $options
  done
  cli DEL k
  cli HSET k field value
  run -5 --separate-stderr settle 1000 a 3
  assert_regex "${stderr_lines[0]}" "'k' holds a hash that is not the state of budget$"
}

@test "a settle in doubt says that it can be repeated" {
  start_fake_server --close ''
  run -3 --separate-stderr rlctl settle k a 3 "${limit[@]}"
  assert_regex "$stderr" "; the request may have been counted; settle 'a' again: it is counted once"
}

@test "if the output cannot be written, the error says that the reservation was settled" {
  run -0 reserve
  run -2 --separate-stderr bash -c 'rlctl settle k a 3 --now 1001000000 >/dev/full'
  assert_regex "$stderr" '; the reservation was settled$'
}
