-- Each allowed request renews the window, so that a client which asks now and then reaches the limit all the same.
--
-- rlctl: args {limit} {window_s}
--
-- $ rlctl lint renewed-window.lua
-- $ rlctl lint renewed-window.lua --limit 2/60s
-- $ rlctl lint renewed-window.lua --limit 1/60s

local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n == tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], ARGV[2])  -- want: renewed-window critical
return 1
