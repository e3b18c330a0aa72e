# needs: server
# Each report of burst as a whole: what a reader sees, whatever made it.

## without options, fixed-window allows twice the limit, and the log does not
$ rlctl burst --model
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      1000 per 60 s          seed 1
clock      virtual time

                    sent  allowed  denied  worst in 60 s    within      at
fixed-window        2000     2000       0    2000  2.00×  19.99 ms  -10 ms
sliding-window-log  2000     1000    1000    1000  1.00×   9.99 ms  -10 ms

                    first denial  longest lockout  retry_after  bytes/key
fixed-window                   -                -            -          -
sliding-window-log             0          9.99 ms            -          -
times      from the edge of a window  2026-01-01T00:01:00Z
why        fixed-window: its counter starts over at 2026-01-01T00:01:00Z, so
           1000 requests before that and 1000 after it were allowed within
           19.99 ms
why        sliding-window-log: it keeps the time of each unit that it allows,
           and denied 1000 requests that would have made more than 1000 within
           60 s

fixed-window  2.00× the limit: 2000 within 19.99 ms
   2000 │                              ▁▂▃▄▄▅▆▇██
        │                    ▁▂▃▄▄▅▆▇████████████
   1000 ├────────────────────────────────── limit
        │          ▁▂▃▄▄▅▆▇██████████████████████
      0 │▁▂▃▄▄▅▆▇████████████████████████████████
allowed │████████████████████████████████████████
 denied │········································

sliding-window-log  never above the limit
   1000 ├────────────────────────────────── limit
        │          ▁▂▃▄▄▅▆▇██████████████████████
      0 │▁▂▃▄▄▅▆▇████████████████████████████████
allowed │████████████████████····················
 denied │····················▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
        └────────────────────┴──────────────────┘
         -10 ms      edge of a window      +10 ms
chart      allowed within the last 60 s  against the limit
rows       requests               a column is 500 µs, the highest 50

rlctl burst boundary fixed-window sliding-window-log --limit 1000/60s --model \
    --seed 1

## the same without UTF-8
$ env LC_ALL=C
$ rlctl burst --model
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      1000 per 60 s          seed 1
clock      virtual time

                    sent  allowed  denied  worst in 60 s    within      at
fixed-window        2000     2000       0    2000  2.00x  19.99 ms  -10 ms
sliding-window-log  2000     1000    1000    1000  1.00x   9.99 ms  -10 ms

                    first denial  longest lockout  retry_after  bytes/key
fixed-window                   -                -            -          -
sliding-window-log             0          9.99 ms            -          -
times      from the edge of a window  2026-01-01T00:01:00Z
why        fixed-window: its counter starts over at 2026-01-01T00:01:00Z, so
           1000 requests before that and 1000 after it were allowed within
           19.99 ms
why        sliding-window-log: it keeps the time of each unit that it allows,
           and denied 1000 requests that would have made more than 1000 within
           60 s

fixed-window  2.00x the limit: 2000 within 19.99 ms
   2000 |                              __.--=+*##
        |                    __.--=+*############
   1000 +---------------------------------- limit
        |          __.--=+*######################
      0 |__.--=+*################################
allowed |########################################
 denied |........................................

sliding-window-log  never above the limit
   1000 +---------------------------------- limit
        |          __.--=+*######################
      0 |__.--=+*################################
allowed |####################....................
 denied |....................XXXXXXXXXXXXXXXXXXXX
        +--------------------+------------------+
         -10 ms      edge of a window      +10 ms
chart      allowed within the last 60 s  against the limit
rows       requests               a column is 500 us, the highest 50

rlctl burst boundary fixed-window sliding-window-log --limit 1000/60s --model \
    --seed 1

## several limits, keys and algorithms
$ rlctl burst spike --model --limit 10/s --limit 300/min --keys 20 fixed-window token-bucket leaky-bucket
pattern    spike                  half the limit, and suddenly twice the limit
limit      10 per 1 s and 300 per 60 s  seed 1, 20 keys
clock      virtual time

              sent  allowed  denied  worst in a window     of    within       at
fixed-window   700      400     300          17  1.70×  10/1s  982.1 ms  +510 ms
token-bucket   700      476     224          19  1.90×  10/1s  985.1 ms  +510 ms
leaky-bucket   700      495     205           5  0.50×  10/1s    800 ms  +810 ms

              first denial  longest lockout  longest delay     retry_after
