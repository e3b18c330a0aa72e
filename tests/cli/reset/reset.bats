load ../../support/common
load ../../support/cluster

# `rlctl reset KEY…`; match.bats tests --match, and reset_test.cc the refusals, and
# reset_races_test.cc the races.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli ACL SETUSER default on nopass +@all '~*' >/dev/null
}

# ask KEY [OPTION…]: creates a limiter's state.
ask() { rlctl check -q --limit 5/60s "${@:2}" -- "$1"; }

# hold: the contents of every key, and whether it has a TTL.
hold() {
  local key
  cli --raw KEYS '*' | sort | while IFS= read -r key; do
    printf '%s %s %s\n' "$key" "$(cli DUMP "$key" | od -An -tx1 | tr -d ' \n')" "$(($(cli PTTL "$key") > 0))"
  done
}

@test "if the output is closed, the error says how many keys were removed, with SIGPIPE ignored too" {
  local key
  for key in a b; do ask "$key"; done
  without_reader 'rlctl reset a b'
  assert_equal "$stderr" 'rlctl: reset: standard output is closed; 2 keys had already been removed
status 2'
  assert_equal "$(cli DBSIZE)" 0
  ask a
  without_reader 'rlctl reset a --json'
  jq -ec '.error | .code == "output" and (.message | test("; 1 key had already been removed$"))' \
    <<<"${stderr_lines[0]}" || fail "$stderr"
}

@test "a limiter is reset" {
  ask login:ann
  run -0 --separate-stderr rlctl reset login:ann
  assert_output 'removed key=login:ann algorithm=sliding-window-log'
  assert_equal "$stderr" ''
  assert_equal "$(cli EXISTS login:ann)" 0
}

@test "each algorithm's state is recognized by its contents" {
  local algorithm
  for algorithm in fixed-window sliding-window-log sliding-window-zset sliding-window-counter \
    token-bucket gcra leaky-bucket; do
    # A long window: a fixed one does not end between the two commands.
    rlctl check -q k --limit 5/1000d --algorithm "$algorithm"
    run -0 rlctl reset k
    assert_output "removed key=k algorithm=$algorithm"
  done
  cli EVAL "$(<"$project/lua/concurrency.lua")" 1 k 5 60000000 acquire me >/dev/null
  run -0 rlctl reset k
  assert_output 'removed key=k algorithm=concurrency'
}

@test "if the key does not exist, the status is 1" {
  run -1 --separate-stderr rlctl reset login:bob
  assert_output 'none key=login:bob'
  assert_equal "$stderr" ''
}

@test "each of several keys has its line, in the given order" {
  ask b
  ask a --algorithm gcra
  run -1 rlctl reset b nothing a
  assert_output 'removed key=b algorithm=sliding-window-log
none key=nothing
removed key=a algorithm=gcra'
}

@test "a key that is given twice is reset once" {
  ask k
  run -0 rlctl reset --dry-run k k
  assert_output 'would-remove key=k algorithm=sliding-window-log'
  run -0 rlctl reset k k k
  assert_output 'removed key=k algorithm=sliding-window-log'
  ask api --limit 10/h
  run -0 rlctl reset api '{api}' api
  assert_output 'removed key={api}:60s algorithm=sliding-window-log
removed key={api}:3600s algorithm=sliding-window-log'
}

@test "a key that is not a limiter's is left with status 5, and a hint tells how to remove it" {
  cli HSET sessions f v
  run -5 --separate-stderr rlctl reset sessions
  assert_output 'left key=sessions type=hash reason=no-limiter-state'
  assert_equal "$stderr" "rlctl: reset: left 'sessions': it holds a hash that is not a limiter's state
  hint: rlctl inspect sessions shows what it holds; --force removes it anyway"
  assert_equal "$(cli HGET sessions f)" v
}

@test "a key that may be another program's is left" {
  cli SET page:views 17
  cli ZADD window 1700000000123 a
  cli RPUSH list 1 2 3
  local before
  before=$(hold)
  run -5 --separate-stderr rlctl reset page:views window list
  assert_output 'left key=page:views type=string algorithm=foreign-counter reason=foreign
left key=window type=zset algorithm=foreign-zset reason=foreign
left key=list type=list algorithm=sliding-window-log reason=uncertain'
  assert_regex "${stderr_lines[0]}" "^rlctl: reset: 3 keys were left; the first is 'page:views': it holds a number, "
  assert_equal "$(hold)" "$before"
}

