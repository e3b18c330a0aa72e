# needs: server
load ../support/common
load ../support/faults

# Every signal at every stage of a run. SIGINT, SIGTERM, SIGHUP and SIGQUIT end rlctl by the signal, as
# rlctl(1) says; SIGPIPE is ignored; no private server, socket, temporary or half-written file remains.

setup() {
  ulimit -c 0
  start_server
}

# At a random moment of the start, of a run that takes no longer: it ends by the signal, or as without it.
@test "signals at random moments of a start, with a server and with a private one" {
  stages <<'PERL'
my %most = (check => 0.006, private => 0.06);
for my $round (1 .. 25 * $rounds) {
  for my $kind ('check', 'private') {
    my $signal = $signals[rand @signals];
    my $delay = rand $most{$kind};
    my $sent;
    ask($socket, 'DEL', 'k');
    my $command = $kind eq 'check' ? [qw(check k --limit 5/60s)] : [qw(-u private: check k --limit 5/60s)];
    my $began = time;
    my $ran = run(command => $command, env => {RLCTL_URL => "unix://$socket"}, meanwhile => sub {
      my ($run, $pid) = @_;
      return if $sent || time < $began + $delay;
      $sent = kill $signal, $pid;
    });
    counted;
    my $what = "$kind, SIG$signal after $delay s";
    wrong($what, $ran) if $ran->{status} != 0 && $ran->{status} != -$number{$signal};
    wrong("$what: no answer", $ran) if $ran->{status} == 0 && $ran->{out} !~ /^allowed /;
    # Before main() has begun, the signal ends the process like any other.
    left($what, $ran);
  }
}
PERL
}

@test "signals while a connection is made, in every command" {
  stages <<'PERL'
# A socket whose queue is full.
my $path = "$folder/full";
my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 1) or die;
my @full = map { IO::Socket::UNIX->new(Peer => $path, Timeout => 1) } 1 .. 2;
for my $case (commands({server => $socket, path => $path}, $folder)) {
  my $signal = $signals[rand @signals];
  my $ran = $case->{start}->({}, more => [timeout($case)], meanwhile => signal_when_asleep($signal));
  ends_by("$case->{name}, connecting", $signal, $ran);
}
PERL
}

