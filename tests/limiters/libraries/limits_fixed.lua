-- The calls, arguments and reply of limits' fixed window: it begins with the first request.
--
-- rlctl: limit 5/60s
-- rlctl: args {window_s} {cost}
-- rlctl: allowed <=limit
--
-- $ rlctl adversary --monotonic --tries 2000 limits_fixed.lua
-- > 1.80× the limit
-- > denied exactly one window after

local count = redis.call('INCRBY', KEYS[1], ARGV[2])
if count == tonumber(ARGV[2]) then redis.call('EXPIRE', KEYS[1], ARGV[1]) end
return count
