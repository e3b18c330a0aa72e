# needs: server
# alone: a thousand clients must use up a limit within its window of a second
load ../support/common
load ../support/faults

# A thousand connections that ask for one key. What was allowed is counted again, for every window that begins
# with an allowed request; none holds more than the limit. RLCTL_FAULTS=15 makes it half a minute.

setup() {
  ulimit -n "$(ulimit -Hn)"
  [[ $(ulimit -n) == unlimited ]] || (($(ulimit -n) >= 2100)) || skip "only $(ulimit -n) open files are allowed"
  start_server --maxclients 1100
  [[ $(cli CONFIG GET maxclients) == *1100 ]] || skip 'the server may not have so many clients'
}

@test "1,000 clients of burst on one key, by the times that burst gives: no window above the limit" {
  faults seconds="$(often "$(scaled 2 4)")" folder="$BATS_TEST_TMPDIR" <<'PERL'
use strict;
use JSON::PP;
my ($limit, $window) = (200, 1_000_000);
for my $algorithm ('sliding-window-log', 'sliding-window-zset') {
  my $ran = run(timeout => 600, command => ['burst', '-s', $ENV{socket}, qw(steady --clock real --rate 2000/s
    --clients 1000 --limit 200/1s -q --duration), "$ENV{seconds}s", $algorithm, '-o',
    "$ENV{folder}/decisions.jsonl"]);
  wrong($algorithm, $ran) if $ran->{status} != 0;
  open my $file, '<', "$ENV{folder}/decisions.jsonl" or die;
  my ($all, @at) = 0;
  while (<$file>) {
    ++$all;
    my $one = decode_json $_;
    push @at, $one->{at_us} if $one->{allowed};
  }
  counted $all;
  wrong("$algorithm: only $all requests") if $all < 2000;
  @at = sort { $a <=> $b } @at;
  my $worst = most_in_window($window, @at);
  wrong("$algorithm: $worst in a window") if $worst != $limit;
}
PERL
}
