load ../support/common

# No test in this file needs a server: wrong usage is reported before anything is sent.

# wrong MESSAGE ARGUMENT…: the command is refused with exactly this message, and a hint or a pointer to
# the help.
wrong() {
  local message=$1
  shift
  run -2 --separate-stderr rlctl "$@"
  assert_output ''
  assert_equal "${stderr_lines[0]}" "rlctl: $message"
  assert_equal "${#stderr_lines[@]}" 2
  assert_regex "${stderr_lines[1]}" "^(Try 'rlctl (check )?--help'\.|  hint: .+)$"
}

hint() { assert_equal "${stderr_lines[1]}" "  hint: $1"; }

@test "a mistyped command is refused with a suggestion" {
  wrong "unknown command 'chekc'; did you mean 'check'?" chekc
  wrong "unknown command 'chekc'; did you mean 'check'?" chekc k --limit 5/60s
  wrong "unknown command 'frobnicate'" frobnicate
  wrong "unknown command 'nope'" help nope
  wrong "unknown command 'CHECK'; did you mean 'check'?" CHECK k
  wrong "unknown command 'verison'; did you mean 'version'?" verison
}

@test "a mistyped option is refused with a suggestion" {
  wrong "check: unknown option '--limti'; did you mean '--limit'?" check --limti 3
  wrong "check: unknown option '-limit'; did you mean '--limit'?" check k -limit 5/60s
  wrong "check: unknown option '--frobnicate'" check k --limit 5/60s --frobnicate
  wrong "check: unknown option '-z'" check k --limit 5/60s -z
  wrong "check: unknown option '--lim'" check k --lim 5/60s
  wrong "check: unknown option '--Limit'; did you mean '--limit'?" check k --Limit 5/60s
}

@test "the first of several unknown options is named" {
  wrong "check: unknown option '--foo'" check --foo --bar k
}

@test "a command's option before the command is refused with a hint" {
  wrong "unknown option '--limit'" --limit 5/60s check k
  hint 'put the options of a command after the command'
}

@test "a mistake before the command has its own hint" {
  wrong "option '--url' needs a value: --url URL" --url
  refute_output --partial 'put the options'
  wrong "unknown option '--bogus'" --bogus check k
  refute_output --partial 'put the options'
  wrong "unknown option '-q'" -q check k
  hint 'put the options of a command after the command'
}

@test "a missing value is named" {
  wrong "check: option '--limit' needs a value: --limit LIMIT" check k --limit
  wrong "check: option '-u' needs a value: -u URL" check k -u
}

@test "a value for an option that has none is refused" {
  wrong "check: option '--quiet' takes no value" check k --limit 5/60s --quiet=3
}

@test "without a command, --json reports an error" {
  run -2 --separate-stderr rlctl --json
  assert_equal "$output" ''
  assert_equal "$(jq -r .error.message <<<"$stderr")" 'no command given'
}

@test "without a command the help is printed on stderr" {
  run -2 --separate-stderr rlctl
  assert_output ''
  assert_equal "${stderr_lines[0]}" 'Usage: rlctl [connection] COMMAND [options] [--] [KEY...]'
}

# --- the key ----------------------------------------------------------------------------------------

@test "a missing or an empty key is refused" {
  wrong 'check: no KEY given' check --limit 5/60s
  hint 'rlctl check KEY --limit 5/60s'
  wrong 'check: KEY is empty' check '' --limit 5/60s
  wrong 'check: KEY is empty' check --limit 5/60s -- ''
  hint 'is the variable set?'
}

@test "a second key is refused with a hint about its likely meaning" {
  wrong "check: expected one KEY, but got 2: the second is 'b'" check a b --limit 5/60s
  hint '--batch checks many keys; quote a key that contains blanks'
  wrong "check: expected one KEY, but got 2: the second is '5'" check k --limit 5/60s --wait 5
  hint 'write a time for --wait as --wait=5s'
}

