# needs: server
load ../../support/common

# `rlctl burst --compare`: the first request about which two limiters differ.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cat >early.lua <<'LUA'
local key, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', now - window + 1))
if redis.call('ZCARD', key) >= limit then return 0 end
redis.call('ZADD', key, now, ARGV[4])
return 1
LUA
}

early=(early.lua --args '{now_us} {window_us} {limit} {id}')

@test "the printed command repeats the comparison" {
  local command=(burst boundary --limit 5/60s fixed-window --compare sliding-window-log)
  run -1 rlctl "${command[@]}" --json
  repeats -1
}

@test "limiters that decide alike have status 0, and both are in the report" {
  run -0 rlctl burst poisson sliding-window-log --limit 5/10s --compare sliding-window-zset
  assert_line --regexp '^differ +no: sliding-window-log and sliding-window-zset decide all [0-9,]+ requests$'
  assert_line --regexp '^sliding-window-zset '
  run -0 rlctl burst poisson sliding-window-log --limit 5/10s --compare sliding-window-zset --json --model
  assert_equal "$(jq -c '.compare, [.runs[].algorithm]' <<<"$output")" '{"algorithm":"sliding-window-zset","differs":false,"request":null,"at_us":null,"key":null,"allowed":null,"other_allowed":null}
["sliding-window-log","sliding-window-zset"]'
}

@test "another's script is compared with an algorithm, and two scripts with each other" {
  printf '%s\n' '0 a' '1 a' '60.5 a' '60.999999 a' >requests.log
  run -1 rlctl burst --replay requests.log --limit 2/60s "${early[@]}" --compare sliding-window-log --json
  assert_equal "$(gojq -c '.compare | [.request, .key, .allowed, .other_allowed]' <<<"$output")" '[4,"a",true,false]'
  sed 's/ + 1))/))/' early.lua >exact.lua
  run -1 rlctl burst --replay requests.log --limit 2/60s "${early[@]}" --compare exact.lua --json
  assert_equal "$(gojq -c '.compare | [.algorithm, .request]' <<<"$output")" '["exact.lua",4]'
  run -0 rlctl burst --replay requests.log --limit 2/60s "${early[@]}" --compare early.lua -q
  cat >limiters.toml <<'TOML'
[script.exact]
file = "exact.lua"
args = "{now_us} {window_us} {limit} {id}"
TOML
  run -1 rlctl --config limiters.toml burst --replay requests.log --limit 2/60s fixed-window --compare exact --json
  assert_equal "$(gojq -c '.compare.algorithm' <<<"$output")" '"exact"'
}

@test "the key with the difference is named" {
  printf '%s\n' '50 b' '50 a' '51 a' '52 c' '60 c' '60.5 a' '61 b' >requests.log
  run -1 rlctl burst fixed-window --replay requests.log --limit 2/60s --compare sliding-window-log --json
  assert_equal "$(gojq -c '.compare | [.request, .key, .at_us]' <<<"$output")" '[6,"a",60500000]'
}

@test "standard input is read by one of the limiters and the log" {
  fails 2 $'burst: \'-\' and --compare - both read standard input\n  hint: pass a file for one of them' \
    rlctl burst - --compare - <<<'return 1'
  fails 2 'burst: --compare - and --replay - both read standard input' rlctl burst gcra --compare - --replay - <<<'1 a'
  run -0 rlctl burst --requests 1 gcra --compare - -q <<<'return 1'
}

@test "a burst is for whichever of the two limiters takes one" {
  local limiters
  for limiters in 'gcra fixed-window' 'fixed-window gcra'; do
    # shellcheck disable=SC2086 # two words
    set -- $limiters
    run -1 rlctl burst --model --limit 5/60s --burst 3 "$1" --compare "$2" --json
    assert_equal "$(gojq -r '[.runs[].algorithm] | join(" ")' <<<"$output")" "$limiters"
  done
}

@test "a comparison leaves no key on another server" {
  start_server
  run -1 --separate-stderr rlctl burst boundary -s "$socket" --limit 5/60s fixed-window --compare sliding-window-log -q
  assert_equal "$(cli DBSIZE)" 0
}

@test "a difference that a server which is held up may have made is looked for again, and said" {
  cat >slow.lua <<'LUA'
redis.call('SET', KEYS[1], '1', 'PX', 60000)
for i = 1, 2e6 do end
return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1]) and 1 or 0
LUA
  start_server
  local command=(-s "$socket" burst steady --keys 6 --requests 3 --rate 1/s --limit 1/60s --args '{limit}' --compare fixed-window)
  run -1 --separate-stderr rlctl "${command[@]}" slow.lua -q
  [[ $stderr == *'rlctl: burst: warning: the server was held up while TTLs ran, so that real time may have made the difference; use an idle machine'* ]] || fail "$stderr"
  # Each request is written once, so there is one run.
  run -1 --separate-stderr rlctl "${command[@]}" slow.lua -o decisions.jsonl
  assert_equal "$(wc -l <decisions.jsonl)" "$(gojq -r .run decisions.jsonl | grep -c .)"
  assert_equal "$(gojq -r .run decisions.jsonl | sort | uniq -c | awk '{print $1}' | sort -u | wc -l)" 1
}
