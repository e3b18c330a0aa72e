# needs: server
load ../support/common

# What - means in each operand and each option that takes a file or a key. It is standard input or output where the
# manual says so; everywhere else it is refused (refusals.tsv), since a script that pipes its keys in would otherwise
# limit one key, or write one file, of that name. After --, it is a KEY (dash.t).

# reads: standard input is read to its end. writes: something is on standard output.
matrix() {
  cat <<'END'
reads|check --limit 5/60s --batch -
reads|check --limit 5/60s --batch=-
reads|inspect -
reads|inspect --policy p -
reads|reset -
reads|reset --limit 5/60s -
reads|reset --policy p -
reads|quota --limit 5/60s -
reads|quota --policy p -
reads|burst - --args {now_ms}
reads|burst one.lua --args {now_ms} --compare -
reads|burst --replay -
reads|adversary - --args {now_ms}
writes|adversary --model -q fixed-window --limit 2/10s --write -
reads|debug - k --trace
reads|debug one.lua k --commands -
reads|debug one.lua --replay - --trace
writes|debug one.lua k --coverage -q --lcov -
reads|lint -
END
}

@test "a - is standard input or output where the manual says so" {
  local meaning command
  start_server
  cd "$BATS_TEST_TMPDIR"
  printf 'timeout = "120s"\n[policy.p]\nkey = "p:%%s"\nlimit = "5/60s"\n' >c.toml
  export RLCTL_CONFIG=$PWD/c.toml
  echo 'return 1' >one.lua
  printf 'a\nb\n' >input
  # A file of that name, which is neither read nor written.
  echo untouched >./-
  while IFS='|' read -r meaning command; do
    set -f
    # shellcheck disable=SC2086 # one word for each argument
    { timeout --kill-after=5 120 rlctl $command >out 2>err || (($? < 124)) || fail "waited two minutes for the end of: $command"
      cat >rest; } <input
    set +f
    if [[ $meaning == reads ]]; then
      [[ ! -s rest ]] || fail "it has not read standard input: $command: $(cat out err)"
      if grep -q "'-'" err; then fail "$command: $(cat err)"; fi
    else
      [[ -s out ]] || fail "nothing is written: $command: $(cat err)"
      cmp -s input rest || fail "it has read standard input: $command"
    fi
    [[ $(<./-) == untouched ]] || fail "it has written the file: $command"
  done < <(matrix)
  assert_equal "$(cli EXISTS - p:-)" 0
}

# options_of COMMAND…: its options that take a file or a key, as the help names them.
options_of() {
  rlctl "$@" --help | sed -nE 's/^ {2,6}(-., )?(--[a-z-]+)(\[?[= ])(FILE|PATH|KEY|SCRIPT)\]?( .*|$)/\2/p' | sort -u
}

@test "each command, and each option that takes a file or a key, is in the matrix or refuses a -" {
  local rows command options option general end=$'\n'
  # has REGEXP: whether a row begins with what matches.
  has() { [[ $'\n'$rows$'\n' =~ $'\n'$1 ]]; }
  rows=$(matrix && awk -F'\t' "/^rlctl/ { sub(/^rlctl ?/, \"\"); sub(/ ?[.][.][.].*/, \"\"); words = \$0; next }
    \$2 ~ /'-'|^- reads/ { print \"refused|\" words \" \" \$1 }" "$project/tests/cli/refusals.tsv")
  lines_of all_commands commands
  lines_of general options_of
  for command in "${all_commands[@]}"; do
    has "[a-z]+\\| ?$command( [^$end]*)? -[ $end]" || fail "no row has: $command -"
    mapfile -t options < <(comm -23 <(options_of "$command") <(printf '%s\n' "${general[@]}"))
    for option in "${options[@]}"; do
      [[ $command == list && $option == --sort ]] || # a KEY to sort by
        has "[a-z]+\\| ?$command [^$end]*${option}[ =]-[ $end]" || fail "no row has: $command $option -"
    done
  done
  for option in "${general[@]}"; do
    has "refused\\|[^$end]*${option}[ =]-[ $end]" || fail "no row has: $option -"
  done
}
