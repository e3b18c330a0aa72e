# needs: server
# debug --ldb: Redis's own debugger; ldb.bats has what needs a terminal or a server that is in use.

## each command prints its answer
$ write tally.lua
< -- Counts requests.
< local key, limit = KEYS[1], tonumber(ARGV[1])
< local function take(n)
<   local got = redis.call('INCRBY', key, n)
<   redis.debug('got', got)
<   return got
< end
< local used = take(2)
< for i = 1, 2 do
<   used = used + i
< end
< return {1, limit - used, 'a'}
$ rlctl -u private: debug --ldb tally.lua k , 10
< # a comment
< step
< next
<
< print
< trace
< break 10
< break 12
< break
< continue
< print
< print got
< break -10
< continue
< break 0
< eval KEYS[1] .. #ARGV
< e 1.5
< redis GET k
< redis SET k 'a b' PX 9000000
< print key
< quit
* tally.lua:2, at the beginning
   1   -- Counts requests.
-> 2   local key, limit = KEYS[1], tonumber(ARGV[1])
   3   local function take(n)
   4     local got = redis.call('INCRBY', key, n)
* tally.lua:7
   5     redis.debug('got', got)
   6     return got
-> 7   end
   8   local used = take(2)
   9   for i = 1, 2 do
* tally.lua:8
   6     return got
   7   end
-> 8   local used = take(2)
   9   for i = 1, 2 do
   10    used = used + i
* tally.lua:4
   2   local key, limit = KEYS[1], tonumber(ARGV[1])
   3   local function take(n)
-> 4     local got = redis.call('INCRBY', key, n)
   5     redis.debug('got', got)
   6     return got
|   n: 2
tally.lua:4  in take: local got = redis.call('INCRBY', key, n)
tally.lua:8  in top level: local used = take(2)
breakpoint at 10: used = used + i
breakpoint at 12: return {1, limit - used, 'a'}
breakpoint at 10: used = used + i
breakpoint at 12: return {1, limit - used, 'a'}
|   debug> line 5: [..]got[..], 2
* tally.lua:10, breakpoint
   8   local used = take(2)
   9   for i = 1, 2 do
->#10    used = used + i
   11  end
  #12  return {1, limit - used, 'a'}
