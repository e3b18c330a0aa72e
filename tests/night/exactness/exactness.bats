# needs: server
load ../../support/common

exactness() { "$project/tests/night/exactness/run" "$@"; }

setup() { unset RLCTL_TEST_SERVERS; }

# wrong_script ALGORITHM SED: $wrong is the algorithm's script with this change.
wrong_script() {
  wrong=$BATS_TEST_TMPDIR/$1.lua
  sed "$2" "$project/lua/$1.lua" >"$wrong"
  run -1 cmp -s "$project/lua/$1.lua" "$wrong"
}

@test "scripts and models agree, and the table has every algorithm" {
  run -0 exactness -n 4000 --seed "${RLCTL_TEST_SEED:-1}"
  for script in "$project"/lua/*.lua; do
    assert_line --regexp "^\|[^|]+\|[^|]+\| $(basename "$script" .lua) +\| +4000 \| +0 \| +[0-9]+ \|$"
  done
  assert_line '36000 decisions, 0 wrong'
}

# bats test_tags=night
@test "scripts and models agree about limits that alternate call by call" {
  run -0 exactness --alternate -n 2000 --seed "${RLCTL_TEST_SEED:-1}"
  assert_line '18000 decisions, 0 wrong'
}

# bats test_tags=night
@test "a wrong script is caught, and the calls that show it are printed" {
  wrong_script token-bucket 's/math.min(most, tokens - cost)/tokens - cost/'
  run -1 --separate-stderr exactness -n 5000 --seed 5 --algorithm token-bucket --script "$wrong"
  assert_output --regexp '\| +5000 \| +[1-9][0-9]* \|'
  assert_equal "${stderr_lines[0]#token-bucket on *: }" 'script and model differ:'
  # A refund into a bucket that is full is the shortest way to see it.
  [[ ${stderr_lines[1]} == *'redis-cli --eval lua/token-bucket.lua a , '*' -'* ]]
  [[ ${stderr_lines[2]} == '  model:  '* && ${stderr_lines[3]} == '  script: '* ]]

  # The printed command shows the same at once.
  local words
  read -ra words <<<"${stderr_lines[4]#To repeat it: tests/night/exactness/run }"
  words=("${words[@]/FILE/"$wrong"}")
  run -1 exactness "${words[@]}"
  assert_output --regexp '\| +1 \| +[0-9]+ \|'
}

# bats test_tags=night
@test "keys that expire too early are caught, by either clock" {
  wrong_script gcra 's/tonumber(now), 3600000000/tonumber(now), 0/'
  run -1 exactness -n 3000 --algorithm gcra --script "$wrong"
  assert_output --regexp 'at least 36[0-9]{5}'
  # Only calls by the server's clock notice this one.
  wrong_script fixed-window "s|if margin > 0 then ttl = ttl \* 1.25 end|if margin == 0 then ttl = ttl / 2 end|"
  run -1 exactness -n 20000 --algorithm fixed-window --script "$wrong"
  assert_output --partial "server's clock"
}

# bats test_tags=night
@test "keys that are kept too long are caught" {
  wrong_script leaky-bucket 's/ttl \* 1.25/ttl * 3/'
  run -1 exactness -n 3000 --algorithm leaky-bucket --script "$wrong"
  assert_output --partial 'at most'
}

# bats test_tags=night
@test "each server of a folder gets its rows, or only those that are named" {
  local name
  for name in one two; do
    mkdir -p "$BATS_TEST_TMPDIR/servers/$name"
    # A server is one by its name.
    ln -s "$(server_binary)" "$BATS_TEST_TMPDIR/servers/$name/redis-server"
    printf '#!/bin/sh\nexec "${0%%/*}/$@"\n' >"$BATS_TEST_TMPDIR/servers/$name/run"
    chmod +x "$BATS_TEST_TMPDIR/servers/$name/run"
  done
  run -0 exactness --servers "$BATS_TEST_TMPDIR/servers" -n 100 --algorithm gcra
  assert_line --regexp '^\| one .* 100 \|'
  assert_line --regexp '^\| two .* 100 \|'
  run -0 exactness --servers "$BATS_TEST_TMPDIR/servers" -n 100 --algorithm gcra two
  refute_line --partial '| one '
  run -2 exactness --servers "$BATS_TEST_TMPDIR/servers" three
  assert_output --partial "no server 'three'"
}

# bats test_tags=night
@test "Ctrl-C shows what was done and leaves nothing behind" {
  export out=$BATS_TEST_TMPDIR/out TMPDIR=$BATS_TEST_TMPDIR/tmp
  mkdir "$TMPDIR"
  run -0 ends_by INT 'grep -qs decisions/s "$out" && sleep 1' bash -c 'exec "$0" "$@" >"$out" 2>&1' \
    "$project/tests/night/exactness/run" -n 1000000000 --algorithm gcra
  assert_output 'signal 2'
  run -0 cat "$out"
  assert_line --regexp '^[0-9]+ decisions, 0 wrong$'
  assert_line --partial 'interrupted'
  run -0 ls "$TMPDIR"
  assert_output ''
}

# bats test_tags=night
@test "a wrong use is refused" {
  run -2 exactness -n 0
  run -2 exactness -n many
  run -2 exactness --algorithm nothing
  run -2 exactness --script "$project/lua/gcra.lua"
  assert_output --partial '--script requires'
  run -2 exactness --unknown
  run -2 exactness some-server
}
