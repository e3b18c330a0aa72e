# needs: server
load ../../support/common

# The metrics that `rlctl quota --textfile` writes.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  file=$BATS_TEST_TMPDIR/api.prom
}

take() { rlctl check -q "$1" --limit 1000/1d --algorithm "${3:-gcra}" --cost "$2"; }
# files: the metrics file and what is left of it.
files() { find "$BATS_TEST_TMPDIR" -name '*.prom*'; }
# value NAME [LABELS]: the value of a metric in the file.
value() { grep -F "$1{file=\"api.prom\"${2:-}} " "$file" | sed 's/.* //'; }

gcra=',algorithm="gcra",limit="1000/1d"'

@test "the file has the use of a limit in base units" {
  take k 820
  run -1 rlctl quota k --textfile "$file"
  assert_output --partial 'RATELIMIT WARNING'
  assert_equal "$(value rlctl_up)" 1
  assert_equal "$(value rlctl_limit "$gcra")" 1000
  assert_equal "$(value rlctl_used "$gcra")" 820
  assert_equal "$(value rlctl_used_ratio "$gcra")" 0.82
  assert_equal "$(value rlctl_remaining "$gcra")" 180
  # 820 units of 86.4 s each, less what has passed.
  run -0 gojq -n "$(value rlctl_reset_seconds "$gcra") | . > 60000 and . <= 70848"
  assert_output true
  run -0 gojq -n "$(value rlctl_key_bytes "$gcra") == $(rlctl inspect k --json | gojq .bytes)"
  assert_output true
  run -0 gojq -n "now - $(value rlctl_last_success_timestamp_seconds) | . >= -1 and . < 3600"
  assert_output true
}

@test "each metric has its help and its type once, and there are no times" {
  take a 10
  take b 20 fixed-window
  rlctl quota a b c --limit 1000/1d --label-keys 2 --textfile "$file"
  local kind
  for kind in HELP TYPE; do
    run -0 bash -c "sed -n 's/^# $kind \([a-z_]*\) .*/\1/p' '$file' | sort | uniq -d"
    assert_output ''
    assert_equal "$(sed -n "s/^# $kind \([a-z_]*\) .*/\1/p" "$file" | sort)" \
      "$(sed -n '/^#/!s/[{ ].*//p' "$file" | sort -u)"
  done
  run -1 grep -vE '^(# (HELP|TYPE) rlctl_[a-z_]+ .*|rlctl_[a-z_]+[{][^}]*[}] -?[0-9.e+]+)$' "$file"
}

# bats test_tags=night
@test "promtool accepts the file" {
  command -v promtool >/dev/null || skip "promtool is not installed (Debian's package prometheus)"
  take "it's \"a\" \\ key" 10
  rlctl quota "it's \"a\" \\ key" $'\xff\n' nobody --textfile "$file" --label-keys 3
  run -0 promtool check metrics <"$file"
  assert_output ''
  run -3 rlctl quota nobody -p 1 --textfile "$file"
  run -0 promtool check metrics <"$file"
  assert_output ''
}

@test "only the first keys have series of their own; the fullest of the others stands for them" {
  take a 10
  take b 30
  take c 20
  rlctl quota a b c --textfile "$file"
  run -1 grep -q key= "$file"
  assert_equal "$(value rlctl_used "$gcra")" 30
  assert_equal "$(value rlctl_remaining "$gcra")" 970
  local bytes
  bytes=$(rlctl inspect a b c --json | gojq -s 'map(.bytes) | add')
  assert_equal "$(value rlctl_key_bytes "$gcra")" "$bytes"
  rlctl quota a b c --textfile "$file" --label-keys 1
  assert_equal "$(value rlctl_used "$gcra,key=\"a\"")" 10
  assert_equal "$(value rlctl_used "$gcra")" 30
  rlctl quota a b c --textfile "$file" --label-keys 9
  assert_equal "$(grep -c '^rlctl_used{' "$file")" 3
  assert_equal "$(value rlctl_used "$gcra,key=\"b\"")" 30
}

@test "policies, algorithms and limits have series of their own" {
  printf 'timeout = "120s"\n[policy.api]\nkey = "api:%%s"\nalgorithm = "gcra"\nlimit = ["1000/1d", "9/7d"]\n' \
    >"$BATS_TEST_TMPDIR/config.toml"
  rlctl quota --policy api ann bob --config "$BATS_TEST_TMPDIR/config.toml" --textfile "$file"
  assert_equal "$(value rlctl_used ',policy="api",algorithm="gcra",limit="1000/1d"')" 0
  assert_equal "$(value rlctl_limit ',policy="api",algorithm="gcra",limit="9/7d"')" 9
  assert_equal "$(grep -c '^rlctl_used{' "$file")" 2
}

@test "when the server cannot be asked, the file says so and keeps the time of the last success" {
  rlctl quota k --textfile "$file"
  local last
  last=$(value rlctl_last_success_timestamp_seconds)
  run -3 rlctl quota k -p 1 --textfile "$file"
  assert_output --partial 'RATELIMIT UNKNOWN - cannot connect'
  assert_equal "$(value rlctl_up)" 0
  assert_equal "$(value rlctl_last_success_timestamp_seconds)" "$last"
  run -1 grep -q rlctl_used "$file"
  # Likewise if the configuration or a range is wrong, and again.
  run -3 rlctl quota k -w x --textfile "$file"
  run -3 rlctl quota --policy nope k --textfile "$file"
  assert_equal "$(value rlctl_up)" 0
  assert_equal "$(value rlctl_last_success_timestamp_seconds)" "$last"
  rm "$file"
  run -3 rlctl quota k -p 1 --textfile "$file"
  assert_equal "$(value rlctl_up)" 0
  run -1 grep -q rlctl_last_success "$file"
}

