# needs: server
# What `rlctl audit` says about incidents of production, planted; audit.bats runs the commands that it prints. Windows of 30 days do not end during a test.

## a healthy server has no findings
$ each ALGORITHM budget fixed-window gcra leaky-bucket sliding-window-counter sliding-window-log sliding-window-zset token-bucket
$ rlctl check -q k --limit 5/30d --algorithm ALGORITHM
$ rlctl check -q k --limit 5/30d --limit 9/60d --algorithm ALGORITHM
$ redis EVAL "redis.call('SET', 'hits', 12, 'EX', 60) redis.call('RPUSH', 'queue', 1, 2, 3) redis.call('ZADD', 'lease', redis.call('TIME')[1] * 1000000 + 60000000, 'lease:a', -3, 'limit') redis.call('EXPIRE', 'lease', 60) return ''" 0
$ rlctl audit
no findings in 4 limiter keys, 2 other keys[..]
$ rlctl audit --json

## bursts of hours, any number of units, and a clock that is a few seconds ahead are healthy
$ rlctl check -q --limit 1/1s --burst 10000 --algorithm token-bucket --cost 10000 a
$ rlctl check -q --limit 1/1s --burst 10000 --algorithm gcra --cost 10000 b
$ rlctl check -q --limit 90000000/2m --algorithm gcra --cost 90000000 c
$ rlctl check -q --limit 3000000/10s --burst 1000000000 --algorithm gcra --cost 1000000000 d
$ rlctl check -q --limit 7/1h --burst 70 --algorithm leaky-bucket --cost 70 e
$ redis EVAL "redis.call('RPUSH', KEYS[1], redis.call('TIME')[1] + 3 .. '.0') redis.call('EXPIRE', KEYS[1], 60) return ''" 1 LIMITS:LIMITER/ann/5/1/minute
$ rlctl audit
no findings in 6 limiter keys

## a TTL that is too short is critical, none or a very long one a warning; parts of other keys are not limiters
$ rlctl check -q expires --limit 5/30d --cost 5 --algorithm gcra
$ rlctl check -q forgotten --limit 5/30d --algorithm gcra
$ rlctl check -q {m} --limit 5/1h --limit 9/1d --cost 5
$ redis EVAL "redis.call('PEXPIRE', 'expires', 600000) redis.call('PERSIST', 'forgotten') redis.call('PEXPIRE', '{m}:3600s', 600000) redis.call('SET', 'rl:tb:{ann}', 0, 'PX', 45000) redis.call('SET', 'rl:tb:{ann}:ts', redis.call('TIME')[1] .. '123', 'PX', 45000) return ''" 0
$ rlctl audit
critical  ttl_short    expires
                       expires in [..], but what is used counts for [..]: the limit is forgotten early
                       redis-cli -s [..]/redis.sock PEXPIRE expires 259[..]
critical  ttl_short    {m}:3600s
                       expires in [..], but what is used counts for [..]: the limit is forgotten early
                       redis-cli -s [..]/redis.sock PEXPIRE '{m}:3600s' 3[..]
warning   no_ttl       forgotten
                       no TTL: it stays in memory when nothing of it counts any more
                       redis-cli -s [..]/redis.sock PEXPIRE forgotten 2592000000
2 critical findings, 1 warning in 5 limiter keys, 1 other key; TTL not checked for 1 key: no policy defines its window
[2]
$ rlctl audit --json for*
{"finding":"no_ttl","severity":"warning","key":"forgotten","detail":"no TTL: it stays in memory when nothing of it counts any more","fix":"redis-cli -s [..]/redis.sock PEXPIRE forgotten 2592000000"}
[1]

