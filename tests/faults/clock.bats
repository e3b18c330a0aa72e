# needs: server
load ../support/common
load ../support/faults

# The server's clock an hour forward and back, for every algorithm. rlctl-scripts(7) has what it costs.

setup() {
  needs_plain_build
  start_server_with_clock
}

# with_clock <<'PERL': runs this code with ahead(SECONDS), which sets the clock, @algorithms, and ask_for($algorithm,
# $limit, $window), the integers of a reply.
with_clock() {
  faults page="$project/man/rlctl-scripts.7.scd" rounds="$(often 1)" < <(
    cat <<'PERL'
use strict;
use Time::HiRes qw(sleep time);
my $socket = $ENV{socket};
my @algorithms = qw(fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra
  leaky-bucket budget concurrency);
my $hour = 3600;
sub ahead {
  open my $file, '+<', $ENV{clock} or die;
  syswrite $file, pack 'q', $_[0];
  close $file;
  # Valkey 9.1 reads the clock again only after some milliseconds.
  for (1 .. 6000) {
    my ($seconds) = ask($socket, 'TIME') =~ /\$10\r\n(\d+)/;
    return if abs($seconds - time - $_[0]) < 60;
    sleep 0.001;
  }
  die 'the clock does not jump';
}
ahead($hour);
ahead(0);
my %sha1;
for my $algorithm (@algorithms) {
  ($sha1{$algorithm}) = run(command => ['scripts', 'load', $algorithm])->{out} =~ /sha1=(\w+)/ or die;
}
my $holder = 0;
sub ask_for {
  my ($algorithm, $limit, $window) = @_;
  my @more = $algorithm eq 'concurrency' ? ('acquire', 'host:' . ++$holder) : ();
  my $reply = ask($socket, 'EVALSHA', $sha1{$algorithm}, 1, 'k', $limit, $window * 1_000_000, @more);
  die "$algorithm: $reply" if $reply =~ /^-/;
  return $reply =~ /:(-?\d+)/g;
}
# How many are allowed now, and the reply that denied.
sub take_all {
  my ($allowed, @reply) = (0);
  while (1) {
    @reply = ask_for(@_);
    return ($allowed, @reply) if !$reply[0];
    ++$allowed;
    die "$_[0]: no end" if $allowed > 1000;
  }
}
PERL
    cat
  )
}

# fixed-window and sliding-window-counter depend on where in a window of the clock the step begins.
@test "what an hour forward and back costs, for every row and column of the table in rlctl-scripts(7)" {
  with_clock <<'PERL'
my %table;
my $cell = qr/(\d+(?: \w+ \d+)?)/;
open my $page, '<', $ENV{page} or die;
while (<$page>) { $table{$1} = [$2, $3, $4] if /^([a-z-]+) {2,}$cell {2,}$cell {2,}$cell$/ }
wrong('the rows are ' . join ' ', sort keys %table) if join(' ', sort keys %table) ne join(' ', sort @algorithms);
my @columns = ([1800, $hour], [7200, $hour], [1800, -$hour]);
for my $round (1 .. 3 * $ENV{rounds}) {
  for my $algorithm (@algorithms) {
    for my $column (0 .. $#columns) {
      my ($window, $step) = @{$columns[$column]};
      ask($socket, 'FLUSHALL');
      ahead(my $start = 7200 + int rand 7200);
      $step > 0 ? take_all($algorithm, 10, $window) : ask_for($algorithm, 10, $window);
      ahead($start + $step);
      my ($again) = take_all($algorithm, 10, $window);
      counted;
      my $said = $table{$algorithm}[$column];
      my ($least, $most) = $said =~ /^(\d+)(?: \w+ (\d+))?$/;
      wrong("$algorithm, 10 per $window s, $step s: $again, not $said")
        if $again < $least || $again > ($most // $least) || $said =~ /or/ && $again != $least && $again != $most;
    }
  }
}
PERL
}

@test "an hour back never allows anything, and says for how long" {
  with_clock <<'PERL'
for my $round (1 .. 3 * $ENV{rounds}) {
  for my $algorithm (@algorithms) {
    ask($socket, 'FLUSHALL');
    my $window = 600 + int rand 6000;
    ahead(my $start = int rand 7200);
    my (undef, @before) = take_all($algorithm, 10, $window);
    ahead($start - $hour);
    my ($again, @after) = take_all($algorithm, 10, $window);
    counted;
    wrong("$algorithm, window of $window s: $again allowed after an hour back") if $again;
    # retry_after grows by the hour, less the time that the calls took.
    my $grown = ($after[2] - $before[2]) / 1e6;
    wrong("$algorithm, window of $window s: retry_after grew by $grown s") if abs($grown - $hour) > 60;
    # The key outlives it (it was asked a moment later).
    my ($ttl) = ask($socket, 'PTTL', 'k') =~ /(-?\d+)/;
    wrong("$algorithm, window of $window s: a TTL of $ttl ms, and retry_after $after[2] us") if $ttl < $after[2] / 1000 - 60_000;
    # Forward again, it is as if nothing had happened.
    ahead($start);
    ($again) = take_all($algorithm, 10, $window);
    wrong("$algorithm, window of $window s: $again allowed after forth and back") if $again;
  }
}
PERL
}

@test "an hour back revives no hold that a call has seen end, and an hour forward ends it at once" {
  with_clock <<'PERL'
sub budget {
  my $reply = ask($socket, 'EVALSHA', $sha1{budget}, 1, 'k', 10, 100_000_000_000_000, '', @_);
  die "budget @_: $reply" if $reply =~ /^-/;
  my @integers = $reply =~ /:(-?\d+)/g;
  my ($state) = $reply =~ /\r\n([a-z]+)\r\n/;
  return (@integers[0, 1], $state // ());
}
sub expect {
  my ($what, $expected, @got) = @_;
  counted;
  wrong("$what: @got, not $expected") if "@got" ne $expected;
}
for my $round (1 .. 2 * $ENV{rounds}) {
  ask($socket, 'FLUSHALL');
  ahead(my $start = 7200 + int rand 7200);
  expect('a reserve', '1 4 held', budget(6, '', 'reserve', 'a', 1_800_000_000));
  expect('one that does not fit', '0 4 unknown', budget(5, '', 'reserve', 'b', 1_800_000_000));
  # Back, it is held for as much longer.
  ahead($start - $hour);
  expect('an hour back', '1 4', budget(0));
  expect('the same, an hour back', '1 4 held', budget(6, '', 'reserve', 'a', 1_800_000_000));
  ahead($start + $hour - 60);
  expect('an hour forward', '1 10', budget(0));
  expect('one that fits now', '1 3 held', budget(7, '', 'reserve', 'c', 7_200_000_000));
  ahead($start - $hour);
  expect('back again', '1 3', budget(0));
  expect('the same, back again', '1 3 lapsed', budget(6, '', 'reserve', 'a', 1_800_000_000));
  expect('a settle', '1 8 held', budget(2, '', 'settle', 'c'));
  expect('a late settle', '1 7 lapsed', budget(1, '', 'settle', 'a'));
  ahead($start + $hour);
  expect('a second settle', '1 7 settled', budget(2, '', 'settle', 'c'));
  expect('one with another cost', '0 7 settled', budget(5, '', 'settle', 'c'));
  # Both IDs are forgotten; what was spent is not.
  ahead($start + 6 * $hour);
  expect('a forgotten ID', '0 7 unknown', budget(5, '', 'settle', 'c'));
}
PERL
}
