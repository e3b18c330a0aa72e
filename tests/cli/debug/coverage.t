# needs: server
# How often debug --coverage says that each line was executed. coverage.bats has what is cut off.

## one run, as text, as JSON and for lcov; --fail-under exits with status 1 if less was reached
$ write count.lua
< -- A comment.
< for i = 1, 3 do
<   if i > 3 then
<     return i
<   end
< end
$ rlctl -u private: debug count.lua k --coverage -q
        -- A comment.
    4x  for i = 1, 3 do
    3x    if i > 3 then
  ***0      return i
          end
    1x  end
3 of 4 lines reached (75.0 %)
$ rlctl -u private: debug count.lua k --coverage --json -q --fail-under 75%
{"event":"coverage","line":2,"hits":4,"source":"for i = 1, 3 do"}
{"event":"coverage","line":3,"hits":3,"source":"  if i > 3 then"}
{"event":"coverage","line":4,"hits":0,"source":"    return i"}
{"event":"coverage","line":6,"hits":1,"source":"end"}
{"event":"coverage_total","runs":1,"lines":4,"reached":3}
$ rlctl -u private: debug count.lua k --coverage --lcov - -q --fail-under 75.1%
TN:
SF:FOLDER/count.lua
DA:2,4
DA:3,3
DA:4,0
DA:6,1
LF:4
LH:3
end_of_record
! rlctl: debug: --fail-under 75.1%: only 3 of 4 lines reached (75.0 %)
[1]

## a log adds up all requests, and a failed one exits with status 5, whatever was reached; --skip covers one request
$ write bad.lua
< if ARGV[1] == '2' then error('second') end
< if ARGV[1] == '4' then
<   return 4
< end
$ write three.log
< 1767225660.0 k 1
< 1767225661.0 k 1
< 1767225662.0 k 1
$ rlctl debug bad.lua --replay three.log --args '{id}' --coverage -q --fail-under 100%
    3x  if ARGV[1] == '2' then error('second') end
    2x  if ARGV[1] == '4' then
  ***0    return 4
    2x  end
3 of 4 lines reached (75.0 %) by 3 requests
! rlctl: debug: bad.lua:1: second
! rlctl: debug: --fail-under 100%: only 3 of 4 lines reached (75.0 %) by 3 requests
[5]
$ rlctl debug bad.lua --replay three.log --args '{id}' --skip 2 --coverage --trace -q
+ bad.lua:1  if ARGV[1] == '2' then error('second') end
+ bad.lua:2  if ARGV[1] == '4' then
+ bad.lua:4  end
= nil    3 lines, 0 redis calls; nothing was changed
    1x  if ARGV[1] == '2' then error('second') end
    1x  if ARGV[1] == '4' then
  ***0    return 4
    1x  end
3 of 4 lines reached (75.0 %)

## an error that a script returns is reported, and exits with status 5
$ write no.lua
< return redis.error_reply('NOPE not now')
$ rlctl -u private: debug no.lua k --coverage -q --json
{"event":"coverage","line":1,"hits":1,"source":"return redis.error_reply('NOPE not now')"}
{"event":"coverage_total","runs":1,"lines":1,"reached":1}
! {"error":{"code":"script","message":"no.lua: returned the error NOPE not now","hint":null}}
[5]
