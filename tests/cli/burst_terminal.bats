load ../support/common

# The report of `rlctl burst` on terminals of several widths, and its progress.

setup() { script -qec true /dev/null >/dev/null </dev/null || skip 'script(1) has no terminal to give here'; }

# on_terminal COLUMNS COMMAND: what a terminal so wide gets, without colours, in $output; with them
# in $raw.
on_terminal() {
  raw=$(TERM=xterm script -qec "stty cols $1 rows 50; $2" /dev/null </dev/null | tr -d '\r')
  # shellcheck disable=SC2001 # bash has no such pattern
  output=$(sed $'s/\e\\[[0-9]*m//g' <<<"$raw")
  mapfile -t lines <<<"$output"
}

# Characters, not bytes.
widest() {
  local line most=0
  for line in "${lines[@]}"; do
    if ((${#line} > most)); then most=${#line}; fi
  done
  echo "$most"
}

@test "80 columns are the text of a pipe, in colour" {
  on_terminal 80 'rlctl burst --model'
  assert_equal "$output" "$(rlctl burst --model)"
  # Allowed is green and denied red; what is above the limit is red.
  [[ $raw == *$'\e[32m█'* && $raw == *$'\e[31m·'* && $raw == *$'\e[31m2.00×'* ]]
}

@test "40 columns break nothing" {
  local pattern
  for pattern in boundary spike poisson; do
    on_terminal 40 "rlctl burst $pattern --model --algorithm all --keys 3 --limit 50/s"
    (($(widest) <= 40)) || fail "$output"
    assert_line --regexp '^sliding-window-counter +[0-9]+'
    assert_line --regexp '^ denied │'
    assert_line --regexp '^ +longest shut out$|^ +longest shut out'
  done
}

@test "200 columns have one table, and a wider picture" {
  on_terminal 200 'rlctl burst --model'
  assert_line --regexp '^fixed-window +2000 +2000 +0 +2000  2\.00× +19\.99 ms +-10 ms +- +- +- +-$'
  (($(widest) > 110 && $(widest) <= 200)) || fail "$(widest)"
}

@test "the narrowest terminal gets something" {
  on_terminal 5 'rlctl burst --model'
  assert_line --partial '2.00×'
}

@test "NO_COLOR takes the colours" {
  on_terminal 80 'NO_COLOR=1 rlctl burst --model'
  assert_equal "$raw" "$output"
}

@test "what takes longer than a second shows how far it is, and wipes that out" {
  on_terminal 80 'rlctl burst steady --model --rate 1000000/s --duration 30s -q; rlctl burst steady --model --rate 1000000/s --duration 30s --algorithm fixed-window,gcra 2>&1'
  [[ $raw == *'%  of 60000000 requests; Ctrl-C stops'* ]] || fail "$(cat -v <<<"$raw")"
  [[ $raw == *$'\e[K'*'pattern'* ]]
  assert_equal "$(grep -c 'Ctrl-C stops' <<<"${raw#*pattern}")" 0
}

@test "nothing of it in a pipe" {
  run -0 --separate-stderr rlctl burst steady --model --rate 1000000/s --duration 15s
  assert_equal "$stderr" ''
}
