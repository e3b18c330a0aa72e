# needs: server
load ../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }
# A TCP port that no server uses.
free_port() {
  perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(LocalAddr => "127.0.0.1", Listen => 1)->sockport'
}

allowed() {
  run -0 rlctl "$@"
  assert_output --regexp '^allowed key=k '
}

# --- the server -------------------------------------------------------------------------------------

@test "global options may precede or follow the command" {
  export RLCTL_URL=unix:///nowhere/at/all
  allowed -s "$socket" check k --limit 9/60s
  allowed check k --limit 9/60s -s "$socket"
  allowed check --socket="$socket" k --limit 9/60s
  allowed -u "unix://$socket" check --limit=9/60s k
  assert_equal "$(cli LLEN k)" 4
}

@test "the last of a repeated option counts" {
  allowed check k -u unix:///nowhere -u "unix://$socket" --limit 9/60s --cost 5 --cost 2
  assert_equal "$(cli LLEN k)" 2
}

@test "--url overrides RLCTL_URL" {
  RLCTL_URL=unix:///nowhere/at/all allowed check k --limit 9/60s -u "unix://$socket"
  RLCTL_URL=unix://$socket run -3 rlctl check k --limit 9/60s -u unix:///nowhere/at/all
  RLCTL_URL=unix://$socket allowed check k --limit 9/60s
}

@test "--socket and --db override a URL" {
  allowed -u 'unix:///nowhere/at/all?db=3' -s "$socket" -n 4 check k --limit 9/60s
  assert_equal "$(cli -n 4 EXISTS k)" 1
  assert_equal "$(cli -n 3 EXISTS k)" 0
}

@test "the database of a URL is used" {
  allowed -u "unix://$socket?db=3" check k --limit 9/60s
  assert_equal "$(cli -n 3 EXISTS k)" 1
  assert_equal "$(cli EXISTS k)" 0
}

@test "a missing database is an error of the server" {
  run -5 --separate-stderr rlctl -n 999 check k --limit 9/60s
  assert_output ''
  assert_equal "${stderr_lines[0]}" \
    "rlctl: unix://$socket?db=999: SELECT: DB index is out of range"
  assert_equal "${stderr_lines[1]}" \
    '  hint: see redis-cli CONFIG GET databases; most clusters have only database 0'
  assert_equal "${#stderr_lines[@]}" 2
}

# keeps_nothing STATUS OPTION…: with these connection options, each command ends with STATUS, and the server
# keeps what it had in database 0.
keeps_nothing() {
  local expected=$1 command
  shift
  cli SET mine 1
  for command in 'check k --limit 9/60s' 'check k --limit 9/60s --wait=0s' \
    'check k --limit 9/60s --algorithm gcra --cost 3' 'check --limit 9/60s --batch' \
    'check --limit 9/60s --batch --json' 'check k --limit 9/60s --peek' 'inspect mine' \
    'reset mine --force --limit 9/60s' 'reset --match m* --force --yes' \
    'burst steady --clock real --rate 100/s --duration 100ms' \
    'burst steady --clock real --rate 100/s --duration 100ms --clients 3' \
    'debug sliding-window-log k --limit 9/60s --trace -q' \
    'debug sliding-window-log k --limit 9/60s --trace -q --attach' \
    'debug sliding-window-log k --limit 9/60s --trace -q --attach --sync --yes'; do
    # shellcheck disable=SC2086 # split into words
    run "-$expected" rlctl "$@" $command <<<$'k\nl'
    refute_output --partial 'may have been'
    assert_equal "$(cli KEYS '*')" mine
  done
  assert_equal "$(calls evalsha) $(calls eval) $(calls set)" '0 0 1'
}

@test "without the database that was asked for, no command does anything in another one" {
  start_server --databases 2
  keeps_nothing 5 -u "unix://$socket?db=5"
}

@test "with a password where none is set, no command does anything" {
  start_server
  keeps_nothing 4 -u "unix://:secret@$socket"
}

@test "with a wrong password, no command does anything, though the default user may" {
  start_server
  cli ACL SETUSER ann on '>pw' '~*' '+@all'
  keeps_nothing 4 -u "unix://ann:wrong@$socket"
}

