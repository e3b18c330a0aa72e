# needs: server
load ../support/common

# The flawed limiters of examples/pitfalls: their comments have "$ COMMAND" lines, each followed by "> TEXT"
# with the text of a line of its output, with runs of blanks reduced to one. limiters/pitfalls_test.cc runs those of scripts.

pitfalls=$project/examples/pitfalls
setup() { cd "$pitfalls" || return; }

# shown_commands FILE: writes the commands to N.sh in this test's folder, and their expected output to N.expected.
shown_commands() {
  sed -nE 's/^(--|#) ( {4,}|[$>] )/\2/p' "$1" | awk -v folder="$BATS_TEST_TMPDIR" '
    /^\$ / { file = folder "/" ++n ".sh"; print substr($0, 3) >file; next }
    /^> / { print substr($0, 3) >(folder "/" n ".expected"); next }
    { print >file }'
}

# is_true FILE: the commands in the file print what the file says.
is_true() {
  local file=$1 command line shown=0
  rm -f "$BATS_TEST_TMPDIR"/*.sh "$BATS_TEST_TMPDIR"/*.expected
  shown_commands "$file"
  for command in "$BATS_TEST_TMPDIR"/*.sh; do
    run -0 timeout 300 bash -euo pipefail "$command" </dev/null 3>&- 4>&-
    output=$(tr -s ' ' <<<"$output")
    while IFS= read -r line; do
      [[ $output == *"$line"* ]] || fail "$file: not '$line', but: $output"
      shown=$((shown + 1))
    done <"${command%.sh}.expected"
  done
  ((shown)) || fail "$file has no such command"
}

# block_after TEXT: prints the first block of commands in the README after the line that contains TEXT.
block_after() {
  awk -v begin="$1" '
    index($0, begin) { on = 1 } on && /^```$/ { exit } inside; on && /^```sh$/ { inside = 1 }' README.md
}

@test "each sequence of commands fails as it says, and its counterpart does not" {
  local file
  for file in *.sh; do
    if [[ $file != server.sh ]]; then is_true "$file"; fi
  done
}

@test "the README has the commands of each file, ready to paste" {
  local file
  for file in *.lua *.sh; do
    [[ $file != server.sh && $file != *-settle.lua ]] || continue
    rm -f "$BATS_TEST_TMPDIR"/*.sh
    shown_commands "$file"
    assert_equal "$(block_after "[$file]($file)")" "$(cat "$BATS_TEST_TMPDIR"/*.sh)"
  done
}

@test "the README's commands for testing a script run and find its flaw" {
  run -0 bash -euo pipefail <(block_after '## To try your own')
  assert_line --regexp '^times-as-members\.lua +15 +10 +5 +10 +2\.00×'
  assert_line --partial 'no bound was found'
}
