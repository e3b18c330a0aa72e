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

# shows FILE [replay]: what the file says of its commands is true; of those that replay a log alone,
# or of all others.
shows() {
  local file=$1 replay=${2-} command line shown=0
  rm -f "$BATS_TEST_TMPDIR"/*.sh "$BATS_TEST_TMPDIR"/*.expected
  commands "$file"
  for command in "$BATS_TEST_TMPDIR"/*.sh; do
    if grep -q -- --replay "$command"; then [[ $replay ]] || continue; else [[ ! $replay ]] || continue; fi
    run -0 timeout 60 bash -euo pipefail "$command" </dev/null 3>&- 4>&-
    output=$(tr -s ' ' <<<"$output")
    while IFS= read -r line; do
      [[ $output == *"$line"* ]] || fail "$file: not '$line', but: $output"
      shown=$((shown + 1))
    done <"${command%.sh}.expected"
  done
  ((shown)) || fail "$file has no such command"
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

@test "a recorded traffic shows it as well" {
  grep -q -- --replay < <(rlctl burst --help) || skip 'this rlctl has no --replay'
  shows minute-counter.lua replay
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
