# needs: server
load ../../support/common

# What `rlctl quota` reports of limits. The windows are so long that nothing leaves them during a test.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

limiters=(fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra
  leaky-bucket budget)

# take KEY ALGORITHM COST: takes COST units of 1000 in as many days.
take() { rlctl check -q "$1" --limit 1000/1000d --algorithm "$2" --cost "$3"; }

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
  local name figures='[.algorithm, .limit, .window_us, .burst, .used, .remaining, .bytes]'
  for name in "${limiters[@]}"; do take "$name" "$name" 820; done
  run -1 rlctl quota "${limiters[@]}" --limit 1000/1000d --json
  assert_equal "$(gojq -c ".limits[] | $figures" <<<"$output")" \
    "$(rlctl inspect "${limiters[@]}" --limit 1000/1000d --json | gojq -c "$figures")"
  assert_equal "$(gojq -c '[.status, (.limits[] | .status, .used, (.ratio * 100 | round))] | unique' <<<"$output")" \
    '[82,820,"warning"]'
}

@test "what a budget holds is used" {
  cli --eval "$project/lua/budget.lua" job , 10 86400000000000 '' 8 '' reserve me 3600000000 >/dev/null
  rlctl check -q job --algorithm budget --limit 10/1000d
  run -1 rlctl quota job
  assert_output --partial 'WARNING - job 90% used (9 of 10), resets in '
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
  local config=$BATS_TEST_TMPDIR/config.toml words used
  printf 'timeout = "120s"\n[policy.api]\nkey = "api:%%s"\nlimit = "10/1d"\n' >"$config"
  rlctl check -q api:log --limit 10/1d --cost 4
  rlctl check -q api:gcra --limit 20/1d --algorithm gcra --cost 4
  rlctl check -q bucket --limit 10/1d --algorithm token-bucket --burst 40 --cost 30
  rlctl check -q queue --limit 10/1d --algorithm leaky-bucket --burst 4 --cost 3
  while IFS='|' read -r words used; do
    # shellcheck disable=SC2086 # split into words
    run -0 rlctl quota $words
    assert_output --partial " $used"
  done <<END
api:log --limit 8/1d|50% used (4 of 8)
api:log --config $config|40% used (4 of 10)
--policy api log --config $config|api:log 40% used (4 of 10)
api:gcra|20% used (4 of 20)
api:gcra --limit 16/1d|25% used (4 of 16)
bucket|75% used (30 of 40)
queue|60% used (3 of 5)
END
}

@test "a key that does not exist is OK, and is said not to exist" {
  run -0 rlctl quota nobody
  assert_output 'RATELIMIT OK - nobody does not exist | used=0;;;0 reset=0s'
  run -0 rlctl quota nobody --limit 5/60s
  assert_output \
    'RATELIMIT OK - nobody does not exist (0 of 5) | used=0;4;4.75;0;5 remaining=5;;;0;5 reset=0s'
  assert_equal "$(cli DBSIZE)" 0
  cli SET somebody 0 EX 86400 >/dev/null
  run -0 rlctl quota somebody --read-as count --limit 5/1d
  assert_output --partial 'somebody unused (0 of 5)'
  assert_equal "$(rlctl quota nobody somebody --read-as count --limit 5/1d --json | gojq -c '[.limits[] | [.key, .exists, .used]]')" \
    '[["nobody",false,0],["somebody",true,0]]'
}

@test "--must-exist is UNKNOWN for a KEY of which nothing is stored" {
  take known gcra 10
  rlctl check -q several --limit 10/1h --limit 20/1d
  run -3 rlctl quota --must-exist nobody --limit 5/60s
  assert_output --partial "RATELIMIT UNKNOWN - 'nobody' does not exist"
  run -0 rlctl quota --must-exist known
  run -0 rlctl quota --must-exist several --limit 10/1h --limit 20/1d
  # One of its limits is enough.
  run -0 rlctl quota --must-exist several --limit 10/1h --limit 20/2d
  run -3 rlctl quota --must-exist known nobody
  assert_line --index 1 --partial 'OK known 1% used (10 of 1000), resets in '
  assert_line --index 2 "UNKNOWN 'nobody' does not exist"
  run -3 rlctl quota --must-exist nobody --json
  assert_equal "$(gojq -c '[.status, .limits[0].exists, .limits[0].error.code]' <<<"$output")" '["unknown",false,"not_found"]'
  # A ban is stored, though its counter is not.
  cli SET '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked' 1 EX 600 >/dev/null
  run -2 rlctl quota --must-exist '{d41d8cd98f00b204e9800998ecf8427e:ann}:hits' --limit 5/60s
}

