-- A bucket of thousandths, and what becomes of its debts and of what it has not given.
--
-- $ rlctl lint costs-of-bucket.lua --args '{limit} {window_ms} {now_ms} {cost}'
-- > no findings in 1 script

local size, window, now, cost = tonumber(ARGV[1]) * 1000, tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]) * 1000
local left, at = unpack(redis.call('HMGET', KEYS[1], 'left', 'at'))
left, at = tonumber(left) or size, tonumber(at) or now
local refilled = (now - at) * size / window
left, at = math.min(size, left + refilled), now
-- A debt is forgiven by the next request:
-- or: left, at = math.min(size, math.max(left, 0) + refilled), now
-- A full bucket keeps the time at which it was full first:
-- or: if left < size then left, at = math.min(size, left + refilled), now end
if left < cost then
  return 0
end
redis.call('HSET', KEYS[1], 'left', left - cost, 'at', string.format('%d', at))
redis.call('PEXPIRE', KEYS[1], window)
return 1
