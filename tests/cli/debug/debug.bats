# needs: server
load ../../support/common

# What `rlctl debug` debugs: a bundled script, a file, or a policy; and how it ends. Other files test where it
# runs, what it replays and what it shows.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  unset RLCTL_URL
  # Replies its keys and arguments.
  cat >echo.lua <<'LUA'
return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
LUA
}

@test "the reply equals that of check for every algorithm: allowed, denied, peeked at and refunded" {
  local name names cost now=1767225660000000
  start_server
  lines_of names sed -n '/^Algorithms:/,/^$/s/^  \([a-z-]*\) .*/\1/p' <<<"$(rlctl check --help)"
  for name in "${names[@]}"; do
    for cost in 1 3 0 2; do
      run -0 bash -c 'rlctl debug -q "$1" k --limit 4/60s --now "$2" --cost "$3" --trace --json |
        gojq -r "select(.event == \"result\").value"' - "$name" $now $cost
      local traced=$output
      run rlctl check k --algorithm "$name" --limit 4/60s --now $now --cost $cost --json
      assert_equal "$traced" "$(gojq -r '"{\(if .allowed then 1 else 0 end), \(.remaining), \(.retry_after_us // -1), \(.reset_after_us), \(.delay_us), \(if .denied_by then 1 else 0 end)}"' <<<"$output")"
    done
    cli DEL k
  done
}

@test "the options and a policy give the script its keys and arguments" {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf '[policy.login]\nkey = "login:%%s"\nalgorithm = "gcra"\nlimit = "5/60s"\n' >"$RLCTL_CONFIG"
  local words reply keys
  # The columns are a command, its reply, and the keys that are shown, whatever was in them.
  while IFS=$'\t' read -r words reply keys; do
    eval "run -0 debug $words --trace --json"
    assert_equal "$(traced_value <<<"$output")" "$reply"
    assert_equal "$(gojq -r 'select(.event == "key").key' <<<"$output" | paste -sd ' ')" "$keys"
  done <<'END'
gcra login:ann --limit 5/60s --limit 10/3600s	{1, 4, 0, 360000000, 0, 0}	{login:ann}:60s {login:ann}:3600s
token-bucket k --limit 5/60s --burst 9 --cost 2 --now 2026-11-20T06:11:15Z	{1, 7, 0, 24000000, 0, 0}	k
--policy login ann	{1, 4, 0, 12000000, 0, 0}	login:ann
echo.lua k1 'k 2' --args "a 'b c' ''"	"k1|k 2#a|b c|"	k1 k 2
./echo.lua	"#"	
concurrency k --args '3 60000000 acquire me 1767225660000000'	{1, 2, 0, 60000000, 0, 0}	k
fixed-window k --args "5 60e6 '' '' 1767225660000000"	{1, 4, 0, 60000000, 0, 0}	k
echo.lua x --keys 'h:{key}' --keys '{{key}}:{window_index}' --limit 5/60s --now 1767225660000000	"h:x|{x}:29453761#"	h:x {x}:29453761
echo.lua --limit 5/60s --burst 7 --cost 3 --args '{limit} {burst} {cost} {id} {window_s}'	"#5|7|3|1|60"	
echo.lua --now 1767225660123456 --args '{now} {now_ms}'	"#1767225660.123456|1767225660123"	
END
}

@test "an endless loop is cut off after 100000 lines with status 1, what it did is reported, and nothing is left" {
  echo "while true do redis.call('INCR', KEYS[1]) end" >count.lua
  run_with_timeout -1 bash -c 'rlctl -u private: debug -q count.lua n --trace >out'
  run tail -n 3 out
  assert_line --regexp '^= cut off at line 1: it had executed 100000 lines '
  assert_line --regexp "'n': not there → string, \"(99[0-9]{3}|100000)\""
  nothing_is_left
}

@test "a key that a script makes itself was not copied, and debug warns about it" {
  start_server
  printf "return redis.call('GET', KEYS[1] .. ':1')\n" >derived.lua
  cli SET a:1 7
  run -0 rlctl debug ./derived.lua a --trace
  assert_output --partial "warning: the script uses 'a:1', which is not among its KEYS and was not copied"
  assert_line --regexp '^= nil '
  run -0 rlctl debug ./derived.lua a a:1 --trace
  refute_output --partial 'warning'
}

@test "a key that expires at a time of day does so by the clock of --now" {
  cat >expires.lua <<'LUA'
redis.call('SET', KEYS[1], 1)
redis.call('EXPIREAT', KEYS[1], 1795158675)
return redis.call('PTTL', KEYS[1]) / 1000
LUA
  run -0 --separate-stderr rlctl -u private: debug ./expires.lua k --now 1795155075000000 --trace
  [[ $stderr != *warning* ]]
  assert_line --regexp '^= 3[56][0-9][0-9][. ]'
  run -0 --separate-stderr rlctl -u private: debug ./expires.lua k --now 1795158675000001 --trace
  assert_line --regexp '^= 0 '
}
