# needs: server
# Keys that hold something else than the limiter's state. tests/faults/errors.bats has the states of a server.

## a key of another type, or a list that is no log, is named with what it holds, and left as it is
$ redis SET text v
OK
$ redis SADD set v
1
$ redis ZADD zset 1 v
1
$ redis RPUSH list one two
2
$ rlctl check text --limit 5/60s
! rlctl: check: SERVER: 'text' holds a string, but sliding-window-log keeps a list
!   hint: rlctl inspect text shows what it holds
[5]
$ rlctl check set --limit 5/60s
! rlctl: check: SERVER: 'set' holds a set, but sliding-window-log keeps a list
!   hint: rlctl inspect set shows what it holds
[5]
$ rlctl check zset --limit 5/60s --algorithm gcra
! rlctl: check: SERVER: 'zset' holds a sorted set, but gcra keeps a string
!   hint: rlctl inspect zset shows what it holds
[5]
$ rlctl check list --limit 5/60s
! rlctl: check: SERVER: 'list' holds a list that is not the state of sliding-window-log
!   hint: rlctl inspect list shows what it holds
[5]
$ redis SET {k}:60s v
OK
$ rlctl check k --limit 5/60s --limit 2/s
! rlctl: check: SERVER: '{k}:60s' holds a string, but sliding-window-log keeps a list
!   hint: rlctl inspect '{k}:60s' shows what it holds
[5]
$ keys
list list persistent one two
set set persistent v
text string persistent v
zset zset persistent v=1
{k}:60s string persistent v

## the state of another algorithm is named, and left as it is
$ each OTHER fixed-window sliding-window-counter token-bucket leaky-bucket sliding-window-zset
$ rlctl check -q k --limit 5/1000d --algorithm OTHER --now 1000000000
$ rlctl check k --limit 5/60s --algorithm gcra --now 1000000000
! rlctl: check: SERVER: 'k' holds the state of OTHER, not of gcra
!   hint: rlctl inspect k shows what it holds
[5]
$ rlctl check k --peek --limit 5/1000d --algorithm OTHER --now 1000000000
allowed key=k limit=5/1000d algorithm=OTHER remaining=[..] reset=[..]
