# A semaphore as a program.
#
# $ rlctl lint --concurrency 2 --lease 10s --exec 'perl semaphore.pl'

use strict;
use warnings;
$| = 1;
my %keys;
while (<STDIN>) {
  if (/"reset"/) { %keys = (); next }
  my ($now, $key, $limit) = /"now_us":(\d+),"key":"(.*?)".*"limit":(\d+)/;
  my ($event, $holder, $lease) = (/"event":"(\w+)"/, /"holder":"(\w+)"/, /"lease_us":(\d+)/);
  my $ends = $keys{$key} //= {};
  delete @$ends{grep { $ends->{$_} <= $now } keys %$ends};
  # Dead holders stay:
  # or: # want: endless-lease critical
  my $has_lease = exists $ends->{$holder};
  my $allowed = $has_lease || $event eq 'acquire' && keys %$ends < $limit;
  if ($event eq 'release') { delete $ends->{$holder} } elsif ($allowed) { $ends->{$holder} = $now + $lease }
  # A release frees any slot:
  # or: if ($event eq 'release') { %$ends = () } elsif ($allowed) { $ends->{$holder} = $now + $lease }
  # want: frees-another critical
  print $allowed ? "1\n" : "0\n";
}
