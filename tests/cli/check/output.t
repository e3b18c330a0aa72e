# needs: server
# What check prints, word for word.

## allowed, and denied once the limit is used
$ rlctl check k --limit 2/60s --now 1000000000
allowed key=k limit=2/60s remaining=1 reset=60.000s
$ rlctl check k --limit 2/60s --now 1000000000
allowed key=k limit=2/60s remaining=0 reset=60.000s
$ rlctl check k --limit 2/60s --now 1000000000
denied key=k limit=2/60s remaining=0 retry_after=60.000s reset=60.000s
[1]
$ redis LLEN k
2

## a cost that can never be allowed has no retry_after
$ rlctl check k --limit 5/60s --cost 6 --now 1000000000
denied key=k limit=5/60s remaining=5 retry_after=never reset=0.000s
[1]
$ redis LLEN k
0

## JSON
$ rlctl check k --limit 5/60s --now 1000000000 --json
{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":4,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":null}

## a key for each line of standard input
$ rlctl check --batch --limit 1/60s --now 1000000000
< a
< b
< a
allowed key=a limit=1/60s remaining=0 reset=60.000s
allowed key=b limit=1/60s remaining=0 reset=60.000s
denied key=a limit=1/60s remaining=0 retry_after=60.000s reset=60.000s
[1]

## a wrong limit
$ rlctl check k --limit 5/60x
! rlctl: check: --limit: '5/60x' has an unknown unit; use us, ms, s, m, h or d
! Try 'rlctl check --help'.
[2]