@test "a critical threshold below the warning is refused, with those of the limit as far as it must be known" {
  take k gcra 500
  run -3 rlctl quota k -w 90% -c 50%
  assert_line --index 0 'RATELIMIT UNKNOWN - --critical 50% is reached before --warning 90%'
  run -3 rlctl quota k -c 50%
  assert_line --index 0 'RATELIMIT UNKNOWN - --critical 50% is reached before --warning 80% (the default)'
  run -3 rlctl quota k -w 97%
  assert_line --index 0 'RATELIMIT UNKNOWN - --critical 95% (the default) is reached before --warning 97%'
  run -3 rlctl quota k -w 90% -c 800
  assert_line --index 0 'RATELIMIT UNKNOWN - --critical 800 is reached before --warning 90%'
  run -0 rlctl quota k -w 90% -c 900
  run -0 rlctl quota k -w 80% -c 80%
  run -2 rlctl quota k -w 80% -c 600:
  run -3 rlctl quota k -w 0.8
  assert_line --index 1 'hint: write 80% or 0.8%'
}

@test "ranges in units and in percent decide the state" {
  take k gcra 500
  local row status range
  # range_test.cc has all forms.
  for row in '0 500' '1 499' '1 @400:600' '0 50%' '1 50.1%:'; do
    read -r status range <<<"$row"
    expect_status "$status" rlctl quota k -w "$range" -c '~:'
    expect_status "$((2 * status))" rlctl quota k -w '~:' -c "$range"
  done
  run -2 rlctl quota k -w 100 -c 200
  assert_output --partial 'used=500;100;200;0;1000'
  run -1 rlctl quota k --warning @10%:60% --critical 400:
  assert_output --partial 'used=500;@100:600;400:;0;1000'
}

@test "a threshold that the limit never reaches is a warning, but not an open range" {
  run -0 --separate-stderr rlctl quota --limit 10/1000d -w 80 -c '~:' nobody
  assert_equal "$stderr" "rlctl: quota: warning: --warning 80 can never alert: the limit of 'nobody' is 10; a percentage ends in %"
  run -0 --separate-stderr rlctl quota --limit 10/1000d -w @11: -c 100% nobody
  assert_equal "$stderr" "rlctl: quota: warning: --warning @11: can never alert: the limit of 'nobody' is 10; a percentage ends in %
rlctl: quota: warning: --critical 100% can never alert: the limit of 'nobody' is 10"
  run -0 --separate-stderr rlctl quota --limit 10/1000d -w 9 -c @10:20 nobody
  assert_equal "$stderr" ''
}

