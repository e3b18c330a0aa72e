# A budget as a program.
#
# $ rlctl lint --limit 10/60s --reserve 4 --hold 10s --exec 'perl budget.pl'

use strict;
use warnings;
$| = 1;
my %budgets;
while (<STDIN>) {
  if (/"reset"/) { %budgets = (); next }
  my ($now, $key) = /"now_us":(\d+),"key":"(.*?)"/;
  my %asked = /"(\w+)":"?(\w+)/g;
  my $budget = $budgets{$key} //= {end => 0, holds => {}};
  @$budget{qw(end spent)} = ($now - $now % $asked{window_us} + $asked{window_us}, 0) if $now >= $budget->{end};
  my $holds = $budget->{holds};
  my $its = $holds->{$asked{reservation}};
  my $allowed = $its && 2 * $its->{ends} - $its->{begins} > $now;
  if ($asked{event} eq 'reserve') {
    my $used = $budget->{spent};
    $used += $_->{units} for grep { !$_->{settled} && $_->{ends} > $now } values %$holds;
    $allowed ||= $used + $asked{units} <= $asked{limit};
    if ($allowed && !$its) {
      $holds->{$asked{reservation}} = {units => $asked{units}, begins => $now, ends => $now + $asked{hold_us}};
    }
  } elsif ($allowed && !$its->{settled}++) {
    # What comes twice is spent twice:
    # or: } elsif ($allowed) { $its->{settled} = 1; # want: spent-twice critical
    $budget->{spent} += $asked{actual};
    # Nothing is spent:
    # or: # want: unspent critical
  }
  print $allowed ? "1\n" : "0\n";
}
