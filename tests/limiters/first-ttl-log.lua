-- A log that expires a window after its first request, with those that came later.
--
-- rlctl: args {now_ms} {window_ms} {limit} {id}
--
-- $ rlctl lint first-ttl-log.lua

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, now - window)
local count = redis.call('ZCARD', KEYS[1])
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
if count == 0 then redis.call('PEXPIRE', KEYS[1], window) end  -- want: short-ttl critical
return 1
