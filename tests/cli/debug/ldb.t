# needs: server
# debug --ldb: Redis's own debugger; repl.t has how commands are read and answered, ldb.bats what needs a terminal or a
# server that is killed, and ldb_endless.t scripts that do not end.

## each command prints its answer, next is step, and where Redis's debugger may mislead, a note says so
$ write tally.lua
< local key, big = KEYS[1], 1700000000123456
< local function take(n)
<   return redis.call('INCRBY', KEYS[1], n)
< end
< do local key = 2
<   take(key)
< end
< return key
$ rlctl -u private: debug --ldb tally.lua k , 10
< break 5 6
< c
< break -5
< next
< print key
< print take
< print big
< n
< print
< print key
< print nope
< print KEYS
< t
< eval KEYS[1] .. #ARGV
< e 1.5
< redis SET other 'a b'
< redis GET
< redis SET k 5
< info keys
< break 0
< list 1
< c
* tally.lua:1, at the beginning
-> 1  local key, big = KEYS[1], 1700000000123456
   2  local function take(n)
   3    return redis.call('INCRBY', KEYS[1], n)
breakpoint at 5: do local key = 2
breakpoint at 6: take(key)
* tally.lua:5, breakpoint
   3    return redis.call('INCRBY', KEYS[1], n)
   4  end
->#5  do local key = 2
  #6    take(key)
   7  end
breakpoint at 5 removed
* tally.lua:6, breakpoint
   4  end
   5  do local key = 2
->#6    take(key)
   7  end
   8  return key
