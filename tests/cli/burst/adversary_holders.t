# needs: server
# `rlctl adversary` of leases and reservations; adversary.t has a report. Without a server in PATH, none confirms a script,
# whose start takes longer than all else.

## an exhaustive search says what it has proved
$ rlctl adversary --concurrency 2 --lease 10s --model --exhaustive 3
pattern    adversary
           the schedule that holds too many leases, or loses a slot
limit      2 leases of 10 s
           every schedule of up to 3 events at critical times
clock      virtual time

concurrency  at most 2 of 2 held at once, no slot lost
proof      no schedule of up to 3 events at critical times holds more than 2 or
           loses a slot (2,406 tried)

rlctl adversary concurrency --model --concurrency 2 --lease 10s --exhaustive 3
$ rlctl adversary concurrency --model --concurrency 2 --lease 10s --exhaustive 3 --json
{"pattern":"adversary",[..],"exhaustive":3,[..],"runs":[{"algorithm":"concurrency",[..],"tried":2406,"undecided":0,"held":2,"leaked":0,[..],"overfilled":null,"leak":null,[..]}]}
$ rlctl adversary --limit 10/60s --reserve 10 --hold 10s --model --exhaustive 3
pattern    adversary
           the schedule that spends and holds too much, or loses units
limit      10 per 60 s
           every schedule of up to 3 events at critical times
units      10 or all reserved for 10 s
clock      virtual time

budget  at most 10 of 10 units spent and held, none lost
proof      no schedule of up to 3 events at critical times spends and holds more
           than 10 or loses a unit (7,315 tried)

rlctl adversary budget --limit 10/60s --model --reserve 10 --hold 10s \
    --exhaustive 3
$ rlctl adversary budget --limit 10/60s --model --reserve 10 --hold 10s --exhaustive 3 --json
{"pattern":"adversary",[..],"exhaustive":3,[..],"runs":[{"algorithm":"budget",[..],"tried":7315,"undecided":0,"held":10,"leaked":0,[..],"overfilled":null,"leak":null,[..]}]}
$ without-server
$ rlctl adversary budget --limit 10/60s --reserve 10 --hold 10s --exhaustive 2 -q --assert used==10 --assert leaked==0

## assertions about leases decide the status
$ copy tests/limiters/set-semaphore.lua
$ copy tests/limiters/set-release.lua
$ copy tests/limiters/set-release-any.lua
$ rlctl adversary set-semaphore.lua --head 'release set-release-any.lua' --concurrency 2 --lease 10s --tries 300 -u private: -q --assert 'held<=2'
! rlctl: adversary: warning: no time passes for set-semaphore.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: adversary: assertion 'held<=2' does not hold: set-semaphore.lua has 4
[1]
$ without-server
$ rlctl adversary set-semaphore.lua --head 'release set-release-any.lua' --concurrency 2 --lease 10s --tries 3000 -q --assert 'held<=2'
! rlctl: adversary: warning: no time passes for set-semaphore.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! rlctl: adversary: assertion 'held<=2' does not hold: set-semaphore.lua has 4
[1]
$ rlctl adversary set-semaphore.lua --head 'release set-release.lua' --concurrency 2 --lease 10s --tries 3000 --json --assert 'held<=2' --assert 'leaked==0'
{"pattern":"adversary",[..],"runs":[{"algorithm":"set-semaphore.lua",[..],"held":2,"leaked":2,"leaks_for_ever":true,[..]}]}
! rlctl: adversary: warning: no time passes for set-semaphore.lua: it calls neither TIME nor a command that sets a TTL, and --keys and --args do not contain the time, such as {now_ms}
! {"error":{"code":"assertion","message":"assertion 'leaked==0' does not hold: set-semaphore.lua has 2","hint":null}}
[1]

## a program is asked for leases and for reservations, too
$ copy tests/limiters/semaphore.pl
$ copy tests/limiters/budget.pl
$ write spends_nothing.pl
< $| = 1;
< while (<STDIN>) { print "1\n" if !/"reset"/ }
$ without-server
$ rlctl adversary --exec '/usr/bin/perl semaphore.pl' --concurrency 2 --lease 10s --tries 1000 -q --assert held==2 --assert leaked==0
$ rlctl adversary --exec '/usr/bin/perl budget.pl' --limit 10/60s --reserve 10 --hold 10s --tries 1000 -q --assert used==10 --assert leaked==0
$ rlctl adversary --exec '/usr/bin/perl spends_nothing.pl' --limit 10/60s --reserve 10 --hold 10s --tries 1000 -q --assert 'used<=10'
! rlctl: adversary: assertion 'used<=10' does not hold: perl has 41
[1]

## a limit of very many reservations is searched, too, and a full table is not taken for a loss
$ rlctl adversary --reserve 1 --hold 10s --limit 1000000000/60s --tries 3000 --model -q --assert used==1000000000 --assert leaked==0
$ without-server
$ rlctl adversary --reserve 1 --hold 10s --limit 501/60s --tries 3000 -q --assert used==501 --assert leaked==0

## units that are given back twice are shown by four events
$ copy examples/pitfalls/double-refund.lua
$ copy examples/pitfalls/double-refund-settle.lua
$ without-server
$ rlctl adversary double-refund.lua --limit 10/60s --reserve 10 --hold 10s --tries 3000
pattern    adversary
           the schedule that spends and holds too much, or loses units
limit      10 per 60 s            seed 1, 3000 events for each limiter
units      10 or all reserved for 10 s
script     double-refund.lua      allowed when its reply is nonzero
clock      virtual time

double-refund.lua  20 units spent and held, 10 more than the limit
at     reservation    event  units   answer  spent  held
0               r1  reserve     10  allowed      0    10
+10 s           r2  reserve     10  allowed      0    10
+10 s           r1   settle      0               0    10  hold had ended
+10 s           r3  reserve     10  allowed      0    20

server     not confirmed on a server  none is installed

rlctl adversary double-refund.lua --limit 10/60s --reserve 10 --hold 10s \
    --tries 3000 --seed 1
$ rlctl adversary double-refund.lua --limit 10/60s --reserve 10 --hold 10s --tries 3000 --json
{"pattern":"adversary",[..],"runs":[{"algorithm":"double-refund.lua",[..],"overfilled":{"held":20,"leaked":0,"schedule":[{[..],"event":"reserve","reservation":"r1",[..]},{[..],"event":"reserve","reservation":"r2",[..]},{[..],"event":"settle","reservation":"r1","units":10,"actual":0,[..]},{[..],"event":"reserve","reservation":"r3",[..],"held":20}]},"leak":null,[..]}]}

## units whose holder has died are lost, and no more than the limit is spent
$ copy examples/pitfalls/dead-holds.lua
$ without-server
$ rlctl adversary dead-holds.lua --limit 10/60s --reserve 10 --hold 10s --tries 3000 -q --assert 'used<=10' --assert 'leaked==0'
! rlctl: adversary: assertion 'leaked==0' does not hold: dead-holds.lua has 10
[1]
