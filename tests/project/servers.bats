load ../support/common

# What tests/servers does without a network; .ci/run fetches.

@test "tests/servers names the oldest and the newest server of each family" {
  local ends name
  ends=$("$project/tests/servers" --ends)
  assert_equal "$("$project/tests/servers" --list | cut -d- -f1 | sort -u)" "$(cut -d- -f1 <<<"$ends" | sort -u)"
  for name in $ends; do
    "$project/tests/servers" --list | grep -q "^$name " || fail "$name is not in the list"
  done
  # Within a family, versions rise.
  assert_equal "$(sort -V <<<"$ends")" "$(sort <<<"$ends")"
}

@test "tests/servers says which servers there are if it knows none of that name" {
  run -2 "$project/tests/servers" "$BATS_TEST_TMPDIR/servers" redis-5.0
  assert_output --partial "unknown server 'redis-5.0'"
  assert_output --partial valkey-9
  run -2 "$project/tests/servers"
  assert_line --partial 'tests/servers DIR'
}

@test "--only-servers needs servers" {
  RLCTL_TEST_SERVERS='' run -2 "$project/tests/run" --only-servers limiter
  assert_output --partial 'RLCTL_TEST_SERVERS'
}
