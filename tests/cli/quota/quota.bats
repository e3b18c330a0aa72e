load ../../support/common

# What `rlctl quota` reports of limits. The windows are so long that nothing leaves them during a test.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

limiters=(fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra
  leaky-bucket)

# take KEY ALGORITHM COST: takes COST units of 1000 a day.
take() { rlctl check -q "$1" --limit 1000/1d --algorithm "$2" --cost "$3"; }

# without_reset: replaces the times until a reset.
without_reset() { sed -E 's/resets in [0-9dhms]+/resets in TIME/g; s/(reset.?)=[0-9]+s/\1=TIME/g'; }

# performance: parses the performance data of the output as the guidelines define it, and prints one line
# for each value: LABEL VALUE UNIT WARNING CRITICAL MIN MAX, with - for what is missing.
performance() {
  perl -e '
    my ($line) = split /\n/, join "", <STDIN>;
    my ($text, @data) = split /\|/, $line, -1;
    die "more than one bar: $line" if @data > 1;
    my $data = $data[0] // "";
    my $number = qr/-?[0-9]+(?:\.[0-9]+)?/;
    my $range = qr/@?(?:(?:$number|~)?:)?$number?/;
    my %seen;
    while ($data =~ /\S/) {
      $data =~ s/^ (?:\x27((?:[^\x27=]|\x27\x27)*)\x27|([^ \x27=]+))=($number)(s|us|ms|%|B|c|)(?:;($range))?(?:;($range))?(?:;($number)?)?(?:;($number)?)?(?= |$)//
        or die "not performance data: $data";
      my ($label, @rest) = ($1 // $2, $3, $4, $5, $6, $7, $8);
      $label =~ s/\x27\x27/\x27/g;
      die "label twice: $label" if $seen{$label}++;
      print join(" ", map { defined && length ? $_ : "-" } $label, @rest), "\n";
    }'
}

@test "one line reports the use, the thresholds and the time until the reset" {
  take api:acme gcra 820
  run -1 --separate-stderr rlctl quota api:acme
  assert_equal "$(without_reset <<<"$output")" \
    'RATELIMIT WARNING - api:acme 82% used (820 of 1000), resets in TIME | used=820;800;950;0;1000 remaining=180;;;0;1000 reset=TIME'
  assert_equal "$stderr" ''
  run -0 performance <<<"$output"
  assert_line --index 0 'used 820 - 800 950 0 1000'
  assert_line --index 1 'remaining 180 - - - 0 1000'
  assert_line --index 2 --regexp '^reset [0-9]+ s - - - -$'
}

@test "of every algorithm, it reports what inspect reports" {
  local name
  for name in "${limiters[@]}"; do
    take "$name" "$name" 820
    run -1 rlctl quota "$name" --limit 1000/1d --algorithm "$name" --json
    assert_equal "$name $(jq -c '.limits[0] | [.algorithm, .limit, .window_us, .burst, .used, .remaining, .bytes]' \
      <<<"$output")" "$name $(rlctl inspect "$name" --limit 1000/1d --json |
        jq -c '[.algorithm, .limit, .window_us, .burst, .used, .remaining, .bytes]')"
    assert_equal "$(jq -c '[.status, .limits[0].status]' <<<"$output")" '["warning","warning"]'
    assert_equal "$(jq -c '.limits[0] | [.used, (.ratio * 100 | round)]' <<<"$output")" '[820,82]'
  done
}

@test "leases are compared with the limit that they store, or with the one that is given" {
  local id
  for id in a b c; do
    cli --eval "$project/lua/concurrency.lua" job , 4 86400000000 acquire "$id" >/dev/null
  done
  run -0 rlctl quota job
  assert_output --partial 'OK - job 75% used (3 of 4), resets in '
  run -2 rlctl quota job --limit 3/1s
  assert_output --partial 'CRITICAL - job 100% used (3 of 3), resets in '
}

@test "the limit is the one that is given, else the stored one, else that of a policy that matches" {
  local config=$BATS_TEST_TMPDIR/config.toml
  printf 'timeout = "120s"\n[policy.api]\nkey = "api:%%s"\nlimit = "10/1d"\n' >"$config"
  rlctl check -q api:log --limit 10/1d --cost 4
  rlctl check -q api:gcra --limit 20/1d --algorithm gcra --cost 4
  run -0 rlctl quota api:log --limit 8/1d
  assert_output --partial '50% used (4 of 8)'
  run -0 rlctl quota api:log --config "$config"
  assert_output --partial '40% used (4 of 10)'
  run -0 rlctl quota --policy api log --config "$config"
  assert_output --partial 'api:log 40% used (4 of 10)'
  run -0 rlctl quota api:gcra
  assert_output --partial '20% used (4 of 20)'
  run -0 rlctl quota api:gcra --limit 16/1d
  assert_output --partial '25% used (4 of 16)'
}

