# needs: server

## each algorithm: --peek takes nothing, and a cost above the limit can never be allowed
$ each ARGS budget fixed-window gcra 'leaky-bucket --burst 4' sliding-window-counter sliding-window-log sliding-window-zset token-bucket
$ rlctl check k --limit 5/60s --now 1000000000 --cost 7 --algorithm ARGS --json
{"key":"k",[..]"allowed":false,"cost":7,"remaining":5,"retry_after_us":-1,[..]
[1]
$ rlctl check k --limit 5/60s --now 1000000000 --cost 7 --algorithm ARGS --peek
denied key=k limit=5/60s[..] remaining=5 retry_after=never reset=0.000s
[1]
$ rlctl check k --limit 5/60s --now 1000000000 --algorithm ARGS --peek
allowed key=k limit=5/60s[..] remaining=5 reset=0.000s
$ keys
$ rlctl check -q k --limit 5/60s --now 1000000000 --algorithm ARGS
$ rlctl check -q k --limit 5/60s --now 1000000000 --algorithm ARGS --peek
$ rlctl check k --limit 5/60s --now 1000000000 --algorithm ARGS
allowed key=k limit=5/60s[..] remaining=3 reset=[..]

## each algorithm: a refund is made once, even if the script is not loaded
$ each ALGORITHM budget fixed-window gcra sliding-window-counter sliding-window-log sliding-window-zset token-bucket
$ rlctl check k --limit 9/60s --now 1000000000 --algorithm ALGORITHM --cost 7
allowed key=k limit=9/60s[..] remaining=2 reset=[..]
$ redis SCRIPT FLUSH
OK
$ rlctl check k --limit 9/60s --now 1000000000 --algorithm ALGORITHM --cost -2
allowed key=k limit=9/60s[..] remaining=4 reset=[..]

## --cost takes all its units or none, --peek only asks for them, and a cost below 0 returns what was taken
$ rlctl check k --limit 5/60s --now 1000000000 --cost 3
allowed key=k limit=5/60s remaining=2 reset=60.000s
$ rlctl check k --limit 5/60s --now 1000000000 --cost 2 --peek
allowed key=k limit=5/60s remaining=2 reset=60.000s
$ rlctl check k --limit 5/60s --now 1000000000 --cost 3 --peek --json
{"key":"k","algorithm":"sliding-window-log","allowed":false,"cost":3,"remaining":2,"retry_after_us":null,"reset_after_us":60000000,"delay_us":0,"limits":[{"key":"k","limit":5,"window_us":60000000,"burst":null}],"denied_by":"k"}
[1]
$ rlctl check k --limit 5/60s --now 1000000000 --cost 3
denied key=k limit=5/60s remaining=2 retry_after=60.000s reset=60.000s
[1]
$ rlctl check k --limit 5/60s --now 1000000000 --cost=2
allowed key=k limit=5/60s remaining=0 reset=60.000s
$ rlctl check k --limit 5/60s --now 1000000000 --cost 0
allowed key=k limit=5/60s remaining=0 reset=60.000s
$ rlctl check k --limit 5/60s --now 1000000000 --cost -99
allowed key=k limit=5/60s remaining=5 reset=0.000s
$ keys

## of several limits, the smallest remainder is shown, and the key that denies
$ rlctl check 'a b' --limit 2/s --limit 9/60s --now 1000000000
allowed key=a\x20b limit=2/1s,9/60s remaining=1 reset=60.000s
$ rlctl check 'a b' --limit 2/s --limit 9/60s --now 1000000000 --cost 2
denied key=a\x20b limit=2/1s,9/60s remaining=1 retry_after=1.000s reset=60.000s denied_by={a\x20b}:1s
[1]
$ rlctl check 'a b' --limit 9/s --limit 2/60s --now 1000000000 --cost 9 --peek
denied key=a\x20b limit=9/1s,2/60s remaining=1 retry_after=never reset=60.000s denied_by={a\x20b}:60s
[1]
$ rlctl check k --limit 5/s --limit 9/60s --now 1000000000 --algorithm gcra --burst 3 --json
{"key":"k","algorithm":"gcra","allowed":true,"cost":1,"remaining":2,"retry_after_us":0,"reset_after_us":6666667,"delay_us":0,"limits":[{"key":"{k}:1s","limit":5,"window_us":1000000,"burst":3},{"key":"{k}:60s","limit":9,"window_us":60000000,"burst":3}],"denied_by":null}

## --burst is the most that is allowed at once, and defaults to the limit; leaky-bucket allows one more
$ each ARGS 'token-bucket --burst=2 --cost 2' 'gcra --burst=20 --cost 20' 'leaky-bucket --burst=2 --cost 3' 'token-bucket --cost 5' 'gcra --cost 5' 'leaky-bucket --cost 6'
$ rlctl check --batch --limit 5/60s --now 1000000000 --algorithm ARGS
< k
< k	1
allowed key=k limit=5/60s algorithm=[..] remaining=0 reset=[..]
denied key=k limit=5/60s algorithm=[..] remaining=0 retry_after=12.000s reset=[..]
[1]

## JSON has the delay of leaky-bucket
$ rlctl check -q k --limit 5/s --now 1000000000 --algorithm leaky-bucket
$ rlctl check k --limit 5/s --now 1000000000 --algorithm leaky-bucket --json
{"key":"k","algorithm":"leaky-bucket","allowed":true,"cost":1,"remaining":4,"retry_after_us":0,"reset_after_us":400000,"delay_us":200000,"limits":[{"key":"k","limit":5,"window_us":1000000,"burst":5}],"denied_by":null}

## times are rounded up, so that nobody retries too early
$ rlctl check --limit 1/60s --now 1000000000 k
allowed key=k limit=1/60s remaining=0 reset=60.000s
$ rlctl check --limit 1/60s --now 1059000999 k
denied key=k limit=1/60s remaining=0 retry_after=1.000s reset=1.000s
[1]
$ rlctl check --limit 1/60s --now 1060000000 k
allowed key=k limit=1/60s remaining=0 reset=60.000s
