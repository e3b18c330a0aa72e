# needs: server
load ../../support/common

# The metrics that `rlctl quota --textfile` writes; textfile.t has whole files. tests/faults/files.bats has folders and
# disks that cannot be written.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  file=$BATS_TEST_TMPDIR/api.prom
}

take() { rlctl check -q "$1" --limit 1000/1d --algorithm gcra --cost "$2"; }
# writes ARGUMENT…: sets $series to the lines of rlctl_used, without what is the same in all.
writes() {
  rlctl quota "$@" --textfile "$file" >/dev/null || (($? == 1))
  series=$(sed -n 's/^rlctl_used{file="api.prom",\(.*\)}/\1/p' "$file")
}
value_of() { sed -n "s/^$1{.*} //p" "$file"; }

# bats test_tags=night
@test "promtool accepts the file, and that of check --batch" {
  needs prometheus promtool
  take "it's \"a\" \\ key" 10
  rlctl quota "it's \"a\" \\ key" $'\xff\n' nobody --textfile "$file" --label-keys 3
  run -0 promtool check metrics <"$file"
  assert_output ''
  run -3 rlctl quota nobody -p 1 --textfile "$file"
  run -0 promtool check metrics <"$file"
  assert_output ''
  run -2 rlctl check --limit 1/60s -q --batch --textfile "$file" <<<$'a\na\nb\na\tx'
  run -0 promtool check metrics <"$file"
  assert_output ''
}

@test "sizes and times are those of inspect and of the clock; what is not known is not in the file" {
  take k 820
  writes k
  # 820 units of 86.4 s each, less what has passed.
  run -0 gojq -n "($(value_of rlctl_reset_seconds) | . > 60000 and . <= 70848),
    $(value_of rlctl_key_bytes) == $(rlctl inspect k --json | gojq .bytes),
    (now - $(value_of rlctl_last_success_timestamp_seconds) | . >= -1 and . < 3600)"
  assert_output $'true\ntrue\ntrue'
  cli HSET h a b
  cli ACL SETUSER monitor on nopass '~*' +@all -memory
  REDISCLI_AUTH=x run -1 rlctl quota k h nobody --user monitor --textfile "$file"
  assert_equal "$(value_of rlctl_up) $(value_of rlctl_unknown_limits) $(value_of rlctl_used | xargs) $(value_of rlctl_key_bytes)" '1 1 820 0 0'
}

@test "only the first KEYs have series of their own; the fullest of the others stands for them" {
  local gcra='algorithm="gcra",limit="1000/1d"'
  take a 10
  take b 30
  take c 20
  writes a b c
  assert_equal "$series" "$gcra 30"
  assert_equal "$(value_of rlctl_remaining) $(value_of rlctl_key_bytes)" "970 $(rlctl inspect a b c --json | gojq -s 'map(.bytes) | add')"
  writes a b c --label-keys 1
  assert_equal "$series" "$gcra,key=\"a\" 10"$'\n'"$gcra 30"
  writes a b c --label-keys 9
  assert_equal "$series" "$(printf "$gcra,key=\"%s\" %s\n" a 10 b 30 c 20)"
  # With --limit, the labels do not depend on the state of the key.
  writes nobody --limit 1000/1d
  assert_equal "$series" 'limit="1000/1d" 0'
  writes a --limit 1000/1d
  assert_equal "$series" 'limit="1000/1d" 10'
  # KEYs are counted, however many limits they have, and whether they exist; and are different however they are shown.
  local expected='limit="9/1d",key="{a}:86400s" 0
limit="99/7d",key="{a}:604800s" 0
limit="9/1d" 0
limit="99/7d" 0'
  writes a b --limit 9/1d,99/7d --label-keys 1
  assert_equal "$series" "$expected"
  rlctl check -q a --limit 9/1d,99/7d
  writes a b --limit 9/1d,99/7d --label-keys 1
  assert_equal "$series" "$(sed 1,2s/0$/1/ <<<"$expected")"
  rlctl check -q d --limit 9/1d,99/7d --algorithm gcra
  writes d nobody --label-keys 1
  assert_equal "$series" 'algorithm="gcra",limit="9/1d",key="{d}:86400s" 1
algorithm="gcra",limit="99/7d",key="{d}:604800s" 1'
  writes $'a\xff' 'a\xff' --limit 5/60s --label-keys 2
  assert_equal "$(sort -u <<<"$series" | wc -l)" 2
}

@test "when the server cannot be asked, the file keeps the time of the last success" {
  writes k
  local last options
  last=$(value_of rlctl_last_success_timestamp_seconds)
  for options in '-p 1' '-w x' '--policy nope'; do
    # shellcheck disable=SC2086 # split into words
    run -3 rlctl quota k $options --textfile "$file"
    assert_equal "$(value_of rlctl_up) $(value_of rlctl_last_success_timestamp_seconds)" "0 $last"
  done
}

@test "a folder that cannot be written is UNKNOWN, with the reason" {
  ((EUID != 0)) || skip 'needs a user other than root'
  mkdir -m 555 "$BATS_TEST_TMPDIR/locked"
  run -3 rlctl quota k --textfile "$BATS_TEST_TMPDIR/locked/api.prom"
  assert_line --index 0 --partial "UNKNOWN - --textfile: cannot write '$BATS_TEST_TMPDIR/locked/api.prom': its folder must be writable, since the file is replaced as a whole: permission denied"
}

@test "a run that is interrupted leaves the file as it was" {
  writes k
  cp "$file" "$BATS_TEST_TMPDIR/before"
  start_fake_server ''
  run -0 ends_by TERM 'sleeps $command_pid && test -s $socket.came' rlctl quota k --timeout 2m --textfile "$file"
  assert_output 'signal 15'
  cmp "$file" "$BATS_TEST_TMPDIR/before"
  assert_equal "$(find "$BATS_TEST_TMPDIR" -name '*.prom*')" "$file"
}
