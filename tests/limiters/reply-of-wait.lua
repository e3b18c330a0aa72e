-- 0 or -1 to allow, else the time to wait, which is not a count.
--
-- rlctl: limit 5/60s
--
-- $ rlctl burst reply-of-wait.lua --args 0 --allowed-when zero
-- $ rlctl burst reply-of-wait.lua --args -1
-- ! the replies fit the limit if they are read with --allowed-when 'r == -1'

local count = redis.call('INCR', KEYS[1])
redis.call('PEXPIRE', KEYS[1], 60000)
return count <= 5 and tonumber(ARGV[1]) or 7
