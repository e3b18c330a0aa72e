load ../support/common

# Whatever is at the other end, rlctl prints one line, exits with the right status, and never hangs.

@test "a reply that ends early, never comes, or is not one exits with status 3, with a line that says which" {
  local reply option message hint
  while IFS='|' read -r reply option message hint; do
    start_fake_server ${option:+"$option"} "$reply"
    run_with_timeout -3 --separate-stderr rlctl check k --limit 5/60s --timeout 200ms
    assert_output ''
    assert_equal "${stderr_lines[0]}" "rlctl: check: ${message/URL/unix://$socket}; the request may have been counted"
    assert_equal "${stderr_lines[1]-}" "$hint"
    stop_servers
  done <<'TABLE'
||no answer from URL within 200ms|
*6\r\n:1\r\n:4\r\n:||no answer from URL within 200ms|
|--close|URL closed the connection|
*6\r\n:1\r\n:4\r\n:0|--close|URL closed the connection|
HTTP/1.1 400 Bad Request\r\n\r\n|--close|URL: the answer is not RESP: 'HTTP/1.1 400 Bad Request\r\n\r\n'|  hint: is it a Redis server?
\x1b[2J\0\xff||URL: the answer is not RESP: '\x1b[2J\x00\xff'|  hint: is it a Redis server?
*99999999999\r\n||URL: the answer is not RESP: '*99999999999\r\n'|  hint: is it a Redis server?
TABLE
}

@test "what only reads does not say that something may have been executed" {
  local command
  start_fake_server --close ''
  for command in 'inspect k' list audit doctor; do
    # shellcheck disable=SC2086 # split into words
    run_with_timeout --separate-stderr rlctl $command
    assert_regex "$output$stderr" 'closed the connection'
    refute_regex "$output$stderr" 'may have been'
  done
}

# start_endless_server CODE: after the first bytes of a request, runs this Perl code, which prints, for ever.
start_endless_server() {
  start_perl_server '
    $SIG{PIPE} = "IGNORE";
    $SIG{CHLD} = "IGNORE";
    while (my $socket = $listener->accept) {
      next if fork;
      $socket->autoflush;
      sysread $socket, my $came, 65536;
      my $first = 1;
      $! = 0;
      while ($socket->connected) { '"$1"' last if $!{EPIPE} || $!{ECONNRESET}; $first = 0; }
      exit;
    }'
}

# Each line is the code of a peer whose reply never ends, although its bytes never stop.
endless_replies() {
  cat <<'REPLIES'
print $socket "*1\r\n"; select undef, undef, undef, 0.1;
print $socket $first ? "\$1000000000\r\n" : "x"; select undef, undef, undef, 0.1;
print $socket $first ? "\$9000000000000000000\r\n" : "x" x 1000; select undef, undef, undef, 0.01;
print $socket $first ? "+" : "x" x 1000; select undef, undef, undef, 0.01;
print $socket $first ? "*2147483647\r\n" : ":1\r\n" x 100; select undef, undef, undef, 0.01;
print $socket $first ? "*2147483647\r\n*2147483647\r\n*2147483647\r\n" : "+x\r\n" x 100; select undef, undef, undef, 0.01;
REPLIES
}

@test "the timeout ends the wait for a reply that never ends, in every command" {
  local code codes command commands pids pid
  cd "$BATS_TEST_TMPDIR"
  lines_of codes endless_replies
  for code in "${codes[@]}"; do
    start_endless_server "$code"
    commands=('check k --limit 5/60s' 'check --limit 5/60s --batch' 'inspect k' 'reset k'
      "burst -s $socket steady --clock real --rate 100/s --duration 100ms")
    pids=()
    for command in "${commands[@]}"; do
      # shellcheck disable=SC2086 # split into words
      timeout 120 rlctl $command --timeout 200ms <<<k >/dev/null 2>"err.${#pids[@]}" 3>&- &
      pids+=("$!")
    done
    for pid in "${!pids[@]}"; do
      status=0
      wait "${pids[pid]}" || status=$?
      ((status == 3)) || fail "status $status of ${commands[pid]}: $(<"err.$pid")"
      assert_regex "$(<"err.$pid")" "(no answer from unix://$socket within 200ms|the answer is not RESP)"
    done
    stop_servers
  done
}

@test "a claimed length costs neither memory nor time" {
  local reply
  [[ $RLCTL_BUILD != *sanitize* ]] || skip 'a sanitizer needs more address space'
  for reply in '*2147483647' '*2147483647\r\n*2147483647\r\n*2147483647' '$2147483647' \
    '*2\r\n:1\r\n*2147483647' '$9223372036854775807'; do
    start_fake_server "$reply\r\n"
    # With too little address space for what it claims, the program would fail in another way.
    run_with_timeout -3 --separate-stderr bash -c 'ulimit -v 262144; exec rlctl "$@"' - \
      check k --limit 5/60s --timeout 200ms
    assert_equal "$stderr" \
      "rlctl: check: no answer from unix://$socket within 200ms; the request may have been counted"
    stop_servers
  done
}

@test "a reply that no limiter gives, or an error, exits with status 5 and one clean line" {
  local reply message
  while IFS='|' read -r reply message; do
    start_fake_server "$reply\r\n"
    run_with_timeout -5 --separate-stderr rlctl check k --limit 5/60s
    assert_output ''
    assert_equal "$stderr" \
      "rlctl: check: unix://$socket: ${message:-the reply is not that of a limiter script: six integers}"
    stop_servers
  done <<'TABLE'
+OK
:1
$-1
*0
*2\r\n:1\r\n:4
*6\r\n:1\r\n:4\r\n:0\r\n:0\r\n:0\r\n$1\r\n0
-ERR \x1b[31mred\x09and\x01so on|\x1b[31mred\tand\x01so on
-NOSCRIPT No matching script|NOSCRIPT No matching script
TABLE
}

@test "a reply by which a wait would have no end is not that of a limiter" {
  local reply
  # Denied, with nothing to wait for; allowed, after a delay of 130 years.
  for reply in '*6\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:1\r\n' '*6\r\n:1\r\n:5\r\n:0\r\n:0\r\n:4102444800000000\r\n:0\r\n'; do
    start_fake_server "$reply"
    run_with_timeout -5 --separate-stderr rlctl check k --limit 5/60s --wait=1s
    assert_equal "$stderr" \
      "rlctl: check: unix://$socket: the reply is not that of a limiter script: six integers"
    run_with_timeout -125 rlctl run k --limit 5/60s --wait=1s -- echo ran
    refute_line ran
    run_with_timeout -125 rlctl run k --limit 5/60s -- echo ran
    refute_line ran
    stop_servers
  done
}

@test "a search whose cursor stays the same is given up" {
  local command
  start_perl_server '
    while (my $client = $listener->accept) {
      if (!fork) {
        while (sysread $client, my $came, 65536) {
          my $replies = "";
          while ($came =~ /\$\d+\r\n(SCAN|TIME|INFO|ROLE|DBSIZE|CLUSTER|CLIENT|HELLO)\r\n/gi) {
            $replies .= uc $1 eq "SCAN" ? "*2\r\n\$1\r\n7\r\n*0\r\n"
              : uc $1 eq "TIME" ? "*2\r\n\$10\r\n1700000000\r\n\$1\r\n0\r\n" : "\$0\r\n\r\n";
          }
          print $client $replies;
        }
        exit;
      }
      close $client;
    }'
  for command in list audit 'inspect --match *' 'reset --match * --yes'; do
    # shellcheck disable=SC2086 # split into words
    set -f && run_with_timeout -3 --separate-stderr rlctl $command && set +f
    assert_regex "$stderr" "unix://$socket: the server's SCAN never ends"
  done
}

@test "a server whose time is not a time is named" {
  start_perl_server '
    while (my $client = $listener->accept) {
      while (sysread $client, my $came, 65536) {
        my %replies = (TYPE => "+string\r\n", TIME => "*1\r\n\$4\r\nnoon\r\n");
        print $client join "", map { $replies{$_} // ":-1\r\n" } $came =~ /\*\d+\r\n\$\d+\r\n(\w+)/g;
      }
    }'
  run_with_timeout -3 --separate-stderr rlctl inspect k
  assert_equal "${stderr_lines[0]}" "rlctl: inspect: unix://$socket: the reply to TIME is not a time"
}

@test "the code of an error determines its class, whatever the message" {
  local code expected
  while read -r code expected; do
    start_fake_server "-$code some words\r\n"
    run_with_timeout "-$expected" --separate-stderr \
      rlctl check k --limit 5/60s --json
    run -0 gojq -er .error.code <<<"$stderr"
    assert_output "$code"
    stop_servers
  done <<'TABLE'
LOADING 3
BUSY 3
MASTERDOWN 3
ASK 3
NOAUTH 4
WRONGPASS 4
NOPERM 4
DENIED 4
WRONGTYPE 5
READONLY 5
OOM 5
MISCONF 5
NOREPLICAS 5
MOVED 5
CROSSSLOT 5
EXECABORT 5
SOMETHINGNEW 5
TABLE
}

@test "what a node of a Cluster refuses for a while is reported after the timeout" {
  local code
  for code in CLUSTERDOWN TRYAGAIN; do
    start_fake_server "-$code some words\r\n"
    run_with_timeout -3 --separate-stderr rlctl check k --limit 5/60s --json --timeout 2s
    run -0 gojq -er .error.code <<<"$stderr"
    assert_output "$code"
    stop_servers
  done
}

@test "a socket file without a server is reported" {
  start_fake_server ''
  stop_servers
  run_with_timeout -3 --separate-stderr rlctl check k --limit 5/60s
  assert_equal "$stderr" "rlctl: cannot connect to unix://$socket: connection refused"
}

@test "a file that is not a socket, and a host that cannot be resolved, are reported" {
  touch "$BATS_TEST_TMPDIR/file"
  run -3 --separate-stderr rlctl -s "$BATS_TEST_TMPDIR/file" check k --limit 5/60s
  assert_equal "$stderr" \
    "rlctl: cannot connect to unix://$BATS_TEST_TMPDIR/file: connection refused"
  run -3 --separate-stderr rlctl -u redis://nobody.invalid check k --limit 5/60s
  assert_output ''
  assert_regex "$stderr" '^rlctl: cannot connect to redis://nobody\.invalid:6379: '
}

@test "a server that does not accept connections is reported" {
  use_socket
  start_bound perl -MIO::Socket::UNIX -e '
    my $listener = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1);
    my @full = map { IO::Socket::UNIX->new(Peer => $ARGV[0], Timeout => 1) } 1 .. 2;
    open my $file, ">", "$ARGV[0].full"; close $file; sleep 60' "$socket"
  wait_until test -e "$socket.full"
  run_with_timeout -3 --separate-stderr rlctl check k --limit 5/60s --timeout 200ms
  assert_equal "$stderr" "rlctl: cannot connect to unix://$socket: no answer within 200ms"
}
