# needs: server
# rlctl scripts; scripts.bats compares the SHA1 of each script and runs the printed lines in shells.

## list has a line for each script, and needs no server
$ env RLCTL_URL=unix:///nowhere
$ rlctl scripts list
name                    sha1 [..] bytes  keys       arguments
fixed-window [..] 1 or more  each key: limit window burst; cost now
sliding-window-log [..] 1 or more  each key: limit window burst; cost now
sliding-window-zset [..] 1 or more  each key: limit window burst; cost now
sliding-window-counter [..] 1 or more  each key: limit window burst; cost now
token-bucket [..] 1 or more  each key: limit window burst; cost now
gcra [..] 1 or more  each key: limit window burst; cost now
leaky-bucket [..] 1 or more  each key: limit window burst; cost now
budget [..] 1 or more  each key: limit window burst; cost now
concurrency [..] 1          limit lease action id now

## version has the licence, the build and the SHA1 of each script
$ rlctl version --json
{"version":"[..]","licence":"MIT","build":{"type":"[..]","compiler":"[..]"},"scripts":{"fixed-window":"[..]","sliding-window-log":"[..]","sliding-window-zset":"[..]","sliding-window-counter":"[..]","token-bucket":"[..]","gcra":"[..]","leaky-bucket":"[..]","budget":"[..]","concurrency":"[..]"}}

## load makes only the named scripts known to the server
$ rlctl scripts load concurrency gcra
loaded name=concurrency sha1=[..] servers=1
loaded name=gcra sha1=[..] servers=1
$ rlctl scripts load gcra --json
{"name":"gcra","sha1":"[..]","servers":1}

## export replaces no file that has other contents, and then writes nothing
$ write lua/token-bucket.lua
< -- mine
$ rlctl scripts export lua
! rlctl: scripts: 'lua/token-bucket.lua' has other contents
!   hint: remove it first; nothing was written
[2]
$ cat lua/fixed-window.lua
! cat: lua/fixed-window.lua: no such file
[1]

## call decides as check does, for the same keys
$ each ALGORITHM fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra budget
$ rlctl check k --algorithm ALGORITHM --limit 2/60s --limit 9/1h --now 1800000000000000
allowed key=k limit=2/60s,9/1h [..]remaining=1 reset=[..]
$ rlctl scripts call ALGORITHM k --limit 2/60s --limit 9/1h --now 1800000000000000
allowed=1 remaining=0 retry_after=0 reset_after=[..] delay=0 denied_by=0
$ rlctl check k --algorithm ALGORITHM --limit 2/60s --limit 9/1h --now 1800000000000000 --peek
denied key=k limit=2/60s,9/1h [..]remaining=0 reset=[..] denied_by={k}:60s
[1]
$ rlctl scripts call ALGORITHM k --limit 2/60s --limit 9/1h --now 1800000000000000
allowed=0 remaining=0 retry_after=[..] reset_after=[..] delay=0 denied_by=1
[1]

## call prints the reply
$ rlctl check k --algorithm leaky-bucket --limit 5/60s --now 1800000000000000
allowed key=k limit=5/60s algorithm=leaky-bucket remaining=5 reset=12.000s
$ rlctl scripts call leaky-bucket --limit 5/60s --now 1800000000000000 k --json
{"allowed":1,"remaining":4,"retry_after_us":0,"reset_after_us":24000000,"delay_us":12000000,"denied_by":0}
$ rlctl scripts call leaky-bucket --limit 5/60s --cost 2 --now 1800000000000000 k
allowed=1 remaining=2 retry_after=0 reset_after=48000000 delay=24000000 denied_by=0
$ rlctl scripts call leaky-bucket --limit 5/60s --cost 9 --now 1800000000000000 k
allowed=0 remaining=2 retry_after=-1 reset_after=48000000 delay=0 denied_by=1
[1]

## --print names the server, the user and the limits of a policy, and never the password
$ rlctl scripts call gcra --url redis://ann:secret@db:7000/3 --limit 5/60s --print k
redis-cli -h db -p 7000 -n 3 --user ann EVALSHA [..] 1 k 5 60000000
! rlctl: scripts: note: give redis-cli the password in REDISCLI_AUTH
$ rlctl scripts call gcra --url rediss://db --cacert ca.pem --sni name --limit 5/60s --print k
redis-cli -h db -p 6379 --tls --cacert ca.pem --sni name EVALSHA [..] 1 k 5 60000000
$ rlctl scripts call gcra --url redis+cluster://a:1,b:2 --limit 5/60s --limit 9/1h --print k
redis-cli -h a -p 1 -c EVALSHA [..] 2 '{k}:60s' '{k}:3600s' 5 60000000 '' 9 3600000000
$ write c.toml
< policy.login = {key = "login:%s", limit = "5/60s", algorithm = "gcra"}
$ rlctl --config c.toml scripts call gcra --policy login ann --print
redis-cli -s [..] EVALSHA [..] 1 login:ann 5 60000000
$ keys