@test "in the status, a key that was left takes precedence over a missing one" {
  cli SET text hello
  ask k
  run -5 rlctl reset nothing text k
  assert_line 'removed key=k algorithm=sliding-window-log'
}

@test "--force removes a key of any kind" {
  cli HSET sessions f v
  cli SET page:views 17
  run -0 rlctl reset --force sessions page:views
  assert_output 'removed key=sessions type=hash
removed key=page:views algorithm=foreign-counter'
  assert_equal "$(cli DBSIZE)" 0
}

@test "--dry-run prints the same and removes nothing" {
  ask k
  cli HSET sessions f v
  local before
  before=$(hold)
  run -0 rlctl reset --dry-run k
  assert_output 'would-remove key=k algorithm=sliding-window-log'
  run -5 rlctl reset --dry-run k sessions
  run -0 rlctl reset --dry-run --force k sessions
  run -1 rlctl reset --dry-run nothing
  assert_equal "$(hold)" "$before"
}

@test "--quiet prints nothing, and the status is the result" {
  ask k
  run -0 rlctl reset -q k
  assert_output ''
  run -1 rlctl reset -q k
  assert_output ''
}

# --- the keys of several limits ---------------------------------------------------------------------

@test "--limit finds the keys of several limits, in any order" {
  ask api --limit 10/h
  run -0 rlctl reset --limit 10/h --limit 5/min api
  assert_output 'removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:60s algorithm=sliding-window-log'
}

@test "with --limit no other key is touched, and no scan is run" {
  ask api --limit 10/h
  cli ACL SETUSER default -scan
  run -0 rlctl reset --limit 10/h --limit 5/2m api
  assert_output 'removed key={api}:3600s algorithm=sliding-window-log'
  assert_equal "$(cli EXISTS '{api}:60s')" 1
}

@test "with several --limit the key itself is removed too, if it exists" {
  ask api
  ask api --limit 10/h
  run -0 rlctl reset --limit 10/h --limit 5/60s api
  assert_output 'removed key=api algorithm=sliding-window-log
removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:60s algorithm=sliding-window-log'
}

@test "without --limit the keys of several limits are found, shortest window first" {
  ask api --limit 10/h --limit 2/1500ms --algorithm gcra
  ask apis --limit 10/h
  ask 'api*' --limit 10/h
  run -0 rlctl reset api
  assert_output 'removed key={api}:1500ms algorithm=gcra
removed key={api}:60s algorithm=gcra
removed key={api}:3600s algorithm=gcra'
  assert_equal "$(cli DBSIZE)" 4
}

@test "the key itself is removed with those of several limits, whatever the limits were" {
  ask api
  ask api --limit 10/h
  ask api --limit 10/61s --limit 10/h
  run -0 rlctl reset api
  assert_output 'removed key=api algorithm=sliding-window-log
removed key={api}:60s algorithm=sliding-window-log
removed key={api}:61s algorithm=sliding-window-log
removed key={api}:3600s algorithm=sliding-window-log'
  run -1 rlctl reset api
  assert_output 'none key=api'
}

@test "a user who may not SCAN gets a hint about options that do not need it" {
  ask api --limit 10/h
  cli ACL SETUSER default -scan
  run -4 --separate-stderr rlctl reset api
  assert_regex "${stderr_lines[0]}" "^rlctl: reset: unix://$socket: NOPERM "
  assert_equal "${stderr_lines[1]}" '  hint: grant it: ACL SETUSER default +scan, or pass --limit or --policy to avoid the search'
  run -0 rlctl reset --limit 5/60s --limit 10/h api
}

