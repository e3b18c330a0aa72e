# needs: server
load ../../support/common

# The options that `rlctl burst` accepts and refuses before it starts anything: no server is running here.

setup() {
  export RLCTL_REDIS_SERVER=/nowhere
  cd "$BATS_TEST_TMPDIR" || return
}

@test "without requests the worst is unknown" {
  run -1 rlctl burst ramp --model --duration 1us -q --assert 'worst<=1'
  assert_line --partial "assertion 'worst<=1' does not hold"
}

@test "if nothing was allowed, the worst has no time and no key" {
  run -0 rlctl burst --model --limit 3/60s --cost 7 gcra --json
  gojq -e '.runs[0].worst | [.allowed, .from_us, .span_us, .key] == [0, null, null, null]' <<<"$output"
  run -0 rlctl burst --model --limit 3/60s --cost 7 gcra
  assert_line --regexp '^gcra +2 +0 +2 +0  0\.00× +- +-( |$)'
}

# proves_nothing MESSAGE ASSERTION OPTION…
proves_nothing() {
  local message=$1 assertion=$2
  shift 2
  run -1 rlctl burst -q --model gcra "$@" --assert "$assertion"
  assert_output "rlctl: burst: assertion '$assertion' proves nothing about gcra: $message"
}

@test "an upper bound fails where the traffic never offered more, or nothing was allowed" {
  local calm=(steady --limit 10/1s --rate 5/s)
  local offered='the traffic never offered more than 5 within 1s, so no limiter could exceed that; send more, or lower --limit'
  proves_nothing "$offered" 'worst<=1' "${calm[@]}"
  proves_nothing "$offered" 'worst<0.6' "${calm[@]}"
  run -1 rlctl burst -q --model fixed-window gcra "${calm[@]}" --assert 'worst<=1'
  assert_output "rlctl: burst: assertion 'worst<=1' proves nothing about fixed-window, gcra: $offered"
  run -0 rlctl burst -q --model gcra "${calm[@]}" --assert 'worst==0.5' --assert 'worst>0.4'
  proves_nothing 'nothing was allowed' 'worst<=1' --limit 3/60s --cost 7
  proves_nothing 'nothing was allowed' 'longest_delay_us<=1' --limit 3/60s --cost 7
  run -0 rlctl burst -q --model gcra --limit 3/60s --cost 7 --assert 'allowed==0'
  # Of several limits and keys, the one that is exceeded most counts.
  run -0 rlctl burst -q --model gcra --limit 100/1s --limit 10/60s steady --rate 5/s --duration 9s --assert 'worst<=2'
  proves_nothing 'the traffic never offered more than 3 within 1s, so no limiter could exceed that; send more, or lower --limit' \
    'worst<=1' "${calm[@]}" --keys 3
}

@test "an assertion about what did not happen fails" {
  local calm=(steady --limit 10/1s --rate 5/s)
  proves_nothing 'no retry_after was compared' 'retry_after_broken==0' "${calm[@]}"
  proves_nothing 'no retry_after was compared' 'retry_after_too_early_us<100' "${calm[@]}"
  run -0 rlctl burst -q --model gcra "${calm[@]}" --assert 'denied==0' --assert 'allowed!=3' \
    --assert 'sent==15' --assert 'keys<=1' --assert 'longest_shut_out_us==0'
}

@test "the same holds for a log" {
  printf '%s a\n' 1767225600 1767225601 1767225602 >calm.log
  run -1 rlctl burst -q --model --replay calm.log --limit 5/60s gcra --assert 'worst<=1'
  assert_output --partial 'the traffic never offered more than 3 within 60s, so no limiter could exceed that'
  run -0 rlctl burst -q --model --replay calm.log --limit 2/60s gcra --assert 'worst<=1'
}

@test "algorithms may be given together or one by one, and each counts once" {
  run -0 rlctl burst --model --json gcra fixed-window gcra token-bucket
  run -0 gojq -c '[.runs[].algorithm]' <<<"$output"
  assert_output '["gcra","fixed-window","token-bucket"]'
  run -0 rlctl burst --model --json gcra all
  run -0 gojq -c '[.runs[].algorithm]' <<<"$output"
  assert_output '["gcra","fixed-window","sliding-window-log","sliding-window-zset","sliding-window-counter","token-bucket","leaky-bucket","budget"]'
}

@test "a burst applies to the algorithms that have one" {
  run -0 rlctl burst --model --json --burst 5 fixed-window gcra
  run -0 gojq -c '[.runs[].allowed]' <<<"$output"
  assert_output '[2000,5]'
}

# --- assertions --------------------------------------------------------------------------------------

@test "with --json a failed assertion is JSON on stderr" {
  run -1 --separate-stderr rlctl burst --model --json --assert 'worst<=1'
  gojq -e '.runs[0].worst.ratio == 2' <<<"$output"
  run -0 gojq -r '.error.code' <<<"$stderr"
  assert_output assertion
}

@test "every documented name can be used in an assertion" {
  run -0 rlctl burst steady --model -q --limit 10/s --keys 3 gcra --assert 'keys==3' \
    --assert 'keys_denied==3' --assert 'longest_shut_out_us>0' --assert 'retry_after_broken==0'
}

@test "an assertion about an unknown value fails" {
  run -1 rlctl burst --model -q gcra --assert 'bytes_per_key>0' --assert 'bytes_per_key<=0'
  assert_line --index 0 "rlctl: burst: assertion 'bytes_per_key>0' does not hold: gcra has no value"
  assert_line --index 1 "rlctl: burst: assertion 'bytes_per_key<=0' does not hold: gcra has no value"
}
