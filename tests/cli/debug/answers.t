# needs: server
# debug: what it tells is so, and what it cannot know it says.

## the arguments of a function are not known to code
$ write sum.lua
< local function f(...)
<   return select('#', ...)
< end
< return f(1, 2, 3)
$ rlctl -u private: debug -q sum.lua
< b 2 if select('#', ...) == 3
< print ...
< eval (function(...) return ... end)(7)
< q
* sum.lua:3, at the beginning
   1  local function f(...)
   2    return select('#', ...)
-> 3  end
   4  return f(1, 2, 3)
[..]   break: 'select('#', ...) == 3' is not an expression: '...' is not known here: Lua does not tell the arguments of a function
[..]   print: '...' is not an expression: '...' is not known here: Lua does not tell the arguments of a function
= 7
! rlctl: debug: 2 of the commands failed; the first is line 1: 'b 2 if select('#', ...) == 3'
[2]

## a TTL that has changed by a little has changed, since the clock stands still
$ write extend.lua
< redis.call('PEXPIRE', KEYS[1], 60500)
$ rlctl -u private: debug -q extend.lua k --setup 'SET {key} v PX 60000' --trace
+ extend.lua:1  redis.call('PEXPIRE', KEYS[1], 60500)
|   redis> PEXPIRE k 60500      1
= nil    1 line, 1 redis call; 1 key was changed
  'k': string, "v", ttl 60.0 s → ttl 60.5 s

## redis.breakpoint() stops nothing in a trace
$ write breakpoint.lua
< if redis.breakpoint() then return 'debugged' end
< return 'as for a client'
$ rlctl -u private: debug -q breakpoint.lua --trace
+ breakpoint.lua:1  if redis.breakpoint() then return 'debugged' end
+ breakpoint.lua:2  return 'as for a client'
= "as for a client"    2 lines, 0 redis calls; nothing was changed

## a function that is replaced by another one has changed, and a variable that was hidden has not
$ write replaced.lua
< local f = function() return 1 end
< f = function() return 2 end
< local x = 1
< do
<   local x = 'inner'
<   local y = x
< end
< return x
$ rlctl -u private: debug -q replaced.lua --trace
+ replaced.lua:1  local f = function() return 1 end
|   f: function
+ replaced.lua:2  f = function() return 2 end
|   f: function
+ replaced.lua:3  local x = 1
|   x: 1
+ replaced.lua:5    local x = 'inner'
|   x: "inner"
+ replaced.lua:6    local y = x
+ replaced.lua:8  return x
= 1    6 lines, 0 redis calls; nothing was changed

## messages that are left out are counted, and those of evaluated code are not the script's
$ write messages.lua
< for i = 1, 30 do
<   redis.debug(i)
< end
< return 1
$ rlctl -u private: debug -q messages.lua
< b 4
< continue
< eval redis.debug('mine'), redis.breakpoint()
< continue
* messages.lua:1, at the beginning
-> 1  for i = 1, 30 do
   2    redis.debug(i)
   3  end
breakpoint at 4: return 1
|   10 messages before these
|   debug> 11
|   debug> 12
|   debug> 13
|   debug> 14
|   debug> 15
|   debug> 16
|   debug> 17
|   debug> 18
|   debug> 19
|   debug> 20
|   debug> 21
|   debug> 22
|   debug> 23
|   debug> 24
|   debug> 25
|   debug> 26
|   debug> 27
|   debug> 28
|   debug> 29
|   debug> 30
* messages.lua:4, breakpoint
   2    redis.debug(i)
   3  end
->#4  return 1
|   debug> "mine"
=1 nil
=2 false
= 1
no key was changed

## the values of keys are quoted
$ write quotes.lua
< redis.call('SET', KEYS[1], 'a"b\\n')
$ rlctl -u private: debug -q quotes.lua k --trace
+ quotes.lua:1  redis.call('SET', KEYS[1], 'a"b\\n')
|   redis> SET k "a\"b\\n"      "+OK"
= nil    1 line, 1 redis call; 1 key was changed
  'k': not there → string, "a\"b\\n", no ttl

## print takes expressions alone, and KEYS can be changed by its elements alone
$ write key.lua
< return KEYS[1]
$ rlctl -u private: debug -q key.lua k
< print x = 5
< print 1, 2
< set KEYS {}
< set KEYS[1] 'other'
< continue
* key.lua:1, at the beginning
-> 1  return KEYS[1]
[..]   print: 'x = 5' is not an expression: ')' expected near '='
=1 1
=2 2
[..]   only elements of KEYS can be set: set KEYS[1] 'a'
= "other"
= "other"
no key was changed
! rlctl: debug: 2 of the commands failed; the first is line 1: 'print x = 5'
[2]
