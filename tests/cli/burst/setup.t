# needs: server
# `--setup`: what prepares the keys that a script expects, before each schedule.

## commands, a file of commands and a script prepare each key before its first request
$ write limiter.lua
< -- Lets through as many as the hash says that another script makes.
< local rate = redis.call('HGET', KEYS[1], 'rate')
< assert(rate, 'not initialized')
< return redis.call('HINCRBY', KEYS[1], 'n', 1) <= tonumber(rate) and 1 or 0
$ rlctl burst steady limiter.lua --requests 3 --limit 5/60s --keys 'a:{key}' --args '{now_s}' -q
! rlctl: burst: limiter.lua:3: not initialized; request 1 had KEYS 'a:1' and ARGV '1767225600'
[5]
$ rlctl burst steady limiter.lua --requests 24 --limit 5/60s --keys 'a:{key}' --args '{now_s}' -q --setup 'HSET a:{key} rate {limit}' --assert allowed==5
$ rlctl burst steady limiter.lua --requests 24 --limit 5/60s --keys 'a:{key}' --args '{now_s}' -q --setup 'HSET a:{key} rate {limit}' --keys 3 --assert allowed==15
$ write commands
< # the rate
<
< DEL {key1}
< HSET {key1} rate "3"
$ rlctl burst steady limiter.lua --requests 24 --limit 3/60s --keys 'a:{key}' --args '{now_s}' -q --setup ./commands --assert allowed==3
$ write setup.lua
< return redis.call('HSET', KEYS[1], 'rate', ARGV[1])
$ rlctl burst steady limiter.lua --requests 24 --limit 6/60s --keys 'a:{key}' --args '4 {now_s}' -q --setup setup.lua --setup 'HINCRBY a:{key} rate 2' --assert allowed==6

## what does not name the key is sent once, before each schedule
$ write shared.lua
< -- Takes from one store that all clients share.
< return redis.call('DECR', 'tokens') >= 0 and 1 or 0
$ rlctl burst steady shared.lua --requests 24 --limit 7/60s --args '{now_s}' --setup 'SET tokens 7' --keys 3 -q --assert allowed==7
! rlctl: burst: warning: shared.lua: denied after 1 request, not 7: its own limit differs, the burst is missing, or its reply is misread
$ rlctl adversary shared.lua --tries 200 --limit 5/60s --args '{now_s}' --setup 'SET tokens 5' -q --assert worst==1

## a TTL that the setup sets passes in virtual time, also of other keys
$ write ban.lua
< return redis.call('EXISTS', 'ban:' .. ARGV[1]) == 0 and 1 or 0
$ rlctl burst steady ban.lua --requests 24 --limit 24/24s --rate 1/s --args '{key}' --setup 'SET ban:{key} 1 PX 10500' -q --assert allowed==13

## every schedule of a search, every probe of lint, both sides of --compare and the keys on a named server are prepared
$ write limiter.lua
< local rate = redis.call('HGET', KEYS[1], 'rate')
< return redis.call('HINCRBY', KEYS[1], 'n', 1) <= tonumber(rate) and 1 or 0
$ rlctl adversary limiter.lua --tries 200 --limit 5/60s --args '{now_s}' --setup 'HSET {key} rate {limit}' -q --assert worst==1
$ rlctl adversary limiter.lua --exhaustive 4 --limit 2/60s --args '{now_s}' --setup 'HSET {key} rate {limit}' -q --assert worst==1
$ write other.lua
< local rate = redis.call('HGET', KEYS[1], 'rate')
< return redis.call('HINCRBY', KEYS[1], 'm', 1) <= tonumber(rate) and 1 or 0
$ rlctl burst steady limiter.lua --requests 9 --limit 5/60s --args '{now_s}' --setup 'HSET {key} rate {limit}' --compare other.lua -q
$ rlctl burst steady limiter.lua --requests 9 --limit 5/60s --rate 1/10s --args '{now_s}' --setup 'HSET {key} rate {limit}' --compare fixed-window -q
! rlctl: burst: the limiters differ, first at request 7 (key '1'): fixed-window allows it, limiter.lua denies it
[1]
$ rlctl lint limiter.lua --limit 5/60s --setup 'HSET {key} rate 5'
limiter.lua:2: critical: no-ttl: HINCRBY ann n 1
    'ann' has no TTL when the script returns. Its client is denied forever.
    Fix: set a TTL when the key is new: if the new count is what this call
    added, PEXPIRE it by the window.
