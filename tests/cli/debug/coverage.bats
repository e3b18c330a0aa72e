# needs: server
load ../../support/common

# `rlctl debug --coverage`: how often each line was executed.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR RLCTL_URL=private:
  cat >count.lua <<'LUA'
-- A comment.
local n = redis.call('INCR', KEYS[1])
for i = 1, 3 do
  n = n + 0
end
if n > 1000 then
  return 'many'
end
return n
LUA
  printf '%s k 1\n' 1767225660.0 1767225661.0 1767225662.0 >three.log
}

@test "the coverage of one run shows every line after its count" {
  run -0 --separate-stderr rlctl debug count.lua k --coverage
  assert_equal "$output" "\
        -- A comment.
    1x  local n = redis.call('INCR', KEYS[1])
    4x  for i = 1, 3 do
    3x    n = n + 0
        end
    1x  if n > 1000 then
  ***0    return 'many'
        end
    1x  return n
5 of 6 lines reached (83.3 %)"
}

@test "the coverage of a log adds up all requests, and --skip covers a single one" {
  run -0 rlctl debug count.lua --replay three.log --coverage -q
  assert_line --index 1 "    3x  local n = redis.call('INCR', KEYS[1])"
  assert_line --index 3 '    9x    n = n + 0'
  assert_line '5 of 6 lines reached (83.3 %) by 3 requests'
  run -0 rlctl debug count.lua --replay three.log --skip 1 --coverage -q
  assert_line --index 1 "    1x  local n = redis.call('INCR', KEYS[1])"
  assert_line '5 of 6 lines reached (83.3 %)'
}

@test "--coverage with --trace is printed after the trace" {
  run -0 rlctl debug count.lua k --coverage --trace -q
  assert_line --index 0 --regexp '^\+ count\.lua:2 '
  assert_line --regexp '^= 1 '
  assert_line --index $((${#lines[@]} - 1)) '5 of 6 lines reached (83.3 %)'
}

@test "--json prints an event for each line that can be reached" {
  run -0 rlctl debug count.lua k --coverage --json -q
  assert_line --index 0 '{"event":"coverage","line":2,"hits":1,"source":"local n = redis.call('\''INCR'\'', KEYS[1])"}'
  assert_equal "$(jq -c 'select(.event == "coverage") | [.line, .hits]' <<<"$output")" \
    $'[2,1]\n[3,4]\n[4,3]\n[6,1]\n[7,0]\n[9,1]'
  assert_equal "$(jq -c 'select(.event == "coverage_total") | del(.event)' <<<"$output")" \
    '{"runs":1,"lines":6,"reached":5}'
}

@test "--lcov writes the format of lcov, with the file's real path" {
  mkdir folder
  ln -s ../count.lua folder/link.lua
  run -0 rlctl debug folder/link.lua k --coverage --lcov - -q
  assert_output "TN:
SF:$(realpath count.lua)
DA:2,1
DA:3,4
DA:4,3
DA:6,1
DA:7,0
DA:9,1
LF:6
LH:5
end_of_record"
  run -0 rlctl debug count.lua k --coverage --lcov out.info -q
  assert_line '5 of 6 lines reached (83.3 %)'
  grep -qx 'LH:5' out.info
}

@test "failed requests are reported, count, and exit with status 5" {
  printf "if ARGV[1] == '2' then\n  error('second')\nend\nreturn 1\n" >bad.lua
  run -5 --separate-stderr rlctl debug bad.lua --args '{id}' --replay three.log --coverage -q
  assert_line --index 1 "    1x    error('second')"
  assert_line --index 3 '    2x  return 1'
  assert_regex "$stderr" 'rlctl: debug: bad\.lua:2: .*second'
}

# bats test_tags=night
@test "an endless loop is cut off with status 1 and its coverage so far" {
  printf 'while not ARGV[1] do\n  local x = 1\nend\nreturn 1\n' >loop.lua
  run_with_timeout -1 rlctl debug loop.lua --coverage -q
  assert_line --regexp '^ +\*\*\*0  return 1$'
}

@test "an error that a script returns is reported, and has status 5" {
  echo "return redis.error_reply('NOPE not now')" >no.lua
  run -5 --separate-stderr rlctl debug no.lua k --coverage -q
  assert_equal "$stderr" 'rlctl: debug: no.lua: returned the error NOPE not now'
  run -5 --separate-stderr rlctl debug no.lua k --coverage -q --json
  assert_equal "$(gojq -r .error.message <<<"$stderr")" 'no.lua: returned the error NOPE not now'
  run -5 --separate-stderr rlctl debug no.lua --replay three.log --coverage -q
  assert_equal "$stderr" 'rlctl: debug: no.lua: returned the error NOPE not now'
}

# bats test_tags=night
@test "a request that is cut off is reported, also after one that failed" {
  printf "if ARGV[1] == '1' then\n  error('first')\nend\nwhile true do\n  local x = 1\nend\n" >both.lua
  run_with_timeout -1 rlctl debug both.lua --args '{id}' --replay three.log --coverage -q
  assert_line --regexp '^rlctl: debug: both\.lua:2: .*first'
  assert_line --regexp '^rlctl: debug: both\.lua:[456]: cut off: '
}

@test "--coverage works in a fork of a server too" {
  start_server
  run -0 rlctl debug count.lua k --attach --coverage
  assert_line '5 of 6 lines reached (83.3 %)'
  assert_equal "$(cli DBSIZE)" 0
}

@test "--fail-under exits with status 1 if less was reached" {
  run -1 --separate-stderr rlctl debug count.lua k --coverage --fail-under 83.4% -q
  assert_equal "$stderr" 'rlctl: debug: --fail-under 83.4%: only 5 of 6 lines reached (83.3 %)'
  assert_line '5 of 6 lines reached (83.3 %)'
  run -0 --separate-stderr rlctl debug count.lua k --coverage --fail-under 83.3% -q
  assert_equal "$stderr" ''
  run -0 rlctl debug count.lua k --coverage --fail-under 0%
  run -1 rlctl debug count.lua k --coverage --fail-under 100% --lcov out.info
  grep -qx 'LH:5' out.info
  # An error of the script takes precedence.
  printf "error('x')\nreturn 1\n" >bad.lua
  run -5 rlctl debug bad.lua --coverage --fail-under 100% -q
  assert_output --partial '--fail-under 100%: only 1 of 2 lines reached (50.0 %)'
}
