# needs: server
# What `rlctl adversary` says of requests: each report as a whole, its log and its assertions. Which schedules it finds is
# in tests/adversary and tests/limiters. Without a server in PATH, none confirms a script, whose start takes longer than all
# else.

## the schedule under which limiters allow the most
$ rlctl adversary --limit 3/10s --model
pattern    adversary
           the schedule that makes a limiter allow the most
limit      3 per 10 s             seed 1, 50000 requests for each limiter
clock      virtual time

fixed-window  2.00× the limit: 6 within 1 s
at     requests  allowed  denied
+9 s          3        3       0
+10 s         3        3       0
promise    twice the limit, half of it on each side of a window's edge

sliding-window-log  never above the limit
at  requests  allowed  denied
0          3        3       0
promise    the limit
denied     nothing that an exact log would allow
times      from the beginning of a window  2026-01-01T00:00:00Z

rlctl adversary fixed-window sliding-window-log --limit 3/10s --model \
    --tries 50000 --seed 1
$ rlctl adversary fixed-window sliding-window-log --limit 3/10s --model --tries 50000 --seed 1 --json
{"pattern":"adversary","seed":1,"clock":"virtual","limit":3,"window_us":10000000,"burst":null,"cost":1,"costs":[1],"tries":50000,"exhaustive":null,"base_us":1767225600000000,"command":"rlctl adversary fixed-window sliding-window-log --limit 3/10s --model --tries 50000 --seed 1","interrupted":false,"confirmation":null,"runs":[{"algorithm":"fixed-window","asked":50610,"tick_us":1,"unbounded":false,"tried":null,"undecided":0,"ttls_left_out":0,"clock_ahead":null,"most":{"worst":{"allowed":6,"ratio":2,"from_us":1767225609000000,"span_us":1000000},"wrongly_denied":[],"denied_at_edge":0,"schedule":[{"at_us":1767225609000000,"cost":1,"allowed":true,"remaining":2,"retry_after_us":0,"delay_us":0},{"at_us":1767225609000000,"cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"delay_us":0},{"at_us":1767225609000000,"cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"delay_us":0},{"at_us":1767225610000000,"cost":1,"allowed":true,"remaining":2,"retry_after_us":0,"delay_us":0},{"at_us":1767225610000000,"cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"delay_us":0},{"at_us":1767225610000000,"cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"delay_us":0}]},"most_stepping_back":null,"by_rounding":null,"wrongly_denied":null,"hint":null},{"algorithm":"sliding-window-log","asked":50221,"tick_us":1,"unbounded":false,"tried":null,"undecided":0,"ttls_left_out":0,"clock_ahead":null,"most":{"worst":{"allowed":3,"ratio":1,"from_us":1767225600000000,"span_us":0},"wrongly_denied":[],"denied_at_edge":0,"schedule":[{"at_us":1767225600000000,"cost":1,"allowed":true,"remaining":2,"retry_after_us":0,"delay_us":0},{"at_us":1767225600000000,"cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"delay_us":0},{"at_us":1767225600000000,"cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"delay_us":0}]},"most_stepping_back":null,"by_rounding":null,"wrongly_denied":null,"hint":null}]}

## a semaphore of somebody else
$ copy examples/pitfalls/negative-counter.lua
$ rlctl adversary --concurrency 2 --lease 10s negative-counter.lua --args '{event} {limit}' --tries 3000
pattern    adversary
           the schedule that holds too many leases, or loses a slot
limit      2 leases of 10 s
           seed 1, 3000 events for each limiter
script     negative-counter.lua   allowed when its reply is nonzero
clock      virtual time

negative-counter.lua
  3 held at once, 1 more than the limit; 5 in longer schedules
at  holder    event   answer  held
0       h1  release              0  never held
0       h2  acquire  allowed     1
0       h3  acquire  allowed     2
0       h4  acquire  allowed     3
negative-counter.lua
  2 slots lost: nobody has them, and nobody gets them, not even a year later
