-- The calls and reply of bullmq's limiter: 0, or the ms to wait.
--
-- rlctl: limit 5/60s
-- rlctl: args {limit} {window_ms}
-- rlctl: allowed zero
-- rlctl: retry_after r ms
--
-- $ rlctl adversary --monotonic --tries 2000 bullmq.lua
-- ! a denial whose wait is 0 counts as allowed: PTTL replies 0 in the last millisecond of a key
-- > 2.00× the limit
-- > denied nothing that an exact log would allow

local most, duration = tonumber(ARGV[1]), tonumber(ARGV[2])
local left = redis.call('PTTL', KEYS[1])
if left > 0 and tonumber(redis.call('GET', KEYS[1])) >= most then return left end
if left == 0 then redis.call('DEL', KEYS[1]) end
if redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], duration) end
return 0
