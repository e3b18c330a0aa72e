# needs: server
# Each report of burst as a whole: what a reader sees, whatever made it. Where a report comes twice, the second is made by
# the command that the first has printed.

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

## without UTF-8
$ env LC_ALL=C
$ rlctl burst --model gcra --limit 27/9s --cost 3
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      27 per 9 s             seed 1, cost 3
clock      virtual time

      sent  allowed  denied  worst in 9 s    within      at  first denial
gcra    18        9       9     27  1.00x  8.888 ms  -10 ms             0

      longest lockout  retry_after  bytes/key
gcra         8.888 ms            -          -
times      from the edge of a window  2026-01-01T00:00:09Z
why        gcra: it allows a burst of 27 and then 27 in 9 s, evenly spaced;
           9 requests came before their time

gcra  never above the limit
     27 +-------------------------------- limit
        |        ___..==**#####################
      0 |__--++################################
allowed |#.#.#.#.#..#.#.#.#....................
 denied |....................X.X.X.X.X..X.X.X.X
        +--------------------+----------------+
         -10 ms      edge of a window     +9 ms
chart      allowed within the last 9 s  against the limit
rows       requests               a column is 500 us, the highest 1

rlctl burst boundary gcra --limit 27/9s --model --cost 3 --seed 1

## several limits, keys and algorithms
$ rlctl burst spike --model --limit 10/s --limit 300/min --keys 20 fixed-window leaky-bucket
pattern    spike                  half the limit, and suddenly twice the limit
limit      10 per 1 s and 300 per 60 s  seed 1, 20 keys
clock      virtual time

              sent  allowed  denied  worst in a window     of    within       at
fixed-window   700      400     300          17  1.70×  10/1s  982.1 ms  +510 ms
leaky-bucket   700      495     205           5  0.50×  10/1s    800 ms  +810 ms

              first denial  longest lockout  longest delay     retry_after
fixed-window      +1.483 s          1.126 s              -  19 of 19 right
leaky-bucket      +1.491 s          1.079 s         3.77 s  26 of 26 right

              keys denied  bytes/key
fixed-window     20 of 20          -
leaky-bucket     19 of 20          -
times      from the beginning of a window  2026-01-01T00:00:00Z
why        fixed-window (key 11): its counter starts over at
           2026-01-01T00:00:01Z, so 7 requests before that and 10 after it were
           allowed within 982.1 ms

fixed-window  1.70× the limit of key 11: 17 within 982.1 ms
     20 │                             ▄▄
        │                        ▂▂   ███▇▄▄▄▂▂
     10 ├────────────────────────────────────────────────────── limit
        │             ▂▂▂▄▅▅▅▅▇▇▇██████████████████▇▇▇▄▄▄▄▄
      0 │      ▂▂▂▂▅▅██████████████████████████████████████ ▂▂▄▄▄▄▄▄▄
allowed │▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▆▁·········▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
 denied │·····························░▓░░░░░░░░░····················

leaky-bucket  never above the limit; closest: key 1
     10 ├────────────────────────────────────────────────────── limit
        │
      0 │▂▂▂▂▄▄▄▄▄▄▄▄▄▄▄▄▅▅▅▅▇▅▅▅▇▅▅▅▇▇▇▇████████████████████████████→
allowed │▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▂·▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁
 denied │·····························░▓░··░░░········░··············
        └────────────────────┴───────────────────┴──────────────────┘
         0                 +1 s                +2 s              +3 s
chart      allowed to the named key within the last 1 s  against the limit
rows       requests of all keys   a column is 50 ms, the highest 196
later      leaky-bucket           → 11 units proceed later, until +5.01 s

rlctl burst spike fixed-window leaky-bucket --limit 10/1s --limit 300/60s \
    --model --keys 20 --seed 1

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

## leases: who held at once, and who held on although the lease had ended
$ rlctl burst steady --concurrency 3 --lease 10s --hold 15s --crash 20%
pattern    steady                 a constant rate, twice what the limit allows
limit      3 leases of 10 s       held for 15 s, 20 % die
           seed 1
clock      virtual time

             sent  allowed  denied    held  starved  leaked  longest lockout
concurrency    18       14       4  3 of 3        0       0            2.5 s

             died
concurrency     2
times      from the beginning     2026-01-01T00:00:00Z
lapsed     5 held at once, 2 of them although their lease had ended: --renew
           keeps them

