# needs: server
# What `rlctl quota` reports of limits, and how it fails. The windows are so long that nothing leaves them during a test.

## one line reports the use, the thresholds and the time until the reset, and the rules in the manual are enough (own server)
$ each ALGORITHM fixed-window sliding-window-log sliding-window-zset sliding-window-counter token-bucket gcra budget
$ rlctl check -q api:acme --limit 1000/1000d --algorithm ALGORITHM --cost 820
$ redis ACL SETUSER monitor reset on nopass ~* +time +type +pttl +getrange +llen +lindex +zcard +zcount +zrange +hlen +hmget +hgetall
OK
$ env REDISCLI_AUTH=x
$ rlctl quota api:acme --limit 1000/1000d --user monitor
RATELIMIT WARNING - api:acme 82% used (820 of 1000), resets in [..] | used=820;800;950;0;1000 remaining=180;;;0;1000 reset=[..]s
[1]
$ rlctl quota api:acme --limit 1000/1000d --user monitor --json
{"status":"warning","limits":[{"key":"api:acme","library":"rlctl","algorithm":"ALGORITHM","policy":null,"part_of":null,"limit":1000,"window_us":86400000000000,"window_inferred":[..],"burst":[..],"limits_differ":null,"used":820,"ratio":0.82,"remaining":180,"next_free_us":[..],"reset_after_us":[..],"ttl_us":[..],"bytes":null,"status":"warning","exists":true,"reason":null,"error":null}],"error":null}
[1]

## what a budget holds is used
$ rlctl check -q job --limit 10/1000d --reserve 8 --hold 1d --id me
$ rlctl check -q job --limit 10/1000d --algorithm budget
$ rlctl quota job
RATELIMIT WARNING - job 90% used (9 of 10), resets in [..] | used=9;8;9.5;0;10 remaining=1;;;0;10 reset=[..]s
[1]

## leases are compared with the limit that they store, or with the one that is given
$ redis ZADD job 4102444800000000 lease:a 4102444800000000 lease:b 4102444800000000 lease:c -4 limit
4
$ redis EXPIREAT job 4102444800
1
$ rlctl quota job
RATELIMIT OK - job 75% used (3 of 4), resets in [..] | used=3;3.2;3.8;0;4 remaining=1;;;0;4 reset=[..]s
$ rlctl quota job --limit 3/1s
RATELIMIT CRITICAL - job 100% used (3 of 3), resets in [..] | used=3;2.4;2.85;0;3 remaining=0;;;0;3 reset=[..]s
[2]

## the limit is the one that is given, else the stored one, else that of a policy that matches
$ write rlctl.toml
< [policy.api]
< key = "api:%s"
< limit = "10/1d"
$ rlctl check -q api:log --limit 10/1d --cost 4
$ rlctl quota api:log
RATELIMIT UNKNOWN - the state of 'api:log' does not include its limit
hint: pass --limit or --policy
[3]
$ rlctl quota api:log --limit 8/1d
RATELIMIT OK - api:log 50% used (4 of 8), resets in [..] | used=4;6.4;7.6;0;8 remaining=4;;;0;8 reset=[..]s
$ rlctl quota api:log --config rlctl.toml
RATELIMIT OK - api:log 40% used (4 of 10), resets in [..] | used=4;8;9.5;0;10 remaining=6;;;0;10 reset=[..]s
$ rlctl check -q api:gcra --limit 20/1d --algorithm gcra --cost 4
$ rlctl quota api:gcra
RATELIMIT OK - api:gcra 20% used (4 of 20), resets in [..] | used=4;16;19;0;20 remaining=16;;;0;20 reset=[..]s
$ rlctl check -q queue --limit 10/1d --algorithm leaky-bucket --burst 4 --cost 3
$ rlctl quota queue
RATELIMIT OK - queue 60% used (3 of 5), resets in [..] | used=3;4;4.75;0;5 remaining=2;;;0;5 reset=[..]s

## the stored burst applies if --limit is the stored limit
$ rlctl check -q k --algorithm gcra --limit 10/1d --burst 5 --cost 5
$ rlctl quota k --limit 10/24h
RATELIMIT CRITICAL - k 100% used (5 of 5), resets in [..] | used=5;4;4.75;0;5 remaining=0;;;0;5 reset=[..]s
[2]
$ rlctl quota k --limit 20/1d
RATELIMIT OK - k 25% used (5 of 20), resets in [..]; stored 10/1d burst 5, --limit 20/1d | used=5;16;19;0;20 remaining=15;;;0;20 reset=[..]s
$ write rlctl.toml
< [policy.p]
< key = "%s"
< algorithm = "gcra"
< limit = "10/1d"
$ rlctl quota k --policy p --config rlctl.toml
RATELIMIT OK - k 50% used (5 of 10), resets in [..]; stored 10/1d burst 5, policy 10/1d burst 10 | used=5;8;9.5;0;10 remaining=5;;;0;10 reset=[..]s

