# For tests that do something to rlctl many times. Each prints how often, for the table of tests/faults/run.
#
#   counted COUNT     Says that this test caused COUNT faults.
#   often N           N times $RLCTL_FAULTS (default: 1), which makes the tests do more.
#   faults [NAME=VALUE…] <<'PERL'
#                     Runs this Perl code, with tests/support/Faults.pm, and says the count that it prints.
#                     The variables are in its environment, and $few is set under a sanitizer, with which a
#                     program takes thirty times as long to start. If it fails, it prints the seed of
#                     its random numbers, which RLCTL_TEST_SEED sets.
#   preload           Sets $preload to the library of tests/faults/preload.cc, or skips the test where
#                     none can be preloaded.
#   start_server_with_clock [OPTION…]
#                     start_server, with a clock that is as many seconds ahead as $clock says, a file with
#                     a native long; see tests/faults/clock.cc.

counted() { echo "# faults: $1" >&3; }
often() { echo $(($1 * ${RLCTL_FAULTS:-1})); }

faults() {
  local status=0 count
  if [[ $RLCTL_BUILD == *sanitize* ]]; then set -- few=1 "$@"; fi
  env "$@" perl -I "$project/tests/support" -MFaults - >"$BATS_TEST_TMPDIR/counted" || status=$?
  ((status == 0)) || { cat "$BATS_TEST_TMPDIR/counted"; return "$status"; }
  count=$(sed -nE 's/^([0-9]+) faults, 0 wrong$/\1/p' "$BATS_TEST_TMPDIR/counted")
  ((count)) || fail 'nothing was counted'
  counted "$count"
}

preload() {
  [[ $RLCTL_BUILD != *sanitize* ]] || skip 'a sanitizer must be the first library that is loaded'
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
