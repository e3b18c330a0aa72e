#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's fixed window: the units used, and the limit.
local used = redis.call('INCRBY', KEYS[1], ARGV[3])
if used == tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { used, tonumber(ARGV[1]) }
