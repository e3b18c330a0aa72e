# needs: server
load ../../support/common

# What `rlctl audit` tells to type fixes what it has found; and findings about times that lie behind or ahead. audit.t
# has what it says.

# Windows of 30 days: a fixed window must not end during a test.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/rlctl.toml
  echo 'timeout = "120s"' >"$RLCTL_CONFIG"
}

algorithms=(budget fixed-window gcra leaky-bucket sliding-window-counter sliding-window-log sliding-window-zset
  token-bucket)

# found: each finding as FINDING SEVERITY KEY, sorted.
found() { rlctl audit --json --top all | gojq -r '[.finding, .severity, .key] | join(" ")' | LC_ALL=C sort; }
# Runs what the findings say; about another program's keys, what to find out about.
fix() {
  rlctl audit --json --top all | gojq -r .fix | sed 's/^# another program keeps it, [^:]*: //' | bash >/dev/null
}

@test "a TTL that is missing, short or long, and times ahead, in each algorithm; the commands fix them" {
  local name later known=(fixed-window gcra leaky-bucket sliding-window-counter token-bucket)
  later=$(($(date +%s) + 86400))000000
  printf '[policy.ahead]\nkey = "ahead:sliding-window-log"\nlimit = "5/60s"\n' >>"$RLCTL_CONFIG"
  for name in "${algorithms[@]}"; do
    rlctl check -q "endless:$name" --limit 5/30d --algorithm "$name"
    rlctl check -q "ahead:$name" --limit 5/60s --algorithm "$name" --now "$later"
  done
  for name in "${known[@]}"; do
    rlctl check -q "short:$name" --limit 5/30d --cost 5 --algorithm "$name"
  done
  rlctl check -q long --limit 5/30d --algorithm fixed-window
  cli >/dev/null <<END
$(printf 'PERSIST endless:%s\n' "${algorithms[@]}")
$(printf 'PEXPIRE short:%s 600000\n' "${known[@]}")
EXPIRE long 6000000000
MSET rlflx:bob 9 LIMITS:LIMITER/eve/5/1/minute 5
HSET @upstash/ratelimit:ann refilledAt $(date +%s)000 tokens -7
EXPIRE @upstash/ratelimit:ann 60
END
  # No TTL is advised for a key whose time lies in the future.
  assert_equal "$(found)" "$(printf 'future critical ahead:%s\n' "${algorithms[@]}"
    echo 'negative warning @upstash/ratelimit:ann
no_ttl critical LIMITS:LIMITER/eve/5/1/minute
no_ttl critical rlflx:bob'
    printf 'no_ttl warning endless:%s\n' "${algorithms[@]}"
    echo 'ttl_long warning long'
    printf 'ttl_short critical short:%s\n' "${known[@]}")"
  fix
  # The logs do not store their window: nothing is removed that may still count.
  assert_equal "$(found)" $'no_ttl warning endless:sliding-window-log\nno_ttl warning endless:sliding-window-zset'
  assert_equal "$(cli LLEN endless:sliding-window-log)" 1
  printf '[policy.%s]\nkey = "endless:sliding-window-%s"\nlimit = "5/30d"\nalgorithm = "sliding-window-%s"\n' \
    log log log zset zset zset >>"$RLCTL_CONFIG"
  fix
  run -0 rlctl audit
}

@test "a budget without a TTL gets one that ends no earlier than its script relies on" {
  cli --eval "$project/lua/budget.lua" long , 10 86400000000 '' 1 '' reserve a 86400000000000 >/dev/null
  cli PERSIST long >/dev/null
  fix
  run cli EVAL "
    local expires = struct.unpack('<I7', redis.call('HGET', KEYS[1], ''), 55)
    local now = redis.call('TIME')
    local ttl = redis.call('PTTL', KEYS[1]) * 1000
    return {ttl > 0 and 1 or 0, now[1] * 1000000 + now[2] + ttl - expires < 0 and 'early' or 'in time'}" 1 long
  assert_output $'1\nin time'
  assert_equal "$(found)" ''
}