@test "a range in units needs no limit" {
  cli SET counter 7 >/dev/null
  run -1 rlctl quota counter -w 5 -c 10 --read-as count
  assert_output 'RATELIMIT WARNING - counter 7 used | used=7;5;10;0'
  run -3 rlctl quota counter --read-as count
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
  assert_line --index 2 'OK nobody does not exist'
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

@test "with - as the only key, the keys are the lines of standard input" {
  take api:acme gcra 820
  take api:zeta gcra 10
  run -1 --separate-stderr rlctl quota - <<<$'api:zeta\n\napi:acme'
  assert_output --partial 'RATELIMIT WARNING - api:acme 82% used'
  assert_line --partial 'api:zeta 1% used'
  run -3 --separate-stderr rlctl quota - </dev/null
  assert_line 'RATELIMIT UNKNOWN - standard input has no KEY'
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
    rlctl quota "$@" --limit 1000/1000d >/dev/null
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
  run rlctl quota "${limiters[@]}" other nobody --limit 1000/1000d
  assert_equal "$(writes)" "$before"
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
  assert_line --index 3 '["key","status","exists","policy","algorithm","limit","window_us","limits_differ","used","remaining","reset_after_us","ttl_us","bytes","burst","ratio","reason","error"]'
  assert_line --index 4 '"/w=="'
}

@test "-v, -w, -c and -t are accepted as plugins must accept them" {
  run -0 rlctl quota -v -t 120 -w 80% -c 95% nobody
  assert_output --partial 'RATELIMIT OK - nobody'
  expect_status 0 rlctl quota -vvv -t 120s nobody
  run -3 rlctl quota -t 0.5 nobody -p 1
  assert_output --partial 'cannot connect'
}

@test "the ACL rules in the manual are enough" {
  local rules
  rules=$(awk '/^# ACCESS RULES/ { on = 1 } on && /^```/ { if (block++) exit; next } block { print }' \
    "$project/man/rlctl-quota.1.scd")
  # shellcheck disable=SC2086 # split into words
  cli ACL SETUSER monitor on nopass resetkeys '~*' -@all $rules >/dev/null
  local name
  for name in "${limiters[@]}"; do take "$name" "$name" 820; done
  REDISCLI_AUTH=x run -1 rlctl quota "${limiters[@]}" nobody --limit 1000/1000d --user monitor --json
  assert_equal "$(gojq -c '[.limits[] | select(.error == null and .bytes > 0)] | length' <<<"$output")" 8
  # Without +memory, only the size is missing.
  cli ACL SETUSER monitor -memory >/dev/null
  REDISCLI_AUTH=x run -1 rlctl quota gcra --user monitor --json
  assert_equal "$(gojq -c '.limits[0] | [.used, .bytes]' <<<"$output")" '[820,null]'
}

@test "the stored burst applies if --limit is the stored limit and there is no --burst" {
  rlctl check -q --algorithm gcra --limit 10/1d --burst 5 --cost 5 k
  local figures='[.used, .burst, .remaining]'
  for limit in 10/1d 10/24h; do
    run -2 rlctl quota --limit "$limit" k
    assert_output --partial 'CRITICAL - k 100% used (5 of 5)'
    assert_equal "$(rlctl quota --limit "$limit" k --json | gojq -c ".limits[0] | $figures")" \
      "$(rlctl inspect --limit "$limit" k --json | gojq -c "$figures")"
  done
  run -0 rlctl quota --limit 10/1d --burst 20 k
  assert_output --partial '(5 of 20)'
  assert_output --partial '; stored 10/1d burst 5, --limit 10/1d burst 20 | '
  # Of another limit, the default burst, as check would use it.
  run -0 rlctl quota --limit 20/1d k
  assert_output --partial ' of 20)'
  # A policy without a burst has the default one.
  printf 'timeout = "120s"\n[policy.p]\nkey = "%%s"\nalgorithm = "gcra"\nlimit = "10/1d"\n' \
    >"$BATS_TEST_TMPDIR/config.toml"
  run -0 rlctl quota --policy p k --config "$BATS_TEST_TMPDIR/config.toml"
  assert_output --partial '(5 of 10)'
  run -3 rlctl quota --limit 10/1d --burst 0 nobody
  assert_line --index 0 --partial 'burst must be from 1 to'
}

@test "one limit of a key that has several is judged too" {
  rlctl check -q --limit 5/1d,100/7d --cost 5 k
  run -2 rlctl quota --limit 5/1d k
  assert_line --index 0 --partial 'CRITICAL - {k}:86400s 100% used (5 of 5)'
  assert_line --partial 'OK k does not exist (0 of 5)'
  printf 'timeout = "120s"\n[policy.p]\nkey = "%%s"\nlimit = "5/1d"\n' >"$BATS_TEST_TMPDIR/config.toml"
  run -2 rlctl quota k --config "$BATS_TEST_TMPDIR/config.toml"
  assert_line --index 0 --partial 'CRITICAL - {k}:86400s 100% used (5 of 5)'
  run -2 rlctl quota '{k}:86400s' --limit 5/1d
  assert_equal "${#lines[@]}" 1
  # The longest window is one too.
  run -0 rlctl quota k --limit 5/100000000s
  refute_output --partial UNKNOWN
}

@test "the labels of performance data do not depend on which keys exist" {
  labels() { rlctl quota "$@" 2>&1 | performance | cut -d' ' -f1,2; }
  local none some
  none=$(labels a b --limit 5/1d)
  rlctl check -q a --limit 5/1d
  some=$(labels a b --limit 5/1d)
  assert_equal "$some" "$none"
  assert_regex "$none" '^a used'
  # Of one KEY, the labels have no key, unless it has several limits.
  assert_regex "$(labels a --limit 5/1d)" '^used '
  assert_regex "$(labels a --limit 5/1d,9/7d)" '\{a\}:86400s used'
  rlctl check -q c --limit 5/1d,100/7d --algorithm gcra
  cli DEL '{c}:604800s'
  assert_regex "$(labels c)" '^\{c\}:86400s used'
}

@test "a user who may only access KEY itself is told about KEY" {
  take login:ann gcra 820
  cli ACL SETUSER monitor on nopass resetkeys '~login:*' -@all +@read +@scripting +@connection +time >/dev/null
  local option
  for option in '' '--limit=1000/1000d'; do
    # shellcheck disable=SC2086 # no word, or one
    REDISCLI_AUTH=x run -1 rlctl quota login:ann --user monitor $option
    assert_output --partial 'WARNING - login:ann 82% used (820 of 1000)'
    assert_equal "${#lines[@]}" 1
  done
  rlctl check -q login:eve --limit 5/1d,9/7d --cost 5 --algorithm gcra
  cli ACL SETUSER monitor '~{login:*' >/dev/null
  REDISCLI_AUTH=x run -2 rlctl quota login:eve --user monitor
  assert_line --index 0 --partial 'CRITICAL - {login:eve}:86400s 100% used (5 of 5)'
}

@test "a percentage is rounded down, and whole only if it is exact" {
  local row used limit text
  for row in '2 3 66.6%' '3 4 75%' '1 1000 0.1%' '8001 10000 80.01%' '9999 10000 99.9%' '3 2 150%'; do
    read -r used limit text <<<"$row"
    cli SET k "$used" >/dev/null
    run rlctl quota k --limit "$limit/1d" --read-as count
    assert_output --partial " - k $text used ($used of $limit)"
  done
}

@test "thresholds in performance data have no exponent" {
  cli SET k 1 >/dev/null
  run rlctl quota k -w 0.00001% -c 100000000000 --read-as count --limit 100/1d
  assert_output --partial 'used=1;0.00001;100000000000;0'
}

@test "a number whose direction is not known is UNKNOWN, and --read-as or a row tells it" {
  cli SET hits:ann 9 EX 60 >/dev/null
  run -3 rlctl quota --limit 10/60s hits:ann
  assert_line --index 0 "RATELIMIT UNKNOWN - 'hits:ann' holds 9: whether it counts up or down is not known"
  assert_line --index 1 --partial '--read-as count or --read-as remaining'
  run -1 rlctl quota --limit 10/60s --read-as count hits:ann
  assert_output --partial '90% used (9 of 10)'
  run -0 rlctl quota --limit 10/60s --read-as remaining hits:ann
  assert_output --partial '10% used (1 of 10)'
  printf '[library.hits]\nkey = "hits:*"\ntype = "string"\nvalue = "remaining"\nlimit = "10/60s"\n' >"$BATS_TEST_TMPDIR/c"
  run -0 rlctl --config "$BATS_TEST_TMPDIR/c" quota hits:ann
  assert_output --partial '10% used (1 of 10)'
  run -3 rlctl quota --read-as left hits:ann
}

@test "the keys of limiters in public reports are judged the right way round, or UNKNOWN" {
  local now minute
  now=$(date +%s) minute=$((now / 60 * 60))
  # What is left of a bucket, beside the time for which it was counted.
  cli MSET 'rl:tb:{ann}' 0 'rl:tb:{ann}:ts' "${now}123" 'rl:tb:{ben}' 3 'rl:tb:{ben}:ts' "${now}123" >/dev/null
  run -2 rlctl quota --limit 3/45s 'rl:tb:{ann}'
  assert_output --partial '100% used (3 of 3)'
  run -0 rlctl quota --limit 3/45s 'rl:tb:{ben}'
  # Counters that count down.
  cli SET plugin-limit-count192.0.2.7route5 0 EX 40 >/dev/null
  run -2 rlctl quota --limit 100/60s plugin-limit-count192.0.2.7route5
  cli HSET daily rate 10000 interval 86400000 type 0 >/dev/null
  cli SET '{daily}:value' 9990 >/dev/null
  run -0 rlctl quota '{daily}:value'
  assert_output --partial '(10 of 10000)'
  # Times at which leases end; a time in a string.
  cli ZADD jobs:concurrency $((now + 4200)).25 a $((now + 7200)).25 b >/dev/null
  cli EXPIRE jobs:concurrency 7200 >/dev/null
  run -2 rlctl quota --limit 2/60s jobs:concurrency
  assert_output --partial '100% used (2 of 2)'
  cli EVAL "return redis.call('SET', 'api:tat', (redis.call('TIME')[1] + 12) * 1000, 'PX', 12000)" 0 >/dev/null
  run rlctl quota --limit 5/60s api:tat
  assert_output --partial '% used (1 of 5)'
  # Counters whose names have the start or the number of their minute.
  cli SET "edge_ip_192.0.2.7_$((minute - 120))" 512 EX 100 >/dev/null
  run -0 rlctl quota --limit 500/60s "edge_ip_192.0.2.7_$((minute - 120))"
  cli SET "api:192.0.2.7:$((minute / 60 - 2))" 512 EX 100 >/dev/null # no table has such names
  run -3 rlctl quota --limit 500/60s "api:192.0.2.7:$((minute / 60 - 2))"
  cli SET "edge_ip_192.0.2.7_$minute" 512 EX 330 >/dev/null
  local left
  left=$(rlctl inspect --limit 500/60s "edge_ip_192.0.2.7_$minute" --json | gojq .next_free_us)
  ((left <= 60000000))
}

@test "a budget that 500 reservations close is CRITICAL, and says why" {
  seq -f $'k\t1\tid%g' 499 | rlctl check -q --limit 1M/30d --hold 1d --batch
  run -0 rlctl quota k
  refute_output --partial reservations
  rlctl check -q k --limit 1M/30d --hold 1d --reserve 1 --id id500
  run -2 rlctl quota k
  assert_output --regexp '^RATELIMIT CRITICAL - k 0\.05% used \(500 of 1000000\), resets in [0-9a-z]+; 500 reservations are held, and any other is denied \| used=500;'
  run -2 rlctl quota k --json
  assert_equal "$(gojq -c '.limits[0] | [.status, .used, .reason]' <<<"$output")" '["critical",500,"500 reservations are held"]'
  rlctl settle -q k id7 1
  run -0 rlctl quota k --json
  assert_equal "$(gojq -c '.limits[0] | [.status, .reason]' <<<"$output")" '["ok",null]'
}

@test "a ban beside a counter is CRITICAL, also when the counter is gone" {
  local hash=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
  cli SET "{$hash:default}:blocked" 1 PX 90000 >/dev/null
  run -2 rlctl quota --limit 5/60s "{$hash:default}:hits"
  assert_output --partial 'banned for'
  run -1 rlctl inspect --limit 5/60s "{$hash:default}:hits"
  assert_output --partial 'but banned for'
  cli SET "{$hash:default}:hits" 1 PX 90000 >/dev/null
  run -2 rlctl quota --limit 5/60s "{$hash:default}:hits"
  run -3 rlctl quota --limit 5/60s "{$hash:default}:blocked"
  assert_line --index 0 --partial "is a part of the state of '{$hash:default}:hits'"
}

@test "an address is found under the prefix that its policy keeps" {
  printf '[policy.login]\nkey = "login:%%s"\nlimit = "5/60s"\nipv6_prefix = 64\n' >"$BATS_TEST_TMPDIR/c"
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/c
  rlctl check -q --policy login 2001:db8:1:2::7
  run -0 rlctl quota login:2001:db8:1:2:3::9
  assert_output --partial 'login:2001:db8:1:2::/64 20% used (1 of 5)'
  run -0 rlctl inspect login:2001:db8:1:2:3::9
  assert_output --partial 'login:2001:db8:1:2::/64'
  run -0 rlctl reset login:2001:db8:1:2:3::9
  assert_output --partial 'removed key=login:2001:db8:1:2::/64'
}

@test "windows of the calendar of UTC are found; of those in other zones, a limit tells" {
  rlctl check -q cal --limit 10/year@UTC,10/month@Europe/Zurich --algorithm budget --cost 9
  run rlctl quota cal --json
  assert_equal "$(gojq -r '.limits[].key' <<<"$output" | xargs)" '{cal}:year@UTC'
  run rlctl quota cal --json --limit 10/year@UTC,10/month@Europe/Zurich
  assert_equal "$(gojq -r '.limits[].key' <<<"$output" | xargs)" '{cal}:year@UTC {cal}:month@Europe/Zurich'
}
