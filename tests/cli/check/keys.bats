# needs: server
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

@test "a key may contain anything, and is printed so that it cannot end the line or control a terminal" {
  while IFS='|' read -r key shown; do
    printf -v key %b "$key"
    cli FLUSHALL
    keeps "$key" "$shown"
  done <<'END'
login:alice|login:alice
 a b  c |\x20a\x20b\x20\x20c\x20
a\nb\tc\rd\n|a\nb\tc\rd\n
\x01\e[31m\x7f|\x01\x1b[31m\x7f
a\\nb\\x20|a\\nb\\x20
日本é€😀|日本é€😀
a\xc2\x9bb|a\xc2\x9bb
\xff\xfe\xc3(\xed\xa0\x80|\xff\xfe\xc3(\xed\xa0\x80
"'`$(x)*?[a]=;&|"'`$(x)*?[a]=;&
-5|-5
--limit|--limit
--|--
login:{ann}|login:{ann}
END
}

@test "a key may be 10 KB long" {
  local key
  key=$(printf 'k%.0s' {1..10240})
  keeps "$key" "$key"
}

@test "several limits have several keys in one slot" {
  run -0 rlctl check login:ann --limit 5/s --limit 9/1m --limit 99/1500ms --limit 99/1007us --now 5
  run -0 sort <(cli KEYS '*')
  assert_output $'{login:ann}:1007us\n{login:ann}:1500ms\n{login:ann}:1s\n{login:ann}:60s'
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

# --- bytes that are not text --------------------------------------------------------------------------

# Prints a key for each byte that a line of a batch can hold, and one that contains all of them.
keys_of_all_bytes() {
  perl -e '@bytes = map chr, grep { $_ != 9 && $_ != 10 && $_ != 13 } 1 .. 255;
    print "$_\n" for map("k${_}k", @bytes), join("", @bytes)'
}

@test "JSON gives a key of any bytes whole, and inspect and reset read it" {
  local -r original='.key_base64 // (.key | @base64)'
  local keys command
  keys_of_all_bytes >"$BATS_TEST_TMPDIR/keys"
  keys=$(perl -MMIME::Base64 -lne 'print encode_base64($_, "")' "$BATS_TEST_TMPDIR/keys")

  run -0 rlctl check --batch --json --limit 5/60s <"$BATS_TEST_TMPDIR/keys"
  assert_equal "$(gojq -r "$original" <<<"$output")" "$keys"
  assert_equal "$(gojq -r ".limits[0] | $original" <<<"$output")" "$keys"
  assert_equal "$(cli DBSIZE)" 253
  for command in inspect reset; do
    run -0 rlctl "$command" --json --limit 5/60s - <"$BATS_TEST_TMPDIR/keys"
    assert_equal "$(gojq -r "$original" <<<"$output")" "$keys"
  done
  assert_equal "$(cli DBSIZE)" 0
}

@test "key_base64 is present only for a key that is not UTF-8" {
  run -0 rlctl check --json --limit 5/60s $'k\xff'
  assert_equal "$(gojq -c '[.key, .key_base64]' <<<"$output")" '["k\\xff","a/8="]'
  run -0 rlctl check --json --limit 5/60s 'k\xff'
  assert_equal "$(gojq -c '[.key, has("key_base64")]' <<<"$output")" '["k\\xff",false]'
}

@test "the key that denied is given in base64 too" {
  run -1 rlctl check --json --limit 1/60s --limit 9/s --cost 2 $'k\xff'
  assert_equal "$(gojq -r .denied_by_base64 <<<"$output" | base64 -d | od -An -tx1)" ' 7b 6b ff 7d 3a 36 30 73'
}

@test "burst and debug give keys in base64 too" {
  printf '%s k\xff\n' 1767225600 1767225601 >"$BATS_TEST_TMPDIR/log"
  run -0 rlctl burst --replay "$BATS_TEST_TMPDIR/log" --model --limit 1/60s --algorithm gcra --json
  assert_equal "$(gojq -c '.runs[0] | [.worst.key_base64, .top_denied[0].key_base64]' <<<"$output")" \
    '["a/8=","a/8="]'
  run -0 rlctl debug gcra $'k\xff' --limit 5/60s --trace --json -q
  assert_equal "$(gojq -r 'select(.event == "key").key_base64' <<<"$output")" 'a/8='
}

@test "an argument of a policy may have bytes that are not UTF-8" {
  printf 'timeout = "120s"\n[policy.p]\nkey = "p:%%s"\nlimit = "5/60s"\n' >"$BATS_TEST_TMPDIR/policies"
  run -0 rlctl check --config "$BATS_TEST_TMPDIR/policies" --policy p $'\xff'
  assert_output --partial 'key=p:\xff '
}
