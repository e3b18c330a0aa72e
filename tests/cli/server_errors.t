# needs: server
# What a server refuses, and keys that hold something else than the limiter's state. tests/faults/errors.bats has the
# states of a server that every command meets.

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

## the full stop of a server's sentence does not precede a semicolon (own server)
$ redis CONFIG SET requirepass secret
OK
$ rlctl check k --limit 5/60s --on-error allow
allowed key=k limit=5/60s on_error=allow
! rlctl: check: warning: SERVER: NOAUTH Authentication required; taken as allowed (--on-error)
!   hint: no password was given for user 'default'; use --askpass, --password-file or the variable REDISCLI_AUTH

## a wrong password: the message keeps the user's name, and masks the password
$ env REDISCLI_AUTH=wrong
$ rlctl check k --limit 5/60s --user nobody
! rlctl: unix://nobody:***@[..]/redis.sock: AUTH: WRONGPASS [..]
!   hint: user 'nobody' is unknown or disabled, or has another password
[4]

## a user who may not call the commands in the script is told which to grant (own server)
$ redis ACL SETUSER ann on >pw ~* +@all -rpush
OK
$ env REDISCLI_AUTH=pw
$ rlctl check k --limit 5/60s --user ann
! rlctl: check: unix://ann:***@[..]/redis.sock: [..]ser [..]
!   hint: grant what sliding-window-log needs, besides access to its keys: ACL SETUSER ann +evalsha '+script|load' +time +llen +lindex +pttl +rpush +unlink +ltrim +pexpire
[4]
$ rlctl check k --limit 5/60s --user ann --json
! {"error":{"code":"NOPERM","message":"unix://ann:***@[..]/redis.sock: [..]","hint":"grant what sliding-window-log needs, besides access to its keys: ACL SETUSER ann +evalsha '+script|load' +time +llen +lindex +pttl +rpush +unlink +ltrim +pexpire"}}
[4]
$ keys
$ redis ACL SETUSER ann +rpush -pexpire
OK
$ rlctl check k --limit 5/60s --user ann --now 1000000000
! rlctl: check: unix://ann:***@[..]/redis.sock: [..]; the request may have been counted
!   hint: grant what sliding-window-log needs, besides access to its keys: ACL SETUSER ann +evalsha '+script|load' +time +llen +lindex +pttl +rpush +unlink +ltrim +pexpire
[4]
$ keys
k list persistent 1000000000

## each line of a batch has the server's name, its JSON the hint, and the master is asked for once by each batch (own server)
$ redis REPLICAOF 127.0.0.1 1
OK
$ rlctl check --limit 5/60s --batch
< a
< b
error line=1 status=5 message="SERVER: READONLY [..]"
error line=2 status=5 message="SERVER: READONLY [..]"
! rlctl: check: line 1: SERVER: READONLY [..]
!   hint: the server is a replica; name its master instead: --url redis://127.0.0.1:1
! rlctl: check: the same error on 1 more line (2)
[5]
$ rlctl check --limit 5/60s --batch --json
< a
< b
{"line":1,"error":{"code":"READONLY","message":"SERVER: READONLY [..]","hint":"the server is a replica; name its master instead: --url redis://127.0.0.1:1"}}
{"line":2,"error":{"code":"READONLY","message":"SERVER: READONLY [..]","hint":"the server is a replica; name its master instead: --url redis://127.0.0.1:1"}}
[5]
$ redis EVAL "return redis.call('INFO', 'commandstats'):match('cmdstat_role:calls=%d+')" 0
cmdstat_role:calls=2