concurrency  within the limit but for leases that had ended, no slot lost
      6 │            ▃▃▃▃▃▃    ▃  ▃▃▃    ▃▃▃▃▃▃    ▃▃▃
        │          ▆▆██████▆▆▆▆█▆▆███▆▆▆▆██████▆▆▆▆███
      3 ├────────────────────────────────────────────────── limit
        │  ▃▃▃███████████████████████████████████████████▃▃
      0 │▆▆████████████████████████████████████████████████▆▆▆▆▆
allowed │█·█··█····█·█··█····█·█··█····█·█··█····█·█·············
 denied │·······▓·········▓·········▓·········▓··················
        └──────────┴─────────┴─────────┴─────────┴─────────┴────┘
         0       +10 s     +20 s     +30 s     +40 s        +56 s
chart      held at once           against the limit
rows       acquires               a column is 1 s, the highest 1

server     confirmed on [..]

rlctl burst steady concurrency --concurrency 3 --lease 10s --hold 15s \
    --crash 20% --seed 1
$ rlctl burst steady concurrency --concurrency 3 --lease 10s --hold 15s --crash 20% --seed 1 --json
{"pattern":"steady","seed":1,"clock":"virtual","concurrency":3,"lease_us":10000000,"hold_us":15000000,"hold_is_exponential":false,"crash":0.2,"renew":false,"replay":null,"command":"rlctl burst steady concurrency --concurrency 3 --lease 10s --hold 15s --crash 20% --seed 1","interrupted":false,"confirmation":{[..]},"runs":[{"algorithm":"concurrency","sent":18,"allowed":14,"denied":4,"keys":1,"keys_denied":1,"holding":{"held":3,"held_at_us":1767225605000000,"held_ever":5,"lapsed":2,"longest_leaked_us":0,"released":12,"renewed":0,"renewals_refused":0,"starved":0,"longest_starved_us":0,"leaked":0,"died":2,"refused_while_held":0,"end_after_us":20000000,"end_keys":1,"end_taken":0,"end_too_many":0,"key":"1"},"first_denial_us":1767225607500000,"longest_shut_out_us":2500000,"top_denied":[{"key":"1","denied":4}],"hint":null}]}

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
$ rlctl burst poisson budget --limit 20/10s --hold 30s --reserve 5 --actual 2..8 --settle-after 1s --rate 2/s --duration 20s --seed 1 --json
{"pattern":"poisson","seed":1,"clock":"virtual","limit":20,"window_us":10000000,"limits":[{"limit":20,"window_us":10000000,"burst":null,"text":"20/10s"}],"reserve":5,"hold_us":30000000,"least_actual":2,"most_actual":8,"settle_after_us":1000000,"settle_after_is_exponential":false,"crash":0,"replay":null,"command":"rlctl burst poisson budget --limit 20/10s --hold 30s --reserve 5 --actual 2..8 --settle-after 1s --rate 2/s --duration 20s --seed 1","interrupted":false,"confirmation":{[..]},"runs":[{"algorithm":"budget","sent":47,"allowed":8,"denied":39,"keys":1,"keys_denied":1,"spending":{"used":20,"used_at_us":1767225600455839,"exceeded":0,"overspent":5,"settled":8,"late":0,"refused":0,"starved":0,"longest_starved_us":0,"leaked":0,"died":0,"refused_while_held":0,"end_after_us":82076063,"end_keys":1,"end_taken":0,"end_too_many":0,"key":"1"},"first_denial_us":1767225600671921,"longest_shut_out_us":9329888,"top_denied":[{"key":"1","denied":39}],"hint":null}]}

## a program and a script of somebody else, and the first request that they decide differently
$ copy tests/limiters/figures.pl
$ copy examples/pitfalls/five-second-counter.lua
$ rlctl burst --exec 'perl figures.pl' --compare five-second-counter.lua --limit 5/5s --keys '{key}:{window_index}' --head 'allowed <=limit' --head 'remaining limit - r + 1' --head 'reset_after window_s / 2 s'
pattern    boundary
           the limit in the last 10 ms of a window, and again in the next 10 ms
limit      5 per 5 s              seed 1
program    figures.pl             perl figures.pl
script     five-second-counter.lua  allowed when its reply is <=limit
clock      virtual time

                         sent  allowed  denied  worst in 5 s  within      at
figures.pl                 10        5       5      5  1.00×    8 ms  -10 ms
five-second-counter.lua    10       10       0     10  2.00×   18 ms  -10 ms

                         first denial  longest lockout  retry_after  bytes/key
figures.pl                          0             8 ms            -          -
five-second-counter.lua             -                -            -         [..]
times      from the edge of a window  2026-01-01T00:00:05Z
remaining  five-second-counter.lua  at most 5 too many, 0 too few
reset      five-second-counter.lua  at most 2.5 s too early, 0 µs too late
note       figures.pl: never above the limit with this traffic; adversary
           searches for traffic that gets more through

