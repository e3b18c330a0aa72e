# needs: server
load ../../support/common

# `rlctl burst --replay FILE`: pictures, the real clock, and what takes a machine. Its reports are in replay.t.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

two=(--limit 2/10s sliding-window-log)

@test "the picture of a log has times of day in UTC, and the limit if there is one key" {
  printf '%s a\n' 1767225603 1767268803 1767312000 >day.log
  run -0 as svg rlctl burst --model --replay day.log --limit 2/12h sliding-window-log
  xmllint --noout - <<<"$output"
  local text
  for text in '>replay: 2 per 12 h<' '>2026-01-01 00:00<' '>12:00<' '>time in UTC<' '>bars: requests in 15 min<' \
    'class="limit"'; do
    assert_output --partial "$text"
  done
  echo 1767225603 b >>day.log
  run -0 as svg rlctl burst --model --replay day.log --limit 2/12h sliding-window-log
  refute_output --partial 'class="limit"'
}

@test "a log may be a compressed stream" {
  run -0 rlctl burst --replay - "${two[@]}" --model -q --assert sent==1 < <(echo '1 a' | gzip)
}

@test "--formats lists the formats, each with an example" {
  run -0 rlctl burst --formats
  assert_line --index 0 combined
  assert_line --index 1 --regexp '^  \$remote_addr .* "\$http_user_agent"$'
  assert_line --index 2 --regexp '^  192\.0\.2\.7 - ann \['
  assert_line 'cri (before another format)'
  run -0 rlctl burst --formats --json
  gojq -e '.formats[0].name == "combined"' <<<"$output"
}

@test "a server and the models decide alike, request by request, for every algorithm" {
  local requests
  requests=$(scaled 500 3000)
  # Of 50 keys, some of them frequent, ten a second.
  awk -v requests="$requests" 'BEGIN { srand(7); for (i = 0; i < requests; i++)
    printf "%.6f k%d %d\n", 1795155000 + rand() * requests / 10, int(50 * rand() ^ 3), 1 + (i % 10 == 0) }' >random.log
  run -0 rlctl burst all --replay random.log --limit 9/10s -o redis.jsonl -q -u private:
  run -0 rlctl burst all --replay random.log --limit 9/10s -o model.jsonl -q --model
  assert_equal "$(wc -l <redis.jsonl)" $((8 * requests))
  cmp redis.jsonl model.jsonl
  (($(grep -c '"allowed":false' redis.jsonl) > requests / 3))
}

@test "under the real clock requests keep their distances in time" {
  printf '%s a\n' 100.4 100.2 100 >short.log
  run -0 --separate-stderr rlctl burst --replay short.log --clock real "${two[@]}" -o sent.jsonl -o sent.json
  assert_line --regexp '^times +from the first request +2[0-9-]+T'
  # On a busy machine the first request may be sent late, by at most the lag.
  gojq -e -s --argjson lag "$(gojq '.runs[0].lag_us' sent.json)" 'map(.allowed) == [true, true, false]
    and .[2].at_us - .[0].at_us >= 400000 - $lag - 1 and .[0].at_us > 1700000000000000' sent.jsonl
}

@test "requests that would take more than half of the available memory are an error" {
  needs_plain_build
  ulimit -v 100000
  run -2 rlctl burst --replay - "${two[@]}" --model < <(yes '1795155070 a')
  assert_line --regexp '^rlctl: burst: not enough memory: the first [0-9,]+ requests, of 1 key, take more than half of the [0-9]+ MB available$'
  assert_line --partial 'replay a part of the log: head -n N FILE | rlctl burst --replay -'
}
