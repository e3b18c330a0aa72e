# needs: server
# Where debug runs: in its own process, on copies of the script's keys. place.bats shows that the server they come from
# is only read, and ldb.t has --attach.

## the keys are copied, from a server whose memory is full, too (own server)
$ write get.lua
< return redis.call('INCR', KEYS[1])
$ redis SET k 4
OK
$ redis CONFIG SET maxmemory 1
OK
$ redis SET other value
(error) OOM [..]
[1]
$ rlctl debug get.lua k --trace
+ get.lua:1  return redis.call('INCR', KEYS[1])
|   redis> INCR k      5
= 5    1 line, 1 redis call; 1 key was changed
  'k': string, "4" → "5", no ttl
! rlctl: debug: running in this process with 'k' copied from SERVER

## keys that the server does not have are told, and counted if there are many
$ write count.lua
< return redis.call('EXISTS', unpack(KEYS))
$ redis SET a 1
OK
$ rlctl debug count.lua a b a --trace
+ count.lua:1  return redis.call('EXISTS', unpack(KEYS))
|   redis> EXISTS a b a      2
= 2    1 line, 1 redis call; nothing was changed
! rlctl: debug: running in this process with 'a' copied from SERVER, which has no 'b'
$ rlctl debug count.lua a b c d e --trace
+ count.lua:1  return redis.call('EXISTS', unpack(KEYS))
|   redis> EXISTS a b c d e      1
= 1    1 line, 1 redis call; nothing was changed
! rlctl: debug: running in this process with 'a' copied from SERVER, which has no 4 keys

## a type that this process does not have is refused, and names --ldb
$ redis XADD stream 1-1 a 1
1-1
$ write one.lua
< return 1
$ rlctl debug one.lua stream --trace
! rlctl: debug: 'stream' has the type stream, which this process does not have
!   hint: --ldb runs the script on a server
[2]

## a key that a script makes itself was not copied, and debug warns about it
$ write derived.lua
< return redis.call('GET', KEYS[1] .. ':1')
$ redis SET a:1 7
OK
$ rlctl debug derived.lua a --trace
+ derived.lua:1  return redis.call('GET', KEYS[1] .. ':1')
|   redis> GET a:1      NULL
= nil    1 line, 1 redis call; nothing was changed
! rlctl: debug: running in this process; SERVER has no 'a'
! rlctl: debug: warning: the script uses 'a:1', which is not among its KEYS and was not copied from SERVER: it did not see the contents; with --ldb --attach, it does
$ rlctl debug derived.lua a a:1 --trace
+ derived.lua:1  return redis.call('GET', KEYS[1] .. ':1')
|   redis> GET a:1      "7"
= "7"    1 line, 1 redis call; nothing was changed
! rlctl: debug: running in this process with 'a:1' copied from SERVER, which has no 'a'

## a key that expires at a time of day does so by the clock of --now
$ write expires.lua
< redis.call('SET', KEYS[1], 1) redis.call('EXPIREAT', KEYS[1], 1795158675) return redis.call('PTTL', KEYS[1])
$ rlctl -u private: debug expires.lua k --now 1795155075000000 --trace
+ expires.lua:1  redis.call('SET', KEYS[1], 1) redis.call('EXPIREAT', KEYS[1], 1795158675) return redis.call('PTTL', KEYS[1])
|   redis> SET k 1      "+OK"
|   redis> EXPIREAT k 1795158675      1
|   redis> PTTL k      3600000
= 3600000    1 line, 3 redis calls; 1 key was changed
  'k': not there → string, "1", ttl 1h0m0s
! rlctl: debug: running in this process, on no keys
