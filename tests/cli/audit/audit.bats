# needs: server
load ../../support/common

# Incidents of production, planted: what `rlctl audit` says of each, and that what it tells to type fixes it.

# Windows of 30 days: a fixed window must not end during a test.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli CONFIG SET maxmemory 0 maxmemory-policy noeviction >/dev/null 2>&1 ||
    { cli CONFIG SET maxmemory 0 && cli CONFIG SET maxmemory-policy noeviction; } >/dev/null
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/rlctl.toml
  echo 'timeout = "120s"' >"$RLCTL_CONFIG"
}

algorithms=(budget fixed-window gcra leaky-bucket sliding-window-counter sliding-window-log sliding-window-zset
  token-bucket)

# found [OPTION…]: each finding as FINDING SEVERITY KEY.
found() { rlctl audit --json "$@" | gojq -r '[.finding, .severity, .key] | join(" ")'; }
# fix KEY: runs what the finding about the key says; of another program's key, what it says to find out about.
fix() {
  local line
  line=$(rlctl audit --json | gojq -r --arg key "$1" 'select(.key == $key) | .fix')
  line=${line#\# another program keeps it, *: }
  [[ $line == rlctl* || $line == redis-cli* ]] || fail "no command: $line"
  eval "$line" >/dev/null
}

@test "a healthy server has no findings: status 0" {
  local name
  for name in "${algorithms[@]}"; do
    rlctl check -q "$name" --limit 5/30d --algorithm "$name"
    rlctl check -q "{$name}" --limit 5/30d --limit 9/60d --algorithm "$name"
    rlctl check -q "$name:caller" --limit 5/1s --algorithm "$name" --now "$(date +%s)000000"
  done
  cli EVAL "$(<"$project/lua/concurrency.lua")" 1 job 3 600000000 acquire me >/dev/null
  cli SET hits 12 EX 60 >/dev/null
  cli RPUSH queue 1 2 3 >/dev/null
  run rlctl audit
  assert_success
  assert_output 'no findings in 33 limiter keys, 2 other keys; TTL not checked for 4 keys: no policy defines their window'
  assert_equal "$(rlctl audit --json)" ''
}

# detail KEY: what is said of the key.
detail() { rlctl audit --json "${@:2}" | gojq -r --arg key "$1" 'select(.key == $key) | .detail'; }

@test "a TTL out of all proportion is a finding, whatever is known of the key" {
  local years=$((46 * 365 * 86400)) row
  cli SET quota:daily:acme:20251127 4711 EX 157680000 >/dev/null
  cli SET spend:ann 100.25 EX "$years" >/dev/null
  cli HSET usage:ann req 12 tok 3400 >/dev/null
  cli EXPIRE usage:ann "$years" >/dev/null
  cli ZADD seen:ann "$(date +%s)" a "$(date +%s)" b >/dev/null
  cli EXPIRE seen:ann "$years" >/dev/null
  cli SET yearly:ann 12 EX $((366 * 86400)) >/dev/null
  assert_equal "$(found | sort)" 'ttl_long warning quota:daily:acme:20251127
ttl_long warning seen:ann
ttl_long warning spend:ann
ttl_long warning usage:ann'
  assert_regex "$(detail quota:daily:acme:20251127)" '^expires in .*: if this counts requests, it resets only then$'
  run -1 rlctl audit
  # A row, or --read-as, says that it counts. Of its limit, it does so for a day, or a month.
  assert_regex "$(detail quota:daily:acme:20251127 --read-as count)" '^its window ends only in .*: 4711 units used$'
  for row in 4711/day 4711/30d 99999/30d; do
    printf '[library.quota]\nkey = "quota:*"\ntype = "string"\nvalue = "count"\nlimit = "%s"\n' "$row" >"$RLCTL_CONFIG"
    assert_regex "$(detail quota:daily:acme:20251127)" "^its window of .* ends only in .*: 4711 of ${row%/*} used$"
  done
  printf '[library.yearly]\nkey = "yearly:*"\ntype = "string"\nvalue = "count"\nlimit = "20/366d"\n' >"$RLCTL_CONFIG"
  assert_equal "$(found 'yearly:*')" ''
}

@test "what may count without a TTL is a warning in words that are true of it: whole, negative, a fraction, in a hash" {
  local key never='no TTL: if this counts requests, it never resets'
  cli MSET whole 500 negative -500 one 1 fraction 100.25 below -0.5 >/dev/null
  cli HSET usage req 12 tok 3400 >/dev/null
  cli HSET counter count 7 limit 100 >/dev/null
  cli HSET bucket tokens 3.5 last_refill "$(date +%s.%N)" >/dev/null
  # Nothing that only has a part of it.
  cli HSET user name ann count 7 >/dev/null
  cli HSET limits limit 100 window 60 >/dev/null
  cli HSET text count many limit 100 >/dev/null
  cli MSET time "$(date +%s.%N)" version 1.2.3 exponent 1e5 word 1.5x >/dev/null
  assert_equal "$(found | sort)" "$(for key in below bucket counter fraction negative one usage whole; do
    echo "no_ttl warning $key"
  done)"
  for key in below bucket counter fraction negative one usage whole; do assert_equal "$(detail "$key")" "$never"; done
  run -0 rlctl inspect counter
  assert_line --regexp '^holds +counts +a hash of counts, as limiters keep them$'
  assert_line --partial 'which of its fields count requests is not known'
  assert_line --partial 'field = "FIELD"'
  run -0 rlctl inspect fraction --json
  assert_equal "$(gojq -c '[.algorithm, .number, .used]' <<<"$output")" '["foreign-counter",100.25,null]'
  cli SET deep -3.5 >/dev/null
  run -0 rlctl inspect deep
  assert_output --partial ' -3.5 '
  run -3 rlctl quota usage --limit 100/60s
  assert_line --index 0 --partial "'usage' holds counts: which of its fields count requests is not known"
  run -0 rlctl list --all
  assert_output --partial ' counter'
}

