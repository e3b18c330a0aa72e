-- A bucket that each request fills by one, and that leaks at a fixed rate; what does not fit is denied.
-- Replies 1 or 0, and the wait in milliseconds. ARGV: the capacity, the rate in requests a second.
--
-- Taught by https://redis.io/docs/latest/develop/use-cases/rate-limiter/redis-py/.
--
-- What goes wrong: a bucket that is empty takes a burst of its whole capacity at once, as a token bucket
-- does. The wait is rounded down.

local key, capacity, rate = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])

local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local stored = redis.call('HMGET', key, 'level', 'since')
local level = math.max(0, (stored[1] or 0) - (now - (stored[2] or now)) * rate)
if level + 1 > capacity then return {0, math.floor((level + 1 - capacity) / rate * 1000)} end
redis.call('HSET', key, 'level', level + 1, 'since', now)
redis.call('EXPIRE', key, math.ceil(capacity / rate) + 1)
return {1, 0}
