-- A counter of the clock's minutes, whose TTL is what is left of one in whole seconds, rounded up. A client that asks
-- each 59.99 s finds the key of its last request, and renews it.
--
-- rlctl: args {limit} {now_ms}
--
-- $ rlctl lint rounded-end.lua
-- $ rlctl lint rounded-end.lua --limit 1/60s
-- $ rlctl lint rounded-end.lua --limit 50/60s

local left = 60 - tonumber(ARGV[2]) % 60000 / 1000
local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], math.ceil(left))  -- want: renewed-window critical
-- The same by the command that writes:
-- or: redis.call('SET', KEYS[1], n + 1, 'EX', math.ceil(left))  -- want: renewed-window critical (1 3)
-- Only a new key has the rounded TTL, or the end is exact:
-- or: if n == 0 then redis.call('EXPIRE', KEYS[1], math.ceil(left)) end
-- or: redis.call('PEXPIRE', KEYS[1], 60000 - ARGV[2] % 60000)
return 1