at     holder    event   answer  held
0          h1  acquire  allowed     1
0          h2  acquire  allowed     2
+40 s      h3  acquire   denied     0

server     confirmed on [..]

rlctl adversary negative-counter.lua --args '{event} {limit}' --concurrency 2 \
    --lease 10s --tries 3000 --seed 1
! rlctl: adversary: warning: no time passes for negative-counter.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}

## a schedule is written, and replayed
$ rlctl adversary --limit 3/10s --model fixed-window -q --write worst.jsonl
$ cat worst.jsonl
# rlctl burst fixed-window --limit 3/10s --model --replay worst.jsonl
# rlctl adversary fixed-window --limit 3/10s --model --tries 50000 --seed 1
# fixed-window: 6 allowed within 1 s, 0 of 6 requests wrongly denied
1767225609 1 1
1767225609 1 1
1767225609 1 1
1767225610 1 1
1767225610 1 1
1767225610 1 1
$ rlctl burst fixed-window --limit 3/10s --model --replay worst.jsonl --json
{"pattern":"replay",[..],"replay":{"files":[{"name":"worst.jsonl","format":"epoch",[..],"requests":6,"bad":0,"blank":0,"other":3}],[..],"runs":[{"algorithm":"fixed-window","sent":6,"allowed":6,"denied":0,[..],"worst":{"allowed":6,"ratio":2,"from_us":1767225609000000,"span_us":1000000,[..]},[..]}]}

## leases and reservations are confirmed on a server
$ rlctl adversary --concurrency 2 --lease 5s --tries 500 --json
{"pattern":"adversary",[..],"confirmation":{"server":"[..]","requests":[..],"first_only":false,"why_not":null},"runs":[{"algorithm":"concurrency",[..],"held":2,"leaked":0,[..]}]}
$ rlctl adversary --reserve 2 --limit 4/10s --tries 500 --json
{"pattern":"adversary",[..],"confirmation":{"server":"[..]","requests":[..],"first_only":false,"why_not":null},"runs":[{"algorithm":"budget",[..],"held":4,"leaked":0,[..]}]}

## an assertion is about the worst finding, and names the limiters for which it fails
$ rlctl adversary --limit 3/10s --model fixed-window sliding-window-log gcra -q --assert 'worst<=1'
! rlctl: adversary: assertion 'worst<=1' does not hold: fixed-window has 2, gcra has 1.67
[1]
$ rlctl adversary --limit 3/10s --model gcra -q --assert 'worst<=1.6666'
! rlctl: adversary: assertion 'worst<=1.6666' does not hold: gcra has 1.67
[1]
$ rlctl adversary --limit 3/10s --model gcra -q --assert 'worst>=1.67'
! rlctl: adversary: assertion 'worst>=1.67' does not hold: gcra has 1.667
[1]
$ rlctl adversary --limit 3/10s --model sliding-window-log leaky-bucket -q --assert 'worst<=1'

## an assertion may be about denials, and about a clock that steps back
$ copy tests/limiters/trusting-log.lua
$ copy examples/pitfalls/times-as-members.lua
$ without-server
$ rlctl adversary trusting-log.lua --tries 2000 -q --assert 'worst<=1' --assert 'wrongly_denied==0' --assert 'most_stepping_back<=1'
! rlctl: adversary: assertion 'most_stepping_back<=1' does not hold: trusting-log.lua has 1.8
[1]
$ rlctl adversary times-as-members.lua --tries 2000 -q --assert 'wrongly_denied==0'
! rlctl: adversary: assertion 'wrongly_denied==0' does not hold: times-as-members.lua has 1
[1]
$ rlctl adversary fixed-window --tries 2000 -q --assert 'most_stepping_back==2'

## an assertion about a limiter that allows nothing fails
$ write never.lua
< return 0
$ without-server
$ rlctl adversary never.lua --args '{now}' --tries 2000 -q --assert 'worst<=1' --assert 'most_stepping_back<=1'
! rlctl: adversary: warning: never.lua: nothing was allowed: the first replies were 0, 0, 0; see --allowed-when
! rlctl: adversary: assertion 'worst<=1' proves nothing about never.lua: nothing was allowed
! rlctl: adversary: assertion 'most_stepping_back<=1' proves nothing about never.lua: nothing was allowed
[1]

## the report names the bound of an algorithm
$ without-server
$ rlctl adversary gcra leaky-bucket --burst 7 --cost 2 --tries 2000
pattern    adversary
           the schedule that makes a limiter allow the most
limit      5 per 60 s             seed 1, 2000 requests for each limiter, cost 2
clock      virtual time

gcra  2.00× the limit: 10 within 50 s
at     requests  allowed  denied
0             3        3       0
+20 s         1        1       0
+50 s         1        1       0
promise    its burst plus the refill during the window: 7 + 4

leaky-bucket  1.20× the limit: 6 within 48 s
at  requests  allowed  denied
0          3        3       0
promise    the limit, since delayed requests count when they may proceed; in
           whole requests of 2: 6
times      from the beginning of a window  2026-01-01T00:00:00Z

server     not confirmed on a server  none is installed

rlctl adversary gcra leaky-bucket --limit 5/60s --burst 7 --cost 2 \
    --tries 2000 --seed 1

## a clock that is ahead or steps back shows more, unless --monotonic tries neither
$ copy tests/limiters/trusting-log.lua
$ copy tests/limiters/told-bucket.lua
$ without-server
$ rlctl adversary trusting-log.lua told-bucket.lua --tries 2000 --json
{"pattern":"adversary",[..],"runs":[{"algorithm":"trusting-log.lua",[..],"clock_ahead":null,"most":{"worst":{"allowed":5,[..]},[..]},"most_stepping_back":{"worst":{"allowed":9,[..]},[..]},[..]},{"algorithm":"told-bucket.lua",[..],"clock_ahead":{"ahead_us":3600000000,"requests":99,"allowed":4,"allowed_without":99},"most":{"worst":{"allowed":9,[..]},[..]},"most_stepping_back":null,[..]}]}
$ rlctl adversary trusting-log.lua told-bucket.lua --tries 2000 --monotonic --json
{"pattern":"adversary",[..],"runs":[{"algorithm":"trusting-log.lua",[..],"clock_ahead":null,"most":{"worst":{"allowed":5,[..]},[..]},"most_stepping_back":null,[..]},{"algorithm":"told-bucket.lua",[..],"clock_ahead":null,"most":{"worst":{"allowed":9,[..]},[..]},"most_stepping_back":null,[..]}]}

## what the unit of a script's clock rounds away is no fault, if that is the only time it has
$ copy tests/limiters/rounded-times.lua
$ write asking.lua
< redis.call('TIME')
< local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
< redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
< if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
< redis.call('ZADD', KEYS[1], now, ARGV[4])
< return 1
$ without-server
$ rlctl adversary rounded-times.lua --args '{now_ms} {window_ms} {limit} {id}' --tries 2000 -q --assert worst==1
! rlctl: adversary: warning: rounded-times.lua: the assertions ignore what rounding explains: 10 within 59.9991 s, which a clock of 1 ms, as in {now_ms}, cannot tell from 60 s
$ rlctl adversary rounded-times.lua --args '{now_ms} {window_ms} {limit} {id}' --tries 2000 --json
{"pattern":"adversary",[..],"runs":[{"algorithm":"rounded-times.lua",[..],"tick_us":1000,[..],"most":{"worst":{"allowed":5,"ratio":1,[..]},[..]},[..],"by_rounding":{"worst":{"allowed":10,"ratio":2,"from_us":1767225600000900,"span_us":59999100},[..]},"wrongly_denied":null,[..]}]}
$ rlctl adversary rounded-times.lua --args '{now_ms} {window_ms} {limit} {id} {now_us}' --tries 2000 -q --assert worst==2
$ rlctl adversary asking.lua --args '{now_ms} {window_ms} {limit} {id}' --tries 2000 -q --assert worst==2

## an error of the script is reported with the request
$ write bad.lua
< return redis.error_reply('ERR no')
$ rlctl adversary bad.lua --args '{now} x'
! rlctl: adversary: bad.lua: no; request 1 had KEYS '1' and ARGV '1767225600.000000' 'x'
!   hint: an error is not taken for a denial: let the script return a value for it, and say which with --allowed-when
[5]

## a script with one key for all schedules is not run on a server that is named
$ copy tests/limiters/trusting-log.lua
$ without-server
$ rlctl adversary trusting-log.lua --keys user:1 --url SERVER
! rlctl: adversary: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: adversary: --keys: trusting-log.lua is given the same key for every schedule, so that one finds the state of the last
!   hint: leave out --url, --host, --port and --socket
[2]
$ keys

## on a server that is named, the search says under which keys it writes, and leaves none
$ copy tests/limiters/trusting-log.lua
$ redis SET rlctl-burst:mine 1
OK
$ rlctl adversary trusting-log.lua gcra --tries 500 --url SERVER -q
! rlctl: adversary: writing under 'rlctl-burst:{[..]}:' on SERVER
$ keys
rlctl-burst:mine string persistent 1

## a replica is refused with the name of its master (own server)
$ redis REPLICAOF 127.0.0.1 1
OK
$ rlctl adversary --limit 5/10s --url SERVER
! rlctl: adversary: SERVER: READONLY You can't write against a read only replica
!   hint: the server is a replica; name its master instead: --url redis://127.0.0.1:1
[5]

## the log of a script names it, and what depends on an expiring TTL is as bad in a replay
$ copy tests/limiters/counter.lua
$ write short.lua
< redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2]))
< local count = redis.call('ZCARD', KEYS[1])
< if count >= tonumber(ARGV[3]) then return 0 end
< redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. count)
< redis.call('PEXPIRE', KEYS[1], math.floor(ARGV[2] / 2000))
< return 1
$ without-server
$ rlctl adversary counter.lua --tries 2000 -q --write worst.log --assert worst==1.8
$ rlctl burst counter.lua --limit 5/60s --replay worst.log -q --assert worst==1.8
$ rlctl adversary short.lua --args '{now_ms}000 {window_us} {limit}' --tries 2000 -q --write short.log --assert worst==2
$ cat short.log
# rlctl burst short.lua --limit 5/60s --args '{now_ms}000 {window_us} {limit}' --replay short.log
# rlctl adversary short.lua --limit 5/60s --args '{now_ms}000 {window_us} {limit}' --tries 2000 --seed 1
# short.lua: 10 allowed within 50 s, 0 of 10 requests wrongly denied
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225650 1 1
1767225650 1 1
1767225650 1 1
1767225650 1 1
1767225650 1 1
$ rlctl burst short.lua --limit 5/60s --args '{now_ms}000 {window_us} {limit}' --replay short.log -q --assert worst==2

