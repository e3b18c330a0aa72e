# fake_server.pl SOCKET CLOSE REPLY: see start_fake_server in common.bash.
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;

my ($path, $close, $reply) = @ARGV;
my %byte = (r => "\r", n => "\n", 0 => "\0");
$reply =~ s/\\([rn0])/$byte{$1}/g;
$SIG{PIPE} = 'IGNORE';

my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 64) or die "$path: $!";
my $open = IO::Select->new($listener);
while (my @ready = $open->can_read) {
  for my $socket (@ready) {
    if ($socket == $listener) {
      $open->add($listener->accept);
      next;
    }
    my $came = sysread($socket, my $bytes, 65536);
    syswrite($socket, $reply) if $came && length $reply;
    if (!$came || $close) {
      $open->remove($socket);
      close $socket;
    }
  }
}
