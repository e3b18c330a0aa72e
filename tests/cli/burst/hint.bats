# needs: server
load ../../support/common

# What `rlctl burst` says of a script whose replies it may read wrongly under the real clock, and of one that never ends.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  printf '%s\n' 'if ARGV[1] == "3" then while true do end end' 'return 1' >loop.lua
}

@test "under the real clock, too, JSON has the hint" {
  run -0 --separate-stderr rlctl burst --clock real "$project/tests/limiters/inverted.lua" --limit 5/1s --json
  assert_output --partial '"hint":"the reply may be inverted: the first request was denied, and a later one was allowed; try --allowed-when zero"'
}

# never_ends MESSAGE COMMAND…: whether the error is this one. It is another one if the server is held up for a third of
# a second before the script is, so a test asks again until it is this one.
never_ends() {
  run_with_timeout -3 --separate-stderr rlctl "${@:2}" --timeout 300ms --limit 5/1s loop.lua --args '{id} {now}'
  [[ $stderr =~ $1 ]]
}

@test "the error of a script that never ends names the script, the request, KEYS and ARGV" {
  local message="^rlctl: [a-z]*: loop.lua: no answer from [^ ]* within 300ms; request 3 had KEYS '1' and ARGV '3' \
'[0-9.]+'
  hint: the script may never end: step through it with rlctl debug; if it is slow, use a longer --timeout$"
  wait_until never_ends "$message" burst -u private:
  wait_until never_ends "$message" adversary -u private:
  wait_until never_ends "$message" burst steady --rate 10/s --clock real
}

@test "on a named server the error of a script that never ends says how to stop it" {
  with_server() {
    start_server
    never_ends "loop.lua: no answer from unix://$socket within 300ms; request 2 had .* ARGV '2' [^,]*, unless one sent with \
it is to blame
  hint: if the script never ends, SCRIPT KILL on that server stops one call of it, unless it has written; if it is slow, \
use a longer --timeout$" burst -s "$socket"
  }
  wait_until with_server
}

@test "one SCRIPT KILL frees a named server of a script that never ends from its first call on" {
  start_server --lua-time-limit 50
  echo 'while true do end' >forever.lua
  run -3 rlctl burst steady forever.lua --args '{now_ms}' --timeout 300ms -q -s "$socket"
  assert_output --partial 'SCRIPT KILL on that server'
  cli SCRIPT KILL
  wait_until cli PING
}
