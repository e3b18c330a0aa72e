load ../support/common
load ../support/faults

# A server that is killed at random moments of a batch, and started again while the batch goes on. No answer is
# forgotten that the server kept, and no line is asked twice.

# kill_rounds ROUNDS OPTION…: in each round, a batch of lines for one key; after a random number of answers the
# server is killed by SIGKILL and another one is started with these options, on the same socket and folder.
kill_rounds() {
  local rounds=$1
  shift
  start_server "$@"
  faults folder="${socket%/*}" rounds="$rounds" options="$*" killed="$server_pid" <<'PERL'
use strict;
my ($socket, $folder, $rounds, $options, $pid) = @ENV{qw(socket folder rounds options killed)};
my $persistent = $options =~ /appendonly yes/;
my $lines = 6000;
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
  pipe my $out, my $out_end or die;
  open my $in, '+>', undef or die;
  syswrite $in, "k\n" x $lines;
  sysseek $in, 0, 0;
  my $batch = fork // die;
  if (!$batch) {
    open STDIN, '<&', $in;
    open STDOUT, '>&', $out_end;
    open STDERR, '>', '/dev/null';
    exec "$ENV{RLCTL_BUILD}/cli/rlctl", qw(check --limit 1000000/1h --batch) or POSIX::_exit(127);
  }
  close $out_end;
  my ($allowed, $doubts, $number, $by_second) = (0, 0, 0, 0);
  while (my $line = <$out>) {
    ++$number;
    if ($line =~ /^allowed /) { ++$allowed; ++$by_second }
    elsif ($line =~ /^error line=(\d+) status=3 /) {
      wrong("round $round: line $number: $line") if $1 != $number;
      $by_second = 0;
      ++$doubts if $line =~ /may\\x20have\\x20been\\x20counted/;
    } else { wrong("round $round: line $number: $line") }
    if ($number == $after) {
      kill KILL => $pid;
      waitpid $pid, 0;
      forget($socket);
      start();
      command('PING');
    }
  }
  waitpid $batch, 0;
  counted;
  my ($units) = command('LLEN', 'k') =~ /(\d+)/;
  my $what = "round $round, killed after $after answers: $allowed allowed, $doubts in doubt, $units kept";
  wrong("$what: $number lines") if $number != $lines;
  wrong("$what: more than was asked") if $units > $allowed + $doubts;
  # With an AOF that is written before each answer, nothing that was answered is forgotten. Without it, what
  # the second server answered is kept: the lines after the errors.
  wrong("$what: forgotten") if $units < ($persistent ? $allowed : $doubts ? $by_second : 0);
}
PERL
}

@test "kill -9 of a server that keeps all at random moments of a batch" {
  kill_rounds "$(often 8)" --appendonly yes --appendfsync always
}

@test "kill -9 of a server that keeps nothing at random moments of a batch" {
  kill_rounds "$(often 8)" --appendonly no
}
