# needs: server
load ../support/common

setup() {
  unset RLCTL_URL
  export TMPDIR=$BATS_TEST_TMPDIR/tmp
  mkdir "$TMPDIR"
  cd "$BATS_TEST_TMPDIR"
}

# copy_with COMMAND…: makes a copy of quickstart here that builds nothing and uses this script as rlctl.
copy_with() {
  mkdir -p cmake build/release/cli
  cp "$project/quickstart" .
  printf 'prepare() { :; }\nbuild() { :; }\n' >cmake/prepare.sh
  printf '#!/bin/sh\n%s\n' "$*" >build/release/cli/rlctl
  chmod +x build/release/cli/rlctl
}

# What a quickstart has left behind: its folder, its server.
left_behind() {
  find "$TMPDIR" -mindepth 1
  pgrep -af "redis-server.*$TMPDIR" || true
}

# By a link from a folder with a space, and with a minimal environment; docs.bats runs it as a reader does.
@test "quickstart shows five of seven allowed, the usage, a reset, then 2000 and 1000, and installs nothing" {
  mkdir bin 'a folder'
  ln -s "$project" 'a folder/a project'
  printf '#!/bin/sh\necho "apt-get $*" >>"%s/called"\nexit 1\n' "$BATS_TEST_TMPDIR" >bin/apt-get
  chmod +x bin/apt-get
  cd /
  local before
  before=$(stat -c '%i %Y' "$project/build/release/cli/rlctl")
  run -0 env -i PATH="$BATS_TEST_TMPDIR/bin:/usr/bin:/bin" HOME="$HOME" TMPDIR="$TMPDIR" \
    "$BATS_TEST_TMPDIR/a folder/a project/quickstart" </dev/null
  assert_equal "$(grep -c '^  allowed key=login:ann' <<<"$output")" 6 # the sixth after the reset
  assert_line --regexp '^  used       5 of 5 +next free in '
  assert_line '  removed key=login:ann algorithm=sliding-window-log'
  assert_equal "$(grep -c '^  denied key=login:ann' <<<"$output")" 2
  assert_line --regexp '^  fixed-window +2000 +2000 +0 '
  assert_line --regexp '^  sliding-window-log +2000 +1000 +1000 '
  assert_line --regexp '^   +1000 [├+].* limit$'
  assert_line --regexp '^ +1 +5/60s +20% .* login:ann$'
  refute_output --partial $'\e'
  # It was not rebuilt, and nothing was installed.
  assert_equal "$(stat -c '%i %Y' "$project/build/release/cli/rlctl")" "$before"
  assert [ ! -e "$BATS_TEST_TMPDIR/called" ]
  assert_equal "$(left_behind)" ''
}

@test "without apt-get, quickstart names the missing packages" {
  # A PATH with what it needs until then, and without apt-get and ninja.
  local command
  mkdir bin
  for command in cat dirname sort tr; do ln -s "$(command -v "$command")" bin; done
  PATH=$PWD/bin run -1 "$project/quickstart"
  assert_output --partial 'ninja-build'
  refute_output --partial 'libfmt-dev'
}

@test "quickstart prints colour on a terminal unless NO_COLOR is set" {
  needs_terminal
  copy_with exec "$RLCTL_BUILD/cli/rlctl" '"$@"'
  TERM=xterm run -0 script -qec ./quickstart /dev/null </dev/null
  assert_output --partial $'\e[32mallowed'
  # With this rlctl it fails at the seventh request, which is allowed.
  copy_with echo allowed
  TERM=xterm NO_COLOR=1 run -1 script -qec './quickstart 2>/dev/null' /dev/null </dev/null
  assert_output --partial '  allowed'
  refute_output --partial $'\e[3'
}

@test "an interrupted quickstart leaves no server and no folder" {
  copy_with exec sleep 30
  local signal quickstart ended
  for signal in INT TERM HUP; do
    rm -f out
    # In its own process group, as on a terminal, and with the default SIGINT.
    perl -e 'setpgrp; $SIG{INT} = "DEFAULT"; exec @ARGV' ./quickstart >out 2>&1 3>&- &
    quickstart=$!
    wait_until eval 'pgrep -g "$quickstart" -fx "sleep 30" >/dev/null'
    kill "-$signal" -- "-$quickstart"
    ended=0
    wait "$quickstart" || ended=$?
    assert_equal "$ended" "$((128 + $(kill -l "$signal")))"
    assert_equal "$(left_behind)" ''
  done
}

@test "a quickstart that is killed with kill -9 leaves no server" {
  copy_with exec sleep 60
  ./quickstart >out 2>&1 3>&- &
  local quickstart=$!
  wait_until grep -q 'rlctl check' out
  { kill -KILL "$quickstart" && wait "$quickstart"; } 2>/dev/null || true
  wait_until eval '! pgrep -f "redis-server.*$TMPDIR" >/dev/null'
}

@test "quickstart fails with a message if a command fails or does not show what it should" {
  local allowed used reset burst message
  while IFS='|' read -r allowed used reset burst message; do
    copy_with "case \$* in
        inspect*) echo 'used       $used of 5 '; exit ;;
        reset*) echo 0 >n; echo removed; exit $reset ;;
        burst*) $burst; exit ;;
      esac
      n=\$(cat n 2>/dev/null || echo 0); echo \$((n + 1)) >n
      if [ \$n -lt $allowed ]; then echo allowed; else echo denied; exit 1; fi"
    run -1 ./quickstart
    assert_line "quickstart: $message"
    assert_equal "$(left_behind)" ''
  done <<'END'
7|5|0|true|7 of 7 were allowed, not 5
5|4|0|true|rlctl inspect ended with status 0, or does not show 5 of 5
5|5|1|true|rlctl reset ended with status 1
5|5|0|exit 3|rlctl burst ended with status 3
5|5|0|printf "%s 2000 2000 0\\n" fixed-window sliding-window-log|sliding-window-log let 2000 pass, not 1000
END
}
