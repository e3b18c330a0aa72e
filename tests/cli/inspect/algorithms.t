# needs: server
# What inspect prints of each algorithm's state, now and at other times.

## a log lists its entries, oldest first, and how many there were in each part of the window
$ each ALGORITHM sliding-window-log sliding-window-zset
$ rlctl check -q k --limit 5/60s --algorithm ALGORITHM --now 2026-01-01T12:00:00Z
$ rlctl check -q k --limit 5/60s --algorithm ALGORITHM --cost 3 --now 2026-01-01T12:00:28Z
$ rlctl check -q k --limit 5/60s --algorithm ALGORITHM --now 2026-01-01T12:00:47.3Z
$ rlctl inspect k --limit 5/60s --now 2026-01-01T12:00:48Z
key        k                      [..], [..] bytes, ttl [..]
algorithm  ALGORITHM[..]limit 5/60s
used       5 of 5                 next free in 12.000 s, resets in 59.300 s
now        2026-01-01T12:00:48Z   [..] behind the server's clock
entries    5, oldest first
  2026-01-01T12:00:00.000000Z      48.000 s ago  leaves in 12.000 s
  2026-01-01T12:00:28.000000Z  ×3  20.000 s ago  leaves in 40.000 s
  2026-01-01T12:00:47.300000Z       0.700 s ago  leaves in 59.300 s
last 60 s  ···········▃···························█···················▃
           one bar is 1 s, the highest 3
$ rlctl inspect k --json --limit 5/60s --now 2026-01-01T12:00:48Z --entries 2
{"key":"k",[..]"stored":5,[..]"entries":[{"at_us":1767268828000000,"count":3},{"at_us":1767268847300000,"count":1}],"reservations":[]}

## --entries lists that many of the newest entries, 20 by default, or all
$ redis EVAL "for i = 1, 22 do redis.call('RPUSH', KEYS[1], 1767268800000000 + i) end" 1 k
(nil)
$ rlctl inspect k --json --limit 100/60s --now 2026-01-01T12:00:00.000100Z
{"key":"k",[..],"stored":22,[..],"entries":[{"at_us":1767268800000003,"count":1},[..],{"at_us":1767268800000022,"count":1}],[..]}
$ rlctl inspect k --json --limit 100/60s --now 2026-01-01T12:00:00.000100Z --entries all
{"key":"k",[..],"stored":22,[..],"entries":[{"at_us":1767268800000001,"count":1},[..],{"at_us":1767268800000022,"count":1}],[..]}
$ rlctl inspect k --now 2026-01-01T12:00:00.000100Z --entries 2
key        k                      list, [..] bytes, no ttl: never expires
algorithm  sliding-window-log     limit not stored; pass --limit
           may belong to another program: scripts set a TTL and write current
           times
used       unknown                pass --limit for the window
now        2026-01-01T12:00:00.000100Z  [..] behind the server's clock
entries    22, oldest first
  20 more before these
  2026-01-01T12:00:00.000021Z  0.079 ms ago
  2026-01-01T12:00:00.000022Z  0.078 ms ago

## windows and buckets show what they store, and what applies now
$ rlctl check -q fixed --limit 5/60s --algorithm fixed-window --cost 3 --now 2026-01-01T12:00:00Z
$ rlctl check -q counter --limit 5/60s --algorithm sliding-window-counter --cost 4 --now 2026-01-01T11:59:30Z
$ rlctl check -q counter --limit 5/60s --algorithm sliding-window-counter --now 2026-01-01T12:00:00Z
$ rlctl check -q tokens --limit 5/60s --burst 10 --algorithm token-bucket --cost 7 --now 2026-01-01T12:00:00Z
$ rlctl check -q gcra --limit 5/60s --burst 10 --algorithm gcra --cost 7 --now 2026-01-01T12:00:00Z
$ rlctl check -q leaky --limit 5/60s --burst 10 --algorithm leaky-bucket --cost 3 --now 2026-01-01T12:00:00Z
$ rlctl inspect fixed counter tokens gcra leaky --now 2026-01-01T12:00:03.114Z
key        fixed                  string, [..] bytes, ttl [..]
algorithm  fixed-window           limit 5/60s
used       3 of 5                 2 remaining, resets in 56.886 s
now        2026-01-01T12:00:03.114000Z  [..] behind the server's clock
           ████████████████████████░░░░░░░░░░░░░░░░  60%
window     from 2026-01-01T12:00:00Z  3.114 s ago
           to   2026-01-01T12:01:00Z  in 56.886 s

