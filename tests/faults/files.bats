# needs: server
load ../support/common
load ../support/faults

# Every file that rlctl writes, on a disk that is full after any number of bytes, and in a folder that cannot be
# written. The old file stays, nothing half-written is left, and the error names the file.

setup() { start_server; }

# each_file <<'PERL': runs this code for each command that writes a file: its $name, its @command with the $file,
# $old, what the file holds before ('' if it must not exist), and its $whole contents. `without` is its status
# without an error, `failed` with one, and `varies` by how many bytes its size differs from run to run, since times
# are written without trailing zeros.
each_file() {
  faults folder="$BATS_TEST_TMPDIR" preload="${preload-}" < <(
    cat <<'PERL'
use strict;
my ($socket, $folder, $preload) = @ENV{qw(socket folder preload)};
my $to = "$folder/to";
mkdir $to or die;
my @burst = qw(burst --model steady --requests 20 --limit 5/60s gcra -q);
my @cases = (
  {name => 'reset --save', command => sub { ['reset', '--save', $_[0], 'k'] }, new => 1, file => 'save'},
  {name => 'check --textfile', command => sub { [qw(check --limit 5/60s --batch --textfile), $_[0]] }, stdin => "a\nb\n",
    file => 'check.prom', varies => 6},
  {name => 'quota --textfile', command => sub { [qw(quota k --limit 5/60s --textfile), $_[0]] }, file => 'quota.prom',
    failed => 3, varies => 6},
  (map { my $ending = $_; {name => "burst -o .$ending", command => sub { [@burst, '-o', $_[0]] }, file => "burst.$ending"} }
    qw(svg html json jsonl)),
  {name => 'adversary --write',
    command => sub { [qw(adversary --model gcra --tries 300 -q --write), $_[0]] }, file => 'schedule'},
  {name => 'debug --lcov', command => sub { [qw(debug gcra k2 --limit 5/60s --coverage --lcov), $_[0]] },
    file => 'lcov', slow => 1},
  # Its script, in a folder that is new each time.
  {name => 'debug --print-command', command => sub { [qw(debug gcra k2 --limit 5/60s --print-command)] },
    new => 1, file => 'rlctl-script', many => 1, env => {TMPDIR => $to}});
sub slurp { open my $file, '<', $_[0] or return; local $/; <$file> }
sub sizes { my $all = 0; $all += -s for grep { -f } glob "$to/* $to/*/*"; $all }
sub names { opendir my $dir, $to or die; join ' ', sort grep { !/^\.\.?$/ } readdir $dir }
for my $case (@cases) {
  my $name = $case->{name};
  my $file = "$to/$case->{file}";
  my $failed = $case->{failed} // 2;
  my $old = $case->{new} ? undef : "old\n";
  my $go = sub {
    ask($socket, 'FLUSHALL');
    run(command => [qw(check k --limit 5/60s -q)]) if $name eq 'reset --save';
    unlink glob "$to/* $to/*/*";
    rmdir for glob "$to/*";
    if (defined $old) { open my $out, '>', $file or die; print $out $old; close $out }
    return run(command => $case->{command}->($file), stdin => $case->{stdin}, env => {%{$case->{env} // {}}, @_});
  };
PERL
    cat
    echo '}'
  )
}

@test "a disk that is full after any number of bytes, for every file that rlctl writes" {
  preload
  each_file <<'PERL'
  my $ran = $go->();
  my $size = sizes();
  if ($ran->{status} > 1 || $size < 10) { wrong("$name without a fault", $ran); next }
  my $whole = slurp($file);
  for my $room (places($size - ($case->{varies} // 0), $case->{slow} ? 5 : 40)) {
    my $ran = $go->(LD_PRELOAD => $preload, RLCTL_FAULT_DISK => $room);
    counted;
    my $what = "$name with room for $room bytes";
    wrong($what, $ran) if $ran->{status} != $failed;
    wrong("$what: no reason", $ran) if "$ran->{out}$ran->{err}" !~ /no space left on device/i;
    wrong("$what: the file is not named", $ran) if "$ran->{out}$ran->{err}" !~ ($case->{many} ? qr/\Q$to/ : qr/\Q$file/);
    my $now = slurp($file);
    if ($case->{many}) {
      wrong("$what: the file is neither old nor new", $ran) if defined $now && $now ne ($old // '') && $now ne $whole;
      wrong("$what: left behind: " . names(), $ran) if names() ne '';
      next;
    }
    wrong("$what: the file is " . ($now // 'gone'), $ran)
      if $case->{new} ? defined $now && $now ne '' && $now !~ /\n\z/ : ($now // '') ne $old;
    wrong("$what: left behind: " . names(), $ran) if names() ne (defined $now ? $case->{file} : '');
    # What could not be saved is still there.
    wrong("$what: removed", $ran) if $name eq 'reset --save' && ask($socket, 'EXISTS', 'k') ne ":1\r\n";
  }
PERL
}

@test "a folder that cannot be written, for every file that rlctl writes" {
  # Not by its mode, which does not stop root: a folder of the kernel.
  each_file <<'PERL'
  my %reason = (
    '/proc/self/fdinfo' => 'in a folder of the kernel',
    "$folder/nowhere" => 'in a folder that does not exist',
    "$ENV{socket}" => 'in a folder that is a socket');
  for my $place (sort keys %reason) {
    my $there = "$place/$case->{file}";
    ask($socket, 'FLUSHALL');
    run(command => [qw(check k --limit 5/60s -q)]);
    my $ran = run(command => $case->{command}->($there), stdin => $case->{stdin},
      env => {$case->{env} ? (TMPDIR => $place) : ()});
    counted;
    my $what = "$name $reason{$place}";
    wrong($what, $ran) if $ran->{status} != $failed;
    wrong("$what: the place is not named", $ran) if "$ran->{out}$ran->{err}" !~ /\Q$place\E/;
    wrong("$what: removed", $ran) if $name eq 'reset --save' && ask($socket, 'EXISTS', 'k') ne ":1\r\n";
    wrong("$what: counted", $ran) if $name =~ /^check/ && ask($socket, 'EXISTS', 'a') ne ":0\r\n";
  }
PERL
}
