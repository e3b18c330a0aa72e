# needs: server
load ../support/common
load ../support/faults

# What a server refuses, by real servers in that state, in every command that asks a server: the status of
# rlctl(1), a message that names the cause, a hint, and nothing is changed.

setup() { start_server; }

# each_command CODE CAUSE HINT <<'PERL': this code sets $break and $mend, which take the server into that state and
# out of it, or %options for each run. CAUSE is a regular expression for what is said instead of CODE, and HINT one for
# the whole hint.
each_command() {
  faults folder="$BATS_TEST_TMPDIR" server="${socket%/*}/redis-server" code="$1" cause="$2" hint="$3" < <(
    cat <<'PERL'
use strict;
my ($socket, $code, $cause, $hint) = @ENV{qw(socket code cause hint)};
my $is_not_ready = $code =~ /LOADING|BUSY|MASTERDOWN|max number/;
my $is_refused = $code =~ /NOAUTH|WRONGPASS|password/;
my $is_redis_6 = ask($socket, qw(INFO server)) =~ /^redis_version:6\./m;
my (%options, $break, $mend);
PERL
    cat
    cat <<'PERL'
# Commands that write nothing, or that a server allows in any state.
my %reads = $is_refused || $code =~ /index/ ? () :
  map { $_ => 1 } 'check --peek', qw(inspect list audit quota debug), 'scripts load',
    $code eq 'OOM' ? ('reset', 'reset --match', 'reset --save') : ();
for my $case (commands({server => $socket, path => $socket}, $ENV{folder})) {
  my $name = $case->{name};
  $case->{fresh}->();
  my $before = ask($socket, 'DUMP', 'k') . ask($socket, 'DUMP', 'new') . ask($socket, 'DBSIZE');
  ask($socket, qw(CONFIG RESETSTAT));
  $break->() if $break;
  my $ran = $case->{start}->({}, %options);
  counted;
  $mend->() if $mend;
  my $after = ask($socket, 'DUMP', 'k') . ask($socket, 'DUMP', 'new') . ask($socket, 'DBSIZE');
  my $said = "$ran->{out}$ran->{err}";
  my @expected = $name eq 'doctor' ? ($code =~ /READONLY|MASTERDOWN/ ? 1 : $code =~ /max number/ ? 3 : 2)
    : $name eq 'scripts load' && $code eq 'MASTERDOWN' ? ($is_redis_6 ? $case->{lost} : 0)
    # burst begins with a write, and Redis 6 refuses that before it checks the link to the master.
    : $name =~ /^burst/ && $code eq 'MASTERDOWN' && $is_redis_6 ? 5
    : $name =~ /^(quota|audit)$/ && ($is_refused || $code =~ /index/) ? 3
    : $is_refused && $case->{lost} == 3 ? 4
    : $is_not_ready ? $case->{lost}
    # A replica that has none of its master's data.
    : $name eq 'quota' && $code eq 'READONLY' ? 3
    : $reads{$name} ? 0
    : $case->{lost} == 125 ? 125
    : 5;
  wrong("$code, $name: status", $ran) if !grep { $_ == $ran->{status} } @expected;
  if ($ran->{status} != 0) {
    wrong("$code, $name: the cause", $ran) if $said !~ /$code|$cause/;
    wrong("$code, $name: the hint", $ran) if $ran->{err} !~ /\n  hint: $hint$/m && $name !~ /^(quota|doctor|debug --attach)/;
    wrong("$code, $name: keys", $ran) if $ran->{err} =~ /may be left|cannot remove/;
    wrong("$code, $name: nothing was sent", $ran)
      if $said =~ /closed the connection|may have been/ || $code =~ /WRONGPASS|password|index|max number/ && calls($socket, '(?:eval|evalsha|set)');
    wrong("$code, $name: lines", $ran) if $case->{lines} && (my @lines = $ran->{out} =~ /^error /mg) != $case->{lines};
    wrong("$code, $name: changed something: $before -> $after", $ran) if $before ne $after;
  }
}
PERL
  )
}

# refuses CODE CAUSE HINT BREAK MEND: each_command, with the commands that take the server into the state and out of it.
refuses() {
  each_command "$1" "$2" "$3" <<PERL
\$break = sub { ask(\$socket, $4) };
\$mend = sub { ask(\$socket, $5) };
PERL
}

master='the server is a replica; name its master instead: --url redis://127\.0\.0\.1:1'

@test "OOM, READONLY and NOREPLICAS, and a database that is missing, in every command" {
  refuses OOM maxmemory 'the server has reached its maxmemory; raise it, or remove keys' \
    'qw(CONFIG SET maxmemory 1)' 'qw(CONFIG SET maxmemory 0)'
  refuses READONLY replica "$master" 'qw(REPLICAOF 127.0.0.1 1)' 'qw(REPLICAOF NO ONE)'
  # Redis 6 lets scripts write without replicas.
  if ! cli INFO server | grep -q '^redis_version:6\.'; then
    refuses NOREPLICAS replicas "too few replicas are connected; see the server's min-replicas-to-write" \
      'qw(CONFIG SET min-replicas-to-write 1)' 'qw(CONFIG SET min-replicas-to-write 0)'
  fi
  each_command 'DB index is out of range' database 'see redis-cli CONFIG GET databases; most clusters have only database 0' \
    <<<'%options = (more => [qw(--db 99)]);'
}

