#!lua flags=allow-key-locking  -- want: unknown-flag critical
-- rlctl: args {window_ms}
-- rlctl: allowed <=limit
--
-- $ rlctl lint unknown-flag.lua

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count
