# needs: server
load ../../support/common

# What `rlctl inspect` finds and prints; text_test.cc and json_test.cc have its output in full, and
# state/inspection_test.cc the figures. Requests and looks use given times, so that every number is known: t
# SECONDS is that long after noon of a certain day.

setup_file() { start_server; }
setup() { cli FLUSHALL >/dev/null; }

noon=1767268800
t() {
  local fraction=000000
  if [[ $1 == *.* ]]; then fraction=${1#*.}000000; fi
  printf '%d%s' $((noon + ${1%.*})) "${fraction::6}"
}

limiters=(fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra
  leaky-bucket budget)

# take NAME COST SECONDS: takes COST units of 10 per 60 s from the key NAME.
take() { rlctl check -q "$1" --limit 10/60s --algorithm "$1" --cost "$2" --now "$(t "$3")"; }
# lease ID SECONDS FOR: acquires one of three leases of the key job, for FOR seconds.
lease() {
  cli --eval "$project/lua/concurrency.lua" job , 3 "${3}000000" acquire "$1" "$(t "$2")" >/dev/null
}

@test "each algorithm's state has its figures, now and at another time" {
  local name
  for name in "${limiters[@]}"; do take "$name" 7 0; done
  run -0 rlctl inspect "${limiters[@]}" --limit 10/60s --now "$(t 1)" --json
  assert_equal "$(gojq -r '[.key, .algorithm, .limit, .window_us, .used] | join(" ")' <<<"$output")" \
    "$(for name in "${limiters[@]}"; do echo "$name $name 10 60000000 7"; done)"
  # One more passes a queue: it does not wait.
  assert_equal "$(gojq -r .remaining <<<"$output" | xargs)" '3 3 3 3 3 3 4 3'
  run -0 rlctl inspect "${limiters[@]}" --limit 10/60s --now "$(t 200)" --json
  assert_equal "$(gojq -sc 'map([.used, .next_free_us, .reset_after_us]) | unique' <<<"$output")" '[[0,0,0]]'
}

@test "a time far in the future is explained, and so is a key that expires before it" {
  local name tomorrow
  tomorrow=$(($(cli TIME | head -n 1) + 86400))000000
  for name in gcra leaky-bucket fixed-window sliding-window-log; do
    rlctl check -q "$name" --limit 10/60s --algorithm "$name" --now "$tomorrow"
    run -0 rlctl inspect "$name" --limit 10/60s
    assert_line --regexp '^           it expires before that, in 1h[0-9]+m[0-9]+s, and is then as if unused$'
  done
  for name in gcra leaky-bucket; do
    run -0 rlctl inspect "$name"
    assert_line --regexp '^used       14[0-9]{3} of 1[01] '
    assert_line --regexp '^           █+ >999 %$'
    assert_line '           more than the burst: a clock was ahead, or the limit was changed'
    rlctl check -q "$name:now" --limit 10/60s --algorithm "$name" --cost 10
    run -0 rlctl inspect "$name:now"
    refute_output --partial 'expires before'
    refute_output --partial 'more than'
  done
}

@test "a window other than the stored one is said to extend it, or to apply later" {
  local name
  for name in fixed-window sliding-window-counter; do
    take "$name" 7 0
    run -0 rlctl inspect "$name" --limit 100/1h --now "$(t 10)"
    assert_line --regexp '^used       7 of 100 '
    assert_line '           the stored window, 60 s, is extended by a request in one of 1 h'
    run -0 rlctl inspect "$name" --limit 100/20s --now "$(t 10)"
    assert_line '           the stored window, 60 s, applies while it counts; 20 s after that'
    run -0 rlctl inspect "$name" --limit 100/60s --now "$(t 10)"
    refute_output --partial 'stored window'
    run -0 rlctl inspect "$name" --limit 100/1h --now "$(t 200)"
    refute_output --partial 'stored window'
  done
}

@test "a longer window that ends before the stored one is not said to extend it; a counter tells what it carries" {
  local name
  for name in fixed-window sliding-window-counter; do
    take "$name" 7 60
    run -0 rlctl inspect "$name" --limit 100/90s --now "$(t 65)"
    assert_line '           the stored window, 60 s, applies while it counts; 90 s after that'
  done
  run -0 rlctl inspect sliding-window-counter --limit 100/20s --now "$(t 150)"
  assert_line '           the stored window, 60 s, has ended; a request begins one of 20 s'
  assert_line --regexp '^used       4 of 100 '
  assert_line --regexp '^previous   7 +50 % of it counts$'
  run -0 rlctl inspect sliding-window-counter --limit 100/1h --now "$(t 150)"
  assert_line --regexp '^used       7 of 100 '
  assert_line --regexp '^previous   7 +100 % of it counts$'
}

@test "nothing is written, and no TTL changes" {
  local name before
  for name in "${limiters[@]}"; do take "$name" 3 0; done
  lease a 0 60
  cli SET number 42
  changes() { cli INFO persistence | grep rdb_changes; }
  before=$(changes)
  run -0 rlctl inspect "${limiters[@]}" job number --entries all --now "$(t 300)"
  run -0 rlctl inspect "${limiters[@]}" job number --json
  run -1 rlctl inspect missing
  assert_equal "$(changes)" "$before"
}

@test "an ACL user needs exactly the permissions in the manual" {
  local name commands
  for name in "${limiters[@]}"; do take "$name" 7 0; done
  lease a 0 60
  rlctl check -q api --limit 10/s --limit 100/m
  read -ra commands < <(sed -n '/^+time/,/^```/{/^```/!p}' "$project/man/rlctl-inspect.1.scd" | xargs)
  ((${#commands[@]} > 9))
  cli ACL SETUSER reader on '>secret' '~*' "${commands[@]}"
  export REDISCLI_AUTH=secret
  run -0 rlctl inspect --user reader "${limiters[@]}" job --limit 5/60s --now "$(t 1)"
  run -0 rlctl inspect --user reader api
  # redis-cli connects as the default user.
  unset REDISCLI_AUTH
  cli ACL SETUSER reader -memory -getrange
  export REDISCLI_AUTH=secret
  run -0 rlctl inspect --user reader sliding-window-log
  assert_line --regexp '^key        sliding-window-log +list, ttl '
  run -4 rlctl inspect --user reader gcra
  assert_output --partial 'getrange'
  unset REDISCLI_AUTH
  cli ACL DELUSER reader
}

@test "--entries lists a number of the newest entries, or all" {
  local i
  for ((i = 1; i <= 25; i++)); do rlctl check -q k --limit 100/60s --now "$(t "$i")"; done
  run -0 rlctl inspect k --limit 100/60s --now "$(t 30)"
  assert_line '  5 more, older'
  assert_equal "$(grep -c ' ago ' <<<"$output")" 20
  assert_line 'entries    25, oldest first'
  run -0 rlctl inspect k --limit 100/60s --now "$(t 30)" --entries 2
  assert_line '  23 more, older'
  assert_equal "$(grep -c ' ago ' <<<"$output")" 2
  run -0 rlctl inspect k --limit 100/60s --now "$(t 30)" --entries 0
  assert_line 'entries    25'
  refute_line --partial 'more, older'
  run -0 rlctl inspect k --limit 100/60s --now "$(t 30)" --entries all --json
  assert_equal "$(gojq -c '[.stored, (.entries | length)]' <<<"$output")" '[25,25]'
}

# budget COST SECONDS [ACTION ID [HOLD]]: a call about 100 units an hour of the key tokens.
budget() {
  cli --eval "$project/lua/budget.lua" tokens , 100 3600000000 '' "$1" "$(t "$2")" "${@:3}" >/dev/null
}
# A budget that has spent 31 units and holds 40; web:2 has lapsed.
budgets() {
  budget 11 0
  budget 30 0 reserve web:1 60000000
  budget 20 1 settle web:1
  budget 25 1 reserve web:2 30000000
  budget 40 30.5 reserve $'web\n3' 90000000
}

@test "a budget shows what is spent and held, by whom and until when" {
  budgets
  run -0 rlctl inspect tokens --now "$(t 41)"
  assert_line --partial 'algorithm  budget                 limit 100 per 1 h'
  assert_line 'used       71 of 100              29 remaining, empty in 59m19s'
  assert_line 'spent      31'
  assert_line 'held       40                     by 1 reservation'
  assert_line --partial 'window     from 2026-01-01T12:00:00Z'
  assert_line 'written    2026-01-01T12:00:30.500000Z  10.500 s ago'
  assert_equal "$(sed -n '/^known/,$p' <<<"$output")" 'known IDs  3, by the end of their holds
  2026-01-01T12:00:31.000000Z  lapsed 10.000 s ago  25  web:2
  2026-01-01T12:01:00.000000Z              settled  20  web:1
  2026-01-01T12:02:00.500000Z   lapses in 79.500 s  40  web\n3'
  run -0 rlctl inspect tokens --now "$(t 41)" --entries 1
  assert_line '  2 more, whose holds end before these'
  refute_line --partial 'web:1'
  # The window has ended: what is held is held still.
  run -0 rlctl inspect tokens --now "$(t 3600)" --json
  assert_equal "$(gojq -c '[.used, .spent, .held, .stored]' <<<"$output")" '[0,0,0,0]'
}

@test "a budget in JSON has its reservations, held, lapsed and settled" {
  budgets
  run -0 rlctl inspect tokens --now "$(t 41)" --json
  assert_equal "$(jq -c '[.used, .spent, .held, .stored, .next_free_us], .reservations[]' <<<"$output")" \
    "[71,31,40,3,0]
{\"id\":\"web:2\",\"state\":\"lapsed\",\"units\":25,\"until_us\":$(t 31),\"forgotten_at_us\":$(t 61)}
{\"id\":\"web:1\",\"state\":\"settled\",\"units\":20,\"until_us\":$(t 60),\"forgotten_at_us\":$(t 120)}
{\"id\":\"web\\n3\",\"state\":\"held\",\"units\":40,\"until_us\":$(t 120.5),\"forgotten_at_us\":$(t 210.5)}"
  # Another limit, under which nothing fits until the hold ends.
  run -0 rlctl inspect tokens --limit 70/1h --now "$(t 41)" --json
  assert_equal "$(jq -c '[.remaining, .next_free_us]' <<<"$output")" '[0,79500000]'
}

@test "leases without their limit have a hint how to give it" {
  lease web:1 0 60
  run -0 rlctl inspect job --now "$(t 10)"
  assert_line 'used       1 of 3                 2 remaining, empty in 50.000 s'
  cli ZREM job limit
  run -0 rlctl inspect job --now "$(t 10)"
  assert_line 'algorithm  concurrency            limit not stored; pass --limit'
  assert_line '           for 3 leases, pass --limit 3/1s; leases ignore the window'
}

@test "terminal control bytes in a key are escaped" {
  local key=$'a\e[31m b\n\xff"'
  rlctl check -q --limit 5/60s -- "$key"
  run -0 rlctl inspect -- "$key"
  assert_line --regexp '^key        a\\x1b\[31m\\x20b\\n\\xff" '
  run -0 rlctl inspect --json -- "$key"
  assert_equal "$(gojq -r .key <<<"$output")" $'a\e[31m b\n\\xff"'
}

@test "a missing key that looks like a pattern gets a warning, and --match says if nothing matches" {
  run -1 --separate-stderr rlctl inspect 'login:*'
  assert_equal "$stderr" 'rlctl: inspect: warning: a KEY is taken literally; --match takes a pattern'
  run -1 --separate-stderr rlctl inspect --match 'login:*'
  assert_output ''
  assert_equal "$stderr" 'no limiter matches'
  run -1 --separate-stderr rlctl inspect --match 'login:*' --json
  assert_output ''
  assert_equal "$stderr" ''
}

@test "for a missing key the status is 1, and for a key that is not a limiter's 5" {
  run -1 rlctl inspect nobody
  assert_output "nobody: not found in $RLCTL_URL: the limiter is unused"
  run -1 rlctl inspect nobody --limit 5/60s
  assert_output --partial ': the limiter is unused; 5 remaining'
  cli HSET sessions a 1
  run -5 rlctl inspect sessions
  assert_line --regexp '^key        sessions +hash, [0-9]+ bytes, no ttl$'
  assert_line "           not a limiter's state"
}

@test "with several keys the worst status counts, and an empty line separates them" {
  take sliding-window-log 1 0
  cli HSET sessions a 1
  take gcra 1 0
  run -0 --keep-empty-lines rlctl inspect sliding-window-log gcra --entries 0
  assert_equal "$(grep -n '^$' <<<"$output" | head -n 1)" "$(($(grep -n '^key' <<<"$output" | tail -n 1 | cut -d: -f1) - 1)):"
  run -1 rlctl inspect sliding-window-log nobody
  run -5 rlctl inspect sessions sliding-window-log nobody
  run -0 rlctl inspect sliding-window-log gcra --json
  assert_equal "${#lines[@]}" 2
  run -0 rlctl inspect gcra gcra --json
  assert_equal "${#lines[@]}" 1
}

@test "keys of several limits are found by --limit or by their names, but not by a wrong name" {
  rlctl check -q api --limit 10/s --limit 100/m --now "$(t 0)"
  run -0 rlctl inspect api --limit 10/s --limit 100/m --now "$(t 0)"
  assert_line --regexp '^key        \{api\}:1s '
  assert_line --regexp '^used       1 of 100 '
  run -0 rlctl inspect api --json --now "$(t 0)"
  assert_equal "$(gojq -sc 'map([.key, .window_us, .used])' <<<"$output")" \
    '[["{api}:1s",1000000,1],["{api}:60s",60000000,1]]'
  run -0 rlctl inspect api --limit 10/s,100/h --now "$(t 0)" --json
  assert_equal "$(gojq -r .key <<<"$output" | paste -sd' ')" '{api}:1s {api}:3600s'
  run -1 rlctl inspect ap
  rlctl check -q api --limit 5/h --now "$(t 0)"
  run -0 rlctl inspect api --limit 10/s --limit 100/m --json
  assert_equal "$(gojq -r .key <<<"$output" | paste -sd' ')" '{api}:1s {api}:60s api'
}

policies() {
  cat >"$BATS_TEST_TMPDIR/config.toml" <<'END'
timeout = "120s"
[policy.login]
key = "login:%s"
limit = "5/60s"
[policy.api]
key = "api:%s"
limit = ["10/s", "100/min"]
[policy.mail]
key = "mail:%s"
algorithm = "gcra"
limit = "5/60s"
END
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config.toml
}

@test "a matching policy supplies the limit, and the keys of its several limits are found" {
  policies
  rlctl check -q login:ann --limit 5/60s --cost 5
  run -0 rlctl inspect login:ann
  assert_line "           the limit of policy 'login'"
  assert_line --regexp '^used       5 of 5 +next free in '
  run -1 rlctl inspect login:bob
  assert_output "login:bob: not found in $RLCTL_URL: the limiter is unused; 5 remaining (policy 'login')"
  rlctl check -q --policy api acme
  run -0 rlctl inspect api:acme --json
  assert_equal "$(gojq -sc 'map([.key, .limit])' <<<"$output")" '[["{api:acme}:1s",10],["{api:acme}:60s",100]]'
  run -0 rlctl inspect --policy login ann --json
  assert_equal "$(gojq -c '[.key, .limit]' <<<"$output")" '["login:ann",5]'
  run -0 rlctl inspect '{api:acme}:60s' --json
  assert_equal "$(gojq -c .limit <<<"$output")" 100
}

@test "the stored limit overrides a matching policy's, and --limit overrides both" {
  policies
  rlctl check -q mail:ann --limit 7/1d --algorithm gcra
  run -0 rlctl inspect mail:ann --json
  assert_equal "$(gojq -c '[.limit, .burst]' <<<"$output")" '[7,7]'
  run -0 rlctl inspect mail:ann
  assert_line '           stored 7/1d, policy 5/60s'
  refute_output --partial 'the limit of policy'
  run -0 rlctl inspect mail:ann --limit 9/60s --json
  assert_equal "$(gojq -c '[.limit, .burst, .limits_differ]' <<<"$output")" '[9,9,"stored 7/1d, --limit 9/60s"]'
  # What is used comes back at the stored rate.
  run -0 rlctl inspect mail:ann --limit 9/60s
  assert_line --regexp '^level .* one every 3h25m'
  run -0 rlctl inspect mail:ann --limit 7/1d --burst 9 --json
  assert_equal "$(gojq -c .limits_differ <<<"$output")" '"stored 7/1d burst 7, --limit 7/1d burst 9"'
  run -0 rlctl inspect mail:ann --limit 7/1d --json
  assert_equal "$(gojq -c .limits_differ <<<"$output")" null
}

@test "an algorithm other than the key's is a warning" {
  policies
  rlctl check -q mail:ann --limit 5/60s
  local options who
  while IFS='|' read -r options who; do
    # shellcheck disable=SC2086 # split into words
    run -0 --separate-stderr rlctl inspect $options
    assert_equal "$stderr" \
      "rlctl: inspect: warning: $who, but 'mail:ann' is sliding-window-log's state: check would fail"
  done <<'END'
mail:ann|policy 'mail' names gcra
mail:ann --limit 5/60s --algorithm fixed-window|--algorithm names fixed-window
--policy mail ann --json|policy 'mail' names gcra
END
  run -0 --separate-stderr rlctl inspect mail:ann --limit 5/60s
  assert_equal "$stderr" ''
}

@test "with --json an error is JSON" {
  run -3 --separate-stderr rlctl inspect k --json -s "$BATS_TEST_TMPDIR/nobody"
  assert_equal "$output$(gojq -r .error.code <<<"$stderr")" unreachable
}

# --- terminals --------------------------------------------------------------------------------------

# in_terminal COLUMNS COMMAND
in_terminal() { TERM=xterm script -qec "stty cols $1 rows 50; $2" /dev/null </dev/null; }
plain() { sed $'s/\r$//; s/\e\\[[0-9]*m//g'; }

@test "charts are as wide as is useful on the terminal" {
  needs_terminal
  take sliding-window-log 7 0
  local columns
  for columns in 40 200; do
    run -0 in_terminal "$columns" "rlctl inspect sliding-window-log --limit 10/60s --now $(t 1.5)"
    assert_line --regexp "^.*last 60 s[^ ]* .{$(((columns - 11) / 2))}"
  done
}

@test "the progress of a long scan is shown on a terminal but not in a pipe" {
  needs_terminal
  cli EVAL 'for i = 1, 5000 do redis.call("SET", "other:" .. i, i) end' 0
  # It has sent its request and gets no answer for more than a second.
  kill -STOP "$server_pid"
  run -1 at_terminal 'wait_until eval "sleeps \$(<$BATS_TEST_TMPDIR/pid)"; sleep 1.2; kill -CONT "$server_pid"' \
    "stty cols 80; echo \$\$ >$BATS_TEST_TMPDIR/pid; exec rlctl inspect nobody"
  run -0 cat "$BATS_TEST_TMPDIR/screen"
  assert_output --regexp $'\r *[0-9]+%  of the database; Ctrl-C stops\e\\[K'
  assert_output --regexp $'\r\e\\[Knobody: not found in '"$RLCTL_URL"': the limiter is unused'
  cli CLIENT PAUSE 1300
  run -1 --separate-stderr rlctl inspect nobody
  assert_equal "$stderr" ''
}

@test "colours are used only for terminals that want them" {
  needs_terminal
  take sliding-window-log 10 0
  local command coloured
  command="rlctl inspect sliding-window-log --limit 10/60s --now $(t 1)"
  run -0 in_terminal 80 "$command"
  assert_line --partial $'\e[31m10 of 10\e[0m'
  coloured=$output
  run -0 in_terminal 80 "NO_COLOR=1 $command"
  refute_output --partial $'\e'
  assert_equal "$(plain <<<"$output")" "$(plain <<<"$coloured")"
  run -0 in_terminal 80 "TERM=dumb $command"
  refute_output --partial $'\e'
  run -0 bash -c "$command"
  refute_output --partial $'\e'
}

@test "without UTF-8, charts and gauges are ASCII" {
  take sliding-window-log 10 0
  take fixed-window 5 0
  run -0 env LC_ALL=C rlctl inspect sliding-window-log fixed-window --limit 10/60s --now "$(t 1)"
  refute_output --regexp $'[\x80-\xff]'
  assert_line --regexp '^ +#{20}-{20}  50 %$'
}

@test "an error of one key is reported with its name, and the others are shown" {
  take gcra 1 0
  cli RPUSH bad 1700000000000000 hello 1700000000000001
  run -5 --separate-stderr rlctl inspect gcra bad
  assert_line --regexp '^key        gcra '
  assert_equal "$stderr" "rlctl: inspect: 'bad': an entry is not a time: 'hello'"
  run -5 --separate-stderr rlctl inspect bad gcra --json
  assert_equal "$(gojq -r .key <<<"$output")" gcra
  assert_equal "$(gojq -r .error.message <<<"$stderr")" "'bad': an entry is not a time: 'hello'"
}

@test "the keys read before an error are shown" {
  take gcra 1 0
  cli ACL SETUSER default -getrange
  cli RPUSH list 1700000000000000
  run -4 --separate-stderr rlctl inspect list gcra
  assert_line --regexp '^key        list '
  assert_regex "$stderr" "^rlctl: inspect: 'gcra': unix://$socket: NOPERM"
  cli ACL SETUSER default +@all
}

@test "keys of several limits are shown with an existing key, and named if others are requested" {
  rlctl check -q --limit 5/60s --limit 9/h api
  rlctl check -q --limit 5/60s api
  run -0 rlctl inspect api --json
  assert_equal "$(gojq -sc 'map(.key)' <<<"$output")" '["api","{api}:60s","{api}:3600s"]'
  cli DEL api
  run -1 --separate-stderr rlctl inspect --limit 3/10s api
  assert_equal "$stderr" \
    "rlctl: inspect: warning: nothing is stored under the names of these limits, but there is '{api}:60s', '{api}:3600s'"
}

@test "other data under the name of one of several limits is shown like that of a plain key" {
  cli SET '{api}:60s' other
  run -5 rlctl inspect api
  assert_line --regexp '^key        \{api\}:60s +string, [0-9]+ bytes, no ttl$'
  assert_line "           not a limiter's state"
  # With a window that is not common, a scan finds it.
  cli RENAME '{api}:60s' '{api}:77s'
  run -5 rlctl inspect api --json
  assert_equal "$(gojq -c '[.key, .type, .algorithm]' <<<"$output")" '["{api}:77s","string",null]'
  rlctl check -q api --limit 10/s --limit 100/h
  cli RENAME '{api}:77s' '{api}:60s'
  run -5 rlctl inspect api --json
  assert_equal "$(gojq -sc 'map([.key, .algorithm])' <<<"$output")" \
    '[["{api}:1s","sliding-window-log"],["{api}:60s",null],["{api}:3600s","sliding-window-log"]]'
  # These limits do not use it.
  run -1 rlctl inspect api --limit 10/2s --limit 100/5s
  refute_output --partial 60s
}

@test "a plain key next to a policy's keys of several limits causes no warning" {
  policies
  rlctl check -q --policy api zed
  cli EVAL 'redis.call("SET", KEYS[1], struct.pack("<c6dI4I4d", "fixed ", 1.7e15, 1, 5, 6e7))' 1 api:zed
  run -0 --separate-stderr rlctl inspect --policy api zed
  assert_equal "$stderr" ''
}

@test "after -- a key may look like the interval of --watch" {
  take gcra 1 0
  cli RENAME gcra 5s
  run_with_timeout -0 bash -c 'rlctl inspect --json --watch -- 5s | head -n 1 | gojq -r .key'
  assert_output 5s
}

@test "a key whose time lies in the future is said to have been written by another clock" {
  local algorithm
  for algorithm in sliding-window-log sliding-window-zset token-bucket fixed-window sliding-window-counter; do
    rlctl check -q "$algorithm" --limit 5/60s --algorithm "$algorithm" --now "$(($(date +%s%6N) + 86400000000))"
    run -0 rlctl inspect "$algorithm" --limit 5/60s
    assert_output --partial 'in the future: a clock was ahead'
    # A window of 1,000 days: a fixed one does not end between the two commands.
    rlctl check -q "now $algorithm" --limit 5/1000d --algorithm "$algorithm"
    run -0 rlctl inspect "now $algorithm" --limit 5/1000d
    refute_output --partial 'in the future'
  done
}

@test "a user who may not read the keys of several limits sees the key itself" {
  rlctl check -q login:ann --limit 5/60s
  rlctl check -q login:ann --limit 5/60s --limit 9/1h
  cli ACL SETUSER half on '>secret' '~login:*' '+@all'
  REDISCLI_AUTH=secret run -0 --separate-stderr rlctl --user half inspect login:ann --json
  assert_equal "$(gojq -r .key <<<"$output")" login:ann
  assert_equal "$stderr" "rlctl: inspect: warning: this user may not read the keys that 'login:ann' has if it has several limits: '{login:ann}:...'"
  cli ACL DELUSER half
}
