-- A bucket that loses what has refilled at each request, so that a client which retries is never allowed again.
--
-- rlctl: limit 3/30s
-- rlctl: args {limit} 10 {now_s}
--
-- $ rlctl adversary losing-bucket.lua
-- > wrongly denied: an exact log would allow

local size, period, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local left, at = unpack(redis.call('HMGET', KEYS[1], 'left', 'at'))
left = math.min(size, tonumber(left or size) + math.floor((now - tonumber(at or now)) / period))
local allowed = left >= 1
redis.call('HSET', KEYS[1], 'left', allowed and left - 1 or left, 'at', now)
return allowed and 1 or 0
