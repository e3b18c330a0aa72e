# needs: server
load ../../support/common

# `rlctl burst --replay FILE`: logs, their results, and --suggest. The library's tests check how lines are
# read; this file tests the command line.

setup() {
  cd "$BATS_TEST_TMPDIR" || return
  # At 06:11:10, :11 (two keys), :12 and :21: with 2 per 10 s the third request of a is denied, and the last
  # one, when the first two have left, is not.
  cat >epoch.log <<'LOG'
1795155070 a
1795155071 a
1795155071 b
1795155072 a
1795155081 a
LOG
}

two=(--limit 2/10s sliding-window-log)

# combined: the same requests as an access log, of 192.0.2.1 in place of a, and 192.0.2.2 in place of b.
combined() {
  local at key
  while read -r at key; do
    [[ $key == a ]] && key=192.0.2.1 || key=192.0.2.2
    echo "$key - - [$(date -ud "@$at" '+%d/%b/%Y:%T +0000')] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\""
  done <epoch.log
}

# The counts of the runs in the JSON $output.
counts() { gojq -c '.runs[] | [.sent, .allowed, .denied, .keys, .keys_denied]' <<<"$output"; }
replayed() { gojq -c ".replay$1" <<<"$output"; }

# is_mistake MESSAGE ARGUMENT…
is_mistake() {
  run -2 rlctl burst "${@:2}"
  assert_line --partial "$1"
}

# 3000 requests of 50 keys, some of them frequent, within five minutes.
random_log() {
  awk 'BEGIN { srand(7); for (i = 0; i < 3000; i++)
    printf "%.6f k%d %d\n", 1795155000 + rand() * 300, int(50 * rand() ^ 3), 1 + (i % 10 == 0) }'
}

@test "a log yields the numbers computed by hand" {
  combined >access.log
  run -0 rlctl burst --replay access.log "${two[@]}" --json
  assert_equal "$(counts)" '[5,4,1,2,1]'
  assert_equal "$(jq -c '.runs[0] | [.first_denial_us, .worst_minute, .top_denied, .suggestion]' <<<"$output")" \
    '[1795155072000000,{"from_us":1795155060000000,"sent":5,"denied":1},[{"key":"192.0.2.1","denied":1}],null]'
  assert_equal "$(jq -c '[.pattern, .seed]' <<<"$output")" '["replay",null]'
  assert_equal "$(replayed '| [.first_us, .last_us, .first_bad, .files[0].format]')" \
    '[1795155070000000,1795155081000000,null,"combined"]'
}

@test "standard input, compressed or not, and a FIFO can be replayed" {
  combined | gzip >log.gz
  run -0 rlctl burst --replay - "${two[@]}" --model --json <log.gz
  assert_equal "$(counts)" '[5,4,1,2,1]'
  assert_equal "$(replayed .files[0].name)" '"-"'
  run -0 rlctl burst --replay <(cat epoch.log) "${two[@]}" --model --json
  assert_equal "$(counts)" '[5,4,1,2,1]'
}

@test "several files, out of order and in several formats, are one traffic" {
  sed -n 4,5p epoch.log >second
  { echo 'timestamp,key' && sed -n '1,3s/ /,/p' epoch.log; } >first.csv
  run -0 rlctl burst second --replay first.csv "${two[@]}" --model --json
  assert_equal "$(counts)" '[5,4,1,2,1]'
  assert_equal "$(replayed '.files | map([.name, .format, .lines, .requests, .other])')" \
    '[["first.csv","csv",4,3,1],["second","epoch",2,2,0]]'
}

@test "a log that is out of order is replayed in the order of time, and the report says so" {
  { sed -n 1,2p epoch.log && sed -n 5p epoch.log && sed -n 3,4p epoch.log; } >late.log
  run -0 rlctl burst --replay late.log "${two[@]}"
  assert_line --regexp '^sorted +2 +behind later ones, by up to [0-9]+ s$'
  run -0 rlctl burst --replay late.log "${two[@]}" --json
  assert_equal "$(counts)" '[5,4,1,2,1]'
  assert_equal "$(replayed '| [.out_of_order, .out_of_order_by_us > 0]')" '[2,true]'
  run -0 rlctl burst --replay epoch.log "${two[@]}"
  refute_line --regexp '^sorted'
}

