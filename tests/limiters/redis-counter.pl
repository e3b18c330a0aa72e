# A counter in Redis for each window of the clock: the reply to the write decides.
#
# $ rlctl lint --limit 5/60s --exec 'perl redis-counter.pl'

use strict;
use warnings;
use IO::Socket::INET;
$| = 1;
my ($password, $address) = $ENV{RLCTL_REDIS_URL} =~ m{default:(.*)@(.*)/};
my $redis = IO::Socket::INET->new($address);
sub reply {
  my $line = <$redis>;
  return join ' ', map { reply() } 1 .. $1 if $line =~ /^\*(\d+)/;
  $line = ':' . <$redis> if $line =~ /^\$\d/;
  return $line =~ /^[:+](.*)\r/ ? $1 : 0;
}
sub call {
  print $redis map({ "$_\r\n" } '*' . @_, map { ('$' . length, $_) } @_);
  return reply();
}
call('AUTH', $password);
while (<STDIN>) {
  next if /"reset"/;
  my ($now, $name, $cost) = /"now_us":(\d+),"key":"(.*?)","cost":(\d+)/;
  my ($limit, $window) = /"limit":(\d+),"window_us":(\d+)/;
  my $key = $name . '/' . int $now / $window;
  my $allowed = call('INCRBY', $key, $cost) <= $limit || call('DECRBY', $key, $cost) && 0;
  # A denied request keeps what was left:
  # or: my $allowed = call('INCRBY', $key, $cost) <= $limit; # want: wrong-cost critical
  # A command reads, and another one writes; so does one in a transaction, or after one:
  # or: my $allowed = call('GET', $key) + $cost <= $limit && call('INCRBY', $key, $cost); # want: not-atomic warning
  # or: my $allowed = call('GET', $key) + $cost <= $limit && call('MULTI') && call('INCRBY', $key, $cost) && call('EXEC');
  # want: not-atomic warning
  # or: my $allowed = call('MULTI') && call('GET', $key) && call('EXEC') + $cost <= $limit && call('INCRBY', $key, $cost);
  # want: not-atomic warning
  # or: my $n = call('GET', $key) + $cost; my $allowed = $n <= $limit && call('SET', $key, $n); # want: not-atomic warning
  # A script reads, and another one writes; or what is set if it is not there is no lock:
  # or: my $allowed = call('EVAL', "return redis.call('GET', KEYS[1]) or 0", 1, $key) + $cost <= $limit && call('EVAL', "return redis.call('INCRBY', KEYS[1], ARGV[1])", 1, $key, $cost);
  # want: not-atomic warning
  # or: call('SET', "$key/start", $now, 'NX'); my $allowed = call('GET', $key) + $cost <= $limit && call('INCRBY', $key, $cost);
  # want: not-atomic warning
  # Nothing can come between them: the key is watched, a script has both, or a lock is held.
  # or: call('MULTI'); call('GET', $key); call('INCRBY', $key, $cost); my $allowed = (split ' ', call('EXEC'))[-1] <= $limit || call('DECRBY', $key, $cost) && 0;
  # or: call('WATCH', $key); my $allowed = call('GET', $key) + $cost <= $limit ? call('MULTI') && call('INCRBY', $key, $cost) && call('EXEC') : call('UNWATCH') && 0;
  # or: my $allowed = call('EVAL', "local n = redis.call('GET', KEYS[1]) return (n or 0) + ARGV[1] <= ARGV[2] + 0 and redis.call('INCRBY', KEYS[1], ARGV[1]) or 0", 1, $key, $cost, $limit);
  # or: my $allowed = call('SET', 'lock', 1, 'NX') && call('GET', $key) + $cost <= $limit && call('INCRBY', $key, $cost); call('DEL', 'lock');
  # It is counted first, and read then; or what was read is set only if it is still not there.
  # or: call('INCRBY', $key, $cost); my $allowed = call('GET', $key) <= $limit || do { call('DECRBY', $key, $cost); 0 };
  # or: call('GET', $key); call('SET', $key, 0, 'NX'); my $allowed = call('INCRBY', $key, $cost) <= $limit || call('DECRBY', $key, $cost) && 0;
  call('PEXPIRE', $key, int $window / 1000) if call('PTTL', $key) < 0;
  print $allowed ? "1\n" : "0\n";
}
