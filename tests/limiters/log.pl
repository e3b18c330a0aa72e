# A log as a program, of which only the answers are known: a finding has no line, but the requests that show it.
#
# $ rlctl lint --limit 5/60s --exec 'perl log.pl'
# $ rlctl lint --limit 5/60s --head 'cost 1' --exec 'perl log.pl'
# $ rlctl lint --limit 1/60s --exec 'perl log.pl'

use strict;
use warnings;
$| = 1;
my (%log, $seen);
while (<STDIN>) {
  if (/"reset"/) { %log = (); $seen = 0; next }
  my ($now, $key, $cost) = /"now_us":(\d+),"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window) = /"limit":(\d+),"window_us":(\d+)/;
  my $log = $log{$key} //= [];
  # Times are whole seconds:
  # or: my $log = $log{$key} //= []; $now -= $now % 1e6; # want: coarse-time warning
  # The cost does not count:
  # or: my $log = $log{$key} //= []; $cost = 1; # want: ignored-cost note
  shift @$log while @$log && $log->[0] <= $now - $window;
  # Nothing leaves:
  # or: # want: locked-out critical
  # All leave at once, a window after the newest:
  # or: @$log = () if @$log && $log->[-1] <= $now - $window; # want: renewed-window critical (1)
  # A client is forgotten while it is idle:
  # or: shift @$log while @$log && $log->[0] <= $now - ($now - $seen > 2e7 ? 0 : $window); $seen = $now;
  # want: short-ttl critical
  my $allowed = @$log + $cost <= $limit;
  # The cost is added, but not compared:
  # or: my $allowed = @$log < $limit; # want: wrong-cost critical (1)
  # Of one instant, all are allowed:
  # or: my $allowed = @$log + $cost <= $limit || $log->[-1] == $now; # want: wrong-limit critical
  # ! not tested: a second client, clocks that are ahead, costs: at one instant, all requests were allowed
  push @$log, ($now) x $cost if $allowed;
  # Denied requests count:
  # or: push @$log, ($now) x $cost; # want: denied-write critical, wrong-cost critical
  print $allowed ? "1\n" : "0\n";
}