@test "the axis of a log shows dates and times in UTC, and its columns are round" {
  printf '%s a\n' 1767225603 1767268803 1767312000 >day.log
  run -0 rlctl burst --replay day.log "${two[@]}"
  assert_line --regexp '^ +2026-01-01 00:00 .* 12:00 .*2026-01-02 00:30$'
  assert_line --regexp '^rows +requests +a column is 30 min, the highest 1$'
  assert_line --regexp '^times +in UTC$'
  run -0 as svg rlctl burst --replay day.log "${two[@]}"
  assert_output --partial '>2026-01-01 00:00<'
  assert_output --partial '>12:00<'
  assert_output --partial '>time in UTC<'
  assert_output --partial '>bars: requests in 15 min<'
  # Years apart: no duration with three units, no column such as 800 min.
  printf '%s a\n' 1667225603 1767312000 1767312001 1767312002 >years.log
  run -0 rlctl burst --replay years.log "${two[@]}"
  assert_line --regexp '^ +2022-10-.* 2024-01 .*2026-'
  assert_line --regexp '^rows +requests +a column is 20 d, '
  refute_output --regexp '[0-9]d[0-9]+h[0-9]+m'
}

@test "the chart of a log with one key has the limit" {
  grep a epoch.log >one.log
  run -0 rlctl burst --replay one.log "${two[@]}"
  assert_line --regexp '^chart '
  assert_line --regexp '^ +2 ├.* limit$'
  run -0 rlctl burst --replay one.log "${two[@]}" -o one.svg -q
  run -0 xmllint --noout one.svg
  run -0 cat one.svg
  assert_output --partial 'replay: 2 per 10 s'
  assert_output --partial 'class="limit"'
  run -0 as svg rlctl burst --replay epoch.log "${two[@]}"
  refute_output --partial 'class="limit"'
}

@test "costs are counted in units, and may be omitted" {
  printf '%s\n' 'time,key,cost' 100,a,2 101,a,1 112,a,3 >cost.csv
  run -0 rlctl burst --replay cost.csv --model "${two[@]}" --json
  assert_equal "$(counts)" '[3,1,2,1,1]'
  assert_equal "$(gojq -c '.runs[0].worst | [.allowed, .ratio]' <<<"$output")" '[2,1]'
  run -0 rlctl burst --replay cost.csv --model "${two[@]}"
  assert_line --regexp '^limit +2 per 10 s +a request costs up to 3$'
  sed s/cost/price/ cost.csv >price.csv
  run -0 rlctl burst --replay price.csv --model "${two[@]}" --json
  assert_equal "$(counts)" '[3,3,0,1,0]'
  run -0 rlctl burst --replay price.csv --model "${two[@]}" --fields cost=price --json
  assert_equal "$(counts)" '[3,1,2,1,1]'
  printf '1 a 10001\n' >dear.log
  is_mistake '--replay: cost 10001 is too large for sliding-window-log' --replay dear.log "${two[@]}"
  run -0 rlctl burst -q --replay dear.log "${two[@]}" --fields cost=
  sed 's/3$/0.3/' cost.csv >price.csv
  is_mistake 'not a whole number' --replay price.csv --model "${two[@]}"
  run -0 rlctl burst --replay price.csv --model "${two[@]}" --fields cost= --json
  assert_equal "$(counts)" '[3,3,0,1,0]'
  run -0 rlctl burst -q --replay dear.log gcra
}

@test "the named fields are the ones used" {
  printf '%s\n' '{"a":"1970-01-01T00:01:40Z","b":{"c":"x"},"d":3}' >fields.jsonl
  run -0 rlctl burst --replay fields.jsonl --fields time=a,key=b.c,cost=d --json --model
  assert_equal "$(gojq -c '.runs[0].worst | [.key, .allowed, .from_us]' <<<"$output")" '["x",3,100000000]'
}

@test "bad lines are counted, and the first one is shown" {
  { cat epoch.log; printf '\n# a comment\nhello\n1795155073 \e[31mred\n'; printf '1795155074\n'; } >bad.log
  run -0 --separate-stderr rlctl burst --replay bad.log --format epoch "${two[@]}" --json
  assert_equal "$stderr" "rlctl: burst: warning: 2 of 10 lines cannot be read; the first is bad.log:8: \
it has no ' ' after epoch: 'hello'"
  assert_equal "$(counts)" '[6,5,1,3,1]'
  assert_equal "$(replayed '.files[0] | [.lines, .requests, .bad, .blank, .other]')" '[10,6,2,1,1]'
  assert_equal "$(replayed '.first_bad | [.file, .line]')" '["bad.log",8]'
  run -0 --separate-stderr rlctl burst --replay bad.log --format epoch -q
  assert_output ''
  [[ $stderr == *'warning: 2 of 10 lines'* ]]
}

