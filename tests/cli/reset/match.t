# needs: server
# `rlctl reset --match PATTERN`.

## nothing is removed with --dry-run, or without --yes and a terminal
$ rlctl check --batch -q --limit 5/1000d --now 1700000000000000
< login:ann
< login:bob
$ rlctl check -q login:cid --limit 5/1000d --algorithm gcra
$ redis EVAL "redis.call('SET', 'login:views', 17) return ''" 0
$ rlctl reset --match login:* --dry-run
would-remove key=login:ann algorithm=sliding-window-log
would-remove key=login:bob algorithm=sliding-window-log
would-remove key=login:cid algorithm=gcra
! would remove 3 keys (2 sliding-window-log, 1 gcra); left 1 that may belong to another program (1 foreign-counter); --force removes them
$ rlctl reset --match login:* --dry-run --yes -q
$ rlctl reset --match login:*
! rlctl: reset: refusing to remove 3 keys without --yes
!   hint: --dry-run lists what would be removed, --yes removes it, --save FILE keeps a copy of what is removed
[2]
$ rlctl reset --match login:ann --json
! {"error":{"code":"usage","message":"refusing to remove 1 key without --yes","hint":"--dry-run lists what would be removed, --yes removes it, --save FILE keeps a copy of what is removed"}}
[2]
$ keys
login:ann list expires 1700000000000000
login:bob list expires 1700000000000000
login:cid string expires gcra [..]
login:views string persistent 17

## --yes removes the limiters that match and nothing else; --force removes anything
$ rlctl check --batch -q --limit 5/1000d --now 1700000000000000
< api
< login:ann
< login:bob
$ rlctl check -q login:cid --limit 5/1000d --algorithm gcra
$ redis EVAL "redis.call('HSET', 'login:sessions', 'f', 'v') redis.call('SET', 'login:views', 17) return ''" 0
$ rlctl reset --match login:* --yes
removed key=login:[..] algorithm=[..]
removed key=login:[..] algorithm=[..]
removed key=login:[..] algorithm=[..]
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 3 keys (2 sliding-window-log, 1 gcra); left 1 without limiter state (1 hash); left 1 that may belong to another program (1 foreign-counter); --force removes all 2
$ keys
api list expires 1700000000000000
login:sessions hash persistent f=v
login:views string persistent 17
$ rlctl reset --match *s --yes --force
removed key=login:[..]
removed key=login:[..]
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 2 keys (1 foreign-counter, 1 hash)
$ keys
api list expires 1700000000000000

## if nothing matches, or no match is a limiter, nothing is removed, and --must-exist makes the status 1
$ redis EVAL "redis.call('SET', 'text', 'hello') return ''" 0
$ rlctl reset --match login:* --yes
! nothing to remove
!   hint: keys with several limits have other names: '{login:*}:*'
$ rlctl reset --match *
! removed no key; left 1 without limiter state (1 string)
$ rlctl reset --match * --dry-run
! would remove no key; left 1 without limiter state (1 string)
$ rlctl reset --must-exist --match login:* --yes -q
[1]
$ rlctl reset --must-exist --match * -q
[1]
$ rlctl reset --must-exist --match * --dry-run -q
[1]

## a pattern without a glob that matches nothing gets a hint, but not with --quiet or --json
$ rlctl reset --match login:a.log --yes
! nothing to remove
!   hint: the pattern has no * ? or [ and matches only one key; was it quoted? 'login:a.log*' matches all keys that begin so, '{login:a.log}:*' those of several limits
$ rlctl reset --match login:a.log --yes --quiet
$ rlctl reset --match login:a.log --yes --json

## the pattern has Redis's syntax
$ redis EVAL "redis.call('MSET', 'ab', 1, 'ac', 1, 'ad', 1, 'a*', 1) return ''" 0
$ rlctl reset -q --force --match a[bc] --yes
$ rlctl reset -q --force --match 'a\*' --yes
$ keys
ad string persistent 1

## --json lists what is removed
$ rlctl check -q k --limit 5/1000d
$ redis EVAL "redis.call('SET', 'text', 'hello') return ''" 0
$ rlctl reset --match * --yes --json
{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
