# needs: server
load ../../support/common

# What `rlctl list` finds, and in which order it prints it.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

algorithms=(budget fixed-window gcra leaky-bucket sliding-window-counter sliding-window-log sliding-window-zset
  token-bucket)

# use KEY UNITS [ALGORITHM]: takes units of 10 a day, or of a window so long that it does not end during a test.
use() {
  local limit=10/1d
  case ${3-} in budget | fixed-window | sliding-window-counter) limit=10/1000d ;; esac
  rlctl check -q "$1" --limit "$limit" --algorithm "${3:-gcra}" --cost "$2"
}
# keys [OPTION…]: the listed keys, on one line.
keys() { rlctl list --json "$@" | gojq -r .key | paste -sd ' '; }

@test "keys of all algorithms are listed with the figures of inspect" {
  local name figures='[.key, .library, .algorithm, .used, .limit, .window_us, .remaining, .bytes]'
  for name in "${algorithms[@]}"; do use "$name" 3 "$name"; done
  assert_equal "$(keys --sort key)" "${algorithms[*]}"
  assert_equal "$(rlctl list --sort key --json | gojq -c "$figures")" \
    "$(rlctl inspect "${algorithms[@]}" --json | gojq -c "$figures")"
}

@test "what a budget holds is used until the holds end" {
  local at=0
  reserve() { cli --eval "$project/lua/budget.lua" "$1" , 10 86400000000000 '' "$2" '' reserve "$3" "$4" >/dev/null; }
  use roomy 2 budget
  reserve roomy 3 a 3600000000
  reserve full 6 a 3600000000
  reserve full 4 b 7200000000
  reserve lapsed 6 a 1000
  reserve lapsed 4 b 7200000000
  until ((at > 1)); do at=$(rlctl list lapsed --json | gojq '.remaining'); done
  assert_equal "$(rlctl list --sort key --json | gojq -c '[.key, .used, .remaining, .ratio]')" '["full",10,0,1]
["lapsed",4,6,0.4]
["roomy",5,5,0.5]'
  # Until the first hold ends.
  assert_equal "$(rlctl list full --json | gojq '.next_free_us / 60e6 | ceil')" 60
}

@test "text has a line for each key, then sums by algorithm; what is no limiter's is counted on stderr" {
  use a 9
  use b 10 fixed-window
  cli SET session:1 x >/dev/null
  cli SET hits 12 >/dev/null
  run --separate-stderr rlctl list --sort key
  assert_success
  assert_line --index 0 --regexp '^ *used +of +full +next free +empty in +ttl +bytes +algorithm +key$'
  assert_line --index 1 --regexp '^ *9 +10/1d +90% +now .* gcra +a$'
  assert_line --index 2 --regexp '^ *10 +10/1000d +100% .* fixed-window +b$'
  assert_line --index 3 --regexp '^ +keys +full +no ttl +bytes$'
  assert_line --regexp '^fixed-window +1 +1 +0 '
  assert_line --regexp '^all +2 +1 +0 '
  assert_equal "$stderr" "not listed: 1 key that may be a limiter's (--all lists them), 1 key of other programs"
}

@test "an empty database has nothing to list: status 1" {
  run --separate-stderr rlctl list
  assert_failure 1
  assert_output ''
  assert_equal "$stderr" 'no limiters found'
  run --separate-stderr rlctl list 'login:*'
  assert_failure 1
  assert_output ''
  assert_equal "${stderr_lines[0]}" 'no limiter matches'
  run --separate-stderr rlctl list --json
  assert_failure 1
  assert_output ''
  assert_equal "$stderr" ''
}

@test "a pattern, --above and --algorithm choose keys" {
  use login:ann 8
  use login:bob 9
  use api:acme 10 fixed-window
  assert_equal "$(keys 'login:*' --sort key)" 'login:ann login:bob'
  assert_equal "$(keys --above 80% --sort key)" 'api:acme login:ann login:bob'
  assert_equal "$(keys --above 80.1% --sort key)" 'api:acme login:bob'
  assert_equal "$(keys --algorithm fixed-window)" api:acme
  run --separate-stderr rlctl list --above 101%
  assert_failure 1
  assert_equal "$stderr" 'no limiter matches'
}

# share USED LIMIT: adds a key of which this much is used.
share() { rlctl check -q "share:$1:$2" --limit "$2/1d" --algorithm fixed-window --cost "$1"; }

