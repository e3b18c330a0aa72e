# needs: server
load ../../support/common

# reset --holder, where it waits for time to pass or needs a process; holder.t has the rest.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

@test "a reservation that has lapsed is left, so that a late settle is counted" {
  rlctl check -q k --limit 10/1000d --algorithm budget --reserve 6 --hold 1ms --id web:1
  until [[ $(rlctl inspect k --json | gojq -r '.reservations[].state') != held ]]; do :; done
  run -1 --separate-stderr rlctl reset --must-exist k --holder web:1
  assert_output 'none key=k holder=web:1'
}

@test "the period of a budget that has ended must be given to release a reservation" {
  reserve() { cli --eval "$project/lua/budget.lua" k , 10 "$1" '' 6 '' reserve web:1 3600000000 | xargs; }
  local now
  # A busy machine may reserve only when the period has ended.
  until now=$(cli TIME | head -n 1) && [[ $(reserve "$((now - 1))000001-$((now + 1))000003") == *held* ]]; do :; done
  # The key must be there when the period has ended, however long that takes to be noticed.
  cli PERSIST k
  until run rlctl inspect k; [[ $output == *'it has ended'* ]]; do :; done
  run -2 rlctl reset k --holder web:1
  assert_output "rlctl: reset: the period of 'k' has ended, and it does not store how long the next one is
  hint: pass --limit or --policy"
  run -0 rlctl reset k --holder web:1 --limit 10/1h
}

@test "a command under run learns that its lease was freed" {
  run -5 rlctl run k --limit 1/1h --concurrency 1 -- \
    sh -c 'rlctl reset k --holder "$(hostname):$PPID"; exit 5'
  assert_line --regexp "^removed key=[{]k[}]:leases algorithm=concurrency holder=$(hostname):[0-9]+:20"
  assert_line --partial "warning: the lease of 'k' was gone when the command ended"
}
