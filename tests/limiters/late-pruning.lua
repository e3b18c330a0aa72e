-- It counts first and removes old requests afterwards. That its key lasts no longer than a window does not help.
--
-- rlctl: limit 4/300s
-- rlctl: args {now_us} {window_us} {limit} {id}
--
-- $ rlctl lint late-pruning.lua

local now, window = ARGV[1], ARGV[2]
local count = redis.call('ZCARD', KEYS[1])  -- want: late-pruning critical
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
if count >= tonumber(ARGV[3]) then return 0 end
redis.call('ZADD', KEYS[1], now, ARGV[4])
redis.call('PEXPIRE', KEYS[1], window / 1000)
return 1
