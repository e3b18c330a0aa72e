# needs: server
load ../../support/common

# Titles, the pictures of searches, and why an algorithm did what it did.

setup() { cd "$BATS_TEST_TMPDIR" || return; }

# texts CLASS FILE: the texts of this class in a picture.
texts() { xmllint --xpath "//*[local-name()='text'][@class='$1']/text()" "$2"; }

# draws NUMBER ELEMENT [CONDITION]: the picture has as many elements of this name that meet the conditions of XPath.
draws() { assert_equal "$(xmllint --xpath "count(//*[local-name()='$2']${3-})" x.svg)" "$1"; }

# --- titles ------------------------------------------------------------------------------------------

@test "the axis ends with the traffic, and units that proceed later are marked" {
  rlctl burst -q --model --limit 10/60s leaky-bucket -o x.svg -o x.jsonl
  local later
  later=$(gojq -s '(map(.at_us) | max) as $last | map(select(.allowed and .at_us + .delay_us > $last)) | length' x.jsonl)
  assert_equal "$later" 10
  run -0 texts 'soft end' x.svg
  assert_line '10 units proceed later, until +59.99 s →'
  assert_line --regexp '^\+9(\.[0-9]+)? ms$'
  run -0 rlctl burst --model --limit 10/60s fixed-window leaky-bucket
  assert_line --regexp '^later +leaky-bucket +(→|>) 10 units proceed later, until \+59\.99 s$'
  assert_line --regexp '^ +-10 ms .*\+9\.5 ms$'
  # The others have the columns that they have alone.
  local drawn
  drawn=$(sed -n '/^fixed-window  2/,/^ denied/p' <<<"$output")
  run -0 rlctl burst --model --limit 10/60s fixed-window gcra
  assert_equal "$(sed -n '/^fixed-window  2/,/^ denied/p' <<<"$output")" "$drawn"
}

@test "traffic that is too long for its window has no curve, no limit and no mark" {
  run -0 rlctl burst steady --model --limit 5/1s leaky-bucket --rate 8/s --duration 20000s -o x.svg
  assert_line --regexp '^rows '
  refute_line --regexp '^(chart|later) '
  run -0 texts 'soft end' x.svg
  refute_line --partial later
  draws 0 path '[@class="limit"]'
}

@test "the curve rises at the very instant of a burst" {
  printf '%s a 1\n' 100 100 100 130 195 >steps.log
  rlctl burst -q --model --replay steps.log --format epoch --limit 9/60s gcra -o x.svg
  run -0 xmllint --xpath 'string((//*[@class="within"])[last()]/@d)' x.svg
  # Horizontal and vertical strokes only: up at once, up after 30 s, down and down, and up at the end.
  [[ $output =~ ^M[0-9.]+\ [0-9.]+(H[0-9]+|V[0-9.]+)+$ ]] || fail "$output"
  assert_equal "$(grep -o V <<<"$output" | wc -l)" 5
}

@test "a limiter that allows nothing is called so by the plot, the picture and a search" {
  echo 'return 0' >never.lua
  run -0 rlctl burst never.lua --limit 5/60s --args '{now}' -o x.svg
  assert_line 'never.lua  allows nothing'
  run -0 texts 'over end' x.svg
  assert_output 'allows nothing'
  run -0 rlctl adversary --tries 2000 never.lua --args '{now}' -o x.svg
  assert_line 'never.lua  allows nothing'
  run -0 texts 'over end' x.svg
  assert_output 'allows nothing'
}

# --- searches ----------------------------------------------------------------------------------------

@test "the picture of a search shows the schedule, its worst window, and the verdict of the text" {
  run -0 rlctl adversary --model fixed-window sliding-window-log -o x.svg
  local report=$output
  xmllint --noout x.svg
  run -0 xmllint --xpath 'string(//*[@class="title"])' x.svg
  assert_output 'adversary: 5 per 60 s'
  run -0 texts over x.svg
  assert_output '2.00× the limit: 10 within 10 s'
  grep -E '^fixed-window  2\.00. the limit: 10 within 10 s$' <<<"$report"
  run -0 texts verdict x.svg
  assert_output 'never above the limit'
  # A mark in each panel, and one in the legend.
  draws 3 rect '[@class="worst"]'
  run -0 texts name x.svg
  assert_output $'fixed-window\nsliding-window-log'
  draws 3 path '[@class="limit"]'
  # From +50 s to +60 s.
  run -0 grep -o '<rect class="worst" x="[0-9.]*"' x.svg
  rlctl adversary -q --model fixed-window sliding-window-log -o again.svg
  cmp x.svg again.svg
}

@test "the picture of an exhaustive search says so, and an instant is a step in a window" {
  run -0 rlctl adversary --model --limit 2/10s fixed-window --exhaustive 3 -o x.svg --json
  assert_equal "$(gojq -c .seed <<<"$output")" null
  run -0 texts soft x.svg
  assert_line --partial 'every schedule of up to 3 requests at critical'
  refute_line --partial seed
  # All of them at one instant: the last column is 10 s later.
  run -0 rlctl adversary --model --limit 2/10s sliding-window-log -o x.svg
  run -0 texts 'soft end' x.svg
  assert_line --regexp '^\+10(\.[0-9]+)? s$'
  run -0 texts soft x.svg
  assert_line 'no schedule that was tried got more than 2 through within 10 s'
}

@test "the picture of a schedule with refunds has no curve, and says that it lacks them" {
  run -0 rlctl adversary --model --limit 2/10s gcra --cost 1,-1 -o x.svg --json
  local cost
  cost=$(gojq '[.runs[0].most.schedule[].cost] | min' <<<"$output")
  assert_equal "$cost" -1
  run -0 texts soft x.svg
  assert_line --partial 'bars: requests without refunds in '
  draws 0 path '[@class="within"]'
}

@test "the picture of a script without a bound says so" {
  echo 'return 1' >yes.lua
  rlctl adversary --tries 2000 -q --limit 4/s yes.lua -o x.svg
  run -0 texts soft x.svg
  assert_line 'bound: as many as were sent: no bound was found'
}

@test "a search, even with the fewest tries, can write its picture to standard output" {
  run -0 as svg rlctl adversary --model gcra --tries 200
  xmllint --noout - <<<"$output"
}

# --- why ---------------------------------------------------------------------------------------------

@test "the report and the picture say why each algorithm did what it did" {
  run -0 rlctl burst --model --limit 10/60s all -o x.svg
  assert_equal "$(grep -c '^why ' <<<"$output")" 8
  run -0 texts soft x.svg
  assert_line --partial 'its counter starts over at 2026-01-01T00:01:00Z, so 10 requests before that'
}

@test "the numbers of why are those of the decisions" {
  rlctl burst poisson -q --model --limit 20/s --rate 60/s fixed-window -o x.jsonl --json
  run -0 rlctl burst poisson --model --limit 20/s --rate 60/s fixed-window --json
  read -r from span before after < <(gojq -r '.runs[0] | [.worst.from_us, .worst.span_us,
    (.why | capture("so (?<b>[0-9]+) request.* and (?<a>[0-9]+) after") | .b, .a)] | @tsv' <<<"$output")
  local edge=$(((from / 1000000 + 1) * 1000000))
  assert_equal "$before" "$(gojq "select(.allowed and .at_us >= $from and .at_us < $edge) | 1" x.jsonl | wc -l)"
  assert_equal "$after" "$(gojq "select(.allowed and .at_us >= $edge and .at_us <= $from + $span) | 1" x.jsonl | wc -l)"
}

@test "a script has no such sentence, nor has a limit kept by one of several" {
  run -0 rlctl burst --model --limit 10/60s --limit 5/1s sliding-window-log --json
  assert_equal "$(gojq -c '[.runs[].why]' <<<"$output")" '[null]'
  echo 'return 1' >yes.lua
  run -0 --separate-stderr rlctl burst ./yes.lua --limit 10/60s --json
  assert_equal "$(gojq -c '.runs[0].why' <<<"$output")" null
}
