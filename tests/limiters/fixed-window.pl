# A counter for each window of the clock.
#
# $ rlctl lint --limit 5/60s --exec 'perl fixed-window.pl'
# $ rlctl adversary --tries 5000 --exec 'perl fixed-window.pl'
# > fixed-window.pl 2.00× the limit: 10 within 10 s

use strict;
use warnings;
$| = 1;
my %count;
while (<STDIN>) {
  if (/"reset"/) { %count = (); next }
  my ($now, $key, $cost) = /"now_us":(\d+),"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window) = /"limit":(\d+),"window_us":(\d+)/;
  my $left = $window - $now % $window;
  my $count = \$count{$key . '/' . int $now / $window};
  # All clients share one:
  # or: my $count = \$count{int $now / $window}; # want: shared-limit critical
  my $allowed = ($$count //= 0) + $cost <= $limit;
  # Nobody is denied in the last five seconds of a window:
  # or: my $allowed = ($$count //= 0) + $cost <= $limit || $left < 5e6; # want: free-pass critical, wrong-wait warning
  $$count += $cost if $allowed;
  printf qq({"allowed":%s,"remaining":%d,"reset_after_us":%d,"retry_after_us":%d}\n), $allowed ? 'true' : 'false',
    $limit > $$count ? $limit - $$count : 0, $$count ? $left : 0, $allowed ? 0 : $left;
}