@test "a key that cannot be judged is counted, and leaves the others in the file" {
  take a 10
  cli HSET h a b >/dev/null
  rlctl quota -q a --textfile "$file"
  assert_equal "$(value rlctl_unknown_limits)" 0
  run -3 rlctl quota a h --textfile "$file"
  assert_equal "$(value rlctl_unknown_limits)" 1
  assert_equal "$(value rlctl_up)" 1
  assert_equal "$(value rlctl_used "$gcra")" 10
}

@test "a folder that cannot be written is UNKNOWN, and nothing is left behind" {
  run -3 rlctl quota k --textfile "$BATS_TEST_TMPDIR/nowhere/api.prom"
  assert_line --index 0 --partial "UNKNOWN - --textfile: cannot write '$BATS_TEST_TMPDIR/nowhere/api.prom': no such file"
  mkdir "$BATS_TEST_TMPDIR/api.prom"
  run -3 rlctl quota k --textfile "$BATS_TEST_TMPDIR/api.prom"
  assert_line --index 0 --partial 'UNKNOWN - --textfile: cannot write'
  if [[ $(id -u) != 0 ]]; then
    mkdir -m 555 "$BATS_TEST_TMPDIR/locked"
    run -3 rlctl quota k --textfile "$BATS_TEST_TMPDIR/locked/api.prom"
    assert_line --index 0 --partial \
      "cannot write '$BATS_TEST_TMPDIR/locked/api.prom': its folder must be writable, since the file is replaced as a whole: permission denied"
  fi
}

@test "the file is replaced as a whole: a reader never sees a part of it, and others can read it" {
  umask 022
  rlctl quota k --textfile "$file"
  assert_equal "$(stat -c %a "$file")" 644
  assert_equal "$(files)" "$file"
  # An open file keeps its old contents.
  exec 5<"$file"
  rlctl quota k --limit 7/60s --textfile "$file"
  run -1 grep -q 'limit="7/60s"' <&5
  exec 5<&-
  grep -q 'limit="7/60s"' "$file"
}

@test "a run that is interrupted leaves the file as it was" {
  rlctl quota k --textfile "$file"
  cp "$file" "$BATS_TEST_TMPDIR/before"
  start_fake_server ''
  run -0 ends_by TERM 'sleeps $command_pid && test -s $socket.came' rlctl quota k -t 120 --textfile "$file"
  assert_output 'signal 15'
  cmp "$file" "$BATS_TEST_TMPDIR/before"
  assert_equal "$(files)" "$file"
}

@test "--label-keys counts KEYs, whatever exists and however many limits they have" {
  rlctl quota a b --limit 9/1d,99/7d --label-keys 1 --textfile "$file"
  assert_equal "$(grep -c '^rlctl_used{.*key=' "$file")" 2
  assert_equal "$(grep -c '^rlctl_used{.*key="{a}:' "$file")" 2
  rlctl check -q a --limit 9/1d,99/7d
  rlctl quota a b --limit 9/1d,99/7d --label-keys 1 --textfile "$file"
  assert_equal "$(grep -c '^rlctl_used{.*key=' "$file")" 2
  rlctl check -q c --limit 9/1d,99/7d --algorithm gcra
  rlctl quota c b --label-keys 1 --textfile "$file"
  assert_equal "$(grep -c '^rlctl_used{.*key="{c}:' "$file")" 2
  run -1 grep -q 'key="b"' "$file"
}

@test "with --limit, the series do not depend on the state of the key" {
  local before option
  series() { grep '^rlctl_used{' "$file" | sed 's/ [^ ]*$//'; }
  for option in '' '--algorithm=gcra'; do
    cli FLUSHALL >/dev/null
    # shellcheck disable=SC2086 # no word, or one
    rlctl quota k --limit 1000/1d $option --textfile "$file"
    before=$(series)
    take k 10
    # shellcheck disable=SC2086
    rlctl quota k --limit 1000/1d $option --textfile "$file"
    assert_equal "$(series)" "$before"
  done
}

@test "a size that the server does not report is not in the file" {
  take a 10
  cli ACL SETUSER monitor on nopass '~*' +@all -memory >/dev/null
  REDISCLI_AUTH=x rlctl quota a --user monitor --textfile "$file"
  run -1 grep rlctl_key_bytes "$file"
  rlctl quota nobody --textfile "$file"
  grep -q '^rlctl_key_bytes{.*} 0$' "$file"
}

@test "different keys have different series, also if one looks like another that is escaped" {
  rlctl quota $'a\xff' 'a\xff' --limit 5/60s --label-keys 2 --textfile "$file"
  assert_equal "$(grep -c '^rlctl_used{' "$file")" 2
  assert_equal "$(grep '^rlctl_used{' "$file" | sort | uniq -d)" ''
}
