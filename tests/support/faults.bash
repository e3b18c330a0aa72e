# For tests that do something to rlctl many times.
#
#   often N           N times $RLCTL_FAULTS (default: 1), which makes the tests do more.
#   faults [NAME=VALUE…] <<'PERL'
#                     Runs this Perl code, with tests/support/Faults.pm, and fails if it did nothing.
#                     The variables are in its environment, and $few is set under a sanitizer, with which a
#                     program takes thirty times as long to start. If it fails, it prints the seed of
#                     its random numbers, which RLCTL_TEST_SEED sets.
#   stages [NAME=VALUE…] <<'PERL'
#                     faults, with @signals, the signals that end a program, and ends_by($name, $signal, $ran), which
#                     fails unless the run was ended by the signal, and left nothing in $tmp, its folder for temporary
#                     files, and no process that runs in it or names it.
#   preload           Sets $preload to the library of tests/faults/preload.cc, or skips the test where
#                     none can be preloaded.
#   start_server_with_clock [OPTION…]
#                     start_server, with a clock that is as many seconds ahead as $clock says, a file with
#                     a native long; see tests/faults/clock.cc.

often() { echo $(($1 * ${RLCTL_FAULTS:-1})); }

faults() {
  if [[ $RLCTL_BUILD == *sanitize* ]]; then set -- few=1 "$@"; fi
  env "$@" perl -I "$project/tests/support" -MFaults -
}

stages() {
  faults folder="$BATS_TEST_TMPDIR" rounds="$(often 1)" "$@" < <(
    cat <<'PERL'
use strict;
use Time::HiRes qw(sleep time);
my ($socket, $folder, $rounds) = @ENV{qw(socket folder rounds)};
my $tmp = $ENV{TMPDIR} = "$folder/tmp";
mkdir $tmp or die;
my %number = (HUP => 1, INT => 2, QUIT => 3, TERM => 15);
my @signals = sort keys %number;
my $proxy = proxy($socket);
# burst and debug --attach finish what they have begun, and end by the signal after --timeout at the latest.
sub finishes { $_[0]{name} =~ /^(burst|debug --attach)/ }
sub timeout { ('--timeout', finishes($_[0]) ? '10s' : '600s') }
sub left {
  my ($what, $ran) = @_;
  my @left = glob "$tmp/*";
  wrong("$what: left behind: @left", $ran) if @left;
  wait_for("$what: its processes are gone", sub { !processes_in($tmp) });
  unlink glob "$tmp/*/* $tmp/*";
  rmdir for glob "$tmp/*";
}
# Ended by the signal, with nothing on standard output that says that all went well.
sub ends_by {
  my ($what, $signal, $ran) = @_;
  counted;
  wrong("$what, SIG$signal", $ran) if $ran->{status} != -$number{$signal};
  left($what, $ran);
}
PERL
    cat
  )
}

preload() {
  needs_plain_build
  preload=$RLCTL_BUILD/tests/libfaults_preload.so
  [[ -e $preload ]] || fail "not built: $preload"
}

start_server_with_clock() {
  local folder
  folder=$(mktemp -d "$BATS_TEST_TMPDIR/clock.XXXXXX")
  export clock=$folder/ahead
  perl -e 'print pack "q", 0' >"$clock"
  # Debian's redis-check-rdb runs as a server when called by the server's name.
  ln -s "$(server_binary)" "$folder/redis-server"
  cat >"$folder/server" <<END
#!/bin/sh
export LD_PRELOAD='$RLCTL_BUILD/tests/libfaults_clock.so' RLCTL_FAULT_CLOCK='$clock'
exec '$folder/redis-server' "\$@"
END
  chmod +x "$folder/server"
  RLCTL_REDIS_SERVER=$folder/server start_server "$@"
}
