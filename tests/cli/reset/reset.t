# needs: server
# `rlctl reset KEY…`. In tests/stored, reset_test.cc has the kinds of state and the refusals, reset_races_test.cc the races, and key_family_test.cc the keys of several limits.

## each KEY has one line, in the given order; --must-exist makes the status 1 if one does not exist
$ rlctl check -q --limit 5/1d -- -b
$ rlctl check -q --limit 5/1d --algorithm gcra a
$ rlctl reset -q --dry-run --must-exist -- -b a
$ rlctl reset --must-exist -- -b nothing a -b
removed key=-b algorithm=sliding-window-log
none key=nothing
removed key=a algorithm=gcra
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 2 keys (1 gcra, 1 sliding-window-log)
! looked at each KEY, [..]
[1]
$ keys

## a KEY that does not exist is no error without --must-exist
$ rlctl reset nothing
none key=nothing
! nothing to remove
! looked at nothing, {nothing}:leases, and {nothing}:WINDOW for the windows 100ms, 1s, 2s, 5s, 10s, 15s, 20s, 30s, 60s, 120s, 300s, 600s, 900s, 1800s, 3600s, 7200s, 21600s, 43200s, 86400s, day@UTC, 604800s, week@UTC, 2592000s, 2678400s, month@UTC, year@UTC; a limit with another window has another name: pass --limit or --policy
$ rlctl reset nothing --limit 5/60s
none key=nothing
! nothing to remove
! looked at nothing; of several limits, each has a name of its own: pass all of them
$ rlctl reset nothing --must-exist --json
{"key":"nothing","result":"none",[..],"looked_at":["nothing","{nothing}:100ms",[..],"{nothing}:leases"]}
[1]
$ rlctl reset login:*
none key=login:*
! rlctl: reset: warning: a KEY is taken literally; list and reset --match take a pattern
! nothing to remove
! looked at login:*, [..]

## --quiet prints nothing, and the status is the result
$ each OPTION --force --limit=5/60s --dry-run -q
$ rlctl reset -q OPTION nothing
$ rlctl reset -q OPTION --must-exist nothing
[1]

