# needs: server
load ../support/common
load ../support/readme

# The scripts of examples/shell.

setup_file() { start_server; }
setup() {
  cli FLUSHALL
  cp "$project"/examples/shell/* "$BATS_TEST_TMPDIR"
  cd "$BATS_TEST_TMPDIR" || return
  sed -i '1i timeout = "120s"' config.toml
  unset RLCTL_CONFIG
}

@test "the output in the README of examples/shell is correct" {
  readme_is_true README.md without_times
}

@test "login: attempts at the same time cannot all pass, and a client cannot try many users" {
  local n
  for n in {1..9}; do ./login ann "192.0.2.$n" <<<wrong 2>>out & done
  for n in $(jobs -p); do wait "$n" || (($? == 1)); done
  assert_equal "$(grep -c 'Wrong password' out)" 3
  assert_equal "$(grep -c 'Too many attempts' out)" 6
  rm out
  for n in {1..25}; do ./login "user$n" "2001:db8::$n" <<<wrong 2>>out || (($? == 1)); done
  assert_equal "$(grep -c 'Wrong password' out)" 20
}

@test "fetch says why it gives up" {
  sed -i 's|^limit = "20/s"|limit = "1/1d"|' config.toml
  cli FLUSHALL
  GET='echo' run -1 ./fetch www.example.com /1 /2
  assert_line --index 0 'https://www.example.com/1'
  assert_line --index 1 'fetch: www.example.com is too busy: /2 would wait for more than a minute'
}

@test "a right password is given back" {
  local n
  for n in {1..9}; do ./login ann 192.0.2.1 <<<'open sesame'; done
}

@test "login and fetch stop if rlctl fails, hello.cgi does not" {
  export RLCTL_URL=unix:///nowhere
  run -3 ./login ann 192.0.2.1 <<<'open sesame'
  assert_line --partial 'cannot connect to unix:///nowhere'
  assert_line 'Logging in is not possible now.'
  GET='echo' run -3 ./fetch www.example.com /1
  refute_output --partial https
  REMOTE_ADDR=192.0.2.1 run -0 --separate-stderr ./hello.cgi
  assert_output $'Status: 200 OK\nContent-Type: text/plain\n\nHello.'
  assert_regex "$stderr" 'cannot connect'
}

@test "fetch waits: many requests take as long as the limit says" {
  local start=$EPOCHREALTIME
  GET='echo' run -0 ./fetch www.example.com {1..9}
  assert_equal "${#lines[@]}" 9
  # The first goes at once, each of the others a twentieth of a second later.
  (((${EPOCHREALTIME/./} - ${start/./}) >= 400000))
}