@test "a row that says count reads a number that is not whole: 87.43 of 100" {
  cli MSET spend:a 87.43 spend:b 120.5 left:a 12.5 >/dev/null
  cli SET spend:c 99.5 EX 86400 >/dev/null
  printf '[library.spend]\nkey = "spend:*"\ntype = "string"\nvalue = "count"\nlimit = "100/30d"
[library.left]\nkey = "left:*"\ntype = "string"\nvalue = "remaining"\nlimit = "100/30d"\n' >"$RLCTL_CONFIG"
  run -0 rlctl inspect spend:a
  assert_line --regexp '^used +87\.43 of 100 '
  run -2 rlctl quota spend:b
  assert_output --partial 'CRITICAL - spend:b 120.5% used (120.5 of 100)'
  run -1 rlctl quota spend:a
  assert_output --partial 'WARNING - spend:a 87.4% used (87.43 of 100)'
  run -1 rlctl quota left:a
  assert_output --partial 'WARNING - left:a 87.5% used (87.5 of 100)'
  run -0 rlctl inspect --read-as count --limit 100/30d spend:a --config /dev/null
  assert_line --regexp '^used +87\.43 of 100 '
  # Less than a unit is left: nothing that costs one is allowed.
  run -0 rlctl inspect spend:c --json
  assert_equal "$(gojq -c '[.used, .remaining]' <<<"$output")" '[100,0]'
  assert_equal "$(rlctl list --above 100% --json | gojq -r .key | sort | xargs)" 'spend:b spend:c'
  assert_equal "$(found | sort)" 'no_ttl critical left:a
no_ttl critical spend:a
no_ttl critical spend:b'
  assert_equal "$(detail spend:a)" 'no TTL, and only a TTL would end its window: 87.43 of 100 used forever'
  assert_equal "$(detail spend:b)" 'no TTL, and only a TTL would end its window: 120.5 of 100 used, denied forever'
}

