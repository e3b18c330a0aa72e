# needs: server
load ../../support/common

# What `burst` accepts about a script, `debug` accepts: names, KEYS and ARGV around a comma, the reading of the reply,
# and the options of the commands that `burst` prints.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/rlctl.toml TMPDIR=$BATS_TEST_TMPDIR RLCTL_URL=private:
  cat >wait.lua <<'LUA'
local wait = redis.call('PTTL', KEYS[1])
if wait > 0 then return wait end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 0
LUA
  echo 'return table.concat(KEYS, "|") .. "#" .. table.concat(ARGV, "|")' >echo.lua
  cat >"$RLCTL_CONFIG" <<'END'
[script.wait]
file = "wait.lua"
keys = ["wait:{key}"]
args = "{now_ms} {window_ms}"
allowed = "zero"
retry_after = "r ms"

[script.echo]
file = "echo.lua"
keys = ["{key}", "b"]
args = ["{limit}", "two words"]
END
}

@test "a configured script is debugged with its keys and arguments" {
  run -0 rlctl debug -q echo ann --limit 5/60s --trace
  assert_line --partial '+ echo.lua:1'
  assert_line --partial '= "ann|b#5|two words"'
  run -0 rlctl debug -q echo ann --limit 5/60s --args "x {limit}" --trace
  assert_line --partial '= "ann|b#x|5"'
}

@test "a script that fails for lack of words gets a hint at them" {
  echo "return redis.call('SET', KEYS[1], ARGV[1])" >set.lua
  local comma="no ARGV was given: write ' , ' (a comma between spaces) before the arguments"
  run -5 --separate-stderr rlctl debug -q set.lua k 5 60 --trace
  assert_equal "$stderr" "rlctl: debug: $comma"
  run -5 --separate-stderr rlctl debug -q set.lua k 5 60 --coverage
  assert_equal "${stderr_lines[-1]}" "  hint: $comma"
  run -5 rlctl debug -q set.lua k 5 60 <<<continue
  assert_line --partial "$comma"
  run -5 --separate-stderr rlctl debug -q set.lua --trace , 5
  assert_equal "$stderr" 'rlctl: debug: no KEYS were given'
  # There are ARGV, or the script uses none.
  run -0 --separate-stderr rlctl debug -q set.lua k l --trace , 5
  assert_equal "$stderr" ''
  echo "return nil + 1" >none.lua
  run -5 --separate-stderr rlctl debug -q none.lua k l --trace
  assert_equal "$stderr" ''
}

@test "a KEY that ends in a comma gets a warning" {
  run -0 --separate-stderr rlctl debug echo.lua k, 5 --trace
  assert_equal "${stderr_lines[0]}" "rlctl: debug: warning: the comma of 'k,' is a part of this KEY; the comma before ARGV is a word of its own: 'k' ,"
  run -0 --separate-stderr rlctl debug echo.lua k, 5 --trace -q
  assert_equal "$stderr" ''
  run -0 --separate-stderr rlctl debug echo.lua k, , 5 --trace
  refute_regex "$stderr" 'comma'
}

@test "the words after a comma are ARGV, with placeholders" {
  run -0 rlctl debug -q echo.lua k l , '{limit}' 'two words' '' , --limit 5/60s --trace
  assert_line --partial '= "k|l#5|two words||,"'
  run -0 rlctl debug -q echo.lua , x --trace
  assert_line --partial '= "#x"'
  run -0 rlctl debug -q echo ann , x --trace
  assert_line --partial '= "ann|b#x"'
}

@test "a script on standard input is traced, and leaves no input for commands or a log" {
  run -0 rlctl debug -q - k , x --trace <echo.lua
  assert_line --partial '+ stdin:1'
  run -2 rlctl debug -q - k , x <echo.lua
  assert_line --partial 'standard input cannot hold both the script and the commands'
  echo c >commands
  run -0 rlctl debug -q - k , x --commands commands <echo.lua
  assert_line --partial '= "k#x"'
}

@test "--trace ends with how the reply reads, if anything says so" {
  echo 'return {0, 3, 12, -1}' >four.lua
  run -0 rlctl debug -q four.lua k --allowed-when 'r[1] == 1' --head 'remaining r[2]' --head 'retry_after r[3] s' --trace
  assert_line 'reads as denied, remaining 3, retry_after 12s'
  run -0 rlctl debug -q four.lua k --allowed-when 'r[1] == 1' --head 'remaining r[2]' --head 'retry_after r[3] s' --trace --json
  assert_line '{"event":"reading","allowed":false,"remaining":3,"retry_after_us":12000000,"reset_after_us":null,"delay_us":0,"error":null}'
  run -0 rlctl debug -q four.lua k --now 2026-01-01T00:00:00Z --allowed-when 'r[1] == 0' --head 'reset_after now_s - 1767225590 s' --trace
  assert_line 'reads as allowed, reset_after 10s'
  run -0 rlctl debug -q echo.lua k --trace
  refute_output --partial 'reads as'
  run -0 rlctl debug -q echo.lua k --allowed-when nonzero --trace
  assert_line --partial "--allowed-when: echo.lua replied 'k#', but 'nonzero' reads a number"
}

# debug_in FILE: the first command in the file, with debug in the place of burst.
debug_in() { sed -n '1s/^# rlctl burst /rlctl debug -q /p' "$1"; }

@test "the options of the command at the top of a schedule are those of debug" {
  local script=(wait.lua --keys '{key}' --keys "it's" --args '{now_ms} {window_ms}' --allowed-when zero
    --head 'retry_after r ms')
  run -0 rlctl adversary --tries 200 --limit 1/1s "${script[@]}" --write found.log -q
  run -0 bash -c "$(debug_in found.log) --trace"
  assert_line --partial '+ wait.lua:1'
  assert_line --partial 'reads as'
  run -0 rlctl adversary --tries 200 --limit 1/1s wait --write found.log -q
  run -0 bash -c "unset RLCTL_CONFIG; $(debug_in found.log) --trace"
  assert_line --partial 'reads as'
  run -0 rlctl adversary --tries 200 --limit 1/1s gcra --write found.log -q
  run -0 bash -c "$(debug_in found.log) --trace"
  assert_line --partial '+ gcra.lua:'
}

@test "{key} stands for a KEY of its own if none is given, but not on a named server" {
  run -0 --separate-stderr rlctl debug -q echo.lua --trace --args '{key}'
  assert_line --partial '= "ann#ann"'
  run -0 --separate-stderr rlctl debug -q echo.lua --keys own --trace --args '{key}'
  assert_line --partial '= "own#ann"'
  run -0 --separate-stderr rlctl debug -q echo --limit 5/60s --trace
  assert_line --partial '= "ann|b#5|two words"'
  run -2 --separate-stderr rlctl debug --ldb -q echo.lua --attach --args '{key}'
  assert_regex "$stderr" 'no KEY given.*rlctl debug echo.lua KEY'
}

@test "ARGV that a script uses but does not get is a warning before it runs" {
  echo 'return {ARGV[1], ARGV[3]}' >three.lua
  run -0 --separate-stderr rlctl debug three.lua k --args '1 2' --trace
  assert_equal "${stderr_lines[0]}" 'rlctl: debug: warning: the script uses ARGV[3], but #ARGV is 2; give all of them in '\
'one --args'
  run -0 --separate-stderr rlctl debug three.lua k --args '1 2 3' --trace
  refute_regex "$stderr" 'ARGV'
}
