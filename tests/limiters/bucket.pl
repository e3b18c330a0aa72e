# A token bucket, a unit of which has as many parts as the window has microseconds, so that all is exact.
#
# $ rlctl lint --limit 5/60s --exec 'perl bucket.pl'
# $ rlctl lint --limit 1000/60s --exec 'perl bucket.pl'
# ! rlctl: lint: warning: bucket.pl: the limit 1000/60s is scaled down to 20/60s: the traffic must exceed it
# [3]

use strict;
use warnings;
use integer;
$| = 1;
my %bucket;
while (<STDIN>) {
  if (/"reset"/) { %bucket = (); next }
  my ($now, $key, $cost) = /"now_us":(\d+),"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window, $burst) = /"limit":(\d+),"window_us":(\d+),"burst":(\d+)/;
  my $full = $burst * $window;
  my ($level, $at) = @{$bucket{$key} // [$full, $now]};
  my $refilled = ($now - $at) * $limit;
  # Asked more often than a unit refills, it never does:
  # or: my $refilled = ($now - $at) * $limit / $window * $window; # want: denied-write critical
  $level = $level + $refilled < $full ? $level + $refilled : $full;
  my $needed = $cost * $window;
  my $allowed = $level >= $needed;
  $level -= $needed if $allowed;
  $bucket{$key} = [$level, $now];
  # Parts of a unit are lost at each allowed request:
  # or: $bucket{$key} = [$level / $window * $window, $now] if $allowed || !$bucket{$key}; # want: lost-refill critical, wrong-cost critical
  printf qq({"allowed":%s,"remaining":%d,"reset_after_us":%d,"retry_after_us":%d}\n), $allowed ? 'true' : 'false',
    $level / $window, ($full - $level + $limit - 1) / $limit, $allowed ? 0 : ($needed - $level + $limit - 1) / $limit;
}