@test "--above lists who has at least this share: whoever is full with 100%, and whoever is exactly at it" {
  local row used limit percent name
  for row in '1 8 12.5' '1 3 33.333' '333 1000 33.3' '29 100 29' '4 5 80' '57 100 57' '99 100 99' '7 7 100'; do
    read -r used limit percent <<<"$row"
    name=share:$used:$limit
    share "$used" "$limit"
    [[ $(keys --above "$percent%" "$name") == "$name" ]] || fail "$row"
    [[ $(keys --above "$(gojq -n "$percent + 0.01")%" "$name") == '' ]] || fail "$row, above it"
  done
  for name in fixed-window sliding-window-zset token-bucket gcra leaky-bucket budget; do
    rlctl check -q "full:$name" --limit 2/1d --algorithm "$name" --cost 2
  done
  rlctl check -q full:leaky-bucket --limit 2/1d --algorithm leaky-bucket
  assert_equal "$(keys --above 100% 'full:*' --limit 2/1d --sort key)" \
    'full:budget full:fixed-window full:gcra full:leaky-bucket full:sliding-window-zset full:token-bucket'
}

@test "--sort and --top order keys: the largest first, but names from the first to the last" {
  use a 5
  use b 7
  rlctl check -q c --limit 100/1d --cost 9 --algorithm gcra
  use d 1 fixed-window
  cli PERSIST d >/dev/null
  assert_equal "$(keys --sort key)" 'a b c d'
  assert_equal "$(keys --sort used)" 'c b a d'
  assert_equal "$(keys --sort ratio)" 'b a d c'
  assert_equal "$(keys --sort ttl --top 2)" 'd b'
  assert_equal "$(keys --top 2)" 'b a'
  assert_equal "$(keys --top 100)" 'b a d c'
}

@test "a log's limit comes from --limit, else from its policy" {
  use login:ann 4 sliding-window-log
  use other 4 sliding-window-log
  assert_equal "$(rlctl list --json --sort key | gojq -c '[.key, .limit, .ratio, .policy]' | paste -sd ' ')" \
    '["login:ann",null,null,null] ["other",null,null,null]'
  cat >"$BATS_TEST_TMPDIR/config.toml" <<'TOML'
timeout = "120s"
[policy.login]
key = "login:%s"
algorithm = "sliding-window-log"
limit = "8/1d"
TOML
  run rlctl --config "$BATS_TEST_TMPDIR/config.toml" list --limit 5/1d --json --sort key
  assert_success
  assert_equal "$(gojq -c '[.key, .limit, .ratio, .policy]' <<<"$output" | paste -sd ' ')" \
    '["login:ann",5,0.8,"login"] ["other",5,0.8,null]'
  assert_equal "$(rlctl --config "$BATS_TEST_TMPDIR/config.toml" list 'login:*' --json | gojq .limit)" 8
  assert_equal "$(rlctl --config "$BATS_TEST_TMPDIR/config.toml" list --policy login --json | gojq -r .key)" login:ann
  run rlctl --config "$BATS_TEST_TMPDIR/config.toml" list --totals
  assert_line --regexp '^policy login +1 +0 +0 '
}

@test "--limit judges keys that store another limit, and says so" {
  use a 6
  rlctl check -q b --limit 100/1d --algorithm token-bucket --cost 4
  run -0 --separate-stderr rlctl list --limit 6/1d --above 100%
  assert_line --index 1 --regexp '^ *6 +6/1d +100% .* gcra +a$'
  refute_output --regexp ' b$'
  assert_equal "$stderr" 'keys are judged by --limit 6/1d, not by the limits that they store'
  assert_equal "$(rlctl list --limit 6/1d --sort key --json | gojq -c '[.key, .used, .limit, .remaining, .limits_differ]')" \
    '["a",6,6,0,"stored 10/1d, --limit 6/1d"]
["b",4,6,2,"stored 100/1d, --limit 6/1d"]'
  run -1 --separate-stderr rlctl list b --limit 6/1d --above 100%
  assert_equal "${stderr_lines[0]}" \
    'no limiter matches; keys are judged by --limit 6/1d, not by the limits that they store'
}

@test "only keys that --algorithm does not leave out are said to store another limit" {
  use a 6
  use b 6 fixed-window
  run -1 --separate-stderr rlctl list --limit 6/1d --algorithm leaky-bucket
  refute_output --partial judged
  assert_equal "${stderr_lines[0]}" 'no limiter matches'
  run -0 --separate-stderr rlctl list --limit 6/1d --algorithm gcra
  assert_equal "$stderr" 'keys are judged by --limit 6/1d, not by the limits that they store'
}

