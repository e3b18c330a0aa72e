# needs: server
# The request of a log that debug --replay LOG --skip N debugs.

## the request after --skip others has its own key, time, cost and number; earlier ones ran at their times, and may fail
$ write three.log
< 1767225660.000000 ann 1
< 1767225661.500000 bob 1
< 1767225662.000000 ann 2
$ write all.lua
< local t = redis.call('TIME')
< if ARGV[3] == '2' then error('second') end
< redis.call('RPUSH', KEYS[1], t[1] .. '.' .. t[2])
< return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
$ rlctl debug all.lua --replay three.log --skip 2 --keys 'a:{key}' --keys b --args '{now_ms} {cost} {id} {limit}' --limit 3/60s --trace
+ all.lua:1  local t = redis.call('TIME')
|   redis> TIME      ["1767225662","0"]
|   t: {"1767225662", "0"}
+ all.lua:2  if ARGV[3] == '2' then error('second') end
+ all.lua:3  redis.call('RPUSH', KEYS[1], t[1] .. '.' .. t[2])
|   redis> RPUSH a:ann 1767225662.0      2
+ all.lua:4  return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
= "a:ann|b#1767225662000|2|3|3"    4 lines, 2 redis calls; 1 key was changed
  'a:ann': list, 1 element: "1767225660.0" → 2 elements: "1767225660.0", "1767225662.0", no ttl
! rlctl: debug: running in this process, on no keys at first
! rlctl: debug: warning: request 2 ended in an error, as others may: user_script:2: second; request 2 had KEYS 'a:bob' 'b' and ARGV '1767225661500' '1' '2' '3'
! rlctl: debug: debugging request 3 of 3, of 2026-01-01T00:01:02Z, for 'ann'

## the script finds the keys of earlier requests as it left them, aged by the time of the log, and no others
$ write all.lua
< redis.call('SET', KEYS[1], 1, 'PX', 10000) redis.call('SET', KEYS[1] .. ':x', 1, 'PX', 20000)
< local function ttl(key) return redis.call('PTTL', key) end
< return {ttl('ann'), ttl('ann:x'), ttl('bob'), ttl('bob:x'), ttl('cid'), ttl('dan')}
$ write keys.log
< 1767225660.0 ann 1
< 1767225667.0 bob 1
< 1767225671.5 cid 1
< 1767225681.0 dan 1
$ rlctl debug all.lua --replay keys.log --skip 2 -q
< continue
* all.lua:1, at the beginning
-> 1  redis.call('SET', KEYS[1], 1, 'PX', 10000) redis.call('SET', KEYS[1] .. ':x', 1, 'PX', 20000)
   2  local function ttl(key) return redis.call('PTTL', key) end
   3  return {ttl('ann'), ttl('ann:x'), ttl('bob'), ttl('bob:x'), ttl('cid'), ttl('dan')}
|   redis> SET cid 1 PX 10000      "+OK"
|   redis> SET cid:x 1 PX 20000      "+OK"
|   redis> PTTL ann      -2
|   redis> PTTL ann:x      8500
|   redis> PTTL bob      5500
|   redis> PTTL bob:x      15500
|   redis> PTTL cid      10000
|   redis> PTTL dan      -2
= {-2, 8500, 5500, 15500, 10000, -2}
  'cid': not there → string, "1", ttl 10.0 s
  'cid:x': not there → string, "1", ttl 20.0 s

## a log is read as its lines are recognized, and one that is not is refused; no server is asked
$ env RLCTL_URL=unix:///nowhere
$ write add.lua
< return redis.call('INCRBY', KEYS[1], ARGV[1])
$ write odd.jsonl
< {"time":"2026-01-01T00:00:00Z","key":"ann"}
< nonsense
$ rlctl debug add.lua --args '{cost}' --replay odd.jsonl --skip 1 --trace
! rlctl: debug: odd.jsonl:2: this is in none of the known formats; jsonl is nearest and reads 1 of 2 lines, but it is not a JSON object: 'nonsense'
!   hint: debug reads the formats that rlctl burst --formats lists, such as JSON lines with time and key
[2]
$ rlctl debug add.lua --args '{cost}' --replay - --skip 0 --trace
< {"time":"2026-01-01T00:00:00Z","key":"ann"}
< {"time":"2026-01-01T00:00:01Z","key":"ann"}
+ add.lua:1  return redis.call('INCRBY', KEYS[1], ARGV[1])
|   redis> INCRBY ann 1      1
= 1    1 line, 1 redis call; 1 key was changed
  'ann': not there → string, "1", no ttl
! rlctl: debug: running in this process, on no keys at first
! rlctl: debug: debugging request 1 of 2, of 2026-01-01T00:00:00Z, for 'ann'

## a cost that the script does not accept is refused before anything runs
$ rlctl debug sliding-window-log --limit 30000/60s --replay - --trace
< 1767225660.0 ann 20000
! rlctl: debug: --replay: cost 20000 is too large for sliding-window-log, which takes up to 10000; gcra takes more
! Try 'rlctl debug --help'.
[2]
