# needs: server
# How often debug --coverage says that each line was executed. coverage.bats has what is cut off.

## one run, as text, as JSON and for lcov
$ write count.lua
< -- A comment.
< local n = redis.call('INCR', KEYS[1])
< for i = 1, 3 do
<   n = n + 0
< end
< if n > 1000 then
<   return 'many'
< end
< return n
$ rlctl -u private: debug count.lua k --coverage -q
        -- A comment.
    1x  local n = redis.call('INCR', KEYS[1])
    4x  for i = 1, 3 do
    3x    n = n + 0
        end
    1x  if n > 1000 then
  ***0    return 'many'
        end
    1x  return n
5 of 6 lines reached (83.3 %)
$ rlctl -u private: debug count.lua k --coverage --json -q
{"event":"coverage","line":2,"hits":1,"source":"local n = redis.call('INCR', KEYS[1])"}
{"event":"coverage","line":3,"hits":4,"source":"for i = 1, 3 do"}
{"event":"coverage","line":4,"hits":3,"source":"  n = n + 0"}
{"event":"coverage","line":6,"hits":1,"source":"if n > 1000 then"}
{"event":"coverage","line":7,"hits":0,"source":"  return 'many'"}
{"event":"coverage","line":9,"hits":1,"source":"return n"}
{"event":"coverage_total","runs":1,"lines":6,"reached":5}
$ rlctl -u private: debug count.lua k --coverage --lcov - -q
TN:
SF:FOLDER/count.lua
DA:2,1
DA:3,4
DA:4,3
DA:6,1
DA:7,0
DA:9,1
LF:6
LH:5
end_of_record

## a log adds up all requests, and a failed one exits with status 5; --skip covers one request
$ write bad.lua
< if ARGV[1] == '2' then
<   error('second')
< end
< return redis.call('INCR', KEYS[1])
$ write three.log
< 1767225660.0 k 1
< 1767225661.0 k 1
< 1767225662.0 k 1
$ rlctl debug bad.lua --replay three.log --args '{id}' --coverage -q
    3x  if ARGV[1] == '2' then
    1x    error('second')
        end
    2x  return redis.call('INCR', KEYS[1])
3 of 3 lines reached (100.0 %) by 3 requests
! rlctl: debug: bad.lua:2: second
[5]
$ rlctl debug bad.lua --replay three.log --args '{id}' --skip 2 --coverage --trace -q
+ bad.lua:1  if ARGV[1] == '2' then
+ bad.lua:4  return redis.call('INCR', KEYS[1])
|   redis> INCR k      2
= 2    2 lines, 1 redis call; 1 key was changed
  'k': string, "1" → "2", no ttl
    1x  if ARGV[1] == '2' then
  ***0    error('second')
        end
    1x  return redis.call('INCR', KEYS[1])
2 of 3 lines reached (66.6 %)

## an error that a script returns is reported, and exits with status 5
$ write no.lua
< return redis.error_reply('NOPE not now')
$ rlctl -u private: debug no.lua k --coverage -q --json
{"event":"coverage","line":1,"hits":1,"source":"return redis.error_reply('NOPE not now')"}
{"event":"coverage_total","runs":1,"lines":1,"reached":1}
! {"error":{"code":"script","message":"no.lua: returned the error NOPE not now","hint":null}}
[5]

## --fail-under exits with status 1 if less was reached; an error of the script takes precedence
$ write half.lua
< if KEYS[2] then
<   return 1
< end
< return 2
$ rlctl -u private: debug half.lua k --coverage --fail-under 66.7% -q
    1x  if KEYS[2] then
  ***0    return 1
        end
    1x  return 2
2 of 3 lines reached (66.6 %)
! rlctl: debug: --fail-under 66.7%: only 2 of 3 lines reached (66.6 %)
[1]
$ rlctl -u private: debug half.lua k --coverage --fail-under 66.6% -q
    1x  if KEYS[2] then
  ***0    return 1
        end
    1x  return 2
2 of 3 lines reached (66.6 %)
$ write bad.lua
< error('x')
< return 1
$ rlctl -u private: debug bad.lua --coverage --fail-under 100% -q
    1x  error('x')
  ***0  return 1
1 of 2 lines reached (50.0 %)
! rlctl: debug: bad.lua:1: x
! rlctl: debug: --fail-under 100%: only 1 of 2 lines reached (50.0 %)
[5]