@test "a count below 0 is not said to be used: it lets more through than the limit" {
  cli MSET spend:a -3.25 spend:b -500 left:a -3.25 >/dev/null
  printf '[library.spend]\nkey = "spend:*"\ntype = "string"\nvalue = "count"\nlimit = "100/30d"
[library.left]\nkey = "left:*"\ntype = "string"\nvalue = "remaining"\nlimit = "100/30d"\n' >"$RLCTL_CONFIG"
  local endless='no TTL, and only a TTL would end its window:'
  assert_equal "$(detail spend:a)" "$endless at -3.25, it allows 3.25 units more than its limit"
  assert_equal "$(detail spend:b)" "$endless at -500, it allows 500 units more than its limit"
  assert_equal "$(detail left:a)" "$endless 103.25 of 100 used, denied forever"
}

# budget KEY LIMIT COST ACTION ID [HOLD]: a call of the script by the caller's clock, so many seconds ago.
budget() {
  cli --eval "$project/lua/budget.lua" "$1" , "$2" 2592000000000 '' "$3" "$(($(date +%s) - $4))000000" "${@:5}" >/dev/null
}

@test "a budget without a TTL gets one that ends no earlier than its script relies on" {
  cli --eval "$project/lua/budget.lua" long , 10 86400000000 '' 1 '' reserve a 86400000000000 >/dev/null
  cli PERSIST long >/dev/null
  assert_equal "$(found)" 'no_ttl warning long'
  fix long
  run cli EVAL "
    local expires = struct.unpack('<I7', redis.call('HGET', KEYS[1], ''), 55)
    local now = redis.call('TIME')
    local ttl = redis.call('PTTL', KEYS[1]) * 1000
    return {ttl > 0 and 1 or 0, now[1] * 1000000 + now[2] + ttl - expires < 0 and 'early' or 'in time'}" 1 long
  assert_output $'1\nin time'
  assert_equal "$(found)" ''
}

@test "a budget whose holds lapse without a settle is found" {
  local i
  for i in 1 2 3; do
    budget leak 100 10 300 reserve "web:$i" 200000000
    budget full 31 10 300 reserve "web:$i" 200000000
  done
  budget leak 100 10 300 reserve paid 200000000
  budget leak 100 9 290 settle paid
  budget full 31 31 0 reserve now 200000000
  # A few may be those of callers that died, or be late.
  for i in {1..31}; do
    budget fine 1000 1 300 reserve "web:$i" 200000000
    ((i < 4)) || budget fine 1000 1 290 settle "web:$i"
  done
  run -2 rlctl audit
  assert_line --index 0 'critical  unsettled    full'
  assert_line --index 1 --regexp \
    '^ *3 of 3 reservations lapsed and were not settled: what they cost is not counted, and 31 held units deny requests now$'
  assert_line --index 2 --regexp \
    '^ *# settle or release each reservation, also after an error, and hold for long enough: rlctl .* inspect -- full$'
  assert_line --index 3 'warning   unsettled    leak'
  assert_line --index 4 --regexp '^ *3 of 4 reservations lapsed and were not settled: what they cost is not counted$'
  assert_line '1 critical finding, 1 warning in 3 limiter keys'
}

# reserved KEY NUMBER: this many reservations of one unit, for a day.
reserved() { seq -f "$1	1	id%g" "$2" | rlctl check -q --limit 1M/30d --hold 1d --batch; }

