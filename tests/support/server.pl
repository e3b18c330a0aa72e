# server.pl SOCKET CODE [ARGUMENT…]: see start_perl_server in common.bash. CODE is Perl that calls one of these functions.
use strict;
use warnings;
use IO::Select;
use IO::Socket::UNIX;

my ($path, $code) = splice @ARGV, 0, 2;
$SIG{$_} = 'IGNORE' for qw(PIPE CHLD);
open my $record, '>', "$path.came" or die "$path.came: $!";
# The socket appears at its path only once it is listening.
my $listener = IO::Socket::UNIX->new(Local => "$path.new", Listen => 64) or die "$path: $!";
rename "$path.new", $path or die "$path: $!";

# Calls TALK in a process for each client, with its socket and number, and then hangs up.
sub each_client {
  my ($talk) = @_;
  for (my $number = 1; my $client = $listener->accept; ++$number) {
    if (!(fork // die "fork: $!")) {
      close $listener;
      $talk->($client, $number);
      exit;
    }
    close $client;
  }
}

# The words of a command, which is taken from the bytes; none if it is not complete.
sub take_command {
  my ($bytes) = @_;
  $$bytes =~ /\A\*(\d+)\r\n/ or return;
  my ($count, $at, @words) = ($1, $+[0]);
  while (@words < $count) {
    substr($$bytes, $at) =~ /\A\$(\d+)\r\n/ or return;
    $at += $+[0];
    return if length $$bytes < $at + $1 + 2;
    push @words, substr $$bytes, $at, $1;
    $at += $1 + 2;
  }
  substr $$bytes, 0, $at, '';
  return @words;
}

# Sends what ANSWER returns for the words of each command, and hangs up if that is followed by a true value.
sub serve {
  my ($answer) = @_;
  each_client(sub {
    my ($client) = @_;
    my $bytes = '';
    while (sysread $client, my $came, 65536) {
      syswrite $record, $came;
      $bytes .= $came;
      while (my @words = take_command(\$bytes)) {
        my ($reply, $hangs_up) = $answer->(@words);
        syswrite $client, $reply;
        return if $hangs_up;
      }
    }
  });
}

# Answers everything with the same.
sub repeat {
  my ($hangs_up, $reply) = @_;
  my %byte = (r => "\r", n => "\n", 0 => "\0");
  $reply =~ s/\\(?:x(..)|([rn0]))/defined $1 ? chr hex $1 : $byte{$2}/ge;
  my $is_plain = $reply !~ /\A-(?:MOVED|ASK) /;
  serve(sub {
    # Every server answers what follows; whoever asks means to go on with a plain server, unless that refers to another.
    return "+OK\r\n" if $reply ne '' && "@_" eq 'CLIENT SETNAME rlctl';
    return "-ERR This instance has cluster support disabled\r\n" if $is_plain && $_[0] eq 'CLUSTER';
    return "*3\r\n\$6\r\nmaster\r\n:0\r\n*0\r\n" if $is_plain && $reply ne '' && $_[0] eq 'ROLE';
    return $reply, $hangs_up;
  });
}

# Passes on what clients send to the server at this path, and of its replies what CHANGE makes of $_; hangs up if
# CHANGE, which gets the client's number, returns false.
sub relay {
  my ($to, $change) = @_;
  each_client(sub {
    my ($client, $number) = @_;
    my $server = IO::Socket::UNIX->new(Peer => $to) or die "$to: $!";
    my $both = IO::Select->new($client, $server);
    while (1) {
      for my $from ($both->can_read) {
        sysread $from, $_, 1 << 20 or return;
        return if $from == $server && !$change->($number);
        syswrite $from == $server ? $client : $server, $_;
      }
    }
  });
}

eval "$code; 1" or die $@;
