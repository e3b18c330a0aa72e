# needs: server
load ../support/common
load ../support/faults

# Limiters that a full server evicts: what they counted is forgotten, and rlctl says so.

@test "limiter keys that are evicted: audit and doctor say how many, and that they open early" {
  start_server --maxmemory-policy allkeys-lru
  faults keys="$(often 40000)" <<'PERL'
use strict;
my $socket = $ENV{socket};
my ($used) = ask($socket, qw(INFO memory)) =~ /\bused_memory:(\d+)/;
ask($socket, qw(CONFIG SET maxmemory), $used + 2_000_000);
my $ran = run(command => [qw(check --limit 5/1h --batch -q)], stdin => join '', map { "user:$_\n" } 1 .. $ENV{keys});
wrong('check', $ran) if $ran->{status} != 0;
my ($evicted) = ask($socket, qw(INFO stats)) =~ /evicted_keys:(\d+)/;
my ($left) = ask($socket, 'DBSIZE') =~ /(\d+)/;
wrong("$evicted evicted and $left left of $ENV{keys}") if $evicted + $left != $ENV{keys} || $evicted < $ENV{keys} / 4;
counted $evicted;
my $audit = run(command => ['audit']);
wrong('audit', $audit) if $audit->{status} != 2;
# The commands that ask need memory too.
my ($said) = $audit->{out} =~ /(\d+) keys were evicted/;
my ($later) = ask($socket, qw(INFO stats)) =~ /evicted_keys:(\d+)/;
wrong("audit says $said, of $evicted to $later", $audit) if !$said || $said < $evicted || $said > $later;
my $doctor = run(command => ['doctor']);
wrong('doctor', $doctor) if $doctor->{status} != 1 && $doctor->{status} != 2;
wrong('doctor does not say it', $doctor) if $doctor->{out} !~ /evict/;
PERL
}

@test "a reservation whose key is evicted is unknown to its settle, and nothing is spent" {
  start_server --maxmemory-policy allkeys-lru
  faults keys="$(often 10000)" <<'PERL'
use strict;
my $socket = $ENV{socket};
my ($used) = ask($socket, qw(INFO memory)) =~ /\bused_memory:(\d+)/;
ask($socket, qw(CONFIG SET maxmemory), $used + 1_000_000);
my $reserved = run(command => [qw(check --limit 5/1h --batch -q --reserve 3 --hold 1h)],
  stdin => join '', map { "user:$_\t3\ta\n" } 1 .. $ENV{keys});
wrong('reserve', $reserved) if $reserved->{status} != 0;
my %seen;
for (1 .. 60) {
  my $key = 'user:' . (1 + int rand $ENV{keys});
  my $was = ask($socket, 'EXISTS', $key);
  my $ran = run(command => ['settle', $key, qw(a 1 --limit 5/1h)]);
  my ($word) = $ran->{out} =~ /^(\w+)/;
  counted;
  ++$seen{$word};
  # What is settled twice here was settled by an earlier round.
  wrong("$key, $was", $ran)
    if $word eq 'unknown' ? $ran->{status} != 1 || ask($socket, 'EXISTS', $key) ne ":0\r\n"
    : $ran->{status} != 0 || $word !~ /^(settled|already)$/ || $was ne ":1\r\n";
}
wrong("only @{[%seen]}") if !$seen{unknown} || !$seen{settled};
PERL
}