@test "a bucket is compared with its burst, a queue with its burst and the one that does not wait" {
  rlctl check -q b --limit 10/1d --algorithm token-bucket --burst 40 --cost 30
  rlctl check -q q --limit 10/1d --algorithm leaky-bucket --burst 4 --cost 3
  run -0 rlctl quota b
  assert_output --partial '75% used (30 of 40)'
  run -0 rlctl quota q
  assert_output --partial '60% used (3 of 5)'
}

@test "a key that does not exist is unused and OK" {
  run -0 rlctl quota nobody
  assert_output 'RATELIMIT OK - nobody unused | used=0;;;0 reset=0s'
  run -0 rlctl quota nobody --limit 5/60s
  assert_output \
    'RATELIMIT OK - nobody unused (0 of 5) | used=0;4;4.75;0;5 remaining=5;;;0;5 reset=0s'
  assert_equal "$(cli DBSIZE)" 0
}

@test "ranges in units and in percent decide the state" {
  take k gcra 500
  local row status range
  for row in '0 500' '1 499' '0 500:' '1 501:' '0 ~:500' '1 ~:499' '0 400:600' '1 501:600' '1 @400:600' \
    '0 @501:600' '0 50%' '1 49.9%' '0 50%:' '1 50.1%:' '1 @50%:60%' '0 @51%:60%' '0 ~:50%'; do
    read -r status range <<<"$row"
    expect_status "$status" rlctl quota k -w "$range" -c '~:'
    expect_status "$((2 * status))" rlctl quota k -w '~:' -c "$range"
  done
  run -2 rlctl quota k -w 100 -c 200
  assert_output --partial 'used=500;100;200;0;1000'
  run -1 rlctl quota k --warning @10%:60% --critical 400:
  assert_output --partial 'used=500;@100:600;400:;0;1000'
}

@test "a range in units needs no limit" {
  cli SET counter 7 >/dev/null
  run -1 rlctl quota counter -w 5 -c 10
  assert_output 'RATELIMIT WARNING - counter 7 used | used=7;5;10;0'
  run -3 rlctl quota counter
  assert_output --partial "UNKNOWN - the state of 'counter' does not include its limit"
}

@test "of several keys, the worst state and the fullest key come first, and each has a line" {
  take half gcra 500
  take nearly gcra 820
  take more gcra 900
  take full gcra 1000
  run -0 rlctl quota half nobody half
  assert_equal "$(without_reset <<<"${lines[0]}" | sed 's/ |.*//')" \
    'RATELIMIT OK - half 50% used (500 of 1000), resets in TIME; others: 1 OK'
  assert_equal "${#lines[@]}" 3
  assert_line --index 1 --regexp '^OK half 50% used '
  assert_line --index 2 'OK nobody unused'
  run -1 rlctl quota nearly half more
  assert_line --index 0 --partial 'WARNING - more 90% used (900 of 1000)'
  assert_line --index 0 --partial '; others: 1 WARNING, 1 OK |'
  run -2 rlctl quota nearly half more full
  assert_line --index 0 --partial 'CRITICAL - full 100% used'
  assert_line --index 0 --partial '; others: 2 WARNING, 1 OK |'
  run -0 performance <<<"$output"
  assert_line --index 0 'nearly used 820 - 800 950 0 1000'
  assert_line --index 9 'full used 1000 - 800 950 0 1000'
}

@test "UNKNOWN is worse than OK, and better than WARNING" {
  cli HSET hash a b >/dev/null
  take nearly gcra 820
  run -3 rlctl quota nobody hash
  assert_line --index 0 --partial "UNKNOWN - 'hash' holds a hash that is not a limiter's state; others: 1 OK"
  run -1 rlctl quota nobody hash nearly
  assert_line --index 0 --partial '; others: 1 UNKNOWN, 1 OK |'
  assert_line --index 2 "UNKNOWN 'hash' holds a hash that is not a limiter's state"
}

@test "labels of performance data are unique and quoted, whatever the keys contain" {
  local keys=("it's" 'a=b' 'a|b' 'a b' $'a\nb' $'\xff' 'a\x20b' 'ü')
  run -0 rlctl quota "${keys[@]}" --limit 5/60s
  run -0 performance <<<"$output"
  assert_equal "${#lines[@]}" 24
  assert_line "it's used 0 - 4 4.75 0 5"
  assert_line 'a\x3db used 0 - 4 4.75 0 5'
  assert_line 'a\x7cb used 0 - 4 4.75 0 5'
  assert_line 'a\x20b used 0 - 4 4.75 0 5'
  assert_line 'a\\x20b used 0 - 4 4.75 0 5'
  assert_line 'a\nb used 0 - 4 4.75 0 5'
  assert_line '\xff used 0 - 4 4.75 0 5'
  assert_line 'ü used 0 - 4 4.75 0 5'
}

@test "a key that is named twice is reported once" {
  rlctl check -q login:ann --limit 10/1d,100/7d --algorithm gcra
  run -0 rlctl quota login:ann '{login:ann}:86400s' login:ann
  run -0 performance <<<"$output"
  assert_equal "${#lines[@]}" 6
}