@test "special characters in a key are not treated as a pattern in the search for its keys" {
  local key
  for key in 'a*' 'a?' 'a[bc]' $'a\\' $'a\nb' 'a{t}*'; do
    ask "$key" --limit 10/h
    ask ab --limit 10/h
    ask 'a{t}x' --limit 10/h
    run -0 rlctl reset --json -- "$key"
    assert_equal "$(jq -s 'length' <<<"$output")" 2
    assert_equal "$(cli DBSIZE)" 4
    cli FLUSHALL
  done
}

@test "a key named like a limit's key but with other contents is not taken for one" {
  cli HSET '{api}:60s' f v
  cli SET '{api}:1s' 17
  run -1 rlctl reset api
  assert_output 'none key=api'
  assert_equal "$(cli DBSIZE)" 2
}

# policy NAME KEY LIMIT…: writes the configuration for the rest of the test.
policy() {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config
  echo 'timeout = "30s"' >"$RLCTL_CONFIG"
  local name=$1 key=$2 limits
  shift 2
  limits=$(printf '"%s",' "$@")
  printf '[policy.%s]\nkey = "%s"\nlimit = [%s]\n' "$name" "$key" "$limits" >>"$RLCTL_CONFIG"
}

@test "a policy builds the keys from its arguments, and no scan is run" {
  policy login login:%s 5/60s 10/h
  rlctl check -q --policy login ann
  rlctl check -q --policy login bob
  cli ACL SETUSER default -scan
  run -0 rlctl reset --policy login ann bob
  assert_output 'removed key={login:ann}:60s algorithm=sliding-window-log
removed key={login:ann}:3600s algorithm=sliding-window-log
removed key={login:bob}:60s algorithm=sliding-window-log
removed key={login:bob}:3600s algorithm=sliding-window-log'
  run -1 rlctl reset --policy login ann
  assert_output 'none key=login:ann'
}

@test "for a key that matches a policy, keys of the policy's former limits are removed too" {
  policy all %s 5/61s 10/2m
  ask zed
  rlctl check -q --policy all zed
  policy all %s 5/60s 10/2m
  rlctl check -q --policy all zed
  run -0 rlctl reset zed
  assert_output 'removed key=zed algorithm=sliding-window-log
removed key={zed}:60s algorithm=sliding-window-log
removed key={zed}:61s algorithm=sliding-window-log
removed key={zed}:120s algorithm=sliding-window-log'
}

@test "a key that cannot have several limits is reset, whatever a policy says" {
  policy all %s 5/60s 9/2m
  ask '}x'
  run -0 rlctl reset '}x'
  assert_output 'removed key=}x algorithm=sliding-window-log'
}

# --- special characters -----------------------------------------------------------------------------

@test "control bytes and blanks in a key are escaped" {
  ask $'a\n\e[1m b'
  run -0 rlctl reset -- $'a\n\e[1m b'
  assert_output 'removed key=a\n\x1b[1m\x20b algorithm=sliding-window-log'
}

@test "a key may begin with a dash and be a megabyte long" {
  ask -k
  run -0 rlctl reset -- -k
  local key
  key=$(head -c 100000 /dev/zero | tr '\0' k)
  ask "$key"
  run -0 rlctl reset "$key"
  assert_output "removed key=$key algorithm=sliding-window-log"
}

@test "--json prints one object per line, always with the same fields" {
  ask k
  cli SET page:views 17
  cli HSET sessions f v
  run -5 --separate-stderr rlctl reset --json k nothing page:views sessions
  assert_output '{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null}
{"key":"nothing","result":"none","type":null,"library":null,"algorithm":null,"reason":null}
{"key":"page:views","result":"left","type":"string","library":null,"algorithm":"foreign-counter","reason":"foreign"}
{"key":"sessions","result":"left","type":"hash","library":null,"algorithm":null,"reason":"no-limiter-state"}'
  assert_equal "$(jq -r .error.code <<<"$stderr")" left
  ask k
  run -0 rlctl reset --json --dry-run k
  assert_equal "$(jq -r .result <<<"$output")" would_remove
}

# --- wrong usage, and refusals of the server --------------------------------------------------------

