# needs: server
load ../../support/common
load prompt

# `rlctl debug` controlled by hand at a terminal: keys, completion, history, Ctrl-C, and window sizes.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  cp "$project/tests/cli/sessions/loop.lua" .
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
  export TMPDIR=$BATS_TEST_TMPDIR XDG_STATE_HOME=$BATS_TEST_TMPDIR/state
  unset RLCTL_URL
  needs_terminal
}

# debug_in_terminal KEYS SCRIPT WORD…: at_terminal with 80 columns. The file `screen` has what it showed.
debug_in_terminal() {
  local keys=$1
  shift
  rm -f pid
  TERM=${term-xterm} at_terminal "wait_until test -s pid; $keys" "stty cols 80 rows 24; stty -g >before
    echo \$\$ >pid; rlctl -u private: debug -q $*; status=\$?; stty -g >after; exit \$status"
}

@test "lines are edited, recalled and completed" {
  run -0 debug_in_terminal 'type_at_prompt "stxp\002\be\r"
    type_at_prompt "\033[A\r"; type_at_prompt "p cou\t\r"; type_at_prompt "p t.\t[2]\r"
    type_at_prompt "b 8\r"; type_at_prompt "quit\r"' loop.lua k
  run -0 plain_screen
  assert_line --partial '* loop.lua:2'
  assert_line --partial '* loop.lua:3'
  assert_line '= 0'
  assert_line '= 20'
  assert_line --partial 'breakpoint at 8'
}

@test "the output is coloured unless NO_COLOR is set" {
  run -0 debug_in_terminal 'type_at_prompt "q\r"' loop.lua k
  grep -q $'\e\\[32m' screen
  NO_COLOR=1 run -0 debug_in_terminal 'type_at_prompt "q\r"' loop.lua k
  run -1 grep $'\e\\[32m' screen
}

@test "the history is kept between sessions, readable only by the user, without repeated lines" {
  run -0 debug_in_terminal 'type_at_prompt "p 1\r"; type_at_prompt "p 1\r"; type_at_prompt "q\r"' loop.lua k
  assert_equal "$(cat state/rlctl/history)" $'p 1\nq'
  assert_equal "$(stat -c %a state/rlctl/history)" 600
  assert_equal "$(stat -c %a state/rlctl)" 700
  run -0 debug_in_terminal 'type_at_prompt "\033[A\033[A\r"; until_shown 1 "= 1"; printf "q\r"' loop.lua k
  run -0 plain_screen
  assert_line '= 1'
  seq 2000 | sed 's/^/p /' >state/rlctl/history
  run -0 debug_in_terminal 'type_at_prompt "q\r"' loop.lua k
  assert_equal "$(head -n 1 state/rlctl/history) $(wc -l <state/rlctl/history)" 'p 1001 1001'
  assert_equal "$(stat -c %a state/rlctl/history)" 600
}

@test "Ctrl-C stops a running script, which can be continued" {
  run -0 debug_in_terminal 'type_at_prompt "c\r"; until_it_runs; printf "\003"; type_at_prompt "p n > 1\r"
    type_at_prompt "c\r"; until_it_runs; printf "\003"; type_at_prompt "q\r"' endless.lua
  run -0 plain_screen
  assert_equal "$(grep -c '^\* endless.lua:[0-9], stopped$' <<<"$output")" 2
  assert_line '= true'
  nothing_is_left
}

@test "Ctrl-C at the prompt clears the line; a second one ends the session by the signal" {
  run -130 debug_in_terminal 'type_at_prompt "abc\003"; type_at_prompt "p 7\r"; type_at_prompt "\003"
    type_at_prompt "\003"' loop.lua k
  run -0 plain_screen
  assert_line '= 7'
  refute_output --partial 'unknown command'
  assert_equal "$(grep -c "press Ctrl-C again, or type 'quit', to leave" <<<"$output")" 2
  nothing_is_left
}

