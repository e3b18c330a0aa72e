# A GCRA, whose times are multiplied by the limit, so that all is exact.
#
# $ rlctl lint --limit 5/60s --exec 'perl gcra.pl'

use strict;
use warnings;
use integer;
$| = 1;
my %end;
while (<STDIN>) {
  if (/"reset"/) { %end = (); next }
  my ($at, $key, $cost) = /"now_us":(\d+),"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window, $burst) = /"limit":(\d+),"window_us":(\d+),"burst":(\d+)/;
  my $now = $at * $limit;
  my $end = ($end{$key} // 0) > $now ? $end{$key} : $now;
  my $new = $end + $window * $cost;
  my $allowed = $new - $window * $burst <= $now;
  $end{$key} = $end = $new if $allowed;
  printf qq({"allowed":%s,"remaining":%d,"reset_after_us":%d,"retry_after_us":%d}\n), $allowed ? 'true' : 'false',
    ($now + $window * $burst - $end) / $window, ($end - $now + $limit - 1) / $limit,
    $allowed ? 0 : ($new - $window * $burst - $now + $limit - 1) / $limit;
}