# budget KEY LIMIT COST SECONDS ACTION ID [HOLD]: a line for redis-cli that calls the script as long ago by its caller's
# clock.
budget() { echo "EVALSHA $sha1 1 $1 $2 2592000000000 '' $3 $((now - $4))000000 ${*:5}"; }

@test "a budget whose holds lapse without a settle, or that holds 400 of the 500 reservations, is found" {
  local i now sha1
  now=$(date +%s)
  sha1=$(rlctl scripts load budget | grep -o 'sha1=[0-9a-f]*')
  sha1=${sha1#*=}
  for i in few:399 many:400 full:500 settled:500; do
    seq -f "${i%:*}	1	id%g" "${i#*:}" | rlctl check -q --limit 1M/30d --hold 1d --batch
  done
  {
    for i in 1 2 3; do
      budget leak 100 10 300 reserve "web:$i" 200000000
      budget late 31 10 300 reserve "web:$i" 200000000
    done
    budget leak 100 10 300 reserve paid 200000000
    budget leak 100 9 290 settle paid
    budget late 31 31 0 reserve now 200000000
    # A few may be those of callers that died, or be late.
    for i in {1..31}; do
      budget fine 1000 1 300 reserve "web:$i" 200000000
      ((i < 4)) || budget fine 1000 1 290 settle "web:$i"
    done
    for i in {1..101}; do budget settled 1000000 1 0 settle "id$i"; done
  } | cli >/dev/null
  run -2 rlctl audit
  assert_equal "$(grep --no-group-separator -A1 '^[a-z0-9]' <<<"$output" | tr -s ' ')" 'critical unsettled late
 3 of 3 reservations lapsed and were not settled: what they cost is not counted, and 31 held units deny requests now
critical many_held full
 500 reservations are held: any other is denied until one of them ends, although 999500 units remain
warning unsettled leak
 3 of 4 reservations lapsed and were not settled: what they cost is not counted
warning many_held many
 400 reservations are held: at 500, any other is denied, whatever remains
2 critical findings, 2 warnings in 7 limiter keys'
  assert_line --partial "# settle or release each reservation, also after an error, and hold for long enough: rlctl --url unix://$socket inspect -- late"
  assert_line --partial "# settle or release reservations early, hold for a shorter time, or use several keys: rlctl --url unix://$socket inspect -- full"
  # However few of them are listed.
  run -0 rlctl inspect full --entries 3
  assert_line 'held       500                    by 500 reservations: any other is denied'
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

@test "in every shell, the commands fix what they name and do nothing else, whatever keys are called" {
  local shell names later
  later=$(($(date +%s) + 86400))000000
  names=($'\n\';touch pwned #' $'\'\e;touch pwned;\'' $'\x01`touch pwned` $(touch pwned) \\' '=ls' '-n'
    $'it\'s\n\e[31m $x' $'\xff\';touch pwned #' $'\u2028\';touch pwned #' "';touch pwned;'")
  cd "$BATS_TEST_TMPDIR"
  for shell in $(scaled 'bash dash zsh' 'bash dash zsh ksh'); do
    cli FLUSHALL >/dev/null
    rlctl check -q victim --limit 5/60s --algorithm gcra
    rlctl check -q later --limit 5/60s --algorithm gcra --now "$later"
    # Keys with a NUL byte: redis-cli can fix the first; no command line of rlctl can name the second.
    cli EVAL 'local endless, later = redis.call("DUMP", "victim"), redis.call("DUMP", "later")
      local ttl = redis.call("PTTL", "later")
      redis.call("RENAME", "later", "victim\0evil")
      redis.call("RESTORE", "victim\0kept", 0, endless)
      for _, name in ipairs(ARGV) do
        redis.call("RESTORE", name, 0, endless)
        redis.call("RESTORE", "=" .. name, ttl, later)
      end' 0 "${names[@]}" >/dev/null
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
