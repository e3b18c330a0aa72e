# needs: server
# What `rlctl doctor` says about servers that are set up wrongly, in each way that it knows; doctor.t has one that is well.

load ../../support/common
load ../../support/cluster
load ../../support/tls

setup_file() {
  start_server
  export server=$socket
}

# finds STATUS CHECK DETAIL [FIX]: the output has the check with this status ("ok", …), and with texts that
# contain these.
finds() {
  local lines
  lines=$(grep -A1 -E "^$1 +$2 " <<<"$output") || fail "no $1 of $2 in: $output"
  [[ $(head -n 1 <<<"$lines") == *"$3"* ]] || fail "no '$3' in: $lines"
  if [[ ${4-} ]]; then [[ $(tail -n 1 <<<"$lines") == *"$4"* ]] || fail "no '$4' in: $lines"; fi
}

# ok CHECK DETAIL [OPTION…]: doctor finds nothing wrong, and says this of the check.
ok() {
  run -0 rlctl doctor "${@:3}"
  finds ok "$1" "$2"
}

# wrong CHECK SEVERITY DETAIL FIX [OPTION…]: doctor finds this, and nothing else.
wrong() {
  local status=1
  if [[ $2 == failure ]]; then status=2; fi
  run "-$status" rlctl doctor "${@:5}"
  finds "$2" "$1" "$3" "$4"
  assert_equal "$(grep -cE '^(warning|failure) ' <<<"$output") ${lines[-1]}" "1 1 $2"
}

is_before_7() { cli INFO server | grep -q '^redis_version:6'; }

@test "a password that is wrong or missing, or a database that does not exist, is a failure" {
  start_server --requirepass secret
  wrong connection failure NOAUTH '--askpass'
  REDISCLI_AUTH=wrong wrong connection failure WRONGPASS 'has another password'
  REDISCLI_AUTH=secret wrong connection failure 'DB index is out of range' 'CONFIG GET databases' -n 99
  REDISCLI_AUTH=secret run -0 rlctl doctor
}

# --- memory, and writes that are refused ----------------------------------------------------------------

@test "a policy that may evict limiters, in colours only on a terminal" {
  cli CONFIG SET maxmemory 100mb
  local policy
  for policy in allkeys-lru volatile-ttl; do
    cli CONFIG SET maxmemory-policy "$policy"
    wrong memory warning "maxmemory-policy $policy: the server may evict limiters" noeviction
  done
  needs_terminal
  expect_status 1 at_terminal '' 'TERM=xterm rlctl doctor'
  assert_regex "$(<"$BATS_TEST_TMPDIR/screen")" $'\e\\[[0-9;]+mwarning\e\\[0?m   memory'
  cli CONFIG SET maxmemory 0
}

@test "memory that is nearly or quite full" {
  cli CONFIG SET maxmemory-policy noeviction
  cli SETRANGE filler 3000000 x
  local used
  used=$(cli INFO memory | grep -oP '^used_memory:\K[0-9]+')
  cli CONFIG SET maxmemory $((used * 20 / 19))
  wrong memory warning 'will soon be refused with OOM' 'raise maxmemory'
  cli CONFIG SET maxmemory $((used / 2))
  wrong memory failure 'check is refused with OOM' 'raise maxmemory'
  # Even if the policy allows to evict, but there is nothing that it may.
  cli CONFIG SET maxmemory-policy volatile-lru
  wrong memory failure 'too little can be evicted: check is refused with OOM' 'raise maxmemory'
  cli CONFIG SET maxmemory 0
  ok memory 'no maxmemory'
  ok role master --url private:
}

@test "too few replicas are a failure, and before 7.0 a warning" {
  cli CONFIG SET min-replicas-to-write 1
  local severity=failure
  if is_before_7; then
    severity=warning
    run -0 rlctl check k --limit 5/60s
  fi
  wrong replication "$severity" 'writes require 1 replica, 0 connected' 'min-replicas-to-write'
  cli CONFIG SET min-replicas-to-write 0
}

@test "a snapshot that failed is a failure if writes stop then, and what a restart forgets is said" {
  local folder=$BATS_TEST_TMPDIR/gone
  mkdir "$folder"
  start_server --dir "$folder" --save 3600 1
  ok persistence 'snapshots: a restart forgets what came after the last one'
  rmdir "$folder"
  cli BGSAVE >/dev/null || true
  has_failed() { cli INFO persistence | grep -q '^rdb_last_bgsave_status:err'; }
  wait_until has_failed
  wrong persistence failure 'check is refused with MISCONF' 'log'
  cli CONFIG SET stop-writes-on-bgsave-error no >/dev/null
  wrong persistence warning 'the last snapshot (BGSAVE) failed' 'log'
  start_server --appendonly yes
  ok persistence 'AOF'
}