@test "a key that stores another limit than its policy is judged by the stored one, and counted" {
  use api:ann 6
  printf 'timeout = "120s"\n[policy.api]\nkey = "api:%%s"\nlimit = "1000/1d"\nalgorithm = "gcra"\n' \
    >"$BATS_TEST_TMPDIR/config.toml"
  run -0 --separate-stderr rlctl --config "$BATS_TEST_TMPDIR/config.toml" list
  assert_line --index 1 --regexp '^ *6 +10/1d +60% '
  assert_equal "$stderr" '1 key stores another limit than its policy: stored 10/1d, policy 1000/1d'
  use api:bob 7
  run -0 --separate-stderr rlctl --config "$BATS_TEST_TMPDIR/config.toml" list --top 2
  assert_equal "$stderr" '2 keys store another limit than their policy, such as: stored 10/1d, policy 1000/1d'
  # A key that is not listed does not count.
  run -0 --separate-stderr rlctl --config "$BATS_TEST_TMPDIR/config.toml" list --top 1
  assert_equal "$stderr" '1 key stores another limit than its policy: stored 10/1d, policy 1000/1d'
}

@test "--above counts what it cannot judge; --limit is not for keys whose name has another window" {
  use a 9
  use log 5 sliding-window-log
  rlctl check -q '{m}' --limit 5/60s --limit 9/1d
  run --separate-stderr rlctl list --above 80%
  assert_line --index 1 --regexp ' a$'
  assert_equal "$stderr" 'not listed: 3 keys whose limit is not known (pass --limit or define a policy)'
  assert_equal "$(rlctl list --limit 5/60s --json '{m}*' --sort key | gojq -c '[.limit, .window_us]' | paste -sd ' ')" \
    '[5,60000000] [null,86400000000]'
  run rlctl list '{m}*'
  assert_line --regexp ' [?]/~1d '
}

@test "keys to which --limit does not apply are said to be so, and not to store no limit" {
  use a 9
  use fixed 5 fixed-window
  rlctl check -q '{m}' --limit 5/60s --limit 9/1d
  run -0 --separate-stderr rlctl list --limit 5/month --above 80%
  assert_line --index 1 --regexp ' 5/month@UTC +100% .* fixed$'
  assert_equal "${stderr_lines[0]}" \
    'not listed: 3 keys (--limit 5/month@UTC does not apply to them)'
  run -0 --separate-stderr rlctl list --limit 5/60s '{m}*'
  assert_equal "$stderr" '--limit 5/60s does not apply to 1 key'
}

@test "sums are not known where a part is not" {
  use a 3
  cli ACL SETUSER viewer on '>secret' '~*' +@read +@connection +time +scan -memory >/dev/null
  REDISCLI_AUTH=secret run -0 rlctl --user viewer list --totals --json
  assert_equal "$(gojq -c '[.keys, .bytes]' <<<"$output")" '[1,null]'
  cli ACL DELUSER viewer >/dev/null
}

@test "--totals prints sums and no keys" {
  use a 1
  use b 10
  use c 1 fixed-window
  run rlctl list --totals
  assert_success
  assert_equal "${#lines[@]}" 4
  assert_equal "$(rlctl list --totals --json | gojq -c '[.algorithm, .keys, .full, .no_ttl]' | paste -sd ' ')" \
    '["fixed-window",1,0,0] ["gcra",2,1,0]'
}

@test "keys that only look like a limiter's are listed with --all, without a use; --read-as tells what they hold" {
  cli SET hits 12 >/dev/null
  run --separate-stderr rlctl list
  assert_failure 1
  assert_equal "$(rlctl list --all --json | gojq -c '[.key, .library, .used, .ratio]')" '["hits",null,null,null]'
  assert_equal "$(rlctl list --read-as count --limit 24/60s --json | gojq -c '[.key, .used, .ratio]')" '["hits",12,0.5]'
}

@test "columns are as wide as what they hold, for the numbers of other programs too" {
  cli SET clock 170000000000000 EX 100 >/dev/null
  use a 3
  run --separate-stderr rlctl list --read-as count --sort key
  assert_success
  local column=${lines[0]%%used*}used
  assert_equal "${lines[1]:0:${#column}}" '              3'
  assert_equal "${lines[2]:0:${#column}}" 170000000000000
}

@test "on a terminal a dot stands for no keys in the sums" {
  needs_terminal
  use a 1
  run -0 at_terminal '' 'TERM=xterm LC_ALL=C rlctl list --totals'
  assert_regex "$(<"$BATS_TEST_TMPDIR/screen")" $'gcra +1 +\e\\[[0-9;]*m\\.\e'
}

@test "keys with control bytes are escaped, and a key that is not UTF-8 has its base64" {
  use $'a\e[31m\n' 1
  use $'\xff' 1
  run rlctl list --sort key
  assert_success
  assert_line --partial 'a\x1b[31m\n'
  assert_equal "$(rlctl list --json | gojq -r 'select(.key_base64) | .key_base64')" /w==
}