## if the limit is kept, the log has the wrong denials
$ write unpruned.lua
< local count = redis.call('ZCARD', KEYS[1])
< redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2]))
< if count >= tonumber(ARGV[3]) then return 0 end
< redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. redis.call('ZCARD', KEYS[1]))
< return 1
$ without-server
$ rlctl adversary unpruned.lua --args '{now_us} {window_us} {limit}' --tries 2000 --write -
# rlctl burst unpruned.lua --limit 5/60s --args '{now_us} {window_us} {limit}' --replay FILE
# rlctl adversary unpruned.lua --limit 5/60s --args '{now_us} {window_us} {limit}' --tries 2000 --seed 1
# unpruned.lua: 5 allowed at one instant, 1 of 6 requests wrongly denied
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225720 1 1

## denials that only a clock that steps back shows are not in a log, which is sent in the order of its times
$ copy tests/limiters/banning-log.lua
$ without-server
$ rlctl adversary banning-log.lua --tries 2000 --write - --assert 'wrongly_denied==0'
# rlctl burst banning-log.lua --limit 5/60s --replay FILE
# rlctl adversary banning-log.lua --limit 5/60s --tries 2000 --seed 1
# banning-log.lua: 5 allowed at one instant, 0 of 5 requests wrongly denied
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225600 1 1
1767225600 1 1
! rlctl: adversary: assertion 'wrongly_denied==0' does not hold: banning-log.lua has 1
[1]

