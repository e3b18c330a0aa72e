-- A sorted set of the times of allowed requests. Replies 1 or 0, and the wait in milliseconds.
-- ARGV: the limit, the window in seconds, a name that no other request has.
--
-- Taught by https://redis.io/docs/latest/develop/use-cases/rate-limiter/redis-py/.
--
-- What goes wrong: the limit is kept, but the wait is rounded down. A client that waits as long as it was
-- told comes up to a millisecond too early, and in the last millisecond it is told to wait for 0 ms.

local key, limit, window, id = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]

local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
redis.call('ZREMRANGEBYSCORE', key, '-inf', now - window)
if redis.call('ZCARD', key) < limit then
  redis.call('ZADD', key, now, id)
  redis.call('EXPIRE', key, 2 * window)
  return {1, 0}
end
local oldest = tonumber(redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')[2])
return {0, math.floor((oldest + window - now) * 1000)}