@test "a time after an option whose value needs '=' is refused, not taken for a key" {
  wrong "check: --wait takes its value after '=', not as the next argument '5s'" \
    check k --limit 5/60s --wait 5s
  hint 'write --wait=5s, or -- before an argument that only looks like it'
  wrong "check: --wait takes its value after '=', not as the next argument '1h'" \
    check --limit 5/60s --wait 1h k
  run -2 --separate-stderr rlctl inspect k --watch 5s
  assert_equal "${stderr_lines[0]}" \
    "rlctl: inspect: --watch takes its value after '=', not as the next argument '5s'"
  hint 'write --watch=5s, or -- before an argument that only looks like it'
}

@test "after -- everything is a key" {
  wrong "check: expected one KEY, but got 2: the second is '--json'" \
    check --limit 5/60s -- k --json
}

# --- limits -----------------------------------------------------------------------------------------

@test "a missing limit is refused" {
  wrong 'check: --limit is missing' check k
  hint '--limit 5/60s allows 5 in any 60 seconds'
}

@test "each part of a limit is checked, and the error shows the limit" {
  # limit_test.cc checks the complete messages.
  local limit
  for limit in 5/5q 5/fortnight 5/60 5 '' 5/ 5/0s 5/2000d 5/10m1h 0/60s 1000000001/s \
    99999999999999999999/s 0x5/60s -5/60s 1e3/60s; do
    run -2 --separate-stderr rlctl check k --limit "$limit"
    assert_output ''
    [[ ${stderr_lines[0]} == "rlctl: check: --limit: '$limit' "* ]] || fail "$stderr"
    assert_equal "${stderr_lines[-1]}" "Try 'rlctl check --help'."
  done
}

@test "two limits with the same window are refused, however it is spelled" {
  wrong 'check: --limit: two limits have the same window, 60s; give each its own' \
    check k --limit 5/60s --limit 6/1m
}

@test "several limits on a key that cannot carry a hash tag are refused" {
  wrong "check: key '}k' cannot carry several limits, since no hash tag can be made of it; write a \
tag into it, such as '{tag}}k'" check '}k' --limit 5/60s --limit 1/s
}

@test "an unknown algorithm is refused, and the known ones are listed" {
  wrong "check: --algorithm: unknown algorithm 'gcar'; did you mean 'gcra'?" \
    check k --limit 5/60s --algorithm gcar
  wrong "check: --algorithm: unknown algorithm 'GCRA'; did you mean 'gcra'?" \
    check k --limit 5/60s --algorithm GCRA
  hint 'it is one of fixed-window, sliding-window-log, sliding-window-zset, sliding-window-counter, token-bucket, gcra or leaky-bucket'
}

@test "concurrency, which has its own contract, is refused with a pointer to the manual" {
  wrong 'check: --algorithm: concurrency gives leases to holders and takes them back instead of counting requests; rlctl-scripts(7) describes its script' \
    check k --limit 5/60s --algorithm concurrency
}

@test "a burst that the algorithm does not support, or out of range, is refused" {
  wrong 'check: sliding-window-log has no burst; token-bucket, gcra and leaky-bucket have one' \
    check k --limit 5/60s --burst 3
  wrong 'check: burst must be from 1 to 1000000000, not 0' \
    check k --limit 5/60s --algorithm gcra --burst 0
  wrong "check: --burst must be a whole number in decimal digits, not '1.5'" \
    check k --limit 5/60s --algorithm gcra --burst 1.5
  wrong 'check: limit 1000000000 x burst 1000000000 is more than 2^53; use a smaller limit or a smaller burst' \
    check k --limit 1000M/s --algorithm gcra
  wrong 'check: burst 1000000000 takes more than 4e15 us to refill at 1/100000000s; use a smaller burst' \
    check k --limit 1/100000000s --algorithm gcra --burst 1000000000
}

# --- other values -----------------------------------------------------------------------------------

