# needs: server
load ../../support/common

# `rlctl reset KEY…`; match.bats tests --match. In tests/stored, reset_test.cc has the kinds of state and the refusals,
# reset_races_test.cc the races, and key_family_test.cc the keys of several limits.

setup_file() { start_server; }
setup() {
  cli FLUSHALL >/dev/null
  cli ACL SETUSER default on nopass +@all '~*' >/dev/null
}

# The windows that reset knows without being told.
windows="100ms, 1s, 2s, 5s, 10s, 15s, 20s, 30s, 60s, 120s, 300s, 600s, 900s, 1800s, 3600s, 7200s, 21600s, 43200s, \
86400s, day@UTC, 604800s, week@UTC, 2592000s, 2678400s, month@UTC, year@UTC"
others='a limit with another window has another name: pass --limit or --policy'

# looked KEY: what reset says of the names at which it looked.
looked() { echo "looked at $1, {$1}:leases, and {$1}:WINDOW for the windows $windows; $others"; }
looked_at_each="looked at each KEY, {KEY}:leases, and {KEY}:WINDOW for the windows $windows; $others"

# ask KEY [OPTION…]: creates a limiter's state, with a window so long that it does not expire during a test.
ask() { rlctl check -q --limit 5/1d "${@:2}" -- "$1"; }

@test "if the output is closed, the error says how many keys were removed, with SIGPIPE ignored too" {
  local key
  for key in a b; do ask "$key"; done
  without_reader 'rlctl reset a b'
  assert_equal "$stderr" 'not saved: --save FILE keeps what is removed, and --restore puts it back
rlctl: reset: standard output is closed; 2 keys had already been removed
status 2'
  assert_equal "$(cli DBSIZE)" 0
  ask a
  without_reader 'rlctl reset a --json'
  gojq -ec '.error | .code == "output" and (.message | test("; 1 key had already been removed$"))' \
    <<<"${stderr_lines[0]}" || fail "$stderr"
}

@test "a reader that goes away, such as head, leaves the number of keys on standard error" {
  cd "$BATS_TEST_TMPDIR"
  printf 'k%s\n' {1..2000} | rlctl check -q --batch --limit 5/1d >/dev/null
  run --separate-stderr bash -c "rlctl reset --match 'k*' --yes --save saved | head -n 1"
  assert_equal "${#lines[@]}" 1
  assert_regex "${stderr_lines[0]}" \
    "^rlctl: reset: standard output is closed; $((2000 - $(cli DBSIZE))) keys had already been removed$"
  assert_regex "${stderr_lines[1]}" "^saved in saved; to undo: rlctl .* reset --restore $PWD/saved$"
}

@test "each of several keys has its line, in the given order; with --must-exist, the status is 1 if one does not exist" {
  ask b
  ask a --algorithm gcra
  run -0 rlctl reset --dry-run b nothing a
  run -1 --separate-stderr rlctl reset --must-exist b nothing a
  assert_output 'removed key=b algorithm=sliding-window-log
none key=nothing
removed key=a algorithm=gcra'
  assert_equal "$stderr" 'not saved: --save FILE keeps what is removed, and --restore puts it back
removed 2 keys (1 gcra, 1 sliding-window-log)
'"$looked_at_each"
  assert_equal "$(cli DBSIZE)" 0
}

@test "what does not exist is as good as removed: a login script under set -e goes on" {
  run -0 --separate-stderr rlctl reset nothing
  assert_output 'none key=nothing'
  assert_equal "$stderr" "nothing to remove
$(looked nothing)"
  run -0 --separate-stderr rlctl reset nothing --limit 5/60s
  assert_equal "$stderr" 'nothing to remove
looked at nothing; of several limits, each has a name of its own: pass all of them'
  run -1 --separate-stderr rlctl reset nothing --must-exist
  assert_output 'none key=nothing'
  local options
  for options in '' --force --limit=5/60s --dry-run; do
    # shellcheck disable=SC2086 # perhaps no word
    run -0 bash -ec "rlctl reset -q $options never:used; echo welcome"
    assert_output welcome
    run -1 bash -ec "rlctl reset -q --must-exist $options never:used; echo welcome"
    assert_output ''
  done
  run -0 rlctl reset nothing --json
  assert_equal "$(gojq -c '[.result, .looked_at[0], (.looked_at | length)]' <<<"$output")" '["none","nothing",28]'
}

