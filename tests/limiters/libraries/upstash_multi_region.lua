#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's multi-region fixed window: a field for each request.
--
-- rlctl: limit 5/60s
-- rlctl: keys {key}:{window_index}
-- rlctl: args {id} {window_ms} {cost}
-- rlctl: allowed #r / 2 <= limit
-- rlctl: remaining limit - #r / 2
--
-- $ rlctl adversary --monotonic --tries 2000 upstash_multi_region.lua
-- ! ignored
-- > 2.00× the limit
-- > denied nothing that an exact log would allow

redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
local fields = redis.call('HGETALL', KEYS[1])
if #fields == 2 and fields[2] == ARGV[3] then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return fields
