# needs: server
load ../support/common

# What a check says that a server refuses. The states of a server that every command meets are in tests/faults/errors.bats,
# the rules of the manual in access_rules.bats, and what needs no process in server_errors.t.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

@test "a server without room for clients has handled no line of a batch, however many were sent" {
  start_server
  cli CONFIG SET maxclients 1
  exec {taken}<> <(redis-cli -s "$socket" MONITOR)
  read -r <&"$taken" # it is connected
  run_with_timeout -3 --separate-stderr rlctl check --limit 5/60s --batch --json < <(seq 2000)
  run -0 gojq -rs 'length, (map(.error.message) | unique | .[])' <<<"$output"
  assert_equal "$output" "2000
not asked: unix://$socket: max number of clients reached
unix://$socket: max number of clients reached"
}

@test "the error names the keys of several limits that the user may not access" {
  # names STDERR: the keys in quotes.
  names() { grep -oE "'[^']*:[0-9]*s'" <<<"$1" | sort -u | xargs; }
  cli ACL SETUSER ann reset on '>pw' '~{k}:1s' '~{k}:7s' +@all
  local command
  for command in 'check k' 'check k --peek' 'check --batch' 'check k --cost -1'; do
    # shellcheck disable=SC2086 # split into words
    REDISCLI_AUTH=pw run -4 --separate-stderr rlctl $command --limit 2/s --limit 5/60s --user ann <<<k
    assert_equal "$(names "${stderr_lines[0]}")" '{k}:60s'
    assert_equal "${#stderr_lines[@]}" 2
    assert_equal "${stderr_lines[1]}" \
      "  hint: grant it: ACL SETUSER ann '~PATTERN', with a pattern that matches the key"
    # shellcheck disable=SC2086
    REDISCLI_AUTH=pw run -4 --separate-stderr rlctl $command --limit 2/h --limit 5/60s --limit 9/7s --user ann <<<k
    # Redis 8 and Valkey name the first one themselves. A peek looks at each key.
    assert_regex "$(names "${stderr_lines[0]}")" '^\{k\}:3600s( \{k\}:60s)?$'
  done
  # Nothing was recorded by asking which key it is.
  run -0 cli KEYS '*'
  assert_output ''
  # No key is refused, but a command.
  cli ACL SETUSER ann reset on '>pw' '~*' +get
  REDISCLI_AUTH=pw run -4 --separate-stderr rlctl check k --limit 2/s --limit 5/60s --user ann
  assert_equal "$(names "$stderr")" ''
}
