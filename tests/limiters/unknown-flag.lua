#!lua flags=allow-key-locking  -- want: unknown-flag critical
-- $ rlctl lint unknown-flag.lua --args '{window_ms}' --allowed-when '<=limit'

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return count
