# needs: server
load ../../support/common

# Requests that the server counted, although the answer cannot be written. tests/faults/output.bats has every command,
# and output that is closed from the start.

setup_file() { start_server; }
setup() { cli FLUSHALL; }

# to_full ARGUMENT…: runs rlctl check with its output to a full disk.
to_full() {
  run -2 --separate-stderr bash -c 'rlctl check "$@" >/dev/full' - "$@"
}
full='rlctl: check: cannot write to standard output: no space left on device'

@test "if the answer cannot be written, the error says that the request was counted" {
  to_full k --limit 5/60s
  assert_equal "$stderr" "$full; the request was counted"
  to_full k --limit 5/60s --json
  assert_equal "$(gojq -r .error.message <<<"$stderr")" \
    'cannot write to standard output: no space left on device; the request was counted'
  to_full k --limit 5/60s --cost -1
  assert_equal "$stderr" "$full; the refund was counted"
  assert_equal "$(cli LLEN k)" 1
}

@test "a request that was not counted is not reported as counted" {
  local option
  for option in --cost=6 --peek --cost=0; do
    to_full k --limit 5/60s "$option"
    assert_equal "$stderr" "$full"
  done
  to_full k --limit 5/60s --on-error allow -u unix:///nowhere
  assert_equal "${stderr_lines[-1]}" "$full"
}

# reports_counted COUNT: the error names COUNT counted requests, some of which may be those in flight.
reports_counted() {
  local pattern='(; ([0-9]+) requests? (was|were) counted and may be missing from the output)?'
  pattern+='(; ([0-9]+) requests? in flight may have been counted)?$'
  [[ $stderr =~ $pattern ]]
  local least=${BASH_REMATCH[2]:-0} in_flight=${BASH_REMATCH[5]:-0}
  ((least <= $1 && $1 <= least + in_flight)) || fail "$1 were counted: $stderr"
}

@test "a batch reports how many requests were counted whose answers may be missing" {
  to_full --limit 5/60s --batch < <(echo a)
  assert_equal "$stderr" "$full; 1 request was counted and may be missing from the output"
  to_full --limit 1000000/1h --batch < <(yes c | head -n 5000)
  reports_counted "$(cli LLEN c)"
  to_full --limit 5/60s --batch --peek < <(seq 9)
  assert_equal "$stderr" "$full"
  rlctl check -q denied --limit 1/1h
  to_full --limit 1/1h --batch < <(echo denied)
  assert_equal "$stderr" "$full"
}

@test "a closed pipe is reported likewise if SIGPIPE is ignored" {
  without_reader 'rlctl check k --limit 1000/60s'
  assert_equal "$stderr" 'rlctl: check: standard output is closed; the request was counted
status 2'
  without_reader 'seq 3 | rlctl check --limit 1000/60s --batch'
  stderr=${stderr_lines[0]}
  assert_regex "$stderr" '^rlctl: check: standard output is closed; '
  reports_counted "$(cli EVAL 'return #redis.call("KEYS", "[123]")' 0)"
}
