# Programs whose answers prove nothing: nobody is allowed, everybody is, or three are.
#
# $ rlctl lint --exec 'perl constant.pl 0'
# ! rlctl: lint: warning: constant.pl: nothing was allowed
# [3]
# $ rlctl lint --exec 'perl constant.pl 1e9'
# ! nothing was denied: the program must use the limit of the request
# [3]
# $ rlctl lint --exec 'perl constant.pl 3'
# > Not tested:
# ! denied after 3 requests, not 5:
# [3]

use strict;
use warnings;
$| = 1;
my $count = 0;
while (<STDIN>) {
  if (/"reset"/) { $count = 0; next }
  print ++$count <= $ARGV[0] ? "1\n" : "0\n";
}