## a TTL out of all proportion is a finding, whatever is known of the key
$ redis EVAL "local years, now = 46 * 365 * 86400, redis.call('TIME')[1] redis.call('SET', 'quota:acme:20251127', 4711, 'EX', 157680000) redis.call('SET', 'spend:ann', 100.25, 'EX', years) redis.call('HSET', 'usage:ann', 'req', 12, 'tok', 3400) redis.call('EXPIRE', 'usage:ann', years) redis.call('ZADD', 'seen:ann', now, 'a', now, 'b') redis.call('EXPIRE', 'seen:ann', years) redis.call('SET', 'yearly:ann', 12, 'EX', 366 * 86400) return ''" 0
$ rlctl audit --json
{"finding":"ttl_long","severity":"warning","key":"quota:acme:20251127","detail":"expires in [..]: if this counts requests, it resets only then","fix":"rlctl --url SERVER inspect -- quota:acme:20251127"}
{"finding":"ttl_long","severity":"warning","key":"seen:ann","detail":"expires in [..]: if this is a limiter's window, it stays in memory until then","fix":"rlctl --url SERVER inspect -- seen:ann"}
{"finding":"ttl_long","severity":"warning","key":"spend:ann","detail":"expires in [..]: if this counts requests, it resets only then","fix":"rlctl --url SERVER inspect -- spend:ann"}
{"finding":"ttl_long","severity":"warning","key":"usage:ann","detail":"expires in [..]: if this counts requests, it resets only then","fix":"rlctl --url SERVER inspect -- usage:ann"}
[1]
$ rlctl audit --json --read-as count quota:*
{"finding":"ttl_long","severity":"warning","key":"quota:acme:20251127","detail":"its window ends only in [..]: 4711 units used","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- quota:acme:20251127"}
[1]
$ write config
< timeout = "120s"
< library.quota = { key = "quota:*", type = "string", value = "count", limit = "99999/30d" }
< library.yearly = { key = "yearly:*", type = "string", value = "count", limit = "20/366d" }
$ rlctl audit --json --config FOLDER/config [qy]*
{"finding":"ttl_long","severity":"warning","key":"quota:acme:20251127","detail":"its window of 30d ends only in [..]: 4711 of 99999 used","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- quota:acme:20251127"}
[1]

## what may count without a TTL is a warning in words that are true of it: whole, negative, a fraction, in a hash
$ redis EVAL "local now = redis.call('TIME')[1] redis.call('MSET', 'whole', 500, 'negative', -500, 'one', 1, 'fraction', 100.25, 'below', -0.5) redis.call('HSET', 'usage', 'req', 12, 'tok', 3400) redis.call('HSET', 'counter', 'count', 7, 'limit', 100) redis.call('HSET', 'bucket', 'tokens', 3.5, 'last_refill', now .. '.5') redis.call('ZADD', 'seconds', now, 'a') redis.call('ZADD', 'milliseconds', now .. '123', 'a') redis.call('ZADD', 'microseconds', now .. '123456', 'a') return ''" 0
$ rlctl audit --json
{"finding":"no_ttl","severity":"warning","key":"below","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- below"}
{"finding":"no_ttl","severity":"warning","key":"bucket","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- bucket"}
{"finding":"no_ttl","severity":"warning","key":"counter","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- counter"}
{"finding":"no_ttl","severity":"warning","key":"fraction","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- fraction"}
{"finding":"no_ttl","severity":"warning","key":"microseconds","detail":"no TTL: if it is a limiter's window, it stays in memory, and nothing removes what has left it","fix":"rlctl --url SERVER inspect -- microseconds"}
{"finding":"no_ttl","severity":"warning","key":"milliseconds","detail":"no TTL: if it is a limiter's window, it stays in memory, and nothing removes what has left it","fix":"rlctl --url SERVER inspect -- milliseconds"}
{"finding":"no_ttl","severity":"warning","key":"negative","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- negative"}
{"finding":"no_ttl","severity":"warning","key":"one","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- one"}
{"finding":"no_ttl","severity":"warning","key":"seconds","detail":"no TTL: if it is a limiter's window, it stays in memory, and nothing removes what has left it","fix":"rlctl --url SERVER inspect -- seconds"}
{"finding":"no_ttl","severity":"warning","key":"usage","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- usage"}
{"finding":"no_ttl","severity":"warning","key":"whole","detail":"no TTL: if this counts requests, it never resets","fix":"rlctl --url SERVER inspect -- whole"}
[1]
$ rlctl audit --json --read-as count whole
{"finding":"no_ttl","severity":"critical","key":"whole","detail":"no TTL, and only a TTL would end its window: 500 units used forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- whole"}
[2]
$ rlctl inspect counter
key        counter                hash, [..] bytes, no ttl
holds      counts                 a hash of counts, as limiters keep them
used       unknown
           which of its fields count requests is not known
           tell it in the configuration file:
    [library.counter]
    key = 'counter'
    type = "hash"
    value = "count"  # or remaining
    field = "FIELD"
$ rlctl inspect --json below fraction
{"key":"below",[..]"algorithm":"foreign-counter",[..]"used":null,[..]"number":-0.5,[..]}
{"key":"fraction",[..]"algorithm":"foreign-counter",[..]"used":null,[..]"number":100.25,[..]}
$ rlctl quota usage --limit 100/60s
RATELIMIT UNKNOWN - 'usage' holds counts: which of its fields count requests is not known
hint: a row [library.NAME] in the configuration file
[3]
$ rlctl list --all --json counter
{"key":"counter",[..]}

