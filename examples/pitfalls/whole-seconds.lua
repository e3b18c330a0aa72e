-- Prune, count, record if there is room; unique members. Times are whole seconds.
--
-- What goes wrong: a request at 59.999 s counts as one at 59 s, and leaves the window of one second as
-- soon as the clock shows 60. This sliding window is as coarse as a fixed one: 20 of 20 requests within
-- 20 ms pass a limit of 10 a second.
--
-- rlctl: args {now_s} {window_s} {limit} {id}
--
-- $ rlctl burst boundary --limit 10/1s whole-seconds.lua sliding-window-log
-- > whole-seconds.lua 20 20 0 20 2.00× 19 ms
-- > sliding-window-log 20 10 10 10 1.00×
-- $ rlctl adversary --limit 10/1s whole-seconds.lua
-- > whole-seconds.lua 2.00× the limit: 20 within 100 ms
-- $ rlctl lint whole-seconds.lua --limit 10/1s
-- $ rlctl lint whole-seconds.lua
-- $ rlctl lint whole-seconds.lua --limit 5/1h

local key, now, window, limit = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local id = ARGV[4]

redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
if redis.call('ZCARD', key) >= limit then return false end
redis.call('ZADD', key, now, id) -- want: coarse-time critical (1), coarse-time warning (2)
redis.call('EXPIRE', key, window)
return true
