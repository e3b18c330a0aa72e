# needs: server

## a reservation holds units until it is settled or its hold ends, and the same ID again changes nothing
$ rlctl check k --limit 1000/60s --reserve 400 --hold 30s --id a --now 1000000000
allowed key=k limit=1000/60s algorithm=budget reservation=a state=held units=400 hold=30.000s remaining=600 reset=60.000s
$ rlctl check k --limit 1000/60s --reserve 400 --hold 60s --id a --now 1001000000 --json
{"key":"k","algorithm":"budget","allowed":true,"cost":400,"remaining":600,"retry_after_us":0,"reset_after_us":59000000,"delay_us":0,"limits":[{"key":"k","limit":1000,"window_us":60000000,"burst":null}],"denied_by":null,"reservation":{"id":"a","state":"held","units":400,"hold_us":30000000,"reason":null}}
$ rlctl check k --limit 1000/60s --reserve 601 --hold 30s --id b --now 1001000000 --json
{"key":"k","algorithm":"budget","allowed":false,"cost":601,"remaining":600,"retry_after_us":29000000,"reset_after_us":59000000,"delay_us":0,"limits":[{"key":"k","limit":1000,"window_us":60000000,"burst":null}],"denied_by":"k","reservation":{"id":"b","state":"unknown","units":601,"hold_us":30000000,"reason":null}}
[1]
$ rlctl check k --limit 1000/60s --reserve 1001 --hold 30s --id b --now 1001000000
denied key=k limit=1000/60s algorithm=budget reservation=b state=unknown units=1001 hold=30.000s remaining=600 retry_after=never reset=59.000s
[1]
$ rlctl check k --limit 1000/60s --reserve 400 --hold 30s --id a --now 1031000000
allowed key=k limit=1000/60s algorithm=budget reservation=a state=lapsed units=400 hold=30.000s remaining=1000 reset=29.000s
$ rlctl settle k a 5 --limit 1000/60s --now 1031000000
settled key=k limit=1000/60s algorithm=budget reservation=a was=lapsed actual=5 remaining=995 reset=49.000s
$ rlctl check k --limit 1000/60s --reserve 400 --hold 30s --id a --now 1032000000
allowed key=k limit=1000/60s algorithm=budget reservation=a state=settled units=5 hold=30.000s remaining=995 reset=48.000s

## the same ID with other units is an error, which tells those that stand, whatever room there is
$ rlctl check k --limit 1000/60s --reserve 400 --hold 30s --id a --now 1000000000 -q
$ rlctl check k --limit 1000/60s --reserve 601 --hold 30s --id a --now 1001000000
! rlctl: check: reservation 'a' of 'k' was made with 400, not 601; nothing was changed
!   hint: give each request an ID of its own
[2]
$ rlctl check k --limit 1000/60s --reserve 1000 --hold 30s --id a --now 1031000000 --json --shadow --on-error allow
! {"error":{"code":"conflict","message":"reservation 'a' of 'k' was made with 400, not 1000; nothing was changed","hint":"give each request an ID of its own","units":400}}
[2]
$ rlctl check k --limit 1000/60s --reserve 400 --hold 30s --id b --now 1001000000 --headers
RateLimit-Policy: "60s";q=1000;w=60
RateLimit: "60s";r=200;t=60

## several limits hold the units in all keys or in none
$ rlctl check k --limit 1000/60s --limit 500/1h --reserve 400 --hold 30s --id a --now 1000000000
allowed key=k limit=1000/60s,500/1h algorithm=budget reservation=a state=held units=400 hold=30.000s remaining=100 reset=60.000s
$ rlctl check k --limit 1000/60s --limit 500/1h --reserve 101 --hold 30s --id b --now 1000000000
denied key=k limit=1000/60s,500/1h algorithm=budget reservation=b state=unknown units=101 hold=30.000s remaining=100 retry_after=30.000s reset=60.000s denied_by={k}:3600s
[1]
$ rlctl check {k}:60s --limit 1000/60s --algorithm budget --peek --now 1000000000
allowed key={k}:60s limit=1000/60s algorithm=budget remaining=600 reset=60.000s

## with --hold, a line of a batch has units and an ID, which is made if it is missing
$ rlctl check --batch --limit 1000/60s --hold 30s --reserve 300 --now 1000000000
< k	400	a
< k
< k	7	a
< a	b	5	c
< k	301	d
allowed key=k limit=1000/60s algorithm=budget reservation=a state=held units=400 hold=30.000s remaining=600 reset=60.000s
allowed key=k limit=1000/60s algorithm=budget reservation=[..] state=held units=300 hold=30.000s remaining=300 reset=60.000s
error line=3 status=2 message="reservation 'a' of 'k' was made with 400, not 7; nothing was changed"
allowed key=a\tb limit=1000/60s algorithm=budget reservation=c state=held units=5 hold=30.000s remaining=995 reset=60.000s
denied key=k limit=1000/60s algorithm=budget reservation=d state=unknown units=301 hold=30.000s remaining=300 retry_after=30.000s reset=60.000s
! rlctl: check: line 3: reservation 'a' of 'k' was made with 400, not 7; nothing was changed
[2]
$ rlctl check --batch --limit 1000/60s --hold 30s --now 1000000000 --json
< k	7	a
< k
{"line":1,"error":{"code":"conflict","message":"reservation 'a' of 'k' was made with 400, not 7; nothing was changed","hint":"give each request an ID of its own","units":400}}
{"line":2,"error":{"code":"usage","message":"a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID","hint":null}}
[2]

## a line of a batch without valid units or with a bad ID is an error, and with --quiet one without an ID
$ rlctl check --batch --limit 1000/60s --hold 30s -q
< k	0	a
< k	-1	a
< k	x	a
< k	1	123456789012345678901
< k	1
! rlctl: check: line 1: a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID
! rlctl: check: line 2: a reservation needs UNITS of 1 or more: KEY<TAB>UNITS<TAB>ID
! rlctl: check: line 3: UNITS must be a whole number in decimal digits, not 'x'
! rlctl: check: line 4: ID must have at most 20 bytes, not the 21 of '123456789012345678901'
! rlctl: check: line 5: with --quiet, a reservation needs an ID: nothing would print it
[2]
$ keys
