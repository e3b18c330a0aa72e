-- A log that is exact as long as the times that it is given do not step back, which it does not check.
--
-- rlctl: args {now_us} {window_us} {limit}
--
-- $ rlctl adversary --tries 5000 trusting-log.lua
-- > trusting-log.lua never above the limit
-- > 0 5 5 0
-- > × the limit
-- > if the clock steps back
-- > denied nothing that an exact log would allow

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2]))
-- A microsecond too early, or too late:
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2] + 1))
-- > 2.00× the limit: 10 within 59.999999 s
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2] - 1))
-- > trusting-log.lua never above the limit
-- > denied exactly one window after, where an exact log would allow
-- > +60 s 1 0 1
-- > edge the limiter denies exactly one window after a unit, where an exact
-- > no other denial differed in what was tried
-- Another unit:
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2] / 1000))
-- > × the limit
-- or: redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', ARGV[1] - ARGV[2] * 2))
-- > wrongly denied: an exact log would allow
local count = redis.call('ZCARD', KEYS[1])
if count >= tonumber(ARGV[3]) then return 0 end
-- Denied requests count:
-- or: if count >= tonumber(ARGV[3]) then return redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. count) - 1 end
-- > wrongly denied: an exact log would allow
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. count)
-- It is forgotten after half a window:
-- or: redis.call('ZADD', KEYS[1], ARGV[1], ARGV[1] .. ':' .. count) redis.call('PEXPIRE', KEYS[1], ARGV[2] / 2000)
-- > 2.00× the limit: 10 within
return 1
