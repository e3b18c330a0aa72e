-- A TTL of an hour for a window of 3.6 seconds: as the number is in the script, it may be meant.
--
-- rlctl: limit 2/3600ms
-- rlctl: args {now_ms} {window_ms} {limit} {id}
--
-- $ rlctl lint constant-ttl.lua

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('EXPIRE', KEYS[1], 3600)  -- want: mixed-units warning
return 1