## what only looks a little like a count or a window is no finding
$ redis EVAL "local now = redis.call('TIME')[1] redis.call('HSET', 'user', 'name', 'ann', 'count', 7) redis.call('HSET', 'limits', 'limit', 100, 'window', 60) redis.call('HSET', 'text', 'count', 'many', 'limit', 100) redis.call('MSET', 'time', now .. '.5', 'started', now, 'version', '1.2.3', 'exponent', '1e5', 'word', '1.5x') redis.call('ZADD', 'board', 4711, 'ann') redis.call('ZADD', 'ahead', now + 600, 'a') redis.call('ZADD', 'jobs', now, '{\"class\":\"Job\"}') return ''" 0
$ rlctl audit
no findings in 0 limiter keys, 11 other keys

## a row that says count reads a number that is not whole, and one below 0
$ redis EVAL "redis.call('MSET', 'spend:a', 87.43, 'spend:b', 120.5, 'left:a', 12.5, 'spend:d', -3.25, 'spend:e', -500, 'left:d', -3.25) redis.call('SET', 'spend:c', 99.5, 'EX', 86400) return ''" 0
$ write config
< timeout = "120s"
< library.spend = { key = "spend:*", type = "string", value = "count", limit = "100/30d" }
< library.left = { key = "left:*", type = "string", value = "remaining", limit = "100/30d" }
$ rlctl quota --read-as count --limit 100/30d spend:a
RATELIMIT WARNING - spend:a 88% used (88 of 100) | used=88;80;95;0;100 remaining=12;;;0;100
[1]
$ env RLCTL_CONFIG=FOLDER/config
$ rlctl inspect spend:a spend:c
key        spend:a                string, [..] bytes, no ttl: never resets
algorithm  spend: fixed-window    limit 100/30d
           a count of what is used
used       88 of 100              12 remaining
           ███████████████████████████████████░░░░░  88%
count      87.43

key        spend:c                string, [..] bytes, ttl [..]
algorithm  spend: fixed-window    limit 100/30d
           a count of what is used
used       100 of 100             next free in [..], resets in [..]
           ████████████████████████████████████████  100%
count      99.5
$ rlctl quota spend:a spend:b left:a
RATELIMIT CRITICAL - spend:b 121% used (121 of 100); others: 2 WARNING | 'spend:a used'=88;80;95;0;100 'spend:a remaining'=12;;;0;100 'spend:b used'=121;80;95;0;100 'spend:b remaining'=0;;;0;100 'left:a used'=88;80;95;0;100 'left:a remaining'=12;;;0;100
WARNING spend:a 88% used (88 of 100)
CRITICAL spend:b 121% used (121 of 100)
WARNING left:a 88% used (88 of 100)
[2]
$ rlctl list --above 100% --json
{"key":"left:d","library":"left","algorithm":"fixed-window","policy":null,"part_of":null,"limit":100,"window_us":2592000000000,"window_inferred":false,"burst":[..],"limits_differ":null,"used":100,"ratio":1,"remaining":0,"next_free_us":-1,"reset_after_us":null,"ttl_us":null,"bytes":[..]}
{"key":"spend:b","library":"spend","algorithm":"fixed-window","policy":null,"part_of":null,"limit":100,"window_us":2592000000000,"window_inferred":false,"burst":[..],"limits_differ":null,"used":121,"ratio":1.21,"remaining":0,"next_free_us":-1,"reset_after_us":null,"ttl_us":null,"bytes":[..]}
{"key":"spend:c","library":"spend","algorithm":"fixed-window","policy":null,"part_of":null,"limit":100,"window_us":2592000000000,"window_inferred":false,"burst":[..],"limits_differ":null,"used":100,"ratio":1,"remaining":0,"next_free_us":[..],"reset_after_us":[..],"ttl_us":[..],"bytes":[..]}
$ rlctl audit --json
{"finding":"no_ttl","severity":"critical","key":"left:a","detail":"no TTL, and only a TTL would end its window: 87.5 of 100 used forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- left:a"}
{"finding":"no_ttl","severity":"critical","key":"left:d","detail":"no TTL, and only a TTL would end its window: 103.25 of 100 used, denied forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- left:d"}
{"finding":"no_ttl","severity":"critical","key":"spend:a","detail":"no TTL, and only a TTL would end its window: 87.43 of 100 used forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- spend:a"}
{"finding":"no_ttl","severity":"critical","key":"spend:b","detail":"no TTL, and only a TTL would end its window: 120.5 of 100 used, denied forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- spend:b"}
{"finding":"no_ttl","severity":"critical","key":"spend:d","detail":"no TTL, and only a TTL would end its window: at -3.25, it allows 3.25 units more than its limit","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- spend:d"}
{"finding":"no_ttl","severity":"critical","key":"spend:e","detail":"no TTL, and only a TTL would end its window: at -500, it allows 500 units more than its limit","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- spend:e"}
[2]

