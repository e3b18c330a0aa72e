# needs: server
load ../../support/common

# What inspect reads of other libraries' state: each row of libraries.toml with keys as its library makes them, and
# what the libraries' own scripts, in bench/others, store.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

# now UNIT: the server's time in whole UNITs of a second.
now() { cli TIME | paste -sd ' ' | awk -v unit="$1" '{ printf "%.0f", ($1 + $2 / 1e6) * unit }'; }

@test "the keys of each library are read as its table says, and audit finds the broken ones and no others" {
  run -0 "$project/tests/stored/libraries/check" "$(type -P rlctl)" "$socket" "$(type -P redis-cli)" \
    "$project"/tests/stored/libraries/*.keys
  assert_output ''
}

@test "what the script of each library stores is recognized, and with its limit what is left" {
  # The windows are so long that none ends during the test.
  local script keys arguments limit expected day
  day=$(($(now 1) / 86400))
  while IFS='|' read -r script keys arguments limit expected; do
    eval "cli --eval $project/bench/others/$script.lua $keys , $arguments" >/dev/null
    # shellcheck disable=SC2086 # split into words
    assert_equal "$(rlctl inspect "$(eval "echo ${keys%% *}")" --json --limit $limit |
      gojq -c '[.library, .algorithm, .used, .remaining]')" "$expected"
  done <<'END'
rate-limiter-flexible|rlflx:ann|2 86400 5 86400|5/1d|["rate-limiter-flexible","fixed-window",2,3]
upstash-fixed-window|@upstash/ratelimit:fixed:$day ''|5 86400000 2|5/1d|["upstash","fixed-window",2,3]
upstash-sliding-window|@upstash/ratelimit:two:$day @upstash/ratelimit:two:$((day - 1)) ''|5 "$(now 1000)" 86400000 2|5/1d|["upstash","sliding-window-counter",2,3]
upstash-token-bucket|@upstash/ratelimit:ann ''|5 86400000 2 "$(now 1000)" 2|2/1d --burst 5|["upstash","token-bucket",2,3]
async-ratelimiter|limit:ann|"$(now 1000).25" 86400000 5|5/1d|["article","sliding-window-zset",1,4]
redis_rate|rate:ann|10 10 36000 4|10/10h|["redis_rate","gcra",4,6]
throttled-py-gcra|throttled:v1:gcra:ann|3600 10 4|10/10h|["throttled-py","gcra",4,6]
throttled-py-token-bucket|throttled:v1:token_bucket:ann|0.001 10 4|18/5h --burst 10|["throttled-py","token-bucket",4,6]
limits-moving-window|LIMITS:LIMITER/ann/3/1/hour|"$(now 1).25" 3 3600 1|3/1h|["limits","sliding-window-log",1,2]
END
  run -0 rlctl inspect @upstash/ratelimit:ann
  assert_line --regexp '^tokens     3 '
  run -0 rlctl inspect "@upstash/ratelimit:two:$day" --limit 5/1d
  assert_line --regexp '^algorithm  upstash: sliding-window-counter +limit 5/1d$'
  assert_line --partial "the other key: @upstash/ratelimit:two:$((day - 1))"
  run -0 rlctl inspect rate:ann --limit 10/10h
  assert_line --regexp '^algorithm  redis_rate: gcra +limit 10/10h, burst 10$'
  assert_line --regexp '^tat        20'
}
