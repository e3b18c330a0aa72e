#!lua flags=allow-key-locking
-- The calls, arguments and reply of upstash's fixed window: the units used, and the limit.
--
-- rlctl: limit 5/60s
-- rlctl: keys {key}:{window_index}
-- rlctl: allowed r[1] <= r[2]
--
-- $ rlctl adversary --monotonic --tries 2000 upstash_fixed.lua --args '{limit} {window_ms} {cost}' \
--     --head 'remaining r[2] - r[1]'
-- ! ignored
-- > 2.00× the limit
-- > denied nothing that an exact log would allow
-- $ rlctl burst upstash_fixed.lua --args '{limit} {window_ms} 1'
-- ! ignored

local used = redis.call('INCRBY', KEYS[1], ARGV[3])
if used == tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return { used, tonumber(ARGV[1]) }
