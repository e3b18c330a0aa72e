# needs: server
load ../../support/common

# --textfile where files, pipes and signals matter; textfile.t has what they say.

setup_file() { start_server; }
setup() {
  cli FLUSHALL
  file=$BATS_TEST_TMPDIR/check.prom
}
teardown() {
  if [[ ${batch_pid-} ]]; then kill -KILL "$batch_pid" 2>/dev/null || true; fi
}

# sample RESULT: the number of these answers in the file.
sample() { sed -n "s/^rlctl_check_requests_total{file=\"check.prom\",result=\"$1\"} //p" "$file"; }
has_counted() { [[ $(sample "$1") == "$2" ]]; }
is_new() { [[ $file -nt $BATS_TEST_TMPDIR/old ]]; }

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
  pause=0.3 wait_until has_counted denied 1
  # Written again without any news: a monitor sees by the file's time that the batch is alive.
  touch -d @0 "$file" "$BATS_TEST_TMPDIR/old"
  pause=0.3 wait_until is_new
  echo b >&7
  wait_until grep -q key=b "$BATS_TEST_TMPDIR/answers"
  kill -INT "$batch_pid"
  local status=0
  wait "$batch_pid" || status=$?
  exec 7>&-
  assert_equal "$status" 130
  assert_equal "$(sample allowed)" 3
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

@test "the file and the totals are complete although the answers cannot be written; a new file has the mode of the umask" {
  umask 027
  rlctl check -q --limit 1/60s a
  run -2 --separate-stderr bash -c "echo a | rlctl check --limit 1/60s --shadow --batch --textfile '$file' >/dev/full"
  assert_equal "$(sample would_deny) $(stat -c %a "$file")" '1 640'
  assert_regex "$stderr" '1 of 1 request would have been denied'
}