key        counter                string, [..] bytes, ttl [..]
algorithm  sliding-window-counter  limit 5/60s
used       5 of 5                 next free in 11.886 s, resets in 116.886 s
now        2026-01-01T12:00:03.114000Z  [..] behind the server's clock
           ████████████████████████████████████████  100%
window     from 2026-01-01T12:00:00Z  3.114 s ago
           to   2026-01-01T12:01:00Z  in 56.886 s
this one   1
previous   4                      3.792 of them count

key        tokens                 string, [..] bytes, ttl [..]
algorithm  token-bucket           limit 5/60s, burst 10
used       7 of 10                3 remaining, resets in 80.886 s
now        2026-01-01T12:00:03.114000Z  [..] behind the server's clock
           ████████████████████████████░░░░░░░░░░░░  70%
level      3.259 of 10            one every 12 s
written    2026-01-01T12:00:00Z   3.114 s ago

key        gcra                   string, [..] bytes, ttl [..]
algorithm  gcra                   limit 5/60s, burst 10
used       7 of 10                3 remaining, resets in 80.886 s
now        2026-01-01T12:00:03.114000Z  [..] behind the server's clock
           ████████████████████████████░░░░░░░░░░░░  70%
level      3.259 of 10            one every 12 s
tat        2026-01-01T12:01:24Z   in 80.886 s

key        leaky                  string, [..] bytes, ttl [..]
algorithm  leaky-bucket           limit 5/60s, burst 10
used       3 of 11                8 remaining, resets in 32.886 s
now        2026-01-01T12:00:03.114000Z  [..] behind the server's clock
           ███████████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  27%
waiting    2                      next departs in 8.886 s
rate       one every 12 s
last       2026-01-01T12:00:24Z   in 20.886 s
$ rlctl inspect fixed counter leaky --now 2026-01-01T12:02:10Z
key        fixed                  string, [..] bytes, ttl [..]
algorithm  fixed-window           limit 5/60s
used       0 of 5                 5 remaining, as if unused
now        2026-01-01T12:02:10Z   [..] behind the server's clock
           ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0%
window     from 2026-01-01T12:00:00Z  130.000 s ago
           to   2026-01-01T12:01:00Z  70.000 s ago
           it has ended: its count no longer applies

key        counter                string, [..] bytes, ttl [..]
algorithm  sliding-window-counter  limit 5/60s
used       0 of 5                 5 remaining, as if unused
now        2026-01-01T12:02:10Z   [..] behind the server's clock
           ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0%
window     from 2026-01-01T12:02:00Z  10.000 s ago
           to   2026-01-01T12:03:00Z  in 50.000 s
this one   0
previous   0

key        leaky                  string, [..] bytes, ttl [..]
algorithm  leaky-bucket           limit 5/60s, burst 10
used       0 of 11                11 remaining, as if unused
now        2026-01-01T12:02:10Z   [..] behind the server's clock
           ░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  0%
waiting    0
rate       one every 12 s
last       2026-01-01T12:00:24Z   106.000 s ago
$ rlctl inspect tokens --limit 4/60s --now 2026-01-01T11:59:50Z
key        tokens                 string, [..] bytes, ttl [..]
algorithm  token-bucket           limit 4/60s, burst 4
           stored 5/60s burst 10, --limit 4/60s
used       7 of 4                 next free in 58.000 s, resets in 94.000 s
now        2026-01-01T11:59:50Z   [..] behind the server's clock
           ████████████████████████████████████████  175%
level      0 of 4                 one every 12 s
           its tokens were counted in the future: a clock was ahead,
           or this one is behind
written    2026-01-01T12:00:00Z   in 10.000 s

## a request in another window extends the stored one if it ends later, and otherwise applies after it
$ rlctl check -q counter --limit 10/60s --algorithm sliding-window-counter --cost 7 --now 2026-01-01T12:01:00Z
$ rlctl inspect counter --limit 100/90s --now 2026-01-01T12:00:50Z
key        counter                string, [..] bytes, ttl [..]
algorithm  sliding-window-counter  limit 100/90s
           stored 10/60s, --limit 100/90s
used       7 of 100               93 remaining, resets in 130.000 s
now        2026-01-01T12:00:50Z   [..] behind the server's clock
           ███░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  7%
window     from 2026-01-01T12:01:00Z  in 10.000 s
           to   2026-01-01T12:02:00Z  in 70.000 s
           it starts in the future: a clock was ahead, or this one is behind
this one   7
previous   0
$ rlctl inspect counter --limit 100/20s --now 2026-01-01T12:02:30Z
key        counter                string, [..] bytes, ttl [..]
algorithm  sliding-window-counter  limit 100/20s
           stored 10/60s, --limit 100/20s
