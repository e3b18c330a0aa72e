# needs: server
# Each report of debug as a whole; coverage.t has that of lines, and repl.bats the commands.

## a trace shows each executed line with its calls, what changed, and the effect on the keys
$ write tally.lua
< -- Adds the arguments to a hash.
< local key, names = KEYS[1], 0
< local function add(name, more)
<   names = names + 1
<   return redis.call('HINCRBY', key, name, more)
< end
< for i = 1, #ARGV, 2 do
<   if redis.call('HEXISTS', key, ARGV[i]) == 0 then
<     add(ARGV[i],
<         ARGV[i + 1])
<   end
< end
< redis.debug(names)
< return {names, 2.75, {'a', -0.5}}
$ rlctl debug tally.lua k , 'b c' 2 'b c' 1 --trace
+ tally.lua:2  local key, names = KEYS[1], 0
|   key: "k"
|   names: 0
+ tally.lua:6  end
|   add: function
+ tally.lua:7  for i = 1, #ARGV, 2 do
|   i: 1
+ tally.lua:8    if redis.call('HEXISTS', key, ARGV[i]) == 0 then
|   redis> HEXISTS k "b c"      0
+ tally.lua:9      add(ARGV[i],
+ tally.lua:10          ARGV[i + 1])
+ tally.lua:9      add(ARGV[i],
|   name: "b c"
|   more: "2"
+ tally.lua:4    names = names + 1
|   names: 1
+ tally.lua:5    return redis.call('HINCRBY', key, name, more)
|   redis> HINCRBY k "b c" 2      2
+ tally.lua:7  for i = 1, #ARGV, 2 do
|   i: 3
+ tally.lua:8    if redis.call('HEXISTS', key, ARGV[i]) == 0 then
|   redis> HEXISTS k "b c"      1
+ tally.lua:7  for i = 1, #ARGV, 2 do
+ tally.lua:13  redis.debug(names)
|   debug> 1
+ tally.lua:14  return {names, 2.75, {'a', -0.5}}
= {1, 2 (cut from 2.75), {"a", 0 (cut from -0.5)}}    14 lines, 3 redis calls; 1 key was changed
  'k': not there → hash, 1 field: "b c" = "2", no ttl
! rlctl: debug: running in this process; SERVER has no 'k'

## a trace as JSON has an event for each line, call, message, variable and key
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
< return {0, -5, 'a\n', false, {ok = 'FINE'}, {err = 'MY no'}, {}}
$ rlctl debug reply.lua --trace -q
+ reply.lua:1  return {0, -5, 'a\n', false, {ok = 'FINE'}, {err = 'MY no'}, {}}
= {0, -5, "a\n", nil, +FINE, -MY no, {}}    1 line, 0 redis calls; nothing was changed
$ rlctl debug reply.lua --trace -q --json
{"event":"line","line":1,"source":"return {0, -5, 'a\\n', false, {ok = 'FINE'}, {err = 'MY no'}, {}}"}
{"event":"result","ending":"returned","value":"{0, -5, \"a\\n\", nil, +FINE, -MY no, {}}","error":null,"error_line":null,"lines":1,"calls":0}
$ write reply.lua
< return nil
$ rlctl debug reply.lua --trace -q
+ reply.lua:1  return nil
= nil    1 line, 0 redis calls; nothing was changed

## a failed call shows its error once, on a line of its own
$ write few.lua
< return redis.call('INCRBY', KEYS[1], 'x')
$ rlctl debug few.lua k --trace -q
+ few.lua:1  return redis.call('INCRBY', KEYS[1], 'x')
|   redis> INCRBY k x
[..]   value is not an integer or out of range
= error at line 1: value is not an integer or out of range    1 line, 1 redis call; nothing was changed
[5]

## a script with an error, and a long value, which a trace does not cut
$ write wrong.lua
< local n, s = redis.call('GET', KEYS[1]), ('x'):rep(300)
< return n + 1
$ rlctl debug wrong.lua k --trace
+ wrong.lua:1  local n, s = redis.call('GET', KEYS[1]), ('x'):rep(300)
|   redis> GET k      NULL
|   n: false
|   s: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
+ wrong.lua:2  return n + 1
[..]   attempt to perform arithmetic on local 'n' (a boolean value)
= error at line 2: attempt to perform arithmetic on local 'n' (a boolean value)    2 lines, 1 redis call; nothing was changed
! rlctl: debug: running in this process; SERVER has no 'k'
[5]
$ write wrong.lua
< return redis.error_reply('MYERR no')
$ rlctl debug wrong.lua --trace -q
+ wrong.lua:1  return redis.error_reply('MYERR no')
= -MYERR no    1 line, 0 redis calls; nothing was changed
[5]
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
$ write counter.lua
< -- rlctl: args {limit} {window_ms}
< return ARGV
$ rlctl debug counter.lua --trace -q
+ counter.lua:2  return ARGV
= {"5", "60000"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug counter.lua --limit 3/10s --trace -q
+ counter.lua:2  return ARGV
= {"3", "10000"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug --ldb counter.lua --attach -s SERVER k -q
! rlctl: debug: --limit is missing: keys or args contain {limit} or {window}
! Try 'rlctl debug --help'.
[2]
$ write lease.lua
< -- rlctl: args {event} {holder} {limit} {lease_ms}
< return ARGV
$ rlctl debug lease.lua --trace -q
+ lease.lua:2  return ARGV
= {"acquire", "h1", "5", "60000"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug lease.lua --limit 2/30s --trace -q
+ lease.lua:2  return ARGV
= {"acquire", "h1", "2", "30000"}    1 line, 0 redis calls; nothing was changed
$ write hold.lua
< -- rlctl: args {event} {reservation} {cost} {actual} {hold_ms}
< return ARGV
$ rlctl debug hold.lua --cost 4 --trace -q
+ hold.lua:2  return ARGV
= {"reserve", "r1", "4", "0", "30000"}    1 line, 0 redis calls; nothing was changed
$ write event.lua
< -- rlctl: args {event}
< return ARGV
$ rlctl debug event.lua --trace -q
! rlctl: debug: it is not known what a holder asks event.lua for
!   hint: write the words in place of the placeholders: --args 'acquire h1 ...'
[2]
$ rlctl debug lease.lua --replay log
! rlctl: debug: it is not known what a holder asks lease.lua for
!   hint: write the words in place of the placeholders: --args 'acquire h1 ...'
[2]

## several KEYs before --args are the KEYS, whatever the head says
$ write keys.lua
< -- rlctl: keys rate:{key}
< -- rlctl: args {limit}
< return KEYS
$ rlctl debug keys.lua a --args 1 --trace -q
+ keys.lua:3  return KEYS
= {"rate:a"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug keys.lua a b --args 1 --trace -q
+ keys.lua:3  return KEYS
= {"a", "b"}    1 line, 0 redis calls; nothing was changed
$ rlctl debug keys.lua a b --limit 5/60s --trace -q
! rlctl: debug: {key} is one KEY, but there are 2
!   hint: write the keys in --keys
[2]
