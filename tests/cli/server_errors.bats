# needs: server
load ../support/common

# What a check says that a server refuses. The states of a server that every command meets are in tests/faults/errors.bats,
# the rules of the manual in access_rules.bats, and the types of keys in server_errors.t.

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

@test "the full stop of a server's sentence does not precede a semicolon" {
  start_server --requirepass secret
  run -0 --separate-stderr rlctl check k --limit 5/60s --on-error allow
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: warning: unix://$socket: NOAUTH Authentication required; taken as allowed (--on-error)"
}

@test "a wrong password: the message keeps the user's name, and masks the password" {
  REDISCLI_AUTH=wrong run -4 --separate-stderr rlctl check k --limit 5/60s --user nobody
  assert_regex "$stderr" "^rlctl: unix://nobody:\*\*\*@$socket: AUTH: WRONGPASS "
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

@test "a user who may not call the commands in the script exits with status 4" {
  cli ACL SETUSER ann reset on '>pw' '~*' +@all -rpush
  REDISCLI_AUTH=pw run -4 --separate-stderr rlctl check k --limit 5/60s --user ann
  # Redis up to 7.0 does not name the command.
  local hint=${stderr_lines[1]}
  REDISCLI_AUTH=pw run -4 --separate-stderr rlctl check k --limit 5/60s --user ann --json
  run -0 gojq -er .error.code <<<"$stderr"
  assert_output NOPERM
  assert_regex "$hint" \
    "^  hint: grant what sliding-window-log needs, .*: ACL SETUSER ann .* \+rpush "
  assert_equal "$(cli EXISTS k)" 0
  # One that comes after a write.
  cli ACL SETUSER ann reset on '>pw' '~*' +@all -pexpire
  REDISCLI_AUTH=pw run -4 --separate-stderr rlctl check k --limit 5/60s --user ann
  assert_regex "${stderr_lines[0]}" "; the request may have been counted$"
  assert_equal "$(cli LLEN k)" 1
  cli UNLINK k
}

@test "each line of a batch has the server's name, and its JSON the hint" {
  start_server --replicaof 127.0.0.1 1
  run -5 --separate-stderr rlctl check --limit 5/60s --batch <<<$'a\nb'
  assert_line --index 1 --regexp "^error line=2 status=5 message=\"unix://$socket: READONLY"
  assert_regex "${stderr_lines[0]}" "^rlctl: check: line 1: unix://$socket: READONLY "
  assert_equal "${stderr_lines[1]}" '  hint: the server is a replica; name its master instead: --url redis://127.0.0.1:1'
  assert_equal "${stderr_lines[2]}" 'rlctl: check: the same error on 1 more line (2)'
  run -5 rlctl check --limit 5/60s --batch --json <<<$'a\nb'
  run -0 gojq -r .error.hint <<<"${lines[1]}"
  assert_output 'the server is a replica; name its master instead: --url redis://127.0.0.1:1'
  assert_equal "$(calls role)" 2 # once for each process
}