= 2
= [..]function@[..]
= 1.7e+15
(Redis's debugger rounds numbers to six digits; leave out --ldb)
* tally.lua:3
   1  local key, big = KEYS[1], 1700000000123456
   2  local function take(n)
-> 3    return redis.call('INCRBY', KEYS[1], n)
   4  end
   5  do local key = 2
|   n: 2
= [..]k[..]
(Redis's debugger takes the first variable of this name in a calling function; leave out --ldb)
[..]   no variable 'nope' here
(Redis's debugger shows no upvalues; leave out --ldb)
= {[..]k[..]}
tally.lua:3  in take: return redis.call('INCRBY', KEYS[1], n)
tally.lua:6  in top level: take(key)
= [..]k1[..]
= 1.5
|   redis> SET other "a b"      "+OK"
|   redis> GET[..]
[..]rong number of args[..]
|   redis> SET k 5      "+OK"
'k': string, "5", no ttl
all breakpoints removed
   1  local key, big = KEYS[1], 1700000000123456
   2  local function take(n)
-> 3    return redis.call('INCRBY', KEYS[1], n)
   4  end
   5  do local key = 2
   6    take(key)
= "k"
  'k': not there → string, "7", no ttl
  'other': not there → string, "a b", no ttl
! rlctl: debug: using an empty private server ([..])
! rlctl: debug: 2 of the commands failed; the first is line 11: 'print nope'
[2]

## a step shows the calls and the messages
$ write calls.lua
< redis.call('DEL', 'a b', 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
< redis.breakpoint() redis.debug({a = 'b'}, nil)
< return redis.error_reply('MYERR no')
$ rlctl -u private: debug -q --ldb calls.lua k --setup 'SET {key} x'
< s
< c
< c
* calls.lua:1, at the beginning
-> 1  redis.call('DEL', 'a b', 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
   2  redis.breakpoint() redis.debug({a = 'b'}, nil)
   3  return redis.error_reply('MYERR no')
|   redis> DEL a b 2 3 4 5 6 7 8 9 ...      0
* calls.lua:2
   1  redis.call('DEL', 'a b', 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
-> 2  redis.breakpoint() redis.debug({a = 'b'}, nil)
   3  return redis.error_reply('MYERR no')
|   debug> line 2: {[..]b[..]}, nil
* calls.lua:3, redis.breakpoint()
   1  redis.call('DEL', 'a b', 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
   2  redis.breakpoint() redis.debug({a = 'b'}, nil)
-> 3  return redis.error_reply('MYERR no')
= -MYERR no
no key was changed
[5]

## what Redis's debugger cannot do is refused by name, and help does not list those commands
$ write up.lua
< local up, t = 1, {1} return up, t
$ rlctl -u private: debug -q --ldb up.lua
< watch x
< finish
< set x 1
< info watches
< break 1 if up == 1
< print t[1]
< eval up
< eval 1 +
< continue
< redis GET k
< info keys
< help watch
< help n
< h
* up.lua:1, at the beginning
-> 1  local up, t = 1, {1} return up, t
[..]   watch: Redis's debugger watches no values; leave out --ldb
[..]   finish: Redis's debugger does not know when a function returns; leave out --ldb
[..]   set: Redis's debugger changes no variables; leave out --ldb
[..]   info: Redis's debugger watches no values; leave out --ldb
[..]   break: Redis's debugger has no conditions; leave out --ldb
[..]   print: Redis's debugger prints variables, not expressions; leave out --ldb
[..]   ldb_eval:1: Script attempted to access nonexistent global variable 'up'
(Redis's debugger evaluates globals only; leave out --ldb)
[..]   ldb_eval:1: unexpected symbol near '1'
= 1
no key was changed
[..]   redis: Redis's debugger calls Redis only while a script stands still; leave out --ldb
the script has no KEYS
watch [EXPRESSION | -NUMBER | 0]: set, remove (0: all) or list watches
For example: watch redis.call('ZCARD', KEYS[1]); watch -1 removes it
Redis's debugger watches no values; leave out --ldb
next, n [TIMES]: run this line, and the functions that it calls
For example: next
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
! rlctl: debug: 9 of the commands failed; the first is line 1: 'watch x'
[2]

## abort ends the script, restart starts over on the original state, and again on the one that the script left
$ write steps.lua
< local n = redis.call('INCR', KEYS[1])
< return n
$ rlctl -u private: debug -q --ldb steps.lua k
< step
< abort
< restart
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
= aborted at line 2
  'k': not there → string, "1", no ttl
* steps.lua:1, at the beginning
-> 1  local n = redis.call('INCR', KEYS[1])
   2  return n
= 1
  'k': not there → string, "1", no ttl
* steps.lua:1, at the beginning
-> 1  local n = redis.call('INCR', KEYS[1])
   2  return n
= 2
  'k': string, "1" → "2", no ttl
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
< return KEYS[3] .. ARGV[1]
$ rlctl -u private: debug -q --ldb wrong.lua a b
< continue
* wrong.lua:1, at the beginning
-> 1  return KEYS[3] .. ARGV[1]
= error at line 1: attempt to concatenate field '?' (a nil value)
no ARGV was given: write ' , ' (a comma between spaces) before the arguments
no key was changed
[5]
$ write wrong.lua
< return = 1
$ rlctl -u private: debug -q --ldb wrong.lua
< step
= does not compile, line 1: unexpected symbol near '='
[5]

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

## a bundled script gets its arguments from the options; a script that reads the clock takes no --now
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

## with --attach, the script runs in a fork of the server, and nothing that is written is kept; what may not end is refused
$ write incr.lua
< return redis.call('INCR', KEYS[1]) + #ARGV
$ redis MSET k 5 other 7
OK
$ rlctl debug --ldb incr.lua k , a --attach
< eval while true do end
< redis FLUSHALL
< continue
< restart
< continue
* incr.lua:1, at the beginning
-> 1  return redis.call('INCR', KEYS[1]) + #ARGV
[..]   eval: on a server that is not private, loops, functions and rep() are refused: nothing could stop them
|   redis> FLUSHALL      "+OK"
= 2
in a fork: nothing was kept
* incr.lua:1, at the beginning
-> 1  return redis.call('INCR', KEYS[1]) + #ARGV
= 7
in a fork: nothing was kept
! rlctl: debug: running in a fork of SERVER: it keeps serving, and nothing that is written is kept
! rlctl: debug: 1 of the commands failed; the first is line 1: 'eval while true do end'
[2]
$ keys
k string persistent 5
other string persistent 7

## with --sync, writes are kept, also those of a script that is left
$ write incr.lua
< return redis.call('INCR', KEYS[1])
$ rlctl debug -q --ldb incr.lua k --attach --sync
! rlctl: debug: --sync stops all of SERVER at every line: it serves no other client meanwhile, and what incr.lua writes is kept; refusing without --yes
!   hint: without --sync, the server keeps running and no writes are kept
[2]
$ rlctl debug -q --ldb incr.lua k --attach --sync --yes
< continue
* incr.lua:1, at the beginning
-> 1  return redis.call('INCR', KEYS[1])
= 1
what was written is kept
$ rlctl debug -q --ldb incr.lua k --attach --sync --yes
< quit
* incr.lua:1, at the beginning
-> 1  return redis.call('INCR', KEYS[1])
! rlctl: debug: the script continues to its end in the server, and what it writes is kept
$ redis GET k
2
