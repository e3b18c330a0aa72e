# needs: server
load ../support/common
load ../support/faults

# Replies that are cut off, late, or not what they should be, in every command that asks a server. A proxy
# stands between rlctl and the server; see support/Faults.pm.

setup() { start_server; }

# each_command [NAME=VALUE…] <<'PERL': runs this code for each command that asks a server, with its $case and
# $name, $go->(FAULT, OPTION…), which runs it, $whole, a run without a fault, and @replies, the numbers of its
# replies, or of some where they are many and alike.
each_command() {
  faults folder="$BATS_TEST_TMPDIR" "$@" < <(
    cat <<'PERL'
use strict;
my $proxy = proxy($ENV{socket});
for my $case (commands($proxy, $ENV{folder})) {
  my ($name, $go) = @$case{qw(name go)};
  my $whole = $go->({count => 1});
  if ($whole->{status} != 0) { wrong("$name without a fault", $whole); next; }
  my @replies = $case->{many} ? map { $_ + 1 } places($whole->{commands}, 10) : turns($whole);
PERL
    cat
    echo '}'
  )
}

# Of the bytes at which a reply is cut, every 18th is tried, and of those after which it stops, every ninth; at night, all.
# Of replies as long as INFO's, a few bytes are chosen.
@test "replies of every command that are cut off or stop after any byte, and a script flush between any two calls" {
  each_command most="$(often 60)" few_silences="$(often 12)" <<'PERL'
  for my $n (thinned(18, places($whole->{bytes}, $ENV{few} ? 12 : $whole->{bytes} > 300 ? $ENV{most} : 300))) {
    my $ran = $go->({cut => $n});
    next if !$ran->{took};
    counted;
    judge("$name, cut after $n bytes", $ran, $case, $whole);
  }
  # The server is silent beyond the timeout.
  for my $n (thinned(9, places($whole->{bytes}, $case->{many} ? 3 : $ENV{few} ? 9 : $ENV{few_silences}))) {
    my $ran = $go->({stall => $n}, more => [qw(--timeout 100ms)]);
    next if !$ran->{took};
    counted;
    judge("$name, silent after $n bytes", $ran, $case, $whole);
  }
  next if $case->{many};  # The server takes no other command meanwhile.
  for my $n (grep(/^EVALSHA$/, @{$whole->{names}}) ? @replies : thinned(9, @replies)) {
    my $ran = $go->({between => $n - 1, do => sub { ask($proxy->{server}, 'SCRIPT', 'FLUSH') }});
    next if !$ran->{took};
    counted;
    judge("$name, flushed before call $n", $ran, {%$case, lost => -1}, $whole);
  }
PERL
}

@test "a reply that comes after the timeout is no answer to the next request" {
  faults rounds="$(often "$(scaled 15 40)")" <<'PERL'
use strict;
my $proxy = proxy($ENV{socket});
for my $round (1 .. $ENV{rounds}) {
  ask($proxy->{server}, 'FLUSHALL');
  # Each key has a limit of its own kind of answer: the Nth line must have the answer of the Nth key.
  my $lines = join '', map { "key$_\t$_\n" } 1 .. 9;
  my $ran = run(command => [qw(check --limit 10/60s --batch --timeout 100ms)], stdin => $lines, through => $proxy,
    fault => {late => int rand 200, by => 0.15});
  counted;
  my $number = 0;
  for my $line (split /\n/, $ran->{out}) {
    ++$number;
    my $left = 10 - $number;
    wrong("round $round: line $number: $line", $ran)
      if $line !~ /^allowed key=key$number limit=10\/60s remaining=$left / &&
        $line !~ /^error line=$number status=3 /;
    my ($units) = ask($proxy->{server}, 'EVAL', 'return redis.call("EXISTS", KEYS[1])', 1, "key$number") =~ /(\d+)/;
    wrong("round $round: line $number is counted", $ran) if $units && $line !~ /^allowed|may have/;
    wrong("round $round: line $number is not counted", $ran) if !$units && $line =~ /^allowed/;
  }
  wrong("round $round: $number lines", $ran) if $number != 9;
}
PERL
}

# Garbage instead of any one reply loses the connection, and the command ends as it does without a server, except that
# burst and run have done their work before the last reply, which is to the removal of their keys: those of burst expire,
# and run warns.
@test "garbage, or a well-formed reply of the wrong kind, instead of each reply of every command, and one that never ends" {
  each_command <<'PERL'
  use JSON::PP;
  # Every second reply is garbage, and the others are of the wrong kind: at another commit, the other way round; at night,
  # all are both.
  my $offset = $ENV{RLCTL_TEST_OFFSET} // 0;
  my @turns = map { my $odd = $_; [grep { $ENV{RLCTL_TEST_ALL} || ($_ + $offset) % 2 == $odd } @replies] } 0, 1;
  my @garbage = ("\0\0\0\0\r\n", "HTTP/1.1 400 Bad Request\r\n\r\n", "\x15\x03\x01\x00\x02\x02\x46", "*-7\r\n",
    "\$-7\r\n", ":\r\n", ":12a\r\n", ":99999999999999999999\r\n", "*9223372036854775808\r\n", "%1\r\n+a\r\n:1\r\n",
    ">2\r\n+a\r\n:1\r\n", "_\r\n", "*2\r\n:1\r\n_\r\n", "*1\r\n" x 9 . ":1\r\n", "*1\r\n" x 100_000, "\$3\r\nabcdef\r\n",
    "\n" x 100);
  for my $n (@{$turns[0]}) {
    for my $garbage ($n % 5 == 1 && !$ENV{few} ? thinned(9, @garbage) : $garbage[rand @garbage]) {
      my $ran = $go->({reply => $n, with => $garbage}, more => [qw(--timeout 5s)]);
      next if !$ran->{took};
      counted;
      my $shown = substr $garbage, 0, 40;
      $shown =~ s/[^ -~]/./g;
      my @expected = $case->{lost};
      push @expected, 0 if $n == $whole->{commands} && ($name =~ /^burst/ || $ran->{err} =~ /: warning: the lease /);
      wrong("$name, reply $n, to $ran->{answered}, is $shown", $ran)
        if !grep({ $_ == $ran->{status} } @expected) ||
          $case->{said} && $ran->{out} =~ $case->{said} && $name !~ /batch/;
    }
  }
  my @others = ("+OK\r\n", ":-1\r\n", ":9223372036854775807\r\n", "\$-1\r\n", "\$0\r\n\r\n", "*0\r\n", "*-1\r\n",
    "*1\r\n*0\r\n", "*2\r\n\$1\r\n0\r\n*1\r\n:7\r\n", "\$3\r\na\0b\r\n", "-\r\n", "-ERR\r\n", "-ERR \e[31m%s%n\r\n",
    '*6' . "\r\n:-1" x 6 . "\r\n", '*6' . "\r\n:9223372036854775807" x 6 . "\r\n", "-NOSCRIPT again\r\n",
    "-MOVED x\r\n", "-ASK x\r\n", "+" . 'x' x 300_000 . "\r\n",
    "-ERR " . "\e[31m" x 60_000 . "\r\n");
  my @texts = ("\e]0;title\a\b\x7f%s%n%99999999d{}{0:>9}\"},{\"a\":[", "\xc2\x9b31m\xe2\x80\xae\xe2\x81\xa6\xe2\x80\xa8",
    "\xff\xfe\xc3\xed\xa0\x80\xf4\x90\x80\x80");
  push @others, map { ("-ERR $_\r\n", "-WRONGTYPE $_\r\n", "+$_\r\n", "$_\r\n", "*2\r\n+$_\r\n-ERR $_\r\n") } @texts;
  for my $n (@{$turns[1]}) {
    for my $other ($n % 5 == 1 && !$ENV{few} ? thinned(17, @others) : $others[rand @others]) {
      my $is_json = $case->{json} && rand 2 < 1;
      my $ran = $go->({reply => $n, with => $other}, more => [qw(--timeout 100ms), $is_json ? '--json' : ()]);
      next if !$ran->{took};
      counted;
      my $shown = substr($other, 0, 40) =~ s/[^ -~]/./gr;
      wrong("$name, reply $n is $shown", $ran)
        if $ran->{status} < 0 || $ran->{status} > 5 && $ran->{status} != 75 && $ran->{status} != 125;
      my $said = "$ran->{out}$ran->{err}";
      wrong("$name, reply $n is $shown: what a terminal interprets", $ran)
        if !utf8::decode($said) || $said =~ /[^\P{Cc}\t\n]|[\x{61c}\x{200e}\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}]/;
      my @lines = grep { !/^(rlctl: |  hint: |allowed it$)/ } split /\n/, "$ran->{out}$ran->{err}";
      # JSON::PP takes long for long texts: what is repeated there is read once.
      s/(x|\\u001b\[31m)\g1{9,}/$1/g for @lines;
      wrong("$name --json, reply $n is $shown", $ran) if $is_json && grep { !eval { decode_json $_ } } @lines;
    }
  }
  # Bytes that never stop, slowly: neither one read nor one reply is late.
  my @endless = (["*1\r\n", "*1\r\n"], ["\$1000000000\r\n", 'x'], ['+', 'x' x 1000],
    ["*2147483647\r\n*2147483647\r\n*2147483647\r\n", "+x\r\n" x 100]);
  for my $endless (thinned(9, @endless)) {
    my $ran = $go->({endless => $endless, every => 0.01}, more => [qw(--timeout 200ms)], timeout => 60);
    counted;
    wrong("$name, endless", $ran) if $ran->{status} != $case->{lost} && $ran->{status} != ($case->{also} // -1) ||
      "$ran->{out}$ran->{err}" !~ /no answer from \S+ within 0?\.?200|the answer /;
  }
PERL
}