@test "a host and a port may be given by URL or by options" {
  local port
  port=$(free_port)
  start_server --port "$port" --bind 127.0.0.1
  allowed -u "redis://127.0.0.1:$port" check k --limit 9/60s
  allowed -u "redis://127.0.0.1:$port/2" check k --limit 9/60s
  allowed -u redis://nobody.invalid -H 127.0.0.1 -p "$port" check k --limit 9/60s
  RLCTL_URL=unix:///nowhere allowed -H localhost -p "$port" check k --limit 9/60s
  assert_equal "$(cli LLEN k) $(cli -n 2 LLEN k)" '3 1'
}

@test "a missing server is named with the reason" {
  local port
  port=$(free_port)
  run -3 --separate-stderr rlctl -u "redis://127.0.0.1:$port" check k --limit 9/60s
  assert_output ''
  assert_equal "$stderr" \
    "rlctl: cannot connect to redis://127.0.0.1:$port: connection refused"
  run -3 --separate-stderr rlctl -s /nowhere/at/all check k --limit 9/60s
  assert_equal "$stderr" \
    'rlctl: cannot connect to unix:///nowhere/at/all: no such file or directory'
}

@test "an IPv6 address has colons of its own, which begin no port" {
  run -0 rlctl -H ::1 -p 7 config show
  assert_output --partial 'redis://[::1]:7'
}

# --- timeouts --------------------------------------------------------------------------------------

@test "the default of --timeout is a second" {
  start_fake_server ''
  RLCTL_CONFIG=/dev/null run_with_timeout -3 rlctl check k --limit 9/60s
  assert_output --partial 'within 1s; the request may have been counted'
}

# --- passwords --------------------------------------------------------------------------------------

@test "a password comes from REDISCLI_AUTH, from a URL, or from a URL in RLCTL_URL" {
  start_server --requirepass 'se/cret@'
  run -4 rlctl check k --limit 9/60s
  REDISCLI_AUTH='se/cret@' allowed check k --limit 9/60s
  allowed check k --limit 9/60s -u "unix://:se%2Fcret%40@$socket"
  RLCTL_URL=unix://:se%2Fcret%40@$socket allowed check k --limit 9/60s
  # A user with its own password; that of the URL overrides the variable.
  REDISCLI_AUTH='se/cret@' cli ACL SETUSER ann on '>pw' '~*' '+@all'
  REDISCLI_AUTH=wrong allowed check k --limit 9/60s -u "unix://ann:pw@$socket"
  REDISCLI_AUTH=pw allowed check k --limit 9/60s --user ann
}

@test "the password of a URL is not visible in the process list" {
  start_fake_server ''
  cmdline() { tr '\0' ' ' <"/proc/$pid/cmdline"; }
  local url pid
  for url in "unix://ann:sekret@$socket" "unix:ann:sekret@$socket" "unix:sekret@$socket" \
    "UNIX:ann:sekret@$socket" "unix://:pa'ss sekret"$'\t\n'"@$socket"; do
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
  start_server --requirepass other
  local arguments
  while read -r arguments; do
    # shellcheck disable=SC2086 # split into words
    run --separate-stderr rlctl $arguments <<<k
    ((status >= 2)) || fail "status $status of $arguments"
    [[ -n $output$stderr ]] || fail "no output of $arguments"
    if [[ $output$stderr == *sekret* ]]; then fail "$output$stderr"; fi
  done <<ARGUMENTS
-u unix://:sekret@$socket check k --limit 9/60s
-u unix://:sekret@$socket check k --limit 9/60s --json
-u unix://:sekret@$socket check --limit 9/60s --batch
-u unix://:sekret@$socket check --limit 9/60s --batch --json
-u rediss://ann:sekret@h check k --limit 9/60s
-u redis+cluster://ann:sekret@h check k --limit 9/60s
ARGUMENTS
}

@test "--askpass without a terminal is refused" {
  run -2 --separate-stderr setsid -w rlctl check k --limit 9/60s --askpass </dev/null
  assert_equal "${stderr_lines[0]}" \
    'rlctl: check: --askpass needs a terminal, and this process has none'
}

@test "--askpass asks on the terminal, without echo, and not on stdout" {
  needs_terminal
  start_server --requirepass sekret
  run -0 at_terminal 'wait_until grep -q "Password: " "$screen"; echo sekret' \
    'rlctl check k --limit 9/60s --askpass'
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --partial 'Password: '
  assert_output --partial 'allowed key=k'
  refute_output --partial sekret
}

# --- round trips --------------------------------------------------------------------------------------

