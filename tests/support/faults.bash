# For tests that do something to rlctl many times. Each prints how often, for the table of tests/faults/run.
#
#   counted COUNT     Says that this test caused COUNT faults.
#   often N           N times $RLCTL_FAULTS (default: 1), which makes the tests do more.
#   faults [NAME=VALUE…] <<'PERL'
#                     Runs this Perl code, with tests/support/Faults.pm, and says the count that it prints.
#                     The variables are in its environment.
#   preload           Sets $preload to the library of tests/faults/preload.cc, or skips the test where
#                     none can be preloaded.

counted() { echo "# faults: $1" >&3; }
often() { echo $(($1 * ${RLCTL_FAULTS:-1})); }

faults() {
  local status=0 count
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
