#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's multi-region fixed window: a field for each request.
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 2 and fields[2] == ARGV[3] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return fields
