# needs: server
load ../../support/common

# Reservations where callers die, servers vanish, or times and IDs are not fixed; reserve.t has the rest.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

@test "each ID that is made is another, of 16 hexadecimal digits; a given one may have any bytes, but is not empty" {
  local ask=(rlctl check --limit 9/60s --reserve 1 --hold 30s)
  "${ask[@]}" k >"$BATS_TEST_TMPDIR/out"
  "${ask[@]}" --batch <<<$'k\nk' >>"$BATS_TEST_TMPDIR/out"
  assert_equal "$(grep -oE ' reservation=[0-9a-f]{16} ' "$BATS_TEST_TMPDIR/out" | sort -u | wc -l)" 3
  assert_equal "$("${ask[@]}" k --id $'\xff' --json | gojq -r .reservation.id_base64)" /w==
  run -2 "${ask[@]}" --batch <<<$'k\t1\t'
  assert_line 'error line=1 status=2 message="ID is empty"'
}

@test "500 reservations that are held close a key to others, which the answer says" {
  local ask=(rlctl check k --limit 1M/1d --hold 60s --now 1000000000)
  seq -f $'k\t1\tid%g' 500 | rlctl check -q --batch "${ask[@]:3}"
  run -1 "${ask[@]}" --reserve 1 --id more
  assert_output 'denied key=k limit=1M/1d algorithm=budget reservation=more state=unknown units=1 hold=60.000s remaining=999500 retry_after=60.000s reset=120.000s reason="500 reservations are held"'
  run -1 "${ask[@]}" --reserve 1 --id more --json
  assert_output --partial '"reason":"500 reservations are held"'
  run -0 "${ask[@]}" --reserve 1 --id more --shadow
  assert_output --regexp ' would_deny=true .* reason="500 reservations are held"$'
  # Others are denied for want of units, and take what is not reserved.
  run -1 "${ask[@]}" --reserve 999501 --id more
  refute_output --partial reason
  run -0 rlctl check k --limit 1M/1d --now 1000000000 --algorithm budget
  run -0 rlctl settle k id7 1 --now 1000000000
  run -0 "${ask[@]}" --reserve 1 --id more
  refute_output --partial reason
}

@test "--wait sleeps until the units are free, by the server's clock" {
  local before=${EPOCHREALTIME/./}
  rlctl check -q k --limit 1000/1000d --reserve 1000 --hold 300ms --id a
  run_with_timeout -0 rlctl check k --limit 1000/1000d --reserve 1000 --hold 30s --id b --wait
  assert_output --partial 'reservation=b state=held '
  ((${EPOCHREALTIME/./} >= before + 300000))
}

@test "a request in doubt says that it can be repeated, and with which ID" {
  start_fake_server --close ''
  run -3 --separate-stderr rlctl check k --limit 5/60s --reserve 3 --hold 30s --id a
  assert_regex "$stderr" "; the request may have been counted; ask again with ID 'a': it is counted once"
  run -3 --separate-stderr rlctl check --limit 5/60s --hold 30s --batch <<<$'k\t3\tb'
  assert_regex "$stderr" "line 1: .*; ask again with ID 'b': it is counted once"
  run -3 --separate-stderr rlctl settle k a 3 --limit 5/60s
  assert_regex "$stderr" "; the request may have been counted; settle 'a' again: it is counted once"
}

@test "a settle that cannot be reported says that it was made, and its key may have any bytes" {
  rlctl check -q $'k\xff' --limit 9/60s --reserve 4 --hold 30s --id a
  run -2 --separate-stderr bash -c $'rlctl settle k\xff a 3 >/dev/full'
  assert_regex "$stderr" '; the reservation was settled$'
  run -0 rlctl settle $'k\xff' a 3
  assert_output --partial 'already key=k\xff '
}

@test "many callers at once, of whom every tenth is killed, never reserve more than the limit" {
  # Each reserves 7 of 101, which leaves 3: at most 14 may be allowed, whoever of them dies.
  local limit=101/1000d i callers holders=() out=$BATS_TEST_TMPDIR
  callers=$(scaled 40 200)
  for ((i = 0; i < callers; ++i)); do
    rlctl check k --limit "$limit" --reserve 7 --hold 1h --id "id$i" >"$out/$i" &
    holders+=($!)
  done
  for ((i = 0; i < callers; i += 10)); do kill -9 "${holders[i]}" 2>/dev/null || true; done
  # Allowed, denied, or killed.
  for i in "${holders[@]}"; do wait "$i" || (($? == 1 || $? == 137)); done
  # What remains tells how many were reserved, also by those that were killed before their answer.
  local answered remaining
  answered=$(cat "$out"/[0-9]* | grep -c '^allowed ')
  remaining=$(rlctl check k --limit "$limit" --algorithm budget --peek --json | gojq .remaining)
  (((101 - remaining) % 7 == 0 && (101 - remaining) / 7 >= answered))
  # All that found room got it: no more than six units are left once one has been denied.
  if grep -q '^denied ' "$out"/[0-9]*; then assert_equal "$remaining" 3; fi
  # A reservation that was not made is unknown, with status 1; each that was made is settled once.
  for ((i = 0; i < callers; ++i)); do rlctl settle k "id$i" 7 --limit "$limit" >>"$out/settled" || (($? == 1)); done
  assert_equal "$(grep -c '^settled ' "$out/settled")" "$(((101 - remaining) / 7))"
  assert_equal "$(rlctl check k --limit "$limit" --algorithm budget --peek --json | gojq .remaining)" "$remaining"
}
