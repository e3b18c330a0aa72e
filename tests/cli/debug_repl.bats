load ../support/common

# `rlctl debug` stepped by hand, from a pipe and from a file. A session is a file of commands in
# tests/cli/sessions and what is answered, in the file of that name that ends in .out.

setup() {
  sessions=$project/tests/cli/sessions
  cd "$BATS_TEST_TMPDIR" || return
  cp "$sessions"/*.lua .
  export TMPDIR=$BATS_TEST_TMPDIR
  unset RLCTL_URL
}

debug() { rlctl -u private: debug -q "$@"; }

# No private server, and no folder of one, is left.
nothing_is_left() { ! compgen -G "$TMPDIR/rlctl*"; }

# session NAME SCRIPT WORD…: its answers are those of the file.
session() {
  local name=$1
  shift
  run -0 --separate-stderr debug "$@" --commands "$sessions/$name"
  # What a call replied while the script ran freely is known where it is stepped instead (Valkey 9).
  # shellcheck disable=SC2001
  output=$(sed 's/^\(|   redis> .*[^ ]\)      .*/\1/' <<<"$output")
  if [[ ${RLCTL_TEST_RECORD-} ]]; then printf '%s\n' "$output" >"$sessions/$name.out"; fi
  diff -u "$sessions/$name.out" - <<<"$output"
  assert_equal "$stderr" ''
  nothing_is_left
}

@test "every command has its answer" {
  session every-command functions.lua lim --args 5
}

@test "what is wrong with a command is its answer, and the session goes on" {
  session wrong loop.lua lim
}

@test "from a pipe it is the same as from a file" {
  run -0 bash -c 'rlctl -u private: debug -q loop.lua lim <"$1"' - "$sessions/wrong"
  diff -u "$sessions/wrong.out" - <<<"$output"
}

@test "there is no prompt and no colour in a pipe, nor an escape of a script's" {
  printf 'local a = "\\027[31m"\nreturn a\n' >odd.lua
  run -0 debug odd.lua <<<$'n\np a\nc'
  refute_output --partial $'\e'
  refute_output --partial 'debug>'
  assert_output --partial '= "\027[31m"'
}

@test "the end of the input ends the session with status 0, in the midst of a script" {
  run -0 debug loop.lua k <<<'step'
  assert_line --partial 'loop.lua:2'
  nothing_is_left
  run -0 debug loop.lua k </dev/null
  assert_line --partial 'loop.lua:1, at the beginning'
}

@test "a last line without a line end counts, and an empty one repeats" {
  run -0 debug loop.lua k < <(printf 'step\n\n')
  assert_line '* loop.lua:2'
  assert_line '* loop.lua:3'
}

@test "a script that returned is status 0, one that raised an error 5, also where quit is typed" {
  printf 'local t\nreturn t.x\n' >wrong.lua
  run -0 debug loop.lua k <<<'c'
  assert_line '= {6, 20}'
  run -5 debug wrong.lua <<<$'c\nquit'
  assert_line --regexp "^= error at line 2: .*attempt to index"
  run -0 debug wrong.lua <<<$'c\nrestart\nquit'
  run -0 debug wrong.lua <<<$'abort'
  assert_line --partial '= aborted at line 1'
}

@test "a script that does not compile is status 5, and no command is read" {
  echo 'local = 1' >broken.lua
  run -5 debug broken.lua <<<'step'
  assert_output --regexp '^= does not compile, line 1: '
}

@test "an evaluation without an end is cut off and said, status 1, and restart works again" {
  run -1 debug loop.lua k <<<$'n\neval while true do end\nstep'
  assert_line --partial 'no answer within 2s'
  assert_line '!   the script has ended; '"'restart' begins again"
  nothing_is_left
  run -0 debug loop.lua k <<<$'eval while true do end\nrestart\nc'
  assert_line '= {6, 20}'
  nothing_is_left
}

