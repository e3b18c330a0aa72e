# needs: server
load ../../support/common

# What a transcript cannot tell of `rlctl list`: a terminal, a reader that exits, and shares by the dozen.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

@test "--above lists keys with exactly this share, and not those just below it" {
  local used limit share more
  while read -r used limit share more; do
    rlctl check -q "$used:$limit" --limit "$limit/1d" --algorithm fixed-window --cost "$used"
    expect_status 0 rlctl list "$used:$limit" --above "$share%"
    expect_status 1 rlctl list "$used:$limit" --above "$more%"
  done <<'END'
1 8 12.5 12.51
1 3 33.333 33.334
333 1000 33.3 33.31
29 100 29 29.01
4 5 80 80.01
57 100 57 57.01
99 100 99 99.01
7 7 100 100.01
END
}

@test "on a terminal two spaces precede the key" {
  needs_terminal
  cli ZADD swrl:ann "$(date +%s)000" m >/dev/null
  cli EXPIRE swrl:ann 60 >/dev/null
  run -0 at_terminal '' 'stty cols 100; TERM=xterm LC_ALL=C rlctl list'
  assert_regex "$(<"$BATS_TEST_TMPDIR/screen")" $'article: sliding-window-zset  swrl:ann\r'
}

@test "keys of more than 200 bytes are cut in text, never in JSON" {
  local key command words
  printf -v key '%0300d' 0
  rlctl check -q "$key" --limit 5/60s --algorithm gcra
  cli PERSIST "$key"
  for command in list "inspect $key" audit "quota $key --limit 5/60s" "reset $key --dry-run"; do
    read -ra words <<<"$command"
    run rlctl "${words[@]}"
    assert_output --regexp "${key:0:200}(\\.\\.\\.|…)"
    refute_output --partial "${key:0:201}"
    run rlctl "${words[@]}" --json
    assert_output --partial "\"$key\""
  done
  run rlctl audit
  assert_output --partial '# the key has 300 bytes: --json prints the command'
}
