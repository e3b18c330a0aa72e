# needs: server
load ../../support/common

# The pictures of runs and of searches, and why an algorithm did what it did.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# texts CLASS FILE: the texts of this class in a picture.
texts() { xmllint --xpath "//*[local-name()='text'][@class='$1']/text()" "$2"; }

@test "the axis ends with the traffic, and units that proceed later are marked" {
  rlctl burst -q --model --limit 10/60s leaky-bucket -o x.svg -o x.jsonl
  gojq -e -s '(map(.at_us) | max) as $last | map(select(.allowed and .at_us + .delay_us > $last)) | length == 10' x.jsonl
  run -0 texts 'soft end' x.svg
  assert_line '10 units proceed later, until +59.99 s →'
  assert_line --regexp '^\+9(\.[0-9]+)? ms$'
}

@test "traffic that is too long for its window has no curve, no limit and no mark" {
  run -0 rlctl burst steady --model --limit 5/1s leaky-bucket --rate 8/s --duration 20000s -o x.svg
  assert_line --regexp '^rows '
  refute_line --regexp '^(chart|later) '
  run -0 cat x.svg
  refute_output --partial later
  refute_output --partial 'class="limit"'
}

@test "the curve rises at the very instant of a burst" {
  printf '%s a 1\n' 100 100 100 130 195 >steps.log
  rlctl burst -q --model --replay steps.log --format epoch --limit 9/60s gcra -o x.svg
  run -0 xmllint --xpath 'string((//*[@class="within"])[last()]/@d)' x.svg
  # Horizontal and vertical strokes only: up at once, up after 30 s, down and down, and up at the end.
  assert_output --regexp '^M[0-9.]+ [0-9.]+(H[0-9]+)?(V[0-9.]+(H[0-9]+)?){5}$'
}

@test "a limiter that allows nothing is called so by the plot, the picture and a search" {
  echo 'return 0' >never.lua
  local command
  for command in burst 'adversary --tries 2000'; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $command never.lua --limit 5/60s --args '{now}' -o x.svg
    assert_line 'never.lua  allows nothing'
    run -0 texts 'over end' x.svg
    assert_output 'allows nothing'
  done
}

# --- searches ----------------------------------------------------------------------------------------

@test "the picture of a search shows the schedule, its worst window, and the verdict of the text" {
  run -0 rlctl adversary --model fixed-window sliding-window-log -o x.svg
  assert_line --regexp '^fixed-window  2\.00. the limit: 10 within 10 s$'
  # A mark in each panel, and one in the legend, like the line of the limit.
  run -0 xmllint --xpath 'concat(//*[@class="title"], " ", count(//*[local-name()="rect"][@class="worst"]), " ",
    count(//*[local-name()="path"][@class="limit"]))' x.svg
  assert_output 'adversary: 5 per 60 s 3 3'
  run -0 xmllint --xpath '//*[local-name()="text"][@class="name" or starts-with(@class, "over") or starts-with(@class, "verdict")]/text()' x.svg
  assert_output $'fixed-window\n2.00× the limit: 10 within 10 s\nsliding-window-log\nnever above the limit'
  rlctl adversary -q --model fixed-window sliding-window-log -o again.svg
  cmp x.svg again.svg
}

@test "the picture of a search says how it searched, and an instant is a step in a window" {
  run -0 rlctl adversary --model --limit 2/10s fixed-window --exhaustive 3 -o x.svg --json
  assert_output --partial '"seed":null'
  run -0 texts soft x.svg
  assert_line --partial 'every schedule of up to 3 requests at critical'
  refute_line --partial seed
  # All of them at one instant: the last column is 10 s later.
  rlctl adversary -q --model --limit 2/10s sliding-window-log -o x.svg
  run -0 cat x.svg
  assert_output --regexp '>\+10(\.[0-9]+)? s<'
  assert_output --partial '>no schedule that was tried got more than 2 through within 10 s<'
  echo 'return 1' >yes.lua
  rlctl adversary --tries 2000 -q --limit 4/s yes.lua -o x.svg
  run -0 texts soft x.svg
  assert_line 'bound: as many as were sent: no bound was found'
  # With the fewest tries that it takes, too, there is a picture.
  rlctl adversary -q --model gcra --tries 200 -o x.svg
  xmllint --noout x.svg
}

@test "the picture of a schedule with refunds has no curve, and says that it lacks them" {
  run -0 rlctl adversary --model --limit 2/10s gcra --cost 1,-1 -o x.svg --json
  gojq -e '.runs[0].most.schedule | any(.cost == -1)' <<<"$output"
  run -0 cat x.svg
  assert_output --partial 'bars: requests without refunds in '
  refute_output --partial 'class="within"'
}

# --- why ---------------------------------------------------------------------------------------------

@test "the report and the picture say why each algorithm did what it did" {
  run -0 rlctl burst --model --limit 10/60s all -o x.svg
  assert_equal "$(grep -c '^why ' <<<"$output")" 8
  run -0 texts soft x.svg
  assert_line --partial 'its counter starts over at 2026-01-01T00:01:00Z, so 10 requests before that'
}

@test "the numbers of why are those of the decisions" {
  rlctl burst poisson -q --model --limit 20/s --rate 60/s fixed-window -o x.jsonl -o x.json
  # The worst window contains one edge of a second.
  gojq -e -s --slurpfile report x.json '$report[0].runs[0] as $run | $run.worst as $worst
    | ($worst.from_us + $worst.span_us | . - . % 1000000) as $edge
    | map(select(.allowed and .at_us >= $worst.from_us and .at_us <= $worst.from_us + $worst.span_us))
    | [(map(select(.at_us < $edge)), map(select(.at_us >= $edge))) | length]
      == [$run.why | capture("so (?<b>[0-9]+) request.* and (?<a>[0-9]+) after") | (.b, .a) | tonumber]' x.jsonl
}
