# needs: server
# Commands of debug that come from a pipe or a file. repl.bats has edits of the script between them and Ctrl-C,
# terminal.bats has those that are typed, and examples/debugging a whole session.

## each command prints its answer, under its name or its letter, without a prompt, colours and raw escape sequences
$ env TERM=xterm
$ write take.lua
< local key = KEYS[1]
< local function take(cost) return redis.call('INCRBY', key, cost) end
< local first = take(2)
< return first
$ rlctl -u private: debug -q take.lua lim
< # Each command, as a word or a letter.
< help next
< info breakpoints
< next 2
< b 3
< break 2 if cost == 99
< i b
< step
< l 1 0
<
< p
< print cost, cost + 1
< print '\27[31m'
< t
< watch cost
< watch nothing
< i watches
< redis SET other 'a b'
< r INCR other
< redis INCR n
<
< r GET n
< info keys
< eval 1, nil, 'two'
< e cost = 7
< m
< maxlen 60
< e ('x'):rep(100)
< maxlen 0
< -- no such command
< break -3
< watch -1
< watch 0
< watch
< break 0
< f
< finish
< info locals
< p
< redis GET lim
< break
< w
< q
< print 'never answered'
* take.lua:1, at the beginning
-> 1  local key = KEYS[1]
   2  local function take(cost) return redis.call('INCRBY', key, cost) end
   3  local first = take(2)
next, n [TIMES]: run this line, and the functions that it calls
For example: next
no breakpoints; 'break LINE' makes one
|   key: "lim"
* take.lua:2
   1  local key = KEYS[1]
-> 2  local function take(cost) return redis.call('INCRBY', key, cost) end
   3  local first = take(2)
   4  return first
|   take: function
* take.lua:3
   1  local key = KEYS[1]
   2  local function take(cost) return redis.call('INCRBY', key, cost) end
-> 3  local first = take(2)
   4  return first
breakpoint at 3: local first = take(2)
breakpoint at 2 if cost == 99: local function take(cost) return redis.call('INCRBY', key, cost) end
breakpoint at 2 if cost == 99: local function take(cost) return redis.call('INCRBY', key, cost) end
breakpoint at 3: local first = take(2)
|   cost: 2
* take.lua:2
   1  local key = KEYS[1]
->#2  local function take(cost) return redis.call('INCRBY', key, cost) end
  #3  local first = take(2)
   4  return first
   1  local key = KEYS[1]
   1  local key = KEYS[1]
|   cost: 2
|   key: "lim"
=1 2
=2 3
= "\027[31m"
take.lua:2  in take: local function take(cost) return redis.call('INCRBY', key, cost) end
take.lua:3  in top level: local first = take(2)
watch 1: cost: 2
watch 2: nothing: nil
watch 1: cost: 2
watch 2: nothing: nil
|   redis> SET other "a b"      "+OK"
|   redis> INCR other
[..]   value is not an integer or out of range
|   redis> INCR n      1
|   redis> GET n      "1"
'lim': no such key
=1 1
=2 nil
=3 "two"
(no value)
256 bytes of a value are shown
60 bytes of a value are shown
= "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx ...
values are shown in full
[..]   unknown command '--'; 'help' lists them
breakpoint at 3 removed
watch 1 removed
all watches removed
no watches; 'watch EXPRESSION' makes one
all breakpoints removed
|   redis> INCRBY lim 7      7
|   first: 7
* take.lua:4
   2  local function take(cost) return redis.call('INCRBY', key, cost) end
   3  local first = take(2)
-> 4  return first
= 7
  'lim': not there → string, "7", no ttl
  'n': not there → string, "1", no ttl
  'other': not there → string, "a b", no ttl
[..]   the script has ended; 'again' calls it on the state that it left, 'restart' starts over
[..]   the script has ended; 'again' calls it on the state that it left, 'restart' starts over
|   redis> GET lim      "7"
no breakpoints; 'break LINE' makes one
   1  local key = KEYS[1]
   2  local function take(cost) return redis.call('INCRBY', key, cost) end
   3  local first = take(2)
   4  return first
