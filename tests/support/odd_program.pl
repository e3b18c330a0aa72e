# A program for `rlctl burst --exec` that allows everything, and in one respect misbehaves:
#
#     odd_program.pl WAY [ARGUMENT]
#
# The ways are the keys of %ways. What the argument is depends on the way.
use strict;
use warnings;

$| = 1;
my ($way, $argument) = @ARGV;
my $answered = 0;

sub nap { select undef, undef, undef, $_[0] }
sub say_lines { print map { "$_\n" } @_ }
sub allow { say_lines(1); $answered++ }
sub next_request {
    while (my $line = <STDIN>) { return $line unless $line =~ /"reset"/ }
    return;
}
sub allow_rest { while (next_request()) { allow() } }
sub hello { say_lines(qq({"hello":{"pipeline":$_[0]}})) }
sub number { $_[0] =~ /"id":(\d+)/ ? $1 : die }

my %ways = (
    well => sub { allow_rest() },
    first => sub { next_request(); say_lines($argument); allow_rest() },
    late => sub { while (next_request()) { nap(0.02); allow() } },
    starts_late => sub { nap(0.3); allow_rest() },
    halves => sub {
        while (next_request()) {
            for my $part ('{"allow', 'ed"', ':true', "}\r\n") { print $part; nap(0.005) }
        }
    },
    no_newline => sub { next_request(); print 1; exit },
    twice => sub { next_request(); say_lines(1, 1); allow_rest() },
    once_more => sub { allow_rest(); say_lines(1) },
    unasked => sub { say_lines(1); allow_rest() },
    never => sub { while (next_request()) { } },
    megabyte => sub { next_request(); say_lines('1' x 1_000_000); allow_rest() },
    megabyte_of_lines => sub { next_request(); print "1\n" x 500_000; allow_rest() },
    kills_itself => sub { next_request(); allow(); next_request(); kill 'KILL', $$; nap(1) while 1 },
    exits => sub { exit $argument },
    fails => sub { next_request(); allow(); next_request(); $! = $? = 0; die "first line\nlast line\n" },
    forks => sub {
        if (!fork) { close STDOUT; nap(1) while 1 }
        allow_rest();
    },
    forks_with_output => sub {
        if (!fork) { nap(1) while 1 }
        allow_rest();
    },
    closes_output => sub { next_request(); close STDOUT; nap(1) while 1 },
    closes_input => sub { close STDIN; nap(1) while 1 },
    hello => sub { hello($argument); allow_rest() },
    hello_late => sub { next_request(); allow(); hello(2); allow_rest() },
    hello_twice => sub { hello(2); hello(2); allow_rest() },
    # Lets 64 be in flight, and then answers only so many at a time.
    batches => sub {
        my $line = next_request();
        print qq({"hello":{"pipeline":64}}\n1\n);
        my @numbers;
        while ($line = next_request()) {
            push @numbers, number($line);
            next if @numbers < $argument;
            say_lines(map { qq({"allowed":true,"id":$_}) } splice @numbers);
        }
    },
    swaps => sub {
        hello(2);
        # There are two at most only once the hello has arrived.
        allow() if next_request();
        while (defined(my $one = next_request()) && defined(my $two = next_request())) {
            say_lines(map { '{"allowed":true,"id":' . number($_) . '}' } $two, $one);
        }
    },
    stops_reading => sub { hello(4096); next_request(); allow(); nap(1) while 1 },
    much_error => sub {
        next_request();
        print STDERR 'x' x 65_535, "\n" for 1 .. 16 * $argument;
        allow();
        allow_rest();
    },
    endless_error => sub {
        if (!fork) { close STDOUT; print STDERR 'x' x 4095, "\n" while 1 }
        allow_rest();
    },
    ignores_term => sub { $SIG{TERM} = 'IGNORE'; allow_rest(); nap(1) while 1 },
    hangs_at_end => sub { allow_rest(); nap(1) while 1 },
);

($ways{$way} // die "no way $way\n")->();
