-- A counter that counts denied requests, too, which is harmless unless they renew its window.
--
-- $ rlctl lint renewed-by-denials.lua --args '{limit} {window_ms} {now_s}'

local n = redis.call('INCR', KEYS[1])
if n == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
-- or: redis.call('PEXPIRE', KEYS[1], ARGV[2])  -- want: denied-write critical
-- > Fix: set the TTL only when the key is new.
-- or: if n == 1 or n > tonumber(ARGV[1]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end  -- want: denied-write critical
-- > Fix: set the TTL only when the key is new.
-- A time beside the window is not compared with it:
-- or: if n == 1 then redis.call('SET', KEYS[1] .. ':seen', ARGV[3], 'PX', 9 * ARGV[2]) redis.call('PEXPIRE', KEYS[1], ARGV[2]) end  -- want: undeclared-key warning
return n <= tonumber(ARGV[1]) and 1 or 0