## a key that does not exist is OK, or UNKNOWN with --must-exist, for which a ban or one of several limits is enough
$ redis SET zero 0 EX 86400
OK
$ rlctl quota nobody --limit 5/1d
RATELIMIT OK - nobody does not exist (0 of 5) | used=0;4;4.75;0;5 remaining=5;;;0;5 reset=0s
$ rlctl quota token_bucket:ann --limit 5/1d
RATELIMIT UNKNOWN - 'token_bucket:ann': Redis keeps no empty list, so whether all or nothing is left is not known
hint: if rlctl made the key, define a policy for it
[3]
$ rlctl quota --must-exist nobody zero --limit 5/1d --read-as count
RATELIMIT UNKNOWN - 'nobody' does not exist; others: 1 OK | 'nobody used'=0;4;4.75;0;5 'nobody remaining'=5;;;0;5 'nobody reset'=0s 'zero used'=0;4;4.75;0;5 'zero remaining'=5;;;0;5 'zero reset'=[..]s
UNKNOWN 'nobody' does not exist
OK zero unused (0 of 5)
[3]
$ rlctl quota --must-exist nobody --json
{"status":"unknown","limits":[{"key":"nobody",[..],"used":0,[..],"status":"unknown","exists":false,"reason":null,"error":{"code":"not_found","message":"'nobody' does not exist","hint":null}}],"error":null}
[3]
$ rlctl check -q several --limit 10/1h,20/1d
$ rlctl quota --must-exist several --limit 10/1h,20/2d
RATELIMIT OK - {several}:3600s 10% used (1 of 10), resets in [..]; others: 1 OK | '{several}:3600s used'=1;8;9.5;0;10 '{several}:3600s remaining'=9;;;0;10 '{several}:3600s reset'=[..]s '{several}:172800s used'=0;16;19;0;20 '{several}:172800s remaining'=20;;;0;20 '{several}:172800s reset'=0s
OK {several}:3600s 10% used (1 of 10), resets in [..]
OK {several}:172800s does not exist (0 of 20)
$ redis SET {d41d8cd98f00b204e9800998ecf8427e:ann}:blocked 1 EX 600
OK
$ rlctl quota --must-exist {d41d8cd98f00b204e9800998ecf8427e:ann}:hits --limit 5/60s
RATELIMIT CRITICAL - {d41d8cd98f00b204e9800998ecf8427e:ann}:hits banned by '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked', next free in [..]
[2]
$ redis SET {d41d8cd98f00b204e9800998ecf8427e:ann}:hits 1 PX 90000
OK
$ rlctl quota --limit 5/60s {d41d8cd98f00b204e9800998ecf8427e:ann}:hits {d41d8cd98f00b204e9800998ecf8427e:ann}:blocked
RATELIMIT CRITICAL - {d41d8cd98f00b204e9800998ecf8427e:ann}:hits banned by '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked', next free in [..]; others: 1 UNKNOWN
CRITICAL {d41d8cd98f00b204e9800998ecf8427e:ann}:hits banned by '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked', next free in [..]
UNKNOWN '{d41d8cd98f00b204e9800998ecf8427e:ann}:blocked' is a part of the state of '{d41d8cd98f00b204e9800998ecf8427e:ann}:hits'
[2]

## ranges in units and in percent decide the state; a critical threshold below the warning is refused
$ rlctl check -q k --algorithm gcra --limit 1000/1000d --cost 500
$ rlctl quota k --warning @10%:60% --critical 400:
RATELIMIT WARNING - k 50% used (500 of 1000), resets in [..] | used=500;@100:600;400:;0;1000 remaining=500;;;0;1000 reset=[..]s
[1]
$ rlctl quota k -w 90% -c 800
RATELIMIT UNKNOWN - --critical 800 is reached before --warning 90%
hint: the warning must be reached first, as with -w 80% -c 95%
[3]

