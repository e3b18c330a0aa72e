# needs: server
load ../../support/common

setup_file() { start_server; }

# Two algorithms; at night, all.
@test "every algorithm allows exactly twelve of thirty concurrent requests on one key" {
  local algorithm options i number=0
  lines_of scripts ls "$project/lua"
  for algorithm in "${scripts[@]%.lua}"; do
    [[ $algorithm != concurrency ]] || continue
    number=$((number + 1))
    its_turn "$number" 4 || continue
    cli FLUSHALL
    cli SCRIPT FLUSH # each of the thirty may have to load it
    # The window is so long that none ends, and no unit returns, during the test.
    options=(--limit 12/1000d --algorithm "$algorithm")
    [[ $algorithm != leaky-bucket ]] || options+=(--burst 11)
    for i in {1..30}; do
      { rlctl check k -q "${options[@]}" && echo allowed || echo "status $?"; } >"$BATS_TEST_TMPDIR/$i" 3>&- 4>&- &
    done
    wait
    run -0 sort "$BATS_TEST_TMPDIR"/[1-9]*
    assert_equal "$algorithm $(uniq -c <<<"$output" | xargs)" "$algorithm 12 allowed 18 status 1"
  done
}