fixed-window      +1.483 s          1.126 s              -  19 of 19 right
token-bucket      +1.489 s          1.079 s              -  26 of 26 right
leaky-bucket      +1.491 s          1.079 s         3.77 s  26 of 26 right

              keys denied  bytes/key
fixed-window     20 of 20          -
token-bucket     19 of 20          -
leaky-bucket     19 of 20          -
times      from the beginning of a window  2026-01-01T00:00:00Z
why        fixed-window (key 11): its counter starts over at
           2026-01-01T00:00:01Z, so 7 requests before that and 10 after it were
           allowed within 982.1 ms
why        token-bucket (key 11): its bucket holds 10, and 9 come back
           meanwhile: all 19 were allowed within 985.1 ms

fixed-window  1.70× the limit of key 11: 17 within 982.1 ms
     20 │                        ▁▁   ▆▆▄▄▂▂▂▁▁
     10 ├────────────────────────────────────────────────────── limit
      0 │      ▁▁▁▁▃▃▄▅▅▅▆▇▇▇▇████████████████████████▆▆▆▆▆ ▁▁▂▂▂▂▂▂▂
allowed │▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▆▁·········▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
 denied │·····························░▓░░░░░░░░░····················

token-bucket  1.90× the limit of key 11: 19 within 985.1 ms
     20 │                        ▁▁   ██▇▆▄▄▄▄▄▃▃▃▃▂▂▂
     10 ├────────────────────────────────────────────────────── limit
      0 │      ▁▁▁▁▃▃▄▅▅▅▆▇▇▇▇█████████████████████████████▁▁▁▂▂▂▂▂▂▂
allowed │▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁·▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
 denied │·····························░▓░··░░░········░··············

leaky-bucket  never above the limit; closest: key 1
     10 ├────────────────────────────────────────────────────── limit
      0 │▁▁▁▁▂▂▂▂▂▂▂▂▂▂▂▂▃▃▃▃▄▃▃▃▄▃▃▃▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄→
allowed │▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▂·▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
 denied │·····························░▓░··░░░········░··············
        └────────────────────┴───────────────────┴──────────────────┘
         0                 +1 s                +2 s              +3 s
chart      allowed to the named key within the last 1 s  against the limit
rows       requests of all keys   a column is 50 ms, the highest 196
later      leaky-bucket           → 11 units proceed later, until +5.01 s

rlctl burst spike fixed-window token-bucket leaky-bucket --limit 10/1s \
    --limit 300/60s --model --keys 20 --seed 1

## JSON
$ rlctl burst --limit 10/10s --model fixed-window --json
{"pattern":"boundary","seed":1,"clock":"virtual","limit":10,"window_us":10000000,"limits":[{"limit":10,"window_us":10000000,"burst":null,"text":"10/10s"}],"replay":null,"command":"rlctl burst boundary fixed-window --limit 10/10s --model --seed 1","interrupted":false,"confirmation":null,"runs":[{"algorithm":"fixed-window","sent":20,"allowed":20,"denied":0,"keys":1,"keys_denied":0,"worst":{"allowed":20,"ratio":2,"from_us":1767225609990000,"span_us":19000,"key":"1","limit":10,"window_us":10000000},"worst_keys":[{"key":"1","allowed":20,"ratio":2,"from_us":1767225609990000,"span_us":19000,"limit":10,"window_us":10000000,"denied":0}],"denied_by_limit":[0],"bytes_per_key":null,"lag_us":null,"sender_kept_up":null,"first_denial_us":null,"longest_shut_out_us":0,"longest_delay_us":0,"retry_after":{"compared":0,"broken":0,"too_early_us":0,"too_late_us":0},"remaining":{"compared":20,"too_many":9,"too_few":0},"reset_after":{"compared":20,"too_early_us":9999000,"too_late_us":0},"top_denied":[],"worst_minute":null,"suggestion":null,"hint":null,"why":"its counter starts over at 2026-01-01T00:00:10Z, so 10 requests before that and 10 after it were allowed within 19 ms"}]}

