# needs: server
load ../../support/common

# What `rlctl debug` does with a bundled script, and with one that does not end. names.t has the keys and arguments of
# others; other files test where it runs, what it replays and what it shows.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  unset RLCTL_URL
}

@test "the reply equals that of check for every algorithm: allowed, with a cost of 0, and denied" {
  local name names cost now=1767225660000000
  start_server
  lines_of names sed -n '/^Algorithms:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<<"$(rlctl check --help)"
  for name in "${names[@]}"; do
    for cost in 1 3 0 2; do
      rlctl debug -q "$name" "$name" --limit 4/60s --now $now --cost $cost --trace --json
      # A denied request ends with status 1.
      rlctl check "$name" --algorithm "$name" --limit 4/60s --now $now --cost $cost --json || (($? == 1))
    done
  done >both
  run -0 gojq -r 'select(.event == "result").value' both
  assert_equal "$(wc -l <<<"$output")" $((4 * ${#names[@]}))
  assert_equal "$output" "$(gojq -r 'select(.event == null) | "{\(if .allowed then 1 else 0 end), \(.remaining), \(.retry_after_us // -1), \(.reset_after_us), \(.delay_us), \(if .denied_by then 1 else 0 end)}"' both)"
}

@test "the options and a policy give a bundled script its keys and arguments" {
  local words
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf '[policy.login]\nkey = "login:%%s"\nalgorithm = "gcra"\nlimit = "5/60s"\n' >"$RLCTL_CONFIG"
  while read -r words; do
    eval "debug $words --trace --json"
  done >events <<'END'
gcra login:ann --limit 5/60s --limit 10/3600s
token-bucket k --limit 5/60s --burst 9 --cost 2 --now 2026-11-20T06:11:15Z
--policy login ann
concurrency k --args '3 60000000 acquire me 1767225660000000'
fixed-window k --args "5 60e6 '' '' 1767225660000000"
END
  run -0 gojq -r 'if .event == "result" then .value elif .event == "key" then .key else empty end' events
  assert_output '{1, 4, 0, 360000000, 0, 0}
{login:ann}:60s
{login:ann}:3600s
{1, 7, 0, 24000000, 0, 0}
k
{1, 4, 0, 12000000, 0, 0}
login:ann
{1, 2, 0, 60000000, 0, 0}
k
{1, 4, 0, 60000000, 0, 0}
k'
}

@test "an endless loop is cut off after 100000 lines with status 1, what it did is reported, and nothing is left" {
  echo "while true do redis.call('INCR', KEYS[1]) end" >count.lua
  run_with_timeout -1 bash -c 'rlctl -u private: debug -q count.lua n --trace >out'
  run tail -n 3 out
  assert_line --regexp '^= cut off at line 1: it had executed 100000 lines '
  assert_line --regexp "'n': not there → string, \"(99[0-9]{3}|100000)\""
  nothing_is_left
}
