# needs: server
# Libraries of Redis functions, under burst and debug.

## a function of a library is a limiter like any script
$ write mylib.lua
< #!lua name=mylib
< local function take(keys, args)
<   local now = redis.call('TIME')
<   local key = keys[1] .. ':' .. math.floor(now[1] / args[2])
<   local count = redis.call('INCR', key)
<   redis.call('EXPIRE', key, args[2])
<   return count <= tonumber(args[1]) and 1 or 0
< end
< redis.register_function('take', take)
$ rlctl adversary --tries 500 mylib.lua --args '{limit} {window_s}' -q --assert 'worst<2'
! rlctl: adversary: assertion 'worst<2' does not hold: mylib.lua has 2
[1]
$ rlctl burst steady --rate 1/s --duration 5m --limit 5/60s mylib.lua --head 'function take' --args '{limit} {window_s}' -q --assert sent==300 --assert allowed==25
$ write c.toml
< [script.take]
< file = "mylib.lua"
< function = "take"
< args = "{limit} {window_s}"
$ rlctl --config c.toml adversary --tries 500 take -q --assert 'worst<2'
! rlctl: adversary: assertion 'worst<2' does not hold: take has 2
[1]

## the function is chosen by its name
$ write mylib.lua
< #!lua name=mylib
< redis.register_function('take', function() return 1 end)
< redis.register_function{function_name='other', callback=function() return 1 end}
$ rlctl burst mylib.lua
! rlctl: burst: function: mylib.lua has several functions: take, other
!   hint: choose one with --head 'function NAME'
[2]
$ rlctl burst mylib.lua --head 'function tkae'
! rlctl: burst: --head function: mylib.lua has no function 'tkae'; did you mean 'take'?
!   hint: it has take, other
[2]
$ write script.lua
< return 1
$ rlctl burst script.lua --head 'function take'
! rlctl: burst: --head function: script.lua is not a library of functions: its first line is not "#!lua name=..."
! Try 'rlctl burst --help'.
[2]

## a library is not loaded on a named server, where others may use one of that name
$ write mylib.lua
< #!lua name=mylib
< redis.register_function('take', function() return 1 end)
$ rlctl burst mylib.lua --args '{limit} {window_s}' -u SERVER
! rlctl: burst: mylib.lua is a library of functions, which is not loaded into a server that others use: FUNCTION LOAD would replace a library of theirs
!   hint: leave out --url, --host, --port and --socket
[2]

## debug runs a function, line by line
$ write mylib.lua
< #!lua name=mylib
< redis.register_function('take', function(keys, args)
<   return redis.call('INCR', keys[1]) <= tonumber(args[1]) and 1 or 0
< end)
$ rlctl -u private: debug mylib.lua k --args 5 --trace -q
+ mylib.lua:2  redis.register_function('take', function(keys, args)
+ mylib.lua:4  end)
+ mylib.lua:2  redis.register_function('take', function(keys, args)
|   keys: {"k"}
|   args: {"5"}
+ mylib.lua:3    return redis.call('INCR', keys[1]) <= tonumber(args[1]) and 1 or 0
|   redis> INCR k      1
= 1    4 lines, 1 redis call; 1 key was changed
  'k': not there → string, "1", no ttl
$ rlctl -u private: debug mylib.lua k --args 5 --commands - -q
< b 3
< c
< p keys[1]
* mylib.lua:2, at the beginning
   1  #!lua name=mylib
-> 2  redis.register_function('take', function(keys, args)
   3    return redis.call('INCR', keys[1]) <= tonumber(args[1]) and 1 or 0
   4  end)
breakpoint at 3: return redis.call('INCR', keys[1]) <= tonumber(args[1]) and 1 or 0
|   keys: {"k"}
|   args: {"5"}
* mylib.lua:3, breakpoint
   1  #!lua name=mylib
   2  redis.register_function('take', function(keys, args)
->#3    return redis.call('INCR', keys[1]) <= tonumber(args[1]) and 1 or 0
   4  end)
= "k"
$ rlctl -u private: debug mylib.lua k --args 5 --coverage -q
        #!lua name=mylib
    2x  redis.register_function('take', function(keys, args)
    1x    return redis.call('INCR', keys[1]) <= tonumber(args[1]) and 1 or 0
    1x  end)
3 of 3 lines reached (100.0 %)

## flags that no server knows are ignored by burst and debug, with a warning
$ write flagged.lua
< #!lua flags=allow-key-locking
< return redis.call("INCR", KEYS[1])
$ rlctl burst flagged.lua --limit 5/60s -q --allowed-when '<=limit' --args '{now}'
! rlctl: burst: warning: flagged.lua: ignored the flag allow-key-locking, which this server does not know
$ rlctl adversary --tries 200 flagged.lua --args '{now}' -q
! rlctl: adversary: warning: flagged.lua: ignored the flag allow-key-locking, which this server does not know
! rlctl: adversary: warning: flagged.lua: the replies fit the limit if they are read with --allowed-when 'r <= limit'
$ rlctl -u private: debug flagged.lua k --trace
+ flagged.lua:2  return redis.call("INCR", KEYS[1])
|   redis> INCR k      1
= 1    1 line, 1 redis call; 1 key was changed
  'k': not there → string, "1", no ttl
! rlctl: debug: warning: flagged.lua: ignored the flag allow-key-locking, which this server does not know
! rlctl: debug: running in this process, on no keys
