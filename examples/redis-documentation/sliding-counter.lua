-- Two counters, for this window and for the last one, whose weight falls as this window goes on. Replies
-- 1 or 0, and a wait in milliseconds. KEYS: a name in braces. ARGV: the limit, the window in seconds.
--
-- Taught by https://redis.io/docs/latest/develop/use-cases/rate-limiter/redis-py/.
--
-- What goes wrong: the last window counts as if its requests had been spread over it evenly. And
-- the wait is always 0, unlike in the other scripts on that page.

local base, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local time = redis.call('TIME')
local windows = (time[1] + time[2] / 1000000) / window
local index = math.floor(windows)
local current, last = base .. ':' .. index, base .. ':' .. index - 1
local weight = 1 - (windows - index)
local estimate = (redis.call('GET', last) or 0) * weight + (redis.call('GET', current) or 0)
if estimate >= limit then return {0, 0} end
if redis.call('INCR', current) == 1 then redis.call('EXPIRE', current, 2 * window) end
return {1, 0}
