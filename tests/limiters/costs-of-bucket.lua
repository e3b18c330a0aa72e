-- A bucket, and what becomes of its debts, and of a look at it while it is full.
--
-- rlctl: args {limit} {window_ms} {now_ms} {cost}
--
-- $ rlctl lint costs-of-bucket.lua
-- > no findings in 1 script

local size, window, now, cost = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local left, at = unpack(redis.call('HMGET', KEYS[1], 'left', 'at'))
left, at = tonumber(left) or size, tonumber(at) or now
local refilled = (now - at) * size / window
left, at = math.min(size, left + refilled), now
-- A full bucket keeps its time, from which it refills again:
-- or: if left < size then left, at = math.min(size, left + refilled), now end  -- want: wrong-cost critical
local allowed = left >= cost
-- A debt is paid, or forgiven:
-- or: local allowed = left >= 1  -- want: wrong-cost critical
-- or: local allowed = left >= 1 cost = math.min(cost, left)  -- want: wrong-cost critical
if not allowed then return 0 end
redis.call('HSET', KEYS[1], 'left', left - cost, 'at', string.format('%d', at))
redis.call('PEXPIRE', KEYS[1], 2 * window)
return 1
