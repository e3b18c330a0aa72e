-- The calls, arguments and reply of rate-limit-redis: the hits, and the ms until they are forgotten.
--
-- rlctl: limit 5/60s
-- rlctl: args 0 {window_ms}
-- rlctl: allowed r[1] <= limit
-- rlctl: retry_after r[2] ms
--
-- $ rlctl adversary --monotonic --tries 2000 rate_limit_redis.lua
-- > 1.80× the limit
-- > wrongly denied: an exact log would allow

local hits = redis.call('INCR', KEYS[1])
local left = redis.call('PTTL', KEYS[1])
if left <= 0 or ARGV[1] == '1' then
  redis.call('PEXPIRE', KEYS[1], tonumber(ARGV[2]))
  left = tonumber(ARGV[2])
end
return { hits, left }
