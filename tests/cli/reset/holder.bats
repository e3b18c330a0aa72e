# needs: server
load ../../support/common

# reset --holder: one lease or reservation of several.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# lease KEY HOLDER [MICROSECONDS]
lease() { cli --eval "$project/lua/concurrency.lua" "$1" , 9 "${3:-60000000}" acquire "$2"; }
holders() { cli ZRANGE "$1" 0 -1 | sed -n 's/^lease://p' | xargs; }

@test "a holder's lease is freed by its whole name, its host and process, or its host" {
  lease k web1:10:2026-11-21T11:50:00.000001Z
  lease k web1:1:2026-11-21T11:50:00.000002Z
  lease k web2:7:2026-11-21T11:50:00.000003Z
  run -0 rlctl reset k --holder web1:10:2026-11-21T11:50:00.000001Z
  assert_output 'removed key=k algorithm=concurrency holder=web1:10:2026-11-21T11:50:00.000001Z'
  run -1 --separate-stderr rlctl reset --must-exist k --holder web1:10
  assert_output 'none key=k holder=web1:10'
  run -0 rlctl reset k --holder web2 --json
  assert_output '{"key":"k","result":"removed","type":"zset","library":"rlctl","algorithm":"concurrency","reason":null,"part_of":null,"holder":"web2:7:2026-11-21T11:50:00.000003Z"}'
  # A name is cut at a colon only.
  run -1 --separate-stderr rlctl reset --must-exist k --holder web
  run -1 --separate-stderr rlctl reset --must-exist k --holder web1:
  run -0 rlctl reset k --holder web1:1
  assert_equal "$(cli DBSIZE)" 0
}

@test "several holders are an error that lists them, and nothing is freed" {
  lease k web1:10:a
  lease '{k}:leases' web1:11:b
  run -2 rlctl reset k --holder web1
  assert_output "rlctl: reset: --holder: 'web1' stands for 2 holders: web1:10:a and web1:11:b
  hint: give one of them in full; rlctl inspect k shows what it holds"
  assert_equal "$(holders k) $(holders '{k}:leases')" 'web1:10:a web1:11:b'
  run -0 rlctl reset k --holder web1:11
  assert_output 'removed key={k}:leases algorithm=concurrency holder=web1:11:b'
  # The whole name of one is meant, although it begins another.
  lease k web1:10:a:more
  run -0 rlctl reset k --holder web1:10:a
  assert_equal "$(holders k)" web1:10:a:more
}

@test "a lease that has lapsed, or another kind of key, has no holder" {
  lease k web1:1:a 1
  lease k web2:2:b
  run -1 --separate-stderr rlctl reset --must-exist k --holder web1
  cli SET text value
  rlctl check -q list --limit 5/60s
  run -1 --separate-stderr rlctl reset --must-exist text --holder web1
  run -1 --separate-stderr rlctl reset --must-exist list --holder web1 --json
  assert_output '{"key":"list","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null,"holder":"web1"}'
  run -1 --separate-stderr rlctl reset --must-exist nothing --holder web1 -q
  assert_output ''
  assert_equal "$(holders k)" web2:2:b
}

# budget KEY COST ACTION ID [HOLD]: a call about 10 units in 1000 days, or in as many as are in the key's name.
# budget KEY UNITS ACTION ID [HOLD]: the state, the units and the hold that the script replies.
budget() {
  cli --eval "$project/lua/budget.lua" "$1" , 10 "${window:-86400000000000}" '' "$2" '' "${@:3}" | tail -n 3 | xargs
}

@test "a reservation is released by its ID: its units are free, and a late settle is not counted" {
  budget k 6 reserve web:1 3600000000
  budget k 3 reserve web:2 3600000000
  run -0 rlctl reset k --holder web:1 --dry-run
  assert_output 'would-remove key=k algorithm=budget holder=web:1'
  run -1 --separate-stderr rlctl reset --must-exist k --holder web
  run -0 rlctl reset k --holder web:1
  assert_output 'removed key=k algorithm=budget holder=web:1'
  run -1 --separate-stderr rlctl reset --must-exist k --holder web:1 --json
  assert_output '{"key":"k","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null,"holder":"web:1"}'
  assert_equal "$(budget k 5 settle web:1)" 'settled 0 3600000000'
  assert_equal "$(rlctl inspect k --json | gojq -c '[.spent, .held, .limit, .window_us]')" '[0,3,10,86400000000000]'
}