figures.pl  never above the limit
      5 ├─────────────────────────────── limit
        │        ▂▂▂▂▅▅▅▅█████████████████████
      0 │▄▄▄▄▇▇▇▇█████████████████████████████
allowed │█···█···█···█···█····················
 denied │····················▓···▓···▓···▓···▓

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

differ     yes, first at request 6 (key '1'): five-second-counter.lua allows it,
           figures.pl denies it

server     confirmed on [..]

rlctl burst boundary --limit 5/5s --head 'allowed <=limit' \
    --head 'remaining limit - r + 1' --head 'reset_after window_s / 2 s' \
    --exec 'perl figures.pl' --compare five-second-counter.lua \
    --keys '{key}:{window_index}' --seed 1
[1]

## a log is sent again: what was put before each line is stripped, times are sorted, and costs count as units
$ write compose.log
< web-1  | {"time":1767312001,"key":"a","cost":3}
< web-1  | {"time":1767312000,"key":"a"}
< web-1  | {"time":1767312001,"key":"b"}
< web-1  | no line of a log
$ rlctl burst --replay compose.log --limit 2/10s --model
! rlctl: burst: compose.log:4: this is in none of the known formats; jsonl is nearest and reads 3 of 4 lines, but it is not a JSON object: 'web-1  | no line of a log'
!   hint: --format jsonl leaves out what it does not read
[2]
$ rlctl burst --replay compose.log --format jsonl --limit 2/10s --burst 2 gcra fixed-window --model --suggest 0%keys
replay     compose.log
           jsonl after docker-compose, 3 requests in 4 lines, 1 cannot be read
traffic    3 requests             2 keys
from       2026-01-02T00:00:00Z   to 2026-01-02T00:00:01Z
sorted     1                      behind later ones, by up to 1 s
limit      2 per 10 s             a request costs up to 3
clock      virtual time

              sent  allowed  denied    of all  worst in 10 s  within
gcra             3        2       1  33.333 %       1  0.50×    0 µs
fixed-window     3        2       1  33.333 %       1  0.50×    0 µs

                                at          first denial  longest lockout
gcra          2026-01-02T00:00:00Z  2026-01-02T00:00:01Z             0 µs
fixed-window  2026-01-02T00:00:00Z  2026-01-02T00:00:01Z             0 µs

              retry_after  keys denied  bytes/key       worst minute
gcra                    -       1 of 2          -  2026-01-02T00:00Z
fixed-window            -       1 of 2          -  2026-01-02T00:00Z

              denied in it
gcra                1 of 3
fixed-window        1 of 3
why        gcra (key a): it allows a burst of 2 and then 2 in 10 s, evenly
           spaced; 1 request of 1 key came before its time
why        fixed-window (key a): its counter stops at 2 in each window of 10 s,
           and denied 1 request of 1 key; it never allowed more than 1 within
           10 s to one key

denied most by gcra  requests  of all denied
a                           1        100.0 %

denied most by fixed-window  requests  of all denied
a                                   1        100.0 %

gcra                   denied    of all       keys denied
  1000000000 per 10 s       1  33.333 %  1 of 2  50.000 %
suggested  no limit               denies at most 0 % of keys with a burst of 2

fixed-window  denied    of all       keys denied
  2 per 10 s       1  33.333 %  1 of 2  50.000 %
  3 per 10 s       1  33.333 %  1 of 2  50.000 %
* 4 per 10 s       0   0.000 %   0 of 2  0.000 %
  5 per 10 s       0   0.000 %   0 of 2  0.000 %
  6 per 10 s       0   0.000 %   0 of 2  0.000 %
  8 per 10 s       0   0.000 %   0 of 2  0.000 %
suggested  4 per 10 s             smallest with at most 0 % of keys denied

gcra  never above the limit; closest: key a
allowed │█·················································█
 denied │··················································▓

fixed-window  never above the limit; closest: key a
allowed │█·················································█
 denied │··················································▓
        └──────────┴─────────┴─────────┴─────────┴─────────┘
         2026-01-02 00:00:00      00:00:00.6     00:00:01.02
rows       requests               a column is 20 ms, the highest 1
times      in UTC

rlctl burst gcra fixed-window --limit 2/10s --burst 2 --model \
    --replay compose.log --format jsonl --suggest 0%keys
