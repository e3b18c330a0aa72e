# needs: server
# `rlctl burst --concurrency`: acquires, renewals and releases. Semaphores that are sound, and some that are not.

## concurrency gives as many leases as there are, alike on a server and in its model
$ each WHERE --model --seed=1 '-u private:'
$ rlctl burst --concurrency 5 --lease 3s --hold 1s~ --crash 5% --renew --keys 3 --rate 20/s WHERE -q --assert held==5 --assert allowed==114 --assert denied==93 --assert longest_shut_out_us==1085999 --assert starved==0 --assert leaked==0 --assert renewals_refused==0 --assert refused_while_held==0 --assert end_taken==0 --assert end_too_many==0

## a lease that is renewed lasts as long as it is held
$ rlctl burst steady --concurrency 3 --lease 10s --hold 15s --renew --model --json
{"pattern":"steady",[..],"runs":[{"algorithm":"concurrency","sent":18,"allowed":9,"denied":9,[..],"holding":{"held":3,[..],"held_ever":3,"lapsed":0,[..],"released":9,"renewed":36,"renewals_refused":0,[..]},[..]}]}

## a script acquires, and another releases, with the ARGV behind its file; the printed command repeats it
$ write acquire.lua
< redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[4])
< if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
< redis.call('ZADD', KEYS[1], ARGV[4] + ARGV[2], ARGV[3])
< return 1
$ write release.lua
< return redis.call('ZREM', KEYS[1], ARGV[3])
$ write first.lua
< return redis.call('ZREM', KEYS[1], ARGV[1])
$ without-server
$ rlctl burst acquire.lua --head 'release release.lua' --args '{limit} {lease_ms} {holder} {now_ms}' --concurrency 3 --lease 5s --hold 1s --crash 10% -q --assert held==3 --assert starved==0 --assert leaked==0
$ rlctl burst acquire.lua --head 'release first.lua {holder}' --args '{limit} {lease_ms} {holder} {now_ms}' --concurrency 3 --hold 1s -q --assert held==3 --assert leaked==0
$ rlctl burst acquire.lua --head 'release first.lua' --args '{limit} {lease_ms} {holder} {now_ms}' --concurrency 3 --hold 1s -q --assert held==3 --assert leaked==0 --assert starved==0
! rlctl: burst: assertion 'leaked==0' does not hold: acquire.lua has 3
! rlctl: burst: assertion 'starved==0' does not hold: acquire.lua has 278
[1]
$ rlctl burst acquire.lua --head 'release release.lua {limit} 0 {holder}' --args '{limit} {lease_ms} {holder} {now_ms}' --concurrency 3 --hold 500ms~ --crash 1% --json
{"pattern":"poisson",[..],"command":"rlctl burst poisson acquire.lua --args '{limit} {lease_ms} {holder} {now_ms}' --head 'release release.lua {limit} 0 {holder}' --concurrency 3 --lease 30s --hold '500ms~' --crash 1% --seed 1",[..],"runs":[{"algorithm":"acquire.lua","sent":553,"allowed":259,"denied":294,[..],"holding":{"held":3,[..],"released":255,[..]},[..]}]}
$ rlctl burst poisson acquire.lua --args '{limit} {lease_ms} {holder} {now_ms}' --head 'release release.lua {limit} 0 {holder}' --concurrency 3 --lease 30s --hold '500ms~' --crash 1% --seed 1 -q --assert held==3 --assert allowed==259 --assert denied==294 --assert longest_shut_out_us==1397635 --assert leaked==0

## what a semaphore does wrong is told: members of the dead that stay, a counter that expires, leases that are not renewed
$ write set.lua
< -- rlctl: args {limit} {holder} {event} {now}
< if ARGV[3] == 'release' then return redis.call('SREM', KEYS[1], ARGV[2]) end
< if redis.call('SISMEMBER', KEYS[1], ARGV[2]) == 1 then return 1 end
< if redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
< return redis.call('SADD', KEYS[1], ARGV[2])
$ write counter.lua
< -- rlctl: args {limit} {event}
< if ARGV[2] == 'release' then return redis.call('DECR', KEYS[1]) end
< local n = redis.call('INCR', KEYS[1])
< if n > tonumber(ARGV[1]) then redis.call('DECR', KEYS[1]) return 0 end
< redis.call('PEXPIRE', KEYS[1], 500)
< return 1
$ write never.lua
< -- rlctl: args {limit} {lease_ms} {now_ms} {holder} {event}
< redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[3])
< if ARGV[5] == 'release' then return redis.call('ZREM', KEYS[1], ARGV[4]) end
< if ARGV[5] == 'renew' or redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[1]) then return 0 end
< return redis.call('ZADD', KEYS[1], ARGV[3] + ARGV[2], ARGV[4])
$ rlctl burst steady set.lua counter.lua never.lua --concurrency 3 --hold 2s --lease 5s --crash 20% --seed 2 --renew
pattern    steady                 a constant rate, twice what the limit allows
limit      3 leases of 5 s        held for 2 s, 20 % die, renewed
           seed 2
script     set.lua                allowed when its reply is nonzero
script     counter.lua            allowed when its reply is nonzero
script     never.lua              allowed when its reply is nonzero
clock      virtual time

             sent  allowed  denied    held  renewals  starved  leaked
