# needs: server
load ../support/common
load ../support/cluster

setup_file() {
  start_server --requirepass 'se/cret@'
  export protected=$socket
  on_free_port start_server
  export port
}
setup() { cli FLUSHALL; }

allowed() {
  run -0 rlctl "$@"
  assert_output --regexp '^allowed key=k '
}

# --- the server -------------------------------------------------------------------------------------

@test "options may precede or follow the command, the last one counts, and each overrides RLCTL_URL" {
  export RLCTL_URL=unix:///nowhere/at/all
  allowed -s "$socket" check k --limit 9/60s
  allowed check k --limit 9/60s -s "$socket"
  allowed check --socket="$socket" k --limit 9/60s
  allowed -u unix:///nowhere -u "unix://$socket" check --limit=9/60s k --cost 5 --cost 2
  RLCTL_URL=unix://$socket run -3 rlctl check k --limit 9/60s -u unix:///nowhere
  assert_equal "$(cli LLEN k)" 5
}

@test "a database is named by a URL or by --db, which overrides it as --socket does" {
  allowed -u "unix://$socket?db=3" check k --limit 9/60s
  allowed -u 'unix:///nowhere/at/all?db=3' -s "$socket" -n 4 check k --limit 9/60s
  assert_equal "$(cli -n 3 LLEN k) $(cli -n 4 LLEN k) $(cli LLEN k)" '1 1 0'
}

@test "a host and a port may be given by URL or by options" {
  allowed -u "redis://127.0.0.1:$port" check k --limit 9/60s
  allowed -u "redis://127.0.0.1:$port/2" check k --limit 9/60s
  allowed -u redis://nobody.invalid -H 127.0.0.1 -p "$port" check k --limit 9/60s
  RLCTL_URL=unix:///nowhere allowed -H 127.0.0.1 -p "$port" check k --limit 9/60s
  assert_equal "$(cli LLEN k) $(cli -n 2 LLEN k)" '3 1'
}

# --- timeouts --------------------------------------------------------------------------------------

@test "the default of --timeout is a second" {
  start_fake_server ''
  RLCTL_CONFIG=/dev/null run_with_timeout -3 rlctl check k --limit 9/60s
  assert_output --partial 'within 1s; the request may have been counted'
}

# --- passwords --------------------------------------------------------------------------------------

@test "a password comes from REDISCLI_AUTH, from a URL, or from a URL in RLCTL_URL" {
  local named=unix://$protected with_password=unix://:se%2Fcret%40@$protected
  run -4 rlctl -u "$named" check k --limit 9/60s
  REDISCLI_AUTH='se/cret@' allowed -u "$named" check k --limit 9/60s
  allowed -u "$with_password" check k --limit 9/60s
  RLCTL_URL=$with_password allowed check k --limit 9/60s
  # A user with its own password; that of the URL overrides the variable.
  REDISCLI_AUTH='se/cret@' redis-cli -e -s "$protected" ACL SETUSER ann on '>pw' '~*' '+@all'
  REDISCLI_AUTH=wrong allowed -u "unix://ann:pw@$protected" check k --limit 9/60s
  REDISCLI_AUTH=pw allowed -u "$named" check k --limit 9/60s --user ann
}

# The other forms of a URL are in failure_test.cc.
@test "the password of a URL is not visible in the process list" {
  start_fake_server ''
  cmdline() { tr '\0' ' ' <"/proc/$pid/cmdline"; }
  local url pid
  for url in "unix:ann:sekret@$socket" "unix://:pa'ss sekret"$'\t\n'"@$socket"; do
    rlctl -u "$url" check k --limit 9/60s >/dev/null 2>&1 3>&- 4>&- &
    pid=$!
    wait_until grep -q '\*\*\*\*\*\*@' "/proc/$pid/cmdline"
    run -0 cmdline
    kill "$pid"
    refute_output --partial sekret
    assert_output --partial 'check k --limit 9/60s'
  done
}

@test "the password of a URL is not in any output" {
  local arguments
  while read -r arguments; do
    # shellcheck disable=SC2086 # split into words
    run --separate-stderr rlctl $arguments <<<k
    ((status >= 2)) || fail "status $status of $arguments"
    [[ -n $output$stderr ]] || fail "no output of $arguments"
    if [[ $output$stderr == *sekret* ]]; then fail "$output$stderr"; fi
  done <<ARGUMENTS
-u unix://:sekret@$protected check k --limit 9/60s
-u unix://:sekret@$protected check k --limit 9/60s --json
-u unix://:sekret@$protected check --limit 9/60s --batch
-u unix://:sekret@$protected check --limit 9/60s --batch --json
-u rediss://ann:sekret@h check k --limit 9/60s
-u redis+cluster://ann:sekret@h check k --limit 9/60s
ARGUMENTS
}

@test "--askpass without a terminal is refused" {
  fails 2 'check: --askpass needs a terminal, and this process has none' \
    setsid -w rlctl check k --limit 9/60s --askpass </dev/null
}

@test "--askpass asks on the terminal, without echo, and not on stdout" {
  needs_terminal
  run -0 at_terminal 'wait_until grep -q "Password: " "$screen"; echo se/cret@' \
    "rlctl -s $protected check k --limit 9/60s --askpass"
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --partial 'Password: '
  assert_output --partial 'allowed key=k'
  refute_output --partial cret
}

# --- round trips --------------------------------------------------------------------------------------

# With a password or a database, see tests/redis/connection_test.cc.
@test "the EVALSHA is the first thing sent" {
  start_fake_server '*6\r\n:1\r\n:8\r\n:0\r\n:60000000\r\n:0\r\n:0\r\n'
  run -0 rlctl check k --limit 9/60s
  run -0 tr -d '\r' <"$socket.came"
  assert_equal "${lines[*]}" \
    "*6 \$7 EVALSHA \$40 $(sha1sum <"$project/lua/sliding-window-log.lua" | cut -c1-40) \$1 1 \$1 k \$1 9 \$8 60000000"
}

# --- private: ---------------------------------------------------------------------------------------

@test "no example offers private: for a check" {
  cd "$project"
  run -1 grep -nE 'check .*-u private:|-u private:.* check|^url = "private:"' README.md quickstart man/*.scd
}