|   key: [..]k[..]
|   limit: 10
|   take: [..]function@[..]
|   used: 2
|   i: 1
[..]   no variable 'got' here
(Redis's debugger shows no upvalues; leave out --ldb)
breakpoint at 10 removed
* tally.lua:12, breakpoint
   10    used = used + i
   11  end
->#12  return {1, limit - used, 'a'}
all breakpoints removed
= [..]k1[..]
= 1.5
|   redis> GET k      "2"
|   redis> SET k "a b" PX 9000000      "+OK"
= "k"
! rlctl: debug: using an empty private server ([..])
! rlctl: debug: 1 of the commands failed; the first is line 12: 'print got'
[2]

## a variable is printed with the value that its name has, and without the digits that Redis rounds away
$ write shadow.lua
< local x, big = 1, 1700000000123456
< local function look(n)
<   return n
< end
< do
<   local x = 'inner'
<   look(x)
< end
< return x
$ rlctl -u private: debug -q --ldb shadow.lua k
< break 3
< break 7
< continue
< print x
< print big
< continue
< print n
< print KEYS
< print x
* shadow.lua:1, at the beginning
-> 1  local x, big = 1, 1700000000123456
   2  local function look(n)
   3    return n
breakpoint at 3: return n
breakpoint at 7: look(x)
* shadow.lua:7, breakpoint
   5  do
   6    local x = 'inner'
->#7    look(x)
   8  end
   9  return x
= "inner"
= 1.7e+15
(Redis's debugger rounds numbers to six digits; leave out --ldb)
* shadow.lua:3, breakpoint
   1  local x, big = 1, 1700000000123456
   2  local function look(n)
->#3    return n
   4  end
   5  do
= "inner"
= {"k"}
= 1
(Redis's debugger takes the first variable of this name in a calling function; leave out --ldb)

## a step shows the calls and the messages
$ write calls.lua
< redis.pcall('SET', KEYS[1], 'x')
< redis.pcall('GET', KEYS[1])
< redis.call('MSET', 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
< redis.breakpoint() redis.debug({a = 'b'}, nil)
< return redis.error_reply('MYERR no')
$ rlctl -u private: debug -q --ldb calls.lua k
< s
< eval redis.call('GET', KEYS[1])
< s
< s
< c
< c
* calls.lua:1, at the beginning
-> 1  redis.pcall('SET', KEYS[1], 'x')
   2  redis.pcall('GET', KEYS[1])
   3  redis.call('MSET', 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
|   redis> SET k x      "+OK"
* calls.lua:2
   1  redis.pcall('SET', KEYS[1], 'x')
-> 2  redis.pcall('GET', KEYS[1])
   3  redis.call('MSET', 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
   4  redis.breakpoint() redis.debug({a = 'b'}, nil)
= [..]x[..]
|   redis> GET k      "x"
* calls.lua:3
   1  redis.pcall('SET', KEYS[1], 'x')
   2  redis.pcall('GET', KEYS[1])
-> 3  redis.call('MSET', 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
   4  redis.breakpoint() redis.debug({a = 'b'}, nil)
   5  return redis.error_reply('MYERR no')
|   redis> MSET 1 1 2 2 3 3 4 4 5 ...      "+OK"
* calls.lua:4
   2  redis.pcall('GET', KEYS[1])
   3  redis.call('MSET', 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
-> 4  redis.breakpoint() redis.debug({a = 'b'}, nil)
   5  return redis.error_reply('MYERR no')
|   debug> line 4: {[..]b[..]}, nil
* calls.lua:5, redis.breakpoint()
   3  redis.call('MSET', 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6)
   4  redis.breakpoint() redis.debug({a = 'b'}, nil)
-> 5  return redis.error_reply('MYERR no')
= -MYERR no
  'k': not there → string, "x", no ttl
  '1': not there → string, "1", no ttl
  '2': not there → string, "2", no ttl
  '3': not there → string, "3", no ttl
  '4': not there → string, "4", no ttl
  '5': not there → string, "5", no ttl
  '6': not there → string, "6", no ttl
[5]

## what Redis's debugger cannot do is refused by name
$ write up.lua
< local up, t = 1, {1}
< local function f()
<   return t
< end
< local g = f
< f = nil
< return g()
$ rlctl -u private: debug -q --ldb up.lua
< watch x
< finish
< set x 1
< again
< info watches
< info breakpoints
< help watch
< bt
< break 3 if up == 1
< break 99
< break -0
< print t[1]
< print nope
< eval up
< eval 1 +
< redis GET
< redis nosuch
< continue
< step
< redis GET k
< info keys
< again
< step 3
< print g
* up.lua:1, at the beginning
-> 1  local up, t = 1, {1}
   2  local function f()
   3    return t
[..]   watch: Redis's debugger watches no values; leave out --ldb
[..]   finish: Redis's debugger does not know when a function returns; leave out --ldb
[..]   set: Redis's debugger changes no variables; leave out --ldb
[..]   again: the script has not ended; 'continue' resumes, 'restart' starts over
[..]   info: Redis's debugger watches no values; leave out --ldb
no breakpoints; 'break LINE' makes one
watch [EXPRESSION | -NUMBER | 0]: set, remove (0: all) or list watches
For example: watch redis.call('ZCARD', KEYS[1]); watch -1 removes it
Redis's debugger watches no values; leave out --ldb
[..]   unknown command 'bt': 'trace' shows the active functions
[..]   break: Redis's debugger has no conditions; leave out --ldb
[..]   break: nothing stops at line 99: the nearest that does is 7
[..]   break: '-0' is not a line number
[..]   print: Redis's debugger prints variables, not expressions; leave out --ldb
[..]   no variable 'nope' here
(Redis's debugger shows no upvalues; leave out --ldb)
[..]   ldb_eval:1: Script attempted to access nonexistent global variable 'up'
(Redis's debugger evaluates globals only; leave out --ldb)
[..]   ldb_eval:1: unexpected symbol near '1'
|   redis> GET[..]
[..]rong number of args[..]
|   redis> nosuch[..]
[..]nknown [..]
= {1}
no key was changed
[..]   the script has ended; 'again' calls it on the state that it left, 'restart' starts over
[..]   redis: Redis's debugger calls Redis only while a script stands still; leave out --ldb
the script has no KEYS
* up.lua:1, at the beginning
-> 1  local up, t = 1, {1}
   2  local function f()
   3    return t
* up.lua:4
   2  local function f()
   3    return t
-> 4  end
   5  local g = f
   6  f = nil
* up.lua:5
   3    return t
   4  end
-> 5  local g = f
   6  f = nil
   7  return g()
* up.lua:6
   4  end
   5  local g = f
-> 6  f = nil
   7  return g()
= [..]function@[..]
! rlctl: debug: 17 of the commands failed; the first is line 1: 'watch x'
[2]

## help lists the commands
$ write up.lua
< return 1
$ rlctl -u private: debug -q --ldb up.lua
< help break
< h
* up.lua:1, at the beginning
-> 1  return 1
break, b [LINE... | LINE if EXPRESSION | -LINE | 0]:
set, remove (0: all) or list breakpoints
For example: break 12 if count > 3; break -12 removes it
With --ldb, next is step, print shows only variables, eval sees only globals.
step, s [TIMES]             run this line
next, n [TIMES]             run this line, and the functions that it calls
continue, c                 run to a breakpoint, watch change or the end
list, l [LINE [AROUND]]     the source around this line, or another
whole, w                    all of the source
print, p [EXPRESSION]       all variables, or the value of t.a[2], count + 1
break, b [LINE... | LINE if EXPRESSION | -LINE | 0]
                            set, remove (0: all) or list breakpoints
info, i breakpoints|keys|locals|watches
                            list these
trace, t                    the active functions, innermost first
eval, e CODE                run Lua code in this function, as if it stood here
redis, r COMMAND [WORD...]  call Redis
maxlen, m [BYTES]           set how much of a value to show; 0: all
abort, a                    end the script with an error at this line
restart                     reload the script, start over on the original state
again                       after its end: call it on the state that it left
help, h [COMMAND]           list the commands, or explain one
quit, q                     leave
An empty line repeats the last command if it moved or showed something.
With --ldb, next is step, print shows only variables, eval sees only globals.
$ write up.lua
< return 1

## abort ends the script, and restart starts over on the original state
$ write steps.lua
< local n = redis.call('INCR', KEYS[1])
< return n
$ rlctl -u private: debug -q --ldb steps.lua k
< break 2
< continue
< abort
< restart
< continue
< continue
* steps.lua:1, at the beginning
-> 1  local n = redis.call('INCR', KEYS[1])
   2  return n
breakpoint at 2: return n
* steps.lua:2, breakpoint
   1  local n = redis.call('INCR', KEYS[1])
->#2  return n
= aborted at line 2
  'k': not there → string, "1", no ttl
* steps.lua:1, at the beginning
-> 1  local n = redis.call('INCR', KEYS[1])
  #2  return n
* steps.lua:2, breakpoint
   1  local n = redis.call('INCR', KEYS[1])
->#2  return n
= 1
  'k': not there → string, "1", no ttl
$ write caught.lua
< local ok = pcall(function()
<   redis.call('INCR', KEYS[1])
< end)
< return 7
$ rlctl -u private: debug -q --ldb caught.lua k
< break 2
< continue
< abort
* caught.lua:1, at the beginning
-> 1  local ok = pcall(function()
   2    redis.call('INCR', KEYS[1])
   3  end)
breakpoint at 2: redis.call('INCR', KEYS[1])
* caught.lua:2, breakpoint
   1  local ok = pcall(function()
->#2    redis.call('INCR', KEYS[1])
   3  end)
   4  return 7
(Redis's debugger cannot abort a script that catches errors; leave out --ldb)
= 7
no key was changed

## a script with an error, and one that does not compile
$ write wrong.lua
< local t
< return t.x
$ rlctl -u private: debug -q --ldb wrong.lua
< continue
* wrong.lua:2, at the beginning
   1  local t
-> 2  return t.x
= error at line 2: attempt to index local 't' (a nil value)
no key was changed
[5]
$ rlctl -u private: debug -q --ldb wrong.lua a b
< print
* wrong.lua:2, at the beginning
   1  local t
-> 2  return t.x
|   t: nil
$ write wrong.lua
< local x = 1
< return = x
$ rlctl -u private: debug -q --ldb wrong.lua
< step
= does not compile, line 2: unexpected symbol near '='
[5]
$ write wrong.lua
< return KEYS[3] .. ARGV[1]
$ rlctl -u private: debug -q --ldb wrong.lua a b
< continue
* wrong.lua:1, at the beginning
-> 1  return KEYS[3] .. ARGV[1]
= error at line 1: attempt to concatenate field '?' (a nil value)
no ARGV was given: write ' , ' (a comma between spaces) before the arguments
no key was changed
[5]

## a script that does not end stops after five seconds, and an evaluation that does not ends the session
$ write endless.lua
< while true do
<   local n = 1
< end
$ rlctl -u private: debug -q --ldb endless.lua
< continue
< eval while true do end
< step
* endless.lua:2, at the beginning
   1  while true do
-> 2    local n = 1
   3  end
* endless.lua:2, stopped
   1  while true do
-> 2    local n = 1
   3  end
(Redis's debugger stops a script that has run for five seconds; leave out --ldb)
= cut off: no answer within 2s
the session is over; 'restart' starts over
[..]   the script has ended; 'again' calls it on the state that it left, 'restart' starts over
! rlctl: debug: 1 of the commands failed; the first is line 3: 'step'
[1]

## keys are copied from a server that is named, and none from one that is not
$ write get.lua
< return redis.call('GET', KEYS[1])
$ redis SET k 5
OK
$ rlctl debug --ldb get.lua k
< continue
* get.lua:1, at the beginning
-> 1  return redis.call('GET', KEYS[1])
= "5"
no key was changed
! rlctl: debug: using a private server ([..]) with 'k' copied from SERVER
$ env RLCTL_URL=
$ rlctl debug --ldb get.lua k
< continue
* get.lua:1, at the beginning
-> 1  return redis.call('GET', KEYS[1])
= nil
no key was changed
! rlctl: debug: using an empty private server ([..])

## the script is called as other debuggers of rlctl call it
$ write args.lua
< -- rlctl: args {limit} {window_ms}
< return ARGV
$ rlctl -u private: debug -q --ldb args.lua k --limit 3/10s
< continue
* args.lua:2, at the beginning
   1  -- rlctl: args {limit} {window_ms}
-> 2  return ARGV
= {"3", "10000"}
no key was changed
$ rlctl -u private: debug -q --ldb gcra k --limit 5/60s --now 1000000000000000
< continue
* gcra.lua:[..], at the beginning
[..]
[..]
[..]
[..]
[..]
= {1, 4, 0, 12000000, 0, 0}
  'k': not there → string, 1 of 5 used, ttl [..]
$ write clock.lua
< return redis.call('TIME')
$ rlctl -u private: debug -q --ldb clock.lua --now 1000000000000000
! rlctl: debug: --now and --ldb cannot be combined: the script reads the server's clock
! Try 'rlctl debug --help'.
[2]

## info reads the keys at a stop, and again calls the script on the state that it left
$ write steps.lua
< local n = redis.call('INCR', KEYS[1])
< return n
$ rlctl -u private: debug -q --ldb steps.lua k
< step
< info keys
< continue
< again
< continue
* steps.lua:1, at the beginning
-> 1  local n = redis.call('INCR', KEYS[1])
   2  return n
|   redis> INCR k      1
* steps.lua:2
   1  local n = redis.call('INCR', KEYS[1])
-> 2  return n
'k': string, "1", no ttl
= 1
  'k': not there → string, "1", no ttl
* steps.lua:1, at the beginning
-> 1  local n = redis.call('INCR', KEYS[1])
   2  return n
= 2
  'k': string, "1" → "2", no ttl

## redis-cli is the same debugger
$ write get.lua
< return redis.call('GET', KEYS[1])
$ rlctl -s /s debug --ldb get.lua k , 1 --print-command
redis-cli -s /s --ldb --eval get.lua k , 1
