#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's cached fixed window: the units used.
local used = redis.call('INCRBY', KEYS[1], ARGV[2])
if used == tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return used
