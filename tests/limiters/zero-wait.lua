-- The reply is the time to wait, which is 0 in the last millisecond of a denial.
--
-- rlctl: limit 5/1s
-- rlctl: args {limit} {window_ms}
--
-- $ rlctl lint zero-wait.lua --allowed-when zero --head 'retry_after r ms'
-- $ rlctl lint zero-wait.lua --allowed-when 'not (r > 0)'
-- $ rlctl adversary --tries 2000 zero-wait.lua --allowed-when zero --head 'retry_after r ms'
-- ! a denial whose wait is 0 counts as allowed: PTTL replies 0 in the last millisecond of a key

local n = tonumber(redis.call('GET', KEYS[1]) or 0)
if n >= tonumber(ARGV[1]) then return redis.call('PTTL', KEYS[1]) end  -- want: zero-wait critical
-- or: if n >= tonumber(ARGV[1]) then return math.max(1, redis.call('PTTL', KEYS[1])) end
if n == 0 then redis.call('SET', KEYS[1], 1, 'PX', ARGV[2]) else redis.call('INCR', KEYS[1]) end
return 0
