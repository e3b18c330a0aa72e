# needs: server
load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }

start=1000000000
# Its window does not end while the tests run.
long=1000/100000000s

# The server's clock in microseconds.
server_time() { cli TIME | paste -sd ' ' | awk '{ printf "%d%06d", $1, $2 }'; }

# reserve UNITS ARGUMENT…: asks at the virtual time $start for a hold of 30 s.
reserve() { rlctl check k --limit 1000/60s --hold 30s --now "$start" --reserve "$@"; }
at() { rlctl check k --limit 1000/60s --algorithm budget --now "$(($1 * 1000000))" "${@:2}"; }

@test "a reservation holds units, and its new ID is printed" {
  run -0 --separate-stderr reserve 400
  assert_regex "$output" '^allowed key=k limit=1000/60s algorithm=budget reservation=[0-9a-f]{16} state=held units=400 hold=30.000s remaining=600 reset=60.000s$'
  assert_equal "$stderr" ''
  local first=$output
  run -0 reserve 400
  assert_output --partial ' remaining=200 '
  [[ ${first%% state*} != "${output%% state*}" ]]
}

@test "JSON has the reservation" {
  run -0 reserve 400 --id a --json
  assert_equal "$(jq -c '[.allowed, .algorithm, .cost, .reservation]' <<<"$output")" \
    '[true,"budget",400,{"id":"a","state":"held","units":400,"hold_us":30000000,"reason":null}]'
  run -1 reserve 700 --id b --json
  assert_equal "$(jq -c '[.allowed, .retry_after_us, .reservation.state]' <<<"$output")" '[false,30000000,"unknown"]'
  run -0 reserve 1 --id $'\xff' --json
  assert_equal "$(jq -r '.reservation.id_base64' <<<"$output")" "$(printf '\xff' | base64)"
}

@test "a reservation that does not fit is denied, records nothing, and says when it fits" {
  run -0 reserve 400 --id a
  local before
  before=$(cli DUMP k | base64)
  run -1 reserve 601 --id b
  assert_output 'denied key=k limit=1000/60s algorithm=budget reservation=b state=unknown units=601 hold=30.000s remaining=600 retry_after=30.000s reset=60.000s'
  run -1 reserve 1001 --id b
  assert_output --partial ' retry_after=never '
  assert_equal "$(cli DUMP k | base64)" "$before"
}

@test "the same ID changes nothing, and tells what the reservation is now" {
  run -0 reserve 400 --id a
  local now
  for now in '1001 held 600' '1031 lapsed 1000'; do
    local time state remaining
    read -r time state remaining <<<"$now"
    run -0 at "$time" --reserve 400 --hold 30s --id a
    assert_output --partial "reservation=a state=$state units=400 hold=30.000s remaining=$remaining "
  done
  run -0 rlctl settle k a 5 --limit 1000/60s --now 1031000000
  run -0 at 1032 --reserve 400 --hold 30s --id a
  assert_output --partial 'reservation=a state=settled units=5 hold=30.000s remaining=995 '
}

@test "the same ID with another hold tells the hold that it was made with" {
  run -0 reserve 400 --id a
  run -0 at 1001 --reserve 400 --hold 60s --id a
  assert_output --partial 'reservation=a state=held units=400 hold=30.000s '
  run -0 at 1001 --reserve 400 --hold 60s --id a --json
  assert_equal "$(jq -c .reservation <<<"$output")" '{"id":"a","state":"held","units":400,"hold_us":30000000,"reason":null}'
}

@test "the same ID with other units is an error, which tells those that stand, whatever room there is" {
  run -0 reserve 400 --id a
  local before now units
  before=$(cli DUMP k | base64)
  for now in 1001 1031; do
    for units in 1 399 401 600 601 1000; do
      run -2 --separate-stderr at "$now" --reserve "$units" --hold 30s --id a
      assert_equal "$output" ''
      assert_equal "$stderr" "rlctl: check: reservation 'a' of 'k' was made with 400, not $units; nothing was changed
  hint: give each request an ID of its own"
    done
  done
  run -2 --separate-stderr at 1001 --reserve 90 --hold 30s --id a --json --shadow --on-error allow
  assert_equal "$(gojq -c '[.error.code, .error.units]' <<<"$stderr")" '["conflict",400]'
  # A key that does not know the ID reserves nothing, either.
  run -0 rlctl check '{k}:60s' --limit 1000/60s --reserve 400 --hold 30s --id a --now "$start"
  run -2 reserve 90 --id a --limit 5000/1h
  assert_output --partial "reservation 'a' of 'k' was made with 400, not 90"
  assert_equal "$(cli DUMP k | base64) $(cli DBSIZE)" "$before 2"
}

