# needs: server
load ../../support/common

# The report of `rlctl burst` on terminals of several widths, and its progress line.

setup() { needs_terminal; }

# on_terminal COLUMNS COMMAND: sets $output to what a terminal of this width shows, without colours, and $raw
# to the same with colours.
on_terminal() {
  raw=$(TERM=xterm script -qec "stty cols $1 rows 50; $2" /dev/null </dev/null | tr -d '\r')
  take_apart
}
# until_on_terminal WORDS COMMAND: the same on 80 columns, for a command that is ended by Ctrl-C once the
# screen has shown WORDS.
until_on_terminal() {
  words=$1 run at_terminal 'wait_until grep -qF "$words" "$screen"; printf "\003"' "stty cols 80 rows 50; $2"
  assert_equal "$status" 130
  raw=$(tr -d '\r' <"$BATS_TEST_TMPDIR/screen")
  take_apart
}
take_apart() {
  # shellcheck disable=SC2001 # bash has no such pattern
  output=$(sed $'s/\e\\[[0-9]*m//g' <<<"$raw")
  mapfile -t lines <<<"$output"
}

# fits COLUMNS: no line has more characters.
fits() { refute grep -E ".{$(($1 + 1))}" <<<"$output"; }

@test "80 columns show the same text as a pipe, in colour unless NO_COLOR is set" {
  on_terminal 80 'rlctl burst --model 2>/dev/null'
  assert_equal "$output" "$(rlctl burst --model)"
  # Allowed is green and denied is red, as is a value above the limit.
  [[ $raw == *$'\e[32m█'* && $raw == *$'\e[31m·'* && $raw == *$'\e[31m2.00×'* ]]
  on_terminal 80 'NO_COLOR=1 rlctl burst --model 2>/dev/null'
  assert_equal "$raw" "$output"
}

@test "the report fits 40 columns" {
  local pattern
  for pattern in $(scaled poisson 'boundary spike poisson'); do
    on_terminal 40 "rlctl burst $pattern --model all --keys 3 --limit 50/s 2>/dev/null"
    fits 40
    assert_line --regexp '^sliding-window-counter +[0-9]+'
    assert_line --regexp '^ denied │'
    assert_line --regexp '^ +longest lockout'
  done
}

@test "200 columns have one table and a wider chart, and even the narrowest terminal has a report" {
  on_terminal 200 'rlctl burst --model 2>/dev/null'
  assert_line --regexp '^fixed-window +2000 +2000 +0 +2000  2\.00× +19\.99 ms +-10 ms +- +- +- +-$'
  fits 200
  assert grep -qE '.{111}' <<<"$output"
  on_terminal 5 'rlctl burst --model 2>/dev/null'
  assert_line --partial '2.00×'
}

@test "a run longer than a second shows its progress and then erases it" {
  until_on_terminal 'Ctrl-C stops' \
    'rlctl burst steady --model --rate 1000000/s --duration 1000s fixed-window gcra 2>&1'
  [[ $raw == *'%  of 2000000000 requests; '*' left; Ctrl-C stops'* ]] || fail "$(cat -v <<<"$raw")"
  [[ $raw == *$'\e[K'*'pattern'* ]]
  assert_equal "$(grep -c 'Ctrl-C stops' <<<"${raw#*pattern}")" 0
  # Where nobody would see it, there is none.
  run -0 ends_by INT '(($(work "$command_pid") > 110))' \
    bash -c "exec rlctl burst steady --model --rate 1000000/s --duration 1000s gcra >/dev/null 2>'$BATS_TEST_TMPDIR/errors'"
  assert_equal "$(<"$BATS_TEST_TMPDIR/errors")" ''
}

# --- under the real clock ----------------------------------------------------------------------------

@test "under the real clock the tables fit, and say how late requests were sent" {
  local columns
  for columns in $(scaled '40 200' '40 80 200'); do
    on_terminal "$columns" \
      "rlctl burst steady --clock real --limit 50/1s --requests 10 $(scaled 'gcra sliding-window-counter' all) 2>/dev/null"
    fits "$columns"
    assert_line --regexp ' lag( +sender)?$'
    assert_line --regexp ' sender$'
  done
}

@test "a sender that fell behind is marked in red" {
  on_terminal 80 'rlctl burst steady --clock real --limit 50/500ms --rate 5000000/s --requests 10000 gcra 2>/dev/null'
  [[ $raw == *$'\e[31mfell behind'* ]] || fail "$(cat -v <<<"$raw")"
}

@test "the progress of a run in real time and of the wait for an edge is shown, but not with --quiet or in a pipe" {
  local slow='rlctl burst steady --clock real --limit 50/500ms --rate 50/s --duration 1500ms'
  on_terminal 80 "$slow gcra token-bucket 2>&1 >/dev/null"
  [[ $raw =~ [0-9]+%\ \ of\ the\ traffic\;\ gcra:\ [0-9]+\ allowed,\ [0-9]+\ denied ]] || fail "$(cat -v <<<"$raw")"
  [[ $raw == *'of the traffic; token-bucket: '* ]] || fail "$(cat -v <<<"$raw")"
  on_terminal 80 "$slow gcra -q 2>&1"
  refute_output --partial 'of the traffic'
  # shellcheck disable=SC2086 # split into words
  run -0 $slow gcra
  refute_output --partial 'of the traffic'
  until_on_terminal 'for the edge' 'rlctl burst --clock real --limit 50/1000d gcra 2>&1 >/dev/null'
  [[ $raw == *'waiting '*' s for the edge of a window'* ]] || fail "$(cat -v <<<"$raw")"
}
