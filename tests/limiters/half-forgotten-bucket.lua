-- A bucket in two keys: who takes just what refills renews only the time, until what was left is forgotten.
--
-- rlctl: limit 4/8s
-- rlctl: keys {key}:at {key}:left
-- rlctl: args {rate} {burst} {now_s}
--
-- $ rlctl adversary half-forgotten-bucket.lua
-- > 2.25× the limit: 9 within

local rate, size, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local before = tonumber(redis.call('GET', KEYS[2]) or size)
local since = tonumber(redis.call('GET', KEYS[1]) or now)
local left = math.min(size, before + (now - since) * rate)
local allowed = left >= 1
if allowed then left = left - 1 end
if left ~= before then redis.call('SET', KEYS[2], left, 'EX', 2 * size / rate) end
redis.call('SET', KEYS[1], now, 'EX', 2 * size / rate)
return allowed and 1 or 0