## a threshold that the limit never reaches is a warning, but not an open range
$ rlctl quota --limit 10/1000d -w @11: -c 100% nobody
RATELIMIT OK - nobody does not exist (0 of 10) | used=0;@11:;10;0;10 remaining=10;;;0;10 reset=0s
! rlctl: quota: warning: --warning @11: alerts only above the limit of 'nobody', which is 10; a percentage ends in %
! rlctl: quota: warning: --critical 100% alerts only above the limit of 'nobody', which is 10
$ rlctl quota --limit 10/1000d -w 9 -c @10:20 nobody
RATELIMIT OK - nobody does not exist (0 of 10) | used=0;9;@10:20;0;10 remaining=10;;;0;10 reset=0s

## a range in units needs no limit, and no number in performance data has an exponent
$ redis SET counter 7
OK
$ rlctl quota counter -w 5 -c 10 --read-as count
RATELIMIT WARNING - counter 7 used | used=7;5;10;0
[1]
$ rlctl quota counter -w 0.00001% -c 100000000000 --read-as count --limit 100/1d
RATELIMIT WARNING - counter 7% used (7 of 100) | used=7;0.00001;100000000000;0;100 remaining=93;;;0;100
! rlctl: quota: warning: --critical 100000000000 alerts only above the limit of 'counter', which is 100; a percentage ends in %
[1]

## a percentage is rounded down
$ redis MSET a 1 b 2 c 3 d 8001 e 9999
OK
$ rlctl quota d e -w ~: -c ~: --limit 10000/1d --read-as count
RATELIMIT OK - e 99% used (9999 of 10000); others: 1 OK | 'd used'=8001;~:;~:;0;10000 'd remaining'=1999;;;0;10000 'e used'=9999;~:;~:;0;10000 'e remaining'=1;;;0;10000
OK d 80% used (8001 of 10000)
OK e 99% used (9999 of 10000)
$ rlctl quota a b c -w ~: -c ~: --limit 2/1d --read-as count
RATELIMIT OK - c 150% used (3 of 2); others: 2 OK | 'a used'=1;~:;~:;0;2 'a remaining'=1;;;0;2 'b used'=2;~:;~:;0;2 'b remaining'=0;;;0;2 'c used'=3;~:;~:;0;2 'c remaining'=0;;;0;2
OK a 50% used (1 of 2)
OK b 100% used (2 of 2)
OK c 150% used (3 of 2)
$ rlctl quota b -w ~: -c ~: --limit 3/1d --read-as count
RATELIMIT OK - b 66% used (2 of 3) | used=2;~:;~:;0;3 remaining=1;;;0;3

## the worst state and, of those, the fullest key come first; UNKNOWN is worse than OK, and better than WARNING
$ rlctl check -q --batch --algorithm gcra --limit 1000/1000d
< half	500
< nearly	820
< more	900
< full	1000
$ redis HSET hash a b
1
$ rlctl quota nobody hash
RATELIMIT UNKNOWN - 'hash' holds a hash that is not known to be a limiter's state; others: 1 OK | 'nobody used'=0;;;0 'nobody reset'=0s
OK nobody does not exist
UNKNOWN 'hash' holds a hash that is not known to be a limiter's state
[3]
$ rlctl quota -q nearly half hash more
RATELIMIT WARNING - more 90% used (900 of 1000), resets in [..]; others: 1 WARNING, 1 UNKNOWN, 1 OK | 'nearly used'=820;800;950;0;1000 'nearly remaining'=180;;;0;1000 'nearly reset'=[..]s 'half used'=500;800;950;0;1000 'half remaining'=500;;;0;1000 'half reset'=[..]s 'more used'=900;800;950;0;1000 'more remaining'=100;;;0;1000 'more reset'=[..]s
WARNING nearly 82% used (820 of 1000), resets in [..]
UNKNOWN 'hash' holds a hash that is not known to be a limiter's state
WARNING more 90% used (900 of 1000), resets in [..]
[1]
$ rlctl quota nearly half hash more full
RATELIMIT CRITICAL - full 100% used (1000 of 1000), resets in [..]; others: 2 WARNING, 1 UNKNOWN, 1 OK | 'nearly used'=820;800;950;0;1000 'nearly remaining'=180;;;0;1000 'nearly reset'=[..]s 'half used'=500;800;950;0;1000 'half remaining'=500;;;0;1000 'half reset'=[..]s 'more used'=900;800;950;0;1000 'more remaining'=100;;;0;1000 'more reset'=[..]s 'full used'=1000;800;950;0;1000 'full remaining'=0;;;0;1000 'full reset'=[..]s
WARNING nearly 82% used (820 of 1000), resets in [..]
OK half 50% used (500 of 1000), resets in [..]
UNKNOWN 'hash' holds a hash that is not known to be a limiter's state
WARNING more 90% used (900 of 1000), resets in [..]
CRITICAL full 100% used (1000 of 1000), resets in [..]
[2]
$ rlctl quota -q --json half