! rlctl: debug: 4 of the commands failed; the first is line 19: 'r INCR other'
[2]

## step takes a number of lines, and stops earlier if there is a reason, such as a condition that cannot be evaluated
$ write count.lua
< local n = {}
< n.x = 1
< return n
$ rlctl -u private: debug -q count.lua
< break 3 if n.y.z
< watch #5
< step 9
* count.lua:1, at the beginning
-> 1  local n = {}
   2  n.x = 1
   3  return n
breakpoint at 3 if n.y.z: return n
watch 1: #5: (error: attempt to get length of a number value)
|   n: {}
* count.lua:2
   1  local n = {}
-> 2  n.x = 1
  #3  return n
|   n: {x = 1}
[..]   the breakpoint's condition: attempt to index field 'y' (a nil value)
* count.lua:3, breakpoint if n.y.z
   1  local n = {}
   2  n.x = 1
->#3  return n

## an invalid command prints an error, and the session continues
$ write one.lua
< local i = 1
< return i
$ rlctl -u private: debug -q one.lua
< frobnicate
< delete 3
< step 0
< list x
< list 5 5 5
< list 99
< break x
< break 1 x
< break 1 if
< break 1 if i =
< break -2147483648
< break -0
< watch -1
< info
< info x
< eval
< redis
< redis 'open
< maxlen -1
< maxlen 10
< maxlen x
< watch i +
< until
< bt
< eval while true do end
< continue 12
< restart x
< quit x
* one.lua:1, at the beginning
-> 1  local i = 1
   2  return i
[..]   unknown command 'frobnicate'; 'help' lists them
[..]   unknown command 'delete': 'break -LINE' and 'watch -NUMBER' remove one, 0 all
[..]   step: TIMES must be at least 1, not '0'
[..]   list: 'x' is not a line number
[..]   list: expected at most LINE and AROUND
[..]   list: the script has 2 lines
[..]   break: 'x' is not a line number
breakpoint at 1: local i = 1
[..]   break: 'x' is not a line number
[..]   break: EXPRESSION is missing: 'break 12 if count > 3'
[..]   break: 'i =' is not an expression: '<eof>' expected near '='
[..]   break: '-2147483648' is not a line number
[..]   break: '-0' is not a line number
[..]   watch: there is no watch 1
[..]   info: expected one of breakpoints, keys, locals or watches
[..]   info: 'x' is not one of breakpoints, keys, locals or watches
[..]   eval: CODE is missing: 'eval #KEYS'
[..]   redis: COMMAND is missing: 'redis GET key'
[..]   redis: ''open' has a quote that is not closed: '
[..]   maxlen: BYTES must be from 0 to 2147483647, not -1
[..]   maxlen: BYTES must be at least 60, not 10; 0 shows all
[..]   maxlen: BYTES must be a whole number in decimal digits, not 'x'
[..]   watch: 'i +' is not an expression: unexpected symbol near '<eof>'
[..]   unknown command 'until': 'break LINE', then 'continue'
[..]   unknown command 'bt': 'trace' shows the active functions
[..]   it ran for more than 100000000 instructions
[..]   continue: unexpected argument '12'
[..]   restart: unexpected argument 'x'
[..]   quit: unexpected argument 'x'
! rlctl: debug: 28 of the commands failed; the first is line 1: 'frobnicate'
[2]

## a command file that cannot be read is refused, and one with invalid commands is named
$ write none.lua
< return KEYS.none.x
$ env RLCTL_URL=private:
$ rlctl debug -q none.lua --commands nowhere
! rlctl: debug: cannot open 'nowhere': no such file or directory
[2]
$ write commands
< # a comment
< brek 5
< break 99
$ rlctl debug -q none.lua --commands commands
* none.lua:1, at the beginning
-> 1  return KEYS.none.x
[..]   unknown command 'brek'; did you mean 'break'?
[..]   break: nothing stops at line 99: the nearest that does is 1
! rlctl: debug: 2 of the commands failed; the first is line 2 of commands: 'brek 5'
[2]

