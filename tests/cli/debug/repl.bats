# needs: server
load ../../support/common

# What happens while commands are read from a pipe or a file: the script is edited, or Ctrl-C is pressed. repl.t has
# the commands.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  unset RLCTL_URL
}

@test "Ctrl-C stops a long-running script, and the next command is read, up to a last line without a newline" {
  local now
  printf 'local n = 0\nwhile true do\n  n = n + 1\nend\n' >endless.lua
  printf 'continue\nredis TIME\nprint n > 1000' >commands
  : >out
  # It is in the middle of `continue`: nothing before that takes this long.
  run ends_by INT '(($(work "$command_pid") >= 30))' bash -c \
    'exec rlctl -u private: debug -q endless.lua --commands commands >out 2>&1'
  assert_output 'exit 0'
  run -0 cat out
  assert_line --regexp '^\* endless.lua:[0-9], stopped$'
  assert_line '= true'
  # The clock of a script stands still, at the time of the beginning.
  now=$(sed -n 's/^|   redis> TIME      \["\(.*\)","[0-9]*"\]$/\1/p' out)
  ((now <= $(date +%s) && now > $(date +%s) - 180))
  nothing_is_left
}

# Prints commands, and edits files between them: a line that begins with ! is run by the shell, once the commands before
# it have been answered in the file `out`.
edited_session() {
  local line count=0
  : >out
  while IFS= read -r line; do
    if [[ $line == !* ]]; then
      # It is answered whether or not the script has ended.
      echo "maxlen $((1000 + ++count))"
      wait_until grep -q "^$((1000 + count)) bytes" out
      eval "${line#!}"
    else
      printf '%s\n' "$line"
    fi
  done
}

@test "restart runs the script as it was edited, on the original state; after an error in the edit, the session goes on" {
  local status=0
  printf 'local n = 1\nn = n + 1\nreturn redis.call("INCRBY", KEYS[1], n)\n' >my.lua
  edited_session <<'END' | rlctl -u private: debug -q my.lua k >out 2>&1 || status=$?
break 2
break 3
redis SET k 40
!printf 'local n = 7 for i = 1, 30 do redis.debug(i) end\nreturn redis.call("INCRBY", KEYS[1], n)\n' >my.lua
restart
continue
print n
!printf 'local n = 1\nlocal = 2\n' >my.lua
restart
print n + 10
!rm my.lua
restart
print n + 100
continue
END
  assert_equal "$status" 2
  run -0 cat out
  assert_equal "$(grep -c 'has changed' out)" 1
  assert_line 'breakpoint at 3 removed: nothing stops at this line now'
  assert_line '* my.lua:2, breakpoint'
  # Only the last 20 messages are shown.
  assert_line '|   10 messages before these'
  refute_line '|   debug> 10'
  assert_line '|   debug> 11'
  assert_line --regexp "^!   restart: does not compile, line 2: .*near '='"
  assert_line "!   restart: cannot read 'my.lua': no such file or directory"
  assert_equal "$(grep '^= [0-9]' out)" $'= 7\n= 17\n= 107\n= 7'
  nothing_is_left
}

@test "with --ldb, restart runs the script as it was edited, and keeps the breakpoints that it has lines for" {
  printf 'local n = 1\nn = n + 1\nreturn n\n' >my.lua
  edited_session <<'END' | rlctl debug -q --ldb my.lua k >out 2>&1
break 2
break 3
!printf 'local = 2\n' >my.lua
restart
!printf 'local n = 7\nreturn n\n' >my.lua
restart
break
continue
continue
!printf '#!lua flags=no-such\nreturn 8\n' >my.lua
restart
continue
END
  run -0 cat out
  assert_line --regexp "^= does not compile, line 1: .*near '='"
  assert_line 'my.lua has changed'
  assert_line 'breakpoint at 3 removed: nothing stops at this line now'
  assert_equal "$(grep -c '^breakpoint at 2' out)" 2
  assert_line '* my.lua:2, breakpoint'
  assert_line '= 7'
  assert_line '= 8'
  nothing_is_left
}