@test "list calls no command that writes, no KEYS and no script" {
  use a 3
  use b 3 sliding-window-log
  use c 3 sliding-window-zset
  cli CONFIG RESETSTAT >/dev/null
  rlctl list --limit 10/1d >/dev/null
  run cli INFO commandstats
  refute_output --regexp 'cmdstat_(keys|eval|evalsha|evalsha_ro|set|del|unlink|expire|pexpire)'
  assert_output --partial cmdstat_scan
}

@test "a user who may only read some keys lists those; one who may read none is refused" {
  use login:ann 3
  use api:acme 3
  cli ACL SETUSER viewer on '>secret' '~login:*' +@read +@connection +time +scan >/dev/null
  cli ACL SETUSER blind on '>secret' '~other:*' +@read +@connection +time +scan >/dev/null
  REDISCLI_AUTH=secret run --separate-stderr rlctl --user viewer list --json
  assert_success
  assert_equal "$(gojq -r .key <<<"$output")" login:ann
  assert_equal "$stderr" 'not listed: 1 key that this user may not read'
  REDISCLI_AUTH=secret run --separate-stderr rlctl --user viewer list
  assert_equal "$stderr" 'not listed: 1 key that this user may not read'
  # What it may read was looked at, although --above 101% lists none of it.
  REDISCLI_AUTH=secret run -1 --separate-stderr rlctl --user viewer list --above 101%
  REDISCLI_AUTH=secret run --separate-stderr rlctl --user blind list
  assert_failure 4
  cli ACL DELUSER viewer blind >/dev/null
}

@test "inspect - reads the keys that list found" {
  use a 10
  use b 1
  assert_equal "$(rlctl list --above 80% --json | gojq -r .key | rlctl inspect --json - | gojq -c '[.key, .used]')" '["a",10]'
}

@test "inspect --match shows each limiter that matches, and nothing else" {
  use login:ann 1
  use login:bob 2
  cli SET login:x 'no limiter' >/dev/null
  cli SET rlflx:login:eve 3 EX 60 >/dev/null
  use other 3
  assert_equal "$(rlctl inspect --match '*login:*' --json | gojq -c '[.key, .used]' | paste -sd ' ')" \
    '["login:ann",1] ["login:bob",2] ["rlflx:login:eve",3]'
  run --separate-stderr rlctl inspect --match 'nobody:*'
  assert_failure 1
  run --separate-stderr rlctl inspect --match 'login:*' login:ann
  assert_failure 2
}

@test "inspect --match and reset --match pass over keys that the user may not read, and say so" {
  use a:1 1
  use b:1 1
  cli ACL SETUSER some on '>secret' '~a:*' '+@all' >/dev/null
  cli ACL SETUSER none on '>secret' '~c:*' '+@all' >/dev/null
  export REDISCLI_AUTH=secret
  run -0 --separate-stderr rlctl --user some inspect --match '*' --json
  assert_equal "$(gojq -r .key <<<"$output")" a:1
  assert_equal "$stderr" 'rlctl: inspect: warning: not shown: 1 key that this user may not read'
  run -4 rlctl --user none inspect --match '*'
  run -0 --separate-stderr rlctl --user some reset --match '*' --dry-run
  assert_output --partial 'key=a:1'
  assert_equal "$stderr" 'would remove 1 key (1 gcra); left 1 key that this user may not read'
  run -4 rlctl --user none reset --match '*' --yes
  run -0 rlctl --user some reset --match '*' --yes
  unset REDISCLI_AUTH
  cli ACL DELUSER some none >/dev/null
  assert_equal "$(cli KEYS '*')" b:1
}

@test "keys that store no limit, and a pattern that matches only one key, are said to be so" {
  use log 5 sliding-window-log
  run -0 --separate-stderr rlctl list
  assert_equal "$stderr" '1 key does not store its limit; pass --limit or define a policy'
  run -1 --separate-stderr rlctl list lo
  assert_equal "${stderr_lines[0]}" 'no limiter matches'
  assert_equal "${stderr_lines[1]}" "  hint: the pattern has no * ? or [ and matches only one key; was it quoted? 'lo*' matches all keys that begin so, '{lo}:*' those of several limits"
}

@test "inspect --match prints each limiter as it is read, and stops if nobody reads on" {
  seq -f 'k%.0f' 3000 | rlctl check --batch -q --limit 5/1h --algorithm gcra >/dev/null
  cli CONFIG RESETSTAT >/dev/null
  rlctl inspect --match '*' --json | head -n 1 >/dev/null
  (($(calls exec) < 3000)) || fail 'all keys were read'
}

