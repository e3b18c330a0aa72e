# needs: server
# Each report of debug as a whole; repl.bats has the commands.

## a trace
$ copy examples/pitfalls/five-second-counter.lua
$ rlctl debug five-second-counter.lua k --trace
+ five-second-counter.lua:12  local count = redis.call('INCR', KEYS[1])
|   redis> INCR k      1
|   count: 1
+ five-second-counter.lua:13  if count == 1 then redis.call('EXPIRE', KEYS[1], 6) end
|   redis> EXPIRE k 6      1
+ five-second-counter.lua:14  return count
= 1    3 lines, 2 redis calls; 1 key was changed
  'k': not there → string, "1", ttl [..] s
! rlctl: debug: using a private server (Redis [..]); SERVER has no 'k'
$ rlctl debug five-second-counter.lua k --trace --json
{"event":"line","line":12,"source":"local count = redis.call('INCR', KEYS[1])"}
{"event":"call","line":12,"command":["INCR","k"],"exact":true,"reply":"1","error":null}
{"event":"local","line":12,"name":"count","value":"1","exact":true}
{"event":"line","line":13,"source":"if count == 1 then redis.call('EXPIRE', KEYS[1], 6) end"}
{"event":"call","line":13,"command":["EXPIRE","k","6"],"exact":true,"reply":"1","error":null}
{"event":"line","line":14,"source":"return count"}
{"event":"result","ending":"returned","value":"1","error":null,"error_line":null,"lines":3,"calls":2,"exact":true}
{"event":"key","key":"k","before":null,"after":"string, \"1\", ttl [..] s","changed":true}
! rlctl: debug: using a private server (Redis [..]); SERVER has no 'k'

## step by step, from a pipe
$ copy examples/pitfalls/five-second-counter.lua
$ rlctl debug five-second-counter.lua k
< next
< print
< trace
< info keys
< continue
* five-second-counter.lua:12, at the beginning
   10  -- > sliding-window-log 20 10 10 10 1.00×
   11
-> 12  local count = redis.call('INCR', KEYS[1])
   13  if count == 1 then redis.call('EXPIRE', KEYS[1], 6) end
   14  return count
|   redis> INCR k      1
|   count: 1
* five-second-counter.lua:13
   11
   12  local count = redis.call('INCR', KEYS[1])
-> 13  if count == 1 then redis.call('EXPIRE', KEYS[1], 6) end
   14  return count
|   count: 1
five-second-counter.lua:13  in top level: if count == 1 then redis.call('EXPIRE', KEYS[1], 6) end
'k': string, "1", no ttl
|   redis> EXPIRE k 6
= 1
  'k': not there → string, "1", ttl [..] s
! rlctl: debug: using a private server (Redis [..]); SERVER has no 'k'

## coverage of a log
$ copy examples/pitfalls/minute-counter.lua
$ copy examples/pitfalls/minute-counter.log
$ rlctl debug minute-counter.lua --keys '{key}:{window_index}' --args '{limit} {window_s}' --allowed-when nil --limit 3/60s --replay minute-counter.log --coverage
        -- A counter for each minute, under a key that contains the number of the minute. Replies true to deny
        -- the request, else false.
        --
        -- What goes wrong: each minute starts at zero. Two requests at 10:01:59 and two by 10:02:01 pass a
        -- limit of three a minute. A thousand at the end of a minute and a thousand at the start of the next
        -- pass a limit of a thousand: 2000 within 20 ms.
        --
        -- $ rlctl burst boundary --limit 1000/60s \
        --     --script minute-counter.lua --keys '{key}:{window_index}' --args '{limit} {window_s}' \
        --     --allowed-when nil --algorithm sliding-window-log
        -- > minute-counter.lua 2000 2000 0 2000 2.00× 19.99 ms
        -- > sliding-window-log 2000 1000 1000 1000 1.00×
        -- $ rlctl burst --replay minute-counter.log --limit 3/60s \
        --     --script minute-counter.lua --keys '{key}:{window_index}' --args '{limit} {window_s}' \
        --     --allowed-when nil --algorithm sliding-window-log
        -- > minute-counter.lua 4 4 0 0.000 % 4 1.33× 2 s
        -- > sliding-window-log 4 3 1 25.000 % 3 1.00×

    4x  local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

    4x  local count = tonumber(redis.call('GET', key) or 0)
    4x  if count >= limit then return true end
    4x  redis.call('INCR', key)
    4x  redis.call('EXPIRE', key, window)
    4x  return false
6 of 6 lines reached (100.0 %) by 4 requests
! rlctl: debug: using a private server (Redis [..]), empty at first

## a script with an error
$ write wrong.lua
< local n = redis.call('GET', KEYS[1])
< return n + 1
$ rlctl debug wrong.lua k --trace
+ wrong.lua:1  local n = redis.call('GET', KEYS[1])
|   redis> GET k      NULL
|   n: false
+ wrong.lua:2  return n + 1
[..]   attempt to perform arithmetic on local 'n' (a boolean value)
= error at line 2: attempt to perform arithmetic on local 'n' (a boolean value)    2 lines, 1 redis call; nothing was changed
! rlctl: debug: using a private server (Redis [..]); SERVER has no 'k'
[5]