@test "a budget that holds 400 of the 500 reservations is a warning, and critical when it is full" {
  reserved few 399
  reserved many 400
  reserved full 500
  reserved settled 500
  for i in {1..101}; do echo "rlctl settle -q settled id$i 1"; done | bash
  run -2 rlctl audit
  assert_line --index 0 'critical  many_held    full'
  assert_line --index 1 --regexp \
    '^ *500 reservations are held: any other is denied until one of them ends, although 999500 units remain$'
  assert_line --index 2 --regexp \
    '^ *# settle or release reservations early, hold for a shorter time, or use several keys: rlctl .* inspect -- full$'
  assert_line --index 3 'warning   many_held    many'
  assert_line --index 4 --regexp '^ *400 reservations are held: at 500, any other is denied, whatever remains$'
  assert_line '1 critical finding, 1 warning in 4 limiter keys'
  # However few of them are listed.
  run -0 rlctl inspect full --entries 3
  assert_line 'held       500                    by 500 reservations: any other is denied'
}

@test "a key of each algorithm that lost its TTL is found, and the command fixes it" {
  local name
  for name in "${algorithms[@]}"; do
    rlctl check -q "$name" --limit 5/30d --algorithm "$name"
    cli PERSIST "$name" >/dev/null
  done
  run found
  assert_equal "$(sort <<<"$output")" "$(printf 'no_ttl warning %s\n' "${algorithms[@]}" | sort)"
  run rlctl audit
  assert_failure 1
  assert_line 'warning   no_ttl       gcra'
  assert_line '8 warnings in 8 limiter keys'
  for name in "${algorithms[@]}"; do fix "$name"; done
  # The logs do not store their window: nothing is removed that may still count.
  run found
  assert_equal "$(sort <<<"$output")" $'no_ttl warning sliding-window-log\nno_ttl warning sliding-window-zset'
  assert_equal "$(cli LLEN sliding-window-log)" 1
  {
    echo 'timeout = "120s"'
    printf '[policy.%s]\nkey = "sliding-window-%s"\nlimit = "5/30d"\nalgorithm = "sliding-window-%s"\n' \
      log log log zset zset zset
  } >"$RLCTL_CONFIG"
  for name in sliding-window-log sliding-window-zset; do fix "$name"; done
  run rlctl audit
  assert_success
}

@test "a key that expires while it counts is critical: status 2" {
  local name
  for name in fixed-window gcra leaky-bucket sliding-window-counter token-bucket; do
    rlctl check -q "$name" --limit 5/30d --cost 5 --algorithm "$name"
    cli PEXPIRE "$name" 600000 >/dev/null
  done
  run found
  assert_equal "${#lines[@]}" 5
  assert_line 'ttl_short critical gcra'
  run rlctl audit
  assert_failure 2
  for name in fixed-window gcra leaky-bucket sliding-window-counter token-bucket; do fix "$name"; done
  assert_equal "$(found)" ''
}

@test "a TTL of a thousand windows wastes memory" {
  rlctl check -q a --limit 5/30d --algorithm fixed-window
  cli EXPIRE a 6000000000 >/dev/null
  assert_equal "$(found)" 'ttl_long warning a'
  fix a
  assert_equal "$(found)" ''
}

@test "times that are hours ahead of the server's clock are critical" {
  local name later
  later=$(($(date +%s) + 86400))000000
  {
    echo 'timeout = "120s"'
    printf '[policy.log]\nkey = "sliding-window-log"\nlimit = "5/60s"\n'
  } >"$RLCTL_CONFIG"
  for name in "${algorithms[@]}"; do
    rlctl check -q "$name" --limit 5/60s --algorithm "$name" --now "$later"
  done
  run found
  assert_equal "$(grep future <<<"$output" | sort)" "$(printf 'future critical %s\n' "${algorithms[@]}" | sort)"
  for name in "${algorithms[@]}"; do fix "$name"; done
  assert_equal "$(found)" ''
}

@test "the distance of a time is that from the server's clock, although an arrival time may be ahead" {
  local later algorithm
  later=$(($(date +%s) + 864000))000000
  for algorithm in gcra leaky-bucket; do
    # Of 30 hours, ten are used: an arrival time that is ten hours later.
    rlctl check -q "$algorithm" --limit 30/30h --cost 10 --algorithm "$algorithm" --now "$later"
    run -2 rlctl audit "$algorithm"
    assert_line --regexp '^ +holds the time .*, (10d[89]h|10d10h)[0-9hms.]* ahead of the server: '
  done
}

