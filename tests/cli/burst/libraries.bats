# needs: server
load ../../support/common

# Limiters of well-known libraries, written anew with their calls, arguments and replies: each runs as it
# is, is read rightly, and its worst window is the one that follows from its algorithm.

setup() { cd "$project/tests/cli/burst/libraries" || return; }

# search LIMIT SCRIPT OPTION…: the ratio of the worst window, whether a request was denied that an exact log would
# allow, and whether no bound was found.
search() {
  local limit=$1 script=$2
  shift 2
  rlctl burst adversary --tries 2000 --monotonic --limit "$limit" --script "$script.lua" "$@" --json \
    2>/dev/null | gojq -r '.runs[0] | "\(.most.worst.ratio * 100 | round / 100) \(.wrongly_denied != null) \(.unbounded)"'
}

# finds RATIO WRONG UNBOUNDED LIMIT SCRIPT OPTION…
finds() {
  local expected="$1 $2 $3"
  shift 3
  run -0 search "$@"
  assert_output "$expected"
}

redis_rate=(--args '{burst} {limit} {window_s} {cost}' --allowed-when 'r[1] > 0' --remaining 'r[2]'
  --retry-after 'tonumber(r[3]) s' --reset-after 'tonumber(r[4]) s')

@test "redis_rate: GCRA's bound, and nine of ten at once where floats round" {
  finds 1.8 false false 5/60s redis_rate_allow_n "${redis_rate[@]}"
  finds 1.8 false false 5/60s redis_rate_allow_at_most "${redis_rate[@]}"
  finds 1.9 true false 10/1s redis_rate_allow_n "${redis_rate[@]}"
}

@test "limits: a window from the first request, an exact log, and a counter twice the limit" {
  finds 1.8 false false 5/60s limits_fixed --args '{window_s} {cost}' --allowed-when '<=limit'
  finds 1 true false 5/60s limits_moving --args '{now} {limit} {window_s} {cost}'
  finds 2 true false 5/60s limits_sliding --keys '{{key}}/-1' --keys '{{key}}' --args '{limit} {window_s} {cost}' \
    --tries 40000
}

@test "rate-limiter-flexible and rate-limit-redis: a window from the first request" {
  finds 1.8 false false 5/60s rate_limiter_flexible --args '{cost} {window_s}' --allowed-when 'r[1] <= limit' \
    --remaining 'limit - r[1]' --retry-after 'r[2] ms'
  finds 1.8 false false 5/60s rate_limit_redis --args '0 {window_ms}' --allowed-when 'r[1] <= limit' \
    --retry-after 'r[2] ms'
}

@test "upstash: twice the limit by the clock's windows, with flags that no server knows" {
  local fixed=(--keys '{key}:{window_index}')
  finds 2 false false 5/60s upstash_fixed "${fixed[@]}" --args '{limit} {window_ms} {cost}' \
    --allowed-when 'r[1] <= r[2]' --remaining 'r[2] - r[1]'
  finds 2 false false 5/60s upstash_cached_fixed "${fixed[@]}" --args '{window_ms} {cost}' --allowed-when 'r <= limit'
  finds 2 true false 5/60s upstash_sliding "${fixed[@]}" --keys '{key}:{prev_window_index}' \
    --args '{limit} {now_ms} {window_ms} {cost}' --allowed-when 'r[1] >= 0' --remaining 'r[1]'
  finds 2 false false 5/60s upstash_multi_region "${fixed[@]}" --args '{id} {window_ms} {cost}' \
    --allowed-when '#r / 2 <= limit' --remaining 'limit - #r / 2'
  run -0 --separate-stderr rlctl burst --script upstash_fixed.lua "${fixed[@]}" --args '{limit} {window_ms} 1' \
    --allowed-when 'r[1] <= r[2]'
  # Redis 6.0 knows no such first line at all.
  assert_equal "$(grep -cE 'ignored (the flag allow-key-locking|its first line, "#!lua")' <<<"$stderr")" 1
}

@test "upstash's token bucket: a refill at once, and denials that cost tokens" {
  local bucket=(--args '{limit} {window_ms} {limit} {now_ms} {cost}' --allowed-when 'r[1] >= 0' --remaining 'r[1]')
  finds 1.8 false false 5/60s upstash_token_bucket "${bucket[@]}"
  # Four requests of 3 leave 5 - 12 tokens, so that more than one refill passes before the next.
  run -0 --separate-stderr rlctl burst steady --limit 5/60s --cost 3 --rate 4/60s --duration 240s \
    --script upstash_token_bucket.lua "${bucket[@]}" --algorithm token-bucket --json
  run -0 gojq -c '[.runs[].allowed] | .[0] < .[1]' <<<"$output"
  assert_output true
}

@test "throttled-py: windows, GCRA, and buckets that fill each whole second" {
  finds 2 false false 5/60s throttled_py_fixed --keys '{key}:period:{window_index}' --args '{window_s} {limit} {cost}' \
    --allowed-when 'r[1] == 0'
  finds 2 true false 5/60s throttled_py_sliding --keys '{key}:{window_index}' --keys '{key}:{prev_window_index}' \
    --args '{window_s} {limit} {cost} {now_ms}' --allowed-when 'r[1] == 0' \
    --retry-after 'tonumber(r[3]) s'
  finds 1.8 false false 5/60s throttled_py_gcra --args '12 {burst} {cost}' --allowed-when 'r[1] == 0' \
    --remaining 'r[2]' --reset-after 'tonumber(r[3]) s' --retry-after 'tonumber(r[4]) s'
  finds 2 false false 10/1s throttled_py_token --args '{rate} {burst} {cost}' --allowed-when 'r[1] == 0' --remaining 'r[2]'
  finds 2 false false 10/1s throttled_py_leaking --args '{rate} {burst} {cost}' --allowed-when 'r[1] == 0' \
    --remaining 'r[2]'
}

@test "spring-cloud-gateway: a bucket by whole seconds, and none at all if its TTL rounds to 0" {
  local gateway=(--keys '{{key}}.tokens' --keys '{{key}}.timestamp')
  finds 2 false false 10/1s spring_cloud_gateway "${gateway[@]}" --args '{rate} {burst} {now_s} {cost}' \
    --allowed-when 'r[1] == 1' --remaining 'r[2]'
  finds 2 false false 10/1s spring_cloud_gateway "${gateway[@]}" --args "{rate} {burst} '' {cost}" --allowed-when 'r[1] == 1'
  run -0 search 100/1s spring_cloud_gateway "${gateway[@]}" --args "{rate} 10 '' {cost}" --burst 10 --tries 5000
  assert_output --regexp ' true$'
}

@test "redis-cell, bullmq, and a verdict in the fourth place" {
  finds 1.8 false false 5/60s redis_cell --args '4 {limit} {window_s} {cost}' --allowed-when 'r[1] == 0' \
    --remaining 'r[3]' --retry-after 'r[4] s' --reset-after 'r[5] s'
  finds 1.8 false false 5/60s bullmq --args '{limit} {window_ms}' --allowed-when zero --retry-after 'r ms'
  finds 2 false false 5/60s goredisstore --args '{now_ms} {window_ms} {limit}' --allowed-when 'r[4] == 1' \
    --remaining 'r[2]' --reset-after 'r[3] - now_ms ms'
}