## labels of performance data are unique and quoted, whatever the keys contain
$ rlctl quota - --limit 5/60s
< it's
< a=b
< a|b
< a b
<
< a	b
< a\x20b
< ü
RATELIMIT OK - it's does not exist (0 of 5); others: 6 OK | 'it''s used'=0;4;4.75;0;5 'it''s remaining'=5;;;0;5 'it''s reset'=0s 'a\x3db used'=0;4;4.75;0;5 'a\x3db remaining'=5;;;0;5 'a\x3db reset'=0s 'a\x7cb used'=0;4;4.75;0;5 'a\x7cb remaining'=5;;;0;5 'a\x7cb reset'=0s 'a\x20b used'=0;4;4.75;0;5 'a\x20b remaining'=5;;;0;5 'a\x20b reset'=0s 'a\tb used'=0;4;4.75;0;5 'a\tb remaining'=5;;;0;5 'a\tb reset'=0s 'a\\x20b used'=0;4;4.75;0;5 'a\\x20b remaining'=5;;;0;5 'a\\x20b reset'=0s 'ü used'=0;4;4.75;0;5 'ü remaining'=5;;;0;5 'ü reset'=0s
OK it's does not exist (0 of 5)
OK a=b does not exist (0 of 5)
OK a\x7cb does not exist (0 of 5)
OK a\x20b does not exist (0 of 5)
OK a\tb does not exist (0 of 5)
OK a\\x20b does not exist (0 of 5)
OK ü does not exist (0 of 5)

## each of several limits is judged once, and the worst counts; usual windows are found without --limit
$ rlctl check -q login:ann --limit 10/1d,100/7d --algorithm gcra --cost 9
$ rlctl quota login:ann {login:ann}:86400s login:ann
RATELIMIT WARNING - {login:ann}:86400s 90% used (9 of 10), resets in [..]; others: 1 OK | '{login:ann}:86400s used'=9;8;9.5;0;10 '{login:ann}:86400s remaining'=1;;;0;10 '{login:ann}:86400s reset'=[..]s '{login:ann}:604800s used'=9;80;95;0;100 '{login:ann}:604800s remaining'=91;;;0;100 '{login:ann}:604800s reset'=[..]s
WARNING {login:ann}:86400s 90% used (9 of 10), resets in [..]
OK {login:ann}:604800s 9% used (9 of 100), resets in [..]
[1]
$ redis DEL {login:ann}:604800s
1
$ rlctl quota login:ann
RATELIMIT WARNING - {login:ann}:86400s 90% used (9 of 10), resets in [..] | '{login:ann}:86400s used'=9;8;9.5;0;10 '{login:ann}:86400s remaining'=1;;;0;10 '{login:ann}:86400s reset'=[..]s
[1]

## one limit of a key that has several is judged too
$ rlctl check -q --limit 5/1d,100/7d --cost 5 k
$ rlctl quota --limit 5/1d k
RATELIMIT CRITICAL - {k}:86400s 100% used (5 of 5), resets in [..]; others: 1 OK | used=0;4;4.75;0;5 remaining=5;;;0;5 reset=0s '{k}:86400s used'=5;4;4.75;0;5 '{k}:86400s remaining'=0;;;0;5 '{k}:86400s reset'=[..]s
OK k does not exist (0 of 5)
CRITICAL {k}:86400s 100% used (5 of 5), resets in [..]
[2]
$ write rlctl.toml
< [policy.p]
< key = "%s"
< limit = "5/1d"
$ rlctl quota k --config rlctl.toml
RATELIMIT CRITICAL - {k}:86400s 100% used (5 of 5), resets in [..]; others: 1 OK | used=0;4;4.75;0;5 remaining=5;;;0;5 reset=0s '{k}:86400s used'=5;4;4.75;0;5 '{k}:86400s remaining'=0;;;0;5 '{k}:86400s reset'=[..]s
OK k does not exist (0 of 5)
CRITICAL {k}:86400s 100% used (5 of 5), resets in [..]
[2]
$ rlctl quota k --limit 5/100000000s
RATELIMIT OK - k does not exist (0 of 5) | used=0;4;4.75;0;5 remaining=5;;;0;5 reset=0s

