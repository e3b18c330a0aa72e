# needs: server
load ../support/common
load ../support/faults

# A server that is killed at random moments of a batch, and started again while the batch goes on. No answer is
# forgotten that the server kept, and no line is asked twice.

# kill_rounds ROUNDS KIND OPTION…: in each round, a batch of requests for one key, or with the KIND "reserve" of
# reservations in twenty keys; after a random number of answers the server is killed by SIGKILL and another one is
# started with these options, on the same socket and folder.
kill_rounds() {
  local rounds=$1 kind=$2
  shift 2
  start_server "$@"
  faults folder="${socket%/*}" rounds="$rounds" kind="$kind" options="$*" killed="$server_pid" <<'PERL'
use strict;
my ($socket, $folder, $rounds, $options, $pid) = @ENV{qw(socket folder rounds options killed)};
my $persistent = $options =~ /appendonly yes/;
my $lines = 6000;
my $reserves = $ENV{kind} eq 'reserve';
my @command = qw(check --limit 1000000/1h --batch);
push @command, qw(--reserve 1 --hold 1d) if $reserves;
my $input = join '', map { $reserves ? 'k' . $_ % 20 . "\t1\tid$_\n" : "k\n" } 1 .. $lines;
# How many units the server has counted; one field of a budget is not a reservation.
my $count = $reserves ? <<'LUA' : 'return redis.call("LLEN", "k")';
local n = 0
for i = 0, 19 do n = n + math.max(redis.call('HLEN', 'k' .. i) - 1, 0) end
return n
LUA
END { local $?; kill KILL => $pid if $pid; }
sub command {
  for (1 .. 6000) {
    my $reply = eval { ask($socket, @_) };
    return $reply if defined $reply && $reply !~ /^-LOADING/;
    forget($socket);
    select undef, undef, undef, 0.02;
  }
  die 'the server did not start';
}
sub start {
  $pid = fork // die;
  return if $pid;
  open STDOUT, '>>', "$folder/log";
  open STDERR, '>&', \*STDOUT;
  exec 'setpriv', '--pdeathsig', 'KILL', "$folder/redis-server", qw(--port 0 --unixsocket), $socket, '--dir',
    $folder, '--save', '', split ' ', $options or POSIX::_exit(1);
}
for my $round (1 .. $rounds) {
  command('FLUSHALL');
  my $after = 1 + int rand $lines - 2000;
  my $is_killed;
  my $ran = run(command => \@command, stdin => $input, meanwhile => sub {
    return if $is_killed || $_[0]{out} =~ tr/\n// < $after;
    $is_killed = 1;
    kill KILL => $pid;
    waitpid $pid, 0;
    forget($socket);
    start();
    command('PING');
  });
  my ($allowed, $doubts, $number, $by_second) = (0, 0, 0, 0);
  for my $line (split /\n/, $ran->{out}) {
    ++$number;
    if ($line =~ /^allowed /) { ++$allowed; ++$by_second }
    elsif ($line =~ /^error line=$number status=3 /) {
      $by_second = 0;
      ++$doubts if $line =~ /may have been counted/;
    } else { wrong("round $round: line $number: $line") }
  }
  counted;
  my ($units) = command('EVAL', $count, 0) =~ /(\d+)/;
  my $what = "round $round, killed after $after answers: $allowed allowed, $doubts in doubt, $units kept";
  wrong("$what: $number lines") if $number != $lines;
  wrong("$what: more than was asked") if $units > $allowed + $doubts;
  # With an AOF that is written before each answer, nothing that was answered is forgotten. Without it, what
  # the second server answered is kept: the lines after the errors.
  wrong("$what: forgotten") if $units < ($persistent ? $allowed : $doubts ? $by_second : 0);
  next if !$reserves;
  my $again = run(command => \@command, stdin => $input);
  ($units) = command('EVAL', $count, 0) =~ /(\d+)/;
  my $held = () = $again->{out} =~ /^allowed .* state=held units=1 /mg;
  wrong("$what: the same again: $held held, $units kept") if $held != $lines || $units != $lines;
}
PERL
}

@test "kill -9 of a server that keeps all, or nothing, at random moments of a batch" {
  kill_rounds "$(often "$(scaled 4 8)")" check --appendonly yes --appendfsync always
  stop_servers
  kill_rounds "$(often "$(scaled 4 8)")" check --appendonly no
}

@test "kill -9 of a server at random moments of reservations: the same batch again holds each once" {
  kill_rounds "$(often 2)" reserve --appendonly yes --appendfsync always
  stop_servers
  kill_rounds "$(often 2)" reserve --appendonly no
}