## only an error of the last run fails a session, and takes precedence over failed commands
$ write none.lua
< return KEYS.none.x
$ env RLCTL_URL=private:
$ rlctl debug -q none.lua
< brek
< continue
* none.lua:1, at the beginning
-> 1  return KEYS.none.x
[..]   unknown command 'brek'; did you mean 'break'?
= error at line 1: attempt to index field 'none' (a nil value)
no KEYS were given
no key was changed
! rlctl: debug: 1 of the commands failed; the first is line 1: 'brek'
[5]
$ rlctl debug -q none.lua
< continue
< restart
< abort
* none.lua:1, at the beginning
-> 1  return KEYS.none.x
= error at line 1: attempt to index field 'none' (a nil value)
no KEYS were given
no key was changed
* none.lua:1, at the beginning
-> 1  return KEYS.none.x
= aborted at line 1
no key was changed

## restart begins with the same state and time, and keeps the breakpoints; again calls the script on the state that it left
$ write incr.lua
< return {redis.call('INCR', KEYS[1]), redis.call('TIME')[1]}
$ redis SET k 40 PX 105000
OK
$ redis RPUSH other a
1
$ rlctl debug -q incr.lua k other --now 1795155075000007
< again
< break 1
< redis DEL other
< continue
< again
< c
< restart
< info keys
< c
* incr.lua:1, at the beginning
-> 1  return {redis.call('INCR', KEYS[1]), redis.call('TIME')[1]}
[..]   again: the script has not ended; 'continue' resumes, 'restart' starts over
breakpoint at 1: return {redis.call('INCR', KEYS[1]), redis.call('TIME')[1]}
|   redis> DEL other      1
|   redis> INCR k      41
|   redis> TIME      ["1795155075","7"]
= {41, "1795155075"}
  'k': string, "40" → "41", ttl 10[..] s
  'other': list, 1 element: "a", no ttl → removed
* incr.lua:1, at the beginning
->#1  return {redis.call('INCR', KEYS[1]), redis.call('TIME')[1]}
|   redis> INCR k      42
|   redis> TIME      ["1795155075","7"]
= {42, "1795155075"}
  'k': string, "41" → "42", ttl 10[..] s
* incr.lua:1, at the beginning
->#1  return {redis.call('INCR', KEYS[1]), redis.call('TIME')[1]}
'k': string, "40", ttl 10[..] s
'other': list, ["a"], no ttl
|   redis> INCR k      41
|   redis> TIME      ["1795155075","7"]
= {41, "1795155075"}
  'k': string, "40" → "41", ttl 10[..] s
! rlctl: debug: 1 of the commands failed; the first is line 1: 'again'
[2]
$ redis GET k
40

## a script may run for very many lines, to a condition and to its end
$ write many.lua
< local s = 0
< for i = 1, 100001 do
<   s = s + i
< end
< return s
$ rlctl -u private: debug -q many.lua
< break 3 if i == 100000
< continue
< print s
< break 0
< continue
* many.lua:1, at the beginning
-> 1  local s = 0
   2  for i = 1, 100001 do
   3    s = s + i
breakpoint at 3 if i == 100000: s = s + i
|   s: 4999950000
|   i: 100000
* many.lua:3, breakpoint if i == 100000
   1  local s = 0
   2  for i = 1, 100001 do
->#3    s = s + i
   4  end
   5  return s
= 4999950000
all breakpoints removed
= 5000150001
no key was changed

## what this process does not have ends the script, and names --ldb
$ write sort.lua
< return redis.call('SORT', KEYS[1])
$ rlctl -u private: debug -q sort.lua k
< continue
< redis SORT k
* sort.lua:1, at the beginning
-> 1  return redis.call('SORT', KEYS[1])
= ended early at line 1: SORT is not implemented here; --ldb runs the script on a server
no key was changed
[..]   redis: SORT is not implemented here
! rlctl: debug: 1 of the commands failed; the first is line 2: 'redis SORT k'
[2]
