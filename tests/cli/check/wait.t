# needs: server
# --wait where nothing has to be waited for. wait.bats has what sleeps.

## --wait answers at once if there is room, or if the request can never be allowed
$ rlctl check k --limit 1/60s --wait
allowed key=k limit=1/60s remaining=0 reset=60.000s
$ rlctl check other --limit 1/60s --cost 2 --wait
denied key=other limit=1/60s remaining=1 retry_after=never reset=0.000s
[1]

## if --wait=TIME is too short, the request is denied at once and takes nothing
$ rlctl check -q k --limit 1/1d
$ rlctl check k --limit 1/1d --wait=1h
denied key=k limit=1/1d remaining=0 retry_after=86[..]s reset=86[..]s
[1]
$ redis LLEN k
1

## leaky-bucket: a delay is printed without --wait, and is denied if --wait=TIME is shorter
$ rlctl check k --limit 1/1d --algorithm leaky-bucket
allowed key=k limit=1/1d algorithm=leaky-bucket remaining=1 reset=86400.000s
$ rlctl check k --limit 1/1d --algorithm leaky-bucket --wait=1h
denied key=k limit=1/1d algorithm=leaky-bucket remaining=[..]
[1]
$ rlctl check k --limit 1/1d --algorithm leaky-bucket
allowed key=k limit=1/1d algorithm=leaky-bucket remaining=0 reset=[..]s delay=86[..]s
