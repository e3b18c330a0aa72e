# needs: server
# The request of a log that debug --replay LOG --skip N debugs; replay.bats has how keys age, and other formats.

## the debugged request has its own key, time, cost and number; earlier ones ran at their times, and may fail
$ write four.log
< 1767225660.000000 ann 1
< 1767225661.500000 bob 1
< 1767225662.000000 ann 2
< 1767225663.000000 ann 1
$ write all.lua
< local t = redis.call('TIME')
< if ARGV[3] == '2' then error('second') end
< redis.call('RPUSH', KEYS[1], t[1] .. '.' .. t[2])
< return table.concat(KEYS, '|') .. '#' .. table.concat(ARGV, '|')
$ rlctl debug all.lua --replay four.log --skip 2 --keys 'a:{key}' --keys b --args '{now_ms} {cost} {id} {limit}' --limit 3/60s --trace
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
! rlctl: debug: debugging request 3 of 4, of 2026-01-01T00:01:02Z, for 'ann'