## an exhaustive search proves within its bounds, and counts the schedules, here without UTF-8
$ env LC_ALL=C
$ rlctl adversary --exhaustive 5 --limit 2/1500µs --model sliding-window-log fixed-window
pattern    adversary
           the schedule that makes a limiter allow the most
limit      2 per 1500 us
           every schedule of up to 5 requests at critical times
clock      virtual time

sliding-window-log  never above the limit
at  requests  allowed  denied
0          2        2       0
proof      no schedule of up to 5 requests at critical times leaks
           (76,437 tried)
promise    the limit
denied     nothing that an exact log would allow

fixed-window  2.00x the limit: 4 within 500 us
at       requests  allowed  denied
+1 ms           2        2       0
+1.5 ms         2        2       0
proof      the worst of all 76,437 schedules of up to 5 requests at critical
           times
promise    twice the limit, half of it on each side of a window's edge
times      from the beginning of a window  2026-01-01T00:00:00Z
critical   the time of the previous request; 1 us later; 1/4, 1/2 and 3/4 of a
           window later; and 1 us before, at, and 1 us after the next edge of
           the clock's windows and one window after each earlier request

rlctl adversary sliding-window-log fixed-window --limit 2/1500us --model \
    --exhaustive 5

## costs are mixed, and refunds give units back
$ rlctl adversary --exhaustive 3 --limit 2/60s --cost 1,2 --model fixed-window -q --assert worst==2
$ rlctl adversary --tries 2000 --limit 3/60s --cost 1,3,-1,-3 --model sliding-window-log fixed-window -q --assert 'worst<1'
! rlctl: adversary: assertion 'worst<1' does not hold: sliding-window-log has 1, fixed-window has 2
[1]
$ rlctl adversary --exhaustive 3 --limit 1/60s --cost 1,-1 --model sliding-window-log --json
{"pattern":"adversary",[..],"costs":[1,-1],[..],"runs":[{"algorithm":"sliding-window-log",[..],"tried":4836,[..],"most":{"worst":{"allowed":1,"ratio":1,[..]},[..]},[..],"wrongly_denied":null,[..]}]}

