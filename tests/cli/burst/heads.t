# needs: server

## the head says the limit; options win over it, and only they are repeated
$ write a.lua
< -- rlctl: limit 2/10s
< -- rlctl: args {limit} {window_ms}
< -- rlctl: allowed r[1] == 1
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
< return {n <= tonumber(ARGV[1]) and 1 or 0, n}
$ rlctl burst a.lua --seed 3 --head 'remaining r[2] - 2' --head 'reset_after window_s / 2 s' --json
{[..]"limit":2,"window_us":10000000[..]"command":"rlctl burst boundary a.lua --head 'remaining r[2] - 2' --head 'reset_after window_s / 2 s' --seed 3","interrupted"[..]"sent":4,"allowed":2[..]"remaining":{"compared":4,"too_many":2,"too_few":1},"reset_after":{"compared":4,"too_early_us":5000000,"too_late_us":0}[..]}
$ rlctl burst a.lua --limit 4/10s --allowed-when 'r[2] <= limit' --json
{[..]"limit":4,"window_us":10000000[..]"command":"rlctl burst boundary a.lua --limit 4/10s --allowed-when 'r[2] <= limit' --seed 1","interrupted"[..]"sent":8,"allowed":4[..]}
$ rlctl adversary a.lua --tries 200 -q --assert 'worst<=1.5' --head 'cost 1,2'
! rlctl: adversary: --head cost 1,2: a.lua is not given the cost of a request
!   hint: add {cost} to args
[2]

## the setup of a head is not run on a server that an option names
$ write c.lua
< -- rlctl: args {now}
< -- rlctl: setup SET {key} 3
< return redis.call('DECR', KEYS[1]) >= 0 and 1 or 0
$ rlctl burst c.lua --limit 3/60s -q --assert 'allowed==3'
$ rlctl burst c.lua --limit 3/60s -s ./none.sock
! rlctl: burst: c.lua:2: setup would write to the server that an option names
!   hint: repeat it on the command line: --setup COMMAND
[2]

## files of a head are beside the script, those of --head where the command runs
$ write folder/acquire.lua
< -- rlctl: args {limit} {now}
< -- rlctl: release release.lua 1
< local n = tonumber(redis.call('GET', KEYS[1]) or 0)
< return n < tonumber(ARGV[1]) and redis.call('INCR', KEYS[1]) or 0
$ write folder/release.lua
< return redis.call('DECRBY', KEYS[1], ARGV[1])
$ rlctl burst folder/acquire.lua --concurrency 2 -q --assert 'held<=2'
$ rlctl burst folder/acquire.lua --concurrency 2 -q --head 'release folder/release.lua 1' --assert 'held<=2'
$ rlctl burst folder/acquire.lua --concurrency 2 -q --head 'release release.lua'
! rlctl: burst: --head release: cannot read 'release.lua': no such file or directory
! Try 'rlctl burst --help'.
[2]

## what the heads of two scripts say must agree, and what --head says must be used
$ write a.lua
< -- rlctl: limit 2/10s
< -- rlctl: burst 4
< return {redis.call('INCR', KEYS[1]) <= 2 and 1 or 0}
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
$ rlctl burst -q gcra --compare a.lua --head 'allowed r[1] == 1' --args '{now}' --assert 'sent==4'
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

## what the value of a head causes later is an error that names its line
$ write my.lua
< -- rlctl: args {now}
< -- rlctl: setup HSET {key} rate
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:2: setup: 'HSET 1 rate': Wrong number of args calling Redis command from script
[5]
$ write my.lua
< -- rlctl: args {now}
< -- rlctl: remaining r[2]
< return 1
$ rlctl burst my.lua
! rlctl: burst: my.lua:2: remaining: my.lua replied 1, but 'r[2]' fails at column 1: attempt to index local 'r' (a number value); request 1 had KEYS '1' and ARGV '1767225659.990000'
!   hint: choose an expression that fits the script
[5]
$ write my.lua
< -- rlctl: args {now}
< -- rlctl: allowed <=limit
< return 'no'
$ rlctl burst my.lua
! rlctl: burst: my.lua:2: allowed: my.lua replied 'no', but '<=limit' reads a count; request 1 had KEYS '1' and ARGV '1767225659.990000'
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
$ rlctl burst a.lua b.lua --args '{now}' -q
$ rlctl adversary a.lua b.lua --args '{now}' --tries 300 -q