@test "restart begins from the same state, whatever was changed, and keeps the breakpoints" {
  start_server
  cli SET k 40 PX 100000
  cli RPUSH other a
  export RLCTL_URL=unix://$socket
  run -0 rlctl debug -q loop.lua k other <<<$'break 8\nc\nredis DEL other\nc\nrestart\ninfo keys\nc\nquit'
  assert_line --regexp "^  'k': string, \"40\" → \"43\", ttl (100|99)"
  assert_line "  'other': list, 1 element: \"a\", no ttl → removed"
  assert_line --regexp "^'k': string, \"40\", ttl (100|99)\.[0-9] s$"
  assert_line --regexp "^'other': list, \[\"a\"\], no ttl$"
  assert_equal "$(grep -c 'loop.lua:8, breakpoint' <<<"$output")" 2
  assert_equal "$(cli GET k)" 40
}

@test "Redis commands that fail are told, and those that are refused" {
  run -0 debug loop.lua k <<<$'redis SET s x\nredis INCR s\nredis NOSUCH\nredis GET\nc'
  assert_line '|   redis> SET s x      "+OK"'
  assert_line --partial 'not an integer'
  assert_equal "$(grep -c '^!' <<<"$output")" 3
}

@test "a bundled script is stepped through, with its limit" {
  run -0 debug gcra k --limit 5/60s <<<$'info keys\nc'
  assert_line "'k': no such key"
  assert_line '= {1, 4, 0, 12000000, 0, 0}'
  assert_line --regexp "^  'k': not there → string, (1|0\.[0-9]+) of 5 used"
}

@test "the requests of a log come first" {
  printf '%s\n' '1767225660.000000 k 1' '1767225661.000000 k 1' >two.log
  run -0 rlctl debug -q sliding-window-log --limit 5/60s --replay two.log --skip 1 <<<$'c\nrestart\nc'
  assert_equal "$(grep -c '^= {1, 3, 0, 60000000, 0, 0}$' <<<"$output")" 2
}

@test "with --attach nothing is kept, and code that might not end is refused" {
  start_server
  run -0 rlctl debug -q loop.lua k --attach <<<$'eval while true do end\neval 1 + 1\nc\nrestart\nc'
  assert_line --partial 'loops and functions are refused'
  assert_line '= 2'
  assert_equal "$(grep -c 'in a fork: nothing was kept' <<<"$output")" 2
  assert_equal "$(cli EXISTS k)" 0
  assert_equal "$(cli PING)" PONG
}

@test "options that say nothing here are refused" {
  run -2 debug loop.lua k --json
  assert_output --partial '--json says nothing where a script is stepped by hand'
  run -2 debug loop.lua k --max-steps 5
  assert_output --partial '--max-steps says nothing'
  run -2 debug loop.lua k --trace --commands x
  assert_output --partial '--commands is for stepping by hand'
  run -2 debug loop.lua k --commands nowhere
  assert_output --partial 'nowhere'
  run -2 debug loop.lua k --replay - --args '{now}' --limit 5/60s
  assert_output --partial 'from which the commands come'
}

@test "a signal ends it, and nothing is left" {
  local name
  mkfifo commands
  for name in INT TERM HUP; do
    run ends_by $name '[[ -s out ]]' bash -c \
      'exec rlctl -u private: debug -q loop.lua k --commands <(sleep 9) >out 2>&1'
    assert_output "signal $(kill -l $name)"
    nothing_is_left
    rm out
  done
}

@test "Ctrl-C stops a script that runs on and on, and what follows is read" {
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
  printf 'continue\nprint n > 1000\nquit\n' >commands
  : >out
  # It is in the midst of `continue` some time after its first words.
  run ends_by INT 'grep -q beginning out && sleep 0.7' bash -c \
    'exec rlctl -u private: debug -q endless.lua --commands commands >out 2>&1'
  assert_output 'exit 0'
  run -0 cat out
  assert_line --regexp '^\* endless.lua:[0-9], stopped$'
  assert_line '= true'
  nothing_is_left
}
