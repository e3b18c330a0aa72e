-- The calls, arguments and reply of rate-limiter-flexible: the points consumed, and the TTL.
--
-- rlctl: limit 5/60s
-- rlctl: args {cost} {window_s}
-- rlctl: allowed r[1] <= limit
-- rlctl: remaining limit - r[1]
-- rlctl: retry_after r[2] ms
--
-- $ rlctl adversary --monotonic --tries 2000 rate_limiter_flexible.lua
-- > 1.80× the limit
-- > denied exactly one window after

redis.call('SET', KEYS[1], 0, 'EX', ARGV[2], 'NX')
local consumed = redis.call('INCRBY', KEYS[1], ARGV[1])
return { consumed, redis.call('PTTL', KEYS[1]) }
