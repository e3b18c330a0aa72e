load ../../support/common

# The options that `rlctl burst` accepts and refuses before it starts anything: no server is running here.

setup() {
  export RLCTL_REDIS_SERVER=/nowhere
  cd "$BATS_TEST_TMPDIR" || return
}

# refused MESSAGE OPTION…
refused() {
  local message=$1
  shift
  run -2 rlctl burst "$@"
  assert_line --partial "$message"
}

@test "an unknown pattern is refused" {
  refused "unknown pattern 'bondary'; did you mean 'boundary'?" bondary
  assert_line '  hint: it is one of boundary, steady, spike, ramp, poisson, on-off or adversary'
  refused "expected one PATTERN, but got 2: the second is 'spike'" steady spike
}

@test "an algorithm or a script in place of a pattern is refused" {
  refused "'gcra' is an algorithm, not a pattern" gcra
  assert_line '  hint: --algorithm gcra'
  refused "'mine.lua' is not a pattern" mine.lua
  assert_line '  hint: run a script with --script mine.lua'
  printf '[script.zset]\nfile = "/dev/null"\n' >"$BATS_TEST_TMPDIR/config.toml"
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  refused "'zset' is not a pattern" zset
  assert_line '  hint: run a script with --script zset'
  refused "expected one PATTERN, but got 2: the second is 'zset'" adversary zset
  assert_line '  hint: run a script with --script zset'
}

@test "options without an effect or with unreachable values are refused" {
  refused '--key-skew needs more than one key' --key-skew 1
  refused '--requests: ramp makes 3000 requests, not 100000' ramp --requests 100000
  refused 'boundary takes no rate, which follows from the limit; steady and poisson take one' --rate 10/s
}

@test "among several algorithms and limits, the invalid combination is named" {
  refused '--limit 1000M/30d: limit 1000000000 x burst 1000000000 is more than 2^53' \
    --limit 10/1s --limit 1000000000/30d --algorithm all
  assert_line '  hint: an --algorithm other than token-bucket may accept it'
}

@test "without requests the worst is unknown" {
  run -1 rlctl burst ramp --model --duration 1us -q --assert 'worst<=1'
  assert_line --partial "assertion 'worst<=1' does not hold"
}

@test "if nothing was allowed, the worst has no time" {
  run -0 rlctl burst --model --limit 3/60s --cost 7 --algorithm gcra --json
  jq -e '.runs[0].worst | [.allowed, .from_us, .span_us] == [0, null, null]' <<<"$output"
  run -0 rlctl burst --model --limit 3/60s --cost 7 --algorithm gcra
  assert_line --regexp '^gcra +2 +0 +2 +0  0\.00× +- +-( |$)'
}

# proves_nothing MESSAGE ASSERTION OPTION…
proves_nothing() {
  local message=$1 assertion=$2
  shift 2
  run -1 rlctl burst -q --model --algorithm gcra "$@" --assert "$assertion"
  assert_output "rlctl: burst: assertion '$assertion' proves nothing about gcra: $message"
}

@test "an upper bound fails where the traffic never offered more, or nothing was allowed" {
  local calm=(steady --limit 10/1s --rate 5/s)
  local offered='the traffic never offered more than 5 within 1s, so no limiter could exceed that; send more, or lower --limit'
  proves_nothing "$offered" 'worst<=1' "${calm[@]}"
  proves_nothing "$offered" 'worst<0.6' "${calm[@]}"
  run -1 rlctl burst -q --model --algorithm fixed-window,gcra "${calm[@]}" --assert 'worst<=1'
  assert_output "rlctl: burst: assertion 'worst<=1' proves nothing about fixed-window, gcra: $offered"
  run -0 rlctl burst -q --model --algorithm gcra "${calm[@]}" --assert 'worst==0.5' --assert 'worst>0.4'
  proves_nothing 'nothing was allowed' 'worst<=1' --limit 3/60s --cost 7
  proves_nothing 'nothing was allowed' 'longest_delay_us<=1' --limit 3/60s --cost 7
  run -0 rlctl burst -q --model --algorithm gcra --limit 3/60s --cost 7 --assert 'allowed==0' --assert 'worst==0'
  # Of several limits and keys, the one that is exceeded most counts.
  run -0 rlctl burst -q --model --algorithm gcra --limit 100/1s --limit 10/60s steady --rate 5/s --duration 9s --assert 'worst<=2'
  proves_nothing 'the traffic never offered more than 3 within 1s, so no limiter could exceed that; send more, or lower --limit' \
    'worst<=1' "${calm[@]}" --keys 3
}

