# needs: server
load ../support/common

# One server without a password; some tests start their own for the errors that they need.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# refused HINT STATUS MESSAGE ARGUMENT…: rlctl check exits with STATUS, no line on stdout, and two on stderr:
# the server's name with this message, and this hint; with --json the same.
refused() {
  fails_with_hint "$1" "$2" "unix://$socket: $3" "${@:4}"
  assert_equal "${#stderr_lines[@]}" 2
  local message=${stderr_lines[0]#rlctl: check: }
  run "-$2" --separate-stderr rlctl check "${@:4}" --json
  run -0 gojq -r '.error | .message, .hint' <<<"$stderr"
  assert_line --index 0 "$message"
  assert_line --index 1 "$1"
}

# fails_with_hint HINT STATUS MESSAGE ARGUMENT…: rlctl check exits with STATUS, with this message and hint.
fails_with_hint() {
  local hint=$1 expected=$2 message=$3
  shift 3
  run "-$expected" --separate-stderr rlctl check "$@"
  assert_output ''
  assert_regex "${stderr_lines[0]}" "^rlctl: check: $message"
  assert_equal "${stderr_lines[1]-}" "${hint:+  hint: $hint}"
}

@test "a list that is not a log exits with status 5 and is left unchanged" {
  cli RPUSH k one two
  fails_with_hint 'rlctl inspect k shows what it holds' 5 \
    "unix://$socket: 'k' holds a list that is not the state of sliding-window-log$" k --limit 5/60s
  assert_equal "$(cli LRANGE k 0 -1)" $'one\ntwo'
}

@test "what a server is set up to refuse has a status and a hint" {
  local options expected message hint
  while IFS='|' read -r options expected message hint; do
    # Redis 6 lets scripts write without the replicas.
    if [[ $message == NOREPLICAS* ]] && cli INFO server | grep -q '^redis_version:6\.'; then continue; fi
    # shellcheck disable=SC2086 # split into words
    start_server $options
    refused "$hint" "$expected" "$message" k --limit 5/60s
  done <<'TABLE'
--replicaof 127.0.0.1 1 --replica-serve-stale-data no|3|MASTERDOWN |the replica has lost its master; try again, or name the master with --url
--requirepass secret|4|NOAUTH Authentication required|no password was given for user 'default'; use --askpass, --password-file or the variable REDISCLI_AUTH
--replicaof 127.0.0.1 1|5|READONLY |the server is a replica; name its master instead: --url redis://127.0.0.1:1
--min-replicas-to-write 1|5|NOREPLICAS |too few replicas are connected; see the server's min-replicas-to-write
TABLE
}

# --- 3: unavailable ---------------------------------------------------------------------------------

@test "a server that is loading exits with status 3 and LOADING" {
  start_server
  local dump=${socket%/*} i
  cli CONFIG SET rdbcompression no
  for i in {1..20}; do cli SETRANGE "big:$i" 2200000 x >/dev/null; done
  cli SAVE
  # It answers between two keys, and would take ten seconds to load all of them.
  start_server --dir "$dump" --key-load-delay 500000
  refused 'the server is still loading its data; try again in a moment' \
    3 'LOADING ' k --limit 5/60s
  run -3 --separate-stderr rlctl check k --limit 5/60s --json
  run -0 gojq -er .error.code <<<"$stderr"
  assert_output LOADING
}

@test "a server that is busy with a script exits with status 3 and BUSY" {
  start_server --lua-time-limit 20
  redis-cli -s "$socket" EVAL 'while true do end' 0 >/dev/null 2>&1 3>&- 4>&- &
  is_busy() { [[ $(redis-cli -s "$socket" PING) == BUSY* ]]; }
  wait_until is_busy
  refused 'a script has been running for too long; try again, or stop it with SCRIPT KILL on that server (FUNCTION KILL if it is a function), unless it has written' \
    3 'BUSY ' k --limit 5/60s
  cli SCRIPT KILL
  wait_until cli PING
  run -0 rlctl check k --limit 5/60s
}

@test "a busy server that does not yet reply BUSY exits with status 3 after the timeout" {
  start_server --lua-time-limit 60000
  redis-cli -s "$socket" EVAL "redis.log(redis.LOG_WARNING, 'it begins') while true do end" 0 \
    >/dev/null 2>&1 3>&- 4>&- &
  wait_until grep -q 'it begins' "${socket%/*}/log"
  run_with_timeout -3 --separate-stderr rlctl check k --limit 5/60s --timeout 300ms
  assert_equal "$stderr" \
    "rlctl: check: no answer from unix://$socket within 300ms; the request may have been counted"
}

@test "a server with too many clients exits with status 3, in every command" {
  start_server --maxclients 1
  perl -MIO::Socket::UNIX -e '
    my $socket;
    do {
      $socket = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die;
      print $socket "PING\r\n";
    } until <$socket> =~ /PONG/;
    open my $file, ">", "$ARGV[0].taken"; close $file; sleep 1 while 1' "$socket" 3>&- 4>&- &
  servers+=("$!")
  wait_until test -e "$socket.taken"
  refused "try again, or raise the server's maxclients" 3 'max number of clients reached' k --limit 5/60s
  run -3 --separate-stderr rlctl check k --limit 5/60s --json
  assert_equal "$(gojq -r .error.code <<<"$stderr")" not_now
  local command
  for command in 'check --limit 5/60s --batch' 'check k --limit 5/60s -n 1' 'check k --limit 5/60s --peek' \
    'inspect k' 'reset k' 'reset --match k* --yes' 'debug gcra k --limit 5/60s --trace -q' \
    'debug gcra k --limit 5/60s --trace -q --attach' \
    "burst -s $socket steady --clock real --rate 100/s --duration 100ms" \
    "burst -s $socket steady --clock real --rate 100/s --duration 100ms --clients 2"; do
    # shellcheck disable=SC2086 # split into words
    run_with_timeout -3 --separate-stderr rlctl $command <<<k
    assert_regex "$stderr" 'max number of clients reached'
    refute_regex "$output$stderr" 'closed the connection|may have been'
  done
  # The server has handled no line of a batch, however many were sent.
  run_with_timeout -3 --separate-stderr rlctl check --limit 5/60s --batch --json < <(seq 2000)
  run -0 gojq -rs 'length, (map(.error.message) | unique | .[])' <<<"$output"
  assert_line --index 0 2000
  assert_line --index 1 "not asked: unix://$socket: max number of clients reached"
  assert_line --index 2 "unix://$socket: max number of clients reached"
  assert_equal "${#lines[@]}" 3
}

# --- 4: refused -------------------------------------------------------------------------------------

# log_in_fails HINT MESSAGE OPTION…: rlctl check exits with status 4, with this message and hint.
log_in_fails() {
  run -4 --separate-stderr rlctl check k --limit 5/60s "${@:3}"
  assert_output ''
  assert_regex "${stderr_lines[0]}" "^rlctl: $2"
  assert_equal "${stderr_lines[1]}" "  hint: $1"
  assert_equal "${#stderr_lines[@]}" 2
}

@test "the full stop of a server's sentence does not precede a semicolon" {
  start_server --requirepass secret
  run -0 --separate-stderr rlctl check k --limit 5/60s --on-error allow
  assert_equal "${stderr_lines[0]}" \
    "rlctl: check: warning: unix://$socket: NOAUTH Authentication required; taken as allowed (--on-error)"
}

@test "a wrong password exits with status 4 and WRONGPASS, and the message keeps the user's name" {
  start_server --requirepass secret
  REDISCLI_AUTH=wrong log_in_fails "user 'default' is unknown or disabled, or has another password" \
    "unix://$socket: AUTH: WRONGPASS "
  REDISCLI_AUTH=secret log_in_fails "user 'nobody' is unknown or disabled, or has another password" \
    "unix://nobody:\*\*\*@$socket: AUTH: WRONGPASS " --user nobody
  log_in_fails "no password was given for user 'nobody'; use --askpass, --password-file or the variable REDISCLI_AUTH" \
    "unix://nobody:\*\*\*@$socket: AUTH: WRONGPASS " --user nobody
}

@test "an unnecessary password exits with status 4" {
  REDISCLI_AUTH=secret log_in_fails \
    "user 'default' has no password on this server; name another with --user, or give no password" \
    "unix://$socket: AUTH <password> called without any password"
}

# not_permitted HINT MESSAGE KEY: rlctl check, as the user ann, exits with status 4.
not_permitted() {
  REDISCLI_AUTH=pw fails_with_hint "$1" 4 "unix://ann:\*\*\*@$socket: $2" "$3" --limit 5/60s --user ann
  assert_equal "${#stderr_lines[@]}" 2
  assert_equal "$(cli EXISTS "$3")" 0
}

@test "a user who may not do what a check needs exits with status 4 and NOPERM" {
  local rules message hint
  local all="grant what sliding-window-log needs, besides access to its keys: ACL SETUSER ann +evalsha '+script|load' +time +llen +lindex +pttl +rpush +unlink +ltrim +pexpire"
  while IFS='|' read -r rules message hint; do
    cli SCRIPT FLUSH
    # shellcheck disable=SC2086 # split into words
    set -f && cli ACL SETUSER ann reset on '>pw' $rules && set +f
    [[ $hint != all ]] || hint=$all
    not_permitted "$hint" "$message" k
  done <<'TABLE'
~* +get|NOPERM .*evalsha|all
~* +evalsha +time +llen +lindex +rpush +pexpire +pttl|NOPERM .*script|all
~login:* +@all|NOPERM .*'k'|grant it: ACL SETUSER ann '~PATTERN', with a pattern that matches the key
TABLE
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

@test "a user who may not select the database exits with status 4 and NOPERM" {
  cli ACL SETUSER ann reset on '>pw' '~*' +@all -select
  local all="'+script|load' +time +llen +lindex +pttl +rpush +unlink +ltrim +pexpire +select"
  REDISCLI_AUTH=pw log_in_fails \
    "grant what sliding-window-log needs, besides access to its keys: ACL SETUSER ann +evalsha $all" \
    "unix://ann:\*\*\*@$socket\?db=1: SELECT: NOPERM " --user ann -n 1
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

# --- 5: rejected ------------------------------------------------------------------------------------

@test "a key of another type exits with status 5 and names its contents" {
  cli SET text v
  cli SADD set v
  cli ZADD zset 1 v
  fails_with_hint 'rlctl inspect text shows what it holds' 5 "unix://$socket: 'text' holds a string, but sliding-window-log keeps a list$" text --limit 5/60s
  fails_with_hint 'rlctl inspect set shows what it holds' 5 "unix://$socket: 'set' holds a set, but sliding-window-log keeps a list$" set --limit 5/60s
  fails_with_hint 'rlctl inspect zset shows what it holds' 5 "unix://$socket: 'zset' holds a sorted set, but gcra keeps a string$" zset --limit 5/60s --algorithm gcra
  assert_equal "$(cli GET text)" v
}

@test "among several keys the one of another type is named" {
  cli SET '{k}:60s' v
  fails_with_hint "rlctl inspect '{k}:60s' shows what it holds" 5 "unix://$socket: '\{k}:60s' holds a string, but sliding-window-log keeps a list$" \
    k --limit 5/60s --limit 2/s
  assert_equal "$(cli EXISTS '{k}:1s')" 0
}

@test "another algorithm's state exits with status 5 and is named" {
  # That every script refuses every other's is tested without a command line.
  local mine=gcra other before
  for other in fixed-window sliding-window-counter token-bucket leaky-bucket sliding-window-zset gcra; do
    # A long window: a fixed one does not end during the test.
    run -0 rlctl check k --limit 5/1000d --algorithm "$mine"
    before=$(cli DUMP k)
    fails_with_hint 'rlctl inspect k shows what it holds' 5 \
      "unix://$socket: 'k' holds the state of $mine, not of $other$" k --limit 5/60s --algorithm "$other"
    assert_equal "$(cli DUMP k)" "$before"
    cli DEL k
    mine=$other
  done
}

@test "a signal ends the search for a replica's master, and the error is reported without it" {
  # The server sends the signal before it answers.
  start_perl_server '
    my $first = $listener->accept;
    sysread $first, my $request, 65536;
    syswrite $first, "-READONLY You can\x27t write against a read only replica.\r\n";
    my $second = $listener->accept;
    my $asked = "";
    while ($asked !~ /replication/) { sysread($second, $asked, 65536, length $asked) or exit }
    my ($client) = unpack "i", getsockopt($second, 1, 17);  # SO_PEERCRED
    kill "TERM", $client;
    syswrite $second, "*5\r\n\$5\r\nslave\r\n\$1\r\nh\r\n:1\r\n\$9\r\nconnected\r\n:0\r\n\$0\r\n\r\n";
    sleep 60'
  fails_with_hint 'the server is a replica; name its master with --url' \
    5 "unix://$socket: READONLY " k --limit 5/60s
}

@test "a full server exits with status 5 and OOM, but --peek and denials work" {
  start_server
  run -0 rlctl check full --limit 1/60s
  cli CONFIG SET maxmemory 1
  refused 'the server has reached its maxmemory; raise it, or remove keys' \
    5 'OOM ' k --limit 5/60s
  run -1 rlctl check full --limit 1/60s
  run -0 rlctl check k --limit 5/60s --peek
}

@test "a server that cannot save exits with status 5 and MISCONF" {
  mkdir "$BATS_TEST_TMPDIR/gone"
  start_server --dir "$BATS_TEST_TMPDIR/gone"
  cli CONFIG SET save '3600 1'
  rmdir "$BATS_TEST_TMPDIR/gone"
  redis-cli -s "$socket" BGSAVE
  has_failed() { cli INFO persistence | grep -q 'rdb_last_bgsave_status:err'; }
  wait_until has_failed
  refused 'the server cannot save its data and accepts no writes; its log gives the reason' \
    5 'MISCONF ' k --limit 5/60s
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
