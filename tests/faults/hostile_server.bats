# needs: server
load ../support/common
load ../support/faults

# A server that replies what it likes must not make rlctl start a program, write a file or connect anywhere, except
# to a node of its Cluster, never where a cloud may offer credentials. The kernel's list of its calls tells.

setup() { start_server; }

@test "hostile replies to every command: no other program, file or connection" {
  needs_trace
  faults folder="$BATS_TEST_TMPDIR" most="$(often 1)" <<'PERL'
use strict;
my ($folder, $most) = @ENV{qw(folder most)};
my $proxy = proxy($ENV{socket});
my $trace = "$folder/trace";
my $traced = 'execve,execveat,connect,bind,open,openat,creat,mkdir,mkdirat,rename,renameat,renameat2,link,linkat,'
  . 'symlink,symlinkat,unlink,unlinkat,chmod,fchmodat,truncate';
my $to = "$folder/planted";
# A private server's start looks through its parent folder for what others left behind: there must be no others.
mkdir my $private = "$folder/private" or die "$folder/private: $!";
my @texts = ("MOVED 1 169.254.169.254:80", "ASK 1 169.254.169.254:80", "MOVED 1 fe80::1:80", "REDIRECT 127.0.0.1:1",
  "LOADING \$(touch $to)", "NOSCRIPT `touch $to`", "ERR ; touch $to", "NOPERM |touch $to",
  "NOAUTH \e]0;\$(touch $to)\a");
my @replies = ((map { "-$_\r\n" } @texts), map {
    my $word = '$' . length($_) . "\r\n$_\r\n";
    ($word, "*2\r\n" . $word x 2, "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n\$9\r\n127.0.0.1\r\n:1\r\n")
  } "$to", "../planted", "|touch $to", "\$(touch $to)", "unix://$to", "redis://127.0.0.1:1");

# calls(): what the run did besides reading, or tried to: each program, connection and change of a file. The trace has
# a file for each process.
sub calls {
  my %calls;
  for (map { open my $file, '<', $_ or die "$_: $!"; <$file> } glob "$trace.*") {
    my ($call, $with) = /^(\w+)\((.*)\) += / or next;
    next if $call =~ /^open/ && $with !~ /O_(WRONLY|RDWR|CREAT|TRUNC|APPEND)/;
    $with =~ s/\b(\d{5,}|0x[0-9a-f]+)\b/N/g;
    $with =~ s/,.*// if $call eq 'execve';
    $with =~ s/^\d+, // if $call =~ /connect|bind/;
    # The folder in which a file is named, by its descriptor.
    $with =~ s/\b\d+, (?=")/N, /g if $call =~ /at2?$/;
    # Names that are made at random, for its own folders and files.
    $with =~ s/rlctl-\w+/rlctl-X/g;
    next if $call =~ /^unlink/ && $with =~ m{/rlctl-X};
    $calls{"$call($with)"} = 1;
  }
  return %calls;
}

for my $case (commands($proxy, $folder)) {
  my $name = $case->{name};
  my $go = sub {
    unlink glob "$trace.*";
    # LeakSanitizer traces the process itself.
    my %env = (ASAN_OPTIONS => ($ENV{ASAN_OPTIONS} // '') . ':detect_leaks=0', TMPDIR => $private);
    $case->{go}->(@_, env => \%env, under => [qw(strace -ff -qq -s 4096 -e), "trace=$traced", '-o', $trace]);
  };
  my $whole = $go->({count => 1});
  my %usual = calls();
  if ($whole->{status} != 0) { wrong("$name without a fault", $whole); next }
  if (!grep { /^execve/ } keys %usual) { wrong("$name: not traced", $whole); next }
  for my $n ($case->{many} ? map { $_ + 1 } places($whole->{commands}, 5) : turns($whole)) {
    for (1 .. ($ENV{few} ? 1 : $most)) {
      my $reply = $replies[rand @replies];
      my $ran = $go->({reply => $n, with => $reply}, more => [qw(--timeout 100ms)]);
      next if !$ran->{took};
      counted;
      my %did = calls();
      # What is not saved as a whole is removed.
      my @other = grep { !$usual{$_} && $_ ne 'unlinkat(N, "save", 0)' } sort keys %did;
      wrong("$name, reply $n is " . ($reply =~ s/[^ -~]/./gr) . ": @other", $ran) if @other;
    }
  }
}
wrong('a file was planted', {out => '', err => '', status => 0}) if -e $to;
PERL
}
