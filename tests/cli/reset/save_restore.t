# needs: server
# reset --save FILE, and reset --restore FILE, which undoes it. tests/stored/backup_test.cc has other clients that write meanwhile.

## what is removed comes back with --restore, and the limiter goes on where it was
$ rlctl check -q --limit 5/1d k
$ rlctl check -q --limit 5/1d --limit 100/1h api
$ rlctl reset k --save s --json --limit 5/1d
{"key":"k","result":"removed","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
$ rlctl reset api --save s2
removed key={api}:3600s algorithm=sliding-window-log
removed key={api}:86400s algorithm=sliding-window-log
! removed 2 keys (2 sliding-window-log)
! looked at api, [..]
! saved in s2; to undo: rlctl --url SERVER reset --restore FOLDER/s2
$ rlctl reset --restore s --json --dry-run
{"key":"k","result":"would_restore","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
$ rlctl reset --restore s2 --dry-run
would-restore key={api}:3600s algorithm=sliding-window-log
would-restore key={api}:86400s algorithm=sliding-window-log
! would restore 2 keys
$ keys
$ rlctl reset --restore s --json
{"key":"k","result":"restored","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":null,"part_of":null}
$ rlctl reset --restore s --json
{"key":"k","result":"left","type":"list","library":"rlctl","algorithm":"sliding-window-log","reason":"identical","part_of":null}
$ rlctl reset --restore s2
restored key={api}:3600s algorithm=sliding-window-log
restored key={api}:86400s algorithm=sliding-window-log
! restored 2 keys
$ rlctl check api --limit 5/1d --limit 100/1h --peek
allowed key=api limit=5/1d,100/1h remaining=4 [..]

## whatever is removed comes back byte for byte, with its TTL
$ each ALGORITHM fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra leaky-bucket budget
$ rlctl check -q --limit 5/30d --algorithm ALGORITHM k
$ rlctl check -q --limit 5/30d --limit 9/60d --algorithm ALGORITHM k
$ redis EVAL "redis.call('SET', 'k\\0\\255\\n', 'v\\0\\254') redis.call('SADD', 'kset', 'a') redis.call('HSET', 'khash', 'f', 'v', 'g', 'w') redis.call('RPUSH', 'klist', 1, 2, 3) redis.call('SET', 'knumber', 17, 'PX', 600000) redis.call('XADD', 'kstream', '1-1', 'f', 'v') redis.call('ZADD', 'kleases', redis.call('TIME')[1] * 1000000 + 6e8, 'lease:a', -3, 'limit') redis.call('EXPIRE', 'kleases', 600) return ''" 0
$ redis EVAL "for _, key in ipairs(redis.call('KEYS', '*k*')) do local now, ttl = redis.call('TIME'), redis.call('PTTL', key) redis.call('HSET', 'before', key, redis.sha1hex(redis.call('DUMP', key)), 'ends ' .. key, ttl < 0 and 0 or now[1] * 1000 + math.floor(now[2] / 1000) + ttl) end return ''" 0
$ rlctl reset --match *k* --yes --force --save s -q
$ rlctl reset --restore s -q
$ redis EVAL "local wrong = {#redis.call('KEYS', '*k*')} for _, key in ipairs(redis.call('KEYS', '*k*')) do local now, ttl = redis.call('TIME'), redis.call('PTTL', key) local ends = ttl < 0 and 0 or now[1] * 1000 + math.floor(now[2] / 1000) + ttl if redis.call('HGET', 'before', key) ~= redis.sha1hex(redis.call('DUMP', key)) or math.abs(ends - redis.call('HGET', 'before', 'ends ' .. key)) > 1 then wrong[#wrong + 1] = key end end return wrong" 0
10

## what has changed is left with status 5, unless --replace is given; an identical key is no error
$ redis EVAL "redis.call('MSET', 'a', 1, 'b', 1, 'forever', 'x') redis.call('HSET', 'hash', 'f', 'v', 'g', 'w') redis.call('SET', 'soon', 'x', 'PX', 600000) return ''" 0
$ rlctl reset -q a b forever hash soon --force --save s
$ redis EVAL "redis.call('MSET', 'b', 2, 'soon', 'x') redis.call('SET', 'forever', 'x', 'PX', 600000) return ''" 0
$ rlctl reset --restore s
restored key=a algorithm=foreign-counter
left key=b type=string algorithm=foreign-counter reason=exists
left key=forever type=string reason=exists
restored key=hash type=hash
left key=soon type=string reason=exists
! restored 2 keys; 3 left, with another dump or TTL
! rlctl: reset: 3 keys were left; the first is 'b'
!   hint: such a key exists with another dump or TTL; --replace replaces it
[5]
$ keys
a string persistent 1
b string persistent 2
forever string expires x
hash hash persistent f=v g=w
soon string persistent x
$ rlctl reset -q --restore s --replace
$ keys
a string persistent 1
b string persistent 1
forever string persistent x
hash hash persistent f=v g=w
soon string expires x
$ rlctl reset --restore s
left key=a type=string algorithm=foreign-counter reason=identical
left key=b type=string algorithm=foreign-counter reason=identical
left key=forever type=string reason=identical
left key=hash type=hash reason=identical
left key=soon type=string reason=identical
! restored no key; 5 already back

## lines whose key has expired, is void in the file of an older rlctl, or has a dump that the server does not understand, are left
$ write s
< {"format":"rlctl saved keys","version":1}
< {"key":"a","type":"string","library":null,"algorithm":null,"expires_at_ms":null,"dump_base64":"AAF4CQDycteT6W4rYQ==","saved_again":false}
< {"key":"gone","type":"string","library":null,"algorithm":null,"expires_at_ms":1700000000000,"dump_base64":"AAF4CQDycteT6W4rYQ==","saved_again":false}
< {"key":"later","type":"string","library":null,"algorithm":null,"expires_at_ms":null,"dump_base64":"AAF4//+nUbHO5uJNcg==","saved_again":false}
< {"key":"damaged","type":"string","library":null,"algorithm":null,"expires_at_ms":null,"dump_base64":"AAF5CQDycteT6W4rYQ==","saved_again":false}
< {"key":"void","type":"string","library":null,"algorithm":null,"expires_at_ms":null,"dump_base64":"AAF4CQDycteT6W4rYQ==","contents_base64":["AA=="]}
< {"not_removed":"void"}
$ rlctl reset --restore s
restored key=a type=string
left key=gone type=string reason=expired
left key=later type=string reason=dump-format
left key=damaged type=string reason=dump-format
! restored 1 key; 1 expired meanwhile; 2 left, with a dump that this server does not understand
! rlctl: reset: 2 keys were left; the first is 'later'
!   hint: the dumps are damaged or too new for this server; restore them to the version that the file's first line names, or to a newer one
[5]
$ keys
a string persistent x
$ write s
< {"format":"rlctl saved keys","version":1}
< {"key":"gone","type":"list","library":"rlctl","algorithm":"sliding-window-log","expires_at_ms":1700000000000,"dump_base64":"AAF4CQDycteT6W4rYQ==","saved_again":false}
$ rlctl reset --restore s
left key=gone type=list algorithm=sliding-window-log reason=expired
! restored no key; 1 expired meanwhile
[1]

## the command that undoes a reset names the configuration if that has the server
$ write named.toml
< url = "SERVER"
< timeout = "120s"
$ redis EVAL "redis.call('SET', 'k', 1) return ''" 0
$ env RLCTL_URL=
$ rlctl --config named.toml reset k --limit 5/1d --force --save s
removed key=k algorithm=foreign-counter
! saved in s; to undo: rlctl --config FOLDER/named.toml reset --restore FOLDER/s
$ rlctl --config FOLDER/named.toml reset --restore FOLDER/s
restored key=k algorithm=foreign-counter
! restored 1 key

## if nothing is removed, there is no file (own server)
$ redis ACL SETUSER other reset on nopass ~* +@all -unlink
OK
$ redis EVAL "redis.call('HSET', 'hash', 'f', 'v') return ''" 0
$ rlctl check -q k --limit 5/1d
$ rlctl reset k --user other --save s
! rlctl: reset: [..]
!   hint: grant what reset needs, besides access to its keys: ACL SETUSER other +type +time +pttl +getrange +lindex +zrange +hlen +hmget +evalsha '+script|load' +unlink +dump
[4]
$ rlctl reset -q nothing --save s
$ rlctl reset -q nothing --save s --must-exist
[1]
$ rlctl reset -q --match nothing:* --yes --save s
$ rlctl reset -q hash --save s
! [..]
! [..]
[5]
$ rlctl reset -q k --dry-run --save s
$ rlctl reset -q --match k --save s
! [..]
! [..]
[2]
$ keys
hash hash persistent f=v
k list expires [..]
$ rlctl reset -q k --save s

## on a replica, --restore --dry-run reads (own server)
$ redis EVAL "redis.call('SET', 'a', 1) return ''" 0
$ rlctl reset -q --force a --save s
$ redis REPLICAOF 127.0.0.1 1
OK
$ rlctl reset --restore s
! rlctl: reset: SERVER: READONLY [..]; no key had been restored; run it again to continue
!   hint: the server is a replica; name its master instead: --url redis://127.0.0.1:1
[5]
$ rlctl reset --restore s --dry-run
would-restore key=a algorithm=foreign-counter
! would restore 1 key

## a key that is too large to be restored is not removed (own server)
$ redis CONFIG SET rdbcompression no
OK
$ redis EVAL "redis.call('SETRANGE', 'big', 67108864, 'x') redis.call('SET', 'k', 1) return ''" 0
$ rlctl reset --force --limit 5/1d big k --save s
left key=big type=string reason=too-large
removed key=k algorithm=foreign-counter
! saved in s; to undo: rlctl --url SERVER reset --restore FOLDER/s
! rlctl: reset: left 'big': its dump is larger than 64 MiB, and cannot be saved
!   hint: without --save, rlctl reset removes it for good
[5]
$ rlctl reset --force --match * --yes --save t
left key=big type=string reason=too-large
! removed no key; left 1 too large to be saved
[5]
$ cat t
! cat: t: no such file
[1]
$ rlctl reset -q --force big --limit 5/1d

## a hash that is being rehashed is removed, and restored
$ redis EVAL "for i = 1, 131081 do redis.call('HSET', 'hash', i, '') end redis.call('HSET', 'hash', 'tokens', '5') return ''" 0
$ rlctl reset --force hash --save s --limit 5/1d
removed key=hash type=hash
! saved in s; to undo: rlctl --url SERVER reset --restore FOLDER/s
$ rlctl reset -q --restore s
$ redis HLEN hash
131082
