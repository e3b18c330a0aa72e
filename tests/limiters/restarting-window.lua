-- A counter of the clock's windows, which begins anew whenever the window is another one, also an earlier one.
--
-- rlctl: args {now_us} {window_us} {limit}
--
-- $ rlctl adversary --tries 5000 restarting-window.lua
-- > restarting-window.lua 2.00× the limit: 10 within
-- > if the clock steps back

local now, window, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local number = tostring(math.floor(now / window))
local is_new = redis.call('HGET', KEYS[1], 'window') ~= number
if is_new then redis.call('HSET', KEYS[1], 'window', number, 'count', 0) end
if tonumber(redis.call('HGET', KEYS[1], 'count')) >= limit then return 0 end
redis.call('HINCRBY', KEYS[1], 'count', 1)
return 1
