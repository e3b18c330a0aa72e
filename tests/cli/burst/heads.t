# needs: server

## the head says the limit; options win over it, and only they are repeated
$ write a.lua
< -- rlctl: limit 2/10s
< -- rlctl: args {limit} {window_ms}
< -- rlctl: allowed r[1] == 1
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
< return {n <= tonumber(ARGV[1]) and 1 or 0, n}
$ rlctl burst a.lua --seed 3 --head 'remaining r[2] - 2'
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      2 per 10 s             seed 3
script     a.lua                  allowed when r[1] == 1
clock      virtual time

       sent  allowed  denied  worst in 10 s  within      at  first denial
a.lua     4        2       2       2  1.00×    5 ms  -10 ms             0

       longest lockout  retry_after  bytes/key
a.lua             5 ms            -         48
times      from the edge of a window  2026-01-01T00:00:10Z
remaining  a.lua                  at most 2 too many, 1 too few
note       a.lua: never above the limit with this traffic; adversary searches
           for traffic that gets more through

a.lua  never above the limit
      2 ├───────────────────────── limit
        │          █████████████████████
      0 │███████████████████████████████
allowed │█·········█····················
 denied │····················▓·········▓
        └────────────────────┴─────────┘
         -10 ms                  +5.5 ms
chart      allowed within the last 10 s  against the limit
rows       requests               a column is 500 µs, the highest 1

rlctl burst boundary a.lua --head 'remaining r[2] - 2' --seed 3
$ rlctl burst a.lua --limit 4/10s --allowed-when 'r[2] <= limit'
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      4 per 10 s             seed 1
script     a.lua                  allowed when r[2] <= limit
clock      virtual time

       sent  allowed  denied  worst in 10 s  within      at  first denial
a.lua     8        4       4       4  1.00×  7.5 ms  -10 ms             0

       longest lockout  retry_after  bytes/key
a.lua           7.5 ms            -         48
times      from the edge of a window  2026-01-01T00:00:10Z
note       a.lua: never above the limit with this traffic; adversary searches
           for traffic that gets more through

a.lua  never above the limit
      4 ├────────────────────────────── limit
        │          ▄▄▄▄▄█████████████████████
      0 │▄▄▄▄▄███████████████████████████████
allowed │█····█····█····█····················
 denied │····················▓····▓····▓····▓
        └────────────────────┴──────────────┘
         -10 ms      edge of a window   +8 ms
chart      allowed within the last 10 s  against the limit
rows       requests               a column is 500 µs, the highest 1

rlctl burst boundary a.lua --limit 4/10s --allowed-when 'r[2] <= limit' \
    --seed 1
$ rlctl adversary a.lua --tries 200 -q --assert 'worst<=1.5' --head 'cost 1,2'
! rlctl: adversary: a.lua is not given the cost of a request, but there are costs to try
!   hint: add {cost} to --args
[2]

## scripts with different limits need --limit
$ write a.lua
< -- rlctl: limit 2/10s
< return 0
$ write b.lua
< -- rlctl: limit 3/10s
< -- rlctl: args {limit} {window_ms}
< return 1
$ rlctl burst a.lua b.lua
! rlctl: burst: a.lua has the limit 2/10s, and b.lua has 3/10s
!   hint: give one for both: --limit 3/10s
[2]
$ rlctl burst a.lua b.lua --limit 2/10s -q
! rlctl: burst: warning: no time passes for a.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: warning: no time passes for b.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: warning: a.lua: nothing was allowed: the first replies were 0, 0, 0; see --allowed-when

## the setup of a head is not run on a server that an option names
$ write c.lua
< -- rlctl: setup SET {key} 3
< return redis.call('DECR', KEYS[1]) >= 0 and 1 or 0
$ rlctl burst c.lua --limit 3/60s -q --assert 'allowed==3'
! rlctl: burst: warning: no time passes for c.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
$ rlctl burst c.lua --limit 3/60s -s ./none.sock
! rlctl: burst: c.lua:1: setup would write to the server that an option names
!   hint: repeat it on the command line: --setup COMMAND
[2]

## files of a head are beside the script, those of --head where the command runs
$ write folder/acquire.lua
< -- rlctl: args {limit}
< -- rlctl: release release.lua 1
< local n = tonumber(redis.call('GET', KEYS[1]) or 0)
< if n >= tonumber(ARGV[1]) then return 0 end
< return redis.call('INCR', KEYS[1])
$ write folder/release.lua
< return redis.call('DECRBY', KEYS[1], ARGV[1])
$ rlctl burst folder/acquire.lua --concurrency 2 -q --assert 'held<=2'
! rlctl: burst: warning: no time passes for acquire.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
$ rlctl burst folder/acquire.lua --concurrency 2 -q --head 'release release.lua'
! rlctl: burst: --head release: cannot read 'release.lua': no such file or directory
! Try 'rlctl burst --help'.
[2]
$ rlctl burst folder/acquire.lua --concurrency 2 -q --head 'release folder/release.lua 1' --assert 'held<=2'
! rlctl: burst: warning: no time passes for acquire.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}

## what the heads of two scripts say must agree, and what --head says must be used
$ write a.lua
< -- rlctl: limit 2/10s
< -- rlctl: args {limit} {window_ms}
< -- rlctl: burst 4
< -- rlctl: allowed r[1] == 1
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
< return {n <= tonumber(ARGV[1]) and 1 or 0, n}
$ write b.lua
< -- rlctl: limit 3/10s
< -- rlctl: burst 9
< return 1
$ rlctl burst a.lua b.lua
! rlctl: burst: a.lua has the limit 2/10s, and b.lua has 3/10s
!   hint: give one for both: --limit 3/10s
[2]
$ rlctl burst a.lua --compare b.lua
! rlctl: burst: a.lua has the limit 2/10s, and b.lua has 3/10s
!   hint: give one for both: --limit 3/10s
[2]
$ rlctl burst a.lua b.lua --limit 2/10s
! rlctl: burst: a.lua has the burst 4, and b.lua has 9
!   hint: give one for both: --burst 9
[2]
$ rlctl burst -q gcra --compare a.lua --assert 'sent==4'
! rlctl: burst: the limiters differ, first at request 3 (key '1'): gcra allows it, a.lua denies it
[1]
$ rlctl burst a.lua --head 'release none.lua'
! rlctl: burst: --head release requires --concurrency
! Try 'rlctl burst --help'.
[2]
$ rlctl adversary a.lua --head 'settle none.lua'
! rlctl: adversary: --head settle requires --reserve
! Try 'rlctl adversary --help'.
[2]
$ rlctl burst adversary a.lua
! rlctl: burst: no pattern, algorithm or script 'adversary'
!   hint: expected one of: boundary, steady, spike, ramp, poisson, on-off, fixed-window, sliding-window-log, sliding-window-zset, sliding-window-counter, token-bucket, gcra, leaky-bucket, budget, concurrency or all; for a file, write ./adversary
[2]
