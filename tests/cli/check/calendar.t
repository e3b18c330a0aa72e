# needs: server
# Limits per day, week, month and year of a time zone, in every command that takes a limit.

## a month of a zone begins at its own midnight, and ends there; without --algorithm, fixed-window or budget count it
$ rlctl check k --limit 3/month@Europe/Zurich --cost 3 --now 2026-10-31T22:59:59Z
allowed key=k limit=3/month@Europe/Zurich algorithm=fixed-window remaining=0 reset=1.000s
$ rlctl check k --limit 3/month@Europe/Zurich --now 2026-10-31T22:59:59.999999Z
denied key=k limit=3/month@Europe/Zurich algorithm=fixed-window remaining=0 retry_after=0.001s reset=0.001s
[1]
$ rlctl check k --limit 3/month@Europe/Zurich --now 2026-10-31T23:00:00Z --json
{"key":"k","algorithm":"fixed-window","allowed":true,"cost":1,"remaining":2,"retry_after_us":0,"reset_after_us":2592000000000,"delay_us":0,"limits":[{"key":"k","limit":3,"window_us":2678400000000,"calendar":"month@Europe/Zurich","burst":null}],"denied_by":null}
$ rlctl check k --limit 3/month@Europe/Zurich --now 2026-10-31T23:00:00Z --headers
RateLimit-Policy: "month@Europe/Zurich";q=3;w=2592000
RateLimit: "month@Europe/Zurich";r=1;t=2592000
$ rlctl inspect k --limit 3/month@Europe/Zurich --now 2026-10-31T23:00:00Z
key        k                      string, [..] bytes, ttl [..]
algorithm  fixed-window           limit 3/month@Europe/Zurich
used       2 of 3                 1 remaining, resets in 30d0h0m
now        2026-10-31T23:00:00Z   [..] the server's clock
           ███████████████████████████░░░░░░░░░░░░░  66%
window     from 2026-10-31T23:00:00Z  now
           to   2026-11-30T23:00:00Z  in 30d0h0m
$ rlctl reset k --limit 3/month@Europe/Zurich
removed key=k algorithm=fixed-window
$ rlctl check k --limit 3/month+15@Europe/Zurich --limit 9/60s --now 2026-11-14T22:59:00Z --reserve 2 --hold 30s --id a
allowed key=k limit=3/month+15@Europe/Zurich,9/60s algorithm=budget reservation=a state=held units=2 hold=30.000s remaining=1 reset=60.000s

