# needs: server

## each mistake in a head is an error that names its line
$ write my.lua
< -- A limiter.
< -- rlctl: limt 5/60s
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: unknown word 'limt'; did you mean 'limit'?
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: xyzzy
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: unknown word 'xyzzy'; expected one of: limit, burst, cost, keys, args, function, setup, allowed, denied_error, delay, remaining, retry_after, reset_after, release or settle
[3]
$ write my.lua
< -- A limiter.
< -- rlctl:
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: no word is given; expected one of: limit, burst, cost, keys, args, function, setup, allowed, denied_error, delay, remaining, retry_after, reset_after, release or settle
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: args
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: args has no value
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: args {now_ms}
< -- rlctl: args {now_us}
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:3: args is there twice, the first time in line 2
[3]
$ write my.lua
< -- A limiter.
< return 1
< -- rlctl: limit 5/60s
$ rlctl lint my.lua
! rlctl: lint: my.lua:3: limit is after the first statement, where the head has ended
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: limit 5
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: limit: '5' is not a limit; write LIMIT/WINDOW, such as 5/60s or 100/min
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: burst 0
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: burst: the number must be from 1 to 1000000000, not 0
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: cost 1,x
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: cost: each cost must be a whole number in decimal digits, not 'x'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: keys rate:{kye}
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: keys: 'rate:{kye}' contains {kye}, which is not a placeholder; did you mean {key}?
!   hint: a placeholder is key, limit, burst, rate, cost, id, now, window, cutoff, window_start, window_end, window_index, prev_window_index, event, holder, lease, reservation, actual, hold, key1, key2, key3 or key4, or a time with a unit: now_s, now_ms, now_us; for a literal brace, write '{{}'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: keys rate:{user}
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: keys: 'rate:{user}' contains {user}, which is not a placeholder
!   hint: a placeholder is key, limit, burst, rate, cost, id, now, window, cutoff, window_start, window_end, window_index, prev_window_index, event, holder, lease, reservation, actual, hold, key1, key2, key3 or key4, or a time with a unit: now_s, now_ms, now_us; for a literal brace, write '{{}'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: args 'a
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: args: ''a' has a quote that is not closed: '
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: args {nwo_ms}
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: args: '{nwo_ms}' contains {nwo_ms}, which is not a placeholder; did you mean {now_ms}?
!   hint: a placeholder is key, limit, burst, rate, cost, id, now, window, cutoff, window_start, window_end, window_index, prev_window_index, event, holder, lease, reservation, actual, hold, key1, key2, key3 or key4, or a time with a unit: now_s, now_ms, now_us; for a literal brace, write '{{}'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: allowed yes
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: allowed: 'yes': unknown name 'yes' at column 1
!   hint: r is the reply; a number is limit, burst, rate, cost, id, now, window, cutoff, window_start, window_end, window_index, prev_window_index, lease, actual or hold, or a time with a unit: now_s, now_ms, now_us
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: denied_error ERR
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: denied_error: ERR is the code of any fault of a script, not of a denial
!   hint: let the script reply with a code of its own: return redis.error_reply('DENIED too many requests')
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: retry_after r[3]
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: retry_after: 'r[3]' has no unit; write 'r[3] s', 'r[3] ms' or 'r[3] us'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: reset_after r[3] min
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: reset_after: the unit of a wait is s, ms or us, not 'min'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: remaining r[2] > 0
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: remaining: 'r[2] > 0' is a condition, not a number
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: release /tmp/put.lua
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: release: '/tmp/put.lua' is not beside the script
!   hint: a head names files in the folder of its script, without '..'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: settle ../settle.lua
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: settle: '../settle.lua' is not beside the script
!   hint: a head names files in the folder of its script, without '..'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: setup ../keys.txt
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: setup: '../keys.txt' is not beside the script
!   hint: a head names files in the folder of its script, without '..'
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: setup ./none.txt
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: setup: cannot read './none.txt': no such file or directory
[3]
$ write my.lua
< -- A limiter.
< -- rlctl: function take
< return 1
$ rlctl lint my.lua
! rlctl: lint: my.lua:2: function: my.lua is not a library of functions: its first line is not "#!lua name=..."
[3]

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
$ rlctl lint my.lua
no findings in 1 script (2887 requests)
Tested:
    requests at one instant, through a window of 10 s, and 2h16m45s later;
        two clients
    retries each 5.001 s, 4.545 s, 3.333 s, 2.5 s, 1.25 s, 416.7 ms after
        the limit was reached, for 80 s, of cost 1
    retries each 1 ms in the last 1 s of the wait, of cost 1
    retries each 1 s in the last 5 s of the wait, of cost 1
    requests below a limit of 2, each 8.5 s, 9.995 s, 10 s, 10.01 s,
        10.99 s, 11.01 s
    requests after idle gaps of each TTL: 10 s
    what the answers say of later ones: remaining
    one request more than the limit at one instant
    clients that ask slightly more often than what refills, and far more
        often
    a second client after one that has reached the limit
    a client that asks slightly more often than the limit allows, for 200 s:
        whether keys or calls grow
Search for requests that exceed the limit:
    rlctl adversary my.lua
$ rlctl lint my.lua --head 'remaining r[2] + 1' --limit 3/10s
my.lua: warning: wrong-remaining: remaining is too high: it says 1, but 0 more of cost 1 are allowed at this instant
    Seen: 3 of 5 allowed at 0 s, 0 of 1 at 5 s.
    Fix: tell what is left after this request.
1 warning in 1 script (3587 requests)
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