@test "other libraries' keys are listed under their names" {
  local now
  now=$(date +%s)
  cli SET LIMITS:LIMITER/ann/5/1/minute 4 EX 50 >/dev/null
  cli RPUSH LIMITS:LIMITER/bob/3/1/day "$now.5" "$((now - 10)).25" "$((now - 90000)).0" >/dev/null
  cli EXPIRE LIMITS:LIMITER/bob/3/1/day 86400 >/dev/null
  cli HSET @upstash/ratelimit:eve refilledAt "${now}000" tokens 2 >/dev/null
  assert_equal "$(rlctl list --json --sort key | gojq -c '[.key, .library, .algorithm, .used, .limit]')" \
    '["@upstash/ratelimit:eve","upstash","token-bucket",null,null]
["LIMITS:LIMITER/ann/5/1/minute","limits","fixed-window",4,5]
["LIMITS:LIMITER/bob/3/1/day","limits","sliding-window-log",2,3]'
  run rlctl list --totals
  assert_line --regexp '^limits: fixed-window +1 '
  assert_equal "$(rlctl list --limit 4/60s --json '@*' | gojq -c '[.used, .remaining]')" '[2,2]'
}

@test "a library that gives units back before they are taken leaves none used, and more than the limit" {
  cli SET LIMITS:LIMITER/ann/10/1/minute -6 EX 50 >/dev/null
  assert_equal "$(rlctl list --json | gojq -c '[.used, .ratio, .remaining]')" '[0,0,16]'
  run rlctl list
  assert_line --index 1 --regexp '^ *0 +10/60s +0% '
}

@test "a part of another key's state is listed with --all, as such, and is not in the totals" {
  cli SET 'rl:tb:{ann}' 0 >/dev/null
  cli SET 'rl:tb:{ann}:ts' "$(date +%s)123" >/dev/null
  run -0 --separate-stderr rlctl list --limit 3/45s
  refute_output --partial :ts
  run -0 --separate-stderr rlctl list --limit 3/45s --all
  assert_line --regexp ' part of rl:tb:\{ann\} +rl:tb:\{ann\}:ts$'
  assert_line --regexp '^aspnetcore-redis-rate-limiting: token-bucket +1 '
  assert_equal "$stderr" ''
  run -1 --separate-stderr rlctl list --all --above 0%
  assert_equal "$stderr" 'no limiter matches; not listed: 1 key whose limit is not known (pass --limit or define a policy)'
  assert_equal "$(rlctl list --all --json | gojq -r 'select(.part_of) | .key')" 'rl:tb:{ann}:ts'
}

@test "two spaces or more separate the algorithm and the key, on a terminal too" {
  cli SET LIMITS:LIMITER/ann/5/1/minute 4 EX 50 >/dev/null
  cli ZADD swrl:ann "$(date +%s)000" m >/dev/null
  cli EXPIRE swrl:ann 60 >/dev/null
  use a 1
  run rlctl list --sort key
  assert_line --regexp ' article: sliding-window-zset  +swrl:ann$'
  # Without a terminal, all keys begin in the column of their title.
  run awk '$NF == "key" { at = index($0, " key") + 1 } $NF ~ /ann/ && substr($0, at) != $NF' <<<"$output"
  assert_output ''
  needs_terminal
  run -0 at_terminal '' 'stty cols 100; rlctl list'
  run grep -F 'swrl:ann' "$BATS_TEST_TMPDIR/screen"
  assert_output --partial 'article: sliding-window-zset  swrl:ann'
}

@test "keys of more than 200 bytes are cut in text, unless --no-truncate, and never in JSON" {
  local key cut
  printf -v key '%0300d' 0
  cut=${key:0:200}
  rlctl check -q "$key" --limit 5/60s --algorithm gcra
  cli PERSIST "$key"
  local command
  for command in list inspect audit quota 'reset --dry-run'; do
    local words=("$command")
    if [[ $command == *dry-run ]]; then words=(reset --dry-run); fi
    if [[ $command != @(list|audit) ]]; then words+=("$key"); fi
    if [[ $command == quota ]]; then words+=(--limit 5/60s); fi
    run rlctl "${words[@]}"
    assert_output --regexp "$cut(\\.\\.\\.|…)"
    refute_output --partial "$cut"0
    run rlctl "${words[@]}" --no-truncate
    assert_output --partial "$key"
    run rlctl "${words[@]}" --json
    assert_output --partial "\"$key\""
  done
  run rlctl audit
  assert_output --partial '# the key has 300 bytes: --no-truncate and --json print the command'
}
