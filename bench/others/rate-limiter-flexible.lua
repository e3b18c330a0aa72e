-- The same Redis commands in the same order as RateLimiterRedis of rate-limiter-flexible 11.1.0:
-- a counter that lives by its TTL; a request is denied when the count exceeds the points.
-- KEYS key   ARGV cost, seconds, points, seconds   Reply {count, milliseconds left}
local counter, cost, seconds = KEYS[1], ARGV[1], ARGV[2]
redis.call('SET', counter, 0, 'EX', seconds, 'NX')
local count = redis.call('INCRBY', counter, cost)
local left = redis.call('PTTL', counter)
if left == -1 then
  redis.call('EXPIRE', counter, seconds)
  left = seconds * 1000
end
return {count, left}
