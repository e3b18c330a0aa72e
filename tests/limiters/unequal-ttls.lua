-- A bucket in two keys, which must end together.
--
-- rlctl: keys {{key}}:n {{key}}:at
-- rlctl: args {rate} {burst} {now}
--
-- $ rlctl lint unequal-ttls.lua

local rate, size, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local ttl = math.ceil(2 * size / rate)
local before = tonumber(redis.call('GET', KEYS[1]) or size)
local at = tonumber(redis.call('GET', KEYS[2]) or now)
local left = math.min(size, before + (now - at) * rate)
if left < 1 then return 0 end
redis.call('SET', KEYS[1], left - 1, 'EX', ttl)
-- The bucket is full while it still has a time:
-- or: redis.call('SET', KEYS[1], left - 1, 'EX', math.ceil(ttl / 6))  -- want: short-ttl critical
-- > Fix: give all keys one TTL, and set it on each call that writes one.
redis.call('SET', KEYS[2], string.format('%.6f', now), 'EX', ttl)
-- The time is forgotten before the next request, so that nothing refills:
-- or: redis.call('SET', KEYS[2], string.format('%.6f', now), 'EX', 3)  -- want: short-ttl critical
-- > Fix: give all keys one TTL, and set it on each call that writes one.
return 1
