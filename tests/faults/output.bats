# needs: server
load ../support/common
load ../support/faults

# Standard output that is closed, full, or that nobody reads, in every command: nothing is counted, removed or
# lost without a word.

setup() { start_server; }

@test "standard output that is closed, on a full disk, or that nobody reads, in every command" {
  faults folder="$BATS_TEST_TMPDIR" <<'PERL'
use strict;
my $socket = $ENV{socket};
my %make = (
  closed => sub { POSIX::close(1) },
  full => sub { open STDOUT, '>', '/dev/full' or die },
  unread => sub {
    pipe my $in, my $out;
    POSIX::dup2(fileno $out, 1);
    close $in;
    close $out;
  });
for my $kind (sort keys %make) {
  next if $kind eq 'full' && !-e '/dev/full';
  for my $case (commands({server => $socket, path => $socket}, $ENV{folder}),
    map { my $word = $_; {name => $word, go => sub { run(command => [split ' ', $word], @_[1 .. $#_]) }} } '--version', 'check --help') {
    my $name = $case->{name};
    my $ran = $case->{go}->({}, before => $make{$kind});
    counted;
    # The plugins' statuses do not change: UNKNOWN is 3.
    my $expected = $kind eq 'unread' ? -13 : $name =~ /^(audit|quota|doctor)$/ ? 3 : 2;
    if ($name =~ /^run/) {
      # Its output is that of its command.
      wrong("$name, $kind", $ran) if $ran->{status} < -13 || $ran->{status} > 125;
      next;
    }
    wrong("$name, $kind", $ran) if $ran->{status} != $expected;
    wrong("$name, $kind: the reason", $ran) if $kind ne 'unread' && $ran->{err} !~ /cannot write to standard output: /;
    # Only what was done already is said.
    my $done = qr/reset: standard output is closed; 1 key had /;
    wrong("$name, $kind: a message", $ran)
      if $kind eq 'unread' && $ran->{err} =~ /rlctl: (?!burst: (writing|warning)|$done)/;
    wrong("$name, $kind: no count", $ran) if $kind eq 'unread' && $case->{removes} && $ran->{err} !~ $done;
    if ($kind eq 'full' && $case->{json}) {
      my $json = $case->{go}->({}, before => $make{$kind}, more => ['--json']);
      wrong("$name --json: the error", $json) if $json->{status} != $expected || $json->{err} !~ /^\{"error":\{.*"code":"output"/m;
    }
    my $counts = $case->{said} && units($case);
    wrong("$name, $kind: counted", $ran) if $kind eq 'closed' && $counts;
    wrong("$name, $kind: counted, which is not said", $ran)
      if $kind eq 'full' && $counts && $ran->{err} !~ /counted|settled/;
    wrong("$name, $kind: removed", $ran)
      if $kind eq 'closed' && $case->{removes} && ask($socket, 'EXISTS', 'k') ne ":1\r\n";
  }
}
PERL
}
