#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's cached fixed window: the units used.
--
-- rlctl: limit 5/60s
-- rlctl: keys {key}:{window_index}
-- rlctl: args {window_ms} {cost}
-- rlctl: allowed r <= limit
--
-- $ rlctl adversary --monotonic --tries 2000 upstash_cached_fixed.lua
-- ! ignored
-- > 2.00× the limit
-- > denied nothing that an exact log would allow

local used = redis.call('INCRBY', KEYS[1], ARGV[2])
if used == tonumber(ARGV[2]) then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return used
