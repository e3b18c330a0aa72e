# needs: server
# The ACL rules in rlctl-acl(7): with exactly these a user can use each command, and each of them is needed. That they
# are the rules of the hints is a test of needs_test.cc.
# shellcheck disable=SC2046 # one word for each rule

load ../support/common
load ../support/cluster

# What servers say; within a script, without NOPERM.
says_refused="NOPERM|can't run|no permissions"

search='a search without --limit'
algorithms='fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra leaky-bucket budget'

setup_file() {
  start_server
  fill
}
setup() { cli FLUSHDB >/dev/null; }

# rules_of NAME…: the rules of these rows of the page, each once, on one line.
rules_of() {
  perl -e '
    my ($page, @names) = @ARGV;
    open my $file, "<", $page or die "$page: $!";
    my $text = join "", <$file>;
    my %rules;
    for my $name (@names) {
      my ($row) = $text =~ /^\*\Q$name\E\*\n((?:\t\+.*\n)+)/m or die "rlctl-acl(7) has no row $name\n";
      $rules{$_} = 1 for split " ", $row;
    }
    print join(" ", sort keys %rules), "\n"' "$project/man/rlctl-acl.7.scd" "$@"
}

# user RULE…: the user limiter may do this with the keys of login:* and of burst, and nothing else.
user() { cli <<<"$user $*" >/dev/null; }
user='ACL SETUSER limiter reset on >pw ~login:* ~{login:* ~throttled:* ~{throttled:* ~rlctl-burst:*'

# limiter COMMAND…: whether rlctl does it for this user; a denial is an answer. $refusal has what it prints.
limiter() {
  local status=0
  refusal=$(REDISCLI_AUTH=pw rlctl "$1" --user limiter "${@:2}" 2>&1) || status=$?
  if ((status > 1)) || [[ $refusal =~ $says_refused ]]; then
    echo "status $status: $*"
    return 1
  fi
}