used       4 of 100               96 remaining, resets in 30.000 s
now        2026-01-01T12:02:30Z   [..] behind the server's clock
           ██░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  4%
window     from 2026-01-01T12:02:00Z  30.000 s ago
           to   2026-01-01T12:03:00Z  in 30.000 s
this one   0
previous   7                      3.5 of them count
$ rlctl inspect counter --limit 100/1h --now 2026-01-01T12:02:30Z
key        counter                string, [..] bytes, ttl [..]
algorithm  sliding-window-counter  limit 100/1h
           stored 10/60s, --limit 100/1h
used       7 of 100               93 remaining, resets in 30.000 s
now        2026-01-01T12:02:30Z   [..] behind the server's clock
           ███░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  7%
window     from 2026-01-01T12:02:00Z  30.000 s ago
           to   2026-01-01T12:03:00Z  in 30.000 s
this one   0
previous   7                      7 of them count

## a queue that another clock has filled far ahead expires before it is free
$ rlctl check -q k --limit 1000000/60s --algorithm leaky-bucket --now 2090-01-01T00:00:00Z
$ rlctl inspect k
key        k                      string, [..] bytes, ttl [..]
algorithm  leaky-bucket           limit 1M/60s, burst 1000000
used       [..] of 1000001
           next free in [..], resets in [..]
           it expires before that, in 1h[..], and is then as if unused
           ████████████████████████████████████████  [..]%
waiting    [..]         next departs in [..]
rate       one every 60 µs
last       2090-01-01T00:00:00Z   in [..]

## leases are listed by their end, with those that have lapsed
$ redis ZADD job -3 limit 1767268796800000 lease:a 1767268807000000 'lease:web "2"' 1767268841200000 lease:b
4
$ redis EXPIRE job 100
1
$ rlctl inspect job --now 2026-01-01T12:00:00Z
key        job                    zset, [..] bytes, ttl [..]
algorithm  concurrency            limit 3
used       2 of 3                 1 remaining, resets in 41.200 s
now        2026-01-01T12:00:00Z   [..] behind the server's clock
           ███████████████████████████░░░░░░░░░░░░░  66%
leases     3, by their end
  1 no longer counts
  2026-01-01T11:59:56.800000Z  lapsed 3.200 s ago  a
  2026-01-01T12:00:07.000000Z   lapses in 7.000 s  web\x20"2"
  2026-01-01T12:00:41.200000Z  lapses in 41.200 s  b
$ rlctl inspect job --json --now 2026-01-01T12:00:00Z
{"key":"job",[..],"used":2,[..],"stored":3,[..],"entries":[{"at_us":1767268796800000,"count":1,"holder":"a"},{"at_us":1767268807000000,"count":1,"holder":"web \"2\""},{"at_us":1767268841200000,"count":1,"holder":"b"}],[..]}
$ redis ZREM job limit
1
$ rlctl inspect job --entries 1 --now 2026-01-01T12:01:00Z
key        job                    zset, [..] bytes, ttl [..]
algorithm  concurrency            limit not stored; pass --limit
           for 3 leases, pass --limit 3/1s; leases ignore the window
used       0                      as if unused
now        2026-01-01T12:01:00Z   [..] behind the server's clock
leases     3, by their end
  3 no longer count
  2 more before these
  2026-01-01T12:00:41.200000Z  lapsed 18.800 s ago  b

## a budget shows what is spent and held, by whom and until when
$ rlctl check -q tokens --limit 100/1h --algorithm budget --cost 11 --now 2026-01-01T12:00:00Z
$ rlctl check -q tokens --limit 100/1h --reserve 30 --id web:1 --hold 60s --now 2026-01-01T12:00:00Z
$ rlctl settle tokens web:1 20 --now 2026-01-01T12:00:01Z
settled key=tokens limit=100/1h algorithm=budget reservation=web:1 was=held actual=20 remaining=69 reset=3599.000s
$ rlctl check -q tokens --limit 100/1h --reserve 5 --id web:0 --hold 25s --now 2026-01-01T12:00:00Z
$ rlctl check -q tokens --limit 100/1h --reserve 25 --id web:2 --hold 30s --now 2026-01-01T12:00:01Z
$ rlctl check -q tokens --limit 100/1h --reserve 40 --id 'web 3' --hold 90s --now 2026-01-01T12:00:31.5Z
$ rlctl inspect tokens --entries 3 --now 2026-01-01T12:00:41Z
key        tokens                 hash, [..] bytes, ttl [..]
algorithm  budget                 limit 100/1h
used       71 of 100              29 remaining, resets in 59m19s
now        2026-01-01T12:00:41Z   [..] behind the server's clock
           ████████████████████████████░░░░░░░░░░░░  71%
