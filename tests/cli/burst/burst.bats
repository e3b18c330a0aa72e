# needs: server
load ../../support/common

# The files and pictures that `rlctl burst` writes. What it prints is in reports.t and burst.t.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# bats test_tags=night
@test "the models decide like the scripts; only the size of a key is unknown" {
  local pattern
  for pattern in boundary steady spike ramp poisson on-off; do
    run -0 rlctl burst "$pattern" --limit 30/s --limit 90/4s all --keys 3 --cost 2 --json
    local scripts=$output
    run -0 rlctl burst "$pattern" --limit 30/s --limit 90/4s all --keys 3 --cost 2 --json --model
    assert_equal "$(gojq -c '[.runs[].bytes_per_key | . > 40] | unique' <<<"$scripts$output")" $'[true]\n[false]'
    assert_equal "$(gojq -c 'del(.command, .confirmation, .runs[].bytes_per_key)' <<<"$output")" \
      "$(gojq -c 'del(.command, .confirmation, .runs[].bytes_per_key)' <<<"$scripts")"
  done
}

@test "limits of every size have a chart of 80 columns and a picture; traffic without a request has no chart" {
  local limit pattern
  for limit in 1/1ms 1/100000000s 1000000000/1ms 1M/30d; do
    for pattern in $(scaled 'boundary on-off' 'boundary steady poisson on-off'); do
      run -0 rlctl burst "$pattern" --limit "$limit" --model --requests 10 -o "$pattern-${limit/\//-}.svg"
      assert_line --regexp ' limit$'
      echo "$output" >>reports
    done
  done
  refute grep -E '.{81}' reports
  run -0 rlctl burst poisson --limit 1/1000000s --duration 1us --model -o empty.svg
  assert_line --regexp '^fixed-window +0 +0 +0'
  refute_line --regexp '^allowed '
  xmllint --noout ./*.svg
}

@test "JSON has the worst windows of 100 keys at most" {
  run -0 rlctl burst poisson --model --limit 4/10s --keys 500 --rate 200/s --json
  assert_equal "$(gojq -c '.runs[0] | [.keys, (.worst_keys | length)]' <<<"$output")" '[500,100]'
}

@test "many decisions are written while they are made, and none is lost" {
  rlctl burst steady --model --limit 2000/s -q -o x.jsonl
  assert_equal "$(wc -l <x.jsonl)" 24000
}

@test "the SVG is valid XML with a panel for each algorithm and its command, and without scripts" {
  rlctl burst poisson all --limit 20/s --model -o x.svg -q
  # One limit more is in the legend.
  run -0 xmllint --xpath 'concat(count(//*[local-name()="text"][@class="name"]), " ",
    count(//*[local-name()="path"][@class="limit"]), " ", count(//*[local-name()="script"]) + count(//@href))' x.svg
  assert_output '8 9 0'
  grep -q 'prefers-color-scheme: dark' x.svg
  grep -q 'rlctl burst poisson all --limit 20/1s' x.svg
}

@test "nothing in an SVG is outside its bounds" {
  rlctl burst gcra --limit 10/s --burst 100 --model -q -o x.svg
  run -0 perl -ne '($height) = /height="([0-9.]+)"/ if !defined $height; push @y, / y="([-0-9.]+)"/g;
    END { print scalar(grep { $_ < 0 || $_ > $height } @y), " ", @y > 20 }' x.svg
  assert_output '0 1'
}

@test "files are written in addition to the report, which does not change" {
  local alone
  alone=$(rlctl burst --model)
  run -0 rlctl burst --model -o a.svg -o a.json -o a.jsonl
  assert_equal "$output" "$alone"
  assert_equal "$(gojq '.runs | length' a.json)" 2
  assert_equal "$(wc -l <a.jsonl)" 4000
  xmllint --noout a.svg
  assert_equal "$(ls)" $'a.json\na.jsonl\na.svg'
}

@test "two reports may go to one device, which keeps neither" {
  ln -s /dev/null null.svg
  ln -s /dev/null null.json
  run -0 rlctl burst -q --model -o null.svg -o null.json
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
  run -0 rlctl burst --limit 100/60s --cost 10 fixed-window --model -o x.svg
  assert_line --regexp '^ +200 │ +.*█$'
  assert_line --regexp 'the highest 1$'
  grep -q '>200</text>$' x.svg
}

@test "a picture is the same in every locale" {
  rlctl burst --model --limit 100/1s -q -o x.svg
  LC_ALL=C rlctl burst --model --limit 100/1s -q -o c.svg
  cmp x.svg c.svg
  grep -q 'bars: requests in 200 µs' x.svg
}