@test "a key that is given twice is reset once" {
  ask k
  run -0 --separate-stderr rlctl reset --dry-run k k
  assert_output 'would-remove key=k algorithm=sliding-window-log'
  run -0 --separate-stderr rlctl reset k k k
  assert_output 'removed key=k algorithm=sliding-window-log'
  ask api --limit 10/h
  run -0 --separate-stderr rlctl reset api '{api}' api
  assert_output 'removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:86400s algorithm=sliding-window-log'
}

@test "a key that is not a limiter's is left with status 5, and a hint tells how to remove it" {
  cli HSET sessions f v
  run -5 --separate-stderr rlctl reset sessions
  assert_output 'left key=sessions type=hash reason=no-limiter-state'
  assert_equal "$stderr" "$(looked sessions)
rlctl: reset: left 'sessions': it holds a hash that is not a limiter's state
  hint: rlctl inspect sessions shows what it holds; --force removes it anyway"
  assert_equal "$(cli HGET sessions f)" v
}

@test "a part of another key's state is left, and a hint names that key" {
  cli MSET 'rl:tb:{ann}' 0 'rl:tb:{ann}:ts' "$(date +%s)123"
  run -5 --separate-stderr rlctl reset 'rl:tb:{ann}:ts'
  assert_output "left key=rl:tb:{ann}:ts type=string library=aspnetcore-redis-rate-limiting algorithm=token-bucket \
reason=part part_of=rl:tb:{ann}"
  assert_equal "$(tail -n 2 <<<"$stderr")" "rlctl: reset: left 'rl:tb:{ann}:ts': it is a part of the state of 'rl:tb:{ann}'
  hint: give 'rl:tb:{ann}' instead of 'rl:tb:{ann}:ts'"
  run -5 rlctl reset --json 'rl:tb:{ann}' 'rl:tb:{ann}:ts'
  assert_line --partial '"reason":"part","part_of":"rl:tb:{ann}"'
  refute_output --partial '--force'
  run -0 --separate-stderr rlctl reset --match 'rl:*' --yes
  assert_equal "${stderr_lines[0]}" "removed no key; left 2 that may belong to another program \
(1 aspnetcore-redis-rate-limiting: token-bucket, 1 part of another key); --force removes them"
  assert_equal "$(cli DBSIZE)" 2
}

@test "keys that may be another program's are left, which counts more than a missing one in the status" {
  cli SET page:views 17
  cli ZADD window 1700000000123 a
  cli RPUSH list 1700000000000000
  ask k
  run -5 --separate-stderr rlctl reset page:views window list nothing k
  assert_output 'left key=page:views type=string algorithm=foreign-counter reason=foreign
left key=window type=zset algorithm=foreign-zset reason=foreign
left key=list type=list algorithm=sliding-window-log reason=uncertain
none key=nothing
removed key=k algorithm=sliding-window-log'
  assert_regex "${stderr_lines[-2]}" "^rlctl: reset: 3 keys were left; the first is 'page:views': it holds a number, "
  assert_equal "$(cli DBSIZE)" 3
}

@test "--force removes a key of any kind" {
  cli HSET sessions f v
  cli SET page:views 17
  run -0 --separate-stderr rlctl reset --force sessions page:views
  assert_output 'removed key=sessions type=hash
removed key=page:views algorithm=foreign-counter'
  assert_equal "$(cli DBSIZE)" 0
}