@test "each of several limits is judged, and the worst counts" {
  rlctl check -q login:ann --limit 10/1d,100/7d --algorithm gcra --cost 9
  run -1 rlctl quota login:ann --limit 10/1d,100/7d
  assert_line --index 0 --partial 'WARNING - {login:ann}:86400s 90% used (9 of 10)'
  assert_line --index 2 --partial 'OK {login:ann}:604800s 9% used (9 of 100)'
  # Usual windows are found without --limit.
  run -1 rlctl quota login:ann
  assert_equal "${#lines[@]}" 3
  assert_line --index 0 --partial 'WARNING - {login:ann}:86400s 90% used (9 of 10)'
  assert_line --index 0 --partial '; others: 1 OK |'
}

@test "a hundred keys are read in one round trip" {
  local i keys=() before
  for ((i = 0; i < 100; i++)); do keys+=("k$i"); done
  take k7 fixed-window 100
  take k8 sliding-window-log 200
  reads() { cli INFO stats | sed -n 's/^total_reads_processed:\([0-9]*\).*/\1/p'; }
  # of KEY…: the reads of the server for these keys and its own report.
  of() {
    before=$(reads)
    rlctl quota "$@" --limit 1000/1d >/dev/null
    echo $(($(reads) - before))
  }
  # The server reads 16 KiB at a time.
  (($(of "${keys[@]}") <= $(of k7) + 8))
}

@test "quota changes nothing: neither keys nor TTLs" {
  local name before
  writes() { cli INFO persistence | sed -n 's/^rdb_changes_since_last_save:\([0-9]*\).*/\1/p'; }
  for name in "${limiters[@]}"; do take "$name" "$name" 1; done
  cli HSET other a b >/dev/null
  before=$(writes)
  run rlctl quota "${limiters[@]}" other nobody --limit 1000/1d
  assert_equal "$(writes)" "$before"
}

@test "it works on a replica" {
  start_server --replicaof 127.0.0.1 1
  run -0 rlctl quota nobody
  assert_output --partial 'RATELIMIT OK - nobody unused'
}

@test "-q prints only what is not OK" {
  take half gcra 500
  take nearly gcra 820
  run -0 --separate-stderr rlctl quota -q half nobody
  assert_output ''
  assert_equal "$stderr" ''
  run -0 rlctl quota -q --json half
  assert_output ''
  run -1 rlctl quota -q half nearly
  assert_equal "${#lines[@]}" 2
  assert_line --index 0 --partial 'WARNING - nearly 82% used'
  assert_line --index 1 --partial 'WARNING nearly 82% used'
}

@test "--json prints one object" {
  take nearly gcra 820
  run -1 rlctl quota nearly $'\xff' --json
  assert_equal "${#lines[@]}" 1
  run -0 jq -c '.status, .error, (.limits | length), (.limits[0] | keys_unsorted), .limits[1].key_base64' \
    <<<"$output"
  assert_line --index 0 '"warning"'
  assert_line --index 1 null
  assert_line --index 2 2
  assert_line --index 3 '["key","status","policy","algorithm","limit","window_us","burst","used","ratio","remaining","reset_after_us","ttl_us","bytes","error"]'
  assert_line --index 4 '"/w=="'
}

@test "--key-base64 takes keys that are not text" {
  take $'\xff' gcra 820
  run -1 rlctl quota --key-base64 /w==
  assert_output --partial 'WARNING - \xff 82% used (820 of 1000)'
}

@test "-v, -w, -c and -t are accepted as plugins must accept them" {
  run -0 rlctl quota -v -t 120 -w 80% -c 95% nobody
  assert_output --partial 'RATELIMIT OK - nobody'
  expect_status 0 rlctl quota -vvv -t 120s nobody
}

@test "the ACL rules in the manual are enough" {
  local rules
  rules=$(awk '/^# ACCESS RULES/ { on = 1 } on && /^```/ { if (block++) exit; next } block { print }' \
    "$project/man/rlctl-quota.1.scd")
  # shellcheck disable=SC2086 # split into words
  cli ACL SETUSER monitor on nopass resetkeys '~*' -@all $rules >/dev/null
  local name
  for name in "${limiters[@]}"; do take "$name" "$name" 820; done
  REDISCLI_AUTH=x run -1 rlctl quota "${limiters[@]}" nobody --limit 1000/1d --user monitor --json
  assert_equal "$(jq -c '[.limits[] | select(.error == null and .bytes > 0)] | length' <<<"$output")" 7
  # Without +memory, only the size is missing.
  cli ACL SETUSER monitor -memory >/dev/null
  REDISCLI_AUTH=x run -1 rlctl quota gcra --user monitor --json
  assert_equal "$(jq -c '.limits[0] | [.used, .bytes]' <<<"$output")" '[820,null]'
}
