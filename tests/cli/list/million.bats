# needs: server
load ../../support/common

# Many keys, a million of them in the nightly tests, which come and go while they are listed.

algorithms=(fixed-window gcra leaky-bucket sliding-window-counter sliding-window-log sliding-window-zset
  token-bucket)
few=20000
many=$(scaled 100000 1000000)

setup() { needs_plain_build; }

# fill KEYS: makes as many keys, a tenth of them of each algorithm, the others of three other kinds.
fill() {
  cli EVAL "for i = 2, ARGV[1] / 10 do
      for _, name in ipairs(KEYS) do
        redis.call('RESTORE', name .. ':' .. i, 86400000, redis.call('DUMP', name), 'REPLACE')
      end
      redis.call('SET', 'session:' .. i, 'the text of a session')
      redis.call('SADD', 'set:' .. i, 'a')
      redis.call('SET', 'hits:' .. i, i)
    end" "${#algorithms[@]}" "${algorithms[@]}" "$1" >/dev/null
}

setup_file() {
  start_server
  [[ $RLCTL_BUILD != */sanitize ]] || return 0
  local name
  for name in "${algorithms[@]}"; do rlctl check -q "$name" --limit 5/1d --algorithm "$name"; done
  fill "$few"
  for name in --totals --all '--top 20'; do
    # shellcheck disable=SC2086 # split into words
    most_memory "$BATS_FILE_TMPDIR/listed" rlctl list --json $name >"$BATS_FILE_TMPDIR/memory ${name% *}"
  done
  fill "$many"
}

# most_memory FILE COMMAND…: the command's output goes to the file; prints the most memory that it had, in kB.
most_memory() {
  perl -e 'require "syscall.ph";
    my $file = shift;
    open my $printed, ">&", STDOUT;
    open STDOUT, ">", $file or die "$file: $!";
    system @ARGV and die "status $?";
    my $usage = "\0" x 1024;
    syscall(SYS_getrusage(), -1, $usage) == 0 or die $!;
    print $printed +(unpack "q5", $usage)[4], "\n"' "$@"
}

# grows_by BYTES OPTION…: for each key more, `rlctl list` takes no more memory than this. The keys are in the file
# listed.
grows_by() {
  local most bytes
  most=$(most_memory "$BATS_TEST_TMPDIR/listed" rlctl list --json "${@:2}")
  bytes=$(((most - $(<"$BATS_FILE_TMPDIR/memory $2")) * 1024 / (many - few)))
  ((bytes <= $1)) || fail "$bytes bytes a key: $most kB for $many"
}

@test "many keys are counted by algorithm, in less than 64 bytes each" {
  grows_by 64 --totals
  assert_equal "$(gojq -r '[.algorithm, .keys, .no_ttl] | join(" ")' "$BATS_TEST_TMPDIR/listed" | sort)" \
    "$(printf "%s $((many / 10)) 0\n" "${algorithms[@]}")"
}

# bats test_tags=night
@test "each key that stays is listed once while others come and go, in less than 64 bytes each" {
  # The table grows. In small steps, since each answer to the listing may have to wait for one.
  redis-cli -s "$socket" -r -1 -i 0.01 EVAL "local number = redis.call('INCR', 'number') - 1
    local steps = $many / 2500
    for i = 1, 1000 do
      local key = 'new:' .. number % steps .. ':' .. i
      if number % (2 * steps) < steps then redis.call('SET', key, 'x') else redis.call('DEL', key) end
    end" 0 >/dev/null 2>&1 3>&- &
  grows_by 64 --all
  kill $!
  wait $! || true
  gojq -r 'select(.library == "rlctl").key' "$BATS_TEST_TMPDIR/listed" | sort >"$BATS_TEST_TMPDIR/keys"
  assert_equal "$(wc -l <"$BATS_TEST_TMPDIR/keys")" $((many * 7 / 10))
  assert_equal "$(uniq -d "$BATS_TEST_TMPDIR/keys")" ''
}

@test "the top of many keys takes little memory" {
  rlctl check -q fullest --limit 5/1d --cost 5 --algorithm gcra
  rlctl check -q second --limit 5/1d --cost 4 --algorithm gcra
  grows_by 16 --top 20
  assert_equal "$(gojq -rs 'map(.key)[:2] + [length] | join(" ")' "$BATS_TEST_TMPDIR/listed")" 'fullest second 20'
}

# bats test_tags=night
@test "healthy keys of all algorithms under traffic have no findings" {
  cli FLUSHALL >/dev/null
  local name keys
  keys=$(scaled 3000 15000)
  for name in "${algorithms[@]}"; do
    seq -f "$name:%.0f" "$keys" | rlctl check --batch -q --limit 5/1d --algorithm "$name"
  done
  (
    while for name in "${algorithms[@]}"; do
      seq -f "$name:%.0f" 1000 | rlctl check --batch -q --limit 5/1d --algorithm "$name" || (($? == 1))
    done; do :; done >/dev/null 2>&1
  ) 3>&- &
  run rlctl audit
  kill $! 2>/dev/null
  wait $! || true
  assert_success
  assert_output --regexp '^no findings in [0-9]+ limiter keys; TTL not checked for [0-9]+ keys: no policy defines their window$'
}
