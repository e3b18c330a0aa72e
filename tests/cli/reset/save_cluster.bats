# needs: server
load ../../support/common
load ../../support/cluster

# reset --save and --restore on a Cluster.

setup_file() { start_cluster 3; }
setup() { cd "$BATS_TEST_TMPDIR" || return; }

@test "keys of all masters are saved and restored" {
  local key keys=()
  for key in {1..60}; do
    keys+=("k$key")
    rlctl check -q "k$key" --limit 5/1d --algorithm gcra
  done
  run -0 rlctl reset --match 'k*' --yes --save s
  assert_equal "$(grep -c removed <<<"$output")" 61
  assert_equal "$(wc -l <s)" 61
  run -1 rlctl reset --must-exist --limit 5/1d "${keys[@]}"
  run -0 --separate-stderr rlctl reset --restore s
  assert_equal "$stderr" 'restored 60 keys'
  # Each has one request of five.
  run -0 rlctl check --batch --peek --limit 5/1d --algorithm gcra <<<"$(printf '%s\n' "${keys[@]}")"
  assert_equal "$(grep -c 'remaining=4 ' <<<"$output")" 60
  run -0 --separate-stderr rlctl reset --limit 5/1d "${keys[@]}" --save t
  run -0 rlctl reset --restore t
}