# Two of the signals in each command, and others at another commit; at night, all.
@test "every signal in every command while it waits for a reply" {
  stages <<'PERL'
my $number = 0;
for my $case (commands($proxy, $folder)) {
  my $first = (++$number + ($ENV{RLCTL_TEST_OFFSET} // 0)) % 2;
  for my $signal (finishes($case) ? $signals[rand @signals] : $ENV{RLCTL_TEST_ALL} ? @signals : @signals[$first, $first + 2]) {
    my $sent;
    my $ran = $case->{go}->({stall => 0}, more => [timeout($case)], meanwhile => sub {
      my ($run, $pid) = @_;
      if ($run->{took} && !$sent) { $sent = kill $signal, $pid }
    });
    next if !$ran->{took};
    ends_by("$case->{name}, asking", $signal, $ran);
  }
}
PERL
}

@test "every signal while nobody reads the output: whole lines are written, each once" {
  stages <<'PERL'
for my $signal (@signals) {
  pipe my $in, my $out or die;
  my $is_full = sub { ioctl $in, 0x541b, my $count = pack 'i', 0 or die; unpack('i', $count) > 30_000 }; # FIONREAD
  my $sent;
  ask($socket, 'DEL', 'k');
  my $ran = run(command => [qw(check --limit 1000000/1h --batch)], stdin => "k\n" x 20_000,
    env => {RLCTL_URL => "unix://$socket"}, before => sub { POSIX::dup2(fileno $out, 1) }, meanwhile => sub {
      my ($run, $pid) = @_;
      if (!$sent && is_asleep($pid) && $is_full->()) { $sent = kill $signal, $pid }
    });
  ends_by('a batch, writing', $signal, $ran);
  close $out;
  my $left = 1_000_000;
  while (my $line = <$in>) {
    --$left;
    wrong("a batch, writing, SIG$signal: $line") if $line !~ /^allowed key=k .* remaining=$left reset=.*s\n\z/;
  }
  wrong("a batch, writing, SIG$signal: nothing was written") if $left > 999_900;
}
PERL
}

@test "every signal while burst removes its keys, and a second one" {
  stages <<'PERL'
for my $signal (@signals) {
  my ($sent, $pid_of) = (0);
  my @command = ('burst', '-s', $proxy->{path}, qw(steady --requests 3 gcra -q));
  ask($socket, 'FLUSHALL');
  # The last call removes the keys.
  my $whole = run(command => \@command, through => $proxy, fault => {count => 1});
  my $ran = run(command => \@command, through => $proxy, meanwhile => sub { $pid_of = $_[1] }, fault => {
    between => $whole->{commands} - 1, do => sub { kill $signal, $pid_of }});
  # The signal comes too late to change the result, or ends it once the keys are gone.
  counted;
  wrong("burst, cleaning up, SIG$signal", $ran) if $ran->{status} != -$number{$signal} && $ran->{status} != 0;
  wrong("burst, cleaning up, SIG$signal: keys are left", $ran) if ask($socket, 'DBSIZE') ne ":0\r\n";
  left('burst', $ran);
}
PERL
}

@test "SIGPIPE at random moments changes nothing" {
  stages <<'PERL'
for my $round (1 .. 20 * $rounds) {
  my $sent;
  ask($socket, 'DEL', 'k');
  my $ran = run(command => [qw(check k --limit 5/60s)], through => $proxy, fault => {count => 1}, meanwhile => sub {
    my ($run, $pid) = @_;
    # From its first request on; before, the default action may hold.
    if (!$sent && $run->{commands}) { $sent = kill 'PIPE', $pid }
  });
  counted;
  wrong('SIGPIPE', $ran) if $ran->{status} != 0 || $ran->{out} !~ /^allowed /;
}
PERL
}

# Whether the units are free is asked by a take, which the server's clock decides; so the machine may be slow.
@test "kill -9 between a reserve and its settle, or during them: the units are free when the hold ends, within 10 ms" {
  stages <<'PERL'
my ($sha1) = run(command => [qw(scripts load budget)])->{out} =~ /sha1=(\w+)/ or die;
my $clock = sub { my @words = ask($socket, 'TIME') =~ /^(\d+)\r$/mg; $words[0] * 1e6 + $words[1] };
my @limit = qw(--limit 5/1000d);
my @window = (5, 86_400_000_000_000, '');
for my $round (1 .. 8 * $rounds) {
  ask($socket, 'DEL', 'b');
  # Killed when the server has answered, which it does not know; or never.
  my ($is_killed, $begun) = ($round % 2, $clock->());
  my $reserve = run(command => [qw(check b --reserve 3 --hold 300ms --id a), @limit], through => $proxy,
    fault => $is_killed ? {stall => 0} : {}, meanwhile => sub { kill KILL => $_[1] if $_[0]{took} });
  my ($least, $most) = ($begun + 300_000, $clock->() + 300_000);
  wrong("round $round: reserve", $reserve) if $reserve->{status} != ($is_killed ? -9 : 0);
  # A settle that may have been made.
  my ($began, $delay) = (time, rand 0.006);
  run(command => [qw(settle b a 1), @limit], env => {RLCTL_URL => "unix://$socket"},
    meanwhile => sub { kill KILL => $_[1] if time > $began + $delay });
  # A server reads what an earlier connection has sent before it reads this.
  forget($socket);
  ask($socket, 'PING');
  my $is_settled = ask($socket, qw(HGET b a)) =~ /\ns/;
  my $what = "round $round: " . ($is_settled ? 'settled' : 'held');
  while (1) {
    my $before = $clock->();
    my ($is_allowed, undef, $wait) = ask($socket, 'EVALSHA', $sha1, 1, 'b', @window, 4) =~ /:(-?\d+)/g;
    my $after = $clock->();
    counted;
    if ($is_allowed) {
      wrong("$what: free " . ($least - $after) . ' us early') if !$is_settled && $after < $least;
      last;
    }
    if ($is_settled || $before > $most + 10_000) {
      wrong("$what: not free " . ($before - $most) . ' us later');
      last;
    }
    wrong("$what: another $wait us") if $before + $wait > $most + 10_000 || $after + $wait < $least - 10_000;
    sleep 0.001;
  }
  # It spends once, if its ID is still known.
  my $settle = run(command => [qw(settle b a 1), @limit], env => {RLCTL_URL => "unix://$socket"});
  my $expected = $settle->{status} == 1 ? qr/^unknown .* remaining=[01] /
    : $is_settled ? qr/^already .* remaining=0 /
    : qr/^settled .* was=lapsed actual=1 remaining=0 /;
  wrong("$what: settle", $settle) if $settle->{out} !~ $expected;
}
PERL
}
