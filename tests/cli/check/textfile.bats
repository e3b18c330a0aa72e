# needs: server
load ../../support/common

# --textfile and --top-denied: what a batch counts.

setup_file() { start_server; }
setup() {
  cli FLUSHALL
  file=$BATS_TEST_TMPDIR/check.prom
}
teardown() {
  if [[ ${batch_pid-} ]]; then kill -KILL "$batch_pid" 2>/dev/null || true; fi
}

batch() { rlctl check --limit 2/60s --now 1000000000 -q --batch "$@"; }

# sample LABELS: the value of this sample in the file.
sample() { sed -nE "s/^rlctl_check_[a-z_]*\{file=\"check.prom\",$1\} //p" "$file"; }

is_new() { [[ $file -nt $BATS_TEST_TMPDIR/old ]]; }

# has_counted RESULT NUMBER
has_counted() { [[ $(sample "result=\"$1\"") == "$2" ]]; }

count_answers() { expect_status 2 batch --textfile "$file" <<<$'a\na\na\nb\na\tx\na'; }

# One of the keys needs escapes.
count_top_denied() {
  expect_status 1 rlctl check --limit 1/60s -q --batch --textfile "$file" --top-denied 2 \
    <<<$'a\na\na\na\nb\nb\nb\nc\nc\nd "\\\xff\nd "\\\xff\nd "\\\xff\nd "\\\xff\nd "\\\xff'
}

@test "the file has the answers of the batch" {
  count_answers
  assert_equal "$(cat "$file")" '# HELP rlctl_check_requests_total Requests of a batch, by answer.
# TYPE rlctl_check_requests_total counter
rlctl_check_requests_total{file="check.prom",result="allowed"} 3
rlctl_check_requests_total{file="check.prom",result="denied"} 2
rlctl_check_requests_total{file="check.prom",result="error"} 1'
}

@test "with --top-denied the file has the keys denied most" {
  count_top_denied
  run -0 grep top_denied "$file"
  assert_output '# HELP rlctl_check_top_denied_total Denied requests of the keys that were denied most.
# TYPE rlctl_check_top_denied_total counter
rlctl_check_top_denied_total{file="check.prom",key="d \"\\\\\\xff"} 4
rlctl_check_top_denied_total{file="check.prom",key="a"} 3
# HELP rlctl_check_top_denied_error How much too high a count of rlctl_check_top_denied_total may be, at most.
# TYPE rlctl_check_top_denied_error gauge
rlctl_check_top_denied_error{file="check.prom"} 0'
}

# bats test_tags=night
@test "promtool accepts the file, with --top-denied and without" {
  command -v promtool >/dev/null || skip "promtool is not installed (Debian's package prometheus)"
  local count
  for count in count_answers count_top_denied; do
    "$count"
    run -0 promtool check metrics <"$file"
    assert_output ''
  done
}

@test "a policy is a label, and with --shadow denials have a name of their own" {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
  printf 'timeout = "120s"\n[policy.login]\nkey = "login:%%s"\nlimit = "1/60s"\n' >"$RLCTL_CONFIG"
  run -0 rlctl check -q --policy login --shadow --batch --textfile "$file" --top-denied 5 <<<$'ann\nann\nbob'
  assert_equal "$(sample 'policy="login",result="allowed"')" 2
  assert_equal "$(sample 'policy="login",result="denied"')" 0
  assert_equal "$(sample 'policy="login",result="would_deny"')" 1
  assert_equal "$(sample 'policy="login",key="login:ann"')" 1
}

@test "answers of --on-error count as errors" {
  run -1 batch --textfile "$file" --on-error deny -u unix:///nowhere <<<$'a\nb'
  assert_equal "$(sample 'result="error"')" 2
  assert_equal "$(sample 'result="denied"')" 0
}

@test "the file is there from the start, is written while the batch waits, and after Ctrl-C" {
  local pipe=$BATS_TEST_TMPDIR/keys
  mkfifo "$pipe"
  exec 7<>"$pipe"
  # Background jobs of a script ignore SIGINT.
  perl -e '$SIG{INT} = "DEFAULT"; exec @ARGV' rlctl check --limit 2/60s --batch "$pipe" \
    --textfile "$file" >"$BATS_TEST_TMPDIR/answers" 3>&- 4>&- 7>&- &
  batch_pid=$!
  wait_until has_counted allowed 0
  printf '%s\n' a a a >&7
  sleep 4
  wait_until has_counted denied 1
  # Written again without any news: a monitor sees by the file's time that the batch is alive.
  touch -d @0 "$file" "$BATS_TEST_TMPDIR/old"
  sleep 4 # It is written every few seconds.
  wait_until is_new
  echo b >&7
  wait_until grep -q key=b "$BATS_TEST_TMPDIR/answers"
  kill -INT "$batch_pid"
  local status=0
  wait "$batch_pid" || status=$?
  exec 7>&-
  assert_equal "$status" 130
  assert_equal "$(sample 'result="allowed"')" 3
  run -0 ls -A "$BATS_TEST_TMPDIR"
  refute_output --partial .rlctl-
}

@test "a file that can no longer be written is reported, and the batch goes on" {
  local folder=$BATS_TEST_TMPDIR/metrics
  mkdir "$folder"
  # The folder disappears once the batch has begun.
  run -2 --separate-stderr bash -c "{ until [[ -e $folder/check.prom ]]; do sleep 0.02; done
      rm -r $folder; echo a; } | rlctl check --limit 2/60s --batch --textfile $folder/check.prom"
  assert_output --partial 'allowed key=a '
  assert_equal "$stderr" "rlctl: check: --textfile: cannot write '$folder/check.prom': no such file or directory"
}

@test "--top-denied without --textfile prints the keys at the end" {
  run -1 --separate-stderr batch --top-denied 2 <<<$'a\na\na\na\nlong key\nlong key\nlong key\nc'
  assert_output ''
  assert_equal "$stderr" 'rlctl: check: 3 requests denied, most often those of:
  a            2
  long\x20key  1'
  run -0 --separate-stderr batch --top-denied 2 <<<d
  assert_equal "$stderr" 'rlctl: check: 0 requests denied'
  run -0 --separate-stderr batch --shadow --top-denied 2 <<<$'e\ne\ne'
  assert_equal "${stderr_lines[1]}" 'rlctl: check: 1 request would have been denied, most often those of:'
}

@test "the counts of --top-denied are bounded in memory, and say by how much they may be too high" {
  # 1000 counters: the 1001st key takes over the count of another.
  run -1 --separate-stderr bash -c "{ printf '%s\n' a a a a; seq 1000; seq 1000; seq 1000; } |
    rlctl check -q --limit 1/60s --batch --top-denied 2"
  assert_regex "${stderr_lines[0]}" \
    '^rlctl: check: 2003 requests denied, most often those of \(counts may be too high by up to [0-9]+\):$'
}

@test "the file and the totals are complete although the answers cannot be written" {
  run -2 --separate-stderr bash -c "printf '%s\\n' a a a | rlctl check --limit 2/60s --shadow --batch \
    --textfile '$file' >/dev/full"
  assert_equal "$(sample 'result="would_deny"')" 1
  assert_regex "$stderr" '1 of 3 requests would have been denied'
}

@test "a file that exists keeps its mode, and a new one has that of the umask" {
  umask 027
  run -0 batch --textfile "$file" <<<a
  assert_equal "$(stat -c %a "$file")" 640
  chmod 666 "$file"
  run -0 batch --textfile "$file" <<<a
  assert_equal "$(stat -c %a "$file")" 666
}