## an event for each request
$ rlctl burst steady --limit 2/1s --rate 5/s --duration 1s --model fixed-window -q -o events.jsonl
$ cat events.jsonl
{"algorithm":"fixed-window","at_us":1767225600000000,"key":"1","cost":1,"allowed":true,"remaining":1,"retry_after_us":0,"reset_after_us":1000000,"delay_us":0,"request":1,"denied_by":null}
{"algorithm":"fixed-window","at_us":1767225600200000,"key":"1","cost":1,"allowed":true,"remaining":0,"retry_after_us":0,"reset_after_us":800000,"delay_us":0,"request":2,"denied_by":null}
{"algorithm":"fixed-window","at_us":1767225600400000,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":600000,"reset_after_us":600000,"delay_us":0,"request":3,"denied_by":"2/1s"}
{"algorithm":"fixed-window","at_us":1767225600600000,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":400000,"reset_after_us":400000,"delay_us":0,"request":4,"denied_by":"2/1s"}
{"algorithm":"fixed-window","at_us":1767225600800000,"key":"1","cost":1,"allowed":false,"remaining":0,"retry_after_us":200000,"reset_after_us":200000,"delay_us":0,"request":5,"denied_by":"2/1s"}
$ rlctl burst --limit 1/60s --cost 2 --model fixed-window gcra -q -o two.jsonl
$ cat two.jsonl
{"algorithm":"fixed-window","at_us":1767225659990000,"key":"1","cost":2,"allowed":false,"remaining":1,"retry_after_us":-1,"reset_after_us":0,"delay_us":0,"request":1,"denied_by":"1/60s"}
{"algorithm":"fixed-window","at_us":1767225660000000,"key":"1","cost":2,"allowed":false,"remaining":1,"retry_after_us":-1,"reset_after_us":0,"delay_us":0,"request":2,"denied_by":"1/60s"}
{"algorithm":"gcra","at_us":1767225659990000,"key":"1","cost":2,"allowed":false,"remaining":1,"retry_after_us":-1,"reset_after_us":0,"delay_us":0,"request":1,"denied_by":"1/60s"}
{"algorithm":"gcra","at_us":1767225660000000,"key":"1","cost":2,"allowed":false,"remaining":1,"retry_after_us":-1,"reset_after_us":0,"delay_us":0,"request":2,"denied_by":"1/60s"}

## an assertion that holds, and one that does not
$ rlctl burst --limit 10/10s --model sliding-window-log -q --assert 'worst<=1' --assert 'worst == 1' --assert 'sent>=20' --assert 'denied > 9' --assert 'allowed!=1' --assert 'denied<10.5'
$ rlctl burst --limit 10/10s --model fixed-window sliding-window-log -q --assert 'worst<=1'
! rlctl: burst: assertion 'worst<=1' does not hold: fixed-window has 2
[1]
$ rlctl burst --limit 10/10s --model fixed-window sliding-window-log -q --assert 'allowed<10' --assert 'denied>0'
! rlctl: burst: assertion 'allowed<10' does not hold: fixed-window has 20, sliding-window-log has 10
! rlctl: burst: assertion 'denied>0' does not hold: fixed-window has 0
[1]

## the first request that two limiters decide differently
$ rlctl burst --limit 3/3s --model fixed-window --compare sliding-window-log
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      3 per 3 s              seed 1
clock      virtual time

                    sent  allowed  denied  worst in 3 s    within      at
fixed-window           6        6       0      6  2.00×  16.67 ms  -10 ms
sliding-window-log     6        3       3      3  1.00×  6.666 ms  -10 ms

                    first denial  longest lockout  retry_after  bytes/key
fixed-window                   -                -            -          -
sliding-window-log             0         6.666 ms            -          -
times      from the edge of a window  2026-01-01T00:00:03Z
why        fixed-window: its counter starts over at 2026-01-01T00:00:03Z, so
           3 requests before that and 3 after it were allowed within 16.67 ms
why        sliding-window-log: it keeps the time of each unit that it allows,
           and denied 3 requests that would have made more than 3 within 3 s

fixed-window  2.00× the limit: 6 within 16.67 ms
      6 │                          ▃▃▃▃▃▃▃█
        │                    ▆▆▆▆▆▆████████
      3 ├──────────────────────────── limit
        │      ▃▃▃▃▃▃▃█████████████████████
      0 │▆▆▆▆▆▆████████████████████████████
allowed │█·····█······█······█·····█······█
 denied │··································

sliding-window-log  never above the limit
      3 ├──────────────────────────── limit
        │      ▃▃▃▃▃▃▃█████████████████████
      0 │▆▆▆▆▆▆████████████████████████████
allowed │█·····█······█····················
 denied │····················▓·····▓······▓
        └────────────────────┴────────────┘
         -10 ms                       +7 ms
chart      allowed within the last 3 s  against the limit
rows       requests               a column is 500 µs, the highest 1

differ     yes, first at request 4 (key '1'): fixed-window allows it,
           sliding-window-log denies it

rlctl burst boundary fixed-window --limit 3/3s --model \
    --compare sliding-window-log --seed 1
[1]

## leases: who held at once
$ rlctl burst --concurrency 3 --hold 2s --lease 5s --duration 20s --rate 3/s --crash 20%
pattern    poisson                3.0/s on average
limit      3 leases of 5 s        held for 2 s, 20 % die
           seed 1
clock      virtual time

             sent  allowed  denied    held  starved  leaked  longest lockout
concurrency    71       25      46  3 of 3        0       0          2.513 s

             died
concurrency     1
times      from the beginning     2026-01-01T00:00:00Z

concurrency  within the limit, no slot lost
      3 ├────────────────────────────────────── limit
        │██████████████████▃████  ▃██████████▃▃▃▃▃
      0 │███████████████████████▆▆████████████████▆▆▆
allowed │▄···▄···▃▂···▃▂···▃▂····▂▂▂··▃·▂·▂▂·▂··▂····
 denied │░·▒░·░▒░░·▓░░·░░░▒·░········░·░▓▒···░░░·····
        └──────────┴─────────┴────────┴──────────┴──┘
         0       +5 s      +10 s    +15 s       +22 s
chart      held at once           against the limit
rows       acquires               a column is 500 ms, the highest 6

server     confirmed on [..]

rlctl burst poisson concurrency --concurrency 3 --lease 5s --hold 2s \
    --crash 20% --rate 3/s --duration 20s --seed 1
$ rlctl burst --concurrency 3 --hold 2s --lease 5s --duration 20s --rate 3/s --crash 20% --json
{"pattern":"poisson","seed":1,"clock":"virtual","concurrency":3,"lease_us":5000000,"hold_us":2000000,"hold_is_exponential":false,"crash":0.2,"renew":false,"replay":null,"command":"rlctl burst poisson concurrency --concurrency 3 --lease 5s --hold 2s --crash 20% --rate 3/s --duration 20s --seed 1","interrupted":false,"confirmation":{[..]},"runs":[{"algorithm":"concurrency","sent":71,"allowed":25,"denied":46,"keys":1,"keys_denied":1,"holding":{"held":3,"held_at_us":1767225600296810,"held_ever":3,"lapsed":0,"longest_leaked_us":0,"released":24,"renewed":0,"renewals_refused":0,"starved":0,"longest_starved_us":0,"leaked":0,"died":1,"refused_while_held":0,"end_after_us":10000000,"end_keys":1,"end_taken":0,"end_too_many":0,"key":"1"},"first_denial_us":1767225600303892,"longest_shut_out_us":2512564,"top_denied":[{"key":"1","denied":46}],"hint":null}]}

## budgets: what was spent and held at once
$ rlctl burst --reserve 5 --actual 2..8 --limit 20/10s --rate 2/s --duration 20s
pattern    poisson                2.0/s on average
limit      20 per 10 s            seed 1
units      5 reserved for 30 s, settled with 2 to 8 after 1 s
clock      virtual time

        sent  allowed  denied      used  exceeded  settled  late  starved
budget    47        8      39  20 of 20         0        8     0        0

        leaked  longest lockout
budget       0           9.33 s
times      from the beginning of a window  2026-01-01T00:00:00Z
overspent  settles brought a key up to 5 units above the limit: they state what
           happened, which is not the limiter's fault

budget  within the limit, no unit lost
     30 │  ▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄▄  ▃▃▁▁▁▁▁▁▁▁▁▁▁▁▁▁
     20 ├──────────────────────────────── limit
        │████████████████████ █████████████████
      0 │██████████████████████████████████████
allowed │█···················▄▄················
 denied │·░·░▒░▒░░▒░░▒░░▒▒░░··░░··▓··▒▒······░░
        └────────────────────┴────────────────┘
         0                 +10 s          +19 s
chart      units spent and held   against the limit
rows       reservations           a column is 500 ms, the highest 4

server     confirmed on [..]

rlctl burst poisson budget --limit 20/10s --hold 30s --reserve 5 --actual 2..8 \
    --settle-after 1s --rate 2/s --duration 20s --seed 1
$ rlctl burst --reserve 5 --actual 2..8 --limit 20/10s --rate 2/s --duration 20s --json
{"pattern":"poisson","seed":1,"clock":"virtual","limit":20,"window_us":10000000,"limits":[{"limit":20,"window_us":10000000,"burst":null,"text":"20/10s"}],"reserve":5,"hold_us":30000000,"least_actual":2,"most_actual":8,"settle_after_us":1000000,"settle_after_is_exponential":false,"crash":0,"replay":null,"command":"rlctl burst poisson budget --limit 20/10s --hold 30s --reserve 5 --actual 2..8 --settle-after 1s --rate 2/s --duration 20s --seed 1","interrupted":false,"confirmation":{[..]},"runs":[{"algorithm":"budget","sent":47,"allowed":8,"denied":39,"keys":1,"keys_denied":1,"spending":{"used":20,"used_at_us":1767225600455839,"exceeded":0,"overspent":5,"settled":8,"late":0,"refused":0,"starved":0,"longest_starved_us":0,"leaked":0,"died":0,"refused_while_held":0,"end_after_us":82076063,"end_keys":1,"end_taken":0,"end_too_many":0,"key":"1"},"first_denial_us":1767225600671921,"longest_shut_out_us":9329888,"top_denied":[{"key":"1","denied":39}],"hint":null}]}

## a script of somebody else
$ copy examples/pitfalls/five-second-counter.lua
$ rlctl burst five-second-counter.lua --keys '{key}:{window_index}' --allowed-when '<=limit' --limit 5/5s
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      5 per 5 s              seed 1
script     five-second-counter.lua  allowed when its reply is <=limit
clock      virtual time

                         sent  allowed  denied  worst in 5 s  within      at
five-second-counter.lua    10       10       0     10  2.00×   18 ms  -10 ms

                         first denial  longest lockout  retry_after  bytes/key
five-second-counter.lua             -                -            -         [..]
times      from the edge of a window  2026-01-01T00:00:05Z

five-second-counter.lua  2.00× the limit: 10 within 18 ms
     10 │                            ▂▂▂▂▅▅▅▅█
        │                    ▄▄▄▄▇▇▇▇█████████
      5 ├─────────────────────────────── limit
        │        ▂▂▂▂▅▅▅▅█████████████████████
      0 │▄▄▄▄▇▇▇▇█████████████████████████████
allowed │█···█···█···█···█···█···█···█···█···█
 denied │·····································
        └────────────────────┴───────────────┘
         -10 ms      edge of a window  +8.5 ms
chart      allowed within the last 5 s  against the limit
rows       requests               a column is 500 µs, the highest 1

server     confirmed on [..]

rlctl burst boundary five-second-counter.lua --limit 5/5s \
    --allowed-when '<=limit' --keys '{key}:{window_index}' --seed 1

## a program that is asked with lines of JSON
$ write limiter.pl
< $| = 1;
< my %used;
< while (<STDIN>) {
<   %used = (), next if /"reset":true/;
<   my ($key) = /"key":"([^"]*)"/;
<   print $used{$key}++ < 5 ? qq({"allowed":true}\n) : qq({"allowed":false}\n);
< }
$ rlctl burst --exec 'perl limiter.pl' --limit 5/5s
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      5 per 5 s              seed 1
program    limiter.pl             perl limiter.pl
clock      virtual time

            sent  allowed  denied  worst in 5 s  within      at  first denial