@test "--dry-run has the same statuses and removes nothing" {
  ask k
  cli HSET sessions f v
  run -0 --separate-stderr rlctl reset --dry-run k
  assert_output 'would-remove key=k algorithm=sliding-window-log'
  run -5 rlctl reset --dry-run k sessions
  run -0 --separate-stderr rlctl reset --dry-run --force k sessions
  run -0 rlctl reset --dry-run nothing
  run -1 rlctl reset --dry-run --must-exist nothing
  assert_equal "$(cli DBSIZE)" 2
}

@test "--quiet prints nothing, and the status is the result" {
  ask k
  run -0 --separate-stderr rlctl reset -q k
  assert_output ''
  run -1 rlctl reset -q --must-exist k
  assert_output ''
}

# --- the keys of several limits ---------------------------------------------------------------------

@test "--limit finds the keys of several limits, in any order, and the key itself" {
  ask api --limit 10/h
  ask api
  run -0 --separate-stderr rlctl reset --limit 10/h --limit 5/1d api
  assert_output 'removed key=api algorithm=sliding-window-log
removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:86400s algorithm=sliding-window-log'
}

@test "with --limit no other key is touched, and no scan is run" {
  ask api --limit 10/h
  cli ACL SETUSER default -scan
  run -0 --separate-stderr rlctl reset --limit 10/h --limit 5/2m api
  assert_output 'removed key={api}:3600s algorithm=sliding-window-log'
  assert_equal "$(cli EXISTS '{api}:86400s')" 1
}

@test "without --limit the key is removed with its leases and those of common windows, and the database is not searched" {
  ask api
  ask api --limit 10/h
  ask api --limit 10/601s
  rlctl check -q api --limit 9/2h --limit 10/90m --algorithm gcra
  cli --eval "$project/lua/concurrency.lua" '{api}:leases' , 9 600000000 acquire ann >/dev/null
  ask apis --limit 10/h
  cli ACL SETUSER default -scan
  run -0 --separate-stderr rlctl reset api
  assert_output 'removed key=api algorithm=sliding-window-log
removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:7200s algorithm=gcra
removed key={api}:86400s algorithm=sliding-window-log
removed key={api}:leases algorithm=concurrency'
  assert_equal "${stderr_lines[2]}" "$(looked api)"
  assert_equal "$(cli --raw KEYS '{api}:*' | sort | xargs)" '{api}:5400s {api}:601s'
  run -0 rlctl reset api --limit 10/601s --limit 10/90m
  assert_equal "$(cli --raw KEYS '*' | sort | xargs)" '{apis}:3600s {apis}:86400s'
}

