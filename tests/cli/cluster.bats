# needs: server
# Every command on a real Cluster, by the URL of the Cluster and by that of one node.

load ../support/common
load ../support/cluster

setup_file() { start_cluster 3; }

setup() {
  local node
  for node in 0 1 2; do node_cli "$node" FLUSHALL >/dev/null; done
  one_node=redis://127.0.0.1:${cluster_ports[1]}
}

# on_both FUNCTION: calls it with each form of URL, and without keys.
on_both() {
  local url
  for url in "redis+cluster://$cluster" "$one_node"; do
    setup
    RLCTL_URL=$url "$@"
  done
}

# Keys of all three nodes.
some_keys() { printf 'key:%s\n' {1..60}; }

@test "check counts each key at the node that has it, and peeks there" {
  counts_keys() {
    local key
    for key in key:{1..4}; do
      run -0 rlctl check "$key" --limit 2/60s
      assert_output --partial 'remaining=1'
      run -0 rlctl check "$key" --limit 2/60s --peek
      assert_output --partial 'remaining=1'
    done
    run -0 rlctl check key:1 --limit 2/60s
    run -1 rlctl check key:1 --limit 2/60s
    assert_equal "$(ccli EXISTS key:1)" 1
  }
  on_both counts_keys
}

@test "check --batch answers in the order of the lines, and loads scripts again that were flushed" {
  answers_in_order() {
    local node
    run -0 rlctl check --batch --limit 3/60s <<<"$(some_keys)"
    assert_equal "$(cut -d' ' -f1,2,4 <<<"$output")" "$(some_keys | sed 's/.*/allowed key=& remaining=2/')"
    for node in 0 1 2; do node_cli "$node" SCRIPT FLUSH; done
    run -0 rlctl check --batch --limit 3/60s --peek <<<"$(some_keys)"
    assert_equal "$(cut -d' ' -f1,2,4 <<<"$output")" "$(some_keys | sed 's/.*/allowed key=& remaining=2/')"
    # Each is counted once, although its node has the script again only at the second try.
    for node in 0 1 2; do node_cli "$node" SCRIPT FLUSH; done
    run -0 rlctl check --batch --limit 3/60s <<<"$(some_keys)"
    assert_equal "$(grep -c ' remaining=1 ' <<<"$output")" 60
  }
  on_both answers_in_order
}

@test "several limits of one key share a slot, also of keys with odd braces" {
  shares_slots() {
    local odd='a}b
x{}y
{tag}z
{{q}}
p{
{}
}'
    run -2 rlctl check --batch --limit 2/1s --limit 5/1h <<<"$(some_keys)"$'\n'"$odd"
    echo "$output" >&2
    assert_equal "$(grep -c '^allowed ' <<<"$output")" $((60 + 6))
    assert_equal "$(grep -c '^error .*no hash tag' <<<"$output")" 1
    refute_output --partial CROSSSLOT
    refute_output --partial 'different slots'
    run -0 rlctl check --batch --limit 2/1s --limit 5/1h --peek <<<"$(some_keys)"
    assert_equal "$(grep -c '^allowed ' <<<"$output")" 60
  }
  on_both shares_slots
}

@test "reset removes single keys, and those that match of all masters" {
  resets() {
    rlctl check --batch --limit 3/60s -q <<<"$(some_keys; echo other)"
    run -0 rlctl reset key:1 key:2 key:3 other
    assert_equal "$(ccli EXISTS key:1)$(ccli EXISTS key:2)$(ccli EXISTS other)" 000
    run -0 rlctl reset --match 'key:*' --dry-run
    assert_output --partial 57
    run -0 rlctl reset --match 'key:*' --yes --json
    assert_output --partial 57
    local node left=0
    for node in 0 1 2; do left=$((left + $(node_cli "$node" DBSIZE))); done
    assert_equal "$left" 0
  }
  on_both resets
}

@test "quota and inspect look at keys of several nodes" {
  looks() {
    rlctl check --batch --limit 4/60s -q <<<"$(some_keys)"
    run rlctl quota key:1 key:2 key:3 key:4 --limit 4/60s -w 20%
    assert_equal "$status" 1
    assert_equal "$(grep -o '1 of 4\|25%' <<<"$output" | sort -u | wc -l)" 2
    run -0 rlctl inspect key:{1..4} --limit 4/60s
    assert_equal "$(grep -c '1 of 4' <<<"$output")" 4
  }
  on_both looks
}

@test "check --wait waits for its turn" {
  waits() {
    for _ in 1 2; do
      run -0 rlctl check key:1 --limit 1/100ms --wait
      run -0 rlctl check key:3 --limit 1/100ms --wait
    done
  }
  on_both waits
}

@test "run takes a lease and gives it back" {
  runs() {
    local key
    # On two nodes, neither of which is the one that a URL names.
    for key in key:3 key:4; do
      run -0 rlctl run "$key" --concurrency 1 -- echo "ran $key"
      assert_output --partial "ran $key"
      run -0 rlctl run "$key" --concurrency 1 --limit 9/1h -- echo again
      assert_output --partial again
    done
  }
  on_both runs
}

@test "burst under the real clock gets all answers, and leaves no key" {
  bursts() {
    local node
    run -0 --separate-stderr rlctl burst steady -u "$RLCTL_URL" --clock real --limit 5/60s --keys 30 \
      --rate 2000/s --requests 200 --json
    assert_equal "$(gojq '.runs[0] | .allowed + .denied' <<<"$output")" 200
    for node in 0 1 2; do assert_equal "$(node_cli "$node" DBSIZE)" 0; done
  }
  on_both bursts
}

