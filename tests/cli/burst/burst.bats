# needs: server
load ../../support/common

# What `rlctl burst` prints and writes. Its server is that of `-u private:`, the default.

@test "the report has the virtual clock, the seed and the command that repeats it" {
  run -0 rlctl burst gcra
  assert_line --regexp '^clock +virtual time$'
  assert_line --regexp 'seed 1$'
  assert_line 'rlctl burst boundary gcra --limit 1000/60s --seed 1'
  run -0 rlctl burst poisson gcra --limit 10/s --limit 100/min --burst 7 --rate 90/s \
    --duration 3s --requests 50 --keys 3 --cost 2 --seed 9 --model --json
  run -0 gojq -r .command <<<"$output"
  assert_output "rlctl burst poisson gcra --limit 10/1s --limit 100/60s --burst 7 --model \
--rate 90/s --duration 3s --requests 50 --keys 3 --cost 2 --seed 9"
}

@test "the printed command repeats the output" {
  run -0 rlctl burst poisson all --limit 20/s --keys 3 --seed 4
  repeats
}

@test "the same seed gives the same bytes and another seed gives others" {
  local one two other
  one=$(rlctl burst poisson all --limit 20/s --json)
  two=$(rlctl burst poisson all --limit 20/s --json)
  other=$(rlctl burst poisson all --limit 20/s --seed 2 --json)
  assert_equal "$one" "$two"
  [[ $(gojq -c '[.runs[].allowed]' <<<"$one") != "$(gojq -c '[.runs[].allowed]' <<<"$other")" ]]
}

@test "the models decide like the scripts; only the size of a key is unknown" {
  local pattern
  for pattern in $(scaled 'boundary poisson' 'boundary steady spike ramp poisson on-off'); do
    run -0 rlctl burst "$pattern" --limit 30/s --limit 90/4s all --keys 3 --cost 2 --json
    local scripts=$output
    run -0 rlctl burst "$pattern" --limit 30/s --limit 90/4s all --keys 3 --cost 2 --json --model
    assert_equal "$(gojq -c '[.runs[].bytes_per_key | . > 40] | unique' <<<"$scripts$output")" $'[true]\n[false]'
    assert_equal "$(gojq -c 'del(.command, .confirmation, .runs[].bytes_per_key)' <<<"$output")" \
      "$(gojq -c 'del(.command, .confirmation, .runs[].bytes_per_key)' <<<"$scripts")"
  done
}

@test "traffic without a request is reported without a chart" {
  run -0 rlctl burst poisson --limit 1/1000000s --duration 1us --model
  assert_line --regexp '^gcra|^fixed-window +0 +0 +0'
  refute_line --regexp '^allowed '
  run -0 as svg rlctl burst poisson --limit 1/1000000s --duration 1us --model
  run -0 xmllint --noout - <<<"$output"
}

@test "limits of every size have a chart" {
  local limit pattern
  for limit in 1/1ms 1/100000000s 1000000000/1ms 1M/30d; do
    for pattern in $(scaled 'boundary on-off' 'boundary steady poisson on-off'); do
      run -0 rlctl burst "$pattern" --limit "$limit" --model --requests 10 -o "$BATS_TEST_TMPDIR/$pattern.svg"
      assert_line --regexp ' limit$'
      run -1 grep -E '.{81}' <<<"$output"
    done
    xmllint --noout "$BATS_TEST_TMPDIR"/*.svg
  done
}

# --- output for programs -----------------------------------------------------------------------------

@test "JSON says which of several limits denied, and how often" {
  cd "$BATS_TEST_TMPDIR"
  run -0 rlctl burst poisson --model --limit 5/1s --limit 9/10s --rate 8/s gcra --json -o x.jsonl
  local counts
  counts=$(gojq -sc '[.[].denied_by] | [map(select(. == "5/1s")), map(select(. == "9/10s"))] | map(length)' x.jsonl)
  assert_equal "$(gojq -c '.runs[0].denied_by_limit' <<<"$output")" "$counts"
  assert_equal "$(gojq -c '.runs[0] | (.denied_by_limit | add) == .denied and all(.denied_by_limit[]; . > 0)' <<<"$output")" true
  echo 'return redis.call("INCR", KEYS[1]) <= 1 and 1 or 0' >two.lua
  run -0 --separate-stderr rlctl burst two.lua --limit 1/60s --json
  assert_equal "$(gojq -c '.runs[0].denied_by_limit' <<<"$output")" null
}

@test "JSON has the worst window of each key, the worst first, of 100 keys at most" {
  cd "$BATS_TEST_TMPDIR"
  run -0 rlctl burst poisson --model --limit 4/10s --keys 9 --rate 8/s fixed-window --json -o x.jsonl
  gojq '.runs[0]' <<<"$output" >run.json
  assert_equal "$(gojq '.worst_keys | length' run.json)" 9
  assert_equal "$(gojq -c '(.worst_keys[0] | [.key, .allowed, .from_us, .span_us]) ==
    (.worst | [.key, .allowed, .from_us, .span_us])' run.json)" true
  assert_equal "$(gojq -c '[.worst_keys[].ratio] | . == (sort | reverse)' run.json)" true
  assert_equal "$(gojq '[.worst_keys[].denied] | add' run.json)" "$(gojq .denied run.json)"
  # What the decisions say of the last one.
  local key from to
  read -r key from to < <(gojq -r '.worst_keys[-1] | [.key, .from_us, .from_us + .span_us] | @tsv' run.json)
  assert_equal "$(gojq '.worst_keys[-1].allowed' run.json)" \
    "$(gojq "select(.allowed and .key == \"$key\" and .at_us >= $from and .at_us <= $to) | 1" x.jsonl | wc -l)"
  run -0 rlctl burst poisson --model --limit 4/10s --keys 500 --rate 200/s --json
  assert_equal "$(gojq -c '.runs[0] | [.keys, (.worst_keys | length)]' <<<"$output")" '[500,100]'
}

@test "many decisions are written while they are made, and none is lost" {
  rlctl burst steady --model --limit 10000/s -q -o "$BATS_TEST_TMPDIR/x.jsonl"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/x.jsonl")" 120000
}

@test "the SVG is valid XML with a panel for each algorithm and its command, and without scripts" {
  rlctl burst poisson all --limit 20/s -o "$BATS_TEST_TMPDIR/x.svg" -q
  run -0 xmllint --xpath 'count(//*[local-name()="text"][@class="name"])' "$BATS_TEST_TMPDIR/x.svg"
  assert_output 8
  run -0 xmllint --xpath 'count(//*[local-name()="script"]) + count(//@href)' "$BATS_TEST_TMPDIR/x.svg"
  assert_output 0
  run -0 xmllint --xpath 'count(//*[local-name()="path"][@class="limit"])' "$BATS_TEST_TMPDIR/x.svg"
  assert_output 9 # plus one in the legend
  grep -q 'prefers-color-scheme: dark' "$BATS_TEST_TMPDIR/x.svg"
  grep -q 'rlctl burst poisson all --limit 20/1s' "$BATS_TEST_TMPDIR/x.svg"
}

@test "nothing in an SVG is outside its bounds" {
  as svg rlctl burst gcra --limit 10/s --burst 100 --model >"$BATS_TEST_TMPDIR/x.svg"
  local height
  height=$(xmllint --xpath 'string(/*/@height)' "$BATS_TEST_TMPDIR/x.svg")
  run -0 grep -oE ' y="[-0-9.]+"' "$BATS_TEST_TMPDIR/x.svg"
  run -0 awk -F'"' -v height="$height" '$2 < 0 || $2 > height { bad++ } END { print bad + 0, (NR > 20) }' <<<"$output"
  assert_output '0 1'
}