limiter.pl    10        5       5      5  1.00×    8 ms  -10 ms             0

            longest lockout  retry_after  bytes/key
limiter.pl             8 ms            -          -
times      from the edge of a window  2026-01-01T00:00:05Z
note       limiter.pl: never above the limit with this traffic; adversary
           searches for traffic that gets more through

limiter.pl  never above the limit
      5 ├─────────────────────────────── limit
        │        ▂▂▂▂▅▅▅▅█████████████████████
      0 │▄▄▄▄▇▇▇▇█████████████████████████████
allowed │█···█···█···█···█····················
 denied │····················▓···▓···▓···▓···▓
        └────────────────────┴───────────────┘
         -10 ms      edge of a window  +8.5 ms
chart      allowed within the last 5 s  against the limit
rows       requests               a column is 500 µs, the highest 1

rlctl burst boundary --limit 5/5s --exec 'perl limiter.pl' --seed 1

## a log is sent again
$ write access.log
< 192.0.2.1 - - [01/Jan/2026:00:00:00 +0000] "GET / HTTP/1.1" 200 1
< 192.0.2.1 - - [01/Jan/2026:00:00:01 +0000] "GET / HTTP/1.1" 200 1
< 192.0.2.2 - - [01/Jan/2026:00:00:01 +0000] "GET / HTTP/1.1" 200 1
< 192.0.2.1 - - [01/Jan/2026:00:00:02 +0000] "GET / HTTP/1.1" 200 1
< no line of a log
$ rlctl burst --replay access.log --limit 2/60s --model
! rlctl: burst: access.log:5: this is in none of the known formats; common is nearest and reads 4 of 5 lines, but it has no ' - ' after remote_addr: 'no line of a log'
!   hint: --format common leaves out what it does not read
[2]
$ rlctl burst --replay access.log --format common --limit 2/60s --model --json
{"pattern":"replay","seed":null,"clock":"virtual","limit":2,"window_us":60000000,"limits":[{"limit":2,"window_us":60000000,"burst":null,"text":"2/60s"}],"replay":{"files":[{"name":"access.log","format":"common","prefix":null,"lines":5,"requests":4,"bad":1,"blank":0,"other":0}],"first_us":1767225600000000,"last_us":1767225602000000,"out_of_order":0,"out_of_order_by_us":0,"first_bad":{"file":"access.log","line":5,"why":"it has no ' - ' after remote_addr"}},"command":"rlctl burst fixed-window sliding-window-log --limit 2/60s --model --replay access.log --format common","interrupted":false,"confirmation":null,"runs":[{"algorithm":"fixed-window","sent":4,"allowed":3,"denied":1,"keys":2,"keys_denied":1,"worst":{"allowed":2,"ratio":1,"from_us":1767225600000000,"span_us":1000000,"key":"192.0.2.1","limit":2,"window_us":60000000},"worst_keys":[{"key":"192.0.2.1","allowed":2,"ratio":1,"from_us":1767225600000000,"span_us":1000000,"limit":2,"window_us":60000000,"denied":1},{"key":"192.0.2.2","allowed":1,"ratio":0.5,"from_us":1767225601000000,"span_us":0,"limit":2,"window_us":60000000,"denied":0}],"denied_by_limit":[1],"bytes_per_key":null,"lag_us":null,"sender_kept_up":null,"first_denial_us":1767225602000000,"longest_shut_out_us":0,"longest_delay_us":0,"retry_after":{"compared":0,"broken":0,"too_early_us":0,"too_late_us":0},"remaining":{"compared":4,"too_many":0,"too_few":0},"reset_after":{"compared":4,"too_early_us":1000000,"too_late_us":0},"top_denied":[{"key":"192.0.2.1","denied":1}],"worst_minute":{"from_us":1767225600000000,"sent":4,"denied":1},"suggestion":null,"hint":null,"why":"its counter stops at 2 in each window of 60 s, and denied 1 request of 1 key; it never allowed more than 2 within 60 s to one key"},{"algorithm":"sliding-window-log","sent":4,"allowed":3,"denied":1,"keys":2,"keys_denied":1,"worst":{"allowed":2,"ratio":1,"from_us":1767225600000000,"span_us":1000000,"key":"192.0.2.1","limit":2,"window_us":60000000},"worst_keys":[{"key":"192.0.2.1","allowed":2,"ratio":1,"from_us":1767225600000000,"span_us":1000000,"limit":2,"window_us":60000000,"denied":1},{"key":"192.0.2.2","allowed":1,"ratio":0.5,"from_us":1767225601000000,"span_us":0,"limit":2,"window_us":60000000,"denied":0}],"denied_by_limit":[1],"bytes_per_key":null,"lag_us":null,"sender_kept_up":null,"first_denial_us":1767225602000000,"longest_shut_out_us":0,"longest_delay_us":0,"retry_after":{"compared":0,"broken":0,"too_early_us":0,"too_late_us":0},"remaining":{"compared":4,"too_many":0,"too_few":0},"reset_after":{"compared":4,"too_early_us":0,"too_late_us":0},"top_denied":[{"key":"192.0.2.1","denied":1}],"worst_minute":{"from_us":1767225600000000,"sent":4,"denied":1},"suggestion":null,"hint":null,"why":"it keeps the time of each unit that it allows, and denied 1 request of 1 key that would have made more than 2 within 60 s"}]}
! rlctl: burst: warning: 1 of 5 lines cannot be read; the first is access.log:5: it has no ' - ' after remote_addr: 'no line of a log'
$ rlctl burst --replay access.log --format common --limit 2/60s --model --strict -o out.json
! rlctl: burst: access.log:5: it has no ' - ' after remote_addr: 'no line of a log'
[2]
$ cat out.json
! cat: out.json: no such file
[1]
$ rlctl burst --replay access.log --format common --limit 2/60s --model --suggest 10%
replay     access.log
           common, 4 requests in 5 lines, 1 cannot be read
