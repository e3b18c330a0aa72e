-- The window is in the script, and is not that of the limit.
--
-- rlctl: args {now_ms} {id}
--
-- $ rlctl lint own-window.lua
-- > no findings in what was tested, in 1 script
-- > Tested:
-- > Not tested:
-- ! own-window.lua: not tested: windows:
-- [3]

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ARGV[1] - 1000)
if redis.call('ZCARD', KEYS[1]) >= 5 then return 0 end
redis.call('ZADD', KEYS[1], ARGV[1], ARGV[2])
redis.call('PEXPIRE', KEYS[1], 60000)
return 1