@test "an assertion fails if every limiter would meet it" {
  local calm=(steady --limit 10/1s --rate 5/s)
  proves_nothing 'denied is from 0 to 15 in this traffic, whatever the limiter does' 'denied<=20' "${calm[@]}"
  proves_nothing 'allowed is from 0 to 15 in this traffic, whatever the limiter does' 'allowed>=0' "${calm[@]}"
  proves_nothing 'denied_share is from 0 to 1 in this traffic, whatever the limiter does' 'denied_share<=1' "${calm[@]}"
  proves_nothing 'keys_denied is from 0 to 1 in this traffic, whatever the limiter does' 'keys_denied!=3' "${calm[@]}"
  proves_nothing 'longest_shut_out_us is from 0 to 2800000 in this traffic, whatever the limiter does' \
    'longest_shut_out_us<3000000' "${calm[@]}"
  proves_nothing 'longest_delay_us is 0 or more in this traffic, whatever the limiter does' 'longest_delay_us>=0' "${calm[@]}"
  proves_nothing 'no retry_after was compared' 'retry_after_broken==0' "${calm[@]}"
  proves_nothing 'denied is 0 in this traffic, whatever the limiter does' 'denied==0' ramp --duration 1us
  run -0 rlctl burst -q --model --algorithm gcra "${calm[@]}" --assert 'denied==0' --assert 'allowed!=3' \
    --assert 'sent==15' --assert 'keys<=1' --assert 'longest_shut_out_us==0'
}

@test "the same holds for a log" {
  printf '%s a\n' 1767225600 1767225601 1767225602 >calm.log
  run -1 rlctl burst -q --model --replay calm.log --limit 5/60s --algorithm gcra --assert 'worst<=1'
  assert_output --partial 'the traffic never offered more than 3 within 60s, so no limiter could exceed that'
  run -0 rlctl burst -q --model --replay calm.log --limit 2/60s --algorithm gcra --assert 'worst<=1'
}

@test "bad limits are refused" {
  refused "--limit: 'x' is not a limit" --limit x
  refused '--limit: two limits have the same window, 60s' --limit 5/60s --limit 6/1m
}

@test "bad algorithms are refused" {
  refused "--algorithm: unknown algorithm 'gcr'; " --algorithm fixed-window,gcr
  assert_line --regexp 'hint: it is one of fixed-window, .* or all$'
  refused "unknown algorithm ''" --algorithm gcra,
  refused '--algorithm: concurrency gives leases' --algorithm concurrency
}

@test "algorithms may be given together or one by one, and each counts once" {
  run -0 rlctl burst --model --json --algorithm gcra,fixed-window --algorithm gcra --algorithm token-bucket
  run -0 jq -c '[.runs[].algorithm]' <<<"$output"
  assert_output '["gcra","fixed-window","token-bucket"]'
  run -0 rlctl burst --model --json --algorithm gcra,all
  run -0 jq -c '[.runs[].algorithm]' <<<"$output"
  assert_output '["gcra","fixed-window","sliding-window-log","sliding-window-zset","sliding-window-counter","token-bucket","leaky-bucket"]'
}

@test "a burst applies to the algorithms that have one, and at least one must have it" {
  refused 'fixed-window has no burst; token-bucket, gcra and leaky-bucket have one' --burst 5
  refused '--burst must be a whole number' --burst x --algorithm gcra
  refused 'burst must be from 1' --burst 0 --algorithm gcra
  run -0 rlctl burst --model --json --burst 5 --algorithm fixed-window,gcra
  run -0 jq -c '[.runs[].allowed]' <<<"$output"
  assert_output '[2000,5]'
}

@test "bad options of the traffic are refused" {
  refused "--rate: '400' is not a rate; write 400/s or 24k/min" steady --rate 400
  refused 'boundary takes no rate' --rate 400/s
  refused 'boundary takes no duration' --duration 1s
  refused "--duration: '5' has no unit" steady --duration 5
  refused 'duration must be more than 0' steady --duration 0s
  refused '--requests must be from 1' --requests 0
  refused 'use fewer requests, a higher rate, a shorter duration or a shorter window' steady --limit 1/30d --requests 10000
  refused '--keys must be from 1 to 10000000, not 0' --keys 0
  refused '--keys must be from 1 to 10000000, not 10000001' --keys 10000001
  refused "--key-skew must be a number from 0 to 100, not '-1'" --key-skew -1
  refused "--key-skew must be a number from 0 to 100, not '1x'" --key-skew 1x
  refused '--cost must be from 1' --cost 0
  refused 'cost 20000 is too large for sliding-window-log' --cost 20000
  refused '--seed must be from 0' --seed -1
  refused "--seed must be a whole number in decimal digits, not 'x'" --seed x
}

@test "bad clocks and options of the clock are refused" {
  refused "--clock must be virtual or real, not 'reel'" --clock reel
  refused '--rate max requires --clock real: the server sets the pace' --clock virtual --rate max
  refused '--clients requires --clock real: the virtual clock uses one connection' --clients 2
  refused '--pipeline requires --rate max' --pipeline 2
  refused '--pipeline requires --rate max' --clock real --pipeline 2
  refused '--clients must be from 1 to 10000, not 0' --clock real --clients 0
  refused '--clients must be from 1 to 10000, not 10001' --rate max --clients 10001
  refused "--pipeline must be a whole number in decimal digits, not 'x'" --rate max --pipeline x
  refused '--model and --clock real cannot be combined: there is no server to time' --clock real --model
  refused '--model and --rate max cannot be combined: there is no server to time' --rate max --model
}

