# needs: server
load ../support/common

# The scripts called without rlctl: redis-cli --eval lua/NAME.lua KEY… , ARGUMENT…; tests/limiter compares the decisions
# of every script with a model.

setup_file() { start_server; }

# replies NAME NUMBERS WORD…: the reply to these keys and arguments is these six integers.
replies() {
  run -0 cli --eval "$project/lua/$1.lua" "${@:3}"
  assert_equal "$1 ${*:3}: ${lines[*]}" "$1 ${*:3}: $2"
}

@test "a script takes the arguments of its contract and replies with six integers" {
  replies leaky-bucket '1 1 0 30000000 0 0' bucket , 2 60e6 1 1 1000000
  replies leaky-bucket '1 0 0 60000000 30000000 0' bucket , 2 60e6 1 1 1000000
  replies concurrency '1 0 0 30000000 0 0' leases , 1 30e6 acquire a 1000000
  replies concurrency '0 0 29000000 29000000 0 1' leases , 1 30e6 acquire b 2000000
  replies sliding-window-log '1 0 0 60000000 0 0' '{k}:1s' '{k}:60s' , 9 1e6 '' 1 60e6 '' 1 5
  replies sliding-window-log '0 0 60000000 60000000 0 2' '{k}:1s' '{k}:60s' , 9 1e6 '' 1 60e6 '' 1 5
  assert_equal "$(cli LLEN '{k}:1s')" 1
  # rlctl and a script called by hand share their state.
  rlctl check -q k --limit 5/60s --now 1000000
  replies sliding-window-log '1 3 0 60000000 0 0' k , 5 60000000 '' 1 1000000
  run -0 rlctl check k --limit 5/60s --now 1000000
  assert_output --partial remaining=2
}

@test "with only a limit and a window, a script uses the server's clock and a cost of 1" {
  local name
  for name in "$project"/lua/*.lua; do
    [[ $name != */concurrency.lua ]] || continue
    run -0 cli --eval "$name" "${name##*/}" , 5 60e6
    assert_equal "${#lines[@]} ${lines[0]} ${lines[2]} ${lines[4]} ${lines[5]}" '6 1 0 0 0'
  done
}
