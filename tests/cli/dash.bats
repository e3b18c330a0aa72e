# needs: server
load ../support/common

# What - means in each operand and each option that takes a file or a key. It is standard input or output where the
# manual says so; everywhere else it is refused, since a script that pipes its keys in would otherwise limit one key, or
# write one file, of that name. After --, it is a KEY.

setup_file() { start_server; }
setup() {
  cd "$BATS_TEST_TMPDIR"
  cli FLUSHALL >/dev/null
  printf 'timeout = "120s"\n[policy.p]\nkey = "p:%%s"\nlimit = "5/60s"\n' >c.toml
  export RLCTL_CONFIG=$PWD/c.toml
  echo 'return 1' >one.lua
  printf 'a\nb\n' >input
  # Files of that name, which are neither read nor written.
  echo untouched >./-
}

# refused: an error names it, and standard input is left for whoever reads it.
# reads: standard input is read to its end. writes: something is on standard output.
matrix() {
  cat <<'END'
refused|check --limit 5/60s -
refused|check --limit 5/60s --peek -
refused|check --limit 5/60s --reserve 1 --hold 30s -
refused|check --policy p -
refused|check --limit 5/60s k -
reads|check --limit 5/60s --batch
reads|check --limit 5/60s --batch -
reads|check --limit 5/60s --batch=-
refused|check --limit 5/60s --batch --textfile -
refused|settle --limit 5/60s - id 1
refused|settle --limit 5/60s k - 1
refused|settle --limit 5/60s k id -
refused|settle --policy p - id 1
refused|run --limit 5/60s - -- true
refused|run --concurrency 1 - -- true
refused|run --policy p - -- true
reads|inspect -
reads|inspect --policy p -
refused|inspect k -
refused|inspect - k
refused|inspect - -
refused|inspect --match -
refused|list -
refused|audit -
reads|reset -
reads|reset --limit 5/60s -
reads|reset --policy p -
refused|reset k -
refused|reset --match -
refused|reset k --save -
refused|reset --restore -
reads|quota --limit 5/60s -
reads|quota --policy p -
refused|quota k -
refused|quota k --textfile -
refused|burst -
refused|burst --script one.lua - , 1
refused|burst --script one.lua --keys -
refused|burst --script one.lua --concurrency 2 --release -
refused|burst --script one.lua --reserve 2 --settle -
reads|burst --script - --args {now_ms}
reads|burst --script one.lua --args {now_ms} --compare -
reads|burst --replay -
refused|burst --model -q --output -
writes|burst adversary --model -q --algorithm fixed-window --limit 2/10s --write -
refused|burst adversary -
reads|debug - k --trace
refused|debug one.lua - --trace
refused|debug one.lua k - , 1 --trace
refused|debug --policy p - --trace
refused|debug one.lua --keys - --trace
reads|debug one.lua k --commands -
reads|debug one.lua --replay - --trace
writes|debug one.lua k --coverage -q --lcov -
refused|debug --dap=-
reads|lint -
refused|lint one.lua --keys -
refused|lint one.lua --concurrency 2 --release -
refused|lint one.lua --reserve 2 --settle -
refused|scripts list -
refused|scripts show -
refused|scripts load -
refused|scripts export -
refused|scripts call - k --limit 5/60s
refused|scripts call gcra - --limit 5/60s
refused|scripts call gcra --policy p -
refused|config check -
refused|config show -
refused|config path -
refused|doctor -
refused|completion bash -
refused|completion -
refused|help -
refused|version -
refused|-
refused|--config - check k --limit 5/60s
refused|--config=- inspect k
refused|--socket - inspect k
refused|-s - inspect k
refused|--password-file - inspect k
refused|--tls -H h --cacert - inspect k
refused|--tls -H h --cert - --key one.lua inspect k
refused|--tls -H h --cert one.lua --key - inspect k
END
}

# with_input WORD…: runs rlctl with the input, of which the file rest has what it has not read.
with_input() {
  local status=0
  { timeout --kill-after=5 120 rlctl "$@" >out 2>err || status=$?; cat >rest; } <input
  return "$status"
}

