# A counter for each window of the clock, which is that of the program itself: it never sees the time of a request.
#
# $ rlctl lint --limit 5/1d --exec 'perl own-clock.pl'
# ! the answers do not follow now_us: the program may read another clock; try --exec-clock wall
# [3]
# $ rlctl lint --limit 5/1d --exec 'perl own-clock.pl' --exec-clock wall
# $ rlctl lint --limit 5/1d --exec 'perl own-clock.pl monotonic'
# ! the answers do not follow now_us: the program may read another clock; try --exec-clock all
# [3]
# $ rlctl adversary --tries 500 --limit 5/1d --exec 'perl own-clock.pl'
# > own-clock.pl never above the limit
# ! the answers do not follow now_us: the program may read another clock; try --exec-clock wall

use strict;
use warnings;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME);
$| = 1;
my %count;
while (<STDIN>) {
  if (/"reset"/) { %count = (); next }
  my ($key, $cost) = /"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window) = /"limit":(\d+),"window_us":(\d+)/;
  my $now = 1e6 * clock_gettime(@ARGV ? CLOCK_MONOTONIC : CLOCK_REALTIME);
  my $count = \$count{$key . '/' . int $now / $window};
  my $allowed = ($$count //= 0) + $cost <= $limit;
  $$count += $cost if $allowed;
  print $allowed ? "1\n" : "0\n";
}
