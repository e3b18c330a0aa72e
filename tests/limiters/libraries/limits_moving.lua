-- The calls, arguments and reply of limits' moving window: a list of times in float seconds.
--
-- rlctl: limit 5/60s
-- rlctl: args {now} {limit} {window_s} {cost}
--
-- $ rlctl adversary --monotonic --tries 2000 limits_moving.lua
-- > never above the limit
-- > denied exactly one window after, where an exact log would allow

local now, limit, expiry, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if cost > limit then return false end
local oldest = redis.call('LINDEX', KEYS[1], limit - cost)
if oldest and tonumber(oldest) >= now - expiry then return false end
for _ = 1, cost do redis.call('LPUSH', KEYS[1], ARGV[1]) end
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('EXPIRE', KEYS[1], expiry)
return true