@test "500 reservations that are held close a key, which the answer says" {
  local many=(--limit 1M/1d --now "$start")
  for i in {1..500}; do printf 'k\t1\tid%d\n' "$i"; done |
    rlctl check -q "${many[@]}" --hold 60s --batch
  run -1 rlctl check k "${many[@]}" --reserve 1 --hold 60s --id more
  assert_output --partial 'state=unknown units=1 hold=60.000s remaining=999500 retry_after=60.000s '
  assert_output --regexp ' reason="500 reservations are held"$'
  run -1 rlctl check k "${many[@]}" --reserve 1 --hold 60s --id more --json
  assert_equal "$(jq -c .reservation.reason <<<"$output")" '"500 reservations are held"'
  run -0 rlctl check k "${many[@]}" --reserve 1 --hold 60s --id more --shadow
  assert_output --regexp ' would_deny=true .* reason="500 reservations are held"$'
  # Others are denied for want of units, and take what is not reserved.
  run -1 rlctl check k "${many[@]}" --reserve 999501 --hold 60s --id more
  refute_output --partial reason
  run -0 rlctl check k "${many[@]}" --algorithm budget
  refute_output --partial reason
  run -0 rlctl settle k id7 1 --now "$start"
  run -0 rlctl check k "${many[@]}" --reserve 1 --hold 60s --id more
  refute_output --partial reason
}

@test "units are free at the end of the hold, to the microsecond" {
  run -0 reserve 1000 --id a
  run -1 rlctl check k --limit 1000/60s --algorithm budget --now 1029999999
  assert_output --partial ' retry_after=0.001s '
  run -0 rlctl check k --limit 1000/60s --algorithm budget --now 1030000000
}

@test "several limits hold the units in all keys or in none" {
  run -0 reserve 400 --limit 500/1h --id a
  run -1 reserve 101 --limit 500/1h --id b
  assert_output --partial 'denied_by={k}:3600s'
  run -0 rlctl check '{k}:60s' --limit 1000/60s --algorithm budget --now "$start" --peek
  assert_output --partial ' remaining=600 '
}

@test "a policy of the algorithm budget takes reservations, others do not" {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  cat >"$RLCTL_CONFIG" <<'END'
[policy.tokens]
key = "tokens:%s"
algorithm = "budget"
limit = "1000/60s"
[policy.login]
key = "login:%s"
limit = "5/60s"
END
  run -0 rlctl check --policy tokens ann --reserve 400 --hold 30s --id a
  assert_output --partial 'key=tokens:ann limit=1000/60s algorithm=budget reservation=a state=held '
  run -0 rlctl settle --policy tokens ann a 300
  assert_output --partial 'settled key=tokens:ann '
  run -2 rlctl check --policy login ann --reserve 4 --hold 30s
  assert_output --partial 'sliding-window-log has no reservations; budget has them'
}

@test "--wait sleeps until the units are free, by the server's clock" {
  local before
  before=$(server_time)
  run -0 rlctl check k --limit "$long" --reserve 1000 --hold 300ms --id a
  run -0 rlctl check k --limit "$long" --reserve 1000 --hold 30s --id b --wait
  assert_output --partial 'reservation=b state=held '
  (($(server_time) >= before + 300000))
}

@test "an answer that --on-error gives has no known reservation" {
  run -0 --separate-stderr rlctl check k --limit 5/60s --reserve 3 --hold 30s --id a --on-error allow -u unix:///nowhere
  assert_output 'allowed key=k limit=5/60s algorithm=budget reservation=a state=unknown units=3 hold=30.000s on_error=allow'
  run -0 --separate-stderr rlctl check k --limit 5/60s --reserve 3 --hold 30s --id a --on-error allow -u unix:///nowhere --json
  assert_equal "$(gojq -c .reservation.state <<<"$output")" '"unknown"'
}

@test "--shadow lets a request pass without a reservation" {
  run -0 rlctl check k --limit 5/60s --reserve 6 --hold 30s --id a --shadow
  assert_output --partial 'allowed key=k limit=5/60s algorithm=budget reservation=a state=unknown units=6 hold=30.000s would_deny=true '
}

@test "--quiet and --headers work with --id" {
  run -0 reserve 400 --id a -q
  assert_output ''
  run -0 reserve 400 --id b --headers
  assert_line --index 1 'RateLimit: "60s";r=200;t=60'
}

@test "a request in doubt says with which ID it may be asked again" {
  start_fake_server --close ''
  run -3 --separate-stderr rlctl check k --limit 5/60s --reserve 3 --hold 30s --id a
  assert_regex "$stderr" "; the request may have been counted; ask again with ID 'a': it is counted once"
  run -3 --separate-stderr rlctl check --limit 5/60s --hold 30s --batch <<<$'k\t3\tb'
  assert_regex "$stderr" "line 1: .*; ask again with ID 'b': it is counted once"
}

# --- batches ----------------------------------------------------------------------------------------

batch() { rlctl check --limit 1000/60s --hold 30s --now "$start" --batch "$@"; }

@test "with --hold, a line of a batch has units and an ID, which is made if it is missing" {
  run -1 --separate-stderr batch <<<$'k\t400\ta\nk\t300\nk\t400\ta\na\tb\t5\tc\nk\t301\td'
  assert_line --index 0 'allowed key=k limit=1000/60s algorithm=budget reservation=a state=held units=400 hold=30.000s remaining=600 reset=60.000s'
  assert_regex "${lines[1]}" ' reservation=[0-9a-f]{16} state=held units=300 hold=30.000s remaining=300 '
  assert_line --index 2 "${lines[0]/remaining=600/remaining=300}"
  assert_line --index 3 --partial 'allowed key=a\tb limit=1000/60s algorithm=budget reservation=c '
  assert_line --index 4 --partial 'denied key=k limit=1000/60s algorithm=budget reservation=d state=unknown units=301 hold=30.000s '
}