@test "--rate max takes no pattern, and its duration must be valid" {
  refused "patterns do not apply to --rate max: unexpected argument 'spike'" spike --rate max
  refused "--duration: '5' has no unit" --rate max --duration 5
  refused '--duration must be more than 0' --rate max --duration 0s
}

@test "an unknown option is refused" {
  refused "unknown option '--policy'" --policy login
}

@test "--model excludes the options that name a server" {
  refused '--model and --port cannot be combined: the models use no server' --model -p 7000
  refused '--model and --url cannot be combined: the models use no server' --model --url redis://h
}

@test "standard output can have only one format" {
  refused 'standard output is asked for more than once' --svg - --csv -
  run -2 rlctl burst --json --jsonl -
  run -0 jq -r .error.message <<<"$output"
  assert_output 'standard output is asked for more than once'
}

@test "without a server, burst exits with a server error" {
  run -3 rlctl burst
  assert_output --partial '/nowhere'
  run -0 rlctl burst --model -q
  assert_output ''
}

# --- assertions --------------------------------------------------------------------------------------

@test "assertions that hold change nothing" {
  run -0 rlctl burst --model -q --algorithm sliding-window-log --assert 'worst<=1' --assert 'worst == 1' \
    --assert 'sent>=2000' --assert 'denied > 999' --assert 'allowed!=1' --assert 'denied<1000.5'
  assert_output ''
}

@test "a failed assertion exits with status 1 and prints the values after the report" {
  run -1 rlctl burst --model --algorithm fixed-window,sliding-window-log,gcra --assert 'worst<=1'
  assert_line "rlctl: burst: assertion 'worst<=1' does not hold: fixed-window has 2"
  assert_line --regexp '^pattern +boundary'
  run -1 rlctl burst --model -q --assert 'allowed<1000' --assert 'denied>0'
  assert_line --index 0 \
    "rlctl: burst: assertion 'allowed<1000' does not hold: fixed-window has 2000, sliding-window-log has 1000"
  assert_line --index 1 "rlctl: burst: assertion 'denied>0' does not hold: fixed-window has 0"
}

@test "with --json a failed assertion is JSON on stderr" {
  run -1 --separate-stderr rlctl burst --model --json --assert 'worst<=1'
  jq -e '.runs[0].worst.ratio == 2' <<<"$output"
  run -0 jq -r '.error.code' <<<"$stderr"
  assert_output assertion
}

@test "every documented name can be used in an assertion" {
  run -0 rlctl burst steady --model -q --limit 10/s --keys 3 --algorithm gcra --assert 'keys==3' \
    --assert 'keys_denied==3' --assert 'longest_shut_out_us>0' --assert 'retry_after_broken==0'
}

@test "an assertion about something a virtual clock cannot measure is refused" {
  local name
  for name in p50_us p99_9_us max_us mean_us service_p99_us server_us_per_call achieved_per_second; do
    refused "--assert: '$name<5' is about $name, which a virtual clock cannot measure" --assert "$name<5"
    assert_line '  hint: use --clock real'
  done
}

@test "an assertion about an unknown value fails" {
  run -1 rlctl burst --model -q --algorithm gcra --assert 'bytes_per_key>0' --assert 'bytes_per_key<=0'
  assert_line --index 0 "rlctl: burst: assertion 'bytes_per_key>0' does not hold: gcra has no value"
  assert_line --index 1 "rlctl: burst: assertion 'bytes_per_key<=0' does not hold: gcra has no value"
}

@test "meaningless assertions are refused" {
  refused "--assert: 'worst' needs one of < <= == != >= >" --assert worst
  refused "--assert: 'worst=1' needs one of" --assert worst=1
  refused "compares 'wurst', which is not a measure; did you mean 'worst'?" --assert 'wurst<1'
  refused "compares with 'x', which is not a number" --assert 'worst<=x'
  refused "compares with '', which is not a number" --assert 'worst<='
  refused "compares with '1 2', which is not a number" --assert 'worst<=1 2'
}

@test "an output that would replace another one, or a log that is read, is refused" {
  printf '%s\n' 1795155071 1795155072 >in.log
  run -2 rlctl burst -q --limit 5/60s --model --replay in.log --csv ./in.log
  assert_line --index 0 "rlctl: burst: --csv: './in.log' is read by --replay and would be lost"
  assert_equal "$(wc -l <in.log)" 2
  run -2 rlctl burst -q --model --svg same --csv same
  assert_line --index 0 "rlctl: burst: --csv: 'same' would replace what --svg writes"
  refute test -e same
  ln -s in.log link
  run -2 rlctl burst -q --model --svg link --jsonl in.log
  assert_line --index 0 "rlctl: burst: --jsonl: 'in.log' would replace what --svg writes"
  run -0 rlctl burst -q --model --svg /dev/null --csv /dev/null
}