@test "a warning counts the requests whose key is absent" {
  combined >a.log
  run -0 --separate-stderr rlctl burst --replay a.log "${two[@]}" --model --json
  assert_equal "$stderr" ''
  sed -i '2s/- -/- ann/' a.log
  run -0 --separate-stderr rlctl burst --replay a.log --fields key=user "${two[@]}" --model --json
  assert_equal "$stderr" "rlctl: burst: warning: 4 of 5 requests have the key '-', as logs write a value that is \
absent; they count as one client; --fields key=NAME takes another field"
  assert_equal "$(counts)" '[5,4,1,2,1]'
}

@test "a warning tells that every request has a key of its own, or that all have the same" {
  seq 1 9 | awk '{ print "{\"time\":179515500" $1 ",\"ip\":\"192.0.2.1\",\"id\":" $1 "}" }' >one.jsonl
  run -0 --separate-stderr rlctl burst --replay one.jsonl --model -q
  assert_equal "$stderr" "rlctl: burst: warning: all 9 requests have the same key, '192.0.2.1', such as that of a \
proxy; --fields key=NAME takes another field"
  run -0 --separate-stderr rlctl burst --replay one.jsonl --fields key=id --model -q
  assert_equal "$stderr" "rlctl: burst: warning: each of the 9 requests has a key of its own, so that no limit denies \
any; --fields key=NAME takes another field"
  # A field that is called key was made for this.
  sed 's/ip/key/' one.jsonl >key.jsonl
  run -0 --separate-stderr rlctl burst --replay key.jsonl --model -q
  assert_equal "$stderr" ''
}

@test "--format takes nginx's log_format and Apache's LogFormat, as they stand in the servers' files" {
  combined | sed 's/$/ 0.004 "web"/' >access.log
  is_mistake "combined is nearest, but it goes on after http_user_agent: '192.0.2.1 - - [" --replay access.log
  assert_line --partial "hint: --format takes nginx's log_format, such as '\$remote_addr [\$time_local] \$any'"
  local format
  for format in '$remote_addr $any $any [$time] $any' \
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent" $request_time "$host"' \
    '%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %T \"%v\"'; do
    run -0 rlctl burst --replay access.log --format "$format" "${two[@]}" --model --json
    assert_equal "$(counts)" '[5,4,1,2,1]'
    assert_equal "$(replayed '.files[0] | [.format, .prefix, .bad]')" "$(gojq -nc --arg f "$format" '[$f, null, 0]')"
  done
  is_mistake '--format: no field for the key: the format has remote_adr, time, any' \
    --replay access.log --format '$remote_adr [$time] $any'
}

@test "what a collector puts before each line is stripped" {
  combined | sed 's/^/Nov  5 12:00:00 web1 nginx[4711]: /' >syslog.log
  run -0 rlctl burst --replay syslog.log "${two[@]}" --model --json
  assert_equal "$(counts)" '[5,4,1,2,1]'
  assert_equal "$(replayed '.files[0] | [.format, .prefix]')" '["combined","syslog"]'
  combined | sed 's/^/web-1  | /' >compose.log
  run -0 rlctl burst --replay compose.log "${two[@]}" --format combined --model
  assert_line --regexp '^ +combined after docker-compose, 5 requests in 5 lines$'
}

@test "--formats lists the formats, each with an example" {
  run -0 rlctl burst --formats
  assert_line --index 0 combined
  assert_line --index 1 --regexp '^  \$remote_addr .* "\$http_user_agent"$'
  assert_line --index 2 --regexp '^  192\.0\.2\.7 - ann \['
  assert_line 'cri (before another format)'
  run -0 rlctl burst --replay epoch.log --formats --json
  gojq -e '.formats[0].name == "combined"' <<<"$output"
}

@test "a binary file is refused, and an empty one among others is accepted" {
  head -c 1000 /bin/ls >binary
  is_mistake 'binary:1: this is in none of the known formats' --replay binary
  : >empty
  run -0 rlctl burst --replay empty epoch.log "${two[@]}" --json
  assert_equal "$(counts)" '[5,4,1,2,1]'
  assert_equal "$(replayed .files[0].format)" null
}

@test "Redis and the models decide alike, request by request, for every algorithm" {
  random_log >random.log
  run -0 rlctl burst all --replay random.log --limit 9/10s -o redis.jsonl -q
  run -0 rlctl burst all --replay random.log --limit 9/10s -o model.jsonl -q --model
  assert_equal "$(wc -l <redis.jsonl)" 24000
  run -0 cmp redis.jsonl model.jsonl
  (($(grep -c '"allowed":false' redis.jsonl) > 1000))
}

