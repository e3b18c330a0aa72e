-- The calls, arguments and reply of limits' sliding window counter, which lives by its TTLs alone.
--
-- rlctl: limit 5/60s
-- rlctl: keys {{key}}/-1 {{key}}
-- rlctl: args {limit} {window_s} {cost}
--
-- $ rlctl adversary --monotonic limits_sliding.lua --tries 40000
-- > 2.00× the limit
-- > wrongly denied: an exact log would allow

local limit, expiry, cost = tonumber(ARGV[1]), tonumber(ARGV[2]) * 1000, tonumber(ARGV[3])
if cost > limit then return false end
local left = redis.call('PTTL', KEYS[2])
if left > 0 and left < expiry then
  redis.call('RENAME', KEYS[2], KEYS[1])
  redis.call('SET', KEYS[2], 0, 'PX', left + expiry)
end
local before = tonumber(redis.call('GET', KEYS[1]) or 0)
local weight = math.max(redis.call('PTTL', KEYS[1]), 0) / expiry
local current = tonumber(redis.call('GET', KEYS[2]) or 0)
if math.floor(before * weight) + current + cost > limit then return false end
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('INCRBY', KEYS[2], cost)
else
  redis.call('SET', KEYS[2], cost, 'PX', 2 * expiry)
end
return true