@test "NOAUTH, a password that is wrong, or where none is set, and too many clients, in every command" {
  refuses NOAUTH password "no password was given for user 'default'; use --askpass, --password-file or the variable REDISCLI_AUTH" \
    'qw(CONFIG SET requirepass secret)' "qw(CONFIG SET requirepass), ''"
  refuses 'max number of clients' clients "try again, or raise the server's maxclients" \
    'qw(CONFIG SET maxclients 1)' 'qw(CONFIG SET maxclients 100)'
  each_command 'without any password' password "user 'default' has no password on this server; name another with --user, or give no password" \
    <<<'%options = (env => {REDISCLI_AUTH => "secret"});'
  cli ACL SETUSER ann on '>pw' '~*' '+@all'
  each_command WRONGPASS password "user 'ann' is unknown or disabled, or has another password" \
    <<<'%options = (env => {REDISCLI_AUTH => "wrong"}, more => [qw(--user ann)]);'
}

@test "MASTERDOWN, in every command" {
  stop_servers
  start_server --replica-serve-stale-data no
  refuses MASTERDOWN master "(the replica has lost its master; try again, or name the master with --url|$master)" \
    'qw(REPLICAOF 127.0.0.1 1)' 'qw(REPLICAOF NO ONE)'
}

@test "MISCONF, a server that cannot save, in every command" {
  local gone=$BATS_TEST_TMPDIR/gone
  mkdir "$gone"
  stop_servers
  start_server --dir "$gone"
  cli CONFIG SET save '3600 1'
  rmdir "$gone"
  redis-cli -s "$socket" BGSAVE
  has_failed() { cli INFO persistence | grep -q 'rdb_last_bgsave_status:err'; }
  wait_until has_failed
  each_command MISCONF 'sav(e|ing)|snapshot' 'the server cannot save its data and accepts no writes; its log gives the reason' <<'PERL'
$break = sub { ask($socket, qw(CONFIG SET stop-writes-on-bgsave-error yes)) };
$mend = sub { ask($socket, qw(CONFIG SET stop-writes-on-bgsave-error no)) };
$mend->();
PERL
}

@test "BUSY, a script that does not end, in every command" {
  cli CONFIG SET lua-time-limit 20
  each_command BUSY 'script' \
    'a script has been running for too long; try again, or stop it with SCRIPT KILL on that server \(FUNCTION KILL if it is a function\), unless it has written' <<'PERL'
my $loop;
$break = sub {
  $loop = IO::Socket::UNIX->new(Peer => $socket) or die;
  syswrite $loop, "EVAL 'while true do end' 0\r\n";
  wait_for('BUSY', sub { ask($socket, 'PING') =~ /^-BUSY/ });
};
$mend = sub {
  ask($socket, 'SCRIPT', 'KILL');
  wait_for('PONG', sub { ask($socket, 'PING') =~ /^\+PONG/ });
};
PERL
}

# A server that answers while it loads, between two keys, for six seconds.
@test "LOADING, a server that starts, in every command" {
  each_command LOADING 'loading' 'the server is still loading its data; try again in a moment' <<'PERL'
my $other = "$ENV{folder}/loading";
mkdir $other;
symlink readlink($ENV{server}), "$other/redis-server";
my ($loading, $since);
END { if ($loading) { local $?; kill KILL => $loading; waitpid $loading, 0 } }
ask($socket, qw(CONFIG SET rdbcompression no));
ask($socket, 'SETRANGE', "big:$_", 2_200_000, 'x') for 1 .. 20;
die if ask($socket, 'SAVE') !~ /OK/;
rename $ENV{server} =~ s/[^\/]*$/dump.rdb/r, "$other/dump.rdb" or die $!;
my $ping = sub {
  my $reply = eval { ask("$other/socket", 'PING') };
  forget("$other/socket");
  return $reply // '';
};
sub start_loading {
  if ($loading) { kill KILL => $loading; waitpid $loading, 0 }
  $loading = fork // die;
  if (!$loading) {
    open STDOUT, '>', "$other/log";
    exec "$other/redis-server", qw(--port 0 --unixsocket), "$other/socket", '--dir', $other,
      qw(--save --appendonly no --key-load-delay 300000) or POSIX::_exit(1);
  }
  $since = time;
  wait_for('LOADING', sub { $ping->() =~ /LOADING/ });
}
$break = sub {
  start_loading() if !$loading || time > $since + 2 || $ping->() !~ /LOADING/;
  rename $socket, "$socket.real";
  symlink "$other/socket", $socket;
};
$mend = sub { rename "$socket.real", $socket };
PERL
}
