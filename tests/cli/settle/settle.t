# needs: server

## a settle spends the actual cost in place of the units held, once
$ rlctl check k --limit 1000/60s --reserve 400 --hold 30s --id 'a b' --now 1000000000
allowed key=k limit=1000/60s algorithm=budget reservation=a\x20b state=held units=400 hold=30.000s remaining=600 reset=60.000s
$ rlctl settle k 'a b' 380 --now 1001000000
settled key=k limit=1000/60s algorithm=budget reservation=a\x20b was=held actual=380 remaining=620 reset=59.000s
$ rlctl settle k 'a b' 380 --now 1001000000
already key=k limit=1000/60s algorithm=budget reservation=a\x20b was=settled actual=380 remaining=620 reset=59.000s
$ rlctl settle k 'a b' 500 --now 1001000000
! rlctl: settle: reservation 'a b' of 'k' is already settled with 380, not 500; nothing was changed
[2]
$ rlctl settle k 'a b' --release --now 1040000000 --json
! {"error":{"code":"conflict","message":"reservation 'a b' of 'k' is already settled with 380, not 0; nothing was changed","hint":null,"units":380}}
[2]
$ rlctl settle k 'a b' 380 --now 1001000000 --json
{"key":"k","algorithm":"budget","reservation":{"id":"a b","was":"settled"},"actual":380,"remaining":620,"reset_after_us":59000000,"limits":[{"key":"k","limit":1000,"window_us":60000000,"burst":null}]}

## --release spends nothing, a settle may exceed the limit, and one that is late is spent unless it is forgotten
$ rlctl check --batch --limit 1000/60s --hold 30s --now 1000000000 -q
< k	400	a
< k	400	b
< k	200	c
$ rlctl settle k a --release --now 1001000000
settled key=k limit=1000/60s algorithm=budget reservation=a was=held actual=0 remaining=400 reset=59.000s
$ rlctl settle k b 5000 --now 1001000000
settled key=k limit=1000/60s algorithm=budget reservation=b was=held actual=5000 remaining=0 reset=59.000s
$ rlctl check k --limit 1000/60s --algorithm budget --now 1002000000
denied key=k limit=1000/60s algorithm=budget remaining=0 retry_after=18.000s reset=58.000s
[1]
$ rlctl settle k c 380 --now 1031000000
settled key=k limit=1000/60s algorithm=budget reservation=c was=lapsed actual=380 remaining=620 reset=49.000s
$ rlctl settle k c 380 --limit 1000/60s --now 1060000000
unknown key=k limit=1000/60s algorithm=budget reservation=c was=unknown remaining=620 reset=20.000s
[1]

## an unknown ID is named, with status 1, and nothing is spent
$ rlctl settle k nope 5
unknown key=k algorithm=budget reservation=nope was=unknown
! rlctl: settle: 'k' does not exist
!   hint: a KEY with several limits has several keys: pass --limit or --policy
[1]
$ rlctl settle k nope 5 --json
{"key":"k","algorithm":"budget","reservation":{"id":"nope","was":"unknown"},"actual":null,"remaining":null,"reset_after_us":null,"limits":[]}
! rlctl: settle: 'k' does not exist
!   hint: a KEY with several limits has several keys: pass --limit or --policy
[1]
$ rlctl settle k nope 5 --limit 1000/60s
unknown key=k limit=1000/60s algorithm=budget reservation=nope was=unknown remaining=1000 reset=0.000s
[1]
$ keys

## several limits are settled at all keys, or at none if one does not know the ID or settled it with another amount
$ rlctl check k --limit 1000/60s --limit 5000/1h --reserve 400 --hold 30s --id a --now 1000000000 -q
$ rlctl settle {k}:60s a 7 --now 1001000000
settled key={k}:60s limit=1000/60s algorithm=budget reservation=a was=held actual=7 remaining=993 reset=59.000s
$ rlctl settle k a 8 --limit 1000/60s --limit 5000/1h --now 1001000000
! rlctl: settle: reservation 'a' of 'k' is already settled with 7, not 8; nothing was changed
[2]
$ rlctl settle k a 7 --limit 1000/60s --limit 5000/1h --now 1001000000
settled key=k limit=1000/60s,5000/1h algorithm=budget reservation=a was=held actual=7 remaining=993 reset=2599.000s
$ rlctl check {k}:60s --limit 1000/60s --reserve 400 --hold 30s --id b --now 1000000000 -q
$ rlctl settle k b 380 --limit 1000/60s --limit 5000/1h --now 1001000000
unknown key=k limit=1000/60s,5000/1h algorithm=budget reservation=b was=unknown remaining=593 reset=2599.000s
[1]
$ rlctl check {k}:60s --limit 1000/60s --algorithm budget --peek --now 1001000000
allowed key={k}:60s limit=1000/60s algorithm=budget remaining=593 reset=60.000s

## a settle counts in the period of the calendar in which it comes, which must be named if another has ended
$ rlctl check --batch --limit 1000/month@Europe/Zurich --hold 60s --now 2026-10-31T22:59:58Z -q
< k	400	a
< k	400	b
$ rlctl settle k a 380 --now 2026-10-31T22:59:59Z
settled key=k limit=1000/745h algorithm=budget reservation=a was=held actual=380 remaining=220 reset=119.000s
$ rlctl check k --limit 1000/month@Europe/Zurich --algorithm budget --peek --now 2026-10-31T23:00:00Z
allowed key=k limit=1000/month@Europe/Zurich algorithm=budget remaining=600 reset=118.000s
$ rlctl settle k b 380 --now 2026-10-31T23:00:01Z
! rlctl: settle: the period of 'k' has ended, and it does not store how long the next one is
!   hint: pass --limit or --policy
[2]
$ rlctl settle k b 380 --limit 1000/month@Europe/Zurich --now 2026-10-31T23:00:01Z --json
{"key":"k","algorithm":"budget","reservation":{"id":"b","was":"held"},"actual":380,"remaining":620,"reset_after_us":2591999000000,"limits":[{"key":"k","limit":1000,"window_us":2678400000000,"calendar":"month@Europe/Zurich","burst":null}]}

## the arguments of a policy come before the ID
$ write rlctl.toml
< timeout = "120s"
< policy.user = { key = "user:%s:%s", algorithm = "budget", limit = "9/60s" }
$ env RLCTL_CONFIG=FOLDER/rlctl.toml
$ rlctl check --policy user ann x --reserve 4 --hold 30s --id a --now 1000000000
allowed key=user:ann:x limit=9/60s algorithm=budget reservation=a state=held units=4 hold=30.000s remaining=5 reset=60.000s
$ rlctl settle --policy user ann x a 3 --now 1000000000
settled key=user:ann:x limit=9/60s algorithm=budget reservation=a was=held actual=3 remaining=6 reset=60.000s

## a key that holds something else is status 5
$ redis SET text hello
OK
$ redis HSET hash field value
1
$ rlctl settle text a 3
! rlctl: settle: SERVER: 'text' holds a string, but budget keeps a hash
!   hint: rlctl inspect text shows what it holds
[5]
$ rlctl settle hash a 3
! rlctl: settle: 'hash' holds a hash that is not the state of budget
!   hint: rlctl inspect hash shows what it holds
[5]