@test "a - is standard input or output, or is refused" {
  local meaning command status
  while IFS='|' read -r meaning command; do
    set -f
    status=0
    # shellcheck disable=SC2086 # one word for each argument
    with_input $command || status=$?
    set +f
    case $meaning in
      refused)
        [[ $status == [23] || $status == 125 ]] || fail "status $status: $command"
        # A plugin reports its errors on standard output.
        grep -q "'-'" out err || grep -q '^rlctl: .*- reads KEYs from standard input, and must be the only KEY' out err ||
          grep -q 'UNKNOWN - - reads KEYs from standard input' out || fail "$command: $(cat out err)"
        cmp -s input rest || fail "it has read standard input: $command"
        ;;
      reads)
        [[ ! -s rest ]] || fail "it has not read standard input: $command: $(cat out err)"
        if grep -q "'-'" err; then fail "$command: $(cat err)"; fi
        ;;
      writes)
        [[ -s out ]] || fail "nothing is written: $command: $(cat err)"
        cmp -s input rest || fail "it has read standard input: $command"
        ;;
    esac
    [[ $(<./-) == untouched ]] || fail "it has written the file: $command"
    [[ $(cli EXISTS - p:- '{-}:leases') == 0 ]] || fail "it has written the key: $command"
  done < <(matrix)
}

# options_of COMMAND…: its options that take a file or a key, as the help names them.
options_of() {
  rlctl "$@" --help | sed -nE 's/^ {2,6}(-., )?(--[a-z-]+)(\[?[= ])(FILE|PATH|KEY|SCRIPT)\]?( .*|$)/\2/p' | sort -u
}

@test "the matrix has each command, and each option that takes a file or a key" {
  local rows command options option
  rows=$(matrix)
  lines_of all_commands commands
  for command in "${all_commands[@]}"; do
    grep -qE "^[a-z]+\|$command( .*)? -( |$)" <<<"$rows" || fail "no row has: $command -"
    mapfile -t options < <(comm -23 <(options_of "$command") <(options_of))
    for option in "${options[@]}"; do
      [[ $command == list && $option == --sort ]] || # a KEY to sort by
        grep -qE "^[a-z]+\|$command .*${option}[ =]-( |$)" <<<"$rows" || fail "no row has: $command $option -"
    done
  done
  lines_of options options_of
  for option in "${options[@]}"; do
    grep -qE "^refused\|.*${option}[ =]- " <<<"$rows" || fail "no row has: $option -"
  done
}

@test "after --, a - is the KEY of that name in every command, and hints say so" {
  local command
  run -0 rlctl check --limit 5/60s --algorithm gcra -- - <input
  assert_output --partial 'allowed key=- '
  run -0 rlctl inspect -- - <input
  assert_output --partial 'algorithm'
  run -0 rlctl list -- -
  run -0 rlctl audit -- -
  run -0 rlctl quota -- - <input
  run -0 rlctl scripts call gcra --limit 5/60s -- -
  run -0 rlctl debug gcra --limit 5/60s --trace -- -
  assert_output --partial "'-' copied from"
  run -0 rlctl reset -- - <input
  assert_output --partial 'removed key=-'
  assert_equal "$(cli DBSIZE)" 0
  run -1 rlctl settle --limit 5/60s -- - id 1
  rlctl check -q --limit 5/60s -- -
  run -0 rlctl reset - <<<'-'
  assert_output --partial 'removed key=-'
  run -2 --separate-stderr rlctl check --limit 5/60s -
  assert_equal "$stderr" "rlctl: check: unexpected argument '-': standard input is not read here
  hint: --batch reads KEYs from standard input; -- - is taken literally"
  run -2 --separate-stderr rlctl list -
  assert_equal "${stderr_lines[1]}" '  hint: -- - is taken literally'
  run -125 --separate-stderr rlctl run --limit 5/60s - -- true
  assert_equal "$stderr" "rlctl: run: unexpected argument '-': standard input is not read here
Try 'rlctl run --help'."
  run -2 --separate-stderr rlctl --config - check k --limit 5/60s
  assert_equal "${stderr_lines[1]}" '  hint: a file of that name is ./-'
  RLCTL_CONFIG=- run -2 --separate-stderr rlctl check k --limit 5/60s
  assert_equal "${stderr_lines[1]}" '  hint: a file of that name is ./-'
  run -2 --separate-stderr rlctl inspect a -
  assert_equal "${stderr_lines[1]}" '  hint: -- - is taken literally'
}