@test "the TTL of a log is judged if a policy gives its window, and counted if not" {
  local name
  for name in sliding-window-log sliding-window-zset; do
    cli FLUSHALL >/dev/null
    rlctl check -q log:x --limit 5/1h --algorithm "$name"
    cli PEXPIRE log:x 600000 >/dev/null
    run -0 rlctl audit
    assert_output 'no findings in 1 limiter key; TTL not checked for 1 key: no policy defines its window'
    printf 'timeout = "120s"\n[policy.log]\nkey = "log:%%s"\nlimit = "5/1h"\nalgorithm = "%s"\n' "$name" \
      >"$BATS_TEST_TMPDIR/c.toml"
    run -2 rlctl --config "$BATS_TEST_TMPDIR/c.toml" audit
    assert_line --index 0 --regexp '^critical +ttl_short +log:x$'
    assert_line '1 critical finding in 1 limiter key'
  done
}

@test "a finding about a key that stores another limit than its policy says both" {
  rlctl check -q api:ann --limit 10/1d --algorithm gcra --cost 6
  cli PEXPIRE api:ann 600000 >/dev/null
  printf 'timeout = "120s"\n[policy.api]\nkey = "api:%%s"\nlimit = "1000/20s"\nalgorithm = "gcra"\n' \
    >"$BATS_TEST_TMPDIR/c.toml"
  run -2 rlctl --config "$BATS_TEST_TMPDIR/c.toml" audit --json
  assert_equal "$(gojq -c '[.finding, (.detail | endswith("; stored 10/1d, policy 1000/20s"))]' <<<"$output")" \
    '["ttl_short",true]'
}

@test "a large sorted set is told to be a list" {
  yes big | head -n 129 | rlctl check --batch -q --limit 1000/1h --algorithm sliding-window-zset >/dev/null
  yes small | head -n 128 | rlctl check --batch -q --limit 1000/1h --algorithm sliding-window-zset >/dev/null
  assert_equal "$(found)" 'zset_log warning big'
}

@test "a policy that may evict limiters is found, and critical once it has evicted keys" {
  cli CONFIG SET maxmemory 1gb >/dev/null
  assert_equal "$(found)" ''
  cli CONFIG SET maxmemory-policy volatile-lru >/dev/null
  assert_equal "$(rlctl audit --json | gojq -c '[.finding, .severity, .key]')" '["eviction","warning",null]'
  cli SET filler "$(head -c 100000 /dev/zero | tr '\0' x)" EX 1000 >/dev/null
  cli CONFIG SET maxmemory 1mb >/dev/null # less than an empty server takes
  run -0 cli INFO stats
  refute_line --regexp '^evicted_keys:0'
  assert_equal "$(rlctl audit --json | gojq -c '[.finding, .severity, .key]')" '["eviction","critical",null]'
}

@test "of many findings of a kind, as many are shown as --top says, and all are counted" {
  local i
  for i in {1..30}; do echo "k$i"; done | rlctl check --batch -q --limit 5/60s --algorithm gcra >/dev/null
  for i in {1..30}; do echo "PERSIST k$i"; done | cli >/dev/null
  run rlctl audit
  assert_line 'and 10 more with no_ttl; --top all shows them'
  assert_line '30 warnings in 30 limiter keys'
  assert_equal "$(rlctl audit --top 3 | grep -c '^warning')" 3
  assert_equal "$(rlctl audit --top all | grep -c '^warning')" 30
  assert_equal "$(found | wc -l)" 30
}

@test "a pattern chooses keys" {
  rlctl check -q a:1 --limit 5/60s --algorithm gcra
  rlctl check -q b:1 --limit 5/60s --algorithm gcra
  cli PERSIST a:1 >/dev/null
  cli PERSIST b:1 >/dev/null
  assert_equal "$(found 'b:*')" 'no_ttl warning b:1'
}

