# needs: server
# `reset --holder`: one lease or reservation of several.

## a holder's lease is freed by its whole name, its host and process, or its host, unless that stands for several
$ redis EVAL "local later = redis.call('TIME')[1] * 1000000 + 60000000 redis.call('ZADD', 'k', later, 'lease:web1:1:a', later, 'lease:web1:10:b', later, 'lease:web1:10:b:more', 1700000000000000, 'lease:web1:9:lapsed', -9, 'limit') redis.call('ZADD', '{k}:leases', later, 'lease:web2:7:d', -9, 'limit') redis.call('EXPIRE', 'k', 60) redis.call('EXPIRE', '{k}:leases', 60) return ''" 0
$ rlctl reset k --holder web1
! rlctl: reset: --holder: 'web1' stands for 3 holders: web1:10:b, web1:10:b:more and web1:1:a
!   hint: give one of them in full; rlctl inspect k shows what it holds
[2]
$ rlctl reset k --holder web1:1 --dry-run
would-remove key=k algorithm=concurrency holder=web1:1:a
$ rlctl reset k --holder web2 --dry-run --json
{"key":"{k}:leases","result":"would_remove","type":"zset","library":"rlctl","algorithm":"concurrency","reason":null,"part_of":null,"holder":"web2:7:d"}
$ keys
k zset expires lease:web1:10:b:more=[..] lease:web1:10:b=[..] lease:web1:1:a=[..] lease:web1:9:lapsed=[..] limit=-9
{k}:leases zset expires lease:web2:7:d=[..] limit=-9
$ rlctl reset k --holder web1:9 --must-exist
none key=k holder=web1:9
! nothing to remove
[1]
$ rlctl reset k --holder web --must-exist -q
[1]
$ rlctl reset k --holder web1: --must-exist -q
[1]
$ rlctl reset k --holder web1:1
removed key=k algorithm=concurrency holder=web1:1:a
$ rlctl reset k --holder web2 --json
{"key":"{k}:leases","result":"removed","type":"zset","library":"rlctl","algorithm":"concurrency","reason":null,"part_of":null,"holder":"web2:7:d"}
$ rlctl reset k --holder web1:10:b
removed key=k algorithm=concurrency holder=web1:10:b
$ rlctl reset k --holder web1
removed key=k algorithm=concurrency holder=web1:10:b:more
$ keys

## another kind of key has no holder
$ redis EVAL "redis.call('SET', 'text', 'value') return ''" 0
$ rlctl check -q list --limit 5/60s
$ rlctl reset text --holder web1 --must-exist -q
[1]
$ rlctl reset list --holder web1 --must-exist --json
{"key":"list","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null,"holder":"web1"}
[1]
$ redis DBSIZE
2

## a lease of another library is not freed, nor is it shown as one that would be
$ each NAME throttled:job:concurrency.v2 acme:job
$ write config
< timeout = "120s"
< library.acme = { key = "acme:*", type = "zset", value = "leases" }
$ redis EVAL "redis.call('ZADD', KEYS[1], redis.call('TIME')[1] + 60, 'web1') return ''" 1 NAME
$ rlctl --config FOLDER/config reset --must-exist NAME --holder web1 --dry-run
none key=NAME holder=web1
! nothing to remove
[1]

## a reservation is released by its ID from all keys of its limits, and a late settle is not counted
$ rlctl check -q mo --limit 10/min,20/1d,30/day@UTC,40/day@Europe/Zurich,50/month+15@Europe/Zurich --algorithm budget --reserve 4 --hold 1h --id web:1
$ rlctl check -q mo --limit 10/min,20/1d,30/day@UTC,40/day@Europe/Zurich,50/month+15@Europe/Zurich --algorithm budget --reserve 3 --hold 1h --id web:2
$ rlctl reset mo --holder web:1 --dry-run
would-remove key={mo}:60s algorithm=budget holder=web:1
would-remove key={mo}:86400s algorithm=budget holder=web:1
would-remove key={mo}:day@Europe/Zurich algorithm=budget holder=web:1
would-remove key={mo}:day@UTC algorithm=budget holder=web:1
would-remove key={mo}:month+15@Europe/Zurich algorithm=budget holder=web:1
$ rlctl reset mo --holder web --must-exist
none key=mo holder=web
! nothing to remove
[1]
$ rlctl reset mo --holder web:1
removed key={mo}:60s algorithm=budget holder=web:1
removed key={mo}:86400s algorithm=budget holder=web:1
removed key={mo}:day@Europe/Zurich algorithm=budget holder=web:1
removed key={mo}:day@UTC algorithm=budget holder=web:1
removed key={mo}:month+15@Europe/Zurich algorithm=budget holder=web:1
$ rlctl reset mo --holder web:1 --must-exist --json
{"key":"mo","result":"none","type":null,"library":null,"algorithm":null,"reason":null,"part_of":null,"holder":"web:1"}
[1]
$ rlctl settle mo web:1 4 --limit 10/min,20/1d
! rlctl: settle: reservation 'web:1' of 'mo' is already settled with 0, not 4; nothing was changed
[2]
$ rlctl list
  used           of   full   next free   resets in        ttl     bytes  algorithm               key
     3       10/60s    30% [..] {mo}:60s
     3        20/1d    15% [..] {mo}:86400s
     3        40/1d     7% [..] {mo}:day@Europe/Zurich
     3        30/1d    10% [..] {mo}:day@UTC
     3[..] 6% [..] {mo}:month+15@Europe/Zurich

        keys  full  no ttl  bytes
budget [..]
$ rlctl reset mo --holder web:2 --limit 10/min,20/1d
removed key={mo}:60s algorithm=budget holder=web:2
removed key={mo}:86400s algorithm=budget holder=web:2
