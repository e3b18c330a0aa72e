-- A counter that replies its TTL as the wait: TTL rounds to the nearest second, and PTTL is not in seconds.
--
-- rlctl: allowed r[1] == 1
--
-- $ rlctl lint wait-of-ttl.lua --args '{window_ms} {limit} PTTL' --head 'retry_after r[2] ms'
-- > what the answers say of later ones: retry_after_us
-- $ rlctl lint wait-of-ttl.lua --args '{window_ms} {limit} TTL' --head 'retry_after r[2] s'
-- > retry_after_us is too short
-- $ rlctl lint wait-of-ttl.lua --args '{window_ms} {limit} TTL' --head 'retry_after r[2] s' --limit 5/1s
-- > retry_after_us is too short
-- $ rlctl lint wait-of-ttl.lua --args '{window_ms} {limit} PTTL' --head 'retry_after r[2] s'
-- > retry_after_us is too long: it says 16h
-- want: wrong-wait warning (2 3 4)

local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
if count <= tonumber(ARGV[2]) then return {1, 0} end
return {0, redis.call(ARGV[3], KEYS[1])}
