# needs: server
# What list finds, and in which order it prints it.

## text has a line for each key, then sums by algorithm; other keys are counted
$ rlctl check -q a --limit 10/1d --cost 9 --algorithm gcra
$ rlctl check -q b --limit 10/1000d --cost 10 --algorithm fixed-window
$ redis MSET session:1 x hits 12 clock 170000000000000
OK
$ rlctl list --sort key
  used           of   full   next free [..]  key
     9        10/1d    90%         now [..]  gcra                    a
    10     10/1000d   100% [..]  fixed-window            b

              keys  full  no ttl  bytes
fixed-window     1     1       0 [..]
gcra             1     0       0 [..]
all              2     1       0 [..]
! not listed: 2 keys that may be a limiter's (--all lists them), 1 key of other programs
$ rlctl list --totals --json
{"library":"rlctl","algorithm":"fixed-window","policy":null,"keys":1,"full":1,"no_ttl":0,"bytes":[..]}
{"library":"rlctl","algorithm":"gcra","policy":null,"keys":1,"full":0,"no_ttl":0,"bytes":[..]}
$ rlctl list hits
! no limiter matches; not listed: 1 key that may be a limiter's (--all lists them)
!   hint: the pattern has no * ? or [ and matches only one key; was it quoted? 'hits*' matches all keys that begin so, '{hits}:*' those of several limits
[1]
$ rlctl list hits --all --json
{"key":"hits","library":null,"algorithm":"foreign-counter","policy":null,"part_of":null,"limit":null,"window_us":null,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":null,"remaining":null,[..]
$ rlctl list hits --read-as count --limit 24/60s --json
{"key":"hits","library":"--read-as","algorithm":"fixed-window","policy":null,"part_of":null,"limit":24,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":12,"ratio":0.5,"remaining":12,[..]
$ rlctl list --read-as count --sort key --top 9
           used           of   full   next free [..]  key
              9        10/1d    90%         now [..]  gcra                     a
             10     10/1000d   100% [..]  fixed-window             b
170000000000000            -      -           - [..] none [..]  --read-as: fixed-window  clock
             12            -      -           - [..] none [..]  --read-as: fixed-window  hits
! not listed: 1 key of other programs
! 2 keys do not store their limits; pass --limit or define a policy

## an empty database has nothing to list
$ rlctl list
! no limiters found
[1]
$ rlctl list 'login:*'
! no limiter matches
!   hint: keys with several limits have other names: '{login:*}:*'
[1]
$ rlctl list --json
[1]

## keys of all algorithms are listed with what is used, and found by --above if it is enough
$ each ALGORITHM budget fixed-window gcra sliding-window-counter sliding-window-log sliding-window-zset token-bucket
$ rlctl check -q k --limit 10/1000d --cost 7 --algorithm ALGORITHM
$ rlctl list --limit 10/1000d --above 70% --json
{"key":"k","library":"rlctl","algorithm":"ALGORITHM","policy":null,"part_of":null,"limit":10,"window_us":86400000000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":7,"ratio":0.7,"remaining":3,[..]
$ rlctl list --limit 10/1000d --above 70.1%
! no limiter matches
[1]
$ rlctl check -q k --limit 10/1000d --cost 3 --algorithm ALGORITHM
$ rlctl list --limit 10/1000d --above 100% --totals --json
{"library":"rlctl","algorithm":"ALGORITHM","policy":null,"keys":1,"full":1,"no_ttl":0,"bytes":[..]}

## a queue is full with one request more than its burst
$ rlctl check -q k --limit 10/1000d --cost 10 --algorithm leaky-bucket
$ rlctl list --above 100%
! no limiter matches
[1]
$ rlctl check -q k --limit 10/1000d --algorithm leaky-bucket
$ rlctl list --above 100% --json
{"key":"k","library":"rlctl","algorithm":"leaky-bucket","policy":null,"part_of":null,"limit":10,"window_us":86400000000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":11,"ratio":1,"remaining":0,[..]

## a pattern, --algorithm, --sort and --top choose keys and their order
$ rlctl check -q login:a --limit 10/1d --cost 5 --algorithm gcra
$ rlctl check -q login:b --limit 10/1d --cost 7 --algorithm gcra
$ rlctl check -q login:c --limit 100/1d --cost 9 --algorithm gcra
$ rlctl check -q d --limit 10/1000d --algorithm fixed-window
$ redis PERSIST d
1
$ rlctl list --sort used --top 9
  used           of   full   next free [..]  key
     9       100/1d     9%         now [..]  gcra                    login:c
     7        10/1d    70%         now [..]  gcra                    login:b
     5        10/1d    50%         now [..]  gcra                    login:a
     1     10/1000d    10%         now [..] none [..]  fixed-window            d
$ rlctl list --top 3
  used           of   full   next free [..]  key
     7        10/1d    70%         now [..]  gcra                    login:b
     5        10/1d    50%         now [..]  gcra                    login:a
     1     10/1000d    10%         now [..] none [..]  fixed-window            d
$ rlctl list --sort ttl --top 1
  used           of   full   next free [..]  key
     1     10/1000d    10%         now [..] none [..]  fixed-window            d
$ rlctl list 'login:*' --sort key --json
{"key":"login:a","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":10,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":5,"ratio":0.5,"remaining":5,[..]
{"key":"login:b","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":10,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":7,"ratio":0.7,"remaining":3,[..]
{"key":"login:c","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":100,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":9,"ratio":0.09,"remaining":91,[..]
$ rlctl list d --json
{"key":"d","library":"rlctl","algorithm":"fixed-window","policy":null,"part_of":null,"limit":10,"window_us":86400000000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":0.1,"remaining":9,[..]
$ rlctl inspect - --json
< login:b
{"key":"login:b","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":10,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":7,"ratio":[..],"remaining":3,[..]

## a budget's holds are used until they end, and a full one is free when the first ends
$ rlctl check -q full --limit 10/1000d --reserve 6 --id a --hold 100d
$ rlctl check -q full --limit 10/1000d --reserve 4 --id b --hold 200d
$ rlctl check -q lapsed --limit 10/1000d --reserve 6 --id a --hold 1s --now 2026-11-01T12:00:00Z
$ rlctl check -q lapsed --limit 10/1000d --reserve 4 --id b --hold 200d
$ rlctl check -q roomy --limit 10/1000d --cost 2 --algorithm budget
$ rlctl check -q roomy --limit 10/1000d --reserve 3 --id a --hold 100d
$ rlctl list --sort key --top 9
  used           of   full   next free [..]  key
    10     10/1000d   100% [..] 100d0h0m [..]  budget                  full
     4     10/1000d    40%         now [..]  budget                  lapsed
     5     10/1000d    50%         now [..]  budget                  roomy

## a limit comes from --limit or a policy, unless the key stores one
$ rlctl check -q login:ann --limit 10/1d --cost 4
$ rlctl check -q other --limit 10/1d --cost 4
$ rlctl list --sort key --json
{"key":"login:ann","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":null,"window_us":null,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":null,"remaining":null,[..]
{"key":"other","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":null,"window_us":null,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":null,"remaining":null,[..]
$ write config.toml
< policy.login = { key = "login:%s", limit = "8/1d" }
$ rlctl list --config config.toml --sort key --json
{"key":"login:ann","library":"rlctl","algorithm":"sliding-window-log","policy":"login","part_of":null,"limit":8,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":4,"ratio":0.5,"remaining":4,[..]
{"key":"other","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":null,"window_us":null,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":null,"remaining":null,[..]
$ rlctl list --config config.toml 'login:*' --limit 5/1d --json
{"key":"login:ann","library":"rlctl","algorithm":"sliding-window-log","policy":"login","part_of":null,"limit":5,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":4,"ratio":0.8,"remaining":1,[..]
$ rlctl list --config config.toml --limit 5/1d --totals
                    keys  full  no ttl  bytes
sliding-window-log     2     0       0 [..]
policy login           1     0       0 [..]

## --limit judges keys that store another limit, and says so
$ rlctl check -q a --limit 10/1d --cost 6 --algorithm gcra
$ rlctl check -q b --limit 100/1d --cost 4 --algorithm token-bucket
$ rlctl list --limit 6/1d --above 100% --top 9
  used           of   full   next free [..]  key
     6         6/1d   100% [..]  gcra                    a
! keys are judged by --limit 6/1d, not by the limits that they store
$ rlctl list --limit 6/1d --sort key --json
{"key":"a","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":6,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":"stored 10/1d, --limit 6/1d","used":6,"ratio":1,"remaining":0,[..]
{"key":"b","library":"rlctl","algorithm":"token-bucket","policy":null,"part_of":null,"limit":6,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":"stored 100/1d, --limit 6/1d","used":4,"ratio":0.6666666666666666,"remaining":2,[..]
$ rlctl list b --limit 6/1d --above 100%
! no limiter matches; keys are judged by --limit 6/1d, not by the limits that they store
[1]

## a key that stores another limit than its policy is judged by the stored one, and counted if it is listed
$ rlctl check -q api:ann --limit 10/1d --cost 6 --algorithm gcra
$ write config.toml
< policy.api = { key = "api:%s", limit = "1000/1d", algorithm = "gcra" }
$ rlctl check -q api:bob --limit 10/1d --cost 7 --algorithm gcra
$ rlctl list --config config.toml --top 2
  used           of   full   next free [..]  key
     7        10/1d    70%         now [..]  gcra                    api:bob
     6        10/1d    60%         now [..]  gcra                    api:ann
! 2 keys store another limit than their policy, such as: stored 10/1d, policy 1000/1d
$ rlctl list --config config.toml --top 1
  used           of   full   next free [..]  key
     7        10/1d    70%         now [..]  gcra                    api:bob
! 1 key stores another limit than its policy: stored 10/1d, policy 1000/1d

## --above counts the keys that it cannot judge, and why
$ rlctl check -q a --limit 10/1d --cost 9 --algorithm gcra
$ rlctl check -q log --limit 10/1d --cost 5
$ rlctl check -q fixed --limit 10/1000d --cost 5 --algorithm fixed-window
$ rlctl check -q {m} --limit 5/1h --limit 9/1d
$ rlctl list --above 80% --top 9
  used           of   full   next free [..]  key
     9        10/1d    90%         now [..]  gcra                    a
! not listed: 3 keys whose limit is not known (pass --limit or define a policy)
$ rlctl list --limit 5/month --above 80% --top 9
  used           of   full   next free [..]  key
     5  5/month@UTC   100% [..]  fixed-window            fixed
     5  5/month@UTC   100% [..]  sliding-window-log      log
! not listed: 3 keys (--limit 5/month@UTC does not apply to them)
! keys are judged by --limit 5/month@UTC, not by the limits that they store
$ rlctl list '{m}*' --sort key --top 9
  used           of   full   next free [..]  key
    ~1        ?/~1h      -           - [..]  sliding-window-log      {m}:3600s
    ~1        ?/~1d      -           - [..]  sliding-window-log      {m}:86400s
! 2 keys do not store their limits; pass --limit or define a policy
$ rlctl list '{m}*' --limit 5/1h --sort key --top 9
  used           of   full   next free [..]  key
     1         5/1h    20%         now [..]  sliding-window-log      {m}:3600s
    ~1        ?/~1d      -           - [..]  sliding-window-log      {m}:86400s
! --limit 5/1h does not apply to 1 key

## a user who may read only some keys sees those, with list and reset --match (own server)
$ rlctl check -q a:1 --limit 10/1d --algorithm gcra
$ rlctl check -q b:1 --limit 10/1d --algorithm gcra
$ redis ACL SETUSER some on >secret ~a:* +@all -memory
OK
$ redis ACL SETUSER none on >secret ~c:* +@all
OK
$ env REDISCLI_AUTH=secret
$ rlctl list --user some --top 9
  used           of   full   next free [..]  key
     1        10/1d    10%         now [..] -  gcra                    a:1
! not listed: 1 key that this user may not read
$ rlctl list --user some --totals --json
{"library":"rlctl","algorithm":"gcra","policy":null,"keys":1,"full":0,"no_ttl":0,"bytes":null}
! not listed: 1 key that this user may not read
$ rlctl list --user some --above 101%
! no limiter matches; not listed: 1 key that this user may not read
[1]
$ rlctl list --user none
! no limiters found; not listed: 2 keys that this user may not read
! rlctl: list: [..]: NOPERM [..]
!   hint: grant it: ACL SETUSER none '~PATTERN', with a pattern that matches the key
[4]
$ rlctl reset --user some --match '*' --dry-run
would-remove key=a:1 algorithm=gcra
! would remove 1 key (1 gcra); left 1 key that this user may not read
$ rlctl reset --user none --match '*' --yes
! removed no key; left 2 keys that this user may not read
! rlctl: reset: [..]: NOPERM [..]
!   hint: grant it: ACL SETUSER none '~PATTERN', with a pattern that matches the key
[4]
$ rlctl reset --user some --match '*' --yes
removed key=a:1 algorithm=gcra
! removed 1 key (1 gcra); left 1 key that this user may not read
$ redis KEYS *
b:1

## other libraries' keys are listed under their names, and a part of a key's state only with --all
$ redis SET LIMITS:LIMITER/ann/5/1/minute 4 EX 86400
OK
$ redis EVAL "local t = redis.call('TIME')[1] redis.call('RPUSH', KEYS[1], t .. '.5', t - 10 .. '.25', t - 90000 .. '.0')" 1 LIMITS:LIMITER/bob/3/1/day
(nil)
$ redis EXPIRE LIMITS:LIMITER/bob/3/1/day 86400
1
$ redis EVAL "redis.call('HSET', KEYS[1], 'refilledAt', redis.call('TIME')[1] .. '000', 'tokens', 2)" 1 @upstash/ratelimit:eve
(nil)
$ redis EVAL "redis.call('ZADD', KEYS[1], redis.call('TIME')[1] .. '000', 'm')" 1 swrl:ann
(nil)
$ redis EXPIRE swrl:ann 86400
1
$ redis SET rl:tb:{ann} 0
OK
$ redis EVAL "redis.call('SET', KEYS[1], redis.call('TIME')[1] .. '123')" 1 rl:tb:{ann}:ts
(nil)
$ rlctl list --sort key --all --top 9
  used           of   full   next free [..]  key
     -            -      -           - [..] none [..]  upstash: token-bucket                         @upstash/ratelimit:eve
     4        5/60s    80%         now [..]  limits: fixed-window                          LIMITS:LIMITER/ann/5/1/minute
     2         3/1d    66%         now [..]  limits: sliding-window-log                    LIMITS:LIMITER/bob/3/1/day
     -            -      -           -           -       none [..]  aspnetcore-redis-rate-limiting: token-bucket  rl:tb:{ann}
     -            -      -           -           -       none [..]  part of rl:tb:{ann}                           rl:tb:{ann}:ts
     -            -      -           - [..]  article: sliding-window-zset                  swrl:ann
! 3 keys do not store their limits; pass --limit or define a policy
$ rlctl list rl:* --all --totals
                                              keys  full  no ttl  bytes
aspnetcore-redis-rate-limiting: token-bucket     1     0       1 [..]
! 1 key does not store its limit; pass --limit or define a policy
$ rlctl list @* --limit 4/60d --json
{"key":"@upstash/ratelimit:eve","library":"upstash","algorithm":"token-bucket","policy":null,"part_of":null,"limit":4,"window_us":5184000000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":2,"ratio":0.5,"remaining":2,[..]
$ rlctl list rl:* --limit 3/45d --json
{"key":"rl:tb:{ann}","library":"aspnetcore-redis-rate-limiting","algorithm":"token-bucket","policy":null,"part_of":null,"limit":3,"window_us":3888000000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":3,"ratio":1,"remaining":0,[..]
$ rlctl list rl:* --all --above 0%
! no limiter matches; not listed: 1 key whose limit is not known (pass --limit or define a policy)
[1]
$ rlctl list rl:*:ts --all --json
{"key":"rl:tb:{ann}:ts","library":"aspnetcore-redis-rate-limiting","algorithm":"token-bucket","policy":null,"part_of":"rl:tb:{ann}","limit":null,"window_us":null,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":null,"remaining":null,[..]