traffic    4 requests             2 keys
from       2026-01-01T00:00:00Z   to 2026-01-01T00:00:02Z
limit      2 per 60 s
clock      virtual time

                    sent  allowed  denied    of all  worst in 60 s  within
fixed-window           4        3       1  25.000 %       2  1.00×     1 s
sliding-window-log     4        3       1  25.000 %       2  1.00×     1 s

                                      at          first denial  longest lockout
fixed-window        2026-01-01T00:00:00Z  2026-01-01T00:00:02Z             0 µs
sliding-window-log  2026-01-01T00:00:00Z  2026-01-01T00:00:02Z             0 µs

                    retry_after  keys denied  bytes/key       worst minute
fixed-window                  -       1 of 2          -  2026-01-01T00:00Z
sliding-window-log            -       1 of 2          -  2026-01-01T00:00Z

                    denied in it
fixed-window              1 of 4
sliding-window-log        1 of 4
why        fixed-window (key 192.0.2.1): its counter stops at 2 in each window
           of 60 s, and denied 1 request of 1 key; it never allowed more than
           2 within 60 s to one key
why        sliding-window-log (key 192.0.2.1): it keeps the time of each unit
           that it allows, and denied 1 request of 1 key that would have made
           more than 2 within 60 s

denied most by fixed-window  requests  of all denied
192.0.2.1                           1        100.0 %