## a user who may only access KEY itself is told about KEY (own server)
$ rlctl check -q login:ann --limit 1000/1000d --algorithm gcra --cost 820
$ rlctl check -q login:eve --limit 5/1d,9/7d --cost 5 --algorithm gcra
$ redis ACL SETUSER monitor reset on nopass ~login:* +@read +@scripting +@connection +time
OK
$ env REDISCLI_AUTH=x
$ rlctl quota login:ann --user monitor
RATELIMIT WARNING - login:ann 82% used (820 of 1000), resets in [..] | used=820;800;950;0;1000 remaining=180;;;0;1000 reset=[..]s
[1]
$ redis ACL SETUSER monitor ~{login:*
OK
$ rlctl quota login:eve --user monitor
RATELIMIT CRITICAL - {login:eve}:86400s 100% used (5 of 5), resets in [..]; others: 1 OK | '{login:eve}:86400s used'=5;4;4.75;0;5 '{login:eve}:86400s remaining'=0;;;0;5 '{login:eve}:86400s reset'=[..]s '{login:eve}:604800s used'=5;7.2;8.55;0;9 '{login:eve}:604800s remaining'=4;;;0;9 '{login:eve}:604800s reset'=[..]s
CRITICAL {login:eve}:86400s 100% used (5 of 5), resets in [..]
OK {login:eve}:604800s 55% used (5 of 9), resets in [..]
[2]

## a number whose direction is not known, or that is rather a time, is UNKNOWN; --read-as or a row tells it; a ban decides
$ redis MSET hits:ann 9 hits:at 1767268800
OK
$ rlctl quota --limit 10/60s hits:ann
RATELIMIT UNKNOWN - 'hits:ann' holds 9: whether it counts up or down is not known
hint: --read-as count or --read-as remaining tells it, or a row [library.NAME] in the configuration file
[3]
$ rlctl quota --limit 10/60s --read-as count hits:ann
RATELIMIT WARNING - hits:ann 90% used (9 of 10) | used=9;8;9.5;0;10 remaining=1;;;0;10
[1]
$ rlctl quota --limit 10/60s --read-as remaining hits:ann
RATELIMIT OK - hits:ann 10% used (1 of 10) | used=1;8;9.5;0;10 remaining=9;;;0;10
$ rlctl quota --limit 10/60s --read-as count hits:at
RATELIMIT UNKNOWN - 'hits:at': its number is more likely a time than a count
hint: rlctl inspect hits:at shows what it holds
[3]
$ write rlctl.toml
< library.hits = { key = "hits:*", type = "string", value = "remaining", limit = "10/60s" }
< library.log = { key = "log:*", type = "zset", value = "times", limit = "5/60s", ban = "KEY:no" }
$ rlctl --config rlctl.toml quota hits:ann
RATELIMIT OK - hits:ann 10% used (1 of 10) | used=1;8;9.5;0;10 remaining=9;;;0;10
$ redis EVAL "redis.call('ZADD', 'log:a', redis.call('TIME')[1], 'm') return redis.call('SET', 'log:a:no', 1)" 0
OK
$ rlctl --config rlctl.toml quota log:a
RATELIMIT CRITICAL - log:a banned by 'log:a:no', next free never | used=1;4;4.75;0;5 remaining=0;;;0;5 reset=[..]s
[2]

## an address is found under the prefix that its policy keeps
$ write rlctl.toml
< [policy.login]
< key = "login:%s"
< limit = "5/1d"
< ipv6_prefix = 64
$ rlctl --config rlctl.toml check -q --policy login 2001:db8:1:2::7
$ rlctl --config rlctl.toml quota login:2001:db8:1:2:3::9
RATELIMIT OK - login:2001:db8:1:2::/64 20% used (1 of 5), resets in [..] | 'login:2001:db8:1:2::/64 used'=1;4;4.75;0;5 'login:2001:db8:1:2::/64 remaining'=4;;;0;5 'login:2001:db8:1:2::/64 reset'=[..]s
$ rlctl --config rlctl.toml inspect login:2001:db8:1:2:3::9 --json
{"key":"login:2001:db8:1:2::/64",[..]
$ rlctl --config rlctl.toml reset login:2001:db8:1:2:3::9
removed key=login:2001:db8:1:2::/64 algorithm=sliding-window-log
! looked at login:2001:db8:1:2::/64, [..]

## windows of the calendar of UTC are found; of those in other zones, a limit tells
$ rlctl check -q cal --limit 10/year@UTC,10/month@Europe/Zurich --algorithm budget --cost 9
$ rlctl quota cal
RATELIMIT WARNING - {cal}:year@UTC 90% used (9 of 10), resets in [..] | '{cal}:year@UTC used'=9;8;9.5;0;10 '{cal}:year@UTC remaining'=1;;;0;10 '{cal}:year@UTC reset'=[..]s
[1]

## wrong usage and no server are UNKNOWN, even with -q
$ rlctl -w 80% quota k
RATELIMIT UNKNOWN - unknown option '-w'
hint: put the options of a command after the command
[3]
$ rlctl quota -q k -u unix:///nowhere
RATELIMIT UNKNOWN - cannot connect to unix:///nowhere: no such file or directory
[3]
$ rlctl quota k -p 1
RATELIMIT UNKNOWN - cannot connect to redis://127.0.0.1:1: connection refused
[3]
$ rlctl quota k --json -u unix:///nowhere
{"status":"unknown","limits":[],"error":{"code":"unreachable","message":"cannot connect to unix:///nowhere: no such file or directory","hint":null}}
[3]

## a user whom the server refuses is UNKNOWN (own server)
$ redis ACL SETUSER monitor reset on nopass ~* +ping
OK
$ env REDISCLI_AUTH=x
$ rlctl quota k --user monitor
RATELIMIT UNKNOWN - unix://monitor:***@[..]: NOPERM [..]
hint: grant what quota needs, besides access to its keys: ACL SETUSER monitor +time +type +pttl +getrange +llen +lindex +zcard +zcount +zrange +hlen +hmget +hgetall
[3]
$ redis ACL SETUSER monitor resetkeys ~good* +@all
OK
$ rlctl quota good bad --user monitor --limit 5/60s
RATELIMIT UNKNOWN - 'bad': unix://monitor:***@[..]: NOPERM [..]; others: 1 OK | 'good used'=0;4;4.75;0;5 'good remaining'=5;;;0;5 'good reset'=0s
OK good does not exist (0 of 5)
UNKNOWN 'bad': unix://monitor:***@[..]: NOPERM [..]
[3]

## a key of another type or algorithm is UNKNOWN; a hint with a bar, which would begin performance data, is left out
$ redis RPUSH a|b job
1
$ redis RPUSH list job
1
$ rlctl check -q k --limit 5/60s --algorithm gcra
$ rlctl quota list
RATELIMIT UNKNOWN - 'list' holds a list that is not known to be a limiter's state
hint: rlctl inspect list shows what it holds
[3]
$ rlctl quota a|b
RATELIMIT UNKNOWN - 'a\x7cb' holds a list that is not known to be a limiter's state
[3]

## a limit that a key cannot have leaves only that key unjudged
$ rlctl check -q --algorithm gcra --limit 10/60s k
$ rlctl check -q --algorithm fixed-window --limit 10/1000d --cost 10 full
$ rlctl quota --limit 100M/1d -w 5 -c 1000 k full
RATELIMIT WARNING - full 0% used (10 of 100000000), resets in [..]; stored 10/1000d, --limit 100M/1d; others: 1 UNKNOWN | 'full used'=10;5;1000;0;100000000 'full remaining'=99999990;;;0;100000000 'full reset'=[..]s
UNKNOWN 'k': limit 100000000 x burst 100000000 is more than 2^53; use a smaller limit or a smaller burst
WARNING full 0% used (10 of 100000000), resets in [..]; stored 10/1000d, --limit 100M/1d
[1]

## standard input without a KEY is UNKNOWN
$ rlctl quota - --limit 5/60s
RATELIMIT UNKNOWN - standard input has no KEY
Try 'rlctl quota --help'.
[3]

## a key whose policy names another algorithm than it holds is UNKNOWN, since check would fail
$ write c.toml
< [policy.login]
< key = "login:%s"
< limit = "5/60s"
< algorithm = "fixed-window"
$ env RLCTL_CONFIG=c.toml
$ rlctl check -q login:ann --limit 5/1000d --algorithm gcra
$ rlctl quota ann --policy login
RATELIMIT UNKNOWN - 'login:ann' holds the state of gcra, not of fixed-window: check would fail | used=1;4;4.75;0;5 remaining=4;;;0;5 reset=[..]s
[3]