1 critical finding in 1 script ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary limiter.lua --limit 5/60s --setup 'HSET {key} rate 5'
[2]
$ rlctl burst steady limiter.lua --requests 20 --rate 1000/s --keys 2 --limit 5/60s --args '{now_s}' --setup 'HSET {key} rate {limit}' -u SERVER -q --assert allowed==10
! rlctl: burst: writing under 'rlctl-burst:{[..]}:' on SERVER
$ rlctl burst limiter.lua --args '{now_s}' --setup 'SET other 1' -u SERVER
! rlctl: burst: writing under 'rlctl-burst:{[..]}:' on SERVER
! rlctl: burst: SERVER: --setup: 'SET other 1': the script touches 'other', which is not one of its KEYS
!   hint: use --url private: instead, where it may touch any key, or name all of its keys in --keys
[5]
$ keys

## an error names the command and the reply; the command that is printed has the setup
$ write limiter.lua
< return redis.call('HGET', KEYS[1], 'rate') and 1 or 0
$ rlctl burst limiter.lua --limit 5/60s --keys 'a:{key}' --args '{now}' --setup 'HSET a:{key} rate'
! rlctl: burst: --setup: 'HSET a:1 rate': Wrong number of args calling Redis command from script
[5]
$ write setup.lua
< error('no')
$ rlctl burst limiter.lua --limit 5/60s --keys 'a:{key}' --args '{now}' --setup setup.lua
! rlctl: burst: --setup: setup.lua:1: no; it had KEYS 'a:1' and ARGV '1767225659.990000'
[5]
$ rlctl lint limiter.lua --setup 'SET {key} 1' --setup 'HSET {key} rate 5'
! rlctl: lint: --setup: 'HSET ann rate 5': WRONGTYPE Operation against a key holding the wrong kind of value
[3]
$ rlctl burst steady limiter.lua --requests 3 --limit 5/60s --args '{now}' --setup 'HSET {key} rate {limit}' --json
{[..]"command":"rlctl burst steady limiter.lua --limit 5/60s --args '{now}' --setup 'HSET {key} rate {limit}' --requests 3 --seed 1","interrupted"[..]"algorithm":"limiter.lua","sent":3,"allowed":3[..]}

## the configuration prepares too, with files of its folder; so does debug
$ write etc/limiter.lua
< local rate = redis.call('HGET', KEYS[1], 'rate')
< return redis.call('HINCRBY', KEYS[1], 'n', 1) <= tonumber(rate) and 1 or 0
$ write etc/commands
< HSET {key1} rate 5
$ write etc/config.toml
< [script.mine]
< file = "limiter.lua"
< args = "{now_s}"
< setup = ["DEL {key}", "./commands"]
$ rlctl --config etc/config.toml config check
etc/config.toml: 0 policies, 1 script, no errors
$ rlctl --config etc/config.toml burst steady mine --requests 24 --limit 5/60s -q --assert allowed==5
$ rlctl -u private: --config etc/config.toml debug mine '{b' --trace -q
+ limiter.lua:1  local rate = redis.call('HGET', KEYS[1], 'rate')
|   redis> HGET {b rate      "5"
|   rate: "5"
+ limiter.lua:2  return redis.call('HINCRBY', KEYS[1], 'n', 1) <= tonumber(rate) and 1 or 0
|   redis> HINCRBY {b n 1      1
= 1    2 lines, 2 redis calls; 1 key was changed
  '{b': hash, 1 field: "rate" = "5" → 2 fields: "rate" = "5", "n" = "1", no ttl
$ write some.log
< 1700000000 a
< 1700000001 b
< 1700000002 a
$ rlctl debug etc/limiter.lua --setup 'HSET {key} rate 1' --replay some.log --skip 2 --trace -q
+ limiter.lua:1  local rate = redis.call('HGET', KEYS[1], 'rate')
|   redis> HGET a rate      "1"
|   rate: "1"
+ limiter.lua:2  return redis.call('HINCRBY', KEYS[1], 'n', 1) <= tonumber(rate) and 1 or 0
|   redis> HINCRBY a n 1      2
= 0    2 lines, 2 redis calls; 1 key was changed
  'a': hash, 2 fields: "rate" = "1", "n" = "1" → 2 fields: "rate" = "1", "n" = "2", no ttl