## KEYs are read from standard input if the only KEY is -
$ rlctl reset --json --limit 5/60s -
< a
<
< b c
{"key":"a","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null}
{"key":"b c","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null}
$ rlctl reset -
! rlctl: reset: standard input has no KEY
! Try 'rlctl reset --help'.
[2]

## if nothing is found, other databases that hold keys are named
$ rlctl check -q a --limit 5/60s
$ redis EVAL "redis.call('SELECT', 3) redis.call('SET', 'b', 1) return ''" 0
$ rlctl -n 1 reset a --limit 5/60s
none key=a
! nothing to remove
! looked at a; of several limits, each has a name of its own: pass all of them
!   hint: database 1 has none, but databases 0 and 3 have keys; see --db
$ rlctl -n 1 inspect a
a: not found in SERVER?db=1: the limiter is unused
!   hint: database 1 has none, but databases 0 and 3 have keys; see --db
[1]
$ rlctl -n 3 list
! no limiters found; not listed: 1 key that may be a limiter's (--all lists them)
!   hint: database 3 has none, but database 0 has keys; see --db
[1]
$ rlctl -n 3 reset --match *
! removed no key; left 1 that may belong to another program (1 foreign-counter); --force removes them

## a key that may not be a limiter's is left with status 5, unless --force is given
$ redis EVAL "redis.call('HSET', 'sessions', 'f', 'v') redis.call('SET', 'page:views', 17) redis.call('ZADD', 'window', 1700000000123, 'a') redis.call('RPUSH', 'list', 1700000000000000) return ''" 0
$ rlctl check -q --limit 5/1d k
$ rlctl reset --json --dry-run --limit 5/60s k nothing page:views sessions
{"key":"k","result":"would_remove","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
{"key":"nothing","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null}
{"key":"page:views","result":"left","type":"string","library":null,"algorithm":"foreign-counter","reason":"foreign","part_of":null}
{"key":"sessions","result":"left","type":"hash","library":null,"algorithm":null,"reason":"no-limiter-state","part_of":null}
! {"error":{"code":"left","message":"2 keys were left; the first is 'page:views': it holds a number, and may belong to another program","hint":"rlctl inspect page:views shows what it holds; --force removes all of them, whatever they hold"}}
[5]
$ keys
k list expires [..]
list list persistent 1700000000000000
page:views string persistent 17
sessions hash persistent f=v
window zset persistent a=1700000000123
$ rlctl reset sessions
left key=sessions type=hash reason=no-limiter-state
! looked at sessions, [..]
! rlctl: reset: left 'sessions': it holds a hash that is not known to be a limiter's state
!   hint: rlctl inspect sessions shows what it holds; --force removes it anyway
[5]
$ rlctl reset page:views window list nothing k
left key=page:views type=string algorithm=foreign-counter reason=foreign
left key=window type=zset algorithm=foreign-zset reason=foreign
left key=list type=list algorithm=sliding-window-log reason=uncertain
none key=nothing
removed key=k algorithm=sliding-window-log
! looked at each KEY, [..]
! rlctl: reset: 3 keys were left; the first is 'page:views': it holds a number, and may belong to another program
!   hint: rlctl inspect page:views shows what it holds; --force removes all of them, whatever they hold
[5]
$ rlctl reset -q --force sessions page:views window list
$ keys

## a part of another key's state is left, and a hint names that key
$ redis EVAL "redis.call('MSET', 'rl:tb:{ann}', 0, 'rl:tb:{ann}:ts', 1795000000123) return ''" 0
$ rlctl reset --json --limit 5/60s rl:tb:{ann}:ts
{"key":"rl:tb:{ann}:ts","result":"left","type":"string","library":"aspnetcore-redis-rate-limiting","algorithm":"token-bucket","reason":"part","part_of":"rl:tb:{ann}"}
! {"error":{"code":"left","message":"left 'rl:tb:{ann}:ts': it is a part of the state of 'rl:tb:{ann}'","hint":"give 'rl:tb:{ann}' instead of 'rl:tb:{ann}:ts'"}}
[5]
$ rlctl reset --match rl:* --yes
! removed no key; left 2 that may belong to another program (1 aspnetcore-redis-rate-limiting: token-bucket, 1 part of another key); --force removes them
!   hint: keys with several limits have other names: '{rl:*}:*'
$ redis DBSIZE
2

## the ban of another library's limiter is looked at, since it keeps a user out
$ redis EVAL "redis.call('SET', '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked', 1, 'EX', 600) return ''" 0
$ rlctl reset {d41d8cd98f00b204e9800998ecf8427e:ann}:hits
left key={d41d8cd98f00b204e9800998ecf8427e:ann}:blocked type=string library=nestjs-throttler algorithm=fixed-window reason=foreign part_of={d41d8cd98f00b204e9800998ecf8427e:ann}:hits
! looked at {d41d8cd98f00b204e9800998ecf8427e:ann}:hits, {d41d8cd98f00b204e9800998ecf8427e:ann}:hits:leases, {d41d8cd98f00b204e9800998ecf8427e:ann}:blocked, and [..]
! rlctl: reset: left '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked': it is a part of the state of '{d41d8cd98f00b204e9800998ecf8427e:ann}:hits'
!   hint: rlctl inspect '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked' shows what it holds; --force removes it anyway
[5]
$ rlctl reset --force -q {d41d8cd98f00b204e9800998ecf8427e:ann}:hits
$ keys
$ write own
< library.hit = { key = "hit:*", type = "string", value = "count", ban = "KEY:blocked" }
$ redis EVAL "redis.call('MSET', 'hit:a', 2, 'hit:a:blocked', 1) return ''" 0
$ rlctl reset --force -q hit:a --config own
$ keys

## without --limit the keys of common windows and the leases are removed; with it those of the limits; no search is made (own server)
$ redis ACL SETUSER noscan reset on nopass ~* +@all -scan
OK
$ rlctl check -q api --limit 5/1d
$ rlctl check -q api --limit 5/1d --limit 10/h --limit 10/601s
$ rlctl check -q api --limit 9/2h --limit 10/90m --algorithm gcra
$ redis EVAL "redis.call('ZADD', KEYS[1], redis.call('TIME')[1] * 1000000 + 60000000, 'lease:ann', -3, 'limit') redis.call('EXPIRE', KEYS[1], 60) return ''" 1 {api}:leases
$ rlctl check -q apis --limit 5/1d --limit 10/h
$ rlctl --user noscan reset api {api}
removed key=api algorithm=sliding-window-log
removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:7200s algorithm=gcra
removed key={api}:86400s algorithm=sliding-window-log
removed key={api}:leases algorithm=concurrency
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 5 keys (3 sliding-window-log, 1 concurrency, 1 gcra)
! looked at each KEY, [..]
$ rlctl --user noscan reset -q --limit 10/601s --limit 10/90m --limit 7/1s api
$ rlctl --user noscan reset -q --limit 10/h --limit 5/2m apis
$ keys
{apis}:86400s list expires [..]
$ rlctl check -q apis --limit 5/1d
$ rlctl --user noscan reset -q --limit 10/h --limit 5/1d apis
$ keys

## each window at which reset says it looks is one under which it finds a key
$ each WINDOW 100ms 1s 2s 5s 10s 15s 20s 30s 60s 120s 300s 600s 900s 1800s 3600s 7200s 21600s 43200s 86400s day@UTC 604800s week@UTC 2592000s 2678400s month@UTC year@UTC
$ rlctl check -q other --limit 5/1d --algorithm fixed-window
$ redis EVAL "redis.call('RENAME', 'other', '{api}:WINDOW') return ''" 0
$ rlctl reset -q api
$ keys

## a key named like a limit's key but with other contents is not taken for one
$ redis EVAL "redis.call('HSET', '{api}:86400s', 'f', 'v') redis.call('SET', '{api}:1s', 17) return ''" 0
$ rlctl reset -q --must-exist api
[1]
$ redis DBSIZE
2

## a policy's windows are known, and --policy builds the keys from its arguments (own server)
$ write config
< timeout = "120s"
< policy.login = { key = "login:%s", limit = ["5/1d", "10/h"] }
< policy.all = { key = "%s", limit = ["5/601s", "10/2h"] }
$ env RLCTL_CONFIG=FOLDER/config
$ redis ACL SETUSER noscan reset on nopass ~* +@all -scan
OK
$ rlctl check -q --policy login --batch
< ann
< bob
$ rlctl --user noscan reset --policy login ann bob
removed key={login:ann}:86400s algorithm=sliding-window-log
removed key={login:ann}:3600s algorithm=sliding-window-log
removed key={login:bob}:86400s algorithm=sliding-window-log
removed key={login:bob}:3600s algorithm=sliding-window-log
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 4 keys (4 sliding-window-log)
$ rlctl --user noscan reset -q --must-exist --policy login ann
[1]
$ rlctl check -q --limit 5/1d zed
$ rlctl check -q --policy all zed
$ rlctl reset zed
removed key=zed algorithm=sliding-window-log
removed key={zed}:601s algorithm=sliding-window-log
removed key={zed}:7200s algorithm=sliding-window-log
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 3 keys (3 sliding-window-log)
! looked at zed, {zed}:leases, and {zed}:WINDOW for the windows 601s, 7200s, 100ms, 1s, [..]
$ rlctl check -q --limit 5/1d }x
$ rlctl reset -q }x
$ keys

## the keys that a user may not access are named in an error, or not looked at with a warning (own server)
$ redis ACL SETUSER mine reset on nopass ~mine:* +@all
OK
$ rlctl check --batch -q --limit 5/1d
< mine:1
< mine:2
< theirs:1
$ rlctl --user mine reset --limit 5/60s mine:1 theirs:1 mine:2
! rlctl: reset: unix://[..]/redis.sock: NOPERM [..]theirs:1[..]; nothing was removed
!   hint: grant it: ACL SETUSER mine '~PATTERN', with a pattern that matches the key
[4]
$ redis DBSIZE
3
$ rlctl --user mine reset mine:1
removed key=mine:1 algorithm=sliding-window-log
! looked at mine:1, [..]
! rlctl: reset: warning: not looked at: 27 keys that this user may not read

## after a wrong password no key is reported as possibly removed (own server)
$ each WORDS k '--limit 5/60s k' '--match k --yes'
$ redis CONFIG SET requirepass secret
OK
$ env REDISCLI_AUTH=wrong
$ rlctl reset WORDS
! rlctl: SERVER: AUTH: WRONGPASS [..]
!   hint: user 'default' is unknown or disabled, or has another password
[4]
