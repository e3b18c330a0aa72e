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
$ write lib.lua
< #!lua name=limits
< redis.register_function('a', function() return 1 end)
< redis.register_function('b', function() return 1 end)
$ write my.lua
< -- rlctl: limit 2000/60s
< return 1
$ rlctl adversary my.lua
! rlctl: adversary: my.lua:1: limit: 50000 requests are too few for a limit that 2000 requests fill
!   hint: pass --tries 80000 or more, or a smaller limit, which has the same flaws
[2]
$ write my.lua
< -- rlctl: limit 5/60s
< return 1
$ rlctl adversary my.lua --tries 100
! rlctl: adversary: --tries: 100 requests are too few for a limit that 5 requests fill
!   hint: pass --tries 200 or more, or a smaller limit, which has the same flaws
[2]
$ write my.lua
< -- rlctl: limit 2/1000d
< return 1
$ rlctl adversary my.lua --exhaustive 32
! rlctl: adversary: my.lua:1: limit: the search needs 33000d before the year 2096, where the times of the scripts end
!   hint: use a smaller limit with a shorter window
[2]
$ write my.lua
< -- rlctl: args {cost}
< -- rlctl: cost 0
< return 1
$ rlctl adversary my.lua
! rlctl: adversary: my.lua:2: cost 0: at least one cost must be above 0
!   hint: for example: 1,0
[2]
$ write my.lua
< -- rlctl: cost 1,2
< return 1
$ rlctl adversary my.lua
! rlctl: adversary: my.lua:1: cost 1,2: my.lua is not given the cost of a request
!   hint: add {cost} to args
[2]
$ write my.lua
< -- rlctl: cost 1,2
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:1: cost 1,2: my.lua is not given the cost of a request
!   hint: add {cost} to args
[3]
$ write my.lua
< -- rlctl: args {cost}
< -- rlctl: cost -1
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: cost -1: at least one cost must be above 0
!   hint: for example: 1,-1
[3]
$ write my.lua
< -- rlctl: args {cost}
< -- rlctl: cost 1,-1
< return 1
$ rlctl adversary my.lua leaky-bucket
! rlctl: adversary: my.lua:2: cost -1: leaky-bucket takes no refunds
!   hint: name others, or leave out the refund
[2]
$ write my.lua
< -- rlctl: args {cost}
< -- rlctl: cost 1,-1
< return 1
$ rlctl adversary my.lua --write -
! rlctl: adversary: my.lua:2: cost -1 and --write cannot be combined: a log has only costs above 0
! Try 'rlctl adversary --help'.
[2]
$ write my.lua
< -- rlctl: args {cost}
< -- rlctl: cost 1000000
< return 1
$ rlctl adversary my.lua sliding-window-log
! rlctl: adversary: my.lua:2: cost: cost 1000000 is too large for sliding-window-log, which takes up to 10000; gcra takes more
!   hint: an algorithm other than sliding-window-log may accept it
[2]
$ write my.lua
< -- rlctl: limit 10M/60s
< -- rlctl: burst 1000000000
< return 1
$ rlctl burst my.lua gcra
! rlctl: burst: my.lua:2: burst: limit 10000000 x burst 1000000000 is more than 2^53; use a smaller limit or a smaller burst
!   hint: a bucket limits a rate; for a budget of so many units, use fixed-window or budget
[2]
$ write my.lua
< -- rlctl: limit 100M/60s
< return 1
$ rlctl burst my.lua gcra
! rlctl: burst: my.lua:1: limit 100M/60s: limit 100000000 x burst 100000000 is more than 2^53; use a smaller limit or a smaller burst
!   hint: a bucket limits a rate; for a budget of so many units, use fixed-window or budget
[2]
$ write my.lua
< -- rlctl: limit 5/month
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:1: limit: a script of your own takes no window of the calendar, such as month@UTC
!   hint: use one of a fixed length: 5/31d
[2]
$ write my.lua
< -- rlctl: limit 5/month
< return 1
$ rlctl adversary my.lua
! rlctl: adversary: my.lua:1: limit: adversary takes no window of the calendar, such as month@UTC
!   hint: use one of a fixed length: 5/31d
[2]
$ write my.lua
< -- rlctl: limit 5/month
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:1: limit: lint takes no window of the calendar, such as month@UTC
!   hint: use one of a fixed length: 5/31d
[3]
$ write my.lua
< -- rlctl: args {limit}
< -- rlctl: limit 5/month
< return 1
$ rlctl debug my.lua --trace
! rlctl: debug: my.lua:2: limit: a script of your own takes no window of the calendar, such as month@UTC
!   hint: use one of a fixed length: 5/31d
[2]
$ write my.lua
< -- rlctl: release none.lua
< return 1
$ rlctl burst my.lua --concurrency 2
! rlctl: burst: my.lua:1: release: cannot read 'none.lua': no such file or directory
[2]
$ write my.lua
< -- rlctl: settle none.lua
< return 1
$ rlctl lint my.lua --reserve 2
! rlctl: lint: my.lua:1: settle: cannot read 'none.lua': no such file or directory
[3]
$ write my.lua
< -- rlctl: release lib.lua
< return 1
$ rlctl burst my.lua --concurrency 2
! rlctl: burst: my.lua:1: release: lib.lua has several functions: a, b
!   hint: choose one with --head 'function NAME'
[2]
$ write my.lua
< -- rlctl: release lib.lua {key9}
< return 1
$ rlctl burst my.lua --concurrency 2
! rlctl: burst: my.lua:1: release: '{key9}' contains {key9}, which is not a placeholder; did you mean {key}?
!   hint: a placeholder is key, limit, burst, rate, cost, id, now, window, cutoff, window_start, window_end, window_index, prev_window_index, event, holder, lease, reservation, actual, hold, key1, key2, key3 or key4, or a time with a unit: now_s, now_ms, now_us; for a literal brace, write '{{}'
[2]
$ write empty.lua
<
$ write my.lua
< -- rlctl: release empty.lua
< return 1
$ rlctl burst my.lua --concurrency 2
! rlctl: burst: my.lua:1: release: 'empty.lua' is empty
[2]
$ write my.lua
< -- rlctl: args {event}
< -- rlctl: delay r ms
< return 1
$ rlctl burst my.lua --concurrency 2
! rlctl: burst: my.lua:2: delay: it cannot be combined with --concurrency: a lease begins when it is given
[2]
$ write my.lua
< -- rlctl: args {key2}
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:1: args: {key2} is KEYS[2], but there is 1 key
!   hint: give --keys once for each key
[2]
$ write my.lua
< -- rlctl: keys {key} {key1}
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:1: keys: {key1} is for args, which come after the keys
[2]
$ write my.lua
< -- rlctl: limit 5/1500ms
< -- rlctl: args {window_s}
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:2: args: a window of 1500ms is not a whole number for {window_s}; write {window}, {window_ms} or {window_us}
[2]
$ write my.lua
< -- rlctl: args {lease_ms}
< return 1
$ rlctl lint my.lua
! rlctl: lint: nothing releases the leases of my.lua
!   hint: name the script that does in its head, '-- rlctl: release FILE.lua', or with --head 'release FILE.lua', or tell this one with {event} in --args
[3]
$ write my.lua
< -- rlctl: setup SET {key} {id}
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:1: setup: {id} is the number of a request, which comes after the setup
[2]
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
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:1: allowed: my.lua replied 1, but 'r[1] == 1' fails at column 1: attempt to index local 'r' (a number value); request 1 had KEYS 'ann' and ARGV none
!   hint: if this reply allows, use --allowed-when 'r == 1'
[3]
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
$ write my.lua
< -- rlctl: function take
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:1: function: my.lua is not a library of functions: its first line is not "#!lua name=..."
[2]

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