@test "no key, an empty key and conflicting options exit with status 2" {
  run -2 rlctl reset
  assert_line 'rlctl: reset: no KEY given'
  run -2 rlctl reset k ''
  assert_line 'rlctl: reset: KEY is empty'
  run -2 rlctl reset --algorithm gcra k
  assert_line 'rlctl: reset: --algorithm requires --limit'
  run -2 rlctl reset --policy nope k
  run -2 rlctl reset --limit 5/60s --limit 5/1m k
  run -2 rlctl reset --limit 5/60s --limit 5/1h '}'
  assert_output --partial "key '}' cannot carry several limits"
}

@test "an ACL without UNLINK, EVALSHA or SCAN exits with status 4, and nothing is removed" {
  ask k
  cli ACL SETUSER default -evalsha
  run -4 rlctl reset k
  assert_output --partial "rlctl: reset: unix://$socket: NOPERM"
  cli ACL SETUSER default +@all -unlink
  run -4 rlctl reset k
  assert_line '  hint: the user needs +unlink; rlctl-reset(1) lists the permissions'
  cli ACL SETUSER default +@all
  assert_equal "$(cli EXISTS k)" 1
  cli ACL SETUSER default -scan
  run -4 rlctl reset nothing
}

@test "if the user may not access a key, the error names it and says what was removed" {
  local key
  for key in mine:1 mine:2 theirs:1; do ask "$key"; done
  cli ACL SETUSER limited reset on nopass '~mine:*' +@all >/dev/null
  run -4 env REDISCLI_AUTH=any rlctl --user limited reset --limit 5/60s mine:1 theirs:1 mine:2
  assert_output --regexp "NOPERM .*theirs:1.*; nothing was removed"
  refute_output --partial mine
  assert_equal "$(cli DBSIZE)" 3
  # More keys than one round trip takes: the first of them are removed.
  run -4 env REDISCLI_AUTH=any rlctl --user limited reset -q --limit 5/60s mine:1 mine:{3..250} theirs:1 mine:2
  assert_output --regexp "NOPERM .*theirs:1.*; 1 key had already been removed"
  assert_equal "$(cli DBSIZE)" 2
  cli INFO server | grep -q '^redis_version:6' && return
  # A key that it may only read is refused when others have been removed.
  ask mine:1
  cli ACL SETUSER limited '%R~theirs:*' >/dev/null
  run -4 env REDISCLI_AUTH=any rlctl --user limited reset -q --limit 5/60s mine:1 theirs:1
  assert_output --regexp "NOPERM .*theirs:1.*; 1 key had already been removed"
  cli ACL DELUSER limited >/dev/null
}

@test "the ACL permissions listed in rlctl-reset(1) are sufficient" {
  local algorithm permissions
  permissions=$(sed -n '/^+type/,/^```/{/^```/!p}' "$project/man/rlctl-reset.1.scd")
  # shellcheck disable=SC2086 # one word for each permission
  cli ACL SETUSER forgetful on nopass '~*' $permissions +scan
  cli SCRIPT FLUSH
  for algorithm in gcra sliding-window-log sliding-window-zset; do
    ask k --algorithm "$algorithm"
    ask api --limit 10/h --algorithm "$algorithm"
    run -0 env REDISCLI_AUTH=any rlctl --user forgetful reset k
    run -0 env REDISCLI_AUTH=any rlctl --user forgetful reset api
    ask k --algorithm "$algorithm"
    run -0 env REDISCLI_AUTH=any rlctl --user forgetful reset --match '*' --yes
  done
  assert_equal "$(cli DBSIZE)" 0
}

@test "a replica exits with status 5 and the server's message, and keeps the key" {
  start_server
  ask k
  cli REPLICAOF 127.0.0.1 1
  run -5 --separate-stderr rlctl reset k
  assert_output ''
  assert_regex "$stderr" "^rlctl: reset: unix://$socket: READONLY You can't write against a read only replica"
  assert_equal "$(cli EXISTS k)" 1
}

ask_for_four_keys() {
  ask k
  ask l --algorithm gcra
  ask m:1
  ask m:2 --algorithm sliding-window-zset
}

# The four keys, the only ones, are removed by name and by pattern.
four_keys_are_removed() {
  run -0 rlctl reset k l
  assert_output 'removed key=k algorithm=sliding-window-log
removed key=l algorithm=gcra'
  run -0 --separate-stderr rlctl reset --match 'm:*' --yes
  assert_equal "$stderr" 'removed 2 keys (1 sliding-window-log, 1 sliding-window-zset)'
  assert_equal "$(cli DBSIZE)" 0
}

