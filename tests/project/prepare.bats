load ../support/common

# cmake/prepare.sh, which quickstart, tests/run and .ci/run source. They run in dash or in bash, and stop at the first error.

setup() {
  export TMPDIR=$BATS_TEST_TMPDIR/tmp
  mkdir "$TMPDIR"
  cd "$BATS_TEST_TMPDIR"
}

# sourced SHELL SCRIPT: runs the script with the functions of prepare.sh.
sourced() { timeout 60 "$1" -euc "root=$project; . \"\$root/cmake/prepare.sh\"; $2"; }

# programs NAME…: puts programs with these names first in PATH. Each appends its name and its arguments to the file `called`.
programs() {
  local name
  mkdir -p "$BATS_TEST_TMPDIR/bin"
  for name; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/called"\n' "$name" "$BATS_TEST_TMPDIR" >"$BATS_TEST_TMPDIR/bin/$name"
    chmod +x "$BATS_TEST_TMPDIR/bin/$name"
  done
  PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

@test "each function works under set -eu, in dash and in bash" {
  local shell name functions
  local -A calls=(
    [needed]='needed | grep -q "^build  cmake"'
    [is_there]='is_there sh; is_there stdio.h; is_there /; if is_there no-such-command; then exit 9; fi'
    [missing]='test -z "$(missing build server test)"'
    [as_root]='as_root true'
    [install_packages]='install_packages a b'
    [may_install]='may_install'
    [prepare]='prepare build server test; needed() { echo "build a no-such-command"; }; prepare build'
    [prepare_npm]='root=$TMPDIR/elsewhere; needed() { :; }; prepare_npm; prepare_npm'
    [build]='build release rlctl'
    [build_locked]='build_locked release rlctl'
    [step]='step "a step" true'
    [show_step]='(show_step "a step" true)'
    [end_on_signals]='end_on_signals'
    [end_line]='end=""; end_line'
    [tick]='text=a every=1 line="" end="" log=/dev/null start=0; tick 99999999'
    [stop_ticker]='ticker=""; stop_ticker; sleep 60 & ticker=$!; stop_ticker; test -z "$ticker"'
    [progress]='log=$TMPDIR/log; echo "[3/46] Building" >"$log"; test "$(progress)" = "3 of 46, "'
  )
  programs sudo apt-get dpkg npm
  lines_of functions sed -n 's/^\([a-z_]*\)() .*/\1/p' "$project/cmake/prepare.sh"
  for shell in dash bash; do
    for name in "${functions[@]}"; do
      [[ ${calls[$name]-} ]] || fail "this test has no call of $name"
      run -0 sourced "$shell" "${calls[$name]}; echo ended"
      assert_line ended
    done
  done
  run cat "$BATS_TEST_TMPDIR/called"
  assert_output --regexp 'apt-get install .* a b|sudo .*apt-get install .* a b'
}

@test "a step that fails prints its output and returns 1, whatever its status was" {
  local shell command expected
  for shell in dash bash; do
    while read -r expected command; do
      run -1 sourced "$shell" "step 'a step' sh -c 'echo the output; $command'; echo not reached"
      assert_line "a step failed with status $expected:"
      assert_line 'the output'
      refute_line 'not reached'
    done <<'END'
3 exit 3
137 kill -9 $$
143 kill $$
END
  done
  assert_equal "$(ls "$TMPDIR")" ''
}

@test "a process that a step leaves running does not hold the output of its caller" {
  local shell
  printf '#!/bin/sh\nsleep 54321 &\necho $! >pid\n' >leave
  chmod +x leave
  for shell in dash bash; do
    sourced "$shell" 'step "a step" ./leave' 2>&1 | timeout 60 cat >out
    grep -q '^a step: ' out
    kill "$(<pid)"
  done
}

@test "an interrupted step leaves no process and no file" {
  local shell signal step ended
  for shell in dash bash; do
    for signal in INT TERM HUP; do
      # In its own process group, as on a terminal, and with the default SIGINT.
      perl -e 'setpgrp; $SIG{INT} = "DEFAULT"; exec @ARGV' "$shell" -euc "root=$project; . \"\$root/cmake/prepare.sh\"
        trap 'exit 129' HUP; trap 'exit 130' INT; trap 'exit 143' TERM; step 'a step' sleep 54321" >out 2>&1 3>&- &
      step=$!
      wait_until eval 'pgrep -g "$step" -fx "sleep 54321" >/dev/null'
      kill "-$signal" -- "-$step"
      ended=0
      wait "$step" || ended=$?
      assert_equal "$ended" "$((128 + $(kill -l "$signal")))"
      # The progress display sleeps for a second at most. No one may wait for an orphan that has ended.
      wait_until eval '! pgrep -g "$step" -r R,S,D,T >/dev/null'
      assert_equal "$(ls "$TMPDIR")" ''
    done
  done
}

@test "a user who may not install packages gets the command for an administrator" {
  ((EUID != 0)) || skip 'needs a user other than root'
  local shell with command
  mkdir bin
  for command in cat id sort tr; do ln -s "$(command -v "$command")" bin; done
  printf '#!/bin/sh\necho "Sorry, try again." >&2; exit 1\n' >sudo
  chmod +x sudo
  for shell in "$(command -v dash)" "$(command -v bash)"; do
    for with in without-sudo with-sudo; do
      if [[ $with == with-sudo ]]; then ln -sf "$PWD/sudo" bin; else rm -f bin/sudo; fi
      ln -sf /bin/true bin/apt-get
      PATH=$PWD/bin run -1 "$shell" -euc "root=$project; . $project/cmake/prepare.sh; needed() { echo 'build a no-such-command'; }; prepare build"
      assert_line '  apt-get update && apt-get install --no-install-recommends a'
    done
  done
}

@test "sudo asks for a password before the progress is shown" {
  ((EUID != 0)) || skip 'needs a user other than root'
  programs apt-get
  cat >"$BATS_TEST_TMPDIR/bin/sudo" <<'END'
#!/bin/sh
case $* in
  '-n true') exit 1 ;;
  -v) echo '[sudo] password' >&2 ;;
esac
END
  chmod +x "$BATS_TEST_TMPDIR/bin/sudo"
  run -0 sourced sh 'needed() { echo "build a no-such-command"; }; prepare build'
  assert_equal "${lines[0]}" '[sudo] password'
  assert_equal "${lines[1]}" 'installing a…'
}