@test "a server that has almost as many clients as it may have is a warning" {
  # Each of the tests before has ended its connection, but the server may not have noticed.
  is_alone() { cli INFO clients | grep -q '^connected_clients:1'$'\r'; }
  wait_until is_alone
  cli CONFIG SET maxclients 10
  start_bound perl -MIO::Socket::UNIX -e '
    my @clients = map { IO::Socket::UNIX->new(Peer => $ARGV[0]) or die } 1 .. 8;
    sleep 600' "$socket"
  wait_until eval "cli INFO clients | grep -q ^connected_clients:9"
  # One that has looked before may still be among them.
  wrong load warning ' clients of at most 10' maxclients
  cli CONFIG SET maxclients 1000
}

# --- what the server is -------------------------------------------------------------------------------

@test "a replica is a warning that names its master, and a Sentinel a failure that names the URL to use" {
  on_free_port start_server --repl-diskless-sync-delay 0
  local master_port=$port master=redis://127.0.0.1:$port sentinel
  start_server --replicaof 127.0.0.1 "$port"
  pause=0.1 wait_until replicates "$socket"
  wrong role warning "a replica of $master: it refuses check" "--url $master"
  ok role 'master with 1 replica' --url "$master"
  on_free_port start_sentinel
  cli SENTINEL MONITOR mymaster 127.0.0.1 "$master_port" 1
  sentinel=127.0.0.1:$port/mymaster
  wrong role failure 'this is a Sentinel' "--url redis+sentinel://$sentinel" --url "redis://${sentinel%/*}"
  ok role 'master with 1 replica' --url "redis+sentinel://$sentinel"
}

@test "a server without a command that scripts need, or without Lua, is a failure" {
  start_server --rename-command EVALSHA gone
  wrong scripts failure 'EVALSHA: unknown command' 'not renamed or disabled'
  start_server --rename-command LTRIM gone
  wrong scripts failure 'the server has no LTRIM, which sliding-window-log calls' rename-command
  start_server --rename-command SETRANGE gone
  wrong scripts warning 'the server has no SETRANGE, which fixed-window,' ''
  start_server --enable-module-command yes 2>/dev/null || skip 'needs a server whose Lua is a module'
  cli MODULE UNLOAD lua >/dev/null 2>&1 || skip 'needs a server whose Lua is a module'
  wrong scripts failure 'the server runs no Lua scripts' 'use a server with Lua'
}

# --- what a server cannot be made to say: behind a proxy that changes its replies ---------------------

# start_changing_proxy CODE: before the server, one whose replies, in $_, this Perl code changes, in length too only if
# RESP allows.
start_changing_proxy() {
  start_perl_server '
    my ($path, $code) = @ARGV;
    relay($path, sub { eval "$code; 1" or die $@ })' "$server" "$1"
}

@test "a clock that differs, an old server, an AOF that cannot be written, or a slow round trip" {
  start_changing_proxy 's/^(\*2\r\n\$10\r\n)(\d{10})/$1 . ($2 + 5)/e;
    s/(valkey|redict)_version/successors_ver/; s/redis_version:\d/redis_version:5/;
    s/aof_enabled:0/aof_enabled:1/; s/(aof_last_write_status):ok\r\n(aof_last_cow_size:)0\r/$1:err\r\n$2\r/'
  run -2 rlctl doctor
  finds warning clock 'ahead of this machine' 'NTP'
  finds warning clock '--now'
  finds warning server 'Redis 5.' 'update'
  finds failure persistence 'cannot write its AOF: check is refused with MISCONF' 'log'
  assert_line --index -1 '1 failure, 2 warnings'
  start_changing_proxy 'select undef, undef, undef, 1.1 if /PONG/'
  wrong connection warning 'more than a tenth of the timeout, 10s' '--timeout' --timeout 10s
}

# --- the connection -----------------------------------------------------------------------------------

@test "TLS is ok, but not --insecure; a password in clear is a warning where it leaves the machine" {
  start_tls_server
  ok connection 'TLS, server verified' --cacert "$certificates/ca.pem"
  wrong connection warning 'TLS, server not verified' '--cacert' --insecure
  on_free_port start_server --requirepass secret --protected-mode no
  REDISCLI_AUTH=secret run -0 rlctl doctor --url "redis://127.0.0.1:$port"
  # Another name for this machine.
  REDISCLI_AUTH=secret wrong connection warning 'the password can be read in transit' rediss:// --url "redis://0.0.0.0:$port"
}