@test "a server whose memory is full removes the keys" {
  start_server --maxmemory-policy noeviction
  ask_for_four_keys
  cli CONFIG SET maxmemory 1
  run -1 cli SET other value
  assert_output --partial OOM
  four_keys_are_removed
}

# start_cluster_node: starts a server that is a Cluster with all slots.
start_cluster_node() {
  on_free_port start_server --cluster-enabled yes
  cli CLUSTER ADDSLOTS {0..16383} >/dev/null
  wait_until eval 'cli CLUSTER INFO | grep -q cluster_state:ok'
}

@test "the keys of a Cluster node may be in different slots" {
  start_cluster_node
  ask_for_four_keys
  four_keys_are_removed
}

@test "if the node of a Cluster that has the key cannot be reached, the status is 3" {
  start_fake_server '-MOVED 15495 127.0.0.1:1\r\n'
  run -3 --separate-stderr rlctl reset --timeout 200ms --limit 5/60s a
  assert_output ''
  assert_equal "${stderr_lines[0]}" \
    'rlctl: reset: cannot connect to redis://127.0.0.1:1: connection refused; the command was not sent'
}

@test "if a server does not answer a mere look, no key is reported as possibly removed" {
  start_server
  ask k
  kill -STOP "$server_pid"
  run -3 --separate-stderr rlctl reset --timeout 200ms k
  assert_regex "$stderr" '^rlctl: reset: no answer from .* within 200ms$'
  run -3 --separate-stderr rlctl reset --timeout 200ms --limit 5/60s k
  assert_regex "$stderr" '^rlctl: reset: no answer from .* within 200ms$'
  run -3 --separate-stderr rlctl check --timeout 200ms --peek --limit 5/60s k
  assert_regex "$stderr" '^rlctl: check: no answer from .* within 200ms$'
  kill -CONT "$server_pid"
}

@test "after a wrong password no key is reported as possibly removed" {
  start_server --requirepass secret
  run -4 --separate-stderr env REDISCLI_AUTH=wrong rlctl reset k
  assert_regex "$stderr" '^rlctl: unix://.*: AUTH: WRONGPASS '
  run -4 --separate-stderr env REDISCLI_AUTH=wrong rlctl reset --limit 5/60s k
  assert_regex "$stderr" '^rlctl: unix://.*: AUTH: WRONGPASS '
  run -4 --separate-stderr env REDISCLI_AUTH=wrong rlctl reset --match k --yes
  assert_regex "$stderr" '^rlctl: unix://.*: AUTH: WRONGPASS '
  refute_output --partial 'removed'
  [[ $stderr != *removed* ]] || fail "$stderr"
}

@test "a missing server exits with status 3" {
  run -3 rlctl reset -u unix:///nowhere k
}

@test "if the server is lost during the removal, the key is reported as possibly removed" {
  start_server
  ask k
  cli CLIENT PAUSE 100000 WRITE || skip 'this server cannot hold up writes alone'
  run -3 --separate-stderr rlctl reset --timeout 2s k
  assert_output ''
  assert_regex "$stderr" '^rlctl: reset: no answer from .* within 2s; k may have been removed$'
}

@test "Ctrl-C during the removal reports the key as possibly removed, and ends by the signal" {
  start_server
  ask k
  cli CLIENT PAUSE 100000 WRITE || skip 'this server cannot hold up writes alone'
  run -0 --separate-stderr ends_by INT 'redis-cli -s "$socket" CLIENT LIST | grep -qF "cmd=evalsha"' \
    rlctl reset k
  assert_output 'signal 2'
  assert_regex "$stderr" '; k may have been removed$'
}

@test "a missing KEY that looks like a pattern gets a warning" {
  run -1 --separate-stderr rlctl reset 'login:*'
  assert_output 'none key=login:*'
  assert_equal "$stderr" 'rlctl: reset: warning: a KEY is taken literally; --match takes a pattern'
}