@test "debug copies the keys of several nodes" {
  copies() {
    echo "return {redis.call('INCR', KEYS[1]), redis.call('INCR', KEYS[2])}" >"$BATS_TEST_TMPDIR/two.lua"
    ccli SET key:1 10
    ccli SET key:3 20
    run -0 rlctl debug "$BATS_TEST_TMPDIR/two.lua" key:1 key:3 --trace
    assert_output --partial 'INCR key:1      11'
    assert_output --partial 'INCR key:3      21'
    run -0 rlctl debug --ldb -q "$BATS_TEST_TMPDIR/two.lua" key:1 key:3 <<<continue
    assert_output --partial '= {11, 21}'
  }
  on_both copies
}

@test "debug replays the script of a key on the node that has it" {
  debugs() {
    local key
    # On two nodes, neither of which is the one that a URL names.
    for key in key:3 key:4; do
      rlctl check "$key" --limit 5/60s -q
      run -0 rlctl debug sliding-window-log "$key" --limit 5/60s --trace
      assert_output --partial "redis> LLEN $key      1"
      assert_equal "$(ccli LLEN "$key")" 1
    done
  }
  on_both debugs
}

@test "a database other than 0 is refused with the reason" {
  run -5 rlctl -u "redis+cluster://$cluster/1" check k --limit 5/60s
  assert_output --partial 'SELECT'
  assert_output --partial 'only database 0'
}

@test "the Cluster's URL of a server that is none says so" {
  start_server --port 0
  local port
  on_free_port start_server
  run -2 rlctl -u "redis+cluster://127.0.0.1:$port" check k --limit 5/60s
  assert_output --partial 'is not a node of a Cluster'
  assert_output --partial "write redis://127.0.0.1:$port"
}

@test "no node that answers is status 3" {
  run -3 rlctl -u redis+cluster://127.0.0.1:1,127.0.0.1:2 check k --limit 5/60s
  assert_output --partial '127.0.0.1:'
}

@test "one node of the URL is enough" {
  run -0 rlctl -u "redis+cluster://127.0.0.1:1,127.0.0.1:${cluster_ports[2]}" check --batch --limit 2/60s \
    <<<"$(some_keys)"
  assert_equal "$(grep -c '^allowed ' <<<"$output")" 60
}

@test "debug --ldb --attach runs on the node that has the key" {
  attaches() {
    local key
    rlctl check -q --batch --limit 5/60s --algorithm gcra < <(printf 'key:%s\n' {1..3})
    for key in key:{1..3}; do
      run -0 rlctl debug --ldb gcra "$key" --limit 5/60s --attach <<<continue
    done
  }
  on_both attaches
}

@test "a password that is missing is asked for, whatever the URL" {
  local node hints
  for node in 0 1 2; do node_cli "$node" CONFIG SET requirepass secret >/dev/null; done
  hints=$(for url in "redis+cluster://$cluster" "$one_node"; do
    RLCTL_URL=$url expect_status 4 rlctl check k --limit 5/60s
    RLCTL_URL=$url rlctl check k --limit 5/60s 2>&1 | grep hint || true
  done)
  for node in 0 1 2; do node_cli "$node" --no-auth-warning -a secret CONFIG SET requirepass '' >/dev/null; done
  assert_equal "$(uniq <<<"$hints" | wc -l)" 1
  assert_regex "$hints" "no password was given for user 'default'"
}

@test "list finds the keys of all masters, each once" {
  lists_all() {
    some_keys | rlctl check --batch -q --limit 5/1h --algorithm gcra >/dev/null
    run -0 rlctl list --json --sort key
    assert_equal "$(gojq -r .key <<<"$output")" "$(some_keys | sort)"
    run -0 rlctl list 'key:1?' --top 3 --json
    assert_equal "${#lines[@]}" 3
  }
  on_both lists_all
}

@test "audit finds decisions whose keys are in different slots" {
  local window
  window=$(($(date +%s) / 86400))
  ccli SET "throttled:v1:sliding_window:ann:period:$window" 3 PX 259200000 >/dev/null
  RLCTL_URL=redis+cluster://$cluster run -1 rlctl audit --json
  assert_equal "$(gojq -c '[.finding, .severity, .key]' <<<"$output")" \
    "[\"two_slots\",\"warning\",\"throttled:v1:sliding_window:ann:period:$window\"]"
}

@test "too few open files end in an error, never in a crash" {
  local files
  for files in $(scaled '16 48 76 84 100' '16 24 32 48 64 72 76 80 84 88 92 100'); do
    run bash -c "ulimit -n $files
      rlctl --url $one_node --timeout 2s burst steady --clock real --rate 5000/s --keys 50 \
        --requests 500 --limit 5/60s"
    ((status < 128)) || fail "status $status with $files open files: $output"
  done
}

@test "a key of another library is read with the key beside it, which another node may have" {
  reads_both() {
    for key in laravel-cache-u{1..12}; do
      printf 'SET %s 3 EX 3600\nSET %s:timer %s EX 3600\n' "$key" "$key" $((EPOCHSECONDS + 3600))
    done | ccli >/dev/null
    run -0 rlctl quota --limit 5/1h laravel-cache-u{1..12}
    assert_equal "$(grep -c '^OK .* (3 of 5)' <<<"$output")" 12
    run -0 rlctl list --json
    assert_equal "$(grep -c '"library":"laravel"' <<<"$output") ${#lines[@]}" '12 12'
    run -0 rlctl inspect --json --limit 5/1h laravel-cache-u{1..12}
    assert_equal "$(grep '"used":3,' <<<"$output" | grep -c '"part_of":null')" 12
    run -0 rlctl inspect --json laravel-cache-u1:timer
    assert_output --partial '"part_of":"laravel-cache-u1"'
  }
  on_both reads_both
}
