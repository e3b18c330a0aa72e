# needs: server
# `rlctl burst --reserve`: reservations and settles. reports.t has a report. Without a server in PATH, none confirms a script,
# whose start takes longer than all else.
# With a seed, as without one, rlctl decides itself.

## budget keeps its limit and loses nothing, as its model, as a script here or on a server, and as a program
$ each WHERE --model --seed=1 '-u private:' "--exec '/usr/bin/perl budget.pl'"
$ copy tests/limiters/budget.pl
$ rlctl burst --limit 1000/60s --reserve 100 --hold 5s --actual 50..150 --settle-after 2s~ --crash 5% --rate 1/s --keys 3 WHERE -q --assert used==996 --assert allowed==91 --assert denied==116 --assert overspent==39 --assert longest_shut_out_us==46758180 --assert refused==0 --assert leaked==0 --assert exceeded==0 --assert starved==0 --assert refused_while_held==0 --assert end_taken==0

## a script reserves, and another settles
$ copy examples/pitfalls/double-refund.lua
$ copy examples/pitfalls/double-refund-settle.lua
$ without-server
$ rlctl burst double-refund.lua --limit 1000/60s --reserve 100 --hold 5s --actual 50..150 --settle-after 2s --rate 1/s --json --assert 'used<=1000' --assert exceeded==0 --assert starved==0 --assert leaked==0 --assert end_taken==0
{"pattern":"poisson",[..],"runs":[{"algorithm":"double-refund.lua","sent":207,"allowed":30,"denied":177,[..],"spending":{"used":993,[..],"overspent":38,"settled":30,"late":0,[..]},[..]}]}

## settles that come too late to count are named, as are units that are lost with those who die
$ copy examples/pitfalls/dead-holds.lua
$ without-server
$ rlctl burst budget dead-holds.lua --limit 1000/60s --reserve 100 --hold 2s --settle-after 5s --crash 50% --rate 1/s
pattern    poisson                1.0/s on average
limit      1000 per 60 s          seed 1
units      100 reserved for 2 s, settled with 100 after 5 s, 50 % die
script     dead-holds.lua         allowed when its reply is nonzero
clock      virtual time

                sent  allowed  denied          used  exceeded  settled  late
dead-holds.lua   207       16     191   500 of 1000         0        8     8
budget           207      206       1  1000 of 1000         0        0     0

                starved  leaked  longest lockout  died
dead-holds.lua      191     900          57.58 s     8
budget                0       0          2.422 s    88
times      from the beginning of a window  2026-01-01T00:00:00Z
starved    dead-holds.lua: 191 reservations were denied although there was room,
           for up to 57.58 s
at the end dead-holds.lua: 800 units were still taken 120 s after the last
           holder had gone
leaked     dead-holds.lua: 900 units at once that nobody had and nobody got
refused    budget: 118 settles after the hold had ended, so that the units were
           not spent: a reservation is remembered for as long again

dead-holds.lua  lost 800 units
   1000 ├─────────────────────────────── limit
        │
      0 │█▇          ▇▅          ▄
allowed │▆▂··········▃···········▂············
 denied │·▒▒▒▒▒·░▒▓░░·░▒░▒░░░▒▒▒▒▒▒░▒▓░▒▒▒░▒▒·

budget  within the limit, but some settles came too late to count
   1000 ├─────────────────────────────── limit
        │   ▄     █              ▂   ▂▂     ▂
      0 │█▇█████▄▅█▅▅▇▅▅▅█▇▄▅▅██▅█▅█▇██▇▇████▇
allowed │▆▆▄▆▄▆·▂▄█▃▂▃▂▄▂▅▃▂▃▄▆▄▄▆▄▃▆█▂▄▅▅▂▅▆·
 denied │·········░···························
        └────────────┴───────────┴───────────┘
         0         +60 s      +120 s    +185 s
chart      units spent and held   against the limit
rows       reservations           a column is 5 s, the highest 12

server     not confirmed on a server  none is installed

rlctl burst poisson dead-holds.lua budget --limit 1000/60s --hold 2s \
    --crash 50% --reserve 100 --settle-after 5s --rate 1/s --seed 1

## each event is a line of a .jsonl
$ write log.csv
< time,key
< 0,a
< 1,a
< 4,b
$ rlctl burst --replay log.csv --limit 10/60s --reserve 6 --actual 8 --model -q -o x.jsonl
$ cat x.jsonl
{"algorithm":"budget","at_us":0,"key":"a","event":"reserve","reservation":"r1","units":6,"allowed":true,"request":1}
{"algorithm":"budget","at_us":1000000,"key":"a","event":"settle","reservation":"r1","units":6,"actual":8,"allowed":true,"request":2}
{"algorithm":"budget","at_us":1000000,"key":"a","event":"reserve","reservation":"r2","units":6,"allowed":false,"request":3}
{"algorithm":"budget","at_us":4000000,"key":"b","event":"reserve","reservation":"r3","units":6,"allowed":true,"request":4}
{"algorithm":"budget","at_us":5000000,"key":"b","event":"settle","reservation":"r3","units":6,"actual":8,"allowed":true,"request":5}

## assertions are about reservations
$ rlctl burst --limit 10/60s --reserve 2 --model -q --assert 'used<=10' --assert leaked==0 --assert exceeded==0 --assert end_too_many==0
$ rlctl burst --limit 10/60s --reserve 2 --model -q --assert 'used<10'
! rlctl: burst: assertion 'used<10' does not hold: budget has 10
[1]
