# needs: server
load ../../support/common

# `rlctl debug --coverage` of a linked file, and of what is cut off; coverage.t has the rest.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR RLCTL_URL=private:
  printf '%s k 1\n' 1767225660.0 1767225661.0 1767225662.0 >three.log
}

@test "--lcov names the file by its real path, and writes to a file" {
  printf 'if KEYS[2] then\n  return 1\nend\n' >count.lua
  mkdir folder
  ln -s ../count.lua folder/link.lua
  run -1 rlctl debug folder/link.lua k --coverage --fail-under 100% --lcov out.info -q
  assert_line '2 of 3 lines reached (66.6 %)'
  assert_equal "$(head -n 2 out.info)" $'TN:\nSF:'"$(realpath count.lua)"
}

# bats test_tags=night
@test "an endless loop is cut off with status 1 and its coverage so far" {
  printf 'while not ARGV[1] do\n  local x = 1\nend\nreturn 1\n' >loop.lua
  run_with_timeout -1 rlctl debug loop.lua --coverage -q
  assert_line --regexp '^ +\*\*\*0  return 1$'
}

# bats test_tags=night
@test "a request that is cut off is reported, also after one that failed" {
  printf "if ARGV[1] == '1' then\n  error('first')\nend\nwhile true do\n  local x = 1\nend\n" >both.lua
  run_with_timeout -1 rlctl debug both.lua --args '{id}' --replay three.log --coverage -q
  assert_line --regexp '^rlctl: debug: both\.lua:2: .*first'
  assert_line --regexp '^rlctl: debug: both\.lua:[456]: cut off: '
}
