# needs: server
load ../support/common
load ../support/readme

# The limiters of examples/redis-documentation. rlctl starts a private server for each command.

setup() { cd "$project/examples/redis-documentation" || return; }

@test "the output in the README of examples/redis-documentation is correct" {
  readme_is_true README.md
}

@test "each script names the page that teaches it, and the README shows what it does" {
  local file
  for file in *.lua; do
    grep -q '^-- .*https://' "$file" || fail "$file names no page"
    grep -qF "[$file]($file)" README.md || fail "the README does not name $file"
  done
}

@test "the sliding log and the leaky bucket have no findings if they round the wait up" {
  local file
  for file in sliding-log leaky-bucket; do
    sed '/return {0/s/math\.floor/math.ceil/' $file.lua >"$BATS_TEST_TMPDIR/$file.lua"
  done
  cd "$BATS_TEST_TMPDIR"
  run -0 rlctl lint sliding-log.lua --limit 10/2s --args '{limit} {window_s} {id}' --allowed-when 'r[1] > 0' \
    --head 'retry_after r[2] ms'
  assert_line --index 0 --partial 'no findings'
  run -0 rlctl lint leaky-bucket.lua --limit 10/10s --args '{limit} 1' --allowed-when 'r[1] > 0' \
    --head 'retry_after r[2] ms'
  assert_line --index 0 --partial 'no findings'
}