@test "keys with any bytes are escaped" {
  local key=$'it\'s\n\e[31m $x'
  rlctl check -q "$key" --limit 5/60s --algorithm gcra
  cli PERSIST "$key" >/dev/null
  run rlctl audit
  assert_line 'warning   no_ttl       it'"'"'s\n\x1b[31m\x20$x'
}

@test "in every shell, the commands fix what they name and do nothing else, whatever keys are called" {
  local key shell names later
  later=$(($(date +%s) + 86400))000000
  names=($'\n\';touch pwned #' $'\'\e;touch pwned;\'' $'\x01`touch pwned` $(touch pwned) \\' '=ls' '-n'
    $'it\'s\n\e[31m $x' $'\xff\';touch pwned #' $'\u2028\';touch pwned #' "';touch pwned;'")
  cd "$BATS_TEST_TMPDIR"
  for shell in $(scaled 'bash dash zsh' 'bash dash zsh ksh'); do
    cli FLUSHALL >/dev/null
    rlctl check -q victim --limit 5/60s --algorithm gcra
    # Keys with a NUL byte: redis-cli can fix the first; no command line of rlctl can name the second.
    rlctl check -q later --limit 5/60s --algorithm gcra --now "$later"
    cli EVAL 'redis.call("RESTORE", "victim\0kept", 0, redis.call("DUMP", KEYS[1]))
      redis.call("RESTORE", "victim\0evil", redis.call("PTTL", KEYS[2]), redis.call("DUMP", KEYS[2]))
      redis.call("DEL", KEYS[2])' 2 victim later >/dev/null
    for key in "${names[@]}"; do
      rlctl check -q --limit 5/60s --algorithm gcra -- "$key"
      rlctl check -q --limit 5/60s --algorithm gcra --now "$later" -- "=$key"
    done
    cli EVAL 'for _, key in ipairs(KEYS) do redis.call("PERSIST", key) end' "${#names[@]}" "${names[@]}" >/dev/null
    # There are findings: WARNING or CRITICAL.
    run --separate-stderr rlctl audit --json --top all
    ((status == 1 || status == 2)) || fail "status $status: $stderr"
    gojq -r .fix <<<"$output" >fixes
    assert_equal "$(wc -l <fixes)" $((2 * ${#names[@]} + 2))
    run -0 "$shell" <fixes
    # What not every shell reads is a comment, and says which shells do.
    sed -n 's/^# in bash, ksh or zsh: //p' fixes >fixes_with_escapes
    run -0 "${shell/dash/bash}" <fixes_with_escapes
    [[ ! -e pwned ]] || fail "run by $shell: $(<fixes)"
    assert_equal "$(found | tr '\0' .)" 'future critical victim.evil'
    assert_equal "$(cli EXISTS victim)" 1
    assert_equal "$(cli DBSIZE)" $((${#names[@]} + 3))
  done
}

@test "audit writes nothing, and calls no script and no KEYS" {
  rlctl check -q a --limit 5/60s
  cli CONFIG RESETSTAT >/dev/null
  rlctl audit >/dev/null
  run cli INFO commandstats
  refute_output --regexp 'cmdstat_(keys|eval|evalsha|evalsha_ro|set|del|unlink|expire|pexpire)'
}

@test "without a server, for a wrong option and for a user who may not, the status is 3: UNKNOWN" {
  run --separate-stderr rlctl -u "unix:$BATS_TEST_TMPDIR/none" audit
  assert_failure 3
  run --separate-stderr rlctl audit --top 0
  assert_failure 3
  run --separate-stderr rlctl audit a b
  assert_failure 3
  rlctl check -q a --limit 5/60s
  cli ACL SETUSER blind on '>secret' '~b' +@read +scan +time +@connection >/dev/null
  REDISCLI_AUTH=secret run --separate-stderr rlctl --user blind audit
  assert_failure 3
  cli ACL DELUSER blind >/dev/null
}

@test "other libraries' counters without a TTL lock users out: critical, with how to let them in" {
  cli SET rlflx:bob 9 >/dev/null
  cli SET LIMITS:LIMITER/eve/5/1/minute 5 >/dev/null
  cli SET page:views 12 EX 60 >/dev/null
  cli RPUSH token_bucket:ann t t t >/dev/null # the tokens of an article's bucket never expire
  run found
  assert_equal "$(sort <<<"$output")" 'no_ttl critical LIMITS:LIMITER/eve/5/1/minute
no_ttl critical rlflx:bob'
  assert_equal "$(rlctl audit --json 'LIMITS:*' | gojq -r .detail)" \
    'no TTL, and only a TTL would end its window: 5 of 5 used, denied forever'
  fix LIMITS:LIMITER/eve/5/1/minute
  fix rlflx:bob
  assert_equal "$(found)" ''
}

@test "a bucket in debt has negative tokens" {
  cli HSET @upstash/ratelimit:ann refilledAt "$(date +%s)000" tokens -7 >/dev/null
  cli EXPIRE @upstash/ratelimit:ann 60 >/dev/null
  assert_equal "$(found)" 'negative warning @upstash/ratelimit:ann'
  fix @upstash/ratelimit:ann
  assert_equal "$(found)" ''
}

@test "what looks like a count or a window and has no TTL is a warning, and nothing is told to remove it" {
  local now
  now=$(date +%s)
  cli SET rate:login:ann 5 >/dev/null
  cli SET hits -1 >/dev/null
  cli ZADD swrl:ann "${now}123" a >/dev/null
  cli ZADD seconds "$now" a >/dev/null
  cli ZADD microseconds "${now}123456" a >/dev/null
  # A time of today, scores that are no times, times that lie ahead, and jobs.
  cli SET started "$now" >/dev/null
  cli ZADD board 4711 ann >/dev/null
  cli ZADD ahead $((now + 600)) a >/dev/null
  cli ZADD jobs "$now" '{"class":"Job"}' >/dev/null
  assert_equal "$(found | sort | paste -sd ,)" "no_ttl warning hits,no_ttl warning microseconds,no_ttl warning \
rate:login:ann,no_ttl warning seconds,no_ttl warning swrl:ann"
  assert_equal "$(rlctl audit --json rate:login:ann | gojq -r .fix)" "rlctl --url unix://$socket inspect -- rate:login:ann"
  # With a row, or --read-as, it is known.
  assert_equal "$(rlctl audit --read-as count --json hits | gojq -r .severity)" critical
}

@test "buckets with a burst of hours, and with any number of units, are healthy" {
  rlctl check -q --limit 1/1s --burst 10000 --algorithm token-bucket --cost 10000 a
  rlctl check -q --limit 1/1s --burst 10000 --algorithm gcra --cost 10000 b
  rlctl check -q --limit 90000000/2m --algorithm gcra --cost 90000000 c
  rlctl check -q --limit 3000000/10s --burst 1000000000 --algorithm gcra --cost 1000000000 d
  rlctl check -q --limit 7/1h --burst 70 --algorithm leaky-bucket --cost 70 e
  assert_equal "$(found)" ''
}

@test "another algorithm's limit of a policy does not end the audit" {
  cli SET rate:ann "$(($(date +%s) - 1483228800 + 50)).5" EX 51 >/dev/null
  cat >"$BATS_TEST_TMPDIR/c.toml" <<'END'
timeout = "120s"
[policy.rate]
key = "rate:%s"
limit = "1000000000/1d"
algorithm = "fixed-window"
END
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" audit
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" list
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c.toml" inspect rate:ann
}

@test "a caller's clock that is a few seconds ahead is no finding" {
  cli RPUSH LIMITS:LIMITER/ann/5/1/minute "$(($(date +%s) + 3)).0" >/dev/null
  cli EXPIRE LIMITS:LIMITER/ann/5/1/minute 60 >/dev/null
  assert_equal "$(found)" ''
}

@test "commands name the server and the database" {
  rlctl check -q -n 3 k --limit 5/60s --algorithm gcra
  cli -n 3 PERSIST k >/dev/null
  run -1 rlctl -n 3 audit --json
  assert_equal "$(gojq -r .fix <<<"$output")" "redis-cli -s $socket -n 3 PEXPIRE k 60000"
  cli -n 3 FLUSHDB >/dev/null
}

@test "what the user may not see is UNKNOWN, not OK" {
  rlctl check -q a --limit 5/60s --algorithm gcra
  rlctl check -q b --limit 5/60s --algorithm gcra
  cli ACL SETUSER some on '>secret' '~a' +@read +scan +time +@connection +info +cluster >/dev/null
  cli ACL SETUSER noinfo on '>secret' '~*' +@read +scan +time +@connection +cluster >/dev/null
  REDISCLI_AUTH=secret run --separate-stderr rlctl --user some audit
  assert_failure 3
  assert_output 'no findings in 1 limiter key'
  assert_equal "$stderr" 'rlctl: audit: warning: not audited: 1 key that this user may not read'
  REDISCLI_AUTH=secret run --separate-stderr rlctl --user noinfo audit
  assert_failure 3
  assert_equal "$stderr" 'rlctl: audit: warning: eviction is not checked: the user needs +info'
  REDISCLI_AUTH=secret run -0 rlctl --user some audit a
  cli PERSIST a >/dev/null
  REDISCLI_AUTH=secret run -1 rlctl --user some audit
  cli ACL DELUSER some noinfo >/dev/null
}

@test "a part of another key's state is not a limiter of its own" {
  cli SET 'rl:tb:{ann}' 0 PX 45000 >/dev/null
  cli SET 'rl:tb:{ann}:ts' "$(date +%s)123" PX 45000 >/dev/null
  run rlctl audit
  assert_output --partial ' in 1 limiter key, 1 other key'
}

@test "a log whose name has its window is checked, too" {
  rlctl check -q '{m}' --limit 5/1h --limit 9/1d --cost 5
  cli EXPIRE '{m}:3600s' 600 >/dev/null
  assert_equal "$(found)" 'ttl_short critical {m}:3600s'
}

@test "of a key whose time lies in the future, no TTL is advised" {
  local algorithm
  for algorithm in gcra leaky-bucket token-bucket sliding-window-log; do
    cli FLUSHALL >/dev/null
    rlctl check -q k --limit 5/60s --algorithm "$algorithm" --now "$(($(date +%s%6N) + 86400000000))"
    run -2 rlctl audit
    assert_output --partial 'future'
    refute_output --partial 'ttl_'
    refute_output --partial 'PEXPIRE'
  done
}

@test "times ahead of a server whose clock is behind are no reason to reset anything" {
  load ../../support/faults
  preload
  # In place: the server reads the file at any time.
  set_clock() { perl -e 'print pack "q", shift' -- "$1" 1<>"$clock"; }
  start_server_with_clock
  rlctl check -q gcra --limit 5/60s --algorithm gcra
  rlctl check -q window --limit 5/60s --algorithm fixed-window
  set_clock -7200
  run -2 rlctl audit --json
  assert_equal "$(gojq -r '[.finding, .fix] | join(" ")' <<<"$output" | sort -u)" \
    'future # set the clocks of the server and of this machine right, then look again'
  assert_regex "$output" 'whose clock is [12]h[0-9]+m[0-9]+s behind the one of this machine'
  run -1 rlctl doctor
  assert_line --regexp '^warning +clock +7[12][0-9]+.* behind .*: if it was set back, limiters deny for longer'
  set_clock 7200
  run -1 rlctl doctor
  assert_line --regexp '^warning +clock .* ahead of .*: if it is set back, limiters deny'
  set_clock 0
  run -0 rlctl audit
}
