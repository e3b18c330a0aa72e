load ../support/common
load ../support/faults

# Memory that is refused. Whatever allocation fails, the status is one of an error, or the result is that
# of a run with enough memory; rlctl never crashes, and never forgets to say that a request may have been
# counted.

setup() {
  preload
  start_server
}

# refuse REST FAILED COMMAND…: for each N, runs rlctl with the Nth allocation refused; with REST "+", also all after
# it. FAILED is the status of an error.
refuse() {
  faults preload="$preload" rest="${1#-}" failed="$2" folder="$BATS_TEST_TMPDIR" command="${*:3}" <<'PERL'
use strict;
my ($socket, $rest, $failed) = @ENV{qw(socket rest failed)};
my @command = split ' ', $ENV{command};
my $refused = sub {
  my ($n) = @_;
  ask($socket, 'DEL', 'new');
  return run(command => \@command,
    env => {LD_PRELOAD => $ENV{preload}, RLCTL_FAULT_ALLOCATION => $n, RLCTL_FAULT_COUNT => "$ENV{folder}/count"});
};
ask($socket, 'SCRIPT', 'FLUSH');
$refused->(0) for 1 .. 2;
my $whole = $refused->(0);
my $kept = ask($socket, 'EXISTS', 'new');
die "status $whole->{status}: $whole->{err}" if $whole->{status} != 0;
open my $file, '<', "$ENV{folder}/count" or die;
read $file, my $bytes, 8;
my $all = unpack 'q', $bytes;
die 'nothing was counted' if $all < 10;
for my $n (1 .. $all) {
  my $ran = $refused->("$n$rest");
  counted;
  my $counts = ask($socket, 'EXISTS', 'new') ne ":0\r\n";
  if ($ran->{status} == 0) {
    wrong("allocation $n: a different result", $ran)
      if ($ran->{out} =~ s/\d+//gr) ne ($whole->{out} =~ s/\d+//gr) || $counts != ($kept ne ":0\r\n");
  } elsif ($ran->{status} != $failed) {
    wrong("allocation $n: status", $ran);
  } elsif ("$ran->{err}$ran->{out}" !~ /out of memory/) {
    wrong("allocation $n: no reason", $ran);
  } elsif ($counts && "$ran->{err}$ran->{out}" !~ /counted/) {
    wrong("allocation $n: it was counted, which is not said", $ran);
  }
}
PERL
}

# The failures of quota have status 3, those of run before its command 125.
@test "memory refused at each allocation of a command, and from each allocation on" {
  refuse - 2 check new --limit 5/60s
  refuse + 2 check new --limit 5/60s
  refuse - 2 check new --limit 5/60s --algorithm gcra --json
  refuse - 2 check new --limit 5/60s --peek
  refuse - 3 quota new --limit 5/60s
  refuse + 3 quota new --limit 5/60s
  refuse - 125 run new --limit 5/60s -- true
}
