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
$ rlctl check k --limit 5/60s --cost 6 --now 1000000000 --json
{"key":"k","algorithm":"sliding-window-log","allowed":false,"cost":6,"remaining":5,"retry_after_us":-1,"reset_after_us":0,"delay_us":0,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":"k"}
[1]
$ redis LLEN k
0

## leaky-bucket shows its delay, but only if there is one
$ rlctl check k --limit 5/s --algorithm leaky-bucket --now 1000000000
allowed key=k limit=5/1s algorithm=leaky-bucket remaining=5 reset=0.200s
$ rlctl check k --limit 5/s --algorithm leaky-bucket --now 1000000000
allowed key=k limit=5/1s algorithm=leaky-bucket remaining=4 reset=0.400s delay=0.200s

## the algorithm and the burst are shown unless they are the default
$ rlctl check k --limit 10/s --algorithm gcra --burst 20 --now 1000000000
allowed key=k limit=10/1s algorithm=gcra burst=20 remaining=19 reset=0.100s
$ rlctl check l --limit 10/s --algorithm gcra --burst 10 --now 1000000000
allowed key=l limit=10/1s algorithm=gcra remaining=9 reset=0.100s
$ rlctl check m --limit 2/s --limit 10/60s --algorithm gcra --burst 2 --now 1000000000
allowed key=m limit=2/1s,10/60s algorithm=gcra burst=2 remaining=1 reset=6.000s

## several limits, which may be given as they are shown, give one decision, and the key that denied is named
$ rlctl check k --limit 2/s,3/60s --limit 9/1d --now 1000000000
allowed key=k limit=2/1s,3/60s,9/1d remaining=1 reset=86400.000s
$ rlctl check k --limit 2/s --limit 3/1m --now 1000000000
allowed key=k limit=2/1s,3/60s remaining=0 reset=60.000s
$ rlctl check k --limit 2/s --limit 3/1m --now 1000000000
denied key=k limit=2/1s,3/60s remaining=0 retry_after=1.000s reset=60.000s denied_by={k}:1s
[1]
$ rlctl check k --limit 2/s --limit 3/1m --now 1001000000 -q
$ rlctl check k --limit 2/s --limit 3/1m --now 1002000000
denied key=k limit=2/1s,3/60s remaining=0 retry_after=58.000s reset=59.000s denied_by={k}:60s
[1]
$ rlctl check k --limit 2/s --limit 3/1m --now 1002000000 --json
{"key":"k","algorithm":"sliding-window-log","allowed":false,"cost":1,"remaining":0,"retry_after_us":58000000,"reset_after_us":59000000,"delay_us":0,"limits":[{"key":"{k}:1s","limit":2,"window_us":1000000,"burst":null},{"key":"{k}:60s","limit":3,"window_us":60000000,"burst":null}],"denied_by":"{k}:60s"}
[1]
$ redis LLEN {k}:60s
3

## the answer has a colour where one is asked for
$ env CLICOLOR_FORCE=1
$ rlctl check k --limit 5/60s --cost 6 --now 1000000000
␛[31mdenied␛[0m key=k limit=5/60s remaining=5 retry_after=never reset=0.000s
[1]
$ rlctl check k --limit 5/60s --color never --now 1000000000
allowed key=k limit=5/60s remaining=4 reset=60.000s
$ env NO_COLOR=1
$ rlctl check --batch --limit 5/60s --now 1000000000
< k
allowed key=k limit=5/60s remaining=3 reset=60.000s
$ rlctl check --batch --limit 5/60s --color always --now 1000000000
< k
␛[32mallowed␛[0m key=k limit=5/60s remaining=2 reset=60.000s

## --quiet prints nothing except errors
$ rlctl check k --limit 1/60s -q
$ rlctl check k --limit 1/60s --quiet
[1]
$ rlctl check k --limit 1/60s -q -u unix:///nowhere
! rlctl: cannot connect to unix:///nowhere: no such file or directory
[3]

## JSON
$ rlctl check k --limit 5/60s --now 1000000000 --json
{"key":"k","algorithm":"sliding-window-log","allowed":true,"cost":1,"remaining":4,"retry_after_us":0,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":null}
$ rlctl check k --limit 5/60s --json -u unix:///nowhere
! {"error":{"code":"unreachable","message":"cannot connect to unix:///nowhere: no such file or directory","hint":null}}
[3]
