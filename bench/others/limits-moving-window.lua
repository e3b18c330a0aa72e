-- The same Redis commands in the same order as the moving window of limits 5.8.0.
-- KEYS list   ARGV now in seconds with a fraction, limit, window in seconds, cost
-- Reply 1, or nil when denied
local now, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local window, cost = tonumber(ARGV[3]), tonumber(ARGV[4])
if limit < cost then return false end
local blocking = redis.call('LINDEX', KEYS[1], limit - cost)
if blocking and now - window <= tonumber(blocking) then return false end
local units = {}
for unit = 1, cost do units[unit] = now end
for first = 1, #units, 5000 do
  redis.call('LPUSH', KEYS[1], unpack(units, first, math.min(#units, first + 4999)))
end
redis.call('LTRIM', KEYS[1], 0, limit - 1)
redis.call('EXPIRE', KEYS[1], window)
return true
