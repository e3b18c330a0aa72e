# Runs rlctl and does something to it, for the tests in tests/faults.
#
#     use Faults;
#     my $ran = run(command => ['check', 'k', '--limit', '5/60s'], timeout => 60);
#     my $ran = run(command => [...], through => $proxy, fault => {cut => 17});
#
# run() returns a hash: `status` (-n if signal n killed it), `out`, `err`, `took` (whether the fault was
# reached), `answered` (the name of the command whose reply was replaced), `bytes` and `commands` (what the server
# sent, and was sent, through the proxy) and `names` (of the commands that were passed on one by one).
#
# Options: `command`: the arguments of rlctl. `under`: a program that starts it, with its arguments. `stdin`: its
# input. `env`: variables to add. `before`: a function that the child calls before rlctl runs. `meanwhile`: a
# function that is called again and again with this hash and the process. `timeout`: after so many seconds it
# hangs, and is killed, which is wrong.
#
# A proxy stands between rlctl and the real server, and does at most one of these, once for each run:
#   {cut => N}             closes the connection after N bytes of replies
#   {stall => N}           keeps the connection open, and sends nothing after N bytes
#   {late => N, by => T}   sends nothing for T seconds after N bytes
#   {between => N, do => CODE}   calls CODE after the Nth reply, before the next command is passed on
#   {reply => N, with => BYTES}  sends these bytes instead of the Nth reply
#   {count => 1}           only counts the commands
#   {endless => [FIRST, REST], every => T}   answers the first command with FIRST, and then for ever REST, each T seconds
# With {between}, {reply} and {count}, each command is passed on after the one before it was answered.
package Faults;
use strict;
use warnings;
use Exporter 'import';
use Errno qw(EINTR);
use Fcntl qw(F_SETFD FD_CLOEXEC);
use IO::Select;
use IO::Socket::UNIX;
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(time);

our @EXPORT = qw(run proxy ask forget commands units judge places turns thinned is_asleep signal_when_asleep most_in_window
  counted wrong wait_for work children calls processes_in);

$SIG{PIPE} = 'IGNORE';

my $seed = $ENV{RLCTL_TEST_SEED} // 1;
srand $seed;

# The end of the RESP value at this place of the bytes, or undef if it is not complete.
sub value_end {
  my ($bytes, $at) = @_;
  my $left = 1;
  while ($left > 0) {
    my $end = index $$bytes, "\r\n", $at;
    return if $end < 0;
    my $kind = substr $$bytes, $at, 1;
    my $number = substr $$bytes, $at + 1, $end - $at - 1;
    $at = $end + 2;
    --$left;
    if ($kind eq '*') {
      $left += $number if $number > 0;
    } elsif ($kind eq '$' && $number >= 0) {
      $at += $number + 2;
      return if $at > length $$bytes;
    }
  }
  return $at;
}

# Takes the first value from the bytes.
sub take_value {
  my ($bytes) = @_;
  my $end = value_end($bytes, 0);
  return defined $end ? substr($$bytes, 0, $end, '') : undef;
}

# ask(SOCKET, WORD…): the raw reply of the server to one command.
my %asked;
sub ask {
  my ($path, @words) = @_;
  my $server = $asked{$path} //= IO::Socket::UNIX->new(Peer => $path) // die "$path: $!";
  my $command = '*' . @words . "\r\n" . join '', map { '$' . length($_) . "\r\n$_\r\n" } @words;
  syswrite $server, $command or die "$path: $!";
  my $bytes = '';
  while (1) {
    my $reply = take_value(\$bytes);
    return $reply if defined $reply;
    sysread($server, $bytes, 65536, length $bytes) or die "$path: hung up";
  }
}

# forget(SOCKET): the next ask() connects again.
sub forget { delete $asked{$_[0]} }

# proxy(SOCKET): one in front of this server; its own socket is $proxy->{path}.
sub proxy {
  my ($server) = @_;
  my $path = "$server.proxy";
  unlink $path;
  my $listener = IO::Socket::UNIX->new(Local => $path, Listen => 64) or die "$path: $!";
  return {server => $server, path => $path, listener => $listener};
}

