-- The same in a list, after two windows.
--
-- rlctl: args {now_ms} {window_ms} {limit}
--
-- $ rlctl lint first-ttl-list.lua

local now, window = tonumber(ARGV[1]), tonumber(ARGV[2])
while (tonumber(redis.call('LINDEX', KEYS[1], 0)) or 1/0) <= now - window do redis.call('LPOP', KEYS[1]) end
local count = redis.call('LLEN', KEYS[1])
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('RPUSH', KEYS[1], now)
if count == 0 then redis.call('PEXPIRE', KEYS[1], 2 * window) end  -- want: short-ttl critical
return 1
