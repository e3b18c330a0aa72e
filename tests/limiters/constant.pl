# Programs whose answers prove nothing: nobody is allowed, everybody is, or three are.
#
# $ rlctl lint --exec 'perl constant.pl 0'
# ! rlctl: lint: warning: constant.pl: nothing was allowed
# [3]
# $ rlctl lint --exec 'perl constant.pl 1e9'
# ! nothing was denied: the program must use the limit of the request
# [3]
# $ rlctl lint --exec 'perl constant.pl 3'
# > 3 requests were allowed at one instant, not 5
# > another is allowed 0
# want: locked-out critical (3), shared-limit critical (3), ignored-cost note (3), wrong-limit critical (3)

use strict;
use warnings;
$| = 1;
my $count = 0;
while (<STDIN>) {
  if (/"reset"/) { $count = 0; next }
  print ++$count <= $ARGV[0] ? "1\n" : "0\n";
}
