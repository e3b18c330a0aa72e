load ../support/common

# The calls below execute every line of every bundled script, as counted by `rlctl debug --coverage`, except
# the lines listed with a reason. Each call first runs in the debugger on a copy of the keys, and is then
# executed, so that the next call finds its state.

setup_file() { start_server; }

t=1795155075000000 # a caller's clock
window=60000000

# use NAME: selects the script for the following calls.
use() {
  script=$project/lua/$1.lua
  reports=$BATS_TEST_TMPDIR/$1
  mkdir "$reports"
  asked=0
  sha1=$(cli SCRIPT LOAD "$(<"$script")")
  cli FLUSHALL >/dev/null
}

# ask KEYS ARG…
ask() {
  local key keys=() names=()
  for key in $1; do
    keys+=(--keys "$key")
    names+=("$key")
  done
  shift
  asked=$((asked + 1))
  local words=''
  (($#)) && words=$(printf '%q ' "$@")
  run rlctl debug "$script" "${keys[@]}" --args "$words" --coverage --lcov "$reports/$asked.info" -q
  ((status == 0 || status == 5)) || fail "ask $*: status $status: $output"
  redis-cli -s "$socket" EVALSHA "$sha1" "${#names[@]}" "${names[@]}" "$@" >/dev/null
}

# unreached: the numbers and text of the lines that no call has reached.
unreached() {
  cat "$reports"/*.info | awk -F '[:,]' '/^DA:/ { hits[$2] += $3 } END { for (line in hits) if (!hits[line]) print line }' |
    sort -n | while read -r line; do sed -n "${line}{s/^ *//;p}" "$script"; done
}

# How every limiter's script handles its arguments.
arguments() {
  ask ''
  ask k 5 $window '' 1 $t more
  ask k 5 $window '' x
  ask k 5 $window '' 1 x
  ask k x $window
  ask k 5 x
  ask k 5 $window x
  ask 'k k' 5 $window '' 6 $window
  ask k 5 $window
  ask k 5 $window '' 0
  cli FLUSHALL >/dev/null
}

# How every limiter handles keys: one and several, allowed, denied, looked at, refunded, in order and with a
# clock that steps back, with limits other than before, and of another type.
decisions() {
  local i
  for i in 1 2 3 4 5 6; do ask k 5 $window '' 1 $((t + i)); done
  ask k 5 $window '' 2 $((t + 7))
  ask k 5 $window '' 9 $((t + 7))
  ask k 5 $window '' 0 $((t - 5000000))
  ask k 5 $window '' 1 $((t - 5000000))
  ask k 5 $window '' -2 $((t + 8))
  ask k 7 90000000 '' 1 $((t + 9))
  ask k 3 $window '' 1 $((t + 10))
  ask k 5 $window '' 1 $((t + 40000000))
  ask k 5 $window '' 3 $((t + 61000000))
  ask k 5 $window '' 2 $((t + 100000000))
  ask k 5 $window '' 1 $((t + 400000000))
  ask k 5 $window '' -9 $((t + 400000001))
  ask k 5 $window '' -1 $((t + 400000002))
  ask 'a b' 5 $window '' 2 $window '' 1 $t
  ask 'a b' 5 $window '' 2 $window '' 2 $((t + 1))
  ask 'a b' 1 $window '' 2 $window '' 2 $((t + 1))
  ask 'a b' 5 $window '' 2 $window '' 0 $((t + 2))
  ask 'a b' 5 $window '' 2 $window '' -1 $((t + 3))
  ask 'a b' 5 $window '' 2 $window '' 1 $((t + 4))
  ask s 5 $window
  ask s 5 $window
  ask s 7 $window
  ask s 5 $window '' -9
  cli SADD wrong x >/dev/null
  ask wrong 5 $window
  cli SET text other >/dev/null
  ask text 5 $window
}

# covers [LINES]: all lines except these are reached.
covers() {
  run unreached
  assert_output "${1-}"
}

# The code that reads and checks arguments is the same in every script, although most have no burst.
without_burst="return redis.error_reply('ERR ' .. NAME .. ': burst must be such that limit * burst <= 2^53 ' ..
'and burst * window / limit <= 4e15, not ' ..
string.format(\"'%d'\", burst))"

too_much_burst() { ask k 1000000000 $window 1000000000; }
# State written by the server's clock has too short a TTL for a caller's clock, which may be slower.
two_clocks() {
  # A day, since a key of a window that ends between the two calls is gone.
  ask two 5 86400000000
  ask two 5 86400000000 '' 1 $t
}

# A window shorter than the one whose units it leaves alone.
shorter_window() {
  ask hour 5 3600000000 '' 3 $t
  ask hour 5 1000000 '' 1 $((t + 2000000))
}

@test "every line of fixed-window is reached" {
  use fixed-window
  arguments
  decisions
  two_clocks
  covers "$without_burst"
}

@test "every line of sliding-window-log is reached" {
  use sliding-window-log
  arguments
  decisions
  cli RPUSH between $((t - 100000000)) x $t >/dev/null
  ask between 5 $window '' 1 $t
  cli RPUSH leaving $t x $t >/dev/null
  ask leaving 2 $window '' 1 $t
  ask many 5000 $window '' 1500 $t
  shorter_window
  covers "$without_burst"
}

@test "every line of sliding-window-zset is reached" {
  use sliding-window-zset
  arguments
  decisions
  two_clocks
  cli ZADD last 5 foo >/dev/null
  ask last 5 $window
  cli ZADD leaving $((t - 1)) foo $t "$t:0000000000" $t "$t:0000000001" >/dev/null
  ask leaving 3 $window '' 1 $t
  ask many 5000 $window '' 1500 $t
  shorter_window
  covers "$without_burst"
}

set_counter() { # KEY START PREVIOUS CURRENT LIMIT WINDOW
  cli EVAL 'redis.call("SET", KEYS[1], struct.pack("<c8dI4I4I4d", "counter~", unpack(ARGV)))' 1 "$@" >/dev/null
}

@test "every line of sliding-window-counter is reached" {
  use sliding-window-counter
  arguments
  decisions
  two_clocks
  # Rounded sums: the time of the next free unit, and the number of units left.
  local start=1700000000000000
  set_counter rounded $start 97 51 99 99698904308559
  ask rounded 99 99698904308559 '' 1 $((start + 47596214461413))
  set_counter left $start 3 0 536870912 100000000
  ask left 536870912 100000000 '' 1 $((start + 33333332))
  covers "$without_burst"
}

@test "every line of token-bucket is reached" {
  use token-bucket
  arguments
  decisions
  too_much_burst
  covers
}

@test "every line of gcra is reached" {
  use gcra
  arguments
  decisions
  too_much_burst
  covers
}

@test "every line of leaky-bucket is reached" {
  use leaky-bucket
  arguments
  decisions
  too_much_burst
  covers
}

@test "every line of concurrency is reached" {
  use concurrency
  ask '' 1 $window acquire a
  ask 'k l' 1 $window acquire a
  ask k 1 $window acquire a $t more
  ask k x $window acquire a
  ask k 1 x acquire a
  ask k 1 $window take a
  ask k 1 $window acquire
  ask k 1 $window acquire a x
  ask k 2 $window acquire a
  ask k 2 $window renew b
  ask m 2 $window acquire a $t
  ask m 2 $window acquire b $((t + 1))
  ask m 2 $window acquire c $((t + 2))
  ask m 2 $window renew a $((t + 3))
  ask m 2 $window release a $((t + 4))
  ask m 2 $window release b $((t + 5))
  ask m 2 $window acquire a $((t + 6))
  ask m 2 $window acquire b $((t + 100000000))
  cli SET text other >/dev/null
  ask text 1 $window acquire a
  cli ZADD other 5 foo >/dev/null
  ask other 1 $window acquire a
  covers
}
