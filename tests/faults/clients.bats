# alone: a thousand clients must use up a limit within its window of a second
load ../support/common
load ../support/faults

# A thousand connections that ask for one key. What was allowed is counted again, for every window that begins
# with an allowed request; none holds more than the limit. RLCTL_FAULTS=15 makes it a minute.

setup() {
  ulimit -n "$(ulimit -Hn)"
  [[ $(ulimit -n) == unlimited ]] || (($(ulimit -n) >= 2100)) || skip "only $(ulimit -n) open files are allowed"
  start_server --maxclients 1100
  [[ $(cli CONFIG GET maxclients) == *1100 ]] || skip 'the server may not have so many clients'
}

@test "1,000 clients of burst on one key, by the times that burst gives: no window above the limit" {
  faults seconds="$(often "$(scaled 2 4)")" folder="$BATS_TEST_TMPDIR" <<'PERL'
use strict;
use JSON::PP;
my ($limit, $window) = (200, 1_000_000);
for my $algorithm ('sliding-window-log', 'sliding-window-zset') {
  my $ran = run(timeout => 600, command => ['burst', '-s', $ENV{socket}, qw(steady --clock real --rate 2000/s
    --clients 1000 --limit 200/1s -q --duration), "$ENV{seconds}s", '--algorithm', $algorithm, '--jsonl',
    "$ENV{folder}/decisions"]);
  wrong($algorithm, $ran) if $ran->{status} != 0;
  open my $file, '<', "$ENV{folder}/decisions" or die;
  my ($all, @at) = 0;
  while (<$file>) {
    ++$all;
    my $one = decode_json $_;
    push @at, $one->{at_us} if $one->{allowed};
  }
  counted $all;
  wrong("$algorithm: only $all requests") if $all < 2000;
  @at = sort { $a <=> $b } @at;
  my $worst = most_in_window($window, @at);
  wrong("$algorithm: $worst in a window") if $worst != $limit;
}
PERL
}

@test "1,000 clients on one key, by the server's clock: no window above the limit" {
  faults seconds="$(often "$(scaled 2 4)")" <<'PERL'
use strict;
use Time::HiRes 'time';
my $socket = $ENV{socket};
my ($limit, $window) = (300, 1_000_000);
my @clients = map { IO::Socket::UNIX->new(Peer => $socket) // die "client $_: $!" } 1 .. 1000;
for my $algorithm ('sliding-window-log', 'sliding-window-zset') {
  ask($socket, 'FLUSHALL');
  my $loaded = run(command => ['scripts', 'load', $algorithm]);
  my ($sha1) = $loaded->{out} =~ /sha1=(\w+)/ or die $loaded->{err};
  # What the script adds, and when, as the server has seen it.
  my $monitor = IO::Socket::UNIX->new(Peer => $socket) or die;
  syswrite $monitor, "MONITOR\r\n";
  my $seen = '';
  sysread $monitor, $seen, 5;
  my $end = time + $ENV{seconds};
  my ($all, $allowed, @at) = (0, 0);
  my $watch = sub {
    my ($until) = @_;
    my $bits = '';
    vec($bits, fileno $monitor, 1) = 1;
    while (1) {
      my $ready = $bits;
      last if !select $ready, undef, undef, $until ? 60 : 0;
      sysread $monitor, $seen, 1 << 20, length $seen or die 'the monitor was cut off';
      my $done;
      while ($seen =~ s/\A([^\n]*)\n//) {
        my $line = $1;
        push @at, $1 if $line =~ / lua\] "(?:RPUSH|ZADD)" "k" "(\d{16})/;
        $done = 1 if $until && $line =~ /$until/;
      }
      return if $done;
    }
  };
  while (time < $end) {
    syswrite $_, "EVALSHA $sha1 1 k $limit $window\r\n" for @clients;
    for my $client (@clients) {
      my $reply = '';
      while ((my @integers = $reply =~ /:(-?\d+)\r\n/g) < 6) {
        sysread $client, $reply, 4096, length $reply or die 'hung up';
        die $reply if $reply =~ /^-/;
      }
      ++$all;
      ++$allowed if $reply =~ /\A\*6\r\n:1\r\n/;
    }
    $watch->();
  }
  ask($socket, 'ECHO', "end of $algorithm");
  $watch->("end of $algorithm");
  counted $all;
  my $worst = most_in_window($window, sort { $a <=> $b } @at);
  wrong("$algorithm: the server added " . @at . " of $allowed allowed") if @at != $allowed;
  wrong("$algorithm: $worst in a window") if $worst != $limit;
}
PERL
}
