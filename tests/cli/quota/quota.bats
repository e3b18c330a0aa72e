# needs: server
load ../../support/common

# What `rlctl quota` does with many keys, slow servers and in the environment of cron; quota.t has what it reports.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

@test "a server that does not answer is UNKNOWN after the time of --timeout, and nothing goes to standard error" {
  start_fake_server ''
  run_with_timeout -3 --separate-stderr rlctl quota k --timeout 100ms
  assert_output "RATELIMIT UNKNOWN - no answer from unix://$socket within 100ms"
  assert_equal "$stderr" ''
}

@test "it works in the environment of cron: no TERM, no HOME, standard input closed" {
  run -0 --separate-stderr env -i PATH=/usr/bin:/bin "$RLCTL_BUILD/cli/rlctl" quota k -s "$socket" --timeout 2m <&-
  assert_output 'RATELIMIT OK - k does not exist | used=0;;;0 reset=0s'
  assert_equal "$stderr" ''
}

@test "a hundred keys are read in one round trip" {
  local before keys
  read -ra keys < <(echo k{0..99})
  rlctl check -q k7 --limit 1000/1000d --algorithm fixed-window
  rlctl check -q k8 --limit 1000/1000d
  reads() { cli INFO stats | sed -n 's/^total_reads_processed:\([0-9]*\).*/\1/p'; }
  # of KEY…: the reads of the server for these keys and its own report.
  of() {
    before=$(reads)
    rlctl quota "$@" --limit 1000/1000d >/dev/null
    echo $(($(reads) - before))
  }
  # The server reads 16 KiB at a time.
  (($(of "${keys[@]}") <= $(of k7) + 8))
}

@test "a budget that 500 reservations close is CRITICAL, and says why" {
  seq -f $'k\t1\tid%g' 499 | rlctl check -q --limit 1M/30d --hold 1d --batch
  run -0 rlctl quota k
  refute_output --partial reservations
  rlctl check -q k --limit 1M/30d --hold 1d --reserve 1 --id id500
  run -2 rlctl quota k
  assert_output --regexp '^RATELIMIT CRITICAL - k 0% used \(500 of 1000000\), resets in [0-9a-z]+; 500 reservations are held, and any other is denied \| used=500;'
  run -2 rlctl quota k --json
  assert_output --partial '"reason":"500 reservations are held"'
  rlctl settle k id7 1
  run -0 rlctl quota k
  refute_output --partial reservations
}
