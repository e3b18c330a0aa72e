# The same log, which tells all figures.
#
# $ rlctl lint --limit 5/60s --exec 'perl figures.pl'
# > what the answers say of later ones: remaining, reset_after_us,

use strict;
use warnings;
$| = 1;
my %log;
while (<STDIN>) {
  if (/"reset"/) { %log = (); next }
  my ($now, $key, $cost) = /"now_us":(\d+),"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window) = /"limit":(\d+),"window_us":(\d+)/;
  my $log = $log{$key} //= [];
  $now = $log->[-1] if @$log && $log->[-1] > $now;
  shift @$log while @$log && $log->[0] <= $now - $window;
  my $allowed = @$log + $cost <= $limit;
  push @$log, ($now) x $cost if $allowed;
  my $remaining = $limit - @$log;
  # or: my $remaining = $limit - @$log + 1; # want: wrong-remaining warning
  # or: my $remaining = @$log < $limit ? $limit - @$log - 1 : 0; # want: wrong-remaining note
  my $reset = @$log ? $log->[-1] + $window - $now : 0;
  # or: my $reset = @$log && $now + 1e6 < $log->[-1] + $window ? $log->[-1] + $window - $now - 1e6 : 0;
  # want: wrong-reset warning
  # or: my $reset = @$log ? 2 * ($log->[-1] + $window - $now) : 0; # want: wrong-reset warning
  my $wait = $allowed ? 0 : $log->[@$log + $cost - $limit - 1] + $window - $now;
  # or: my $wait = $allowed ? 0 : $log->[@$log + $cost - $limit - 1] + $window - $now - 20; # want: wrong-wait warning
  # or: my $wait = $allowed ? 0 : $log->[@$log + $cost - $limit - 1] + $window - $now + 8e5; # want: wrong-wait note
  # or: my $wait = $allowed ? 0 : $log->[@$log + $cost - $limit - 1] + $window - $now + 11e5;
  # want: wrong-wait warning
  # or: my $wait = 0; # want: wrong-wait warning
  # > figures.pl: warning: wrong-wait: A denial's retry_after_us is too short: it says 0 µs, but the wait
  # > Fix: tell the time until this request is allowed, rounded up.
  # > rlctl adversary --limit 5/60s --exec 'perl figures.pl'
  printf qq({"allowed":%s,"id":%d,"remaining":%d,"reset_after_us":%d,"retry_after_us":%d}\n), $allowed ? 'true' : 'false',
    /"id":(\d+)/, $remaining, $reset, $wait > 0 ? $wait : 0;
}