@test "every window that reset says it looks at is one under which it finds the key" {
  local window count=0
  for window in ${windows//, / }; do
    ask other --algorithm fixed-window
    cli RENAME other "{api}:$window" >/dev/null
    run -0 --separate-stderr rlctl reset api
    [[ $output == "removed key={api}:$window algorithm=fixed-window" ]] || fail "$window: $output"
    count=$((count + 1))
  done
  assert_equal "$count" 26
}

@test "the ban of another library's limiter is looked at, since it keeps a user out" {
  local key='{d41d8cd98f00b204e9800998ecf8427e:ann}'
  cli SET "$key:blocked" 1 EX 600 >/dev/null
  run -5 --separate-stderr rlctl reset "$key:hits"
  assert_output --partial "left key=$key:blocked "
  [[ $stderr == *"looked at $key:hits, "*"$key:blocked, and "* ]] || fail "$stderr"
  run -0 rlctl reset --force "$key:hits"
  assert_output --partial "removed key=$key:blocked "
  assert_equal "$(cli DBSIZE)" 0
}

@test "names that this user may not read are not looked at, and that is said" {
  ask login:ann
  cli ACL SETUSER limited reset on nopass '~login:*' +@all >/dev/null
  run -0 --separate-stderr env REDISCLI_AUTH=any rlctl --user limited reset login:ann
  assert_output 'removed key=login:ann algorithm=sliding-window-log'
  assert_equal "${stderr_lines[1]}" 'rlctl: reset: warning: not looked at: 27 keys that this user may not read'
  cli ACL DELUSER limited >/dev/null
}

@test "a key named like a limit's key but with other contents is not taken for one" {
  cli HSET '{api}:86400s' f v
  cli SET '{api}:1s' 17
  run -1 --separate-stderr rlctl reset --must-exist api
  assert_output 'none key=api'
  assert_equal "$(cli DBSIZE)" 2
}

# policy NAME KEY LIMIT…: writes the configuration for the rest of the test.
policy() {
  export RLCTL_CONFIG=$BATS_TEST_TMPDIR/config
  echo 'timeout = "120s"' >"$RLCTL_CONFIG"
  local name=$1 key=$2 limits
  shift 2
  limits=$(printf '"%s",' "$@")
  printf '[policy.%s]\nkey = "%s"\nlimit = [%s]\n' "$name" "$key" "$limits" >>"$RLCTL_CONFIG"
}

@test "a policy builds the keys from its arguments, and no scan is run" {
  policy login login:%s 5/1d 10/h
  rlctl check -q --policy login ann
  rlctl check -q --policy login bob
  cli ACL SETUSER default -scan
  run -0 --separate-stderr rlctl reset --policy login ann bob
  assert_output 'removed key={login:ann}:86400s algorithm=sliding-window-log
removed key={login:ann}:3600s algorithm=sliding-window-log
removed key={login:bob}:86400s algorithm=sliding-window-log
removed key={login:bob}:3600s algorithm=sliding-window-log'
  run -1 --separate-stderr rlctl reset --must-exist --policy login ann
  assert_output 'none key=login:ann'
}

@test "for a key that matches a policy, the policy's windows are known too, whatever they are" {
  policy all %s 5/601s 10/2h
  ask zed
  rlctl check -q --policy all zed
  run -0 --separate-stderr rlctl reset zed
  assert_output 'removed key=zed algorithm=sliding-window-log
removed key={zed}:601s algorithm=sliding-window-log
removed key={zed}:7200s algorithm=sliding-window-log'
  assert_regex "${stderr_lines[2]}" '^looked at zed, .* for the windows 601s, 7200s, 100ms, 1s, '
}

@test "a key that cannot have several limits is reset, whatever a policy says" {
  policy all %s 5/60s 9/2m
  ask '}x'
  run -0 --separate-stderr rlctl reset '}x'
  assert_output 'removed key=}x algorithm=sliding-window-log'
}

# --- special characters -----------------------------------------------------------------------------

@test "control bytes and blanks in a key are escaped" {
  ask $'a\n\e[1m b'
  run -0 --separate-stderr rlctl reset -- $'a\n\e[1m b'
  assert_output 'removed key=a\n\x1b[1m\x20b algorithm=sliding-window-log'
}

@test "a key may begin with a dash" {
  ask -k
  run -0 --separate-stderr rlctl reset -- -k
  assert_output 'removed key=-k algorithm=sliding-window-log'
}

@test "--json prints one object per line, always with the same fields" {
  ask k
  cli SET page:views 17
  cli HSET sessions f v
  run -5 --separate-stderr rlctl reset --json --limit 5/60s k nothing page:views sessions
  assert_output '{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
{"key":"nothing","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null}
{"key":"page:views","result":"left","type":"string","library":null,"algorithm":"foreign-counter","reason":"foreign","part_of":null}
{"key":"sessions","result":"left","type":"hash","library":null,"algorithm":null,"reason":"no-limiter-state","part_of":null}'
  assert_equal "$(gojq -r .error.code <<<"$stderr")" left
  ask k
  run -0 --separate-stderr rlctl reset --json --dry-run k
  assert_equal "$(gojq -r .result <<<"$output")" would_remove
}

# --- refusals of the server -------------------------------------------------------------------------

@test "an ACL without UNLINK or EVALSHA exits with status 4, and nothing is removed" {
  ask k
  cli ACL SETUSER default -evalsha
  run -4 rlctl reset k
  assert_output --partial "rlctl: reset: unix://$socket: NOPERM"
  cli ACL SETUSER default +@all -unlink
  run -4 rlctl reset k
  assert_line --regexp '^  hint: grant what reset needs, .*: ACL SETUSER default .* \+unlink( |$)'
  cli ACL SETUSER default +@all
  assert_equal "$(cli EXISTS k)" 1
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

@test "a server whose memory is full removes the keys" {
  start_server --maxmemory-policy noeviction
  ask k
  ask m:1
  ask m:2 --algorithm sliding-window-zset
  cli CONFIG SET maxmemory 1
  run -1 cli SET other value
  assert_output --partial OOM
  run -0 --separate-stderr rlctl reset k
  run -0 --separate-stderr rlctl reset --match 'm:*' --yes
  assert_equal "${stderr_lines[1]}" 'removed 2 keys (1 sliding-window-log, 1 sliding-window-zset)'
  assert_equal "$(cli DBSIZE)" 0
}

@test "if a server does not answer a mere look, no key is reported as possibly removed" {
  start_server
  ask k
  kill -STOP "$server_pid"
  local words
  for words in 'reset k' 'reset --limit 5/60s k' 'check --peek --limit 5/60s k'; do
    # shellcheck disable=SC2086 # split into words
    run -3 --separate-stderr rlctl --timeout 200ms $words
    assert_regex "$stderr" '^rlctl: (reset|check): no answer from .* within 200ms$'
  done
  kill -CONT "$server_pid"
}

@test "after a wrong password no key is reported as possibly removed" {
  start_server --requirepass secret
  local words
  for words in k '--limit 5/60s k' '--match k --yes'; do
    # shellcheck disable=SC2086
    REDISCLI_AUTH=wrong run -4 --separate-stderr rlctl reset $words
    assert_output ''
    assert_regex "$stderr" '^rlctl: unix://.*: AUTH: WRONGPASS '
    refute_regex "$stderr" removed
  done
}

@test "a missing server exits with status 3" {
  run -3 rlctl reset -u unix:///nowhere k
}

@test "if the server is lost during the removal, the key is reported as possibly removed" {
  start_server
  ask k
  cli CLIENT PAUSE 100000 WRITE || skip 'this server cannot hold up writes alone'
  run -3 --separate-stderr rlctl reset --timeout 5s k
  assert_output ''
  assert_regex "$stderr" '^rlctl: reset: no answer from .* within 5s; k may have been removed$'
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
  run -0 --separate-stderr rlctl reset 'login:*'
  assert_output 'none key=login:*'
  assert_equal "${stderr_lines[0]}" 'rlctl: reset: warning: a KEY is taken literally; --match takes a pattern'
}

@test "KEYs are read from standard input if the only KEY is -" {
  rlctl check -q a --limit 5/60s
  rlctl check -q 'b c' --limit 5/60s
  run -0 rlctl reset - <<<$'a\n\nb c'
  assert_line 'removed key=a algorithm=sliding-window-log'
  assert_line 'removed key=b\x20c algorithm=sliding-window-log'
  run -2 rlctl reset - </dev/null
  assert_output --partial 'standard input has no KEY'
}

@test "if nothing is found, other databases that hold keys are named" {
  rlctl check -q a --limit 5/60s
  cli -n 3 SET b 1
  run -0 --separate-stderr rlctl -n 1 reset a
  assert_regex "${stderr_lines[-1]}" 'hint: database 1 has none, but databases 0 and 3 have keys; see --db$'
  run -1 --separate-stderr rlctl -n 1 inspect a
  assert_equal "$stderr" 'hint: database 1 has none, but databases 0 and 3 have keys; see --db'
  run -1 --separate-stderr rlctl -n 3 list
  assert_equal "${stderr_lines[1]}" '  hint: database 3 has none, but database 0 has keys; see --db'
  run -0 --separate-stderr rlctl -n 1 reset a --json
  assert_equal "$stderr" ''
  run --separate-stderr rlctl -n 3 reset --match '*'
  [[ $stderr == 'removed no key; left 1 '* && $stderr != *database* ]]
}