set.lua        45        8      37  3 of 3         5       23       3
counter.lua    45       36       9  5 of 3        19        0       0
never.lua      45       18      27  3 of 3         0        0       0

             longest lockout  died
set.lua              9.667 s     3
counter.lua         333.3 ms     4
never.lua                2 s     3
times      from the beginning     2026-01-01T00:00:00Z
starved    set.lua: 23 acquires were denied although there was room, for up to
           7.333 s
at the end set.lua: 3 slots were still taken 10 s after the last holder had gone
leaked     set.lua: 3 slots at once that nobody had and nobody got, for up to
           7.333 s
exceeded   counter.lua: 5 held at once, 2 more than the limit
refused    counter.lua: 13 renewals of a lease that had not ended
refused    never.lua: 15 renewals of a lease that had not ended

set.lua  lost 3 slots
      3 ├─────────────────────────── limit
      0 │▆██████▆▆▆▃▃
allowed │█▄··█▄··▄▄·······················
 denied │··▓▒··▓▒▒·▓▒▓▒▓▒▓▒▓▒▓▒▓▒▓▒▓▒▓▒···

counter.lua  5 held at once, 2 more than the limit
      6 │  ▃▆▆▆▆▃▆▆▃▃▃▃▆▆▃▃▃▆▆▆▆▆▆▆▆▆▆▆▃
      3 ├─────────────────────────── limit
      0 │▆██████████████████████████████▆
allowed │█▄▄▄█▄▄▄█▄▄▄█·█·█·█▄█·█▄█·█▄█····
 denied │··▒···▒···▒··▒·▒·▒···▒···▒···▒···

never.lua  refused to renew what was held
      3 ├─────────────────────────── limit
      0 │▆██████▆▆▆▃▃  ▃▃▃▃▆███████████▆▃
allowed │█▄··█▄··▄▄····▄···█▄··█▄··█▄·····
 denied │··▓▒··▓▒▒·▓▒▓▒▒▒▓▒··▓▒··▓▒··▓▒···
        └──────────┴─────────┴─────────┴─┘
         0       +5 s      +10 s   +16.5 s
chart      held at once           against the limit
rows       acquires               a column is 500 ms, the highest 2

server     confirmed on [..]

rlctl burst steady set.lua counter.lua never.lua --concurrency 3 --lease 5s \
    --hold 2s --crash 20% --renew --seed 2

## a program is asked for leases, and one that is right has what the model has
$ each WHERE --model "--exec '/usr/bin/perl semaphore.pl'"
$ copy tests/limiters/semaphore.pl
$ without-server
$ rlctl burst WHERE --concurrency 4 --lease 2s --hold 1s~ --crash 10% --renew --keys 2 --rate 10/s -q --assert held==4 --assert allowed==28 --assert denied==43 --assert longest_shut_out_us==1299679 --assert starved==0 --assert leaked==0 --assert renewals_refused==0 --assert refused_while_held==0 --assert end_taken==0 --assert end_too_many==0

## a replayed log says how long leases were held
$ write log.csv
< time,key,ms
< 0,a,1500
< 1,a,500
< 2,a,1000
< 4,b,10
$ rlctl burst --replay log.csv --fields hold=ms:ms --concurrency 1 --model -q -o events.jsonl
$ cat events.jsonl
{"algorithm":"concurrency","at_us":0,"key":"a","event":"acquire","holder":"h1","allowed":true,"request":1}
{"algorithm":"concurrency","at_us":1000000,"key":"a","event":"acquire","holder":"h2","allowed":false,"request":2}
{"algorithm":"concurrency","at_us":1500000,"key":"a","event":"release","holder":"h1","allowed":true,"request":3}
{"algorithm":"concurrency","at_us":2000000,"key":"a","event":"acquire","holder":"h3","allowed":true,"request":4}
{"algorithm":"concurrency","at_us":3000000,"key":"a","event":"release","holder":"h3","allowed":true,"request":5}
{"algorithm":"concurrency","at_us":4000000,"key":"b","event":"acquire","holder":"h4","allowed":true,"request":6}
{"algorithm":"concurrency","at_us":4010000,"key":"b","event":"release","holder":"h4","allowed":true,"request":7}
$ rlctl burst --replay log.csv --fields hold=s --concurrency 1 --model
! rlctl: burst: log.csv:1: the header has no field 's': 'time,key,ms'
!   hint: --fields hold=NAME says which of them it is
[2]

## assertions are about leases, with --concurrency
$ without-server
$ rlctl burst --concurrency 2 --model -q --assert 'held<=2' --assert 'leaked==0' --assert 'starved==0'
$ rlctl burst --concurrency 2 --model -q --assert 'held<2'
! rlctl: burst: assertion 'held<2' does not hold: concurrency has 2
[1]
$ write denies.lua
< return 0
$ rlctl burst denies.lua --args '{event}{now_ms}' --concurrency 2 -q --assert 'held<=2'
! rlctl: burst: warning: denies.lua: nothing was allowed: the first replies were 0, 0, 0; see --allowed-when
! rlctl: burst: assertion 'held<=2' proves nothing about denies.lua: nothing was allowed
[1]
