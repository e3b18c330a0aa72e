# needs: server
load ../support/common
load ../support/faults

# A server whose replies never end takes neither much memory nor the whole timeout: what one reply may have is
# bounded, and the error says which bound was exceeded.

setup() { start_server; }

@test "an endless answer is refused before it takes much memory, in every command" {
  faults folder="$BATS_TEST_TMPDIR" <<'PERL'
use strict;
my $proxy = proxy($ENV{socket});
my $many = "*1000000000\r\n";
my @kinds = ([$many, ":1\r\n"], [$many, "*2\r\n:1\r\n*1\r\n\$1\r\na\r\n"], ['+', 'x'], ['$', '1']);
my @others = ([$many, "\$3\r\nabc\r\n"], ["*9\r\n*9\r\n$many", "*0\r\n"], ['-ERR ', 'x'], ["\$500000000\r\n", 'x'],
  [">1000000000\r\n", ":1\r\n"], ["|1000000000\r\n", "+a\r\n:1\r\n"]);
for my $case (commands($proxy, $ENV{folder})) {
  next if $case->{many};
  # The reply of a limiter is short.
  my $is_short = $case->{name} =~ /^(check|settle$|run)/;
  for my $kind ($case->{name} eq 'check' ? (@kinds, @others) : $kinds[rand @kinds]) {
    my $limit = $is_short ? 256 : 768;
    my @under = $ENV{few} ? () : ('prlimit', '--as=' . ($limit << 20));
    my $ran = $case->{go}->({endless => [$kind->[0], $kind->[1] x 4096]}, more => [qw(--timeout 100s)], under => \@under);
    counted;
    wrong("$case->{name}, $kind->[0] $kind->[1]", $ran)
      if $ran->{status} != $case->{lost} && $ran->{status} != ($case->{also} // -1) ||
        "$ran->{out}$ran->{err}" !~ ($is_short ? qr/: the answer (is larger than 64 KiB|has a line of more than 64 KiB|is not RESP: )/
        : qr/: the answer (has more than 1000000 elements|has a line of more than 1 MiB)/);
  }
}
PERL
}

# The text is larger than the 64 MiB that a dump may have, but its dump is compressed.
@test "a text of 70 MB is saved and restored" {
  cli EVAL "redis.call('SET', 'k', ('x'):rep(70000000))" 0 >/dev/null
  run -0 rlctl --timeout 300s reset k --force --save "$BATS_TEST_TMPDIR/saved"
  run -0 rlctl --timeout 300s reset --restore "$BATS_TEST_TMPDIR/saved"
  assert_equal "$(cli STRLEN k)" 70000000
}