denied most by sliding-window-log  requests  of all denied
192.0.2.1                                 1        100.0 %

fixed-window  denied    of all       keys denied
  1 per 60 s       2  50.000 %  1 of 2  50.000 %
  2 per 60 s       1  25.000 %  1 of 2  50.000 %
* 3 per 60 s       0   0.000 %   0 of 2  0.000 %
  4 per 60 s       0   0.000 %   0 of 2  0.000 %
  6 per 60 s       0   0.000 %   0 of 2  0.000 %
suggested  3 per 60 s             smallest with at most 10 % of requests denied

sliding-window-log  denied    of all       keys denied
  1 per 60 s             2  50.000 %  1 of 2  50.000 %
  2 per 60 s             1  25.000 %  1 of 2  50.000 %
* 3 per 60 s             0   0.000 %   0 of 2  0.000 %
  4 per 60 s             0   0.000 %   0 of 2  0.000 %
  6 per 60 s             0   0.000 %   0 of 2  0.000 %
suggested  3 per 60 s             smallest with at most 10 % of requests denied

fixed-window  never above the limit; closest: key 192.0.2.1
allowed │▄···················█····················
 denied │········································▒

sliding-window-log  never above the limit; closest: key 192.0.2.1
allowed │▄···················█····················
 denied │········································▒
        └──────────┴─────────┴─────────┴─────────┘
         2026-01-01 00:00:00           00:00:02.05
rows       requests               a column is 50 ms, the highest 2
times      in UTC

rlctl burst fixed-window sliding-window-log --limit 2/60s --model \
    --replay access.log --format common --suggest 10%
! rlctl: burst: warning: 1 of 5 lines cannot be read; the first is access.log:5: it has no ' - ' after remote_addr: 'no line of a log'
