-- What refills between two quick retries is rounded off.
--
-- rlctl: args {limit} {window_ms} {now_ms}
--
-- $ rlctl lint rounding-bucket.lua

local size, window, now = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local stored = redis.call('HMGET', KEYS[1], 'have', 'seen')
local have, seen = tonumber(stored[1] or size), tonumber(stored[2] or now)
have = math.min(size, have + math.floor(math.max(0, now - seen) * 1000 * size / window) / 1000)
local ok = have >= 1
if ok then have = have - 1 end
redis.call('HSET', KEYS[1], 'have', have, 'seen', now)  -- want: denied-write critical
redis.call('PEXPIRE', KEYS[1], 2 * window)
return ok and 1 or 0
