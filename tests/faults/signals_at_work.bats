# needs: server
load ../support/common
load ../support/faults

# Signals at every stage of a run. SIGINT, SIGTERM, SIGHUP and SIGQUIT end rlctl by the signal, as
# rlctl(1) says; SIGPIPE is ignored; no private server, socket, temporary or half-written file remains.

setup() {
  ulimit -c 0
  start_server
}

# What a command is doing when the signal comes: `ready` says that it has begun, `before` prepares, `said` is on its standard
# output, and `also` finds what is wrong afterwards. All keys of the server must be gone, but `keys` of them.
@test "signals while a command works, with a row for each kind of work" {
  stages program="$project/tests/support/odd_program.pl" <<'PERL'
my $server = "unix://$socket";
my $asked = sub { my ($n) = @_; sub { calls($socket, 'evalsha') > $n } };
my $worked = sub { my ($n) = @_; sub { work($_[1]) > $n } };
my $printed = sub { my ($n) = @_; sub { ($_[0]{out} =~ tr/\n//) > $n } };
my $waits = sub { calls($socket, 'evalsha') && is_asleep($_[1]) };
my $exists = sub { my ($file) = @_; sub { -s "$tmp/$file" } };
my $use_up = sub { run(command => [qw(check -q w --limit 1/1h)], env => {RLCTL_URL => $server}) };
# Standard input that has these lines, and no end.
my @open;
my $input = sub {
  my ($text) = @_;
  sub {
    local $^F = 99;  # rlctl inherits the other end, so that it stays open
    pipe my $in, my $out or die;
    syswrite $out, $text;
    POSIX::dup2(fileno $in, 0);
    push @open, $in, $out;
  };
};
sub file { my ($name, $text, $mode) = @_; open my $out, '>', "$folder/$name" or die; print $out $text; close $out; chmod $mode // 0644, "$folder/$name"; return "$folder/$name" }
my $sleeping = file('sleeps', "#!/bin/sh\necho \$\$ >'$tmp/process'\nexec perl -e 'sleep 600' -- \"\$@\"\n", 0755);
my $mute = file('listens', <<"MUTE", 0755);
#!/usr/bin/env perl
use IO::Socket::UNIX;
my %option = \@ARGV;
my \$listener = IO::Socket::UNIX->new(Local => \$option{'--unixsocket'}, Listen => 5) or die;
open my \$process, '>', '$tmp/process' or die;
print \$process "\$\$\n";
close \$process;
sleep 600;
MUTE
my $slow = file('slow.lua', "redis.call('INCR', KEYS[1])\nfor i = 1, 1e8 do end\nreturn 1\n");
my $busy = file('busy.lua', "redis.call('INCR', KEYS[1])\nfor i = 1, 1e7 do end\nreturn 1\n");
my $loop = file('loop.lua', "while true do redis.call('SET', KEYS[1], 1) local s = ('x'):rep(1e5):find('y') end\n");
my $log = file('log', "1767225660 a\n1767225661 a\n");
my $long = file('long.log', join '', map { "$_ a\n" } 1795155000 .. 1795185000);
my $exec = sub { "sh -c 'head -n 1 >$tmp/requests; exec perl \"\$@\"' sh $ENV{program} $_[0] $tmp" };
my $cut = qr/interrupted: covers the beginning only/;
my @burst = (qw(burst -s), $socket);
my @search = qw(adversary --model --tries 1000000000000);
my @stages = (
  {name => 'check --wait', command => [qw(check w --limit 1/1h --wait)], prepare => $use_up, ready => $waits, keys => 1},
  {name => 'run --wait', command => [qw(run w --limit 1/1h --wait -- echo ran)], prepare => $use_up, ready => $waits, keys => 1},
  {name => 'run --wait, with a lease', command => [qw(run w --limit 1/1h --concurrency 1 --wait -- echo ran)],
    prepare => $use_up, ready => $waits, keys => 1},
  {name => 'a batch that waits for input', command => [qw(check --limit 5/60s --batch)], before => $input->("k\n"),
    ready => $printed->(0), said => qr/\Aallowed [^\n]*\n\z/, keys => 1},
  {name => 'a batch on a private server', command => [qw(-u private: check --limit 5/60s --batch)],
    before => $input->("k\n"), ready => $printed->(0), said => qr/^allowed /},
  (map { {name => "the start of a server that only $_", command => [qw(-u private: check k --limit 5/60s --on-error allow)],
    env => {RLCTL_REDIS_SERVER => "$folder/$_"}, ready => $exists->('process')} } qw(sleeps listens)),
  {name => 'burst', command => [@burst, qw(steady --requests 5000000 --keys 20 -o), "$tmp/x.svg", '-o', "$tmp/x.jsonl"],
    ready => $asked->(100), said => qr/$cut.*^fixed-window +[1-9]/ms,
    also => sub { $_[0]{err} =~ /may be left|sliding-window-log/ }},
  {name => 'burst --clock real', command => [@burst, qw(steady --clock real --limit 100/200ms --rate 300/s --duration 60s
      --keys 5)], ready => $asked->(50), said => qr/$cut.*^fixed-window +[1-9]/ms,
    also => sub { "$_[0]{out}$_[0]{err}" =~ /^sliding-window-log|may be left/m }},
  {name => 'burst, before an edge', command => [@burst, qw(--clock real --limit 10/1000d -q)],
    ready => sub { calls($socket, 'script\|load') + calls($socket, 'script') && is_asleep($_[1]) }},
  {name => 'burst, in the process', command => [qw(burst steady --limit 4000/60s -q --args {now_ms}), $busy],
    ready => $worked->(15)},
  {name => 'burst, on a private server', command => [qw(-u private: burst steady --limit 4000/60s -q --args {now_ms}), $slow],
    ready => $worked->(25), also => sub { $_[0]{err} ne '' }},
  {name => 'burst --json', command => [qw(burst steady --model --rate 1000000/s --duration 1000s --json)],
    ready => $worked->(15), said => qr/\A(?=.*"interrupted":true).*"sent":[1-9]/s},
  {name => 'burst --replay of a pipe', command => [qw(burst --replay - --format epoch -o), "$tmp/x.json"], before => $input->(''),
    ready => sub { is_asleep($_[1]) }},
  {name => 'burst --suggest', command => [@burst, '--replay', $long, qw(--limit 9/60s sliding-window-log
      --suggest 0.0001% --json)], ready => sub { calls($socket, 'unlink') > 1 },
    said => qr/\A(?=.*"interrupted":true)(?=.*"sent":30001).*"suggestion":null/s},
  {name => 'adversary', command => [qw(adversary -s), $socket, qw(fixed-window --tries 100000000 --write),
      "$tmp/worst.log"], ready => $asked->(5000),
    said => qr/interrupted: shows the findings so far.*^fixed-window  2\.00× the limit: 10 within /ms},
  {name => 'adversary --exhaustive', command => [qw(adversary -s), $socket, qw(--exhaustive 32 --limit 2/60s
      fixed-window)], ready => $asked->(1000), said => qr/^proof +none: interrupted after [0-9,]+ schedules of up to 32/m},
  {name => 'adversary, the first of two', command => [@search, qw(fixed-window gcra)], ready => $worked->(20),
    said => qr/^fixed-window  2\.00× the limit.*^gcra  nothing is known: interrupted$/ms},
  {name => 'adversary --reserve', command => [@search, qw(--limit 10/60s --reserve 4 --hold 10s)], ready => $worked->(20),
    said => qr/at most 10 of 10 units spent and held, none lost so far/},
  {name => 'adversary, writing', command => [@search, qw(fixed-window -q --write), "$tmp/schedule", '-o',
      "$tmp/picture.svg"], ready => sub { my @files = glob "$tmp/*" }},
  {name => 'burst --exec', command => [qw(burst steady --requests 100 -q --timeout 120s --exec), $exec->('never')],
    ready => $exists->('requests')},
  {name => 'adversary --exec', command => [qw(adversary -q --timeout 120s --exec), $exec->('ignores_term')],
    ready => $exists->('requests')},
  {name => 'debug --trace', command => ['debug', $loop, qw(k --trace)], ready => $printed->(100)},
  {name => 'debug --ldb --attach', command => [qw(debug --ldb --attach -q), $loop, 'k'], before => $input->(''),
    ready => sub { $_[0]{out} ne '' }, also => sub { wait_for('the server has no children', sub { !children($ENV{server_pid}) }) }},
  {name => 'debug, which waits for a command', command => [qw(-u private: debug -q), $loop, 'k'], before => $input->(''),
    ready => sub { $_[0]{out} ne '' }},
  {name => 'debug --replay', command => ['debug', $loop, '--replay', $log, qw(--skip 1 --trace -q)], ready => $worked->(15)});
# At night, each signal comes at each stage. Otherwise one does, which is SIGINT at every other stage: the commit says
# which, so that each comes at each stage in time.
while (my ($number, $stage) = each @stages) {
  my $turn = $number + ($ENV{RLCTL_TEST_OFFSET} // 0);
  my @others = grep { $_ ne 'INT' } @signals;
  for my $signal ($ENV{RLCTL_TEST_ALL} ? @signals : $turn % 2 ? 'INT' : $others[$turn / 2 % @others]) {
    my ($sent, $next) = (0, 0);
    ask($socket, 'FLUSHALL');
    $stage->{prepare}->() if $stage->{prepare};
    ask($socket, qw(CONFIG RESETSTAT));
    my $ran = run(command => $stage->{command}, stdin => $stage->{stdin}, before => $stage->{before},
      env => {RLCTL_URL => $server, %{$stage->{env} // {}}}, meanwhile => sub {
        return if $sent || time < $next;
        $next = time + 0.02;
        $sent = kill $signal, $_[1] if $stage->{ready}->(@_);
      });
    unlink "$tmp/process", "$tmp/requests";
    my $what = $stage->{name};
    ends_by($what, $signal, $ran);
    wrong("$what, SIG$signal: its output", $ran) if $stage->{said} ? $ran->{out} !~ $stage->{said} : $ran->{out} =~ /^ran/m;
    wrong("$what, SIG$signal: more", $ran) if $stage->{also} && $stage->{also}->($ran);
    my ($keys) = ask($socket, 'DBSIZE') =~ /(\d+)/;
    wrong("$what, SIG$signal: $keys keys", $ran) if $keys != ($stage->{keys} // 0);
  }
}
PERL
}
