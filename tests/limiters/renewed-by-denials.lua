-- A counter that counts denied requests, too, which is harmless unless they renew its window.
--
-- rlctl: args {limit} {window_ms} {now_s}
--
-- $ rlctl lint renewed-by-denials.lua

local n = redis.call('INCR', KEYS[1])
local limit, window = tonumber(ARGV[1]), ARGV[2]
if n == 1 then redis.call('PEXPIRE', KEYS[1], window) end
-- or: redis.call('PEXPIRE', KEYS[1], window)  -- want: denied-write critical
-- > Fix: set the TTL only when the key is new.
-- or: if n == 1 or n > limit then redis.call('PEXPIRE', KEYS[1], window) end  -- want: denied-write critical
-- > Fix: set the TTL only when the key is new.
-- A time beside the window is not compared with it:
-- or: if n == 1 then redis.call('SET', KEYS[1] .. ':at', 1, 'PX', 900000) redis.call('PEXPIRE', KEYS[1], window) end
-- want: undeclared-key warning
return n <= limit and 1 or 0