@test "a third Ctrl-C ends the session if nothing has handled the first two" {
  # Nothing stops this call before its end, which is far away.
  run -130 debug_in_terminal 'type_at_prompt "eval string.find((\"a\"):rep(60), (\"a?\"):rep(60) .. (\"a\"):rep(60))\r"; until_it_runs 3
    for _ in 1 2 3; do
      printf "\003"
      wait_until eval "grep -q ^ShdPnd:.*0000$ /proc/$(debugger)/status"
      sleep 0.3
    done' loop.lua k
  nothing_is_left
}

@test "Ctrl-D ends the session with status 0, also after the end of the script" {
  run -0 debug_in_terminal 'type_at_prompt "\004"' loop.lua k
  run -0 debug_in_terminal 'type_at_prompt "c\r"; type_at_prompt "\004"' loop.lua k
  run -0 plain_screen
  assert_line '= {6, 20}'
  nothing_is_left
}

@test "Ctrl-Z suspends the session, and line editing works after fg" {
  # An interactive shell, which starts the session as a job.
  run -0 at_terminal '
    until_shown 1 "bash-"
    printf "rlctl -u private: debug -q loop.lua k\r"
    until_shown 1 "debug> "
    printf "p 2"
    until_shown 1 "debug> p 2"
    printf "\032"
    until_shown 1 Stopped
    printf "fg\r"
    until_shown 2 "debug> p 2"
    printf "\1773\r"
    until_shown 1 "= 3"
    printf "b \t"
    until_shown 1 "1  2  3  4  5  8"
    printf "5\r"
    until_shown 1 "breakpoint at 5"
    printf "q\r"
    until_shown 3 "bash-"
    printf "exit\r"' 'TERM=xterm bash --norc --noprofile -i'
  run -0 plain_screen
  assert_line '= 3'
  assert_line '1  2  3  4  5  8'
  assert_line --partial 'breakpoint at 5'
  nothing_is_left
}

@test "typed text is UTF-8 in any locale" {
  local locale
  for locale in C.UTF-8 C POSIX; do
    LC_ALL=$locale run -0 debug_in_terminal 'type_at_prompt "p \"\303\266\" == \"\\\\195\\\\182\"\r"; type_at_prompt "q\r"' loop.lua k
    run -0 plain_screen
    assert_line '= true'
  done
}

@test "a history that is not a regular file is left alone" {
  mkdir -p state/rlctl
  mkfifo state/rlctl/history
  run -0 debug_in_terminal 'type_at_prompt "q\r"' loop.lua k
  assert [ -p state/rlctl/history ]
}

@test "SIGTERM and quit restore the terminal" {
  run -143 debug_in_terminal 'type_at_prompt "ab"; until_shown 1 "debug> ab"; pkill -TERM -P "$(<pid)"' loop.lua k
  assert_equal "$(<after)" "$(<before)"
  nothing_is_left
  run -0 debug_in_terminal 'type_at_prompt "q\r"' loop.lua k
  assert_equal "$(<after)" "$(<before)"
}

@test "a typed line is kept when the window changes its size" {
  run -0 debug_in_terminal 'type_at_prompt "p 1111111111222222222233333333334444 - 1"; until_shown 1 "4444 - 1"
    shown=$(stat -c %s "$screen"); stty -F "$(readlink "/proc/$(debugger)/fd/0")" cols 30
    wait_until eval "((\$(stat -c %s \$screen) > $shown))"
    printf " + 2\r"; until_shown 1 "= 1.1111111112"; printf "q\r"' loop.lua k
  run -0 plain_screen
  assert_line '= 1.1111111112222222e+33'
}

@test "ten commands pasted at once are run as ten commands" {
  run -0 debug_in_terminal 'type_at_prompt "n\np\nn\nb 8\nc\np count\ninfo b\neval 1 + 1\nt\nq\n"' loop.lua k
  run -0 plain_screen
  assert_line '= 6'
  assert_line '= 2'
  assert_line --partial 'loop.lua:8  in top level'
  assert_equal "$(grep -c 'breakpoint at 8' <<<"$output")" 2
}

@test "a terminal without escape sequences gets a prompt and plain lines" {
  term=dumb run -0 debug_in_terminal 'type_at_prompt "step\r"; type_at_prompt "q\r"' loop.lua k
  run -1 grep $'\e' screen
  grep -qF '* loop.lua:2' screen
}