# Passes on what is allowed of the replies to the client.
sub pass_on {
  my ($run, $link) = @_;
  my $fault = $run->{fault};
  for my $kind (qw(cut stall late)) {
    my $limit = $fault->{$kind};
    next if !defined $limit || $run->{took};
    my $room = $limit - $run->{bytes};
    next if length $link->{replies} <= $room && !($kind eq 'late' && length $link->{replies} == $room);
    next if length $link->{replies} < $room;
    my $first = substr $link->{replies}, 0, $room, '';
    syswrite $link->{client}, $first if length $first;
    $run->{bytes} += length $first;
    $run->{took} = 1;
    if ($kind eq 'cut') { $link->{closed} = 1 }
    if ($kind eq 'stall') { $link->{held_until} = 9e99 }
    if ($kind eq 'late') { $link->{held_until} = time + $fault->{by} }
    return;
  }
  return if ($link->{held_until} // 0) > time;
  $run->{bytes} += length $link->{replies};
  # The client takes all of this at once, or will never take it.
  my $sent = syswrite $link->{client}, $link->{replies} if length $link->{replies};
  $link->{replies} = defined $sent ? substr $link->{replies}, $sent : '';
}

# Sends what never ends, as much as the client takes.
sub go_on {
  my ($link, $fault) = @_;
  $link->{next} = time + ($fault->{every} // 0);
  while (1) {
    $link->{replies} = $fault->{endless}[1] if $link->{replies} eq '';
    my $sent = syswrite $link->{client}, $link->{replies};
    return if !defined $sent;
    substr $link->{replies}, 0, $sent, '';
    return if $fault->{every};
  }
}

sub in_step { defined $_[0]{fault}{between} || defined $_[0]{fault}{reply} || $_[0]{fault}{count} }

sub pass_commands {
  my ($run, $link) = @_;
  if ($run->{fault}{endless}) {
    $link->{client}->blocking(0);
    $link->{replies} = $run->{fault}{endless}[0] if !$link->{next};
    $link->{commands} = '';
    $run->{took} = 1;
    return go_on($link, $run->{fault});
  }
  if (!in_step($run)) {
    syswrite $link->{server}, $link->{commands};
    $link->{commands} = '';
    return;
  }
  return if $link->{waits};
  my $command = take_value(\$link->{commands});
  return if !defined $command;
  if (defined $run->{fault}{between} && !$run->{took} && $run->{commands} >= $run->{fault}{between}) {
    $run->{took} = 1;
    $run->{fault}{do}->();
  }
  ++$run->{commands};
  ($run->{asked}) = $command =~ /\A\*\d+\r\n\$\d+\r\n(\w+)/;
  push @{$run->{names}}, $run->{asked};
  $link->{waits} = 1;
  syswrite $link->{server}, $command;
}

sub pass_replies {
  my ($run, $link) = @_;
  if (!in_step($run)) {
    $link->{replies} .= $link->{came};
    $link->{came} = '';
    return pass_on($run, $link);
  }
  while (defined(my $reply = take_value(\$link->{came}))) {
    $link->{waits} = 0;
    if (defined $run->{fault}{reply} && !$run->{took} && $run->{commands} >= $run->{fault}{reply}) {
      $run->{took} = 1;
      $run->{answered} = $run->{asked};
      $reply = $run->{fault}{with};
    }
    $run->{bytes} += length $reply;
    syswrite $link->{client}, $reply;
  }
  pass_commands($run, $link);
}

sub run {
  my %asked = @_;
  my $hung;
  my $run = {fault => $asked{fault} // {}, bytes => 0, commands => 0, took => 0, out => '', err => ''};
  pipe my $out, my $out_end or die $!;
  pipe my $err, my $err_end or die $!;
  my $in;
  if (defined $asked{stdin}) {
    open $in, '+>', undef or die $!;
    syswrite $in, $asked{stdin};
    sysseek $in, 0, 0;
  } else {
    open $in, '<', '/dev/null' or die $!;
  }
  my $pid = fork // die $!;
  if (!$pid) {
    $SIG{PIPE} = 'DEFAULT';
    $SIG{$_} = 'DEFAULT' for qw(INT QUIT TERM HUP);
    open STDIN, '<&', $in or die $!;
    open STDOUT, '>&', $out_end or die $!;
    open STDERR, '>&', $err_end or die $!;
    %ENV = (%ENV, %{$asked{env} // {}});
    $ENV{RLCTL_URL} = "unix://$asked{through}{path}" if $asked{through};
    $asked{before}->() if $asked{before};
    # Not the first in PATH, which may be one that records JSON and starts this one.
    exec @{$asked{under} // []}, "$ENV{RLCTL_BUILD}/cli/rlctl", @{$asked{command}} or POSIX::_exit(127);
  }
  close $out_end;
  close $err_end;
  my %into = ($out => 'out', $err => 'err');
  my $select = IO::Select->new($out, $err);
  my $listener = $asked{through} && $asked{through}{listener};
  $select->add($listener) if $listener;
  my (%links, %side);
  my $begun = time;
  my $timeout = $asked{timeout} // 120;
  my $end = $begun + $timeout;
  my $close = sub {
    my ($link) = @_;
    for my $socket ($link->{client}, $link->{server}) {
      $select->remove($socket);
      delete $side{$socket};
      delete $links{$socket};
      close $socket;
    }
  };
  while (%into) {
    my $wait = $end - time;
    if ($wait <= 0) {
      $hung = 1;
      kill KILL => $pid;
      last;
    }
    for my $link (my @links = values %links) {
      my $held = $link->{held_until} // next;
      $wait = $held - time if $held - time < $wait;
      if ($held <= time) { delete $link->{held_until}; pass_on($run, $link); }
    }
    for my $link (grep { $_->{next} } values %links) {
      go_on($link, $run->{fault}) if time >= $link->{next};
      $wait = ($run->{fault}{every} // 0.001) if $wait > 0.001;
    }
    $wait = 0 if $wait < 0;
    $asked{meanwhile}->($run, $pid) if $asked{meanwhile};
    # What has not happened within a second is not waited for as closely.
    for my $ready ($select->can_read(!$asked{meanwhile} ? $wait : time < $begun + 1 ? 0.002 : 0.02)) {
      if ($listener && $ready == $listener) {
        my $client = $listener->accept or next;
        my $server = IO::Socket::UNIX->new(Peer => $asked{through}{server});
        if (!$server) { close $client; next }
        my $link = {client => $client, server => $server, replies => '', came => '', commands => ''};
        @links{$client, $server} = ($link, $link);
        @side{$client, $server} = qw(client server);
        $select->add($client, $server);
      } elsif (my $name = $into{$ready}) {
        my $count = sysread $ready, $run->{$name}, 65536, length $run->{$name};
        next if $count || !defined $count && $! == EINTR;
        $select->remove($ready);
        delete $into{$ready};
      } elsif (my $link = $links{$ready}) {
        my $from = $side{$ready};
        my $field = $from eq 'client' ? 'commands' : 'came';
        my $count = sysread $ready, $link->{$field}, 65536, length $link->{$field};
        if (!$count) { $close->($link); next }
        $from eq 'client' ? pass_commands($run, $link) : pass_replies($run, $link);
        $close->($link) if $link->{closed};
      }
    }
  }
  waitpid $pid, 0;
  $run->{status} = $? & 127 ? -($? & 127) : $? >> 8;
  $close->($_) for my @links = values %links;
  wrong("waited $timeout s for the end of: @{$asked{command}}", $run) if $hung;
  return $run;
}

# ---- Every command that asks a server ----

# commands(PROXY, FOLDER): for each command a hash: its `name`, `fresh`, which makes the server what it was before the
# command; `start`, which takes a fault of run() and its options and runs the command through the proxy (`more`
# are arguments to add); and `go`, which does both.
# `lost` is its status if the connection breaks, and `also` another. `said` finds how often its output says
# that something was counted under `key` (default: new), for which `counts` asks; `lines` is the number of its lines;
# `removes` is the key that it removes. `again`: what the same command says a second time, if nothing was counted by
# the first, and if it was. `varies`: its output does, even if nothing goes wrong. `many`: its calls and replies do not
# alternate. `json`: it prints JSON. `reads`: it changes nothing, and nobody has to be told that it may have been executed. `reserved`: the key `new` has a reservation of 3 of 5 units, with the ID a.
#
# The key k is a log with 2 of 5 units used; FOLDER is for files.
sub commands {
  my ($proxy, $folder) = @_;
  my $server = $proxy->{server};
  my $direct = {RLCTL_URL => "unix://$server"};
  my $must = sub {
    my $ran = run(command => [@_], env => $direct);
    die "@_: status $ran->{status}: $ran->{err}" if $ran->{status} != 0;
  };
  my ($save, $saved) = ("$folder/save", "$folder/saved");
  my $dump_of = sub { ask($server, 'DUMP', $_[0]) =~ s/\A[^\n]*\n//r =~ s/\r\n\z//r };
  my @reserve = qw(check new --limit 5/1000d --reserve 3 --hold 1d --id a);
  ask($server, 'DEL', 'k', 'new');
  $must->(qw(check k --limit 5/1d --cost 2));
  $must->(@reserve);
  my ($dump, $reserved) = ($dump_of->('k'), $dump_of->('new'));
  ask($server, 'DEL', 'new');
  unlink $saved;
  $must->('reset', '--save', $saved, 'k');
  my $fresh = sub {
    ask($server, 'FLUSHALL');
    ask($server, 'SCRIPT', 'FLUSH');
    ask($server, 'RESTORE', 'k', 108_000_000, $dump);
    unlink $save;
  };
  my $allowed = qr/^allowed /m;
  my $burst = sub { ['burst', '-s', $proxy->{path}, qw(steady --requests 3 gcra), @_] };
  my @cases = (
    {name => 'check', command => [qw(check new --limit 5/60s)], said => $allowed},
    {name => 'check with several limits', command => [qw(check new --limit 5/60s --limit 9/1h)], said => $allowed,
      key => '{new}:60s'},
    {name => 'check --peek', reads => 1, command => [qw(check k --limit 5/1d --peek)]},
    {name => 'check --wait', command => [qw(check new --limit 5/60s --wait)], said => $allowed},
    {name => 'check --batch', command => [qw(check --limit 5/60s --batch)], stdin => "new\nnew\nother\n",
      said => qr/^allowed key=new /m, lines => 3},
    {name => 'check --reserve', command => \@reserve, said => $allowed, counts => [qw(HEXISTS new a)],
      again => [(qr/^allowed .* state=held units=3 hold=\S+ remaining=2 /) x 2]},
    {name => 'settle', command => [qw(settle new a 1 --limit 5/1000d)], said => qr/^settled /m, reserved => 1,
      counts => ['EVAL', 'return redis.call("HGET", KEYS[1], "a"):sub(1, 1) == "s" and 1 or 0', 1, 'new'],
      again => [qr/^settled .* was=held actual=1 remaining=4 /, qr/^already .* was=settled actual=1 remaining=4 /]},
    {name => 'settle, by the stored limit', command => [qw(settle new a 1)], said => qr/^settled /m, reserved => 1,
      counts => ['EVAL', 'return redis.call("HGET", KEYS[1], "a"):sub(1, 1) == "s" and 1 or 0', 1, 'new'],
      again => [qr/^settled .* was=held actual=1 remaining=4 /, qr/^already .* was=settled actual=1 remaining=4 /]},
    {name => 'run', command => [qw(run new --limit 5/60s -- echo allowed it)], said => $allowed, lost => 125},
    {name => 'run --concurrency', command => [qw(run lease --concurrency 2 -- true)], lost => 125},
    {name => 'inspect', reads => 1, command => [qw(inspect k --limit 5/1d)]},
    {name => 'list', reads => 1, command => [qw(list --limit 5/1d)]},
    {name => 'audit', reads => 1, command => ['audit']},
    {name => 'doctor', reads => 1, command => ['doctor'], varies => 1},
    {name => 'quota', reads => 1, command => [qw(quota k --limit 5/1d)]},
    {name => 'reset', command => [qw(reset k)], removes => 'k'},
    {name => 'reset --match', command => [qw(reset --match k* --yes)], removes => 'k'},
    {name => 'reset --save', command => ['reset', '--save', $save, 'k'], removes => 'k'},
    {name => 'reset --restore', command => ['reset', '--restore', $saved], without => 'k'},
    {name => 'burst', command => $burst->(), also => 5},
    {name => 'burst --clock real', command => $burst->(qw(--clock real --rate 1000/s)), also => 5},
    {name => 'debug', reads => 1, command => [qw(debug gcra none --limit 5/60s --trace -q)], varies => 1},
    {name => 'debug --attach', command => [qw(debug --ldb --attach gcra none --limit 5/60s -q)], stdin => "continue\n", many => 1, also => 1},
    {name => 'scripts load', command => [qw(scripts load gcra)]});
  for my $case (@cases) {
    $case->{lost} //= 3;
    $case->{server} = $server;
    $case->{json} = $case->{name} !~ /^(audit|debug --attach)$/;  # audit may print nothing, and --ldb prints text alone
    $case->{fresh} = sub {
      $fresh->();
      ask($server, 'DEL', $case->{without}) if $case->{without};
      ask($server, 'RESTORE', 'new', 400_000_000, $reserved) if $case->{reserved};
    };
    $case->{go} = sub {
      my ($fault, %options) = @_;
      $case->{fresh}->();
      return $case->{start}->($fault, %options);
    };
    $case->{start} = sub {
      my ($fault, %options) = @_;
      my @more = @{delete $options{more} // []};
      my @command = @{$case->{command}};
      splice @command, 1, 0, @more;
      return run(command => \@command, stdin => $case->{stdin}, through => $proxy, fault => $fault, %options);
    };
  }
  return @cases;
}

# places(N, MOST): 0 to N - 1, or, if these are more than MOST, so many of them, chosen at random.
sub places {
  my ($n, $most) = @_;
  return 0 .. $n - 1 if $n <= $most;
  my %chosen;
  $chosen{int rand $n} = 1 while keys %chosen < $most;
  return sort { $a <=> $b } keys %chosen;
}

# turns(WHOLE): the numbers of the commands of this run, from 1. Of more than three that follow each other and have one
# name, such as the TYPE of each key that a reset may find, the first, the last and one at random; all if RLCTL_TEST_ALL
# is set.
sub turns {
  my ($whole) = @_;
  my @names = @{$whole->{names}};
  return 1 .. @names if $ENV{RLCTL_TEST_ALL};
  my @turns;
  for (my $begin = 0; $begin < @names;) {
    my $end = $begin;
    ++$end while $end < @names && $names[$end] eq $names[$begin];
    push @turns, $end - $begin > 3 ? ($begin + 1, $begin + 2 + int rand $end - $begin - 2, $end) : $begin + 1 .. $end;
    $begin = $end;
  }
  return @turns;
}

# thinned(STEP, LIST…): one of each STEP that follow each other, or all if RLCTL_TEST_ALL is set. The commit says which is
# the first, so that all are tried in time. Of a short list, one at least.
sub thinned {
  my ($step, @list) = @_;
  return @list if $ENV{RLCTL_TEST_ALL} || @list < 2;
  $step = @list if @list < $step;
  my $first = ($ENV{RLCTL_TEST_OFFSET} // 0) % $step;
  return @list[grep { $_ % $step == $first } 0 .. $#list];
}

# units(CASE): how many its server has counted.
sub units {
  my ($case) = @_;
  my ($units) = ask($case->{server}, @{$case->{counts} // ['LLEN', $case->{key} // 'new']}) =~ /(\d+)/;
  return $units;
}

# judge(WHAT, RAN, CASE, WHOLE): a command that lost its server somewhere must have ended by itself, with the
# status for that and a message, or have done without; and it must have said what may have been counted. A command with
# an ID is then repeated, and counted once.
sub judge {
  my ($what, $ran, $case, $whole) = @_;
  my $said = "$ran->{out}$ran->{err}";
  wrong("$what: it changes nothing", $ran) if $case->{reads} && $said =~ /may have been/;
  my $plain = sub { my ($text) = @_; $text =~ s/\d\S*//g; $text =~ s/[^a-z\n]+//g; $text };
  if ($ran->{status} < 0) {
    wrong($what, $ran);
  } elsif ($ran->{status} == $case->{lost} || $ran->{status} == ($case->{also} // -1)) {
    wrong("$what: no message", $ran) if $said !~ /\w/;
  } elsif ($ran->{status} != $whole->{status}) {
    wrong("$what: the status", $ran);
  } elsif ($ran->{err} eq '' && !$case->{varies} && $plain->($ran->{out}) ne $plain->($whole->{out})) {
    wrong("$what: another result without a word", $ran);
  }
  if ($case->{said}) {
    my $units = units($case);
    my $sure = () = $ran->{out} =~ /$case->{said}/g;
    my $doubts = () = $said =~ /may have been/g;
    wrong("$what: $units counted, $sure said", $ran) if $units < $sure || $units > $sure + $doubts;
    my $lines = () = $ran->{out} =~ /\n/g;
    wrong("$what: $lines lines", $ran) if $case->{lines} && $lines != $case->{lines};
    if ($case->{again}) {
      my $again = run(command => $case->{command}, env => {RLCTL_URL => "unix://$case->{server}"});
      wrong("$what, $units counted, and the same again", $again)
        if $again->{status} != 0 || $again->{out} !~ $case->{again}[$units] || units($case) != 1;
    }
  }
  if ($case->{removes} && ask($case->{server}, 'EXISTS', $case->{removes}) eq ":0\r\n") {
    wrong("$what: removed, which is not said", $ran) if $said !~ /remove/;
  }
}

# most_in_window(WINDOW, TIME…): the most of these times, in ascending order, in less than a window.
sub most_in_window {
  my ($window, @at) = @_;
  my ($most, $begin) = (0, 0);
  for my $end (0 .. $#at) {
    ++$begin while $at[$begin] <= $at[$end] - $window;
    $most = $end - $begin + 1 if $end - $begin >= $most;
  }
  return $most;
}

# Whether the process is rlctl and waits for something; if it has a worker, whether that waits.
sub is_asleep {
  my ($pid) = @_;
  my ($worker) = grep { stat_of($_) =~ / \(rlctl\) / } children($pid);
  return stat_of($worker // $pid) =~ / \(rlctl\) S /;
}

# The line in which the kernel describes the process; empty if the process is gone.
sub stat_of {
  my ($pid) = @_;
  open my $file, '<', "/proc/$pid/stat" or return '';
  return <$file> // '';
}

# The CPU time of the process and its children, in hundredths of a second.
sub work {
  my ($pid) = @_;
  open my $file, '<', "/proc/$pid/stat" or return 0;
  my @fields = split ' ', <$file> =~ s/.*\) //r;
  my $sum = $fields[11] + $fields[12];
  $sum += work($_) for children($pid);
  return $sum;
}

# children(PID): of the process.
sub children {
  my ($pid) = @_;
  my @found;
  for my $list (glob "/proc/$pid/task/*/children") {
    open my $file, '<', $list or next;
    push @found, split ' ', <$file> // '';
  }
  return @found;
}

# calls(SOCKET, COMMAND): how often the server has executed it, a regular expression.
sub calls {
  my ($path, $command) = @_;
  return ask($path, 'INFO', 'commandstats') =~ /^cmdstat_$command:calls=(\d+)/m ? $1 : 0;
}

# The processes that run in this folder, or have it among their arguments.
sub processes_in {
  my ($folder) = @_;
  my @found;
  for my $process (glob '/proc/[0-9]*') {
    open my $file, '<', "$process/cmdline" or next;
    my $names = (readlink("$process/cwd") // '') . ' ' . (<$file> // '');
    push @found, $process if $names =~ /\Q$folder/;
  }
  return @found;
}

# wait_for(WHAT, CODE): until the code is true; after two minutes, that is wrong.
sub wait_for {
  my ($what, $code) = @_;
  for (1 .. 6000) { return if $code->(); select undef, undef, undef, 0.02 }
  wrong("waited two minutes for: $what");
}

# For `meanwhile`: sends the signal once the process sleeps.
sub signal_when_asleep {
  my ($signal) = @_;
  my ($sent, $seen) = (0, 0);
  return sub {
    my ($run, $pid) = @_;
    # Twice, since it may have slept for a moment only.
    $seen = is_asleep($pid) ? $seen + 1 : 0;
    $sent = kill $signal, $pid if !$sent && $seen > 5;
  };
}

# What went wrong, each said once; the first ten are printed.
my ($count, $wrong) = (0, 0);
sub wrong {
  my ($what, $ran) = @_;
  if (++$wrong <= 10) {
    print STDERR "wrong: $what";
    print STDERR ": status $ran->{status}\n", substr($ran->{out}, -500),
      substr $ran->{err}, -1000
      if $ran;
    print STDERR "\n";
  }
}

# counted(N): N faults happened. The program fails if none did, or if something went wrong.
sub counted { $count += $_[0] // 1 }
END {
  print STDERR "nothing was counted\n" if !$count && $? == 0;
  $? = 1 if $? == 0 && ($wrong || !$count);
  print STDERR "RLCTL_TEST_SEED=$seed RLCTL_TEST_OFFSET=", $ENV{RLCTL_TEST_OFFSET} // 0, "\n" if $?;
}

1;
