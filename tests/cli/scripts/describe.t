# needs: server

## describe proposes a head that was seen to deny and to allow
$ write my.lua
< local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], window) end
< return n
$ rlctl scripts describe my.lua
-- rlctl: limit 5/60s
-- rlctl: args {limit} {window_ms}
-- rlctl: allowed r <= limit
-- rlctl: remaining limit - r
Not found out:
    retry_after, reset_after: no part of the reply was right each time
    release, settle: not tried; a limiter of leases or reservations has them
$ rlctl scripts describe my.lua --json
{"file":"my.lua","head":["limit 5/60s","args {limit} {window_ms}","allowed r <= limit","remaining limit - r"],"unknown":["retry_after, reset_after: no part of the reply was right each time","release, settle: not tried; a limiter of leases or reservations has them"]}

## describe says what it could not find out
$ write two.lua
< local limit, period_s = tonumber(ARGV[1]), tonumber(ARGV[3])
< redis.call('SET', KEYS[1], ARGV[2], 'EX', period_s)
< return redis.call('EXISTS', KEYS[2])
$ rlctl scripts describe two.lua
-- rlctl: keys {{key}} {{key}}:2
Not found out:
    keys: which names the script's callers give them
    limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s; its limit may be its own
    release, settle: not tried; a limiter of leases or reservations has them
$ write always.lua
< return 1
$ rlctl scripts describe always.lua
Not found out:
    limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s; its limit may be its own
    release, settle: not tried; a limiter of leases or reservations has them
$ write broken.lua
< return 'open
$ rlctl scripts describe broken.lua
! rlctl: scripts: broken.lua is not Lua
[2]
$ write head.lua
< -- rlctl: args {limit}
< return 1
$ rlctl scripts describe head.lua
! rlctl: scripts: 'head.lua' has a head already: args
!   hint: rlctl lint head.lua tests the script as its head says
[2]
$ rlctl scripts describe none.lua
! rlctl: scripts: cannot read 'none.lua': no such file or directory
! Try 'rlctl scripts describe --help'.
[2]
$ rlctl scripts describe
! rlctl: scripts: no FILE given
!   hint: rlctl scripts describe my.lua
[2]

## describe proposes no limit that the script does not take
$ write own.lua
< local width, grid = tonumber(ARGV[1]), ARGV[2]
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], width) end
< return n <= 8 and 1 or 0
$ rlctl scripts describe own.lua
Not found out:
    args: what ARGV[1] is, which becomes width; tried: limit, window_ms, window_s, now_ms, now_s, cost
    args: what ARGV[2] is, which becomes grid; tried: limit, window_ms, window_s, now_ms, now_s, cost
    limit, args and allowed: with nothing that was tried did it keep both 5/60s and 3/20s; its limit may be its own
    release, settle: not tried; a limiter of leases or reservations has them

## describe proposes what the reply tells, in its unit, if it was right each time
$ write window.lua
< local limit, window_s, now_s = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('EXPIRE', KEYS[1], window_s) end
< return {n <= limit and 1 or 0, limit, limit - n, now_s + redis.call('TTL', KEYS[1])}
$ rlctl scripts describe window.lua
-- rlctl: limit 5/60s
-- rlctl: args {limit} {window_s} {now_s}
-- rlctl: allowed nonzero
-- rlctl: remaining r[3]
-- rlctl: retry_after r[4] - now_s s
-- rlctl: reset_after r[4] - now_s s
Not found out:
    release, settle: not tried; a limiter of leases or reservations has them
$ write bucket.lua
< local rate, capacity, now_s, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
< local stored = redis.call('HMGET', KEYS[1], 'tokens', 'at')
< local tokens, at = tonumber(stored[1] or capacity), tonumber(stored[2] or now_s)
< tokens = math.min(capacity, tokens + (now_s - at) * rate)
< local allowed = tokens >= cost
< if allowed then tokens = tokens - cost end
< redis.call('HSET', KEYS[1], 'tokens', tokens, 'at', now_s)
< redis.call('EXPIRE', KEYS[1], 600)
< local wait = allowed and 0 or (cost - tokens) / rate
< return {allowed and 1 or 0, tostring(math.floor(tokens)), math.ceil(wait), math.ceil((capacity - tokens) / rate)}
$ rlctl scripts describe bucket.lua
-- rlctl: limit 5/60s
-- rlctl: args {rate} {burst} {now_s} {cost}
-- rlctl: allowed nonzero
-- rlctl: remaining tonumber(r[2])
-- rlctl: retry_after r[3] s
-- rlctl: reset_after r[4] s
Not found out:
    release, settle: not tried; a limiter of leases or reservations has them

## describe proposes no part of a reply that was wrong once
$ write wrong.lua
< local limit, window_ms = tonumber(ARGV[1]), tonumber(ARGV[2])
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('PEXPIRE', KEYS[1], window_ms) end
< local left = redis.call('PTTL', KEYS[1])
< local late = left > 50000 and 1000 or 0
< return {n <= limit and 1 or 0, math.max(0, limit - n + 1), window_ms, math.floor(left / 1000) - 1, left + 3 * late, left - late}
$ rlctl scripts describe wrong.lua
-- rlctl: limit 5/60s
-- rlctl: args {limit} {window_ms}
-- rlctl: allowed nonzero
Not found out:
    remaining, retry_after, reset_after: no part of the reply was right each time
    release, settle: not tried; a limiter of leases or reservations has them

## nil means allowed where a denial is a time that may be 0
$ write ttl.lua
< local limit, window = tonumber(ARGV[1]), tonumber(ARGV[2])
< local n = redis.call('INCR', KEYS[1])
< if n == 1 then redis.call('EXPIRE', KEYS[1], window) end
< if n > limit then return redis.call('TTL', KEYS[1]) end
< return nil
$ rlctl scripts describe ttl.lua
-- rlctl: allowed nil
Not found out:
    args: one of several that fit: {limit} {window_s}
    args: one of several that fit: {limit} {window}
    remaining, retry_after, reset_after: not tried, since args are unknown
    release, settle: not tried; a limiter of leases or reservations has them
