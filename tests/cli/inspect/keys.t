# needs: server
# Which keys inspect shows, where their limits come from, and what it warns of.

## a missing key is unused, and another program's key is not a limiter's; the worst status counts
$ rlctl inspect nobody 'ann b' nobody --limit 5/60s
nobody: not found in SERVER: the limiter is unused; 5 remaining

ann\x20b: not found in SERVER: the limiter is unused; 5 remaining
[1]
$ rlctl inspect nobody --json --now 1
{"key":"nobody",[..],"algorithm":null,[..],"used":0,[..],"type":"none",[..]}
[1]
$ redis HSET sessions a 1
1
$ rlctl inspect nobody sessions
nobody: not found in SERVER: the limiter is unused

key        sessions               hash, [..] bytes, no ttl
           not known to be a limiter's state
[5]
$ rlctl inspect sessions --json --now 1
{"key":"sessions",[..],"algorithm":null,[..],"used":null,[..],"type":"hash",[..]}
[5]

## an error of one key names it, and the other keys are shown
$ redis RPUSH bad 1700000000000000 hello 1700000000000001
3
$ redis RPUSH good 1700000000000000
1
$ rlctl inspect bad nobody
nobody: not found in SERVER: the limiter is unused
! rlctl: inspect: 'bad': an entry is not a time: 'hello'
[5]
$ rlctl inspect bad good --now 2026-01-01T12:00:00Z --json
{"key":"good",[..],"algorithm":"sliding-window-log",[..],"stored":1,[..],"entries":[{"at_us":1700000000000000,"count":1}],[..]}
! {"error":{"code":"WRONGTYPE","message":"'bad': an entry is not a time: 'hello'","hint":null}}
[5]
$ rlctl inspect good --json -s FOLDER/nobody
! {"error":{"code":"unreachable","message":"cannot connect to unix://FOLDER/nobody: no such file or directory","hint":null}}
[3]

## a user who may not read all keys or their memory sees the others (own server)
$ rlctl check -q login:ann --limit 5/60s --now 2026-01-01T12:00:00Z
$ redis SET login:text x
OK
$ redis ACL SETUSER half on >secret ~login:* +@all -memory -getrange
OK
$ env REDISCLI_AUTH=secret
$ rlctl inspect --user half login:ann login:text --entries 0 --now 2026-01-01T12:00:00Z
key        login:ann              list, ttl [..]
algorithm  sliding-window-log     limit not stored; pass --limit
used       unknown                pass --limit for the window
now        2026-01-01T12:00:00Z   [..] behind the server's clock
entries    1
! rlctl: inspect: warning: this user may not read the keys that 'login:ann' has if it has several limits: '{login:ann}:...'
! rlctl: inspect: 'login:text': [..]: NOPERM [..]
!   hint: grant what inspect needs, besides access to its keys: ACL SETUSER half +time +type +pttl +getrange +llen +lindex +zcard +zcount +zrange +hlen +hmget +hgetall +watch +multi +exec +lrange +scan
[4]

## keys with control bytes are escaped, and what may be a limiter's is shown with how to tell
$ redis EVAL "redis.call('SET', 'a\27[31m b\n\255\034', 42)" 0
(nil)
$ rlctl list 'a*' --read-as count --json
{"key":"a\u001b[31m b\n\\xff\"","key_base64":"YRtbMzFtIGIK/yI=","library":"--read-as","algorithm":"fixed-window","policy":null,"part_of":null,"limit":null,"window_us":null,"window_inferred":false,"burst":[..],"limits_differ":null,"used":42,"ratio":null,"remaining":null,"next_free_us":null,"reset_after_us":null,"ttl_us":null,"bytes":[..]}
$ redis EVAL "redis.call('RENAME', 'a\27[31m b\n\255\034', 'a:1')" 0
(nil)
$ rlctl inspect a:1 --read-as count
key        a:1                    string, [..] bytes, no ttl: never resets
algorithm  --read-as: fixed-window  limit not stored; pass --limit
           a count of what is used
used       42
$ redis SET login:ann 42
OK
$ rlctl inspect login:ann
key        login:ann              string, [..] bytes, no ttl
holds      42                     a number
used       unknown                whether it counts up or down is not known
           tell it with --read-as count or --read-as remaining,
           or in the configuration file:
    [library.login]
    key = 'login:*'
    type = "string"
    value = "count"  # or remaining

