load ../support/common

# The programs that a test finds: see programs.py.

@test "a test finds a program only if it declares it, and the program finds all others" {
  [[ ${RLCTL_TEST_PATH-} && $PATH != *":$RLCTL_TEST_PATH" ]] || skip 'needs tests/run on a system with dpkg'
  mkdir "$BATS_TEST_TMPDIR/elsewhere"
  cd "$BATS_TEST_TMPDIR/elsewhere"
  printf '#!/bin/sh\nother "$@"\n' >undeclared
  printf '#!/bin/sh\necho "found $*"\n' >other
  chmod +x undeclared other
  RLCTL_TEST_PATH=$PWD:$RLCTL_TEST_PATH
  run -127 undeclared
  needs undeclared
  run -0 undeclared 'a b' c
  assert_output 'found a b c'
  run -127 other
}