@test "a cost must be a whole number in decimal digits, within the algorithm's range" {
  local cost
  for cost in x '' 1.5 0x10 1e3 +1 ' 1'; do
    wrong "check: --cost must be a whole number in decimal digits, not '$cost'" \
      check k --limit 5/60s --cost "$cost"
  done
  wrong "check: --cost is out of range: '99999999999999999999'" \
    check k --limit 5/60s --cost 99999999999999999999
  wrong 'check: cost 10001 is too large for sliding-window-log, which takes up to 10000; gcra takes more' \
    check k --limit 5/60s --cost 10001
  wrong 'check: leaky-bucket takes no refund: cost -1 must be 0 or more' \
    check k --limit 5/60s --cost -1 --algorithm leaky-bucket
}

@test "a time must be whole microseconds, or ISO 8601 with a zone" {
  local now why
  while IFS='|' read -r now why; do
    wrong "check: --now: '$now' $why; write whole microseconds since 1970, or ISO 8601 with a zone such as 2026-11-20T06:11:15.155201Z" \
      check k --limit 5/60s --now "$now"
  done <<'TABLE'
yesterday|is not a time
2026-11-20T06:11:15|has no zone
2026-02-30T06:11:15Z|has an invalid date
2026-11-20T24:00:00Z|has an invalid time of day
2026-11-20T06:11:15.1552011Z|has more than six decimals
2026-11-20T06:11:155Z|has more than two digits of seconds
2026-11-20T06:11:15Zzz|has extra text after its time zone
-5|is not a time
TABLE
  wrong "check: --now: '4000000000000001' is out of range; it must be from 1970 to 2096-10-02T07:06:40.000000Z (4000000000000000 us)" \
    check k --limit 5/60s --now 4000000000000001
}

@test "--timeout and --wait need a unit, and --timeout must not be zero" {
  wrong "check: --timeout: '1' has no unit after 1; use us, ms, s, m, h or d" \
    check k --limit 5/60s --timeout 1
  wrong "check: --timeout: '0s' leaves no time to answer" check k --limit 5/60s --timeout 0s
  wrong "check: --wait: '5' has no unit after 5; use us, ms, s, m, h or d" check k --limit 5/60s --wait=5
  wrong "check: --wait: '' has no duration; write it like 60s or 1h30m" check k --limit 5/60s --wait=
}

@test "an unknown answer for --on-error is refused" {
  wrong "check: --on-error: unknown answer 'maybe'; use fail, allow or deny" \
    check k --limit 5/60s --on-error maybe
}

@test "options that contradict each other are refused" {
  wrong 'check: --wait and --now cannot be combined: a given time does not advance' \
    check k --limit 5/60s --wait --now 5
  wrong 'check: --wait and --batch cannot be combined: one key would delay all others' \
    check --limit 5/60s --wait --batch
  wrong 'check: --wait and --peek cannot be combined: a peek takes no units' \
    check k --limit 5/60s --wait --peek
  wrong "check: --peek takes nothing, so --cost must be 0 or more, not '-1'" \
    check k --limit 5/60s --peek --cost -1
  wrong "check: unexpected argument 'k': --batch reads its keys from one file or standard input" \
    check k --limit 5/60s --batch=file
}

@test "wrong usage is reported before a missing server" {
  wrong "check: --limit: '5' is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min" \
    -u unix:///nowhere/at/all check k --limit 5
}

@test "control bytes in an argument do not reach the terminal" {
  run -2 --separate-stderr rlctl check k --limit $'5/\e[31m\n'
  [[ ${stderr_lines[0]} == "rlctl: check: --limit: '5/\\x1b[31m\\n' has unknown unit '\\x1b[31m\\n'"* ]] || fail "$stderr"
  refute_regex "$stderr" $'\e'
}

