# needs: server
load ../../support/common

# Programs of `rlctl burst --exec` under the real clock, and with --suggest.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  export TMPDIR=$BATS_TEST_TMPDIR
  sed '/^\$| = 1/a print qq({"hello":{"pipeline":4}}\\n);' "$project/tests/limiters/fixed-window.pl" >fixed.pl
}

@test "under the real clock, a program gets the real time of each request" {
  local before after
  cat >now.pl <<'PERL'
$| = 1;
while (<STDIN>) { print qq({"allowed":true,"remaining":$1}\n) if /"now_us":(\d+)/ }
PERL
  before=$(date +%s%6N)
  run -0 --separate-stderr as jsonl rlctl burst steady --rate 100/s --duration 300ms --clock real --exec 'perl now.pl' \
    --timeout 60s
  after=$(date +%s%6N)
  assert_equal "$(gojq -s "length, all(.remaining == .at_us and .at_us >= $before and .at_us <= $after)" <<<"$output")" \
    $'30\ntrue'
}

# bats test_tags=night
@test "the printed command repeats a run under the real clock" {
  run -0 --separate-stderr rlctl burst steady --rate 100/s --duration 300ms --limit 10/60s --clock real \
    --exec 'perl fixed.pl' --json --timeout 60s
  assert_equal "$(gojq -c '.runs[0] | [.sent, .allowed <= 20]' <<<"$output")" '[30,true]'
  run -0 --separate-stderr sh -c "$(gojq -r .command <<<"$output") --json --timeout 60s"
  assert_equal "$(gojq '.runs[0].sent' <<<"$output")" 30
}

# bats test_tags=night
@test "--suggest asks the program with one limit after another, as it asks the model of the same algorithm" {
  seq 1 2000 | awk '{ print 100 + int($1 / 10) " k" $1 % 7 }' >requests.log
  run -0 rlctl burst --replay requests.log --limit 2/10s --suggest 5% --exec 'perl fixed.pl' \
    fixed-window --model --json --timeout 60s
  assert_equal "$(gojq -c '.runs | map(.suggestion) | .[0] == .[1], (.[0].limit > 5)' <<<"$output")" $'true\ntrue'
}

# bats test_tags=night
@test "each program that --suggest has asked may end by itself" {
  # SIGTERM would come before the second line.
  cat >ends.sh <<'SH'
echo >>begun
while read -r line; do echo 1; done
sleep 0.1
echo >>ended
SH
  printf '%s k\n' 100 101 102 103 >requests.log
  run -0 rlctl burst --replay requests.log --limit 2/10s --suggest 5% --exec 'sh ends.sh' -q --timeout 60s
  (($(wc -l <begun) > 1))
  assert_equal "$(wc -l <ended)" "$(wc -l <begun)"
}
