# needs: server
load ../../support/common

# `rlctl reset KEY…`, where it waits for time to pass or needs a process; reset.t and holder.t have the rest.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

@test "if a server does not answer a mere look, no key is reported as possibly removed" {
  local words
  start_fake_server ''
  for words in 'reset k' 'reset --limit 5/60s k' 'reset k --holder web1' 'check --peek --limit 5/60s k'; do
    # shellcheck disable=SC2086 # split into words
    run -3 --separate-stderr rlctl --timeout 200ms $words
    assert_regex "$stderr" '^rlctl: (reset|check): no answer from .* within 200ms$'
  done
}

@test "a refusal says how many keys had been removed before it" {
  cli ACL SETUSER mine reset on nopass '~mine:*' +@all
  printf '%s\n' mine:1 theirs:1 | rlctl check -q --batch --limit 5/1d
  # More keys than one round trip takes.
  REDISCLI_AUTH=any run -4 --separate-stderr rlctl --user mine reset -q --limit 5/60s mine:1 mine:{3..250} theirs:1
  assert_regex "${stderr_lines[0]}" 'NOPERM .*theirs:1.*; 1 key had already been removed$'
  assert_equal "$(cli KEYS '*')" theirs:1
}

@test "Ctrl-C during the removal reports the key as possibly removed, and ends by the signal" {
  rlctl check -q k --limit 5/1d
  cli CLIENT PAUSE 100000 WRITE || skip 'needs Redis 6.2'
  run --separate-stderr ends_by INT 'redis-cli -s "$socket" CLIENT LIST | grep -qF "cmd=evalsha"' rlctl reset k
  cli CLIENT UNPAUSE
  assert_success
  assert_output 'signal 2'
  assert_regex "$stderr" '; k may have been removed$'
}

@test "a reservation that has lapsed is left, so that a late settle is counted" {
  rlctl check -q k --limit 10/1000d --algorithm budget --reserve 6 --hold 1ms --id web:1
  has_lapsed() { [[ $(rlctl inspect k --json | gojq -r '.reservations[].state') != held ]]; }
  wait_until has_lapsed
  run -1 --separate-stderr rlctl reset --must-exist k --holder web:1
  assert_output 'none key=k holder=web:1'
}

@test "the period of a budget that has ended must be given to release a reservation" {
  reserve() { cli --eval "$project/lua/budget.lua" k , 10 "$1" '' 6 '' reserve web:1 3600000000 | xargs; }
  # A busy machine may reserve only when the period has ended.
  has_reserved() { local now; now=$(cli TIME | head -n 1) && [[ $(reserve "$((now - 1))000001-$((now + 1))000003") == *held* ]]; }
  wait_until has_reserved
  # The key must be there when the period has ended, however long that takes to be noticed.
  cli PERSIST k
  has_ended() { [[ $(rlctl inspect k) == *'it has ended'* ]]; }
  pause=0.1 wait_until has_ended
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
