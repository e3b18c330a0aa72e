load ../support/common

# The flawed limiters of examples/pitfalls: what each of them says of itself, "$ COMMAND" and behind
# it "> what a line of its output holds", with the blanks of its columns as one.

pitfalls=$project/examples/pitfalls
setup() { cd "$pitfalls" || return; }

# commands FILE: into files of this test's folder, N.sh and what it is to print, N.expected.
commands() {
  sed -nE 's/^(--|#) ( {4,}|[$>] )/\2/p' "$1" | awk -v folder="$BATS_TEST_TMPDIR" '
    /^\$ / { file = folder "/" ++n ".sh"; print substr($0, 3) >file; next }
    /^> / { print substr($0, 3) >(folder "/" n ".expected"); next }
    { print >file }'
}

# shows FILE: what the file says of its commands is true.
shows() {
  local file=$1 command line shown=0
  rm -f "$BATS_TEST_TMPDIR"/*.sh "$BATS_TEST_TMPDIR"/*.expected
  commands "$file"
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

# block TEXT: of the README, the first block of commands behind the line that holds this.
block() {
  awk -v begin="$1" '
    index($0, begin) { on = 1 } on && /^```$/ { exit } inside; on && /^```sh$/ { inside = 1 }' README.md
}

@test "each script lets pass what it says, and its counterpart keeps the limit" {
  local file
  for file in *.lua; do shows "$file"; done
}

@test "each sequence of commands goes wrong as it says, and its counterpart does not" {
  local file
  for file in *.sh; do
    if [[ $file != server.sh ]]; then shows "$file"; fi
  done
}

@test "the README has the commands of each, to be pasted" {
  local file
  for file in *.lua *.sh; do
    [[ $file != server.sh ]] || continue
    rm -f "$BATS_TEST_TMPDIR"/*.sh
    commands "$file"
    assert_equal "$(block "[$file]($file)")" "$(cat "$BATS_TEST_TMPDIR"/*.sh)"
  done
}

@test "what the README gives to try one's own runs, and finds what is wrong" {
  run -0 bash -euo pipefail <(block '## To try your own')
  assert_line --regexp '^times-as-members\.lua +15 +10 +5 +10 +2\.00×'
  assert_line --partial 'no bound was found'
}

@test "the README tells the story of each in three sentences, and there is none without" {
  local file sentences
  for file in *.lua *.sh; do
    [[ $file != server.sh ]] || continue
    grep -qF "[$file]($file)" README.md || fail "$file is not in the README"
    sentences=$(awk -v begin="[$file]($file)" '
      index($0, begin) { on = 1 } on && /^$/ { exit } on' README.md | grep -oE '[.:?!]( |$)' | grep -c '[.?!]')
    assert_equal "$file $sentences" "$file 3"
  done
}
