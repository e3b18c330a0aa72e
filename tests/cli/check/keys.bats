load ../../support/common

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# keeps KEY SHOWN: KEY is stored in Redis byte for byte and printed as SHOWN.
keeps() {
  run -0 rlctl check --limit 5/60s -- "$1"
  assert_output "allowed key=$2 limit=5/60s remaining=4 reset=60.000s"
  assert_equal "$(cli DBSIZE)" 1
  assert_equal "$(cli EXISTS "$1")" 1
  assert_equal "$(cli LLEN "$1")" 1
}

@test "a plain key is the Redis key itself" {
  keeps login:alice login:alice
}

@test "a key may contain spaces" {
  keeps ' a b  c ' '\x20a\x20b\x20\x20c\x20'
}

@test "a key may contain newlines, tabs and carriage returns" {
  keeps $'a\nb\tc\rd\n' 'a\nb\tc\rd\n'
}

@test "a key may contain control bytes" {
  keeps $'\x01\e[31m\x7f' '\x01\x1b[31m\x7f'
}

@test "a key with backslashes cannot be mistaken for an escaped one" {
  keeps 'a\nb\x20' 'a\\nb\\x20'
}

@test "a key in UTF-8 is printed as it is" {
  keeps '日本é€😀' '日本é€😀'
}

@test "C1 control characters in a key are escaped" {
  keeps $'a\xc2\x9bb' 'a\xc2\x9bb'
}

@test "a key that is not UTF-8 is kept byte by byte" {
  keeps $'\xff\xfe\xc3(\xed\xa0\x80' '\xff\xfe\xc3(\xed\xa0\x80'
}

@test "a key may contain quotes, glob characters and shell characters" {
  keeps '"'\''`$(x)*?[a]=;&' '"'\''`$(x)*?[a]=;&'
}

@test "a key may be 10 KB long" {
  local key
  key=$(printf 'k%.0s' {1..10240})
  keeps "$key" "$key"
}

@test "a key with a leading dash is given after --" {
  keeps -5 -5
  run -1 rlctl check --limit 5/60s --cost 5 -- -5
  cli FLUSHALL
  keeps --limit --limit
}

@test "a single dash is a key" {
  run -0 rlctl check - --limit 5/60s
  assert_equal "$(cli EXISTS -)" 1
}

@test "the key -- is given after --" {
  keeps -- --
}

@test "a key may be named like a command and may precede the options" {
  run -0 rlctl check check --limit 5/60s
  run -0 rlctl check help --limit 5/60s
  run -0 rlctl check --limit 5/60s -s "$socket" ++
  assert_equal "$(cli EXISTS check help ++)" 3
}

@test "a key with a hash tag is used unchanged with one limit" {
  keeps 'login:{ann}' 'login:{ann}'
}

@test "several limits have several keys in one slot" {
  run -0 rlctl check login:ann --limit 5/s --limit 9/1m --limit 99/1500ms --limit 99/7us --now 5
  run -0 sort <(cli KEYS '*')
  assert_output $'{login:ann}:1500ms\n{login:ann}:1s\n{login:ann}:60s\n{login:ann}:7us'
}

@test "several limits keep a key's own hash tag" {
  run -0 rlctl check 'login:{ann}:x' --limit 5/s --limit 9/h
  run -0 sort <(cli KEYS '*')
  assert_output $'login:{ann}:x:1s\nlogin:{ann}:x:3600s'
}

@test "every key that a command line can hold is the same in a batch" {
  local key
  for key in ' a b ' $'\x01\e' '日本' $'\xff' -5 'a\nb'; do
    printf '%s\n' "$key"
  done >"$BATS_TEST_TMPDIR/keys"
  run -0 rlctl check --limit 5/60s --batch "$BATS_TEST_TMPDIR/keys"
  assert_equal "${#lines[@]}" 6
  while IFS= read -r key; do
    assert_equal "$(cli EXISTS "$key")" 1
    run -0 rlctl check --limit 5/60s --peek -- "$key"
    assert_output --partial remaining=4
  done <"$BATS_TEST_TMPDIR/keys"
  assert_equal "$(cli DBSIZE)" 6
}
