# needs: server
load ../support/common

# The scripts called without rlctl: redis-cli --eval lua/NAME.lua KEY… , ARGUMENT…

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# replies NAME 'ARGUMENTS' NUMBER…: the reply is these six integers. The argument `-` stands for an empty one.
replies() {
  local name=$1 arguments i
  read -ra arguments <<<"$2"
  for i in "${!arguments[@]}"; do
    if [[ ${arguments[i]} == - ]]; then arguments[i]=; fi
  done
  run -0 cli --eval "$project/lua/$name.lua" "${arguments[@]}"
  assert_equal "$name $2: ${lines[*]}" "$name $2: ${*:3}"
}

# tests/limiter compares the decisions of every script with a model.
@test "a script takes the arguments of its contract and replies with six integers" {
  replies sliding-window-log 'k , 2 60e6 - 1 61000000' 1 1 0 60000000 0 0
  replies sliding-window-log 'k , 2 60e6 - 1 120000000' 1 0 0 60000000 0 0
  replies sliding-window-log 'k , 2 60e6 - 1 120999999' 0 0 1 59000001 0 1
  replies sliding-window-log 'k , 2 60e6 - 1 121000000' 1 0 0 60000000 0 0
  replies leaky-bucket 'bucket , 2 60e6 1 1 1000000' 1 1 0 30000000 0 0
  replies leaky-bucket 'bucket , 2 60e6 1 1 1000000' 1 0 0 60000000 30000000 0
}

@test "concurrency: leases are acquired, renewed, released, and expire" {
  replies concurrency 'k , 2 30e6 acquire a 1000000' 1 1 0 30000000 0 0
  replies concurrency 'k , 2 30e6 acquire b 2000000' 1 0 0 30000000 0 0
  replies concurrency 'k , 2 30e6 acquire c 3000000' 0 0 28000000 29000000 0 1
  replies concurrency 'k , 2 30e6 renew a 4000000' 1 0 0 30000000 0 0
  replies concurrency 'k , 2 30e6 release b 5000000' 1 1 0 29000000 0 0
  replies concurrency 'k , 2 30e6 release b 5000000' 0 1 -1 29000000 0 1
  replies concurrency 'k , 2 30e6 acquire c 6000000' 1 0 0 30000000 0 0
  replies concurrency 'k , 2 30e6 acquire d 34000000' 1 0 0 30000000 0 0
}

@test "with only a limit and a window, a script uses the server's clock and a cost of 1" {
  local name
  for name in "$project"/lua/*.lua; do
    [[ $name != */concurrency.lua ]] || continue
    run -0 cli --eval "$name" "${name##*/}" , 5 60e6
    assert_equal "${#lines[@]} ${lines[0]} ${lines[2]} ${lines[4]} ${lines[5]}" '6 1 0 0 0'
  done
}

@test "several keys give one decision" {
  run -0 cli --eval "$project/lua/sliding-window-log.lua" '{k}:1s' '{k}:60s' , 9 1e6 '' 1 60e6 '' 1 5
  assert_equal "${lines[*]}" '1 0 0 60000000 0 0'
  run -0 cli --eval "$project/lua/sliding-window-log.lua" '{k}:1s' '{k}:60s' , 9 1e6 '' 1 60e6 '' 1 5
  assert_equal "${lines[*]}" '0 0 60000000 60000000 0 2'
  assert_equal "$(cli LLEN '{k}:1s')" 1
}

@test "rlctl and a script called by hand share their state" {
  run -0 rlctl check k --limit 5/60s --now 1000000
  run -0 cli --eval "$project/lua/sliding-window-log.lua" k , 5 60000000 '' 1 1000000
  assert_equal "${lines[*]}" '1 3 0 60000000 0 0'
  run -0 rlctl check k --limit 5/60s --now 1000000
  assert_output --partial remaining=2
}
