# needs: server
# Each report of debug as a whole; coverage.t has that of lines, repl.t the commands, and burst/functions.t the trace of
# a script with functions.

## a trace as text and as JSON has each line, call, message, variable and key
$ write incr.lua
< local count = redis.call('INCR', KEYS[1])
< redis.debug(count)
< redis.log(redis.LOG_WARNING, 'far', count)
< redis.log(0, "\27[31m")
< return count / 2
$ rlctl debug incr.lua k --trace --json -q
{"event":"line","line":1,"source":"local count = redis.call('INCR', KEYS[1])"}
{"event":"call","line":1,"command":["INCR","k"],"reply":"1","error":null}
{"event":"local","line":1,"name":"count","value":"1","exact":true}
{"event":"line","line":2,"source":"redis.debug(count)"}
{"event":"debug","line":2,"message":"1"}
{"event":"line","line":3,"source":"redis.log(redis.LOG_WARNING, 'far', count)"}
{"event":"log","line":3,"level":"warning","message":"far 1"}
{"event":"line","line":4,"source":"redis.log(0, \"\\27[31m\")"}
{"event":"log","line":4,"level":"debug","message":"\u001b[31m"}
{"event":"line","line":5,"source":"return count / 2"}
{"event":"result","ending":"returned","value":"0","error":null,"error_line":null,"lines":5,"calls":1}
{"event":"key","key":"k","before":null,"after":"string, \"1\", no ttl","changed":true}
$ rlctl debug incr.lua k --trace -q
+ incr.lua:1  local count = redis.call('INCR', KEYS[1])
|   redis> INCR k      1
|   count: 1
+ incr.lua:2  redis.debug(count)
|   debug> 1
+ incr.lua:3  redis.log(redis.LOG_WARNING, 'far', count)
|   log> warning: far 1
+ incr.lua:4  redis.log(0, "\27[31m")
|   log> debug: \x1b[31m
+ incr.lua:5  return count / 2
= 0 (cut from 0.5)    5 lines, 1 redis call; 1 key was changed
  'k': not there → string, "1", no ttl

## a reply is shown in Lua syntax
$ write reply.lua
< return {0, -5, 'a\n', false, {ok = 'FINE'}, {err = 'MY no'}, {}, {'a', -0.5}}
$ rlctl debug reply.lua --trace -q
+ reply.lua:1  return {0, -5, 'a\n', false, {ok = 'FINE'}, {err = 'MY no'}, {}, {'a', -0.5}}
= {0, -5, "a\n", nil, +FINE, -MY no, {}, {"a", 0 (cut from -0.5)}}    1 line, 0 redis calls; nothing was changed

## a failed call shows its error once, on a line of its own
$ write few.lua
< return redis.call('INCRBY', KEYS[1], 'x')
$ rlctl debug few.lua k --trace -q
+ few.lua:1  return redis.call('INCRBY', KEYS[1], 'x')
|   redis> INCRBY k x
[..]   value is not an integer or out of range
= error at line 1: value is not an integer or out of range    1 line, 1 redis call; nothing was changed
[5]

## a trace does not cut a long value, and a script may return an error
$ write wrong.lua
< local s = ('x'):rep(300)
< return redis.error_reply('MYERR no')
$ rlctl debug wrong.lua k --trace -q
+ wrong.lua:1  local s = ('x'):rep(300)
|   s: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
+ wrong.lua:2  return redis.error_reply('MYERR no')
= -MYERR no    2 lines, 0 redis calls; nothing was changed
[5]

## a script that does not compile is not run
$ write wrong.lua
< local x = 1
< return = x
$ rlctl debug wrong.lua --trace -q
= does not compile, line 2: unexpected symbol near '='    0 lines, 0 redis calls; nothing was changed
[5]
$ rlctl debug wrong.lua --coverage
! rlctl: debug: running in this process; there are no keys to copy
! rlctl: debug: wrong.lua:2: unexpected symbol near '='
[5]
$ rlctl debug wrong.lua -q
< step
= does not compile, line 2: unexpected symbol near '='
[5]

## the head of a script is filled with a limit, a lease or a reservation if nothing gives them
$ write lease.lua
< -- rlctl: args {event} {holder} {limit} {lease_ms}
< return ARGV
$ rlctl debug lease.lua --trace -q
+ lease.lua:2  return ARGV
= {"acquire", "h1", "5", "60000"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug lease.lua --limit 2/30s --trace -q
+ lease.lua:2  return ARGV
= {"acquire", "h1", "2", "30000"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug lease.lua --replay log
! rlctl: debug: it is not known what a holder asks lease.lua for
!   hint: write the words in place of the placeholders: --args 'acquire h1 ...'
[2]
$ write hold.lua
< -- rlctl: args {event} {reservation} {cost} {actual} {hold_ms}
< return ARGV
$ rlctl debug hold.lua --cost 4 --trace -q
+ hold.lua:2  return ARGV
= {"reserve", "r1", "4", "0", "30000"}    1 line, 0 redis calls; nothing was changed
$ write counter.lua
< -- rlctl: args {limit} {window_ms}
< return ARGV
$ rlctl debug counter.lua --trace -q
+ counter.lua:2  return ARGV
= {"5", "60000"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug --ldb counter.lua --attach -s SERVER k -q
! rlctl: debug: --limit is missing: keys or args contain {limit} or {window}
! Try 'rlctl debug --help'.
[2]
$ write event.lua
< -- rlctl: args {event}
< return ARGV
$ rlctl debug event.lua --trace -q
! rlctl: debug: it is not known what a holder asks event.lua for
!   hint: write the words in place of the placeholders: --args 'acquire h1 ...'
[2]

## several KEYs before --args are the KEYS, whatever the head says
$ write keys.lua
< -- rlctl: keys rate:{key}
< -- rlctl: args {limit}
< return KEYS
$ env RLCTL_URL=unix:///s
$ rlctl debug keys.lua a --args 1 --print-command
redis-cli -s /s --ldb --eval keys.lua rate:a , 1
$ rlctl debug keys.lua a b --args 1 --print-command
redis-cli -s /s --ldb --eval keys.lua a b , 1
$ rlctl debug keys.lua a b --limit 5/60s --print-command
! rlctl: debug: {key} is one KEY, but there are 2
!   hint: write the keys in --keys
[2]
