# needs: server

## the head of a script says what options say, and --head wins over it
$ write my.lua
< #!lua
< -- A limiter.
< -- rlctl: limit 2/10s
< -- rlctl: keys rate:{{user}}:{key}
< -- rlctl: args {limit} {window_ms}
< -- rlctl: allowed r[1] == 1
< -- rlctl: remaining r[2]
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
< local limit = tonumber(ARGV[1])
< return {n <= limit and 1 or 0, math.max(0, limit - n)}
$ rlctl lint my.lua --json
{"script":"my.lua","tested":["requests at one instant, through a window of 10 s, and 2h16m45s later; two clients",[..],"requests below a limit of 2, each 8.5 s, 9.995 s, 10 s, 10.01 s, 10.99 s, 11.01 s",[..],"what the answers say of later ones: remaining",[..]],"not_tested":[]}
$ rlctl lint my.lua --head 'remaining r[2] + 1' --limit 3/10s
my.lua: warning: wrong-remaining: remaining is too high: it says 1, but 0 more of cost 1 are allowed at this instant
    Seen: 3 of 5 allowed at 0 s, 0 of 1 at 5 s.
    Fix: tell what is left after this request.
1 warning in 1 script ([..] requests)
Search for requests that exceed the limit:
    rlctl adversary my.lua --limit 3/10s --head 'remaining r[2] + 1'
[1]
$ rlctl adversary my.lua --tries 500 -q --assert 'worst<=2'
$ rlctl debug my.lua ann --now 1767225600000000 --trace -q
+ my.lua:8  local n = redis.call('INCR', KEYS[1])
|   redis> INCR rate:{user}:ann      1
|   n: 1
+ my.lua:9  if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
|   redis> PEXPIRE rate:{user}:ann 10000      1
+ my.lua:10  local limit = tonumber(ARGV[1])
|   limit: 2
+ my.lua:11  return {n <= limit and 1 or 0, math.max(0, limit - n)}
= {1, 1}    4 lines, 2 redis calls; 1 key was changed
  'rate:{user}:ann': not there → string, "1", ttl [..] s
reads as allowed, remaining 1
$ rlctl lint my.lua --head 'remaining r[2'
! rlctl: lint: --head remaining: 'r[2': expected ']' at column 4
! Try 'rlctl lint --help'.
[3]
$ rlctl lint my.lua --head 'remaning r[2]'
! rlctl: lint: --head: unknown word 'remaning'; did you mean 'remaining'?
! Try 'rlctl lint --help'.
[3]
$ rlctl lint my.lua --head 'remaining r[2]' --head 'remaining r[1]'
! rlctl: lint: --head remaining is given twice
! Try 'rlctl lint --help'.
[3]
