# needs: server
load ../../support/common

# `rlctl reset KEY…`, where it needs a process; reset.t has the rest.

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
  start_server
  cli ACL SETUSER mine reset on nopass '~mine:*' +@all
  printf '%s\n' mine:1 theirs:1 | rlctl check -q --batch --limit 5/1d
  # More keys than one round trip takes.
  REDISCLI_AUTH=any run -4 --separate-stderr rlctl --user mine reset -q --limit 5/60s mine:1 mine:{3..250} theirs:1
  assert_regex "${stderr_lines[0]}" 'NOPERM .*theirs:1.*; 1 key had already been removed$'
  assert_equal "$(cli KEYS '*')" theirs:1
}

@test "Ctrl-C during the removal reports the key as possibly removed, and ends by the signal" {
  start_server
  rlctl check -q k --limit 5/1d
  cli CLIENT PAUSE 100000 WRITE || skip 'this server cannot hold up writes alone'
  run -0 --separate-stderr ends_by INT 'redis-cli -s "$socket" CLIENT LIST | grep -qF "cmd=evalsha"' rlctl reset k
  assert_output 'signal 2'
  assert_regex "$stderr" '; k may have been removed$'
}