@test "wrong usage with --json is one JSON object on stderr" {
  run -2 --separate-stderr rlctl check k --limti 5/60s --json
  assert_output ''
  assert_equal "$stderr" \
    '{"error":{"code":"usage","message":"unknown option '"'--limti'; did you mean '--limit'?"'","hint":null}}'
  run -2 --separate-stderr rlctl --json chekc
  run -0 jq -er .error.message <<<"$stderr"
  assert_output "unknown command 'chekc'; did you mean 'check'?"
}

# --- help -------------------------------------------------------------------------------------------

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

@test "-h with a host before the command is an error that names -H" {
  wrong "unknown command '127.0.0.1'" -h 127.0.0.1 check k --limit 5/60s
  hint '-h shows help; name the server with -H or --host'
  wrong "unknown command 'myhost'" -p 7 -h myhost -n 1 check k --limit 5/60s
  hint '-h shows help; name the server with -H or --host'
  wrong "unknown command 'chekc'; did you mean 'check'?" -h chekc
  assert_equal "${stderr_lines[1]}" "Try 'rlctl --help'."
}

@test "-h with a KEY is an error, so that its status is not taken for an allowed request" {
  run -2 --separate-stderr rlctl check -q --limit 1/h -h myhost key
  assert_output ''
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: -h shows help and takes no KEY; name the server with -H or --host"
  run -0 rlctl check key --help
  assert_line Examples:
}

@test "an argument that looks like several short options is shown completely" {
  run -2 --separate-stderr rlctl check --limit 5/s -foo
  assert_equal "${stderr_lines[0]}" "rlctl: check: unknown option '-foo'"
  assert_equal "${stderr_lines[1]}" "  hint: write -- before a KEY that begins with '-'"
}

@test "--now refuses times in seconds and milliseconds" {
  local now
  for now in "$(date +%s)" "$(date +%s%3N)"; do
    run -2 --separate-stderr rlctl check k --limit 5/60s --now "$now"
    assert_regex "${stderr_lines[0]}" "^rlctl: check: --now: '$now' looks like (milli)?seconds "
  done
  run -0 rlctl -u private: check k --limit 5/60s --now "$(date +%s%6N)"
  run -0 rlctl -u private: check k --limit 5/60s --now 3600000000
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

@test "version --json is an object, and reset -v is not -v" {
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
  wrong "version takes no arguments; unexpected argument 'check'" version check
  wrong "unknown option '--limit'" version --limit 5/60s
  for form in 'help version' 'version --help'; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl $form
    assert_line --index 0 --partial 'Usage: rlctl '
  done
  run -2 --separate-stderr rlctl reset -v
  assert_equal "${stderr_lines[0]}" 'rlctl: reset: no KEY given'
}

@test "an error has at most two lines, whatever is wrong on the command line" {
  # Every option of every command, with values that few of them accept. There is no server.
  cd "$BATS_TEST_TMPDIR"
  local command option value
  for command in '' check run inspect reset burst debug lint quota doctor config; do
    # shellcheck disable=SC2086 # no word for rlctl itself
    for option in $(rlctl $command --help | grep -oE '^ +(-[A-Za-z], )?--[a-z0-9-]+' | grep -oE -- '--.*'); do
      for value in '=' '=-x' ''; do
        run --separate-stderr rlctl "${command:-check}" k "$option$value" </dev/null
        ((${#stderr_lines[@]} <= 2)) || fail "rlctl ${command:-check} k $option$value: $stderr"
      done
    done
  done
}

@test "hints about URLs list only schemes that work" {
  local url
  for url in '' ftp://h u:p@h; do
    run -2 --separate-stderr rlctl check k --limit 5/60s -u "$url"
    assert_equal "${stderr_lines[1]}" \
      '  hint: URLs begin with redis://, rediss://, unix://, redis+cluster://, redis+sentinel:// or private:'
  done
  run -2 --separate-stderr rlctl check k --limit 5/60s -u redsi://h
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: unknown scheme in the URL: 'redsi'; did you mean 'redis'?"
}
