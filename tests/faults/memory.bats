# needs: server
load ../support/common
load ../support/faults

# Memory that is refused: whichever allocation fails, a check that could not be made is not allowed, and a
# settle that could not be made is not settled. (It may be ended by SIGABRT.)

setup() {
  preload
  start_server
}

# refuse REST COMMAND…: for every third N, runs rlctl with the Nth allocation refused; with REST "+", also all after it.
# At night, for each N. A settle finds a reservation.
refuse() {
  faults preload="$preload" rest="${1#-}" folder="$BATS_TEST_TMPDIR" command="${*:2}" <<'PERL'
use strict;
my ($socket, $rest) = @ENV{qw(socket rest)};
my @command = split ' ', $ENV{command};
my $reserved;
if ($command[0] eq 'settle') {
  run(command => [qw(check new --limit 5/1000d --reserve 3 --hold 1d --id a)]);
  $reserved = ask($socket, qw(DUMP new)) =~ s/\A[^\n]*\n//r =~ s/\r\n\z//r;
}
my $is_counted = sub { $reserved ? ask($socket, qw(HGET new a)) =~ /\ns/ : ask($socket, qw(EXISTS new)) eq ":1\r\n" };
my $refused = sub {
  my ($n) = @_;
  ask($socket, 'DEL', 'new');
  ask($socket, qw(RESTORE new 400000000), $reserved) if $reserved;
  return run(command => \@command,
    env => {LD_PRELOAD => $ENV{preload}, RLCTL_FAULT_ALLOCATION => $n, RLCTL_FAULT_COUNT => "$ENV{folder}/count"});
};
ask($socket, 'SCRIPT', 'FLUSH');
$refused->(0) for 1 .. 2;
my $whole = $refused->(0);
die "status $whole->{status}: $whole->{err}" if $whole->{status} != 0;
open my $file, '<', "$ENV{folder}/count" or die;
read $file, my $bytes, 8;
my $all = unpack 'q', $bytes;
die 'nothing was counted' if $all < 10;
for my $n (thinned(3, 1 .. $all)) {
  my $ran = $refused->("$n$rest");
  counted;
  next if $ran->{status} != 0;
  wrong("allocation $n: a different result", $ran)
    if ($ran->{out} =~ s/\d+//gr) ne ($whole->{out} =~ s/\d+//gr) || !$is_counted->();
}
PERL
}

# A third of the allocations; at night, all.
@test "memory refused at each allocation of a check, of a reserve and of a settle, and from each allocation of a check on" {
  refuse - check new --limit 5/60s
  refuse + check new --limit 5/60s
  refuse - check new --limit 5/60s --algorithm gcra --json
  refuse - check new --limit 5/1000d --reserve 3 --hold 1d --id a
  refuse - settle new a 1 --limit 5/1000d
}
