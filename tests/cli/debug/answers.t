# needs: server
# debug: what it tells is so, and what it cannot know it says.

## the arguments of a function are not known to code, and print takes expressions alone
$ write sum.lua
< local function f(...) return select('#', ...) end
< return f(1, 2, 3)
$ rlctl -u private: debug -q sum.lua
< b 1 if select('#', ...) == 3
< print ...
< print x = 5
< eval (function(...) return ... end)(7)
* sum.lua:1, at the beginning
-> 1  local function f(...) return select('#', ...) end
   2  return f(1, 2, 3)
[..]   break: 'select('#', ...) == 3' is not an expression: '...' is not known here: Lua does not tell the arguments of a function
[..]   print: '...' is not an expression: '...' is not known here: Lua does not tell the arguments of a function
[..]   print: 'x = 5' is not an expression: ')' expected near '='
= 7
! rlctl: debug: 3 of the commands failed; the first is line 1: 'b 1 if select('#', ...) == 3'
[2]

## a TTL that has changed by a little has changed, since the clock stands still, and values of keys are quoted
$ write extend.lua
< redis.call('PEXPIRE', KEYS[1], 60500)
$ rlctl -u private: debug -q extend.lua k --setup 'SET {key} "a\"b\\n" PX 60000' --trace
+ extend.lua:1  redis.call('PEXPIRE', KEYS[1], 60500)
|   redis> PEXPIRE k 60500      1
= nil    1 line, 1 redis call; 1 key was changed
  'k': string, "a\"b\\n", ttl 60.0 s → ttl 60.5 s

## a trace shows that a function was replaced, but no variable that was only hidden; redis.breakpoint() does not stop it
$ write replaced.lua
< local f, x = function() end, 1
< f = function() end
< do local x = 'inner'
<   local y = x end
< return redis.breakpoint()
$ rlctl -u private: debug -q replaced.lua --trace
+ replaced.lua:1  local f, x = function() end, 1
|   f: function
|   x: 1
+ replaced.lua:2  f = function() end
|   f: function
+ replaced.lua:3  do local x = 'inner'
|   x: "inner"
+ replaced.lua:4    local y = x end
+ replaced.lua:5  return redis.breakpoint()
= nil    5 lines, 0 redis calls; nothing was changed

## messages and stops of evaluated code are not the script's, and KEYS can be changed by its elements alone
$ write key.lua
< return KEYS[1]
$ rlctl -u private: debug -q key.lua k
< eval redis.debug('mine'), redis.breakpoint()
< set KEYS {}
< set KEYS[1] redis.debug('told') or 'other'
< continue
* key.lua:1, at the beginning
-> 1  return KEYS[1]
|   debug> "mine"
=1 nil
=2 false
[..]   only elements of KEYS can be set: set KEYS[1] 'a'
|   debug> "told"
= "other"
= "other"
no key was changed
! rlctl: debug: 1 of the commands failed; the first is line 2: 'set KEYS {}'
[2]
