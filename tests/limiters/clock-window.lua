-- The start of a window of the clock is a whole second, but not a time that is too coarse.
--
-- rlctl: limit 3/4s
-- rlctl: args {now_s} {window_s}
-- rlctl: allowed <=limit
--
-- $ rlctl lint clock-window.lua

local start = ARGV[1] - ARGV[1] % ARGV[2]
local is_new = redis.call('HGET', KEYS[1], 'start') ~= tostring(start)
if is_new then redis.call('HSET', KEYS[1], 'start', start, 'n', 0) end
redis.call('EXPIRE', KEYS[1], ARGV[2])
return redis.call('HINCRBY', KEYS[1], 'n', 1)