@test "the decisions of one algorithm in a .jsonl can be replayed" {
  random_log >random.log
  local algorithms=(--limit 9/10s fixed-window gcra --model)
  run -0 rlctl burst --replay random.log "${algorithms[@]}" -o out.jsonl --json
  local first
  first=$(counts)
  run -0 rlctl burst --replay out.jsonl "${algorithms[@]}" --json
  assert_equal "$(counts)" "$first"
  assert_equal "$(replayed '.files[0] | [.format, .lines, .requests, .other]')" '["jsonl",6000,3000,3000]'
}

@test "the printed command of a replay repeats the output" {
  cp epoch.log ./-x.log
  cp epoch.log "it's.log"
  cp epoch.log $'a\eb\\\'.log'
  run -0 rlctl burst --replay=-x.log --replay "it's.log" --replay $'a\eb\\\'.log' --format epoch --strict "${two[@]}" --suggest 30%keys
  repeats
  run -0 rlctl burst --replay - "${two[@]}" --fields time=epoch,key=key --json <epoch.log
  assert_equal "$(gojq -r .command <<<"$output")" \
    "rlctl burst sliding-window-log --limit 2/10s --replay - --fields time=epoch,key=key"
}

@test "a suggestion is shown in a table and in JSON" {
  run -0 rlctl burst sliding-window-log --replay epoch.log --limit 1/10s --suggest 0%
  assert_line --regexp '^suggested +3 per 10 s +smallest with at most 0 % of requests denied$'
  assert_line --regexp '^\* 3 per 10 s +0 +0\.000 % +0 of 2  0\.000 %$'
  assert_line --regexp '^  1 per 10 s +2 +40\.000 % +1 of 2  50\.000 %$'
  run -0 rlctl burst sliding-window-log --replay epoch.log --limit 1/10s --suggest 0% --json
  assert_equal "$(jq -c '.runs[0].suggestion | [.most, .of, .limit, .window_us, .tried[0]]' <<<"$output")" \
    '[0,"requests",3,10000000,{"limit":1,"denied":2,"share":0.4,"keys_denied":1}]'
  yes '100 a' | head -n 5 >burst.log
  run -0 rlctl burst --replay burst.log --limit 1/10s --burst 2 gcra --suggest 0%keys
  assert_line --regexp '^suggested +no limit +denies at most 0 % of keys with a burst of 2$'
  run -0 rlctl burst --replay burst.log --limit 1/10s --burst 2 gcra --suggest 0%keys --json
  assert_equal "$(jq -c '.runs[0].suggestion | [.of, .limit]' <<<"$output")" '["keys",null]'
}

@test "an assertion applies to the replayed log" {
  run -0 rlctl burst -q --replay epoch.log "${two[@]}" --assert 'denied==1' --assert 'keys_denied<=1'
  run -1 rlctl burst -q --replay epoch.log "${two[@]}" --assert 'denied==0'
  assert_output "rlctl: burst: assertion 'denied==0' does not hold: sliding-window-log has 1"
}

@test "a foreign script is called with the keys of the log" {
  echo "return redis.call('INCR', KEYS[1])" >count.lua
  run -0 rlctl burst count.lua --replay epoch.log --args '{now}' --allowed-when '<=limit' \
    --limit 2/10s --json
  assert_equal "$(counts)" '[5,3,2,2,1]'
}

@test "under the real clock requests keep their distances in time" {
  printf '%s a\n' 100 100.2 100.4 | tac >short.log
  run -0 --separate-stderr rlctl burst --replay short.log --clock real "${two[@]}" -o sent.jsonl
  assert_line --regexp '^times +from the first request +2[0-9-]+T'
  run -0 --separate-stderr rlctl burst --replay short.log --clock real "${two[@]}" --json -o sent.jsonl
  # On a busy machine the first request may be sent late, by at most the lag.
  local lag
  lag=$(gojq '.runs[0].lag_us' <<<"$output")
  run -0 gojq -s --argjson lag "$lag" '.[2].at_us - .[0].at_us >= 400000 - $lag - 1' sent.jsonl
  assert_output true
  run -0 gojq -s -c 'map(.allowed)' sent.jsonl
  assert_output '[true,true,false]'
  (($(gojq -s '.[0].at_us' sent.jsonl) > 1700000000000000))
}

@test "on another server nothing is left after a replay" {
  start_server
  random_log >random.log
  run -0 --separate-stderr rlctl burst --replay random.log -s "$socket" --limit 9/10s gcra --json
  assert_equal "$(cli DBSIZE)" 0
  (($(cli INFO commandstats | sed -n 's/^cmdstat_evalsha:calls=\([0-9]*\),.*/\1/p') >= 3000))
}

