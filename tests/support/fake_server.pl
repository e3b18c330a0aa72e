# fake_server.pl SOCKET CLOSE REPLY: see start_fake_server in common.bash.
use strict;
use warnings;
use IO::Handle;
use IO::Select;
use IO::Socket::UNIX;

my ($path, $close, $reply) = @ARGV;
my %byte = (r => "\r", n => "\n", 0 => "\0");
$reply =~ s/\\(?:x(..)|([rn0]))/defined $1 ? chr hex $1 : $byte{$2}/ge;
$SIG{PIPE} = 'IGNORE';

open my $record, '>', "$path.came" or die "$path.came: $!";
$record->autoflush;
# The socket appears at its path only once it is listening.
my $listener = IO::Socket::UNIX->new(Local => "$path.new", Listen => 64) or die "$path: $!";
rename "$path.new", $path or die "$path: $!";
my $open = IO::Select->new($listener);
while (my @ready = $open->can_read) {
  for my $socket (@ready) {
    if ($socket == $listener) {
      $open->add($listener->accept);
      next;
    }
    my $came = sysread($socket, my $bytes, 65536);
    print $record $bytes if $came;
    # Every server answers what follows; whoever asks means to go on with a plain server, unless that refers to another.
    my $is_named = $came && $bytes =~ s/\A\*3\r\n\$6\r\nCLIENT\r\n\$7\r\nSETNAME\r\n\$5\r\nrlctl\r\n//;
    my $is_plain = $reply !~ /\A-(?:MOVED|ASK) /;
    my $is_cluster = $is_plain && $came && $bytes =~ /\A\*2\r\n\$7\r\nCLUSTER\r\n/;
    my $is_role = $is_plain && $reply ne '' && $came && $bytes =~ /\A\*1\r\n\$4\r\nROLE\r\n/;
    my $answer = $is_cluster ? "-ERR This instance has cluster support disabled\r\n"
      : $is_role ? "*3\r\n\$6\r\nmaster\r\n:0\r\n*0\r\n" : $reply;
    $answer = "+OK\r\n$answer" if $is_named && $answer ne '';
    syswrite($socket, $answer) if $came && length $answer;
    if (!$came || ($close && !$is_cluster && !$is_role)) {
      $open->remove($socket);
      close $socket;
    }
  }
}