## a pattern is not a KEY
$ rlctl inspect 'login:*'
login:*: not found in SERVER: the limiter is unused
! rlctl: inspect: warning: a KEY is taken literally; list and reset --match take a pattern
[1]

## the keys of several limits are found by --limit or by their names
$ rlctl check -q api --limit 10/s --limit 100/h --now 2026-01-01T12:00:00Z
$ rlctl inspect {api}:3600s --now 2026-01-01T12:00:00Z
key        {api}:3600s            list, [..] bytes, ttl [..]
algorithm  sliding-window-log     limit ?/~1h, not stored; pass --limit
used       ~1                     resets in ~1h0m0s
now        2026-01-01T12:00:00Z   [..] behind the server's clock
entries    1, oldest first
  2026-01-01T12:00:00.000000Z  now  leaves in ~1h0m0s
last ~1 h  ···························································█
           one bar is 60 s, the highest 1
$ rlctl inspect api --limit 10/s,100/m --limit 100/h --json --now 2026-01-01T12:00:00Z
{"key":"{api}:1s","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":10,"window_us":1000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":9,[..]
{"key":"{api}:60s",[..],"algorithm":null,[..],"limit":100,"window_us":60000000,[..],"used":0,[..],"remaining":100,[..],"type":"none",[..]}
{"key":"{api}:3600s","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":100,"window_us":3600000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":99,[..]
$ rlctl inspect ap
ap: not found in SERVER: the limiter is unused
[1]
$ rlctl inspect api --limit 3/10s
api: not found in SERVER: the limiter is unused; 3 remaining
! rlctl: inspect: warning: nothing is stored under the names of these limits, but there is '{api}:1s', '{api}:3600s'
[1]
$ rlctl check -q api --limit 5/h --now 2026-01-01T12:00:00Z
$ rlctl inspect api --limit 10/s --limit 100/h --json --now 2026-01-01T12:00:00Z
{"key":"{api}:1s","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":10,"window_us":1000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":9,[..]
{"key":"{api}:3600s","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":100,"window_us":3600000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":99,[..]
{"key":"api","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":null,"window_us":null,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":null,"ratio":[..],"remaining":null,"next_free_us":[..],"reset_after_us":null,[..]

## other data under the name of one of several limits is shown, unless the limits do not use it
$ redis SET {api}:77s other
OK
$ rlctl inspect api
key        {api}:77s              string, [..] bytes, no ttl
           not known to be a limiter's state
[5]
$ redis RENAME {api}:77s {api}:60s
OK
$ rlctl check -q api --limit 10/s --limit 100/h --now 2026-01-01T12:00:00Z
$ rlctl inspect api --json --now 2026-01-01T12:00:00Z
{"key":"{api}:1s",[..],"algorithm":"sliding-window-log",[..],"window_us":1000000,"window_inferred":true,[..],"used":1,[..],"type":"list",[..]}
{"key":"{api}:60s",[..],"algorithm":null,[..],"used":null,[..],"type":"string",[..]}
{"key":"{api}:3600s",[..],"algorithm":"sliding-window-log",[..],"window_us":3600000000,"window_inferred":true,[..],"used":1,[..],"type":"list",[..]}
[5]
$ rlctl inspect api --limit 10/2s --limit 100/5s
{api}:2s: not found in SERVER: the limiter is unused; 10 remaining

{api}:5s: not found in SERVER: the limiter is unused; 100 remaining
! rlctl: inspect: warning: nothing is stored under the names of these limits, but there is '{api}:1s', '{api}:3600s'
[1]

## a policy supplies the limit unless the key stores another, and --limit overrides both
$ write config.toml
< policy.login = { key = "login:%s", limit = "5/60s" }
< policy.api = { key = "api:%s", limit = ["10/s", "100/min"] }
< policy.mail = { key = "mail:%s", limit = "5/60s", algorithm = "gcra" }
$ env RLCTL_CONFIG=FOLDER/config.toml
$ rlctl check -q login:ann --limit 5/60s --cost 5 --now 2026-01-01T12:00:00Z
$ rlctl inspect login:ann --entries 0 --now 2026-01-01T12:00:00Z
key        login:ann              list, [..] bytes, ttl [..]
algorithm  sliding-window-log     limit 5/60s
policy     login
used       5 of 5                 next free in 60.000 s, resets in 60.000 s
now        2026-01-01T12:00:00Z   [..] behind the server's clock
entries    5
last 60 s  ···························································█
           one bar is 1 s, the highest 5
$ rlctl inspect login:bob
login:bob: not found in SERVER: the limiter is unused; 5 remaining (policy 'login')
[1]
$ rlctl inspect --policy login ann --json --now 2026-01-01T12:00:00Z
{"key":"login:ann","library":"rlctl","algorithm":"sliding-window-log","policy":"login","part_of":null,"limit":5,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":5,"ratio":[..],"remaining":0,[..]
$ rlctl check -q --policy api acme --now 2026-01-01T12:00:00Z
$ rlctl inspect api:acme --json --now 2026-01-01T12:00:00Z
{"key":"{api:acme}:1s","library":"rlctl","algorithm":"sliding-window-log","policy":"api","part_of":null,"limit":10,"window_us":1000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":9,[..]
{"key":"{api:acme}:60s","library":"rlctl","algorithm":"sliding-window-log","policy":"api","part_of":null,"limit":100,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":99,[..]
$ rlctl inspect {api:acme}:60s --json --now 2026-01-01T12:00:00Z
{"key":"{api:acme}:60s","library":"rlctl","algorithm":"sliding-window-log","policy":"api","part_of":null,"limit":100,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":99,[..]
$ rlctl check -q api:acme --limit 5/60s --algorithm fixed-window --now 2026-01-01T12:00:00Z
$ rlctl inspect --policy api acme --json --now 2026-01-01T12:00:00Z
{"key":"{api:acme}:1s","library":"rlctl","algorithm":"sliding-window-log","policy":"api","part_of":null,"limit":10,"window_us":1000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":9,[..]
{"key":"{api:acme}:60s","library":"rlctl","algorithm":"sliding-window-log","policy":"api","part_of":null,"limit":100,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":99,[..]
{"key":"api:acme","library":"rlctl","algorithm":"fixed-window","policy":"api","part_of":null,"limit":5,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":4,[..]
$ rlctl check -q mail:ann --limit 7/1d --algorithm gcra --now 2026-01-01T12:00:00Z
$ rlctl inspect mail:ann --now 2026-01-01T12:00:00Z
key        mail:ann               string, [..] bytes, ttl [..]
algorithm  gcra                   limit 7/1d, burst 7
           stored 7/1d, policy 5/60s
policy     mail
used       1 of 7                 6 remaining, resets in 3h25m43s
now        2026-01-01T12:00:00Z   [..] behind the server's clock
           ██████░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░░  14%
level      6 of 7                 one every 3h25m43s
tat        2026-01-01T15:25:42.857142Z  in 3h25m43s
$ rlctl inspect mail:ann --limit 9/60s --json --now 2026-01-01T12:00:00Z
{"key":"mail:ann","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":9,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":"stored 7/1d, --limit 9/60s","used":1,"ratio":[..],"remaining":8,[..]
$ rlctl inspect mail:ann --limit 7/1d --json --now 2026-01-01T12:00:00Z
{"key":"mail:ann","library":"rlctl","algorithm":"gcra","policy":null,"part_of":null,"limit":7,"window_us":86400000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":6,[..]
$ rlctl check -q mail:bob --limit 5/60s --now 2026-01-01T12:00:00Z
$ rlctl inspect mail:bob --json --now 2026-01-01T12:00:00Z
{"key":"mail:bob","library":"rlctl","algorithm":"sliding-window-log","policy":"mail","part_of":null,"limit":5,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":4,[..]
! rlctl: inspect: warning: policy 'mail' names gcra, but 'mail:bob' is sliding-window-log's state: check would fail
$ rlctl inspect --policy mail bob --json --now 2026-01-01T12:00:00Z
{"key":"mail:bob","library":"rlctl","algorithm":"sliding-window-log","policy":"mail","part_of":null,"limit":5,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":4,[..]
! rlctl: inspect: warning: policy 'mail' names gcra, but 'mail:bob' is sliding-window-log's state: check would fail
$ rlctl inspect mail:bob --limit 5/60s --json --now 2026-01-01T12:00:00Z
{"key":"mail:bob","library":"rlctl","algorithm":"sliding-window-log","policy":null,"part_of":null,"limit":5,"window_us":60000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":1,"ratio":[..],"remaining":4,[..]
