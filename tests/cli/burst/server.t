# needs: server
# The server on which `rlctl burst` runs; it leaves nothing there.

## no server that RLCTL_URL or the configuration names is used, unless by --url (own server)
$ redis ACL SETUSER default -@scripting
OK
$ rlctl burst --limit 2/60s -q --assert 'allowed>0'
$ write rlctl.toml
< url = "SERVER"
$ chmod 600 rlctl.toml
$ env RLCTL_URL= RLCTL_CONFIG=rlctl.toml
$ rlctl burst --limit 2/60s -q --assert 'allowed>0'
$ rlctl burst --limit 2/60s -q -u SERVER
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER
! rlctl: burst: SERVER: NOPERM [..]
!   hint: grant what burst needs, besides access to rlctl-burst:*: ACL SETUSER default +evalsha [..]
[4]
$ rlctl burst -s ./none -q
! rlctl: cannot connect to unix://./none: no such file or directory
[3]

## a server that is named with its database has no keys left, but what was there (own server)
$ redis SELECT 3
OK
$ redis SET rlctl-burst:mine 1
OK
$ rlctl burst --limit 2/1s --limit 3/60s --keys 2 -u SERVER -n 3 --json
{"pattern":"boundary",[..],"command":"rlctl burst boundary fixed-window sliding-window-log --limit 2/1s --limit 3/60s --keys 2 --seed 1 --url SERVER --db 3",[..],"runs":[{"algorithm":"fixed-window","sent":8,"allowed":6,"denied":2,"keys":2,[..]},{"algorithm":"sliding-window-log","sent":8,"allowed":4,"denied":4,"keys":2,[..]}]}
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER?db=3
$ keys
rlctl-burst:mine string persistent 1
$ redis SELECT 0
OK
$ redis DBSIZE
0

## without MEMORY, the bytes per key are unknown (own server)
$ redis ACL SETUSER default -memory
OK
$ rlctl burst --limit 2/1s -u SERVER -q --assert 'bytes_per_key>=0'
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER
! rlctl: burst: assertion 'bytes_per_key>=0' does not hold: fixed-window has no value, sliding-window-log has no value
[1]

## if keys cannot be removed, burst warns, and all results are valid (own server)
$ redis ACL SETUSER default -unlink
OK
$ rlctl burst sliding-window-log -u SERVER --limit 2/60s -q --assert 'allowed==2'
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER
! rlctl: burst: warning: cannot remove the keys under 'rlctl-burst:[..]:', which expire by themselves: SERVER: NOPERM [..]unlink[..]
$ keys
rlctl-burst:[..]:1:1 list expires 1767225659990000 1767225659995000
$ redis FLUSHALL
OK
$ write incr.lua
< return redis.call('INCR', KEYS[1])
$ rlctl burst -u SERVER incr.lua --args '{now_ms}' --allowed-when '<=limit' --requests 10 -q
! rlctl: burst: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: burst: warning: cannot remove the keys under 'rlctl-burst:{[..]}:', which stay unless the script lets them expire: SERVER: NOPERM [..]unlink[..]
$ keys
rlctl-burst:{[..]}:1:1 string persistent 10

## the results before an error of the server are reported, and the keys written are removed (own server)
$ redis ACL SETUSER default -lindex
OK
$ rlctl burst steady -u SERVER --limit 2/1s --rate 1/s --duration 6000s
pattern    steady                 1.0/s of all requests
limit      2 per 1 s              seed 1
clock      virtual time
           ended by an error: covers the decisions before it

              sent  allowed  denied  worst in 1 s  within  at  first denial
fixed-window  6000     6000       0      1  0.50×    0 µs   0             -

              longest lockout  retry_after  bytes/key
fixed-window                -            -        [..]
times      from the beginning of a window  2026-01-01T00:00:00Z
why        fixed-window: it denied nothing: no more than 1 were ever asked for
           within 1 s

fixed-window  never above the limit
allowed │██████████████████████████████████████████████████
 denied │··················································
        └────────┴───────┴────────┴───────┴───────┴───────┘
         0    +16m40s           +50m  +1h6m40s       +1h40m
rows       requests               a column is 2 min, the highest 120

rlctl burst steady fixed-window sliding-window-log --limit 2/1s --rate 1/s \
    --duration 6000s --seed 1 --url SERVER
! rlctl: burst: writing under 'rlctl-burst:[..]:' on SERVER
! rlctl: burst: SERVER: [..]lindex[..]
!   hint: grant what burst needs, besides access to rlctl-burst:*: ACL SETUSER default +evalsha [..]
[4]
$ keys

## the bytes of a large sorted set are those that the server reports
$ rlctl burst sliding-window-zset --limit 1000/60s -q --assert 'bytes_per_key>80000'