@test "files are written in addition to the report, which does not change" {
  cd "$BATS_TEST_TMPDIR"
  local alone
  alone=$(rlctl burst)
  run -0 rlctl burst -o a.svg -o a.json -o a.jsonl
  assert_equal "$output" "$alone"
  assert_equal "$(gojq '.runs | length' a.json)" 2
  assert_equal "$(wc -l <a.jsonl)" 4000
  xmllint --noout a.svg
  assert_equal "$(ls)" $'a.json\na.jsonl\na.svg'
}

@test "a file that cannot be written is an error before anything runs, and no other file is touched" {
  cd "$BATS_TEST_TMPDIR"
  echo before >a.json
  TMPDIR=/nowhere RLCTL_REDIS_SERVER=/nowhere run -2 rlctl burst -o a.json -o none/a.svg
  assert_output "rlctl: burst: -o: cannot write 'none/a.svg': no such file or directory"
  assert_equal "$(cat a.json)" before
  assert_equal "$(ls)" a.json
}

@test "two reports may go to one device, which keeps neither" {
  ln -s /dev/null "$BATS_TEST_TMPDIR/null.svg"
  ln -s /dev/null "$BATS_TEST_TMPDIR/null.json"
  run -0 rlctl burst -q --model -o "$BATS_TEST_TMPDIR/null.svg" -o "$BATS_TEST_TMPDIR/null.json"
}

@test "if the reader of its file exits, burst fails and leaves nothing running" {
  export TMPDIR=$BATS_TEST_TMPDIR
  mkfifo "$TMPDIR/decisions.jsonl"
  head -n 1 "$TMPDIR/decisions.jsonl" 3>&- &
  # Opening the pipe, it waits for a writer.
  wait_until grep -q ' (head) S ' "/proc/$!/stat"
  run -2 rlctl burst steady --limit 100000/s -q -o "$TMPDIR/decisions.jsonl"
  assert_output --partial 'decisions.jsonl'\'': broken pipe'
  nothing_is_left
}

@test "the chart counts units, like the limit, not requests" {
  run -0 rlctl burst --limit 100/60s --cost 10 fixed-window --model
  assert_line --regexp '^ +200 │ +.*█$'
  assert_line --regexp 'the highest 1$'
  run -0 as svg rlctl burst --limit 100/60s --cost 10 fixed-window --model
  assert_line --regexp '>200</text>$'
}

@test "--start sets the time of the first request, and is part of the printed command" {
  run -0 as jsonl rlctl burst steady --model --limit 10/10s --requests 3 --start 2040-02-02T00:00:01Z gcra
  assert_equal "$(gojq -s '.[0].at_us' <<<"$output")" 2211753601000000
  # The requests of boundary surround the next edge.
  run -0 as jsonl rlctl burst --model --limit 1/60s --start 2211753601000000 gcra
  assert_equal "$(gojq -c '.at_us' <<<"$output")" $'2211753659990000\n2211753660000000'
  run -0 rlctl burst --model --limit 1/60s --start 2211753601000000 gcra --json
  assert_equal "$(gojq -r .command <<<"$output")" \
    'rlctl burst boundary gcra --limit 1/60s --model --seed 1 --start 2211753601000000'
}