## an exhaustive search goes on from keys that a script names itself or that contain the time
$ write own.lua
< return redis.call('INCR', 'count:' .. math.floor(ARGV[1] / 60)) <= tonumber(ARGV[2]) and 1 or 0
$ write window.lua
< return redis.call('INCR', KEYS[1]) <= tonumber(ARGV[1]) and 1 or 0
$ write echo.lua
< redis.call('SET', KEYS[1], 1, 'PX', 1000)
< return tonumber(ARGV[1])
$ without-server
$ rlctl adversary --exhaustive 3 --limit 1/60s own.lua --args '{now_s} {limit}' --json
{"pattern":"adversary",[..],"runs":[{"algorithm":"own.lua","asked":669,[..],"tried":637,"undecided":0,[..],"most":{"worst":{"allowed":2,"ratio":2,[..]},[..]},[..]}]}
$ rlctl adversary --exhaustive 3 --limit 2/60s window.lua --keys '{key}:{window_index}' --args '{limit}' -q --assert worst==1.5
$ rlctl adversary --exhaustive 3 --limit 2/60s echo.lua --args '{id}' --allowed-when 'tonumber(r) == id' -q --assert worst==1.5
! rlctl: adversary: warning: echo.lua: the replies fit the limit if they are read with --allowed-when 'r <= limit'
