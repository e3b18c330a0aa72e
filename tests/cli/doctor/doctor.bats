# needs: server
# What `rlctl doctor` says about servers that are set up well, and wrongly in each way that it knows.

load ../../support/common
load ../../support/cluster
load ../../support/tls

# finds STATUS CHECK DETAIL [FIX]: the output has the check with this status ("ok", …), and with texts that
# contain these.
finds() {
  local lines
  lines=$(grep -A1 -E "^$1 +$2 " <<<"$output") || fail "no $1 of $2 in: $output"
  [[ $(head -n 1 <<<"$lines") == *"$3"* ]] || fail "no '$3' in: $lines"
  if [[ ${4-} ]]; then [[ $(tail -n 1 <<<"$lines") == *"$4"* ]] || fail "no '$4' in: $lines"; fi
}

# only_finds STATUS CHECK…: all other checks are ok.
only_finds() {
  finds "$@"
  assert_equal "$(grep -cE '^(warning|failure) ' <<<"$output")" 1
}

is_before_7() { cli INFO server | grep -q '^redis_version:6'; }

checks='connection server role load scripts acl clock memory persistence replication cluster'

@test "a healthy server has only ok lines, in a fixed order, and nothing is written" {
  start_server
  cli CONFIG RESETSTAT >/dev/null
  run -0 rlctl doctor
  assert_equal "$(awk 'NF > 4 { print $1 }' <<<"$output" | sort -u)" ok
  assert_equal "$(awk '$1 == "ok" { print $2 }' <<<"$output" | xargs)" "$checks"
  assert_line --index $((${#lines[@]} - 1)) 'no warnings, no failures'
  finds ok connection "unix://$socket, unix socket, round trip "
  finds ok role 'master with 0 replicas'
  finds ok acl "user 'default' may call what check needs, with every algorithm"
  finds ok memory 'no maxmemory'
  finds ok persistence 'none: after a restart, every limiter allows its full limit'
  assert_equal "$(cli DBSIZE)" 0
  # Without what the test itself calls.
  run -0 cli INFO commandstats
  assert_equal "$(grep -P '^cmdstat_(?!(acl|client|cluster|command|config|dbsize|evalsha|hello|info|ping|script|time)[|:])' \
    <<<"$output")" ''
}

@test "with --json, each check is an object" {
  start_server --maxmemory 100mb --maxmemory-policy allkeys-lru
  run -1 --separate-stderr rlctl doctor --json
  assert_equal "$(gojq -r .check <<<"$output" | xargs)" "$checks"
  assert_equal "$(gojq -c 'keys' <<<"$output" | sort -u)" '["check","detail","fix","status"]'
  assert_equal "$(gojq -r 'select(.fix == null) | .status' <<<"$output" | sort -u)" ok
  assert_equal "$(gojq -r 'select(.fix != null) | .check + " " + .status' <<<"$output")" 'memory warning'
}

@test "without a server, or with wrong usage, the status is 3" {
  run -3 --separate-stderr rlctl doctor
  assert_equal "${#lines[@]}" 2
  finds failure connection "cannot connect to $RLCTL_URL"
  assert_line --index 1 '1 failure'
  run -3 --separate-stderr rlctl doctor --json
  assert_equal "$(gojq -r '.check + " " + .status' <<<"$output")" 'connection failure'
  run -3 rlctl --quick doctor
}

@test "a server that does not answer gives status 3" {
  start_fake_server ''
  run_with_timeout -3 rlctl doctor --timeout 300ms
  finds failure connection 'no answer from'
  refute_output --partial 'may have been'
}

@test "a server that refuses the password, or wants one, is a failure" {
  start_server --requirepass secret
  run -2 rlctl doctor
  only_finds failure connection NOAUTH '--askpass'
  REDISCLI_AUTH=wrong run -2 rlctl doctor
  only_finds failure connection WRONGPASS 'has another password'
  REDISCLI_AUTH=secret run -0 rlctl doctor
}

@test "a database that does not exist is a failure" {
  start_server
  run -2 rlctl doctor -n 99
  only_finds failure connection 'DB index is out of range' 'CONFIG GET databases'
}

@test "only a terminal gets colours" {
  needs_terminal
  start_server --maxmemory 100mb --maxmemory-policy allkeys-lru
  expect_status 1 at_terminal '' 'TERM=xterm rlctl doctor'
  assert_regex "$(<"$BATS_TEST_TMPDIR/screen")" $'\e\\[[0-9;]+mwarning\e\\[0?m   memory'
  run -1 rlctl doctor
  refute_output --partial $'\e'
}

@test "a private server can be examined" {
  run -0 rlctl doctor --url private:
}

# --- memory -------------------------------------------------------------------------------------------

@test "a policy that may evict limiters is a warning, unless there is no maxmemory" {
  start_server
  local policy
  for policy in allkeys-lru volatile-ttl; do
    cli CONFIG SET maxmemory 100mb maxmemory-policy "$policy" >/dev/null 2>&1 || {
      cli CONFIG SET maxmemory 100mb && cli CONFIG SET maxmemory-policy "$policy"
    } >/dev/null
    run -1 rlctl doctor
    only_finds warning memory "maxmemory-policy $policy: the server may evict limiters" noeviction
    assert_line '1 warning'
  done
  cli CONFIG SET maxmemory 0 >/dev/null
  run -0 rlctl doctor
}

@test "a server that is full, or nearly, is a failure or a warning" {
  start_server
  cli SETRANGE filler 3000000 x >/dev/null
  local used
  used=$(cli INFO memory | grep -oP '^used_memory:\K[0-9]+')
  cli CONFIG SET maxmemory $((used * 20 / 19)) >/dev/null
  run -1 rlctl doctor
  only_finds warning memory 'will soon be refused with OOM' 'raise maxmemory'
  cli CONFIG SET maxmemory $((used / 2)) >/dev/null
  run -5 rlctl check k --limit 5/60s
  assert_output --partial OOM
  run -2 rlctl doctor
  only_finds failure memory 'check is refused with OOM' 'raise maxmemory'
  # Also if the policy allows to evict, but there is nothing that it may.
  cli CONFIG SET maxmemory-policy volatile-lru >/dev/null
  run -5 rlctl check k --limit 5/60s
  run -2 rlctl doctor
  only_finds failure memory 'too little can be evicted: check is refused with OOM' 'raise maxmemory'
}

# --- writes that are refused --------------------------------------------------------------------------

@test "a replica is a warning that names its master" {
  on_free_port start_server
  local master=$port
  start_server --replicaof 127.0.0.1 "$master"
  wait_until replicates "$socket"
  run -1 rlctl doctor
  only_finds warning role "a replica of redis://127.0.0.1:$master: it refuses check" \
    "--url redis://127.0.0.1:$master"
  run -0 rlctl doctor --url "redis://127.0.0.1:$master"
  finds ok role 'master with 1 replica'
}

@test "too few replicas are a failure" {
  start_server --min-replicas-to-write 1
  if is_before_7; then
    run -0 rlctl check k --limit 5/60s
    run -1 rlctl doctor
    only_finds warning replication 'writes require 1 replica, 0 connected' 'min-replicas-to-write'
    return
  fi
  run -5 rlctl check k --limit 5/60s
  assert_output --partial NOREPLICAS
  run -2 rlctl doctor
  only_finds failure replication 'writes require 1 replica, 0 connected' 'min-replicas-to-write'
}

@test "a snapshot that failed is a failure if writes stop then, else a warning" {
  local folder=$BATS_TEST_TMPDIR/gone
  mkdir "$folder"
  start_server --dir "$folder" --save 3600 1
  rmdir "$folder"
  cli BGSAVE >/dev/null || true
  has_failed() { cli INFO persistence | grep -q '^rdb_last_bgsave_status:err'; }
  wait_until has_failed
  run -5 rlctl check k --limit 5/60s
  assert_output --partial MISCONF
  run -2 rlctl doctor
  only_finds failure persistence 'check is refused with MISCONF' 'log'
  cli CONFIG SET stop-writes-on-bgsave-error no >/dev/null
  run -1 rlctl doctor
  only_finds warning persistence 'the last snapshot (BGSAVE) failed' 'log'
}

@test "what a restart forgets is said" {
  start_server --save 3600 1
  run -0 rlctl doctor
  finds ok persistence 'snapshots: a restart forgets what came after the last one'
  cli CONFIG SET appendonly yes >/dev/null
  run -0 rlctl doctor
  finds ok persistence 'AOF'
}

@test "a server that is loading is a failure" {
  start_server --rdbcompression no
  if is_before_7; then skip 'this server answers too rarely while it loads'; fi
  cli EVAL 'for i = 1, 2000 do redis.call("SET", "key:" .. i, string.rep("x", 1100)) end' 0 >/dev/null
  cli SAVE >/dev/null
  local folder=${socket%/*}
  cli SHUTDOWN NOSAVE >/dev/null 2>&1 || true
  # It answers after each key of more than 1024 bytes.
  start_server --dir "$folder" --key-load-delay 20000 --loading-process-events-interval-bytes 1024
  run -2 rlctl doctor
  finds failure persistence 'still loading its data' 'try again in a moment'
  finds warning scripts 'LOADING'
}

@test "a server that is busy with a script is a failure" {
  start_server --lua-time-limit 10
  cli EVAL 'while true do end' 0 >/dev/null 2>&1 3>&- &
  is_busy() { redis-cli -s "$socket" PING | grep -q ^BUSY; }
  wait_until is_busy
  run -2 rlctl doctor
  only_finds failure load BUSY 'SCRIPT KILL'
}

@test "a server that has almost as many clients as it may have is a warning" {
  start_server --maxclients 10
  start_bound perl -MIO::Socket::UNIX -e '
    my @clients = map { IO::Socket::UNIX->new(Peer => $ARGV[0]) or die } 1 .. 8;
    sleep 600' "$socket"
  wait_until eval "cli INFO clients | grep -q ^connected_clients:9"
  run -1 rlctl doctor
  # One that has looked before may still be among them.
  only_finds warning load ' clients of at most 10' maxclients
}

# --- what the server is -------------------------------------------------------------------------------

@test "a Sentinel is a failure that names the URL to use" {
  start_sentinels
  local sentinel=127.0.0.1:${sentinel_ports[0]}
  run -2 rlctl doctor --url "redis://$sentinel"
  only_finds failure role 'this is a Sentinel' "--url redis+sentinel://$sentinel/mymaster"
  run -0 rlctl doctor
  finds ok role 'master with 1 replica'
}

@test "a server without a command that scripts need is a failure" {
  start_server --rename-command EVALSHA gone
  run -2 rlctl doctor
  only_finds failure scripts 'EVALSHA: unknown command' 'not renamed or disabled'
  start_server --rename-command LTRIM gone
  run -2 rlctl doctor
  only_finds failure scripts 'the server has no LTRIM, which sliding-window-log calls' rename-command
  start_server --rename-command SETRANGE gone
  run -1 rlctl doctor
  only_finds warning scripts 'the server has no SETRANGE, which fixed-window,'
}

@test "a Valkey without Lua is a failure" {
  start_server --enable-module-command yes 2>/dev/null || skip 'modules cannot be unloaded'
  cli MODULE UNLOAD lua >/dev/null 2>&1 || skip 'Lua is not a module of this server'
  run -2 rlctl doctor
  only_finds failure scripts 'the server runs no Lua scripts' 'use a server with Lua'
}

# --- what a server cannot be made to say: behind a proxy that changes its replies ---------------------

# start_proxy CODE: a server whose replies, in $_, this Perl code changes, in length too only if RESP allows.
start_proxy() {
  start_server
  start_perl_server '
    my ($path, $code) = @ARGV;
    while (my $client = $listener->accept) {
      my $server = IO::Socket::UNIX->new(Peer => $path) or die;
      my $both = IO::Select->new($client, $server);
      RELAY: while (1) {
        for my $from ($both->can_read) {
          sysread $from, $_, 1 << 20 or last RELAY;
          if ($from == $server) { eval "$code; 1" or die $@ }
          syswrite $from == $server ? $client : $server, $_;
        }
      }
    }' "$socket" "$1"
}

@test "a clock that differs is a warning about callers with their own time" {
  start_proxy 's/^(\*2\r\n\$10\r\n)(\d{10})/$1 . ($2 + 5)/e'
  run -1 rlctl doctor
  only_finds warning clock 'ahead of this machine' 'NTP'
  finds warning clock '--now'
}

@test "a round trip of more than a tenth of the timeout is a warning" {
  start_proxy 'select undef, undef, undef, 1.1 if /PONG/'
  run -1 rlctl doctor --timeout 10s
  only_finds warning connection 'more than a tenth of the timeout, 10s' '--timeout'
}

@test "a server older than 6.0 is a warning" {
  start_proxy 's/(valkey|redict)_version/successors_ver/; s/redis_version:\d/redis_version:5/'
  run -1 rlctl doctor
  only_finds warning server 'Redis 5.'
}

@test "an AOF that cannot be written is a failure" {
  start_proxy 's/aof_enabled:0/aof_enabled:1/; s/(aof_last_write_status):ok\r\n(aof_last_cow_size:)0\r/$1:err\r\n$2\r/'
  run -2 rlctl doctor
  only_finds failure persistence 'cannot write its AOF: check is refused with MISCONF'
}

# --- the connection -----------------------------------------------------------------------------------

@test "TLS is ok, but not --insecure" {
  start_tls_server
  run -0 rlctl doctor --cacert "$certificates/ca.pem"
  finds ok connection 'TLS, server verified'
  run -1 rlctl doctor --insecure
  only_finds warning connection 'TLS, server not verified' '--cacert'
}

@test "a password in clear is a warning where it leaves the machine" {
  on_free_port start_server --requirepass secret --protected-mode no
  REDISCLI_AUTH=secret run -0 rlctl doctor --url "redis://127.0.0.1:$port"
  # Another name for this machine.
  REDISCLI_AUTH=secret run -1 rlctl doctor --url "redis://0.0.0.0:$port"
  only_finds warning connection 'the password can be read in transit' rediss://
}