@test "a line with the ID of an earlier one and other units is an error, and the batch continues" {
  run -2 --separate-stderr batch <<<$'k\t400\ta\nk\t7\ta\nk\t7\tb'
  assert_line --index 0 --partial 'allowed '
  assert_line --index 1 "error line=2 status=2 message=\"reservation 'a' of 'k' was made with 400, not 7; nothing was changed\""
  assert_line --index 2 --partial 'allowed key=k limit=1000/60s algorithm=budget reservation=b '
  run -2 --separate-stderr batch --json <<<$'k\t7\ta'
  assert_equal "$(gojq -c '[.line, .error.code, .error.units]' <<<"$output")" '[1,"conflict",400]'
}

@test "--reserve gives the units of lines without them" {
  run -0 batch --reserve 7 <<<$'k\nk\t9\ta'
  assert_line --index 0 --partial ' units=7 hold=30.000s remaining=993 '
  assert_line --index 1 --partial ' reservation=a state=held units=9 '
}

@test "a line without valid units or with a bad ID is an error" {
  local line message
  while IFS='|' read -r line message; do
    run -2 --separate-stderr batch <<<"$(printf %b "$line")"
    assert_equal "$stderr" "rlctl: check: line 1: $message"
  done <<'END'
k|a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID
k\t0\ta|a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID
k\t-1\ta|a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID
k\tx\ta|UNITS must be a whole number in decimal digits, not 'x'
k\t1\t|ID is empty
k\t1\t123456789012345678901|ID must have at most 20 bytes, not the 21 of '123456789012345678901'
END
  run -2 --separate-stderr batch -q <<<$'k\t1'
  assert_equal "$stderr" 'rlctl: check: line 1: with --quiet, a reservation needs an ID: nothing would print it'
  assert_equal "$(cli DBSIZE)" 0
}

# --- callers that die -------------------------------------------------------------------------------

@test "after kill -9 of the caller, the units are free when its hold ends" {
  # The coprocess has its answer, so the units are held; then it dies.
  coproc LIMITER { exec rlctl check --limit "$long" --hold 1h --batch; }
  local limiter=$LIMITER_PID answer
  printf 'k\t1000\ta\n' >&"${LIMITER[1]}"
  read -r answer <&"${LIMITER[0]}"
  assert_regex "$answer" '^allowed .* reservation=a state=held '
  kill -9 "$limiter"
  wait "$limiter" || (($? == 137))
  # A denial between these two times tells when the hold ends.
  local before after left
  before=$(server_time)
  left=$(rlctl check k --limit "$long" --algorithm budget --cost 1000 --json | gojq .retry_after_us)
  after=$(server_time)
  ((left > 0 && left <= 3600000000))
  run -1 rlctl check k --limit "$long" --algorithm budget --cost 1000 --now "$((before + left - 1))"
  run -0 rlctl check k --limit "$long" --algorithm budget --cost 1000 --now "$((after + left))"
}

@test "200 callers at once, of whom every tenth is killed, never reserve more than the limit" {
  # Each reserves 7 of 500: at most 71 may be allowed, whoever of them dies.
  local limit=500/100000000s
  local i holders=() out=$BATS_TEST_TMPDIR/out
  mkdir "$out"
  for ((i = 0; i < 200; ++i)); do
    rlctl check k --limit "$limit" --reserve 7 --hold 1h --id "id$i" >"$out/$i" &
    holders+=($!)
  done
  for ((i = 0; i < 200; i += 10)); do kill -9 "${holders[i]}" 2>/dev/null || true; done
  # Allowed, denied, or killed.
  for i in "${holders[@]}"; do wait "$i" || (($? == 1 || $? == 137)); done
  local answered remaining
  answered=$(cat "$out"/* | grep -c '^allowed ')
  ((answered <= 71))
  # What remains tells how many were reserved, also by those that were killed before their answer.
  remaining=$(rlctl check k --limit "$limit" --algorithm budget --peek --json | gojq .remaining)
  (((500 - remaining) % 7 == 0 && (500 - remaining) / 7 >= answered))
  # All that found room got it: no more than six units are left once all have been denied or allowed.
  if grep -q '^denied ' "$out"/*; then assert_equal "$remaining" 3; fi
  for ((i = 0; i < 200; ++i)); do
    # A reservation that was not made is unknown: status 1.
    rlctl settle k "id$i" 7 --limit "$limit" >>"$out/settled" || (($? == 1))
  done
  # Each reservation that was made is settled once, and nothing else.
  assert_equal "$(grep -c '^settled ' "$out/settled")" "$(((500 - remaining) / 7))"
  assert_equal "$(rlctl check k --limit "$limit" --algorithm budget --peek --json | gojq .remaining)" "$remaining"
}
