# needs: server
load ../../support/common

# `rlctl debug --print-command` and `--redis-cli` run the classic debugger with the same script, keys and
# arguments. print_command.t has what is printed.

# continued COMMAND…: runs COMMAND's debugging session with the command to continue. Without a terminal,
# redis-cli may die of SIGPIPE when the session ends. Dumb terminals get no colours.
continued() {
  TERM=dumb run bash -c "$* <<<continue"
  ((status == 0 || status == 141)) || fail "status $status: $output"
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  echo "return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')" >echo.lua
}

@test "the printed command runs as it is" {
  start_server
  run -0 --separate-stderr rlctl debug --args "x 'y z' \"\" ," --print-command -- echo.lua "k '1" -n
  assert_equal "$output" "redis-cli -s $socket --ldb --eval echo.lua 'k '\\''1' -n , x 'y z' '' ,"
  assert_equal "$stderr" ''
  continued "$output"
  assert_output --partial "k '1|-n#x|y z||,"
}

@test "the printed command is one command in every shell, whatever the keys are" {
  local key shell
  mkdir stub
  printf '#!/bin/sh\necho called >>calls\n' >stub/redis-cli
  chmod +x stub/redis-cli
  for key in $'\n\';touch pwned #' $'\\\'\e;touch pwned;\'' $'\xff`touch pwned`'; do
    run -0 --separate-stderr rlctl -H h debug echo.lua "$key" --args x --print-command
    for shell in sh bash dash zsh; do
      rm -f calls
      PATH=$PWD/stub:$PATH "$shell" -c "$output"
      assert_equal "$(<calls)" called
      [[ ! -e pwned ]] || fail "$shell: $output"
    done
  done
}

@test "a bundled script is written where only the user can read it, and the file is named" {
  run -0 --separate-stderr rlctl -s /s debug fixed-window k --limit 5/60s --now 1767225660000000 --print-command
  assert_regex "$output" "^redis-cli -s /s --ldb --eval ($TMPDIR/rlctl-script-[A-Za-z0-9]{6}/fixed-window.lua) \
k , 5 60000000 '' '' 1767225660000000$"
  local file=${BASH_REMATCH[1]}
  assert_equal "$stderr" "rlctl: debug: the script was written to $file; remove its folder when you are done"
  cmp "$file" "$project/lua/fixed-window.lua"
  assert_equal "$(stat -c %a "${file%/*}")" 700
}

@test "an installed script is used from its installed path" {
  mkdir -p prefix/bin prefix/share/rlctl/lua
  cp "$RLCTL_BUILD/cli/rlctl" prefix/bin/
  cp "$project/lua/gcra.lua" prefix/share/rlctl/lua/
  run -0 --separate-stderr prefix/bin/rlctl debug gcra k --limit 5/60s --print-command
  assert_output --partial " --eval $PWD/prefix/share/rlctl/lua/gcra.lua k , 5 60000000"
  assert_equal "$stderr" ''
  # Not a different file of that name.
  echo '-- mine' >>prefix/share/rlctl/lua/gcra.lua
  run -0 prefix/bin/rlctl debug gcra k --limit 5/60s --print-command
  assert_output --partial "$TMPDIR/rlctl-script-"
}

@test "--redis-cli starts redis-cli with the same command, passes the password, and leaves nothing behind" {
  start_server --requirepass secret
  continued rlctl -u "unix://:secret@$socket" debug fixed-window login:ann --limit 5/60s --redis-cli
  assert_line --partial '(integer) 4'
  assert_equal "$(REDISCLI_AUTH=secret cli DBSIZE)" 0
  nothing_is_left
}

@test "if redis-cli is not installed, its package is named and the status is 2" {
  local program
  program=$(command -v rlctl)
  PATH=/nowhere run -2 "$program" debug echo.lua k --redis-cli
  assert_line 'rlctl: debug: cannot run redis-cli: no such file or directory'
  assert_line --partial 'redis-tools'
}
