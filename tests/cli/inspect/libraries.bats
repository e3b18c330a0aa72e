# needs: server
load ../../support/common

# What `rlctl inspect` and `rlctl reset` say about the state of other libraries. bench/others has their scripts;
# the windows are so long that none ends during a test.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

# found KEY FILTER [OPTION…]: what jq's FILTER shows of the JSON of inspect.
found() { rlctl inspect "$1" --json "${@:3}" | gojq -c "$2"; }

# with_script FILE KEY… , ARGUMENT…
with_script() { cli --eval "$project/bench/others/$1" "${@:2}" >/dev/null; }

# now UNIT: the server's time in whole UNITs of a second.
now() { cli TIME | paste -sd ' ' | awk -v unit="$1" '{ printf "%.0f", ($1 + $2 / 1e6) * unit }'; }

@test "what the script of each library stores is recognized, and with its limit what is left" {
  local script keys arguments limit expected
  while IFS='|' read -r script keys arguments limit expected; do
    eval "with_script $script.lua $keys , $arguments"
    # shellcheck disable=SC2086 # split into words
    assert_equal "$(found "${keys% *}" '[.library, .algorithm, .used, .remaining]' --limit $limit)" "$expected"
  done <<'END'
rate-limiter-flexible|rlflx:ann|2 86400 5 86400|5/1d|["rate-limiter-flexible","fixed-window",2,3]
upstash-token-bucket|@upstash/ratelimit:ann ''|5 86400000 2 "$(now 1000)" 2|2/1d --burst 5|["upstash","token-bucket",2,3]
async-ratelimiter|limit:ann|"$(now 1000).25" 86400000 5|5/1d|["article","sliding-window-zset",1,4]
redis_rate|rate:ann|10 10 36000 4|10/10h|["redis_rate","gcra",4,6]
throttled-py-gcra|throttled:v1:gcra:ann|3600 10 4|10/10h|["throttled-py","gcra",4,6]
throttled-py-token-bucket|throttled:v1:token_bucket:ann|0.001 10 4|18/5h --burst 10|["throttled-py","token-bucket",4,6]
limits-moving-window|LIMITS:LIMITER/ann/3/1/hour|"$(now 1).25" 3 3600 1|3/1h|["limits","sliding-window-log",1,2]
END
  run -0 rlctl inspect @upstash/ratelimit:ann
  assert_line --regexp '^tokens     3 '
  run -0 rlctl inspect rate:ann --limit 10/10h
  assert_line --regexp '^algorithm  redis_rate: gcra +limit 10 per 10 h, burst 10$'
  assert_line --regexp '^tat        20'
  # More than the limit while it is blocked.
  cli SET rlflx:bob 6 EX 86400 >/dev/null
  assert_equal "$(found rlflx:bob '[.used, .remaining, .next_free_us == .ttl_us]' --limit 5/1d)" '[6,0,true]'
}

@test "upstash: fixed and sliding windows have the same names, and only the limit tells them apart" {
  local day=86400000 number key
  number=$(($(now 1000) / day))
  key=@upstash/ratelimit:fixed:$number
  with_script upstash-fixed-window.lua "$key" '' , 5 "$day" 2
  assert_equal "$(found "$key" '[.library, .algorithm, .window_us, .used, .entries[0].count]' --limit 5/1d)" \
    '["upstash","fixed-window",86400000000,2,2]'
  assert_equal "$(found "$key" '[.library, .algorithm, .window_us, .used]')" '["upstash",null,null,null]'
  assert_equal "$(found "$key" '[.library, .algorithm, .used]' --limit 5/1h)" '["upstash",null,null]'
  run -0 rlctl inspect "$key"
  assert_line --regexp '^algorithm  upstash +limit not stored; pass --limit$'
  assert_line --regexp '^used +unknown$'
  assert_line --regexp '^ +how long its window is is not known without a limit$'
  run -0 rlctl list "$key" --all
  assert_line --regexp " upstash +$key\$"
  run -5 rlctl reset "$key"
  assert_output --partial "it holds upstash's state, not rlctl's"
  run -3 rlctl quota "$key"
  assert_output --partial 'how long its window is is not known'
  run -3 rlctl quota "$key" --limit 5/1h
  assert_output --partial 'of no window as long as'
  key=@upstash/ratelimit:sliding
  with_script upstash-sliding-window.lua "$key:$number" "$key:$((number - 1))" '' , 5 "$(now 1000)" "$day" 2
  assert_equal "$(found "$key:$number" '[.library, .algorithm, .window_us, .used, .entries[0].count]' --limit 5/1d)" \
    '["upstash","sliding-window-counter",86400000000,2,2]'
  run -0 rlctl inspect "$key:$number" --limit 5/1d
  assert_line --regexp '^algorithm  upstash: sliding-window-counter +limit 5 per 1 d$'
  assert_line --partial "the other key: $key:$((number - 1))"
  assert_line --regexp '^used       2 of 5 '
}

@test "quota judges other libraries' state as inspect shows it" {
  with_script redis_rate.lua rate:ann , 10 10 3600 9
  run -1 rlctl quota rate:ann --limit 10/1h -w 80%
  assert_output --partial '90% used'
  run -3 rlctl quota rate:ann
  assert_output --partial 'pass --limit'
}

@test "reset leaves other libraries' state, names the library, and removes it with --force" {
  cli HSET throttled:v1:token_bucket:ann tokens 3 last_refreshed "$(now 1)" >/dev/null
  with_script redis_rate.lua rate:ann , 10 10 36000 4
  run -5 --separate-stderr rlctl reset rate:ann
  assert_output 'left key=rate:ann type=string library=redis_rate algorithm=gcra reason=foreign'
  assert_equal "${stderr_lines[-2]}" \
    "rlctl: reset: left 'rate:ann': it holds redis_rate's state (gcra), not rlctl's"
  run -0 --separate-stderr rlctl reset --match '*' --yes
  assert_output ''
  assert_regex "$stderr" 'left 2 that may belong to another program \(1 redis_rate: gcra, 1 throttled-py: token-bucket\); --force removes them'
  assert_equal "$(cli DBSIZE)" 2
  run -0 rlctl reset --force throttled:v1:token_bucket:ann rate:ann
  assert_line 'removed key=throttled:v1:token_bucket:ann library=throttled-py algorithm=token-bucket'
  assert_equal "$(cli DBSIZE)" 0
}

@test "check does not write to other libraries' state, and says whose it is" {
  with_script redis_rate.lua rate:ann , 10 10 36000 4
  run -5 rlctl check rate:ann --limit 10/60s --algorithm gcra
  assert_output --partial "redis_rate's state (gcra)"
}
