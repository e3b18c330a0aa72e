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

server     confirmed on [..]

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

server     confirmed on [..]

rlctl burst boundary a.lua --limit 4/10s --allowed-when 'r[2] <= limit' \
    --seed 1
$ rlctl adversary a.lua --tries 200 -q --assert 'worst<=1.5' --head 'cost 1,2'
! rlctl: adversary: --head cost 1,2: a.lua is not given the cost of a request
!   hint: add {cost} to args
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
! rlctl: burst: b.lua:1: limit: 3/10s is not 2/10s, the limit of a.lua
!   hint: pass one for both: --limit 3/10s
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
! rlctl: burst: b.lua:1: limit: 3/10s is not 2/10s, the limit of a.lua
!   hint: pass one for both: --limit 3/10s
[2]
$ rlctl burst a.lua --compare b.lua
! rlctl: burst: b.lua:1: limit: 3/10s is not 2/10s, the limit of a.lua
!   hint: pass one for both: --limit 3/10s
[2]
$ rlctl burst a.lua b.lua --limit 2/10s
! rlctl: burst: b.lua:2: burst: 9 is not 4, the burst of a.lua
!   hint: pass one for both: --burst 9
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
!   hint: to search for the worst traffic: rlctl adversary
[2]

## what the value of a head causes later is an error that names its line
$ write my.lua
< -- rlctl: setup HSET {key} rate
< return 1
$ rlctl burst my.lua
! rlctl: burst: warning: no time passes for my.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: my.lua:1: setup: 'HSET 1 rate': Wrong number of args calling Redis command from script
[5]
$ write my.lua
< -- rlctl: remaining r[2]
< return 1
$ rlctl burst my.lua
! rlctl: burst: warning: no time passes for my.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: my.lua:1: remaining: my.lua replied 1, but 'r[2]' fails at column 1: attempt to index local 'r' (a number value); request 1 had KEYS '1' and ARGV none
!   hint: choose an expression that fits the script
[5]
$ write my.lua
< -- rlctl: allowed r[1] == 1
< -- rlctl: retry_after r[2] ms
< return {0, 1800000000000}
$ rlctl burst my.lua
! rlctl: burst: warning: no time passes for my.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: my.lua:2: retry_after: my.lua replied [0, 1800000000000], but 'r[2]' is then a time since 1970, not one to wait for; request 1 had KEYS '1' and ARGV none
!   hint: subtract the time of the request in the unit of the reply
[5]
$ write my.lua
< -- rlctl: delay r - 5 ms
< return 1
$ rlctl burst my.lua
! rlctl: burst: warning: no time passes for my.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: my.lua:1: delay: my.lua replied 1, but 'r - 5' is negative; request 1 had KEYS '1' and ARGV none
!   hint: a delay is a time of 0 or more
[5]
$ write my.lua
< -- rlctl: allowed <=limit
< return 'no'
$ rlctl burst my.lua
! rlctl: burst: warning: no time passes for my.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: my.lua:1: allowed: my.lua replied 'no', but '<=limit' reads a count; request 1 had KEYS '1' and ARGV none
!   hint: if this reply allows, use --allowed-when 'r == "no"'
[5]

## what a section of the configuration or --head says is an error that names it
$ write rlctl.toml
< [script.mine]
< file = "my.lua"
< limit = "5/month"
< args = "{key2}"
$ write my.lua
< return 1
$ rlctl --config rlctl.toml burst mine
! rlctl: burst: rlctl.toml:3: script 'mine': limit: a script of your own takes no window of the calendar, such as month@UTC
!   hint: use one of a fixed length: 5/31d
[2]
$ rlctl --config rlctl.toml burst mine --limit 5/60s
! rlctl: burst: rlctl.toml:4: script 'mine': args: {key2} is KEYS[2], but there is 1 key
!   hint: give --keys once for each key
[2]
$ rlctl --config rlctl.toml lint mine --head 'limit 5/60s' --args 1 --head 'remaining r[1]'
! rlctl: lint: --head remaining: my.lua replied 1, but 'r[1]' fails at column 1: attempt to index local 'r' (a number value); request 1 had KEYS 'ann' and ARGV '1'
!   hint: choose an expression that fits the script
[3]
$ rlctl burst my.lua --head 'limit 5/month'
! rlctl: burst: --head limit: a script of your own takes no window of the calendar, such as month@UTC
!   hint: use one of a fixed length: 5/31d
[2]
$ rlctl adversary my.lua --head 'cost 0'
! rlctl: adversary: --head cost 0: at least one cost must be above 0
!   hint: for example: 1,0
[2]
$ rlctl adversary my.lua --cost 1,2
! rlctl: adversary: --cost 1,2: my.lua is not given the cost of a request
!   hint: add {cost} to args
[2]

## limits that are written differently and mean the same agree
$ write a.lua
< -- rlctl: limit 5/60s
< -- rlctl: burst 7
< return 1
$ write b.lua
< -- rlctl: limit 5/min
< -- rlctl: burst 07
< return 1
$ write c.lua
< -- rlctl: limit 5/1m
< return 1
$ rlctl burst a.lua b.lua c.lua -q
! rlctl: burst: warning: no time passes for a.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: warning: no time passes for b.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: burst: warning: no time passes for c.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
$ rlctl adversary a.lua c.lua --tries 300 -q
! rlctl: adversary: warning: no time passes for a.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: adversary: warning: no time passes for c.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