## other libraries' counters without a TTL lock users out; a bucket in debt has negative tokens
$ redis EVAL "redis.call('SET', 'rlflx:bob', 9) redis.call('SET', 'LIMITS:LIMITER/eve/5/1/minute', 5) redis.call('SET', 'page:views', 12, 'EX', 60) redis.call('RPUSH', 'token_bucket:ann', 't', 't') redis.call('HSET', '@upstash/ratelimit:ann', 'refilledAt', redis.call('TIME')[1] .. '000', 'tokens', -7) redis.call('EXPIRE', '@upstash/ratelimit:ann', 60) return ''" 0
$ rlctl audit --json
{"finding":"no_ttl","severity":"critical","key":"LIMITS:LIMITER/eve/5/1/minute","detail":"no TTL, and only a TTL would end its window: 5 of 5 used, denied forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- LIMITS:LIMITER/eve/5/1/minute"}
{"finding":"no_ttl","severity":"critical","key":"rlflx:bob","detail":"no TTL, and only a TTL would end its window: 9 units used forever","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- rlflx:bob"}
{"finding":"negative","severity":"warning","key":"@upstash/ratelimit:ann","detail":"-7 tokens: more were taken than there were, and requests are denied until they have come back","fix":"# another program keeps it, find out first whether it may be changed: rlctl --url SERVER reset --force -- @upstash/ratelimit:ann"}
[2]

## a list of times in the future is looked at, and removed only if a policy says that it is a limiter's
$ redis EVAL "local later = redis.call('TIME')[1] + 864000 .. '000000' redis.call('RPUSH', 'plans', later, later) redis.call('RPUSH', 'expiring', later, later) redis.call('EXPIRE', 'expiring', 600) return ''" 0
$ rlctl audit --json
{"finding":"future","severity":"critical","key":"expiring","detail":"holds the time [..] ahead of the server: a clock was wrong, and requests are denied for longer than the limit says","fix":"# it may belong to another program, look at it first: rlctl --url SERVER inspect -- expiring"}
{"finding":"future","severity":"critical","key":"plans","detail":"holds the time [..] ahead of the server: a clock was wrong, and requests are denied for longer than the limit says","fix":"# it may belong to another program, look at it first: rlctl --url SERVER inspect -- plans"}
{"finding":"no_ttl","severity":"warning","key":"plans","detail":"no TTL: it stays in memory when nothing of it counts any more","fix":"rlctl --url SERVER inspect -- plans"}
[2]
$ write config
< timeout = "120s"
< policy.plans = { key = "plans", limit = "5/60s" }
$ rlctl audit --config FOLDER/config --json plans
{"finding":"future","severity":"critical","key":"plans","detail":"holds the time [..] ahead of the server: a clock was wrong, and requests are denied for longer than the limit says","fix":"rlctl --url SERVER reset -- plans"}
{"finding":"no_ttl","severity":"warning","key":"plans","detail":"no TTL: it stays in memory when nothing of it counts any more","fix":"redis-cli -s [..]/redis.sock PEXPIRE plans [..]"}
[2]

## a large sorted set should be a list
$ rlctl check -q small --limit 1000/1h --algorithm sliding-window-zset --cost 128
$ rlctl check -q big --limit 1000/1h --algorithm sliding-window-zset --cost 129
$ rlctl audit --json
{"finding":"zset_log","severity":"warning","key":"big","detail":"129 entries of a sorted set in [..] bytes: a list takes a twelfth","fix":"# count with sliding-window-log, which keeps the same in a list"}
[1]

## the TTL of a log is judged if a policy gives its window, and counted if not
$ each KIND -log -zset
$ write config
< timeout = "120s"
< policy.log = { key = "log:%s", limit = "5/1h", algorithm = "sliding-windowKIND" }
$ rlctl check -q log:x --limit 5/1h --algorithm sliding-windowKIND
$ redis EVAL "redis.call('PEXPIRE', 'log:x', 600000) return ''" 0
$ rlctl audit
no findings in 1 limiter key; TTL not checked for 1 key: no policy defines its window
$ rlctl --config FOLDER/config audit --json
{"finding":"ttl_short","severity":"critical","key":"log:x","detail":"expires in [..], but what is used counts for [..]: the limit is forgotten early","fix":"redis-cli -s [..]/redis.sock PEXPIRE log:x 3[..]"}
[2]