# start_recorder COMMANDS REPLY…: a server that waits for COMMANDS commands, which must be sent without waiting
# for an answer, makes sure that no more come, and sends REPLY; and so on for each pair.
start_recorder() {
  record=$BATS_TEST_TMPDIR/record
  start_perl_server '
    open my $file, ">", shift @ARGV or die;
    my $socket = $listener->accept;
    while (my ($wanted, $reply) = splice @ARGV, 0, 2) {
      my ($all, $count) = ("", 0);
      while ($count < $wanted) {
        sysread($socket, $all, 65536, length $all) or die "commands are missing";
        my $whole = $all;
        $count = 0;
        while ($whole =~ s/^\*(\d+)\r\n//) {
          last if grep { $whole !~ s/^\$(\d+)\r\n// || length $whole < $1 + 2 || !substr $whole, 0, $1 + 2, "" } 1 .. $1;
          ++$count;
        }
      }
      $count == $wanted && !IO::Select->new($socket)->can_read(0.2) or die "too many commands";
      print $file $all;
      $file->flush;
      $reply =~ s/,/\r\n/g;
      syswrite $socket, $reply;
    }
    sysread $socket, my $end, 1;
  ' "$record" "$@"
}

evalsha="*6 \$7 EVALSHA \$40 $(sha1sum <"$project/lua/sliding-window-log.lua" | cut -c1-40) \
\$1 1 \$1 k \$1 9 \$8 60000000"

name='*3 $6 CLIENT $7 SETNAME $5 rlctl'

@test "AUTH and SELECT are sent in one round trip, and the EVALSHA once both are answered" {
  start_recorder 2 '+OK,+OK,' 2 '-NOPERM,*6,:1,:8,:0,:60000000,:0,:0,'
  run -0 rlctl -u "unix://ann:pw@$socket?db=7" check k --limit 9/60s
  assert_output 'allowed key=k limit=9/60s remaining=8 reset=60.000s'
  run -0 tr -d '\r' <"$record"
  assert_equal "${lines[*]}" "*3 \$4 AUTH \$3 ann \$2 pw *2 \$6 SELECT \$1 7 $name $evalsha"
}

@test "without a password and a database, the EVALSHA is the first thing sent" {
  start_recorder 1 '*6,:1,:8,:0,:60000000,:0,:0,'
  run -0 rlctl check k --limit 9/60s
  run -0 tr -d '\r' <"$record"
  assert_equal "${lines[*]}" "$evalsha"
}

@test "a batch sends all its lines without waiting, once AUTH and SELECT are answered" {
  start_recorder 2 '+OK,+OK,' 3 '+OK,*6,:1,:8,:0,:60000000,:0,:0,*6,:1,:7,:0,:60000000,:0,:0,'
  run -0 rlctl -u "unix://ann:pw@$socket?db=7" check --limit 9/60s --batch <<<$'a\nb'
  assert_equal "${#lines[@]}" 2
}

@test "AUTH and SELECT must be answered within the timeout" {
  start_fake_server '+OK\r\n'
  run_with_timeout -3 --separate-stderr rlctl -n 1 --user ann check k --limit 9/60s --timeout 300ms
  assert_output ''
  assert_equal "$stderr" "rlctl: no answer from unix://ann:***@$socket?db=1 within 300ms"
}

# --- private: ---------------------------------------------------------------------------------------

@test "a check on a private server warns, even with -q, that no other request counts" {
  local warning='rlctl: check: warning: private: starts an empty server for this run only; no earlier request is counted'
  local from
  for from in '-u private:' '-q -u private:' '--json -u private:' '-u private: --peek' '-u private: --wait'; do
    # shellcheck disable=SC2086 # split into words
    run -0 --separate-stderr rlctl check $from --limit 5/60s k
    assert_equal "${stderr_lines[0]}" "$warning"
    assert_equal "${stderr_lines[1]}" '  hint: use --url or RLCTL_URL to name a persistent server'
    assert_equal "${#stderr_lines[@]}" 2
  done
  RLCTL_URL=private: run -0 --separate-stderr rlctl check -q --limit 5/60s k
  assert_equal "${stderr_lines[0]}" "$warning"
}

@test "a batch on a private server, which counts all its lines, does not warn" {
  run -1 --separate-stderr rlctl check -u private: --limit 1/60s --batch <<<$'k\nk'
  assert_equal "$stderr" ''
}

@test "no example offers private: for a check" {
  cd "$project"
  run -1 grep -nE 'check .*-u private:|-u private:.* check|^url = "private:"' README.md quickstart man/*.scd
}