# needs_each USE RULE…: the shell function USE succeeds with all of the rules, and does not without any one of
# them; then status 4, or $refused, comes with the rule that is missing, and status 0 if the rule is one of $warned. Without
# one of $optional it succeeds. A sixth of the rules is tried, which $number counts over all uses of a test.
needs_each() {
  local use=$1 rule other rest expected
  shift
  for rule in ${optional-} ${warned-}; do [[ " $* " == *" $rule "* ]] || fail "$rule is none of: $*"; done
  cli FLUSHDB >/dev/null
  user "$@"
  run "$use"
  assert_success
  for rule in "$@"; do
    its_turn "$((number++))" 6 || continue
    rest=()
    for other in "$@"; do [[ $other == "$rule" ]] || rest+=("$other"); done
    cli <<<$'FLUSHDB\nSCRIPT FLUSH\n'"$user ${rest[*]}" >/dev/null
    if [[ " ${optional-} " == *" $rule "* ]]; then
      run "$use"
      assert_success
      continue
    fi
    expected=${refused:-4}
    if [[ " ${warned-} " == *" $rule "* ]]; then expected=0; fi
    if "$use" >"$BATS_TEST_TMPDIR/out"; then fail "$use does not need $rule"; fi
    assert_regex "$(<"$BATS_TEST_TMPDIR/out")" "^status $expected: "
    assert_regex "$refusal" "$says_refused"
    # Without SCAN, the hint is how to do without; quota and the warnings of run have none.
    if [[ $rule == +scan || -n ${refused-}${warned-} ]]; then
      rule=${rule#+}
      assert_regex "$refusal" "'${rule%|*}"
      continue
    fi
    assert_regex "$refusal" "(ACL SETUSER limiter|needs) (.* )?'?\\${rule//|/\\|}'?([[:space:];\"]|$)"
  done
}

# What a limiter is asked for: limits and windows that change, several limits, looks, refunds, batches, and a
# clock of the caller, which goes on and back.
asks() {
  local check=(check --algorithm "$algorithm") t=1800000000000000 at limit
  limiter "${check[@]}" --batch --limit 3/60s <<<$'login:ann\nlogin:ann\nlogin:ann\nlogin:ann\nlogin:bob' || return
  for limit in 2/60s 5/1h 5/10s; do
    limiter "${check[@]}" login:ann --limit "$limit" || return
    limiter "${check[@]}" --batch --peek --limit "$limit" <<<$'login:ann\nlogin:eve' || return
  done
  for at in 0 70 200 100 9000; do
    limiter "${check[@]}" --batch --limit 3/60s --now "$((t + at * 1000000))" <<<$'login:cy\nlogin:cy' || return
  done
  for limit in 3/10s 9/2h; do
    limiter "${check[@]}" login:eve --limit 2/60s --limit "$limit" || return
  done
  # By the server's clock and by the caller's.
  limiter "${check[@]}" login:mix --limit 3/60s || return
  limiter "${check[@]}" login:mix --limit 3/60s --now "$EPOCHSECONDS"000000 || return
  limiter "${check[@]}" login:ann --limit 3/60s --wait=1us || return
  [[ $algorithm != leaky-bucket ]] || return 0
  limiter "${check[@]}" --batch --refunds --limit 3/60s \
    <<<$'login:one\t2\nlogin:one\t-1\nlogin:one\t-1\nlogin:ann\t-9\nlogin:cy\t-9'
}

# Keys of every algorithm, with one limit and with several, in the database 1. Their windows outlast the tests.
fill() {
  local algorithm
  for algorithm in $algorithms; do
    rlctl check -q -n 1 "login:$algorithm" --algorithm "$algorithm" --limit 5/1000d
    rlctl check -q -n 1 "login:many-$algorithm" --algorithm "$algorithm" --limit 5/1000d --limit 9/1100d
  done
  rlctl run -n 1 login:leases --concurrency 2 -- true
  # Full, so that all reservations are read.
  cli -n 1 --eval "$project/lua/budget.lua" login:budget , 5 86400000000000 '' 4 '' reserve me 86400000000 >/dev/null
  cli -n 1 --eval "$project/lua/concurrency.lua" login:held , 3 86400000000 acquire host:1:2 >/dev/null
  cli -n 1 HSET throttled:v1:token_bucket:ann tokens 3 last_refreshed 1800000000 >/dev/null
}

# Makes these keys those of the user.
copies="
  redis.call('FLUSHDB')
  redis.call('SELECT', 1)
  local copies = {}
  for _, key in ipairs(redis.call('KEYS', '*')) do copies[key] = redis.call('DUMP', key) end
  redis.call('SELECT', 0)
  for key, copy in pairs(copies) do redis.call('RESTORE', key, 86400000, copy) end"
fills() { cli EVAL "$copies" 0 >/dev/null; }

inspects() {
  fills
  local name at t=1800000000000000
  for name in log zset; do
    # More than are read at once, of which some have left the window.
    for at in 0 50; do
      rlctl check -q "login:long-$name" --algorithm "sliding-window-$name" --limit 4000/60s --cost 2000 \
        --now $((t + at * 1000000))
    done
    limiter inspect "login:long-$name" --limit 4000/60s --now $((t + 70000000)) || return
    limiter inspect "login:many-sliding-window-$name" || return
  done
  limiter inspect login:gcra login:fixed-window login:leases throttled:v1:token_bucket:ann --json || return
  limiter inspect login:budget
}

lists() {
  local now
  fills
  now=$(date +%s)
  cli RPUSH login:pruned "$((now - 70))000000" "${now}000000" >/dev/null
  cli PEXPIRE login:pruned 75000 >/dev/null
  cli HSET login:hash tokens 1 >/dev/null
  cli EVAL "$(<"$project/lua/concurrency.lua")" 1 login:nightly 3 600000000 acquire other >/dev/null
  limiter list 'login:*' --limit 1/60s --json
}

asks_quota() {
  fills
  limiter quota login:gcra login:sliding-window-log login:sliding-window-zset throttled:v1:token_bucket:ann \
    --limit 5/1000d || return
  limiter quota login:budget --critical 100% || return
  # Its request has left the window, so the others are counted.
  limiter quota login:sliding-window-zset --limit 5/1ms || return
  limiter quota login:many-gcra login:many-sliding-window-zset --limit 5/1000d --limit 9/1100d
}

resets() {
  fills
  limiter reset login:gcra login:sliding-window-log login:sliding-window-zset --limit 5/1000d || return
  limiter reset login:many-gcra login:leases || return
  limiter reset --force throttled:v1:token_bucket:ann || return
  limiter reset --match 'login:*' --yes
}

loads_scripts() { limiter scripts load; }

saves() {
  fills
  cli HSET login:hash f v >/dev/null
  cli SADD login:set m >/dev/null
  rm -f "$BATS_TEST_TMPDIR/saved"
  limiter reset --match 'login:*' --force --yes --save "$BATS_TEST_TMPDIR/saved"
}

restores() {
  [[ -e $BATS_TEST_TMPDIR/kept ]] || { fills && rlctl reset -q --match 'login:*' --yes --save "$BATS_TEST_TMPDIR/kept" && cli FLUSHDB >/dev/null; }
  limiter reset --restore "$BATS_TEST_TMPDIR/kept"
}

# With a lease of somebody else, and alone; a lease of a second is renewed after a third of it.
leases() {
  cli EVAL "$(<"$project/lua/concurrency.lua")" 1 login:nightly 3 600000000 acquire other >/dev/null
  limiter run login:nightly --concurrency 3 --lease 1s -- sleep 2 || return
  limiter run login:weekly --concurrency 3 --lease 1s -- true
}

@test "run with --limit and --concurrency needs the rules of both algorithms" {
  local rules
  read -ra rules < <(rules_of sliding-window-log concurrency)
  user "${rules[@]}"
  limiter run login:nightly --limit 1/60s --concurrency 2 -- true
  REDISCLI_AUTH=pw run -75 rlctl run --user limiter login:nightly --limit 1/60s --concurrency 2 -- true
}

bursts() {
  limiter burst steady --rate 50/s --limit 5/1s sliding-window-log --socket "$socket"
}

@test "burst is granted COMMAND GETKEYS, and no other COMMAND" {
  echo 'return redis.call("INCR", KEYS[1]) <= 5 and 1 or 0' >"$BATS_TEST_TMPDIR/counter.lua"
  user +evalsha '+script|load' +time
  if limiter burst --limit 5/60s "$BATS_TEST_TMPDIR/counter.lua" --socket "$socket"; then fail 'needs it'; fi
  assert_regex "$refusal" "grant it: ACL SETUSER limiter '[+]command[|]getkeys'"
}

debugs() {
  cli RPUSH login:list a >/dev/null
  cli SADD login:set a >/dev/null
  cli HSET login:hash a 1 >/dev/null
  cli ZADD login:zset 1 a >/dev/null
  cli SET login:text a >/dev/null
  echo 'return 1' >"$BATS_TEST_TMPDIR/one.lua"
  limiter debug "$BATS_TEST_TMPDIR/one.lua" login:{list,set,hash,zset,text} --trace
}

# uses: a line for each way to use a command: the function, its rules, those that are optional, those whose lack is but a
# warning, because keys or a lease stay, and the status without another, if that is not 4. What a script calls depends
# on its keys, and the clock of burst is the caller's.
uses() {
  local algorithm optional
  for algorithm in $(scaled 'gcra budget' "$algorithms"); do
    optional=''
    if [[ $algorithm == budget ]]; then optional='+hgetall +hdel'; fi
    echo "asks $algorithm;$(rules_of "$algorithm");$optional;;"
  done
  cat <<TABLE
inspects;$(rules_of inspect "$search");;;
lists;$(rules_of list);;;
asks_quota;$(rules_of quota);;;3
resets;$(rules_of reset "$search");;;
loads_scripts;$(rules_of 'scripts load');;;
saves;$(rules_of reset "$search" 'reset --save');;;
restores;$(rules_of 'reset --restore');;;
leases;$(rules_of concurrency);;+zrem +del;125
bursts;$(rules_of burst sliding-window-log);+time;+unlink;
debugs;$(rules_of debug);;;
TABLE
}

@test "each command needs each rule of its row, and check those of its algorithm" {
  local use rules optional warned refused algorithm number=0
  while IFS=';' read -r -u 9 use rules optional warned refused; do
    algorithm=${use#asks }
    # shellcheck disable=SC2086 # one word for each rule
    needs_each "${use%% *}" $rules
  done 9< <(uses)
}

# takes_one_hint COMMAND…: rlctl does not do it for a user without rules; and does once the ACL command that it
# then prints has been called. $granted has the rules of that.
takes_one_hint() {
  local command
  prepare
  if limiter "$@" >/dev/null; then fail "needs no rules: $*"; fi
  # inspect says it of each key.
  command=$(grep -oE "ACL SETUSER limiter( '?[+][^] ,;\"']+'?)+" <<<"$refusal" | sort -u)
  assert_equal "$(wc -l <<<"$command")" 1
  command=${command//\'/}
  granted=$(xargs -n 1 <<<"${command#*limiter }" | LC_ALL=C sort | xargs)
  prepare "$command"
  limiter "$@" || fail "$command: $refusal"
  refute_regex "$refusal" "$says_refused|needs"
}

# prepare [COMMAND]: the keys for takes_one_hint, a user without rules, and then this.
prepare() {
  cli <<END >/dev/null
SCRIPT FLUSH
EVAL "${copies//$'\n'/ }" 0
$user
${1-}
END
  rm -f "$BATS_TEST_TMPDIR/new"
}

# Half of the rows are tried.
@test "a user without rules is told at once all that a command needs" {
  local rows names command number=0
  prepare
  rlctl reset -q --match 'login:gcra' --yes --save "$BATS_TEST_TMPDIR/saved"
  cd "$BATS_TEST_TMPDIR"
  while IFS='|' read -r rows command; do
    its_turn "$((number++))" 2 || continue
    set -f
    # shellcheck disable=SC2086 # one word for each argument
    takes_one_hint $command
    set +f
    IFS=, read -ra names <<<"$rows"
    assert_equal "$granted" "$(rules_of "${names[@]}")"
  done <<TABLE
fixed-window|check login:ann --limit 5/60s --algorithm fixed-window
sliding-window-log|check login:ann --json --limit 5/60s --limit 9/1h --algorithm sliding-window-log
gcra|check login:ann --peek --limit 5/60s --algorithm gcra
inspect,$search|inspect login:gcra
inspect,$search|inspect login:sliding-window-log login:sliding-window-zset --json
inspect,$search|inspect login:none
inspect|inspect login:gcra --limit 5/1000d
list|list
list|list login:* --json --limit 1/60s
audit|audit login:held
audit|audit login:held --json
quota|quota login:gcra
quota|quota login:many-gcra --json
reset|reset login:gcra --limit 5/1000d
reset|reset login:gcra
reset,$search|reset --match login:* --yes --json
reset|reset login:many-gcra
reset --dry-run,$search|reset --match login:* --dry-run
reset,$search,reset --save|reset --match login:* --yes --save new
reset --restore --dry-run|reset --restore saved --replace --dry-run
reset --restore|reset --restore saved --replace
inspect,$search,concurrency,budget|reset login:held --holder host
sliding-window-log|run login:nightly --limit 1/60s -- true
concurrency|run login:nightly --concurrency 2 -- true
sliding-window-log,concurrency|run login:nightly --limit 1/60s --concurrency 2 -- true
TABLE
  takes_one_hint burst steady --rate 50/s --limit 5/1s gcra --socket "$socket"
  takes_one_hint debug gcra login:gcra --limit 5/1000d --trace
  # What only looks is not granted what removes.
  takes_one_hint reset --match 'login:*' --dry-run
  refute_regex "$granted" 'unlink|evalsha'
  takes_one_hint reset --restore saved --replace --dry-run
  refute_regex "$granted" '[+]restore'
  takes_one_hint inspect login:gcra --limit 5/1000d
  refute_regex "$granted" 'scan'
  takes_one_hint reset login:budget --holder me
  assert_regex "$granted" 'scan'
  takes_one_hint reset login:budget --holder me --limit 5/1000d
  refute_regex "$granted" 'scan'
}

# cluster_user RULE…: the user limiter, on every node.
cluster_user() {
  local socket
  for socket in "${cluster_sockets[@]}"; do user "$@"; done
}

@test "in a Cluster, check also needs CLUSTER SLOTS, and ASKING while its slot moves; one hint names the rules for all nodes" {
  local rules key slot to url command socket
  start_cluster 2
  read -ra rules < <(rules_of sliding-window-log)
  cluster_user "${rules[@]}" '+cluster|slots' +asking
  for key in a b c d e; do limiter check "login:$key" --limit 2/60s; done
  slot=$(slot_of login:moving)
  to=$((1 - $(node_of_slot "$slot")))
  begin_move "$slot" "$to"
  limiter check login:moving --limit 2/60s
  assert_equal "$(node_cli "$to" CLUSTER COUNTKEYSINSLOT "$slot")" 1

  # Without ASKING, it is referred to and fro until the timeout.
  cluster_user "${rules[@]}" '+cluster|slots'
  run -1 limiter check login:moving --limit 2/60s --timeout 1s
  cluster_user "${rules[@]}" +asking
  run -1 limiter check login:moving --limit 2/60s
  assert_output --partial 'status 4:'

  for ((to = 0; to < 2; to++)); do node_cli "$to" FLUSHALL >/dev/null; done
  if node_cli 0 INFO server | grep -q '^redis_version:6.0'; then skip 'needs Redis 6.2'; fi
  for url in "unix://${cluster_sockets[0]}" "redis+cluster://$cluster"; do
    for command in 'check login:a --limit 2/60s' 'inspect login:b' list 'reset --match login:* --yes'; do
      # shellcheck disable=SC2086 # one word for each argument
      set -f && set -- $command && set +f
      cluster_user
      if limiter "$@" --url "$url"; then fail "needs no rules: $*"; fi
      assert_regex "$refusal" ', on each node: ACL SETUSER limiter '
      for socket in "${cluster_sockets[@]}"; do
        eval "cli $(grep -o 'ACL SETUSER .*' <<<"$refusal")" >/dev/null
      done
      limiter "$@" --url "$url" || fail "$refusal"
    done
  done
}
