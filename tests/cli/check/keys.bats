# needs: server
load ../../support/common

# Keys with bytes that are not text; keys.t has the others.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# Prints a key for each byte that a line of a batch can hold, and one that contains all of them.
keys_of_all_bytes() {
  perl -e '@bytes = map chr, grep { $_ != 9 && $_ != 10 && $_ != 13 } 1 .. 255;
    print "$_\n" for map("k${_}k", @bytes), join("", @bytes)'
}

@test "a key of any bytes is stored as it is, JSON gives it whole, and inspect, quota and reset read it" {
  local -r original='.key_base64 // (.key | @base64)'
  local keys command
  keys_of_all_bytes >"$BATS_TEST_TMPDIR/keys"
  keys=$(perl -MMIME::Base64 -lne 'print encode_base64($_, "")' "$BATS_TEST_TMPDIR/keys")

  run -0 rlctl check --batch --json --limit 5/60s <"$BATS_TEST_TMPDIR/keys"
  assert_equal "$(gojq -r "$original" <<<"$output")" "$keys"
  assert_equal "$(gojq -r ".limits[0] | $original" <<<"$output")" "$keys"
  assert_equal "$(xargs -d '\n' -a "$BATS_TEST_TMPDIR/keys" redis-cli -s "$socket" EXISTS) $(cli DBSIZE)" '253 253'
  run -0 rlctl check --limit 5/60s -- "$(tail -n 1 "$BATS_TEST_TMPDIR/keys")"
  assert_output --partial remaining=3
  run -0 rlctl quota --json --limit 5/60s - <"$BATS_TEST_TMPDIR/keys"
  assert_equal "$(gojq -r ".limits[] | $original" <<<"$output")" "$keys"
  for command in inspect reset; do
    run -0 rlctl "$command" --json --limit 5/60s - <"$BATS_TEST_TMPDIR/keys"
    assert_equal "$(gojq -r "$original" <<<"$output")" "$keys"
  done
  assert_equal "$(cli DBSIZE)" 0
}

@test "key_base64 is present only for a key that is not UTF-8, and the key that denied has it too" {
  run -1 rlctl check --json --limit 1/60s --limit 9/s --cost 2 $'k\xff'
  assert_output --partial '{"key":"k\\xff","key_base64":"a/8=",'
  # {k\xff}:60s
  assert_output --partial '"denied_by_base64":"e2v/fTo2MHM="'
  run -0 rlctl check --json --limit 5/60s 'k\xff'
  assert_output --partial '{"key":"k\\xff",'
  refute_output --partial key_base64
}

@test "burst and debug give keys in base64 too" {
  printf '%s k\xff\n' 1767225600 1767225601 >"$BATS_TEST_TMPDIR/log"
  run -0 rlctl burst --replay "$BATS_TEST_TMPDIR/log" --model --limit 1/60s gcra --json
  assert_equal "$(gojq -c '.runs[0] | [.worst.key_base64, .top_denied[0].key_base64]' <<<"$output")" \
    '["a/8=","a/8="]'
  run -0 rlctl debug gcra $'k\xff' --limit 5/60s --trace --json -q
  assert_equal "$(gojq -r 'select(.event == "key").key_base64' <<<"$output")" 'a/8='
}

@test "a name in --headers cannot end the line, and an argument of a policy may have any bytes" {
  cat >"$BATS_TEST_TMPDIR/config.toml" <<'END'
timeout = "120s"
[policy."a \"b\" \\ 100%\r\nü"]
key = "k:%s"
limit = ["5/1s", "9/60s"]
END
  policy() { rlctl check --now 1000000000 --config "$BATS_TEST_TMPDIR/config.toml" --policy $'a "b" \\ 100%\r\nü' "$@"; }
  run -0 policy ann --headers
  assert_output 'RateLimit-Policy: "a \"b\" \\ 100%25%0D%0A%C3%BC:1s";q=5;w=1, "a \"b\" \\ 100%25%0D%0A%C3%BC:60s";q=9;w=60
RateLimit: "a \"b\" \\ 100%25%0D%0A%C3%BC:1s";r=4;t=1, "a \"b\" \\ 100%25%0D%0A%C3%BC:60s";r=8;t=60'
  run -0 policy $'\xff'
  assert_output --partial 'key=k:\xff '
}
