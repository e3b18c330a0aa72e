# needs: server
# rlctl scripts; scripts.bats compares the SHA1 of each script.

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