! rlctl: burst: warning: 1 of 4 lines cannot be read; the first is compose.log:4: it is not a JSON object: 'web-1  | no line of a log'
$ rlctl burst gcra fixed-window --limit 2/10s --burst 2 --model --replay compose.log --format jsonl --suggest 0%keys --json
{"pattern":"replay","seed":null,"clock":"virtual","limit":2,"window_us":10000000,"limits":[{"limit":2,"window_us":10000000,"burst":2,"text":"2/10s"}],"replay":{"files":[{"name":"compose.log","format":"jsonl","prefix":"docker-compose","lines":4,"requests":3,"bad":1,"blank":0,"other":0}],"first_us":1767312000000000,"last_us":1767312001000000,"out_of_order":1,"out_of_order_by_us":1000000,"first_bad":{"file":"compose.log","line":4,"why":"it is not a JSON object"}},"command":"rlctl burst gcra fixed-window --limit 2/10s --burst 2 --model --replay compose.log --format jsonl --suggest 0%keys","interrupted":false,"confirmation":null,"runs":[{"algorithm":"gcra","sent":3,"allowed":2,"denied":1,"keys":2,"keys_denied":1,"worst":{"allowed":1,"ratio":0.5,"from_us":1767312000000000,"span_us":0,"key":"a","limit":2,"window_us":10000000},"worst_keys":[{"key":"a","allowed":1,"ratio":0.5,"from_us":1767312000000000,"span_us":0,"limit":2,"window_us":10000000,"denied":1},{"key":"b","allowed":1,"ratio":0.5,"from_us":1767312001000000,"span_us":0,"limit":2,"window_us":10000000,"denied":0}],"denied_by_limit":[1],"bytes_per_key":null,"lag_us":null,"sender_kept_up":null,"first_denial_us":1767312001000000,"longest_shut_out_us":0,"longest_delay_us":0,"retry_after":{"compared":0,"broken":0,"too_early_us":0,"too_late_us":0},"remaining":{"compared":3,"too_many":0,"too_few":0},"reset_after":{"compared":3,"too_early_us":5000000,"too_late_us":0},"top_denied":[{"key":"a","denied":1}],"worst_minute":{"from_us":1767312000000000,"sent":3,"denied":1},"suggestion":{"most":0,"of":"keys","limit":null,"window_us":10000000,"tried":[{"limit":1000000000,"denied":1,"share":0.5,"keys_denied":1}]},"hint":null,"why":"it allows a burst of 2 and then 2 in 10 s, evenly spaced; 1 request of 1 key came before its time"},{"algorithm":"fixed-window","sent":3,"allowed":2,"denied":1,"keys":2,"keys_denied":1,"worst":{"allowed":1,"ratio":0.5,"from_us":1767312000000000,"span_us":0,"key":"a","limit":2,"window_us":10000000},"worst_keys":[{"key":"a","allowed":1,"ratio":0.5,"from_us":1767312000000000,"span_us":0,"limit":2,"window_us":10000000,"denied":1},{"key":"b","allowed":1,"ratio":0.5,"from_us":1767312001000000,"span_us":0,"limit":2,"window_us":10000000,"denied":0}],"denied_by_limit":[1],"bytes_per_key":null,"lag_us":null,"sender_kept_up":null,"first_denial_us":1767312001000000,"longest_shut_out_us":0,"longest_delay_us":0,"retry_after":{"compared":0,"broken":0,"too_early_us":0,"too_late_us":0},"remaining":{"compared":3,"too_many":0,"too_few":0},"reset_after":{"compared":3,"too_early_us":1000000,"too_late_us":0},"top_denied":[{"key":"a","denied":1}],"worst_minute":{"from_us":1767312000000000,"sent":3,"denied":1},"suggestion":{"most":0,"of":"keys","limit":4,"window_us":10000000,"tried":[{"limit":2,"denied":1,"share":0.5,"keys_denied":1},{"limit":3,"denied":1,"share":0.5,"keys_denied":1},{"limit":4,"denied":0,"share":0,"keys_denied":0},{"limit":5,"denied":0,"share":0,"keys_denied":0},{"limit":6,"denied":0,"share":0,"keys_denied":0},{"limit":8,"denied":0,"share":0,"keys_denied":0}]},"hint":null,"why":"its counter stops at 2 in each window of 10 s, and denied 1 request of 1 key; it never allowed more than 1 within 10 s to one key"}]}
! rlctl: burst: warning: 1 of 4 lines cannot be read; the first is compose.log:4: it is not a JSON object: 'web-1  | no line of a log'
$ rlctl burst --replay compose.log --format jsonl --limit 2/10s --burst 2 gcra fixed-window --model --strict -o out.json
! rlctl: burst: compose.log:4: it is not a JSON object: 'web-1  | no line of a log'
[2]
$ cat out.json
! cat: out.json: no such file
[1]
