load ../support/common

# Help, the version, and what `rlctl` does without a command. What is refused is in refusals.tsv.

@test "without a command the help is printed on stderr" {
  run -2 --separate-stderr rlctl
  assert_output ''
  assert_equal "${stderr_lines[0]}" 'Usage: rlctl [connection] COMMAND [options] [--] [KEY...]'
}

@test "control bytes in an argument do not reach the terminal" {
  run -2 --separate-stderr rlctl check k --limit $'5/\e[31m\n'
  [[ ${stderr_lines[0]} == "rlctl: check: --limit: '5/\\x1b[31m\\n' has unknown unit '\\x1b[31m\\n'"* ]] || fail "$stderr"
  refute_regex "$stderr" $'\e'
}

@test "--help and help print the same text on stdout" {
  run -0 --separate-stderr rlctl check --help
  assert_equal "$stderr" ''
  assert_line --index 0 'Usage: rlctl [connection] check --limit LIMIT [options] [--] KEY'
  local help=$output
  local form
  for form in 'help check' '--help check' 'check k --limit 5/60s --help' 'check -h --help' \
    'check --wait --now 5 --help'; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $form
    assert_output "$help"
  done
}

@test "-h shows usage and options on one screen, and refers to the rest" {
  local form command
  for form in 'check -h' '-h check' 'check -qh'; do
    # shellcheck disable=SC2086 # split into words
    run -0 --separate-stderr rlctl $form
    assert_line --index 0 'Usage: rlctl [connection] check --limit LIMIT [options] [--] KEY'
    assert_line --regexp '^  -q, --quiet '
    assert_line 'Connection and general options: see rlctl --help'
    refute_output --partial 'Examples:'
    refute_output --partial '--port'
  done
  for command in check run inspect reset burst debug lint quota doctor config; do
    run -0 rlctl "$command" -h
    refute_line --regexp '^.{81}'
  done
  run -0 rlctl -h
  assert_line Commands:
  assert_line 'Options of a command: see rlctl COMMAND -h'
  refute_output --partial '--port'
}

@test "-h with a KEY is an error, so that its status is not taken for an allowed request" {
  run -2 --separate-stderr rlctl check -q --limit 1/h -h myhost key
  assert_output ''
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: -h shows help and takes no KEY; name the server with -H or --host"
  run -0 rlctl check key --help
  assert_line Examples:
}

@test "help help prints the general help" {
  run -0 rlctl help help
  assert_line --partial 'Usage: rlctl'
}

@test "help fits 80 columns and ends in examples" {
  local form
  for form in --help 'check --help'; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $form
    refute_line --regexp '^.{81}'
    assert_line Examples:
    assert_line --index $((${#lines[@]} - 1)) --regexp '^  .*rlctl '
  done
}

@test "the help of check lists the algorithms and marks the default" {
  run -0 rlctl check --help
  assert_line Algorithms:
  run -0 sed -nE '/^Algorithms:/,/^$/s/^  ([a-z-]+) .*/\1/p' <<<"$output"
  assert_output 'fixed-window
sliding-window-log
sliding-window-zset
sliding-window-counter
token-bucket
gcra
leaky-bucket'
  run -0 rlctl check --help
  assert_line --regexp '^  sliding-window-log  .* \(default\)$'
  refute_output --partial concurrency
  assert_output --partial 'see below (default: sliding-window-log)'
}

# version_text: what --version prints.
version_text() {
  printf '%s\n' 'rlctl [0-9]+\.[0-9]+\.[0-9]+' 'MIT licence; [A-Za-z]+ build by [A-Za-z]+ [0-9.]+' 'Scripts:'
  (cd "$project/lua" && sha1sum -- *.lua) | awk '{ sub(/\.lua$/, "", $2); printf "  %-24s%s\n", $2, $1 }' | LC_ALL=C sort
}

@test "--version prints version, licence, build and the SHA1 of each script" {
  local option
  for option in --version -V -v 'check --version' 'check -V' 'check -v' version; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $option
    local text=$output i
    assert_equal "${#lines[@]}" "$(version_text | wc -l)"
    for i in 0 1 2; do assert_line --index "$i" --regexp "^$(version_text | sed -n "$((i + 1))p")\$"; done
    run -0 diff <(version_text | sed 1,3d) <(sed 1,4d <<<"$text" | LC_ALL=C sort)
  done
}

@test "version --json is an object" {
  local form version
  version=$(rlctl version | sed -n '1s/rlctl //p')
  for form in 'version --json' '--json version' '--version --json' 'check -V --json'; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $form
    assert_equal "$(jq -r 'keys_unsorted, .version | @text' <<<"$output")" \
      "[\"version\",\"licence\",\"build\",\"scripts\"]"$'\n'"$version"
    assert_equal "$(jq -r '.scripts | to_entries[] | "\(.value)  \(.key).lua"' <<<"$output" | LC_ALL=C sort -k2)" \
      "$(cd "$project/lua" && sha1sum -- *.lua)"
  done
  for form in 'help version' 'version --help'; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $form
    assert_line --index 0 --partial 'Usage: rlctl '
  done
}