@test "for an object without the required fields, the existing fields are named" {
  echo '{"when":"2026-11-20T06:11:10Z","user":{"id":"a"},"level":"info"}' >app.jsonl
  run -2 rlctl burst --replay app.jsonl --model "${two[@]}"
  assert_output --partial "jsonl is nearest, but it has no field for the key, but when, user.id, level"
  assert_output --partial 'hint: --fields time=NAME,key=NAME names the fields'
  run -2 rlctl burst --replay app.jsonl --model "${two[@]}" --fields time=when,key=userid
  assert_output --partial "it has no field 'userid', but when, user.id, level"
}

@test "a cost field that no line has is an error, not a cost of 1" {
  echo '{"time":1795155070,"ip":"192.0.2.1","weight":2}' >weights.jsonl
  run -0 rlctl burst --replay weights.jsonl --model "${two[@]}" --fields cost=weight --json
  assert_equal "$(gojq .runs[0].worst.allowed <<<"$output")" 2
  run -0 rlctl burst --replay weights.jsonl --model "${two[@]}" --fields cost= --json
  assert_equal "$(gojq .runs[0].worst.allowed <<<"$output")" 1
  run -2 rlctl burst --replay weights.jsonl --model "${two[@]}" --fields cost=wieght
  assert_output --partial "weights.jsonl: no line has the field 'wieght'"
}

@test "the share of denied requests is in the table and can be asserted" {
  run -0 rlctl burst --replay epoch.log "${two[@]}" --model --assert 'denied_share<=0.2'
  assert_line --regexp '^sliding-window-log +5 +4 +1 +20\.000 % '
  run -1 rlctl burst --replay epoch.log "${two[@]}" --model -q --assert 'denied_share<0.2'
  assert_output --partial 'sliding-window-log has 0.2'
}

@test "with different costs, no smaller limit in the table would do" {
  { echo 1795155060 k 6 && for _ in 1 2 3 4 5 6 7 8 9; do echo 1795155061 k 1; done; } >costs.log
  run -0 rlctl burst fixed-window --replay costs.log --limit 6/60s --suggest 50% --model --json
  assert_equal "$(gojq -c '.runs[0].suggestion | [.limit, .tried[0].limit, .tried[0].share > 0.5]' <<<"$output")" '[5,2,true]'
}

@test "--ipv6-prefix counts the addresses of a network as one client" {
  local at=1795155070 address bits
  for address in 2001:db8::1 2001:DB8::2 '[2001:db8::3]:443' ::ffff:192.0.2.1 192.0.2.1 ann; do
    echo "$((at++)) $address"
  done >epoch.log
  run -0 rlctl burst --replay epoch.log "${two[@]}" --ipv6-prefix 64 --model --json
  assert_equal "$(counts)" '[6,5,1,3,1]'
  assert_equal "$(jq -c '.runs[0].top_denied' <<<"$output")" '[{"key":"2001:db8::/64","denied":1}]'
  assert_equal "$(jq -r .command <<<"$output")" \
    'rlctl burst sliding-window-log --limit 2/10s --model --replay epoch.log --ipv6-prefix 64'
  run -0 rlctl burst --replay epoch.log "${two[@]}" --model --json
  assert_equal "$(counts)" '[6,6,0,6,0]'
  for bits in 0 129 /64 ''; do
    is_mistake "--ipv6-prefix" --replay epoch.log --ipv6-prefix "$bits"
  done
}

@test "with --ipv6-prefix, --suggest finds the limit of a client" {
  local i
  for i in {1..9}; do echo "179515507$i 2001:db8::$i"; done >epoch.log
  suggested() {
    rlctl burst sliding-window-log --replay epoch.log --limit 1/60s --model --suggest 0% --json "$@" |
      gojq '.runs[0].suggestion.limit'
  }
  assert_equal "$(suggested)" 1
  assert_equal "$(suggested --ipv6-prefix 64)" 9
}

@test "requests that would take more than half of the available memory are an error" {
  [[ $RLCTL_BUILD != *sanitize* ]] || skip 'a sanitizer needs more address space'
  ulimit -v 100000
  run -2 rlctl burst --replay - "${two[@]}" --model < <(yes '1795155070 a')
  assert_line --regexp '^rlctl: burst: not enough memory: the first [0-9,]+ requests, of 1 key, take more than half of the [0-9]+ MB available$'
  assert_line --partial 'replay a part of the log: head -n N FILE | rlctl burst --replay -'
}