## a finding about a key that stores another limit than its policy says both; another algorithm's limit does not end the audit
$ rlctl check -q api:ann --limit 10/1d --algorithm gcra --cost 6
$ redis EVAL "redis.call('PEXPIRE', 'api:ann', 600000) redis.call('SET', 'rate:ann', redis.call('TIME')[1] - 1483228750 .. '.5', 'EX', 51) return ''" 0
$ write config
< timeout = "120s"
< policy.api = { key = "api:%s", limit = "1000/20s", algorithm = "gcra" }
< policy.rate = { key = "rate:%s", limit = "1000000000/1d", algorithm = "fixed-window" }
$ env RLCTL_CONFIG=FOLDER/config
$ rlctl audit --json
{"finding":"ttl_short","severity":"critical","key":"api:ann","detail":"expires in [..], but what is used counts for [..]: the limit is forgotten early; stored 10/1d, policy 1000/20s","fix":"[..]"}
[2]
$ rlctl audit --json rate:ann
$ rlctl list --json rate:ann
{"key":"rate:ann",[..]}
$ rlctl inspect --json rate:ann
{"key":"rate:ann",[..]}
! rlctl: inspect: warning: policy 'rate' names fixed-window, but 'rate:ann' is redis_rate's state (gcra): check would fail

## of many findings of a kind, --top are shown, and all are counted
$ redis EVAL "for i = 1, 22 do redis.call('HSET', 'usage' .. i, 'req', 12, 'tok', 3400) end return ''" 0
$ rlctl audit --top 2
warning   no_ttl       usage1
                       no TTL: if this counts requests, it never resets
                       rlctl --url SERVER inspect -- usage1
warning   no_ttl       usage10
                       no TTL: if this counts requests, it never resets
                       rlctl --url SERVER inspect -- usage10
and 20 more with no_ttl; --top all shows them
22 warnings in 0 limiter keys, 22 other keys
[1]

## a policy that may evict limiters is found, and critical once it has evicted keys (own server)
$ redis CONFIG SET maxmemory 1gb
OK
$ rlctl audit
no findings in 0 limiter keys
$ redis CONFIG SET maxmemory-policy volatile-lru
OK
$ rlctl audit --json
{"finding":"eviction","severity":"warning","key":null,"detail":"maxmemory-policy volatile-lru may delete limiters to make room, which then allow their full limit","fix":"# set maxmemory-policy noeviction, on a server of its own for limiters"}
[1]
$ redis EVAL "redis.call('SET', 'filler', string.rep('x', 100000), 'EX', 1000) return ''" 0
$ redis CONFIG SET maxmemory 1mb
OK
$ rlctl audit --json
{"finding":"eviction","severity":"critical","key":null,"detail":"maxmemory-policy volatile-lru may delete limiters to make room, which then allow their full limit; 1 key was evicted","fix":"# set maxmemory-policy noeviction, on a server of its own for limiters"}
[2]

## commands name the server and the database, and keys with any bytes are escaped
$ rlctl check -q -n 3 "it's $x" --limit 5/60s --algorithm gcra
$ redis EVAL "redis.call('SELECT', 3) redis.call('PERSIST', KEYS[1]) return ''" 1 "it's $x"
$ rlctl -n 3 audit
warning   no_ttl       it's\x20$x
                       no TTL: it stays in memory when nothing of it counts any more
                       redis-cli -s [..]/redis.sock -n 3 PEXPIRE 'it'\''s $x' 60000
1 warning in 1 limiter key
[1]

## audit calls neither a script nor KEYS, and what the user may not see is UNKNOWN, not OK (own server)
$ rlctl check -q a --limit 5/60s --algorithm gcra
$ rlctl check -q b --limit 5/60s --algorithm gcra
$ redis ACL SETUSER some reset on nopass ~a +@read -keys +time +@connection +info +cluster
OK
$ redis ACL SETUSER noinfo reset on nopass ~* +@read -keys +time +@connection +cluster
OK
$ rlctl --user some audit
no findings in 1 limiter key
! rlctl: audit: warning: not audited: 1 key that this user may not read
[3]
$ rlctl --user noinfo audit
no findings in 2 limiter keys
! rlctl: audit: warning: eviction is not checked: the user needs +info
[3]
$ rlctl --user some audit a
no findings in 1 limiter key
$ redis EVAL "redis.call('PERSIST', 'a') return ''" 0
$ rlctl --user some audit --json
{"finding":"no_ttl","severity":"warning","key":"a","detail":"no TTL: it stays in memory when nothing of it counts any more","fix":"redis-cli -s [..]/redis.sock --user some PEXPIRE a 60000"}
! rlctl: audit: warning: not audited: 1 key that this user may not read
[1]