spent      31
held       40                     by 1 reservation
window     from 2026-01-01T12:00:00Z  41.000 s ago
           to   2026-01-01T13:00:00Z  in 59m19s
written    2026-01-01T12:00:31.500000Z  9.500 s ago
known IDs  4, by the end of their holds
  1 more before these
  2026-01-01T12:00:31.000000Z  lapsed 10.000 s ago  25  web:2
  2026-01-01T12:01:00.000000Z              settled  20  web:1
  2026-01-01T12:02:01.500000Z   lapses in 80.500 s  40  web\x203
$ rlctl inspect tokens --json --limit 70/1h --now 2026-01-01T12:00:41Z
{"key":"tokens",[..],"used":71,[..],"next_free_us":80500000,[..],"spent":31,"held":40,[..],"reservations":[{"id":"web:0","state":"lapsed","units":5,[..]},{"id":"web:2","state":"lapsed","units":25,[..]},{"id":"web:1","state":"settled","units":20,[..]},{"id":"web 3","state":"held","units":40,"until_us":1767268921500000,"forgotten_at_us":1767269011500000}]}
$ rlctl inspect tokens --json --now 2026-01-01T13:00:00Z
{"key":"tokens",[..],"used":0,[..],"spent":0,"held":0,[..],"reservations":[]}

## what is used is green, nearly full yellow and full red; without UTF-8 charts are ASCII
$ env LC_ALL=C
$ rlctl check -q log --limit 10/60s --cost 3 --now 2026-01-01T12:00:00Z
$ rlctl check -q log --limit 10/60s --cost 4 --now 2026-01-01T12:00:30Z
$ rlctl check -q log --limit 10/60s --now 2026-01-01T12:00:50Z
$ rlctl check -q four --limit 5/60s --algorithm fixed-window --cost 4 --now 2026-01-01T12:00:00Z
$ rlctl check -q one --limit 5/60s --algorithm fixed-window --now 2026-01-01T12:00:00Z
$ rlctl inspect log --limit 5/30s --color always --now 2026-01-01T12:00:45Z
␛[1mkey␛[0m        log                    list, [..] bytes, ttl [..]
␛[1malgorithm␛[0m  sliding-window-log     limit 5/30s
␛[1mused␛[0m       ␛[31m5 of 5␛[0m                 next free in 15.000 s, resets in 35.000 s
␛[1mnow␛[0m        2026-01-01T12:00:45Z   [..] behind the server's clock
␛[1mentries␛[0m    8, oldest first
  ␛[2m3 no longer count␛[0m
  ␛[2m2026-01-01T12:00:00.000000Z  x3␛[0m  ␛[2m45.000 s ago␛[0m   ␛[2mleft 15.000 s ago␛[0m
  2026-01-01T12:00:30.000000Z  x4  15.000 s ago  leaves in 15.000 s
  ␛[33m2026-01-01T12:00:50.000000Z␛[0m        ␛[33min 5.000 s␛[0m  ␛[33mleaves in 35.000 s␛[0m
           ␛[33mits newest entry is in the future: a clock was ahead,
           or this one is behind␛[0m
␛[1mlast 30 s␛[0m  ...................@.......................................-
           ␛[2mone bar is 500 ms, the highest 4␛[0m
$ rlctl inspect four one --color always --now 2026-01-01T12:00:45Z
␛[1mkey␛[0m        four                   string, [..] bytes, ttl [..]
␛[1malgorithm␛[0m  fixed-window           limit 5/60s
␛[1mused␛[0m       ␛[33m4 of 5␛[0m                 1 remaining, resets in 15.000 s
␛[1mnow␛[0m        2026-01-01T12:00:45Z   [..] behind the server's clock
           ␛[33m################################--------␛[0m  80%
␛[1mwindow␛[0m     from 2026-01-01T12:00:00Z  45.000 s ago
           to   2026-01-01T12:01:00Z  in 15.000 s

␛[1mkey␛[0m        one                    string, [..] bytes, ttl [..]
␛[1malgorithm␛[0m  fixed-window           limit 5/60s
␛[1mused␛[0m       ␛[32m1 of 5␛[0m                 4 remaining, resets in 15.000 s
␛[1mnow␛[0m        2026-01-01T12:00:45Z   [..] behind the server's clock
           ␛[32m########--------------------------------␛[0m  20%
␛[1mwindow␛[0m     from 2026-01-01T12:00:00Z  45.000 s ago
           to   2026-01-01T12:01:00Z  in 15.000 s
