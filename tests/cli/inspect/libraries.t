# needs: server
# What inspect, list, quota, reset and check say about the state of other libraries.

## upstash: how long a window is follows from the limit
$ redis SET @upstash/ratelimit:ann:20454 2 EX 86400
OK
$ rlctl inspect @upstash/ratelimit:ann:20454 --now 2026-01-01T12:00:00Z
key        @upstash/ratelimit:ann:20454  string, [..] bytes, ttl [..]
algorithm  upstash                limit not stored; pass --limit
           a count of what is used
used       unknown
           how long its window is is not known without a limit
now        2026-01-01T12:00:00Z   [..] behind the server's clock
$ rlctl inspect @upstash/ratelimit:ann:20454 --limit 5/1h --json --now 2026-01-01T12:00:00Z
{"key":"@upstash/ratelimit:ann:20454","library":"upstash","algorithm":null,"policy":null,"part_of":null,"limit":5,"window_us":3600000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":[..],"remaining":null,[..]
$ rlctl quota @upstash/ratelimit:ann:20454 --limit 5/1h
RATELIMIT UNKNOWN - '@upstash/ratelimit:ann:20454': its name tells when a window began, but of no window as long as the limit's
hint: rlctl inspect @upstash/ratelimit:ann:20454 shows what it holds
[3]
$ rlctl list --all --top 9
  used           of   full   next free [..]  key
     -            -      -           -           - [..]  upstash                 @upstash/ratelimit:ann:20454
! 1 key does not store its limit; pass --limit or define a policy

## a count without an end is never free, and more than the limit may be left
$ redis SET LIMITS:LIMITER/eve/5/1/minute 9
OK
$ redis SET LIMITS:LIMITER/ann/10/1/minute -6 EX 86400
OK
$ rlctl inspect LIMITS:LIMITER/eve/5/1/minute
key        LIMITS:LIMITER/eve/5/1/minute  string, [..] bytes, no ttl: never resets
algorithm  limits: fixed-window   limit 5/60s
           a count of what is used
used       9 of 5                 next free never
           ████████████████████████████████████████  180%
$ rlctl list --sort key --top 9
  used           of   full   next free [..]  key
     0       10/60s     0%         now [..]  limits: fixed-window    LIMITS:LIMITER/ann/10/1/minute
     9        5/60s   180%       never           -       none [..]  limits: fixed-window    LIMITS:LIMITER/eve/5/1/minute
$ rlctl list LIMITS:LIMITER/ann/10/1/minute --json
{"key":"LIMITS:LIMITER/ann/10/1/minute","library":"limits","algorithm":"fixed-window","policy":null,"part_of":null,"limit":10,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":0,"ratio":0,"remaining":16,[..]

## quota, check and reset name the library, and reset removes its state only with --force
$ redis SET LIMITS:LIMITER/bob/10/1/day 9 EX 86400
OK
$ redis HSET throttled:v1:token_bucket:ann tokens 3 last_refreshed 1767268800
2
$ rlctl quota LIMITS:LIMITER/bob/10/1/day -w 80%
RATELIMIT WARNING - LIMITS:LIMITER/bob/10/1/day 90% used (9 of 10), resets in [..]
[1]
$ rlctl quota throttled:v1:token_bucket:ann
RATELIMIT UNKNOWN - the state of 'throttled:v1:token_bucket:ann' does not include its limit
hint: pass --limit or --policy
[3]
$ rlctl check LIMITS:LIMITER/bob/10/1/day --limit 10/60s --algorithm gcra
! rlctl: check: SERVER: 'LIMITS:LIMITER/bob/10/1/day' holds limits's state (fixed-window), not gcra's
!   hint: rlctl inspect LIMITS:LIMITER/bob/10/1/day shows what it holds
[5]
$ rlctl reset LIMITS:LIMITER/bob/10/1/day --limit 10/1d
left key=LIMITS:LIMITER/bob/10/1/day type=string library=limits algorithm=fixed-window reason=foreign
! rlctl: reset: left 'LIMITS:LIMITER/bob/10/1/day': it holds limits's state (fixed-window), not rlctl's
!   hint: rlctl inspect LIMITS:LIMITER/bob/10/1/day shows what it holds; --force removes it anyway
[5]
$ rlctl reset --match '*' --yes
! removed no key; left 2 that may belong to another program (1 limits: fixed-window, 1 throttled-py: token-bucket); --force removes them
$ redis DBSIZE
2
$ rlctl reset --force throttled:v1:token_bucket:ann LIMITS:LIMITER/bob/10/1/day --limit 10/1d
removed key=throttled:v1:token_bucket:ann library=throttled-py algorithm=token-bucket
removed key=LIMITS:LIMITER/bob/10/1/day library=limits algorithm=fixed-window
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 2 keys (1 limits: fixed-window, 1 throttled-py: token-bucket)
$ redis DBSIZE
0

## times in each unit are read, as a row, --read-as and the size of the numbers tell
$ each UNIT s ms us ns
$ redis EVAL "local zeros = ({s = '', ms = '000', us = '000000', ns = '000000000'}).UNIT local function add(name, now) for i = 3, 1, -1 do redis.call('ZADD', 'zset:' .. name, now - i .. zeros, 'm' .. i) redis.call('RPUSH', 'list:' .. name, now - i .. zeros) end end add('then', 1767268800) add('now', redis.call('TIME')[1]) return ''" 0
$ write told
< timeout = "120s"
< library.zset = { key = "zset:*", type = "zset", value = "times", unit = "UNIT" }
< library.list = { key = "list:*", type = "list", value = "times", unit = "UNIT" }
$ rlctl inspect zset:then list:then --json --limit 5/600s --now 2026-01-01T12:00:00Z --config told
{"key":"zset:then","library":"zset","algorithm":"sliding-window-zset",[..]"limit":5,"window_us":600000000,[..]"used":3,[..]"stored":3,[..]"entries":[{"at_us":1767268797000000,"count":1},{"at_us":1767268798000000,"count":1},{"at_us":1767268799000000,"count":1}],"reservations":[]}
{"key":"list:then","library":"list","algorithm":"sliding-window-log",[..]"limit":5,"window_us":600000000,[..]"used":3,[..]"stored":3,[..]"entries":[{"at_us":1767268797000000,"count":1},{"at_us":1767268798000000,"count":1},{"at_us":1767268799000000,"count":1}],"reservations":[]}
$ write untold
< timeout = "120s"
< library.zset = { key = "zset:*", type = "zset", value = "times" }
< library.list = { key = "list:*", type = "list", value = "times" }
$ rlctl inspect zset:then list:then --json --limit 5/600s --now 2026-01-01T12:00:00Z --config untold
{"key":"zset:then","library":"zset","algorithm":"sliding-window-zset",[..]"limit":5,"window_us":600000000,[..]"used":3,[..]"stored":3,[..]"entries":[{"at_us":1767268797000000,"count":1},{"at_us":1767268798000000,"count":1},{"at_us":1767268799000000,"count":1}],"reservations":[]}
{"key":"list:then","library":"list","algorithm":"sliding-window-log",[..]"limit":5,"window_us":600000000,[..]"used":3,[..]"stored":3,[..]"entries":[{"at_us":1767268797000000,"count":1},{"at_us":1767268798000000,"count":1},{"at_us":1767268799000000,"count":1}],"reservations":[]}
$ rlctl inspect zset:then list:then --json --limit 5/600s --now 2026-01-01T12:00:00Z --read-as times
{"key":"zset:then","library":"--read-as","algorithm":"sliding-window-zset",[..]"limit":5,"window_us":600000000,[..]"used":3,[..]"stored":3,[..]"entries":[{"at_us":1767268797000000,"count":1},{"at_us":1767268798000000,"count":1},{"at_us":1767268799000000,"count":1}],"reservations":[]}
{"key":"list:then","library":"--read-as","algorithm":"sliding-window-log",[..]"limit":5,"window_us":600000000,[..]"used":3,[..]"stored":3,[..]"entries":[{"at_us":1767268797000000,"count":1},{"at_us":1767268798000000,"count":1},{"at_us":1767268799000000,"count":1}],"reservations":[]}
$ rlctl list *:now --limit 5/600s --sort key --top 9 --config untold
  used           of   full   next free   resets in [..]  key
     3        5/10m    60%         now   5[..] s       none [..]  list: sliding-window-log   list:now
     3        5/10m    60%         now   5[..] s       none [..]  zset: sliding-window-zset  zset:now