## a key of another algorithm is shown as such, or refused
$ rlctl check -q log --limit 5/60s
$ rlctl inspect log --limit 9/month@Europe/Zurich --json
{"key":"log",[..]"algorithm":"sliding-window-log",[..]
$ rlctl check -q bucket --limit 5/60s --algorithm gcra
$ rlctl inspect bucket --limit 9/month@Europe/Zurich
! rlctl: inspect: the key holds gcra's state, which has no windows of the calendar, such as month@Europe/Zurich
!   hint: pass a limit of a fixed length, such as 9/31d
[2]
$ rlctl reset bucket --limit 9/month@Europe/Zurich
removed key=bucket algorithm=gcra

## a day has 23 or 25 hours where the clocks change
$ rlctl check k --limit 5/day@Europe/Zurich --now 2026-03-28T23:00:00Z
allowed key=k limit=5/day@Europe/Zurich algorithm=fixed-window remaining=4 reset=82800.000s
$ rlctl inspect k --now 2026-03-29T12:00:00Z --json
{"key":"k",[..]"limit":5,"window_us":82800000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],[..]
$ rlctl inspect k --limit 5/day@Europe/Zurich --now 2026-03-29T12:00:00Z --json
{"key":"k",[..]"limit":5,"window_us":82800000000,"window_inferred":[..],"calendar":"day@Europe/Zurich","burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":4,"next_free_us":[..],"reset_after_us":36000000000,[..]
$ rlctl inspect k --limit 5/day@Europe/Zurich --now 2026-03-30T12:00:00Z --json
{"key":"k",[..]"limit":5,"window_us":86400000000,"window_inferred":[..],"calendar":"day@Europe/Zurich","burst":[..],"limits_differ":null,"used":0,"ratio":[..],[..]
$ rlctl check k --limit 5/day@Europe/Zurich --now 2026-10-24T22:00:00Z
allowed key=k limit=5/day@Europe/Zurich algorithm=fixed-window remaining=4 reset=90000.000s

## without --now, the period of the present counts, and quota and audit know it
$ rlctl check -q k --limit 3/month@Europe/Zurich --cost 2
$ rlctl quota k --limit 3/month@Europe/Zurich --warning 1% --critical 60% --json
{"status":"critical","limits":[{"key":"k","library":"rlctl","algorithm":"fixed-window","policy":null,"part_of":null,"limit":3,"window_us":[..],"window_inferred":false,"calendar":"month@Europe/Zurich","burst":null,"limits_differ":null,"used":2,"ratio":[..],"remaining":1,[..]
[2]
$ rlctl audit
no findings in 1 limiter key

## several limits have a key for each calendar, which inspect and list find, and reset with its limits
$ rlctl check -q k --limit 2/day@Asia/Tokyo --limit 9/month+15@Europe/Zurich
$ rlctl inspect k --json
{"key":"{k}:day@Asia/Tokyo",[..]
{"key":"{k}:month+15@Europe/Zurich",[..]
$ rlctl list --limit 2/day@Asia/Tokyo --json
{"key":"{k}:day@Asia/Tokyo",[..]"limit":2,"window_us":86400000000,"window_inferred":false,"calendar":"day@Asia/Tokyo",[..]"used":1,[..]
{"key":"{k}:month+15@Europe/Zurich",[..]"limit":9,"window_us":[..],[..]"limits_differ":null,[..]
$ rlctl reset k
none key=k
! nothing to remove
! looked at k, {k}:leases, and {k}:WINDOW for the windows [..], day@UTC, [..]: pass --limit or --policy
$ rlctl reset k --limit 2/day@Asia/Tokyo --limit 9/month+15@Europe/Zurich
removed key={k}:day@Asia/Tokyo algorithm=fixed-window
removed key={k}:month+15@Europe/Zurich algorithm=fixed-window
! not saved: --save FILE keeps what is removed, and --restore puts it back
! removed 2 keys (2 fixed-window)
$ keys

## a policy may have a limit of the calendar, but not with the algorithm gcra
$ write rlctl.toml
< timeout = "120s"
< policy.bill = { key = "bill:%s", limit = "3/month+15@Europe/Zurich" }
$ rlctl --config rlctl.toml check --policy bill ann --now 1800000000000000
allowed key=bill:ann limit=3/month+15@Europe/Zurich algorithm=fixed-window remaining=2 reset=2646000.000s
$ rlctl --config rlctl.toml list --json
{"key":"bill:ann",[..]"calendar":"month+15@Europe/Zurich",[..]
$ rlctl --config rlctl.toml config show --json
{"file":"rlctl.toml",[..]"policies":[{"name":"bill","key":"bill:%s","algorithm":"fixed-window","limits":[{"limit":3,"window_us":2678400000000,"calendar":"month+15@Europe/Zurich","burst":null}],"ipv6_prefix":null,"line":2}],"scripts":[]}
$ write wrong.toml
< policy.bill = { key = "bill:%s", limit = "3/month+15@Europe/Zurich", algorithm = "gcra" }
$ rlctl --config wrong.toml check --policy bill ann
! rlctl: wrong.toml:1: policy 'bill': limit: gcra has no windows of the calendar, such as month+15@Europe/Zurich; fixed-window and budget have them
!   hint: correct the file, or pass --limit instead of --policy
[2]

## around the end of a day, burst gets twice the limit through, by the script and by the model
$ each ARGS --json '--json --model' '--json budget' '--json budget --model'
$ rlctl burst --limit 20/day@America/Asuncion --start 2024-03-23T00:00:00Z boundary ARGS
{"pattern":"boundary",[..],"runs":[{"algorithm":"[..]","sent":40,"allowed":40,"denied":0,[..],"worst":{"allowed":40,"ratio":2,"from_us":1711162799990000,"span_us":19500,[..],"calendar":"day@America/Asuncion"},[..],"why":"[..] starts over at 2024-03-23T03:00:00Z, so 20 requests before that and 20 after it were allowed within 19.5 ms"}]}