@test "a reservation that has lapsed is left, so that a late settle is counted" {
  budget k 6 reserve web:1 1000
  until [[ $(rlctl inspect k --json | gojq -r '.reservations[].state') != held ]]; do :; done
  run -1 --separate-stderr rlctl reset --must-exist k --holder web:1
  assert_output 'none key=k holder=web:1'
}

@test "a reservation of several limits is released from all of their keys" {
  local window seconds
  for seconds in 3600 86400; do
    window=${seconds}000000
    budget "{k}:${seconds}s" 6 reserve web:1 3600000000
  done
  run -0 rlctl reset k --holder web:1
  assert_output 'removed key={k}:3600s algorithm=budget holder=web:1
removed key={k}:86400s algorithm=budget holder=web:1'
  window=3600000000
  budget '{k}:3600s' 6 reserve web:2 3600000000
  run -0 rlctl reset k --holder web:2 --limit 10/1h --limit 20/1d
  assert_output 'removed key={k}:3600s algorithm=budget holder=web:2'
}

@test "a reservation is released from all keys of its limits, also those of the calendar, in any zone" {
  rlctl check -q mo --limit 10/min,20/1d,30/day@UTC,40/day@Europe/Zurich,50/month+15@Europe/Zurich --algorithm budget \
    --reserve 4 --hold 1h --id zz
  held() { rlctl inspect mo --json | gojq -r '.held' | xargs; }
  assert_equal "$(held)" '4 4 4 4 4'
  run -0 rlctl reset mo --holder zz --dry-run
  assert_equal "${#lines[@]}" 5
  run -0 rlctl reset mo --holder zz
  assert_output 'removed key={mo}:60s algorithm=budget holder=zz
removed key={mo}:86400s algorithm=budget holder=zz
removed key={mo}:day@Europe/Zurich algorithm=budget holder=zz
removed key={mo}:day@UTC algorithm=budget holder=zz
removed key={mo}:month+15@Europe/Zurich algorithm=budget holder=zz'
  assert_equal "$(held)" '0 0 0 0 0'
  run -1 --separate-stderr rlctl reset --must-exist mo --holder zz
}

@test "the period of a budget that has ended must be given to release a reservation" {
  local now
  # A busy machine may reserve only when the period has ended.
  until now=$(cli TIME | head -n 1) && [[ $(window=$((now - 1))000001-$((now + 1))000003 \
    budget k 6 reserve web:1 3600000000) == held* ]]; do :; done
  # The key must be there when the period has ended, however long that takes to be noticed.
  cli PERSIST k
  until run rlctl inspect k; [[ $output == *'it has ended'* ]]; do :; done
  run -2 rlctl reset k --holder web:1
  assert_output "rlctl: reset: the period of 'k' has ended, and it does not store how long the next one is
  hint: pass --limit or --policy"
  run -0 rlctl reset k --holder web:1 --limit 10/1h
}

@test "--dry-run frees nothing" {
  lease k web1:1:a
  run -0 rlctl reset k --holder web1 --dry-run
  assert_output 'would-remove key=k algorithm=concurrency holder=web1:1:a'
  run -0 rlctl reset k --holder web1 --dry-run --json
  assert_output --partial '"result":"would_remove"'
  assert_equal "$(holders k)" web1:1:a
}

@test "a command under run learns that its lease was freed" {
  cd "$BATS_TEST_TMPDIR"
  run -5 rlctl run k --limit 1/1h --concurrency 1 -- \
    sh -c 'rlctl reset k --holder "$(hostname):$PPID"; exit 5'
  assert_line --regexp "^removed key=[{]k[}]:leases algorithm=concurrency holder=$(hostname):[0-9]+:20"
  assert_line --partial "warning: the lease of 'k' was gone when the command ended"
}

@test "a server that does not answer the search for a lease is not said to have done something" {
  start_fake_server ''
  run -3 rlctl reset k --holder web1 --timeout 100ms
  refute_output --partial 'may have been executed'
}

@test "a lease of another library is not freed, nor is it shown as one that would be" {
  local end
  end=$(($(date +%s) + 60))
  cli ZADD throttled:job:concurrency.v2 "$end" web1 >/dev/null
  cli ZADD acme:job "$end" web1 >/dev/null
  printf '[library.acme]\nkey = "acme:*"\ntype = "zset"\nvalue = "leases"\n' >"$BATS_TEST_TMPDIR/c"
  for key in throttled:job:concurrency.v2 acme:job; do
    run -1 --separate-stderr rlctl --config "$BATS_TEST_TMPDIR/c" reset --must-exist "$key" --holder web1 --dry-run
    assert_output "none key=$key holder=web1"
  done
}
